"""Whether predictions held: BEFORE's floors, and what the user expected or claimed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from roofline.compare.change import (
    SAME,
    busy_ratio,
    precision_moved,
    precisions_gone,
)
from roofline.compare.model import Judgement, KernelPair, Outcome, Prediction, Side, note
from roofline.errors import UsageError
from roofline.model import Bound, Family, Note
from roofline.patterns import select
from roofline.units import UNITS, unit_of_precision

# A unit's work within this is unchanged, so that its floor still stands.
UNCHANGED = 0.05
# A bound is confirmed by a gain near it: so much of the time that it leaves to be won.
NEAR = 0.75
# Points by which occupancy must rise to count as the cause claimed.
_POINTS = 5.0
CAUSES = ("bandwidth", "compute", "latency", "bytes", "operations", "occupancy", "precision")

Held = tuple[bool | None, Note]  # None: it cannot be told


_UNKNOWN = note("limit_unknown")


# --- the floors of BEFORE -----------------------------------------------------------------------


def bounds_held(pair: KernelPair) -> tuple[Prediction, ...]:
    """What BEFORE's floors said would be the most, against what came.

    Only a speed-up tests a bound; a pair without one gets none of these.
    """
    if pair.outcome is not Outcome.FASTER or pair.timing is None or pair.work.differs:
        return ()
    before, unit = pair.before, pair.before.verdict.nearest or pair.before.verdict.limiter
    if unit is None or not before.measured.duration_s:
        return ()
    found = []
    speedup, noise = pair.timing.speedup_low, pair.timing.noise
    floor, next_floor = before.verdict.floor_s, before.verdict.next_floor_s
    if floor:
        most = before.measured.duration_s / floor
        work = busy_ratio(before, pair.after, unit)
        claim = note("bound_at_same_work", most=most, unit=unit)
        found.append((claim, *_same_work(unit, work, speedup, most, most * (1 + noise))))
    if next_floor and before.verdict.next_limiter:
        most = before.measured.duration_s / next_floor
        then = before.verdict.next_limiter
        claim = note("bound_relieved", most=most, unit=unit, then=then)
        found.append((claim, *_relieved(pair, unit, speedup, most, most * (1 + noise))))
    return tuple(
        Prediction(by="floor", claim=claim, judgement=judged, reason=reason)
        for claim, judged, reason in found
    )


def _same_work(
    unit: str, work: float | None, speedup: float, most: float, tolerated: float
) -> tuple[Judgement, Note]:
    """The bound of the nearest ceiling: confirmed by a gain near it, else not put to the test."""
    if work is None:
        return Judgement.NOT_TESTABLE, note("unit_not_measured", unit=unit)
    if abs(work - 1) > UNCHANGED:
        return Judgement.NOT_TESTABLE, note("work_changed", work=work, unit=unit)
    if speedup > tolerated:
        return Judgement.REFUTED, note("bound_exceeded_at_same_work", speedup=speedup)
    won = (1 - 1 / speedup) / (1 - 1 / most) if most > 1 else 1.0
    facts = {"speedup": speedup, "most": most, "won": won}
    if won >= NEAR:
        return Judgement.CONFIRMED, note("bound_reached", **facts)
    return Judgement.NOT_TESTABLE, note("bound_not_neared", **facts)


def _relieved(
    pair: KernelPair, unit: str, speedup: float, most: float, tolerated: float
) -> tuple[Judgement, Note]:
    """With the limiter relieved, the next one was to hold at ``next_floor_s``."""
    before, after = pair.before, pair.after
    then, now = before.verdict.next_limiter, after.busiest
    work, next_work = busy_ratio(before, after, unit), busy_ratio(before, after, then)
    facts = {"speedup": speedup, "most": most, "unit": unit, "then": then, "now": now}
    if work is None or next_work is None:
        return Judgement.NOT_TESTABLE, note("units_not_measured")
    fell = next_work < 1 - UNCHANGED
    if work > 1 - UNCHANGED:
        return Judgement.NOT_TESTABLE, note("work_did_not_fall", unit=unit)
    if speedup > tolerated:
        if fell:
            return Judgement.NOT_TESTABLE, note("next_work_fell_too", work=next_work, unit=then)
        return Judgement.REFUTED, note("bound_exceeded", **facts)
    if now == then and after.verdict.limiter is None:
        return Judgement.NOT_TESTABLE, note("nearest_but_not_near", **facts)
    if now == then:
        return Judgement.CONFIRMED, note("bound_reached", **facts)
    if now == unit:
        return Judgement.NOT_TESTABLE, note("still_nearest", unit=unit)
    if fell:
        facts = {"work": next_work, "unit": then, "now": now}
        return Judgement.NOT_TESTABLE, note("next_work_fell_and_another_is_nearest", **facts)
    return Judgement.REFUTED, note("another_is_nearest", now=now)


# --- the user -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What the user expects of kernels; ``pattern`` of ``None`` is all that got faster.

    A ``speedup`` of at least so many times, or of ``None`` no change; or a claimed ``cause``.
    """

    pattern: str | None
    text: str
    speedup: float | None = None
    cause: str | None = None


