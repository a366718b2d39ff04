"""The named-limiter rule: from a measurement and its peaks to a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from roofline.model import (
    Bound,
    Cause,
    Confidence,
    Family,
    Measurement,
    Missing,
    Note,
    PeakSet,
    Rule,
    UnitUse,
    Verdict,
)
from roofline.playbook import entry_of
from roofline.units import SM_THROUGHPUT, UNITS, queue_of_fp64, same_pipe
from roofline.verdict.action import action_of
from roofline.verdict.bounds import Sides, all_uses, disagreement, idle_below, roofs_of
from roofline.verdict.causes import causes_of, gain_of, waste_floor
from roofline.verdict.evidence import FEW_FP64, evidence_of

_NEAR = 10.0  # points from the threshold at which a verdict could be the other
_OUT_OF_RANGE = 100.0
_SHORT_S = 10e-6
_FEW_FP64_BUSY = 40.0
# Doubts of which one alone makes confidence low.
GRAVE = frozenset({"side_not_measured", "sm_throughput_only", "counters_unreadable", "shared_gpu"})


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
    if uses is None:
        uses = all_uses(measurement, peaks)
    top, roofs = next(iter(uses), None), roofs_of(measurement, peaks)
    sides = Sides.of(uses, idle_below(measurement, rule.latency))
    verdict = Verdict(
        bound=Bound.UNKNOWN,
        limiter_percent=None if top is None else top.percent,
        nearest=None if top is None else top.unit,
        missing=_missing(measurement, sides),
        rule=rule,
        **roofs,
    )
    # Whatever runs does something: all zeros are no measurement.
    busiest = max((use.percent for use in uses), default=0.0)
    if top is None or busiest == 0.0 or (busiest < rule.latency and not sides.complete):
        why = (_why_unknown(measurement, top),)
        return replace(verdict, cause="not_measured", doubts=why)
    # Two FP64 units an SM are full at 83 to 86 %, and the reason to wait long before that.
    few = top.unit == "fp64" and measurement.device.compute_capability in FEW_FP64
    latent = busiest < (min(_FEW_FP64_BUSY, rule.latency) if few else rule.latency)
    bound = Bound.LATENCY if latent else Bound(top.family.value)
    evidence = evidence_of(measurement, uses, rule) | {"latency": float(latent)}
    causes = causes_of(measurement, bound, uses, evidence)
    waste = waste_floor(causes, uses, evidence)
    # Never the pipe that the first one is, by another name.
    following = next(
        (
            u
            for u in uses
            if u.unit != top.unit and not same_pipe(u, top) and not (few and queue_of_fp64(u))
        ),
        None,
    )
    nearest_two = busiest, None if following is None else following.percent
    gain, gain_by = gain_of(causes, waste, bound, nearest_two)
    co_limited = bound is not Bound.LATENCY and sides.margin <= rule.balance
    inside = gain_by in ("waste", "work") or any(one.promise == "first" for one in causes)
    action, action_reason = action_of(measurement, bound, top.unit, top.percent, inside=inside)
    doubts = _doubts(measurement, uses, sides, rule, co_limited=co_limited)
    return replace(
        verdict,
        bound=bound,
        limiter=None if bound is Bound.LATENCY else top.unit,
        co_limited=co_limited,
        cause=causes[0].code if causes else None,
        causes=causes,
        confidence=_confidence(doubts),
        doubts=doubts,
        floor_s=_floor_s(measurement, top),
        next_limiter=None if following is None else following.unit,
        next_floor_s=None if following is None else _floor_s(measurement, following),
        waste_floor_s=None if waste is None else _part_of(measurement, waste[0]),
        waste_limiter=None if waste is None else waste[1],
        gain=gain,
        gain_by=gain_by,
        context=disagreement(bound, top, roofs),
        advice=_advice(measurement, bound, top, causes),
        action=action,
        action_reason=action_reason,
        evidence=evidence,
    )


def _why_unknown(measurement: Measurement, top: UnitUse | None) -> Note:
    notes = {note.code: note for note in measurement.notes}
    if "counters_nan" in notes:
        # Without a duration, all of the launch failed.
        failed = measurement.duration_s is None
        return Note(code="counters_nan") if failed else notes["counters_nan"]
    if top is None:
        return Note(code="no_utilization")
    if top.percent == 0.0:
        return Note(code="all_zero")
    beyond = "no_dram_counters" in notes
    return Note(code="dram_not_countable" if beyond else "too_little_measured")


def _floor_s(measurement: Measurement, use: UnitUse) -> float | None:
    """The duration if a unit were busy all the time; a bound never above what was measured."""
    return _part_of(measurement, min(use.percent, 100.0) / 100.0)


def _part_of(measurement: Measurement, share: float) -> float | None:
    return None if measurement.duration_s is None else measurement.duration_s * share


def _doubts(
    m: Measurement, uses: Sequence[UnitUse], sides: Sides, rule: Rule, *, co_limited: bool
) -> tuple[Note, ...]:
    """Reasons not to be sure."""
    top, codes = uses[0], {note.code for note in m.notes}
    short = m.duration_s is not None and m.duration_s / m.count < _SHORT_S
    near = {"percent": top.percent, "threshold": rule.latency, "points": _NEAR}
    lacking = sorted(family.value for family in set(Family) - sides.measured)
    rows: tuple[tuple[str, bool, dict[str, Any]], ...] = (
        ("near_threshold", abs(top.percent - rule.latency) < _NEAR, near),
        ("other_family_near", co_limited, {"points": sides.margin}),
        ("side_not_measured", bool(lacking), {"sides": lacking}),
        ("above_100", any(use.percent > _OUT_OF_RANGE for use in uses), {}),
        ("no_duration", m.duration_s is None, {}),
        ("short_kernel", short, {"under_s": _SHORT_S}),
        ("sm_throughput_only", top.metric.startswith(SM_THROUGHPUT), {}),
        ("computed", top.computed, {}),
        ("counters_unreadable", bool(codes & {"counters_nan", "unknown_unit"}), {}),
        ("shared_gpu", "shared_gpu" in codes, {}),
        ("launches_differ", "mixed_verdicts" in codes, {}),
    )
    return tuple(Note(code=code, facts=facts) for code, holds, facts in rows if holds)


def _confidence(doubts: Sequence[Note]) -> Confidence:
    if not doubts:
        return Confidence.HIGH
    if len(doubts) > 2 or any(doubt.code in GRAVE for doubt in doubts):
        return Confidence.LOW
    return Confidence.MEDIUM


def _missing(measurement: Measurement, sides: Sides) -> tuple[Missing, ...]:
    known = any(gap.quantity == "utilization" for gap in measurement.missing)
    # A GPU without DRAM counters, or one on which they do not work: there is no more to collect.
    beyond = any(note.code in ("no_dram_counters", "counters_nan") for note in measurement.notes)
    if sides.complete or known or beyond:
        return measurement.missing
    gap = Missing(quantity="utilization", flag="--section SpeedOfLight")
    return (gap, *measurement.missing)


def _advice(m: Measurement, bound: Bound, top: UnitUse, causes: Sequence[Cause]) -> str:
    """The entry of the knowledge base that speaks of this verdict."""
    if bound is not Bound.LATENCY:
        key = top.unit if top.unit in UNITS else "other"
        return f"unit.{_part_of_l1(m) if key == 'l1' else key}"
    if causes:
        return entry_of(causes[0])
    if m.stalls:
        return "cause.none"
    known = m.theoretical_occupancy_percent is not None
    return "cause.no_stalls" if known else "cause.no_evidence"


def _part_of_l1(m: Measurement) -> str:
    """L1 and shared memory are one unit, and what helps depends on which of them is used."""
    if m.shared_memory_bytes is None:
        return "l1"
    if m.shared_memory_bytes == 0:
        return "l1_global"
    share = {stall.reason: stall.share for stall in m.stalls}
    shared = share.get("mio_throttle", 0.0) + share.get("short_scoreboard", 0.0)
    return "l1_global" if share.get("lg_throttle", 0.0) > shared else "l1_shared"
