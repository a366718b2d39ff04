"""Words that the sentences of a comparison share."""

from __future__ import annotations

from roofline.text.numbers import ratio
from roofline.units import the_unit


def times(value: float) -> str:
    """A speed-up: "1.42x", two decimals below 10, so that 1.004 is not shown as a change."""
    return f"{value:.2f}x" if value < 10 else ratio(value)


def less(work: float) -> str:
    """What a ratio of work (after / before) below 1 means: "2.40x less work", "no work left"."""
    return f"{times(1 / work)} less work" if work > 0 else "no work left"


def named(key: str | None) -> str:
    """A unit within a sentence: "DRAM", "the FP64 pipe"; "nothing" for ``None``."""
    return "nothing" if key is None else the_unit(key)