def parse_expect(text: str) -> Expectation:
    """Read "KERNEL=1.4x" or "KERNEL=same".

    Raises:
        UsageError: it is neither.

    """
    pattern, _, value = text.rpartition("=")
    value = value.strip()
    factor = re.fullmatch(r"(\d+(?:\.\d+)?)x", value)
    if not pattern or (value != "same" and (factor is None or float(factor[1]) <= 0)):
        raise UsageError(
            f"--expect {text!r} is not understood", hint="--expect 'gemm=1.4x' or 'gemm=same'"
        )
    return Expectation(pattern=pattern, text=text, speedup=float(factor[1]) if factor else None)


def parse_claim(text: str) -> Expectation:
    """Read "bandwidth" or "KERNEL=bandwidth": a family, a unit key, or another of ``CAUSES``.

    Raises:
        UsageError: the cause is none of them.

    """
    pattern, sign, cause = text.rpartition("=")
    if cause not in CAUSES and cause not in UNITS:
        known = ", ".join((*CAUSES, *UNITS))
        raise UsageError(f"--because: no cause {cause!r} is known", hint=f"one of {known}")
    return Expectation(pattern=pattern if sign else None, text=text, cause=cause)


def expected(
    pairs: Sequence[KernelPair], wanted: Sequence[Expectation]
) -> dict[int, list[Prediction]]:
    """The user's expectations judged, by position of the pair; -1 holds those without a kernel."""
    names, names_after = [p.before.names for p in pairs], [p.after.names for p in pairs]
    found: dict[int, list[Prediction]] = {}
    for item in wanted:
        if item.pattern is None:
            positions = tuple(i for i, p in enumerate(pairs) if p.outcome is Outcome.FASTER)
        else:
            positions = select(item.pattern, names) or select(item.pattern, names_after)
        for position in positions:
            judged, reason = _judge(pairs[position], item)
            found.setdefault(position, []).append(_user(item, judged, reason))
        if not positions:
            reason = note("no_pair_named" if item.pattern else "nothing_faster")
            found.setdefault(-1, []).append(_user(item, Judgement.NOT_TESTABLE, reason))
    return found


def _user(item: Expectation, judged: Judgement, reason: Note) -> Prediction:
    option = "--because" if item.cause else "--expect"
    claim = note("stated", option=option, text=item.text)
    return Prediction(by="user", claim=claim, judgement=judged, reason=reason)


def _judge(pair: KernelPair, item: Expectation) -> tuple[Judgement, Note]:
    if pair.timing is None:
        return Judgement.NOT_TESTABLE, note("no_duration")
    if pair.work.differs:
        return Judgement.NOT_TESTABLE, note("size_differs")
    if item.cause is not None:
        return _judge_claim(pair, item.cause)
    noise, speedup = pair.timing.noise, pair.timing.speedup
    if item.speedup is None:
        held = pair.outcome is Outcome.NO_CHANGE
        reason = note("outcome", speedup=speedup, outcome=pair.outcome.value)
        return Judgement.CONFIRMED if held else Judgement.REFUTED, reason
    if 1 / (1 + noise) < item.speedup < 1 + noise:
        return Judgement.NOT_TESTABLE, note("within_the_noise", noise=noise, speedup=speedup)
    if pair.timing.speedup_low * (1 + noise) >= item.speedup:
        return Judgement.CONFIRMED, note("reached", speedup=speedup)
    if pair.timing.equal_high < item.speedup:
        return Judgement.REFUTED, note("reached", speedup=speedup)
    return Judgement.NOT_TESTABLE, note("reached_by_clocks", speedup=speedup)


def _judge_claim(pair: KernelPair, cause: str) -> tuple[Judgement, Note]:
    if pair.outcome is not Outcome.FASTER or pair.timing is None:
        return Judgement.NOT_TESTABLE, note("no_speedup", outcome=pair.outcome.value)
    held, reason = cause_held(pair, cause)
    if held is None:
        return Judgement.NOT_TESTABLE, reason
    if held:
        return Judgement.CONFIRMED, reason
    return Judgement.REFUTED, note("other_reason", speedup=pair.timing.speedup, why=reason)


# --- a claimed cause: it must have been the limit, and relieved ---------------------------------


