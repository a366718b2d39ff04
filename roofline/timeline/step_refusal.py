"""Why ``--step`` finds no steps. Names of ranges can be private, so they are counted, not shown."""

from __future__ import annotations

from collections.abc import Iterable
from re import fullmatch

from roofline.errors import UsageError
from roofline.timeline.events import STEP


def no_such_step(file: str, step: str, names: Iterable[object]) -> UsageError:
    """The error for an expression that none of the ``names`` of ranges in ``file`` matches."""
    texts = {str(name) for name in names}
    marked = sum(fullmatch(STEP, text) is not None for text in texts)
    others = len(texts) - marked
    found = [
        f"{marked} ProfilerStep {'range' if marked == 1 else 'ranges'}" if marked else "",
        f"{others} other {'name' if others == 1 else 'names'} of ranges" if others else "",
    ]
    has = " and ".join(text for text in found if text) or "no named ranges"
    leave = "without --step the ProfilerSteps count; " if marked else ""
    return UsageError(
        f"--step {step!r} matches no range of {file}",
        why=f"it has {has}",
        hint=f"{leave}names are spelled as a viewer shows them, and case counts"
        if texts
        else "--from and --to instead, or NVTX ranges around the steps of your program",
    )
