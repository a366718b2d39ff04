"""The named-limiter rule: from a measurement and its peaks to a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from roofline.model import (
    Bound,
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
from roofline.units import SM_THROUGHPUT, UNITS, same_pipe
from roofline.verdict.action import action_of
from roofline.verdict.bounds import Sides, all_uses, disagreement, roofs_of
from roofline.verdict.causes import Cause, latency_cause

_NEAR = 10.0  # points from the threshold at which a verdict could be the other
_OUT_OF_RANGE = 105.0
_SHORT_S = 10e-6
# Doubts of which one alone makes confidence low.
GRAVE = frozenset({"side_not_measured", "sm_throughput_only", "counters_unreadable"})


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
    top, sides, roofs = next(iter(uses), None), Sides.of(uses), roofs_of(measurement, peaks)
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
        why = (Note(code=_why_unknown(measurement, top)),)
        return replace(verdict, cause="not_measured", doubts=why)
    bound, cause = Bound(top.family.value), None
    if busiest < rule.latency:
        bound, cause = Bound.LATENCY, latency_cause(measurement, busiest, rule)
    # Never the pipe that the first one is, by another name.
    following = next((u for u in uses if u.unit != top.unit and not same_pipe(u, top)), None)
    co_limited = bound is not Bound.LATENCY and sides.margin <= rule.balance
    action, action_reason = action_of(measurement, bound, top.unit, top.percent)
    doubts = _doubts(measurement, uses, sides, rule, co_limited=co_limited)
    return replace(
        verdict,
        bound=bound,
        limiter=None if bound is Bound.LATENCY else top.unit,
        co_limited=co_limited,
        cause=None if cause is None else cause.code,
        cause_facts={} if cause is None else cause.facts,
        confidence=_confidence(doubts),
        doubts=doubts,
        floor_s=_floor_s(measurement, top),
        next_limiter=None if following is None else following.unit,
        next_floor_s=None if following is None else _floor_s(measurement, following),
        context=disagreement(bound, top, roofs),
        advice=_advice(measurement, bound, top, cause),
        action=action,
        action_reason=action_reason,
    )


def _why_unknown(measurement: Measurement, top: UnitUse | None) -> str:
    codes = {note.code for note in measurement.notes}
    if "counters_nan" in codes:
        return "counters_nan"
    if top is None:
        return "no_utilization"
    if top.percent == 0.0:
        return "all_zero"
    return "dram_not_countable" if "no_dram_counters" in codes else "too_little_measured"


def _floor_s(measurement: Measurement, use: UnitUse) -> float | None:
    """The duration if a unit were busy all the time; a bound never above what was measured."""
    duration_s = measurement.duration_s
    return None if duration_s is None else duration_s * (min(use.percent, 100.0) / 100.0)


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
    # The report of a GPU without DRAM counters holds all that ncu can collect.
    beyond = any(note.code == "no_dram_counters" for note in measurement.notes)
    if sides.complete or known or beyond:
        return measurement.missing
    gap = Missing(quantity="utilization", flag="--section SpeedOfLight")
    return (gap, *measurement.missing)


def _advice(m: Measurement, bound: Bound, top: UnitUse, cause: Cause | None) -> str:
    """The entry of ``text/advice.toml`` that speaks of this verdict."""
    if bound is not Bound.LATENCY:
        key = top.unit if top.unit in UNITS else "other"
        return f"unit.{_part_of_l1(m) if key == 'l1' else key}"
    if cause is not None:
        kind, _, reason = cause.code.partition("_")
        return f"stall.{reason}" if kind == "stall" else f"cause.{cause.code}"
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
