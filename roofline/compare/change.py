"""What changed between two sides: the time beyond noise and clocks, the work, and the cause.

A unit's work is the time it was busy: percent of peak times duration, in its own cycles. For every
unit ``speedup = (work before / work after) x (use after / use before)`` at equal clocks. Applied
to the unit that limits the slower side, the larger factor is the cause. Nothing is named that
these figures do not show.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import log
from typing import Literal

from roofline.compare.model import (
    CauseCode,
    Change,
    ChangeCause,
    KernelPair,
    Side,
    TimeChange,
    WorkChange,
    WorkMeasure,
    WorkStatus,
    note,
)
from roofline.model import QUANTITIES, Bound, Cause, Details, Note
from roofline.playbook import entry_of, play
from roofline.playbook.condition import names
from roofline.units import UNITS
from roofline.wall_time import Outcome, outcome_of

# --- time ---------------------------------------------------------------------------------------

# Where launches repeat, their spread is the noise, but never less than this.
REPEATED_NOISE = 0.01
# A launch measured once. Of 22 sets of launches with equal name, grid and block in public reports,
# 15 kept within 3 % of their median; the rest was off by 5.5 % and more, mostly as the work was
# not the same. Few of them are short, and a clock tick weighs more there.
SINGLE_NOISE, SHORT_NOISE, SHORT_S = 0.03, 0.05, 20e-6
# From so many launches on, the outer 5 % on each side are left out of the spread.
MANY_LAUNCHES = 20


def time_change(
    before: Side, after: Side, *, summed: bool = False, noise: float | None = None
) -> TimeChange | None:
    """The speed-up of a pair and its interval; ``None`` where a duration is missing or 0.

    ``noise`` (0.03 is 3 %) replaces that of the launches and the assumed one; of ``summed``
    launches none repeats another.
    """
    if not before.measured.duration_s or not after.measured.duration_s:
        return None
    speedup = before.measured.duration_s / after.measured.duration_s
    spread = None if summed else _spread(before.durations_s, after.durations_s)
    counts = len(before.durations_s), len(after.durations_s)
    repeated = spread is not None and min(counts) > 1
    floor, how = SINGLE_NOISE, "assumed"
    if noise is not None:
        floor, how = noise, "--noise"
    elif repeated:
        floor, how = REPEATED_NOISE, "spread of the launches"
    elif min(before.durations_s + after.durations_s, default=0.0) < SHORT_S:
        floor, how = SHORT_NOISE, "assumed, under 20 us"
    low, high = (spread if noise is None else None) or (speedup, speedup)
    low, high = min(low, speedup / (1 + floor)), max(high, speedup * (1 + floor))
    clocks = clock_ratios(before, after)
    limits = {_clock_of(before.verdict.limiter), _clock_of(after.verdict.limiter)}
    used = limits.pop() if len(limits) == 1 else None
    # What the clocks alone can have sped the kernel up, from the least to the most.
    gains = [clocks.get(used, 1.0)] if used else [1.0, *clocks.values()]
    slowest, fastest = min(gains), max(gains)
    return TimeChange(
        speedup=speedup,
        low=low,
        high=high,
        noise=max(high / speedup, speedup / low) - 1,
        noise_how=how,
        sm_clock_ratio=clocks.get("sm"),
        dram_clock_ratio=clocks.get("dram"),
        clock_used=used,
        speedup_low=speedup / fastest,
        speedup_high=speedup / slowest,
        equal_low=low / fastest,
        equal_high=high / slowest,
        spread_low=spread[0] if spread and repeated else None,
        spread_high=spread[1] if spread and repeated else None,
    )


def clock_ratios(before: Side, after: Side) -> dict[str, float]:
    """The clocks that both sides have measured ("sm", "dram"), after / before."""
    known = {}
    for clock in ("sm", "dram"):
        one, other = (side.figure(f"{clock}_clock_hz") for side in (before, after))
        if one and other and one > 0 < other and 0 < (ratio := other / one) < math.inf:
            known[clock] = ratio
    return known


def _clock_of(unit: str | None) -> Literal["sm", "dram"] | None:
    """The clock that a unit runs at; L2 and the links have clocks that reports do not name."""
    return UNITS[unit].clock if unit in UNITS else None


def _spread(before: Sequence[float], after: Sequence[float]) -> tuple[float, float] | None:
    """The interval that repeated launches span.

    As many launches on both sides are compared one by one in their order, so that a kernel called
    with different data each time is not taken for a noisy one; otherwise the ranges are compared.
    """
    if len(before) < 2 and len(after) < 2:
        return None
    if len(before) == len(after):
        ratios = [b / a for b, a in zip(before, after, strict=True) if a > 0 and b > 0]
        return _inner_range(ratios) if ratios else None
    (b_low, b_high), (a_low, a_high) = _inner_range(before), _inner_range(after)
    return (b_low / a_high, b_high / a_low) if a_low > 0 else None


def _inner_range(values: Sequence[float]) -> tuple[float, float]:
    ordered = sorted(values)
    cut = len(ordered) // 20 if len(ordered) >= MANY_LAUNCHES else 0
    return ordered[cut], ordered[-1 - cut]


# --- work ---------------------------------------------------------------------------------------

# Changes of work, bytes or operations within this are "the same".
SAME = 0.03
# Counts of operations are exact; predicated tails move them by a little.
SAME_OPERATIONS = 0.02
# Bytes depend on the caches: this far they are the same.
SAME_BYTES = 0.10
# Two ratios this near are taken for one factor of the problem's size.
PROPORTIONAL = 0.10
# Fewer of the operations than this are left: the work is not done any more.
_GONE = 1e-3
# Units less busy than this are left out where all units are compared, in percent.
_BUSY = 5.0

_Work = tuple[WorkStatus, str, WorkMeasure | None, float | None]  # the second is a note's code


def same(one: float, other: float, tolerance: float = SAME) -> bool:
    """Whether two amounts are alike enough not to be spoken of as changed."""
    return abs(one - other) <= tolerance * max(abs(one), abs(other))


def busy_ratio(before: Side, after: Side, unit: str | None) -> float | None:
    """How much ``unit`` had to do, after / before; ``None`` where not measured alike."""
    if unit is None or not before.measured.duration_s or not after.measured.duration_s:
        return None
    if not measured_alike(before, after, unit):
        return None
    one, other = before.utilization[unit], after.utilization[unit]
    clock = clock_ratios(before, after).get(_clock_of(unit) or "", 1.0)
    busy = one * before.measured.duration_s  # the least that a double holds times that is 0
    return other * after.measured.duration_s / busy * clock if busy else None


def measured_alike(before: Side, after: Side, unit: str) -> bool:
    """Whether both sides counted how busy ``unit`` was, or both computed it."""
    both = before.utilization.keys() & after.utilization.keys()
    return unit in both and (unit in before.computed) == (unit in after.computed)


def work_change(
    before: Side, after: Side, timing: TimeChange | None, *, summed: bool = False
) -> WorkChange:
    """Whether both sides solved the same problem.

    "different" is only said where two independent signs agree: operations, bytes and threads
    changed by the same factor. Fewer operations at the same bytes are an optimisation, not
    another problem. ``summed`` launches that become others drop all three alike: no sign of that.
    """
    old, new = before.measured.total_operations, after.measured.total_operations
    operations = _ratio(old, new)
    bytes_ = _ratio(before.measured.dram_bytes, after.measured.dram_bytes)
    threads = _ratio(before.threads, after.threads)
    # What DRAM limits does its work by moving the bytes, with operations fused into it or not.
    moves = {before.verdict.limiter, after.verdict.limiter} == {"dram"}
    moves = moves and bytes_ is not None and same(bytes_, 1.0, SAME_BYTES)
    if old is not None and new is not None and not moves and min(old, new) < _GONE * max(old, new):
        text = note("work_gone", before=old, after=new)
        return WorkChange(status="gone", measure="operations", ratio=operations, text=text)
    if summed:
        return WorkChange(status="unknown", text=note("work_of_sums"))
    status, code, measure, ratio = _same_problem(before, after, operations, bytes_, threads)
    speedup = None
    if status == "different" and ratio and timing is not None:
        speedup = timing.speedup * ratio
    text = note(code, measure=measure, ratio=ratio, bytes=bytes_, threads=threads)
    return WorkChange(status=status, measure=measure, ratio=ratio, speedup=speedup, text=text)


def _same_problem(
    before: Side,
    after: Side,
    operations: float | None,
    bytes_: float | None,
    threads: float | None,
) -> _Work:
    """By operations; by bytes where those are not measured; by threads where neither is."""
    if operations is not None:
        status, code = _by_operations(operations, bytes_, threads)
        return status, code, "operations", operations
    if bytes_ is not None:
        if same(bytes_, 1.0, SAME_BYTES):
            return "same", "same_bytes", "dram_bytes", bytes_
        if threads is not None and same(threads, 1.0, SAME_OPERATIONS):
            return _unless_uniform(before, after)
        if threads is not None and same(bytes_, threads, PROPORTIONAL):
            return "different", "other_size", "dram_bytes", bytes_
        return "unknown", "bytes_on_another_grid", "dram_bytes", bytes_
    if threads is None:
        return "unknown", "work_not_measured", None, None
    if not same(threads, 1.0, 1e-9):
        return "unknown", "only_the_grid_differs", "threads", threads
    works = (busy_ratio(before, after, side.busiest) for side in (before, after))
    if all(work is None or same(work, 1.0, 2 * PROPORTIONAL) for work in works):
        return "same", "same_work", "threads", threads
    status, code, measure, ratio = _unless_uniform(before, after)
    if status == "same":
        status, code = "unknown", "only_threads_agree"
    return status, code, measure, ratio


def _by_operations(
    operations: float, bytes_: float | None, threads: float | None
) -> tuple[WorkStatus, str]:
    if same(operations, 1.0, SAME_OPERATIONS):
        return "same", "same_work"
    witness = threads if bytes_ is None else bytes_
    agreed = witness is not None and same(witness, operations, PROPORTIONAL)
    if agreed and not same(operations, 1.0, 0.05):
        return "different", "other_size"
    for code, kept in (
        ("operations_on_same_bytes", bytes_),
        ("operations_on_same_threads", threads),
    ):
        if kept is not None and same(kept, 1.0, SAME_OPERATIONS):
            return "same", code
    known = "bytes" if bytes_ is not None else "threads" if threads is not None else "nothing"
    return "unknown", f"operations_and_{known}"


def _unless_uniform(before: Side, after: Side) -> _Work:
    """Same threads, but if every unit's work changed by one factor, the problem's size may have.

    A grid-stride loop or a persistent kernel has the same grid for any size.
    """
    busy = [unit for unit, percent in before.utilization.items() if percent >= _BUSY]
    ratios = sorted(r for unit in busy if (r := busy_ratio(before, after, unit)) is not None)
    if len(ratios) > 2:
        middle = ratios[len(ratios) // 2]
        uniform = all(same(r, middle, PROPORTIONAL) for r in ratios)
        if uniform and not same(middle, 1.0, 2 * PROPORTIONAL):
            return "unknown", "every_unit_changed", "units", middle
    return "same", "same_work", "threads", 1.0


def _ratio(before: float | None, after: float | None) -> float | None:
    return None if not before or after is None else after / before


# --- cause --------------------------------------------------------------------------------------


def find_cause(before: Side, after: Side, timing: TimeChange, outcome: Outcome) -> ChangeCause:
    """The cause of a change of time, or of its absence."""
    if outcome == "no_change":
        limiter = before.verdict.limiter
        if outcome_of(timing.low, timing.high) != "no_change":
            return ChangeCause(code="clock")
        if limiter and limiter == after.verdict.limiter:
            return ChangeCause(code="same_limiter", unit=limiter)
        return ChangeCause(code="within_noise")
    gained = outcome == "faster"
    slow, fast = (before, after) if gained else (after, before)
    moved = precision_moved(before, after)
    if moved and gained:
        return ChangeCause(code="other_precision", unit=before.verdict.limiter, moved=moved)
    unit = slow.busiest
    work = busy_ratio(slow, fast, unit)
    if work is None or unit is None:
        return ChangeCause(code="unexplained", unit=unit)
    use = fast.utilization[unit] / slow.utilization[unit]
    if work > 0 and use > 0 and log(use) >= -log(work):
        return ChangeCause(code="busier" if gained else "idler", unit=unit, factor=use)
    code: CauseCode = "less_work" if gained else "more_work"
    if unit == "dram" and slow.measured.dram_bytes and fast.measured.dram_bytes is not None:
        share = fast.measured.dram_bytes / slow.measured.dram_bytes
        if share < 1 - SAME:
            code, work = "fewer_bytes" if gained else "more_bytes", share
    return ChangeCause(code=code, unit=unit, factor=1 / work if work > 0 else None)


def precision_moved(before: Side, after: Side) -> tuple[str, str] | None:
    """Where most operations of one precision became operations of another: (from, to)."""
    one, other = before.measured.operations, after.measured.operations
    gone = precisions_gone(before, after)
    if not gone or gone[0] != max(one, key=lambda key: one[key]):
        return None
    new = max(other, key=lambda key: other[key])
    return (gone[0], new) if new != gone[0] and other[new] else None


def precisions_gone(before: Side, after: Side) -> tuple[str, ...]:
    """The precisions of BEFORE of whose operations AFTER has a tenth or less, the largest first."""
    one, other = before.measured.operations, after.measured.operations
    if not other or after.measured.unmeasured:
        return ()
    gone = [key for key, count in one.items() if count > 0 and other.get(key, 0) <= 0.1 * count]
    return tuple(sorted(gone, key=lambda key: -one[key]))


def cause_gone(cause: Cause, had: Side, side: Side) -> bool | None:
    """Whether ``side`` lacks a cause that ``had`` has; ``None`` where it was not measured there."""
    if cause.code in {one.code for one in side.verdict.causes}:
        return False
    # A share of nothing is not known either, but then its counts are.
    known = _counted(had) <= _counted(side)
    if when := play(entry_of(cause)).when:
        read = names(when) & had.verdict.evidence.keys()
        known = known or read <= side.verdict.evidence.keys()
    else:  # a stall
        known = known or bool(side.measured.stalls)
    return True if known and side.verdict.bound is not Bound.UNKNOWN else None


def _counted(side: Side) -> set[str]:
    m = side.measured
    figures = ("occupancy_percent", "waves", "dram_bytes", "l2_bytes", "l1_bytes", "stalls")
    return {*m.counts, *m.ratios, *side.utilization, *(f for f in figures if getattr(m, f))}


# --- instructions --------------------------------------------------------------------------------

_WAIT = 0.1  # of the slower side's time: a wait that is worth naming


def wait_moved(pair: KernelPair, before: Details, after: Details) -> Note | None:
    """The wait whose time changed most in the direction of the whole, with its shares.

    ``None`` where a side has too few samples, or no wait changed by a tenth of the slower side.
    """
    one, other = pair.before.measured.duration_s, pair.after.measured.duration_s
    if not (before.waits and after.waits and one and other):
        return None
    spent = {
        wait: (one * before.waits.get(wait, 0.0), other * after.waits.get(wait, 0.0))
        for wait in (*before.waits, *after.waits)
    }
    pick = min if other < one else max
    wait = pick(spent, key=lambda name: spent[name][1] - spent[name][0])
    old_s, new_s = spent[wait]
    if abs(new_s - old_s) < _WAIT * max(one, other) or (new_s < old_s) != (other < one):
        return None
    shares = {"before": old_s / one, "after": new_s / other}
    return note("wait_moved", wait=wait, **shares, before_s=old_s, after_s=new_s)


# --- everything ---------------------------------------------------------------------------------

_LISTED = (
    *("duration_s", "dram_bytes", "total_operations", "sm_clock_hz", "dram_clock_hz", "threads"),
    *("waves", "occupancy_percent", "registers_per_thread", "shared_memory_bytes", "floor_s"),
)
# The units of what is of a side or of a verdict.
_UNITS = {"threads": "threads", "floor_s": "s"}


def changes_of(before: Side, after: Side) -> tuple[Change, ...]:
    """Every quantity that at least one side has, before and after."""
    rows = [
        (name, _UNITS.get(name) or QUANTITIES[name].unit, before.figure(name), after.figure(name))
        for name in _LISTED
    ]
    for name, unit in (("operations", "operations"), ("utilization", "%")):
        one, other = before.figure(name), after.figure(name)
        rows += [(f"{name}.{k}", unit, one.get(k), other.get(k)) for k in {**one, **other}]
    return tuple(
        Change(quantity=name, unit=unit, before=old, after=new, ratio=_ratio(old, new))
        for name, unit, old, new in rows
        if old is not None or new is not None
    )


def step_gain(share: float, ratio: float) -> float:
    """How many times faster a step gets by Amdahl's law.

    ``share`` is the kernel's part of the step before (0 to 1), ``ratio`` its own speed-up.
    """
    return 1 / (1 - share + share / ratio)
