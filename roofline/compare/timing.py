"""Is the time different: the spread of launches, the noise of one, and what clocks explain."""

from __future__ import annotations

from collections.abc import Sequence

from roofline.compare.model import Outcome, Side, Timing
from roofline.units import UNITS

# Where launches repeat, their spread is the noise, but never less than this.
REPEATED_NOISE = 0.01
# A launch measured once. Of 22 sets of launches with equal name, grid and block in public reports,
# 15 kept within 3 % of their median; the rest was off by 5.5 % and more, mostly as the work was
# not the same. Few of them are short, and a clock tick weighs more there.
SINGLE_NOISE, SHORT_NOISE, SHORT_S = 0.03, 0.05, 20e-6
# From so many launches on, the outer 5 % on each side are left out of the spread.
MANY_LAUNCHES = 20

# L2 and the links have clocks that reports do not name.
SM_UNITS = frozenset(key for key, unit in UNITS.items() if unit.clock == "sm")


def timing(
    before: Side, after: Side, *, per: str = "launch", noise: float | None = None
) -> Timing | None:
    """The speed-up of a pair and its interval; ``None`` where a duration is missing or 0.

    ``noise`` (0.03 is 3 %) replaces the assumed floor.
    """
    if not before.duration_s or not after.duration_s:
        return None
    speedup = before.duration_s / after.duration_s
    low, high, measured = _spread(before.durations_s, after.durations_s, speedup, per)
    shortest = min(before.durations_s + after.durations_s, default=0.0)
    spread = (low, high) if measured else (None, None)
    floor, how = _floor(measured=measured, shortest_s=shortest, noise=noise)
    low, high = min(low, speedup / (1 + floor)), max(high, speedup * (1 + floor))
    sm = _ratio(after.sm_clock_hz, before.sm_clock_hz)
    dram = _ratio(after.dram_clock_hz, before.dram_clock_hz)
    used = _clock_used(before, after)
    slowest, fastest = _clock_range(sm, dram, used)
    return Timing(
        speedup=speedup,
        low=low,
        high=high,
        noise=max(high / speedup, speedup / low) - 1,
        noise_how=how,
        sm_clock_ratio=sm,
        dram_clock_ratio=dram,
        clock_used=used,
        speedup_low=speedup / fastest,
        speedup_high=speedup / slowest,
        equal_low=low / fastest,
        equal_high=high / slowest,
        spread_low=spread[0],
        spread_high=spread[1],
    )


def outcome_of(low: float, high: float) -> Outcome:
    """A speed-up interval as an outcome: what includes 1 is no change."""
    if low > 1:
        return Outcome.FASTER
    return Outcome.SLOWER if high < 1 else Outcome.NO_CHANGE


def _spread(
    before: Sequence[float], after: Sequence[float], speedup: float, per: str
) -> tuple[float, float, bool]:
    """The interval that repeated launches span, and whether both sides repeat.

    As many launches on both sides are compared one by one in their order, so that a kernel called
    with different data each time is not taken for a noisy one; otherwise the ranges are compared.
    """
    if per == "total" or (len(before) < 2 and len(after) < 2):
        return speedup, speedup, False
    if len(before) == len(after):
        ratios = [b / a for b, a in zip(before, after, strict=True) if a > 0 and b > 0]
        low, high = _inner_range(ratios) if ratios else (speedup, speedup)
        return low, high, True
    (b_low, b_high), (a_low, a_high) = _inner_range(before), _inner_range(after)
    both = len(before) > 1 and len(after) > 1
    return b_low / a_high if a_high else speedup, b_high / a_low if a_low else speedup, both


def _inner_range(values: Sequence[float]) -> tuple[float, float]:
    ordered = sorted(values)
    cut = len(ordered) // 20 if len(ordered) >= MANY_LAUNCHES else 0
    return ordered[cut], ordered[-1 - cut]


def _floor(*, measured: bool, shortest_s: float, noise: float | None) -> tuple[float, str]:
    if noise is not None:
        return noise, "--noise"
    if measured:
        return REPEATED_NOISE, "spread of the launches"
    short = shortest_s < SHORT_S
    return (SHORT_NOISE, "assumed, under 20 us") if short else (SINGLE_NOISE, "assumed")


def _ratio(after: float | None, before: float | None) -> float | None:
    return None if not after or not before else after / before


def _clock_used(before: Side, after: Side) -> str | None:
    """The clock that both limits follow: "dram", "sm", or ``None`` where that is not known."""
    limits = {before.limiter, after.limiter}
    if limits == {"dram"}:
        return "dram"
    return "sm" if limits <= SM_UNITS else None


def _clock_range(sm: float | None, dram: float | None, used: str | None) -> tuple[float, float]:
    """The least and the most that the clocks can have sped the kernel up (1 is not at all)."""
    if used is not None:
        only = dram if used == "dram" else sm
        return (1.0, 1.0) if only is None else (only, only)
    known = [c for c in (sm, dram) if c is not None]
    return min([1.0, *known]), max([1.0, *known])
