#!/usr/bin/env python3
"""Write roofline/capture/chips.json: per chip the names it lacks and the passes a level costs.

pip install nvidia-cuda-cupti
PYTHONPATH=. python scripts/make_pass_table.py           # write
PYTHONPATH=. python scripts/make_pass_table.py --check   # say whether the file is up to date
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path

from nvperf import Library, load

from roofline.capture.levels import base_name, hardware, is_listed
from roofline.capture.request import CaptureLevel

TARGET = Path(__file__).parent.parent / "roofline" / "capture" / "chips.json"
LEVELS = (CaptureLevel.QUICK, CaptureLevel.STANDARD)


def describe(library: Library, chip: str) -> dict[str, object]:
    """What the pass table says about ``chip``."""
    known = library.base_names(chip)
    absent: set[str] = set()
    passes = {}
    for level in LEVELS:
        wanted = [name for name in hardware(level, chip) if is_listed(name)]
        absent |= {base_name(name) for name in wanted} - known
        here = [name for name in wanted if base_name(name) in known]
        passes[str(level)], refused = library.passes(chip, here)
        if refused:
            raise SystemExit(f"{chip} has the names but not the roll-ups of {refused}")
    return {"passes": passes, "absent": sorted(absent)}


def table(library: Library) -> str:
    """The file's text."""
    library_version = version("nvidia-cuda-cupti")
    content = {
        "about": "Hardware passes and missing names by chip; scripts/make_pass_table.py made this",
        "source": f"nvidia-cuda-cupti {library_version}, NVPW_RawMetricsConfig_GetNumPasses",
        "chips": {chip: describe(library, chip) for chip in sorted(library.chips())},
    }
    return json.dumps(content, indent=1) + "\n"


def main() -> None:
    """Write the table, or compare it."""
    text = table(load())
    if "--check" in sys.argv[1:]:
        sys.exit(0 if TARGET.read_text(encoding="utf-8") == text else f"{TARGET} is out of date")
    TARGET.write_text(text, encoding="utf-8")
    for chip, row in json.loads(text)["chips"].items():
        print(chip, row["passes"])


if __name__ == "__main__":
    main()
