"""The one sentence of a pair: how much faster or slower, at what work, why, and what limits now."""

from __future__ import annotations

from collections.abc import Callable

from roofline.compare.cause import Cause, precisions_gone, same
from roofline.compare.model import Outcome, Side, Timing, Work
from roofline.compare.words import less, named, times
from roofline.model import Bound, Family
from roofline.text.names import operation, unit
from roofline.text.numbers import clock, percent, plain, si, size
from roofline.units import unit_of_precision

_MEASURES = {"operations": "operations", "dram_bytes": "DRAM bytes"}
# Points of occupancy that are worth a word.
_POINTS = 5.0


def sentence(
    before: Side, after: Side, timing: Timing | None, work: Work, outcome: Outcome, cause: Cause
) -> str:
    """All of it, for people; ``cause`` and ``outcome`` are as judged elsewhere."""
    if timing is None:
        return _not_measured(before, after)
    if work.status == "different":
        speedup = work.speedup or 1.0
        unchanged = f"no change ({times(speedup)})"
        head = (
            f"{plain(work.ratio)}x the {_MEASURES[work.measure or 'operations']} in "
            f"{plain(1 / timing.speedup)}x the time, another problem size: "
            f"{unchanged if outcome is Outcome.NO_CHANGE else _change(speedup)} per unit of work"
        )
        return f"{_and_then(head, [_limiter_now(before, after, said=False)])}."
    amounts = _amounts(before, after, cause)
    head = _headline(timing, outcome, cause) + (f" {amounts}" if amounts else "")
    why, said = _why(before, after, timing, cause)
    return f"{_and_then(head, [why, _limiter_now(before, after, said=said)])}."


def _and_then(head: str, parts: list[str]) -> str:
    said = [p for p in parts if p]
    return head + (": " + "; ".join(said) if said else "")


def _change(speedup: float) -> str:
    return f"{times(speedup)} faster" if speedup >= 1 else f"{times(1 / speedup)} slower"


def _headline(timing: Timing, outcome: Outcome, cause: Cause) -> str:
    if outcome in (Outcome.FASTER, Outcome.SLOWER):
        return _change(timing.speedup)
    if cause.code == "clock":
        return f"no change at equal clocks ({times(timing.speedup)} by time)"
    return f"no change ({times(timing.speedup)}, noise {percent(timing.noise * 100, places=1)})"


def _amounts(before: Side, after: Side, cause: Cause) -> str:
    """The work in bytes; in operations where a compute unit is the cause or bytes are unknown."""
    gone = [key for key in precisions_gone(before, after) if unit_of_precision(key) == cause.unit]
    if gone and cause.code == "less_work":
        counts = [si(side.operations.get(gone[0], 0.0), "OP") for side in (before, after)]
        return f"without its {operation(gone[0])} operations ({' to '.join(counts)})"
    old, new = before.dram_bytes, after.dram_bytes
    one, other = before.total_operations, after.total_operations
    computes = Family.COMPUTE in (s.families.get(cause.unit or "") for s in (before, after))
    counted = one is not None and other is not None
    if old is not None and new is not None and not (counted and computes and not same(old, new)):
        return _amount(old, new, size, "DRAM bytes")
    if one is not None and other is not None:
        return _amount(one, other, lambda v: si(v, "OP"), "operations")
    return ""


def _amount(one: float, other: float, show: Callable[[float], str], noun: str) -> str:
    if same(one, other):
        return f"at the same {show(other)}"
    fewer = other < one
    how = f"{times(max(one / other, other / one))} " if one and other else ""
    return f"with {how}{'fewer' if fewer else 'more'} {noun} ({show(one)} to {show(other)})"


