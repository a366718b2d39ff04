"""Why the time changed: what the limiting unit had to do, and how well it was used.

A unit's work is the time it was busy: percent of peak times duration, in its own cycles. For every
unit ``speedup = (work before / work after) x (use after / use before)`` at equal clocks. Applied
to the unit that limits the slower side, the larger factor is the cause. Nothing is named that
these figures do not show.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

from roofline.compare.model import Change, Outcome, Side, Timing
from roofline.compare.timing import SM_UNITS
from roofline.text.names import operation

# Changes of work, bytes or operations within this are "the same".
SAME = 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """What stands behind a change of time.

    ``code``: fewer_bytes, more_bytes, less_work, more_work, busier, idler, other_precision, clock,
    same_limiter, within_noise, unexplained. ``unit`` is the unit it was read from, ``factor`` how
    many times less (or more) it had to do, above 1.
    """

    code: str
    unit: str | None = None
    factor: float | None = None
    detail: str = ""


def same(one: float, other: float) -> bool:
    """Whether two amounts are alike enough not to be spoken of as changed."""
    return abs(other - one) <= SAME * max(abs(one), abs(other))


def busy_ratio(before: Side, after: Side, key: str | None) -> float | None:
    """How much the unit ``key`` had to do, after / before; ``None`` where not measured."""
    if key is None or not before.duration_s or not after.duration_s:
        return None
    one, other = before.utilization.get(key), after.utilization.get(key)
    if not one or other is None or (key in before.computed) != (key in after.computed):
        return None
    clocks = 1.0
    if key == "dram" and before.dram_clock_hz and after.dram_clock_hz:
        clocks = after.dram_clock_hz / before.dram_clock_hz
    elif key in SM_UNITS and before.sm_clock_hz and after.sm_clock_hz:
        clocks = after.sm_clock_hz / before.sm_clock_hz
    return other * after.duration_s / (one * before.duration_s) * clocks


def find_cause(before: Side, after: Side, timing: Timing, outcome: Outcome) -> Cause:
    """The cause of a change of time, or of its absence."""
    if outcome is Outcome.NO_CHANGE:
        return _no_change(before, after, timing)
    gained = outcome is Outcome.FASTER
    slow, fast = (before, after) if gained else (after, before)
    moved = precision_moved(before, after)
    if moved and gained:
        return Cause(code="other_precision", unit=before.limiter, detail=moved)
    key = slow.limiter or slow.nearest
    work = busy_ratio(slow, fast, key)
    if work is None or key is None:
        return Cause(code="unexplained", unit=key)
    use = fast.utilization[key] / slow.utilization[key]
    if work > 0 and (use > 0 and log(use) >= -log(work)):
        return Cause(code="busier" if gained else "idler", unit=key, factor=use)
    factor = 1 / work if work > 0 else None
    if key == "dram" and slow.dram_bytes and fast.dram_bytes is not None:
        bytes_ = fast.dram_bytes / slow.dram_bytes
        if bytes_ < 1 - SAME:
            code = "fewer_bytes" if gained else "more_bytes"
            return Cause(code=code, unit=key, factor=1 / bytes_ if bytes_ else None)
    return Cause(code="less_work" if gained else "more_work", unit=key, factor=factor)


def _no_change(before: Side, after: Side, timing: Timing) -> Cause:
    if not timing.low <= 1 <= timing.high:
        return Cause(code="clock")
    if before.limiter and before.limiter == after.limiter:
        return Cause(code="same_limiter", unit=before.limiter)
    return Cause(code="within_noise")


def precision_moved(before: Side, after: Side) -> str:
    """Where most operations of one precision became operations of another: "FP64 to FP32"."""
    if not before.operations or not after.operations:
        return ""
    main, new = (max(s, key=lambda k: s[k]) for s in (before.operations, after.operations))
    if main == new or not before.operations[main] or not after.operations[new]:
        return ""
    if after.operations.get(main, 0.0) > 0.1 * before.operations[main]:
        return ""
    return f"{operation(main)} to {operation(new)}"


def precisions_gone(before: Side, after: Side) -> tuple[str, ...]:
    """The precisions of BEFORE of whose operations AFTER has a tenth or less, the largest first."""
    if not before.operations or not after.operations:
        return ()
    gone = [
        key
        for key, count in before.operations.items()
        if count > 0 and after.operations.get(key, 0.0) <= 0.1 * count
    ]
    return tuple(sorted(gone, key=lambda key: -before.operations[key]))


def changes_of(before: Side, after: Side) -> tuple[Change, ...]:
    """Every quantity that at least one side has, before and after."""
    rows: list[tuple[str, str, float | None, float | None]] = [
        (name, what, getattr(before, name), getattr(after, name)) for name, what in _QUANTITIES
    ]
    for name, what in (("operations", "operations"), ("utilization", "%")):
        one, other = getattr(before, name), getattr(after, name)
        rows += [
            (f"{name}.{key}", what, one.get(key), other.get(key))
            for key in dict.fromkeys([*one, *other])
        ]
    return tuple(
        Change(
            quantity=name,
            unit=what,
            before=old,
            after=new,
            ratio=new / old if old and new is not None else None,
        )
        for name, what, old, new in rows
        if old is not None or new is not None
    )


_QUANTITIES = (
    ("duration_s", "s"),
    ("dram_bytes", "B"),
    ("total_operations", "operations"),
    ("sm_clock_hz", "Hz"),
    ("dram_clock_hz", "Hz"),
    ("threads", "threads"),
    ("waves", "waves"),
    ("occupancy_percent", "%"),
    ("registers_per_thread", "registers"),
    ("shared_memory_bytes", "B"),
    ("floor_s", "s"),
)
