"""Where the folder of real public reports and timelines is, if anywhere; no part of the project."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from roofline.model import Analysis


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


@cache
def analyzed(path: Path) -> Analysis:
    """What is made of a report, once for all tests; one that cannot be read skips its test."""
    from roofline import analyze
    from roofline.errors import InputError

    try:
        return analyze(path, jobs=1)
    except InputError as error:
        pytest.skip(str(error))


def remembering(analyze: Callable[..., Analysis]) -> Callable[..., Analysis]:
    """``analyze`` that reads the same files once, for tests of what is said of them."""
    known: dict[str, Analysis] = {}

    def again(*paths: Any, on_error: Any = None, on_progress: Any = None, **how: Any) -> Analysis:
        asked = repr((*map(Path, paths), sorted(how.items())))
        if asked not in known:
            errors: list[Exception] = []

            def tell(error: Exception) -> None:
                errors.append(error)
                on_error(error)

            heard = None if on_error is None else tell
            made = analyze(*paths, on_error=heard, on_progress=on_progress, **how)
            if errors:  # they are said each time
                return made
            known[asked] = made
        return known[asked]

    return again