def _why(before: Side, after: Side, timing: Timing, cause: Cause) -> tuple[str, bool]:
    """The clause of cause, and whether it already says what happened to the old limiter."""
    key = cause.unit
    use = _use(before, after, key)
    share = None if cause.factor is None else 1 / cause.factor
    fewer = less(share or 0.0)
    old, new = before.limiter, after.limiter
    role = _role(before, after, key, gained=cause.code in ("fewer_bytes", "less_work"))
    match cause.code:
        case "fewer_bytes" | "less_work" if key == old and new != old:
            return f"no longer limited by {named(key)} ({fewer}, {use})", True
        case "fewer_bytes":
            return f"that relieves {named(key)}{role}", False
        case "less_work":
            return (
                f"{fewer} for {named(key)}{role} ({use})",
                False,
            )
        case "more_bytes":
            return f"that burdens {named(key)}{role}", False
        case "more_work":
            factor = "" if cause.factor is None else f"{times(cause.factor)} "
            return (
                f"{factor}more work for {named(key)}{role} ({use})",
                False,
            )
        case "busier" | "idler":
            rate = "higher" if cause.code == "busier" else "lower"
            where = f"{unit(key)} {use}{_launch(before, after)}"
            return f"the work is done at a {rate} rate ({where})", False
        case "other_precision":
            return f"its operations moved from {cause.detail}", False
        case "clock":
            return _clock(before, after, timing), False
        case "unexplained":
            return "no cause is named, as its limiter was not measured on both sides", False
    return "", False


def _use(before: Side, after: Side, key: str | None) -> str:
    one, other = before.utilization.get(key or ""), after.utilization.get(key or "")
    return f"{percent(one)} to {percent(other)} busy"


def _role(before: Side, after: Side, key: str | None, *, gained: bool) -> str:
    """What the unit was to the slower side: its limiter or its busiest; "now" where it was not."""
    slow = before if gained else after
    what = "its limiter" if key == slow.limiter else "its busiest unit"
    new = not gained and key != (before.limiter or before.nearest)
    return f", {'now ' if new else ''}{what}"


def _launch(before: Side, after: Side) -> str:
    """Occupancy and waves where they moved: what usually stands behind a change of rate."""
    said = ""
    one, other = before.occupancy_percent, after.occupancy_percent
    if one is not None and other is not None and abs(other - one) > _POINTS:
        said = f", occupancy {percent(one)} to {percent(other)}"
    few, more = sorted((before.waves or 1.0, after.waves or 1.0))
    if few < 1 and not same(few, more):
        said += f", waves {plain(before.waves)} to {plain(after.waves)}"
    return said


def _clock(before: Side, after: Side, timing: Timing) -> str:
    said = [
        f"the {name} clock went from {clock(one)} to {clock(other)}"
        for name, one, other, change in (
            ("SM", before.sm_clock_hz, after.sm_clock_hz, timing.sm_clock_ratio),
            ("DRAM", before.dram_clock_hz, after.dram_clock_hz, timing.dram_clock_ratio),
        )
        if change is not None and not same(1.0, change)
    ]
    return f"{' and '.join(said) or 'the clocks differ a little'}, which can explain it alone"


def _limiter_now(before: Side, after: Side, *, said: bool) -> str:
    """What limits now and what is left; ``said`` where the old limiter has been spoken of."""
    old, new = before.limiter, after.limiter
    gone = ""
    if old and old != new and not said:
        now = after.utilization.get(old)
        to = "" if now is None else f" to {percent(now)}"
        gone = f"no longer limited by {named(old)} ({percent(before.limiter_percent)}{to})"
    elif before.bound is Bound.LATENCY and new:
        gone = "no longer latency-bound"
    if new is None:
        text = _latency_now(before, after)
    else:
        how = "still" if old == new else "now"
        text = f"{how} limited by {named(new)} at {percent(after.limiter_percent)}{_left(after)}"
    return "; ".join(t for t in (gone, text) if t)


def _latency_now(before: Side, after: Side) -> str:
    if after.bound is not Bound.LATENCY:
        return "what limits it now is not known" if before.limiter else ""
    reason = (after.cause_text or (after.cause or "").replace("_", " ")).rstrip(".")
    when = "still" if before.bound is Bound.LATENCY else "now"
    return f"{when} latency-bound" + (f" ({reason})" if reason else "")


def _left(after: Side) -> str:
    if not after.floor_s or not after.duration_s:
        return ""
    return f", {times(after.duration_s / after.floor_s)} is left under that ceiling"


def _not_measured(before: Side, after: Side) -> str:
    sides = (("before", before), ("after", after))
    where = " and ".join(n for n, side in sides if not side.duration_s)
    return f"not judged: no duration was measured {where} (collect it with --set basic or more)."
