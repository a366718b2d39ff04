#!/usr/bin/env python3
"""Write roofline/capture/chips.json: what a chip lacks, and what fits in how many passes.

pip install nvidia-cuda-cupti
PYTHONPATH=. python scripts/make_pass_table.py           # write
PYTHONPATH=. python scripts/make_pass_table.py --check   # say whether the file is up to date
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from nvperf import Library, load

from roofline.capture.levels import LIMITS, base_name, hardware, is_listed, rows, software

TARGET = Path(__file__).parent.parent / "roofline" / "capture" / "chips.json"


def fitting(
    library: Library, chip: str, rows: Sequence[Sequence[str]], limit: int, taken: Sequence[str]
) -> list[str]:
    """Of ``rows`` those that fit into ``limit`` passes beside ``taken``, the first come first."""
    names = [*taken, *(name for row in rows for name in row)]
    if library.passes(chip, names)[0] <= limit:
        return names
    if len(rows) == 1:
        return [*taken]
    half = len(rows) // 2
    taken = fitting(library, chip, rows[:half], limit, taken)
    return fitting(library, chip, rows[half:], limit, taken)


def describe(library: Library, chip: str) -> dict[str, object]:
    """What the pass table says about ``chip``."""
    known = library.base_names(chip)
    absent: set[str] = set()
    passes, left_out = {}, {}
    for level, limits in LIMITS.items():
        patched = [name for name in software(level) if is_listed(name)]
        absent |= {base_name(name) for name in (*hardware(level, chip), *patched)} - known
        there = [row for row in rows(level, chip) if {base_name(name) for name in row} <= known]
        limit = next(count for start, count in limits.items() if chip.startswith(start))
        fit = fitting(library, chip, there, limit, [])
        passes[str(level)], refused = library.passes(chip, fit)
        if refused:
            raise SystemExit(f"{chip} has the names but not the roll-ups of {refused}")
        left_out[str(level)] = sorted({name for row in there for name in row} - {*fit})
    return {"passes": passes, "absent": sorted(absent), "left_out": left_out}


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
