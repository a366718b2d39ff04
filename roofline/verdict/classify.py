"""The named-limiter rule: from a measurement and its peaks to a verdict. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from roofline.model import (
    Bound,
    Confidence,
    Family,
    Measurement,
    Missing,
    PeakSet,
    Rule,
    UnitUse,
    Verdict,
)
from roofline.units import SM_THROUGHPUT, same_pipe, the_unit
from roofline.verdict.advice import advise
from roofline.verdict.causes import Cause, latency_cause, ruled_out
from roofline.verdict.context import Roofs, explain_disagreement, roofs_of
from roofline.verdict.phrases import percent
from roofline.verdict.utilization import COMPUTED, Sides, all_uses

_NEAR = 10.0  # points from the threshold at which a verdict could be the other
_OUT_OF_RANGE = 105.0
_SHORT_S = 10e-6


def judge(
    measurement: Measurement,
    peaks: PeakSet,
    rule: Rule | None = None,
    uses: Sequence[UnitUse] | None = None,
) -> Verdict:
    """Name the ceiling that a kernel runs closest to, if it is close to any.

    The busiest unit limits where it is busy for at least ``rule.latency`` percent of the
    elapsed time; below that the kernel waits, and the verdict is latency with its cause. Families
    within ``rule.balance`` points of each other are co-limited. Without enough to judge by:
    unknown. ``uses`` is what ``all_uses`` says of the two, where that is known already.
    """
    rule = rule or Rule()
    roofs = roofs_of(measurement, peaks)
    if uses is None:
        uses = all_uses(measurement, peaks)
    sides = Sides.of(uses)
    busiest = max((use.percent for use in uses), default=0.0)
    # Whatever runs does something: all zeros are no measurement.
    if busiest == 0.0 or (busiest < rule.latency and not sides.complete):
        return _unknown(measurement, uses, roofs)
    top = uses[0]
    following = _following(uses, top)
    if busiest < rule.latency:
        cause = latency_cause(measurement, busiest, rule)
        bound = Bound.LATENCY
    else:
        bound, cause = Bound(top.family.value), None
    co_limited = bound is not Bound.LATENCY and sides.margin <= rule.balance
    reasons = _doubts(measurement, uses, sides, rule.latency, co_limited=co_limited)
    words = advise(
        measurement,
        peaks,
        bound=bound,
        top=top,
        uses=uses,
        cause=cause,
        threshold=rule.latency,
    )
    return Verdict(
        bound=bound,
        limiter=None if bound is Bound.LATENCY else top.unit,
        limiter_percent=top.percent,
        nearest=top.unit,
        co_limited=co_limited,
        cause=None if cause is None else cause.code,
        cause_text=_cause_text(bound, cause, measurement),
        confidence=_confidence(reasons),
        confidence_reasons=tuple(reason for _, reason in reasons),
        floor_s=_at(measurement.duration_s, top.percent),
        next_limiter=None if following is None else following.unit,
        next_floor_s=None if following is None else _at(measurement.duration_s, following.percent),
        dominant=roofs.dominant,
        ridge=roofs.ridge,
        ridge_side=roofs.side,
        roof_percent=roofs.percent,
        context=explain_disagreement(bound, top, measurement, roofs),
        claim=words.claim,
        hint=words.hint,
        refute=words.refute,
        try_first=words.try_first,
        avoid=words.avoid,
        missing=_missing(measurement, sides),
    )


def _cause_text(bound: Bound, cause: Cause | None, measurement: Measurement) -> str | None:
    if bound is not Bound.LATENCY:
        return None
    return ruled_out(measurement) if cause is None else cause.text


def _following(uses: Sequence[UnitUse], top: UnitUse) -> UnitUse | None:
    """The unit that limits next: never the pipe that ``top`` is, by another name."""
    return next((use for use in uses if use.unit != top.unit and not same_pipe(use, top)), None)


def _at(duration_s: float | None, busy: float) -> float | None:
    """The duration if a unit were busy all the time; a bound never above what was measured."""
    return None if duration_s is None else duration_s * (min(busy, 100.0) / 100.0)


def _doubts(
    measurement: Measurement,
    uses: Sequence[UnitUse],
    sides: Sides,
    threshold: float,
    *,
    co_limited: bool,
) -> list[tuple[bool, str]]:
    """Reasons not to be sure, each with whether it is grave."""
    top = uses[0].percent
    found = []
    if abs(top - threshold) < _NEAR:
        found.append(
            (False, f"{percent(top)} is within 10 points of the threshold {percent(threshold)}")
        )
    if co_limited:
        found.append((False, f"the other family is {sides.margin:.0f} points away"))
    if not sides.complete:
        lacking = " and ".join(sorted(family.value for family in set(Family) - sides.measured))
        found.append((True, f"the {lacking} side was not measured in full"))
    if any(use.percent > _OUT_OF_RANGE for use in uses):
        found.append((False, "a utilisation is above 100 %: counters of different passes differ"))
    if measurement.duration_s is None:
        found.append((False, "the duration was not measured"))
    elif measurement.duration_s / measurement.count < _SHORT_S:
        found.append((False, "the kernel is shorter than 10 us: start and end weigh heavily"))
    if uses[0].metric.startswith(SM_THROUGHPUT):
        found.append((True, "only the SM's throughput was measured, which LSU and texture are in"))
    if uses[0].metric.endswith(COMPUTED):
        found.append((False, "the utilisation is computed, not counted"))
    return found + _doubts_of_notes(measurement)


def _doubts_of_notes(measurement: Measurement) -> list[tuple[bool, str]]:
    codes = {note.code for note in measurement.notes}
    found = []
    if codes & {"counters_nan", "unknown_unit"}:
        found.append((True, "some counters could not be read"))
    if "mixed_verdicts" in codes:
        found.append((False, "launches of this kernel were judged differently"))
    return found


def _confidence(doubts: Sequence[tuple[bool, str]]) -> Confidence:
    if not doubts:
        return Confidence.HIGH
    if len(doubts) > 2 or any(grave for grave, _ in doubts):
        return Confidence.LOW
    return Confidence.MEDIUM


def _missing(measurement: Measurement, sides: Sides) -> tuple[Missing, ...]:
    known = any(gap.quantity == "utilization" for gap in measurement.missing)
    # The report of a GPU without DRAM counters holds all that ncu can collect.
    beyond = any(note.code == "no_dram_counters" for note in measurement.notes)
    if sides.complete or known or beyond:
        return measurement.missing
    gap = Missing(quantity="utilization", flag="--section SpeedOfLight")
    return (gap, *measurement.missing)


def _unknown(measurement: Measurement, uses: Sequence[UnitUse], roofs: Roofs) -> Verdict:
    """Not enough to judge by; what is there is given all the same."""
    if any(note.code == "counters_nan" for note in measurement.notes):
        why = "the counters hold no numbers: profiling of this launch failed"
    elif uses and uses[0].percent == 0.0:
        why = "every utilisation reads 0 %: the counters did not count"
    elif uses:
        top = uses[0]
        why = (
            f"the busiest of what was measured is {the_unit(top.unit)} at "
            f"{percent(top.percent)}, and too little was measured to call that latency"
        )
        if any(note.code == "no_dram_counters" for note in measurement.notes):
            why = (
                f"the busiest of what was measured is {the_unit(top.unit)} at "
                f"{percent(top.percent)}, and ncu cannot measure the DRAM of this GPU, which may "
                "be busier"
            )
    else:
        why = "no utilisation was measured"
    missing = _missing(measurement, Sides.of(uses))
    flag = next((gap.flag for gap in missing if gap.quantity == "utilization"), None)
    hint = "" if flag is None else f"; collect it with ncu {flag}"
    if any(note.code == "counters_nan" for note in measurement.notes):
        hint = "; profile it again"
    top_unit = uses[0] if uses else None
    return Verdict(
        bound=Bound.UNKNOWN,
        limiter_percent=None if top_unit is None else top_unit.percent,
        nearest=None if top_unit is None else top_unit.unit,
        cause="not_measured",
        cause_text=why,
        confidence=Confidence.LOW,
        confidence_reasons=(why,),
        dominant=roofs.dominant,
        ridge=roofs.ridge,
        ridge_side=roofs.side,
        roof_percent=roofs.percent,
        claim=f"Unknown: {why}.",
        hint=f"{why}{hint}",
        missing=missing,
    )
