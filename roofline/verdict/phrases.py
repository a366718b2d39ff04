"""Numbers inside sentences, for the modules that put verdicts into words."""

from __future__ import annotations


def percent(value: float) -> str:
    """A percentage without false precision, and never a false 0: "62 %", "0.3 %", "<0.1 %"."""
    if value >= 1 or value <= 0:
        return f"{value:.0f} %"
    return f"{value:.1f} %" if value >= 0.1 else "<0.1 %"


def count(number: int, noun: str) -> str:
    """A count with its noun: "1 block", "1,024 blocks"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def waves(value: float) -> str:
    """Waves by their size: "0.19", "3.4", "1,158"."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}" if value < 10 else f"{value:.1f}"