def cause_held(pair: KernelPair, cause: str) -> Held:
    """Whether ``cause`` (one of ``CAUSES`` or a unit) made ``pair`` faster, and the figures."""
    before, after = pair.before, pair.after
    match cause:
        case "bytes":
            return _bytes(before, after)
        case "operations":
            return _operations(before, after)
        case "precision":
            return _precision(before, after)
        case "occupancy":
            return _occupancy(before, after)
        case "latency":
            return _latency(pair)
    return _unit_relieved(before, after, cause)


def _bytes(before: Side, after: Side) -> Held:
    """Fewer bytes make faster what DRAM limited."""
    fewer, reason = _fewer("dram_bytes", before.measured.dram_bytes, after.measured.dram_bytes)
    if not fewer:
        return fewer, reason
    limited, was = _limited_by(before, "dram")
    return limited, reason if limited else note("but", what=reason, why=was)


def _operations(before: Side, after: Side) -> Held:
    """Fewer operations make faster what a unit limited that executes or issues them."""
    fewer, reason = _fewer(
        "total_operations", before.measured.total_operations, after.measured.total_operations
    )
    if not fewer:
        return fewer, reason
    relieved, why = _unit_relieved(before, after, Family.COMPUTE)
    return relieved, note("with" if relieved else "but", what=reason, why=why)


def _precision(before: Side, after: Side) -> Held:
    """Most operations moved to another type, or those of the pipe that was the limit are gone."""
    if not before.measured.operations or not after.measured.operations:
        return None, note("precisions_not_measured")
    if moved := precision_moved(before, after):
        return True, note("operations_moved", old=moved[0], new=moved[1])
    said = None
    for key in precisions_gone(before, after):
        unit = unit_of_precision(key)
        counts = [side.measured.operations.get(key, 0.0) for side in (before, after)]
        gone = note("precision_gone", precision=key, before=counts[0], after=counts[1])
        limited, was = _limited_by(before, unit)
        if limited:
            was = note("was_busy", unit=unit, percent=before.utilization[unit])
            return True, note("and", what=gone, why=was)
        said = said or note("but", what=gone, why=was)
    return False, said or note("no_precision_changed")


def _fewer(measure: str, one: float | None, other: float | None) -> Held:
    if one is None or other is None:
        return None, note("amount_not_measured", measure=measure)
    fewer = other < one * (1 - SAME)
    return fewer, note("amount_changed", measure=measure, before=one, after=other)


def _limited_by(before: Side, unit: str) -> Held:
    """Whether ``unit`` was the limit or as near to it, and what was."""
    if before.verdict.bound is Bound.UNKNOWN:
        return None, _UNKNOWN
    use = before.utilization.get(unit)
    if use is None:
        return None, note("unit_not_measured_before", unit=unit)
    limiter = before.verdict.limiter
    return unit in before.limits, note("limit_was", limiter=limiter, unit=unit, percent=use)


def _occupancy(before: Side, after: Side) -> Held:
    one, other = before.measured.occupancy_percent, after.measured.occupancy_percent
    if one is None or other is None:
        return None, note("amount_not_measured", measure="occupancy_percent")
    reason = note("amount_changed", measure="occupancy_percent", before=one, after=other)
    if before.verdict.bound is not Bound.LATENCY:
        limiter = note("limit_was_and", limiter=before.verdict.limiter)
        return False, note("and", what=reason, why=limiter)
    return other > one + _POINTS, reason


def _latency(pair: KernelPair) -> Held:
    verdict = pair.before.verdict
    if verdict.bound is Bound.UNKNOWN:
        return None, _UNKNOWN
    if verdict.bound is not Bound.LATENCY:
        return False, note("was_limited_by", limiter=verdict.limiter)
    return pair.cause.code == "busier", note("latency_before", cause=pair.cause.code)


def _unit_relieved(before: Side, after: Side, cause: str) -> Held:
    """A unit (or the busiest of a family) was the limiter and got less to do or was used better."""
    if before.verdict.bound is Bound.UNKNOWN:
        return None, _UNKNOWN
    unit = cause
    if cause in (Family.BANDWIDTH, Family.COMPUTE):
        members = [u for u, family in before.families.items() if family == cause]
        if not members:
            return None, note("family_not_measured", family=str(cause))
        unit = max(members, key=lambda u: before.utilization[u])
    limited, was = _limited_by(before, unit)
    if not limited:
        return limited, was
    work = busy_ratio(before, after, unit)
    if work is None:
        return None, note("unit_not_measured_after", unit=unit)
    use, used = before.utilization[unit], after.utilization[unit]
    facts = {"unit": unit, "before": use, "after": used, "work": work}
    if work < 1 - UNCHANGED:
        return True, note("unit_has_less_work", **facts)
    if used > use + SAME * 100:
        return True, note("unit_is_busier", **facts)
    return False, note("unit_has_as_much_work", **facts)
