"""The named-limiter rule: from a measurement and its peaks to a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import inf
from typing import Any

from roofline.model import (
    Bound,
    Cause,
    Family,
    Kind,
    Measurement,
    Missing,
    Note,
    PeakSet,
    Rule,
    UnitUse,
    Verdict,
    exceeds,
)
from roofline.playbook import entry_of
from roofline.units import FEW_FP64, ROUNDING, UNITS, beside, relieved_with
from roofline.verdict.action import action_of, callers_entry
from roofline.verdict.bounds import all_uses, computed, disagreement, idle_below, lacking, roofs_of
from roofline.verdict.causes import causes_of, gain_of, waste_floor
from roofline.verdict.confidence import doubts_of
from roofline.verdict.evidence import evidence_of

_FEW_FP64_BUSY = 40.0


def judge(
    measurement: Measurement,
    peaks: PeakSet,
    rule: Rule | None = None,
    uses: Sequence[UnitUse] | None = None,
) -> Verdict:
    """Name the ceiling that a kernel runs closest to, if it is close to any.

    The unit nearest to full limits where it is busy for at least ``rule.latency`` percent of the
    elapsed time; below that the kernel waits, and the verdict is latency with its cause. A second
    unit within ``rule.balance`` points makes it co-limited. Without enough to judge by:
    unknown. ``uses`` is what ``all_uses`` says of the two, where that is known already.
    """
    rule = rule or Rule()
    if uses is None:
        uses = all_uses(measurement, peaks)
    top, roofs = next(iter(uses), None), roofs_of(measurement, peaks)
    idle = idle_below(measurement, rule.latency)
    gaps = lacking(uses, idle)
    if measurement.kind is Kind.FIGURES:  # the two roofs are all that there is to know
        gaps = frozenset(Family) - {use.family for use in uses}
    verdict = partial(
        Verdict,
        limiter_percent=None if top is None else top.percent,
        nearest=None if top is None else top.unit,
        missing=_missing(measurement, gaps),
        rule=rule,
        **roofs,
    )
    # Whatever runs does something: all zeros are no measurement.
    busiest = max((use.percent for use in uses), default=0.0)
    if measurement.kind is Kind.FIGURES and (beyond := _above_peak(measurement, peaks)):
        nothing: dict[str, Any] = {"limiter_percent": None, "nearest": None}
        return verdict(bound=Bound.UNKNOWN, cause="above_peak", doubts=(beyond,), **nothing)
    if top is None or busiest == 0.0 or (busiest < rule.latency and gaps):
        why = (_why_unknown(measurement, top),)
        return verdict(bound=Bound.UNKNOWN, cause="not_measured", doubts=why)
    # Two FP64 units an SM are full at 83 to 86 %, and the reason to wait long before that.
    few = measurement.device.compute_capability in FEW_FP64
    scarce = few and top.unit == "fp64"
    threshold = min(_FEW_FP64_BUSY, rule.latency) if scarce else rule.latency
    latent = busiest < threshold
    bound = Bound.LATENCY if latent else Bound(top.family.value)
    evidence = evidence_of(measurement, uses, rule)
    evidence |= {"latency": float(latent), "threshold": threshold, "most": 100 / top.near}
    evidence |= {f"peak_{key}": rate for key, rate in _datasheet(peaks).items()}
    causes = causes_of(measurement, bound, uses, evidence)
    if any(one.promise == "occupancy" for one in causes):
        evidence["short_of_warps"] = 1.0
    waste = waste_floor(causes, uses, evidence)
    others = beside(top, uses, few_fp64=few)
    second = next(iter(others), None)
    following = next((use for use in others if not relieved_with(top, use)), None)
    nearest_two = top.near, None if following is None else following.near
    gain, gain_by = gain_of(causes, waste, bound, nearest_two)
    near = second if second and not exceeds(top.near - second.near, rule.balance) else None
    first = any(one.promise == "first" for one in causes)
    inside = gain_by in ("waste", "work") or first
    action, action_reason = action_of(measurement, bound, top.unit, top.percent, inside=inside)
    confidence, doubts = doubts_of(
        measurement, uses, idle, bound, threshold, evidence, causes, (second, rule.balance)
    )
    return verdict(
        bound=bound,
        limiter=None if bound is Bound.LATENCY else top.unit,
        co_limiter=None if near is None or bound is Bound.LATENCY else near.unit,
        cause=causes[0].code if causes else None,
        causes=causes,
        confidence=confidence,
        doubts=doubts,
        # Other code runs once that is mended.
        floor_s=None if first else _floor_s(measurement, top),
        next_limiter=None if following is None else following.unit,
        next_floor_s=None if first or following is None else _floor_s(measurement, following),
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


def _datasheet(peaks: PeakSet) -> Mapping[str, float]:
    return (peaks.datasheet or peaks.report).operations_per_s


def _above_peak(measurement: Measurement, peaks: PeakSet) -> Note | None:
    """The stated figure that is furthest above its peak, where one is."""
    most = max(computed(measurement, peaks), key=lambda use: use.percent, default=None)
    if most is None or most.percent <= 100.0 + ROUNDING:
        return None
    precision = next(iter(measurement.operations), None) if most.unit != "dram" else None
    tensor = "tensor_tf32" if precision == "fp32" else f"tensor_{precision}"
    rates = _datasheet(peaks)
    fits = rates.get(tensor, 0.0) >= measurement.operation_rates().get(precision or "", inf)
    facts = {
        "precision": precision,
        "tensor": tensor if fits else None,
        "amount": measurement.operations.get(precision or "", measurement.dram_bytes),
        "duration_s": measurement.duration_s,
        "times_peak": most.percent / 100.0,
        "gpu": measurement.device.name,
    }
    return Note(code="above_peak", facts=facts)


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
    if measurement.kind is Kind.FIGURES:
        return Note(code="too_little_stated")
    beyond = "no_dram_counters" in notes
    return Note(code="dram_not_countable" if beyond else "too_little_measured")


def _floor_s(measurement: Measurement, use: UnitUse) -> float | None:
    """The duration if a unit were busy all the time; a bound never above what was measured."""
    return _part_of(measurement, min(use.near, 100.0) / 100.0)


def _part_of(measurement: Measurement, share: float) -> float | None:
    return None if measurement.duration_s is None else measurement.duration_s * share


def _missing(measurement: Measurement, gaps: frozenset[Family]) -> tuple[Missing, ...]:
    known = any(gap.quantity == "utilization" for gap in measurement.missing)
    # A GPU without DRAM counters, or one on which they do not work: there is no more to collect.
    beyond = any(note.code in ("no_dram_counters", "counters_nan") for note in measurement.notes)
    if not gaps or known or beyond or measurement.kind is Kind.FIGURES:
        return measurement.missing
    gap = Missing(quantity="utilization", flag="--section SpeedOfLight")
    return (gap, *measurement.missing)


def _advice(m: Measurement, bound: Bound, top: UnitUse, causes: Sequence[Cause]) -> str:
    """The entry of the knowledge base that speaks of this verdict."""
    if (callers := callers_entry(m)) is not None:
        return callers
    if bound is not Bound.LATENCY:
        key = top.unit if top.unit in UNITS else "other"
        if key == "l1":
            key = _part_of_l1(m)
        elif key == "fma" and m.integers_per_s():
            key = "fma_integer"
        return f"unit.{key}"
    if causes:
        return entry_of(causes[0])
    if m.kind is Kind.FIGURES:
        return "cause.two_roofs"
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
