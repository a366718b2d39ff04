"""Whether a claimed cause is that of a speed-up: it must have been the limit, and relieved."""

from __future__ import annotations

from collections.abc import Callable

from roofline.compare.cause import SAME, busy_ratio, precision_moved, precisions_gone
from roofline.compare.model import Pair, Side
from roofline.compare.promise import UNCHANGED
from roofline.compare.words import less, named
from roofline.model import Bound, Family, Rule
from roofline.text.names import operation
from roofline.text.numbers import percent, plain, si, size
from roofline.units import unit_of_precision

# Points by which occupancy must rise to count as the cause claimed.
_POINTS = 5.0
BECAUSE = ("bandwidth", "compute", "latency", "bytes", "operations", "occupancy", "precision")


def cause_held(pair: Pair, cause: str, rule: Rule) -> tuple[bool | None, str]:
    """Whether ``cause`` (a word of ``BECAUSE`` or a unit) made ``pair`` faster, and the figures.

    ``None`` where it cannot be told. ``rule`` is what BEFORE was judged by.
    """
    before, after = pair.before, pair.after
    if cause == "bytes":
        return _bytes(before, after, rule)
    if cause == "operations":
        return _operations(before, after, rule)
    if cause == "precision":
        return _precision(pair, rule)
    if cause == "occupancy":
        return _occupancy(before, after)
    if cause == "latency":
        return _latency(pair)
    return _unit_relieved(before, after, cause, rule)


def _bytes(before: Side, after: Side, rule: Rule) -> tuple[bool | None, str]:
    """Fewer bytes make faster what DRAM limited."""
    fewer, reason = _fewer(before.dram_bytes, after.dram_bytes, size, "DRAM bytes")
    if not fewer:
        return fewer, reason
    limited, was = _limited_by(before, "dram", rule)
    return limited, reason if limited else f"{reason}, but {was}"


def _operations(before: Side, after: Side, rule: Rule) -> tuple[bool | None, str]:
    """Fewer operations make faster what a unit limited that executes or issues them."""
    fewer, reason = _fewer(
        before.total_operations, after.total_operations, lambda v: si(v, "OP"), "operations"
    )
    if not fewer:
        return fewer, reason
    relieved, why = _unit_relieved(before, after, str(Family.COMPUTE), rule)
    return relieved, f"{reason}, {'with' if relieved else 'but'} {why}"


def _precision(pair: Pair, rule: Rule) -> tuple[bool | None, str]:
    """Most operations moved to another type, or those of the pipe that was the limit are gone."""
    before, after = pair.before, pair.after
    if not before.operations or not after.operations:
        return None, "operations by precision were not measured on both sides"
    if moved := precision_moved(before, after):
        return True, f"operations moved from {moved}"
    said = ""
    for key in precisions_gone(before, after):
        counts = [si(side.operations.get(key, 0.0), "OP") for side in (before, after)]
        gone = f"{operation(key)} operations {' to '.join(counts)}"
        limited, was = _limited_by(before, unit_of_precision(key), rule)
        if limited:
            use = percent(before.utilization[unit_of_precision(key)])
            return True, f"{gone}, {named(unit_of_precision(key))} was {use} busy"
        said = said or f"{gone}, but {was}"
    return False, said or "no precision changed"


def _limited_by(before: Side, key: str, rule: Rule) -> tuple[bool | None, str]:
    """Whether the unit ``key`` was the limit or as near to it, and what was."""
    if before.bound is Bound.UNKNOWN:
        return None, "what limited it before is not known"
    use = before.utilization.get(key)
    if use is None:
        return None, f"{named(key)}: not measured before"
    was = "latency" if before.limiter is None else named(before.limiter)
    limited = before.limiter == key or (before.co_limited and use >= rule.latency)
    return limited, f"the limit was {was}, with {named(key)} at {percent(use)}"


def _fewer(
    one: float | None, other: float | None, show: Callable[[float], str], noun: str
) -> tuple[bool | None, str]:
    if one is None or other is None:
        return None, f"{noun} were not measured on both sides"
    return other < one * (1 - SAME), f"{noun} {show(one)} to {show(other)}"


def _occupancy(before: Side, after: Side) -> tuple[bool | None, str]:
    one, other = before.occupancy_percent, after.occupancy_percent
    if one is None or other is None:
        return None, "occupancy was not measured on both sides"
    reason = f"occupancy {percent(one)} to {percent(other)}"
    if before.bound is not Bound.LATENCY:
        return False, f"{reason}, and the limit was {named(before.limiter)}"
    return other > one + _POINTS, reason


def _latency(pair: Pair) -> tuple[bool | None, str]:
    before = pair.before
    if before.bound is Bound.UNKNOWN:
        return None, "what limited it before is not known"
    if before.bound is not Bound.LATENCY:
        return False, f"it was limited by {named(before.limiter)}"
    held = pair.cause == "busier"
    return held, f"latency-bound before; cause found: {pair.cause.replace('_', ' ')}"


def _unit_relieved(before: Side, after: Side, cause: str, rule: Rule) -> tuple[bool | None, str]:
    """A unit (or the busiest of a family) was the limiter and got less to do or was used better."""
    if before.bound is Bound.UNKNOWN:
        return None, "what limited it before is not known"
    key = cause
    if cause in (Family.BANDWIDTH, Family.COMPUTE):
        members = [u for u, family in before.families.items() if family == cause]
        if not members:
            return None, f"no unit of {cause} was measured before"
        key = max(members, key=lambda u: before.utilization[u])
    limited, was = _limited_by(before, key, rule)
    if not limited:
        return limited, was
    use = before.utilization[key]
    work = busy_ratio(before, after, key)
    if work is None:
        return None, f"{named(key)}: not measured after"
    change = f"{named(key)} {percent(use)} to {percent(after.utilization.get(key))} busy"
    if work < 1 - UNCHANGED:
        return True, f"{change}, {less(work)}"
    if after.utilization.get(key, 0.0) > use + SAME * 100:
        return True, f"{change} at the same work"
    return False, f"{change}, {plain(work)}x the work"
