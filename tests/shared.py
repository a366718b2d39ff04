"""Where the shared inputs are: real reports that are not part of the repository."""

from __future__ import annotations

import os
from pathlib import Path


def _shared() -> Path | None:
    given = os.environ.get("ROOFLINE_SHARED")
    place = Path(given) if given else Path(__file__).parents[2] / "shared"
    return place if place.is_dir() else None


SHARED = _shared()
