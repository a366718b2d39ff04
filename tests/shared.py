"""Where the folder of real public reports and timelines is, if anywhere; no part of the project."""

from __future__ import annotations

import os
from pathlib import Path


def _shared() -> Path | None:
    given = os.environ.get("ROOFLINE_SHARED")
    folder = Path(given) if given else Path(__file__).parents[1].parent / "shared"
    return folder if folder.is_dir() else None


SHARED = _shared()
REPORTS: tuple[Path, ...] = (
    tuple(sorted(p for p in (SHARED / "reports").glob("*rep*") if p.suffix != ".md"))
    if SHARED
    else ()
)
NCU = os.environ.get("ROOFLINE_TEST_NCU")  # the real ncu, for tests of what it can import
