"""How far a verdict may be leant on: each doubt with the most confidence that it leaves.

The numbers are from public reports: where a second capture or the author's next version showed
which verdicts held.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from roofline.model import Bound, Cause, Confidence, Kind, Measurement, Note, UnitUse, exceeds
from roofline.units import SM_THROUGHPUT
from roofline.verdict.bounds import AT_DATASHEET, lacking

_NEAR = 5.0  # points from the threshold at which a verdict could be the other
_SURE = 80.0  # % of peak from which a limiter is sure
_OUT_OF_RANGE = 100.0
_SHORT_S = 10e-6
# Launch and drain cost that much on every SM, whatever a kernel does.
_DRAIN_CYCLES, _ACTIVE = 10_000, 0.85
# Causes that follow from shapes and measured activity; the others are named by a threshold.
_GEOMETRIC = frozenset(
    {"debug_build", "host_memory", "grid_too_small", "partial_warps", "imbalance", "short_kernel"}
)
_M, _L = Confidence.MEDIUM, Confidence.LOW


def doubts_of(
    m: Measurement,
    uses: Sequence[UnitUse],
    idle_units: frozenset[str],
    bound: Bound,
    threshold: float,
    evidence: Mapping[str, float],
    causes: Sequence[Cause],
    following: tuple[UnitUse | None, float],
) -> tuple[Confidence, tuple[Note, ...]]:
    """The confidence, and the reasons not to be sure.

    ``idle_units`` are those that cannot be busy by the grid alone, ``following`` is the second
    unit, and the points within which it limits as well.
    """
    top, codes = uses[0], {note.code for note in m.notes}
    latent, (next_unit, balance) = bound is Bound.LATENCY, following
    margin = float("inf") if next_unit is None else top.near - next_unit.near
    near = {"percent": top.percent, "threshold": threshold, "points": _NEAR}
    sides = sorted(family.value for family in lacking(uses, idle_units))
    known = {use.unit for use in uses if not use.computed} | idle_units
    caches = [unit for unit in ("l1", "l2") if unit not in known]
    # Of the SMs that have a block: the others are idle by the grid.
    idle, active = evidence.get("idle_cycles"), evidence.get("sm_active", 1.0)
    active /= evidence.get("fill") or 1.0
    drains = idle is not None and idle < _DRAIN_CYCLES and active < _ACTIVE
    short = m.duration_s is not None and m.duration_s / m.count < _SHORT_S
    why = _of_cause(top.percent, threshold, evidence, causes) if latent else ""
    under_sure = not latent and threshold + _NEAR < top.percent and top.near < _SURE
    above = any(use.percent > _OUT_OF_RANGE for use in uses)
    stated = m.kind is Kind.FIGURES  # nothing else of it could have been counted
    rows: tuple[tuple[Confidence, str, bool, dict[str, Any]], ...] = (
        (_L, "near_threshold", abs(top.percent - threshold) <= _NEAR, near),
        (_L, "datasheet_peaks", top.metric.endswith(AT_DATASHEET), {}),
        (_L, "side_not_measured", bool(sides) and not stated, {"sides": sides}),
        (_L, "caches_not_measured", bool(caches) and not stated, {"units": caches}),
        (_L, "no_sm_activity", m.sm_active_percent is None and not stated, {}),
        (_L, "short_kernel", short, {"under_s": _SHORT_S}),
        (_L, "drains", drains and not short, {"cycles": idle}),
        (_L, "sm_throughput_only", top.metric.startswith(SM_THROUGHPUT), {}),
        (_L, "counters_unreadable", "counters_nan" in codes, {}),
        (_L, "shared_gpu", "shared_gpu" in codes, {}),
        (_L, "part_unknown", "part_unknown" in codes, {}),
        (_M, "under_sure", under_sure, {"sure": _SURE}),
        (
            _M,
            "other_unit_near",
            not (latent or exceeds(margin, balance)),
            {"other": None if next_unit is None else next_unit.unit, "points": margin},
        ),
        (_M, why, bool(why), {}),
        (_M, "above_datasheet" if stated else "above_100", above, {}),
        (_M, "no_duration", m.duration_s is None, {}),
        (_M, "computed", top.computed and not stated, {}),
        (_M, "launches_differ", "mixed_verdicts" in codes, {}),
    )
    found = [(most, Note(code=code, facts=facts)) for most, code, holds, facts in rows if holds]
    caps = {most for most, _ in found}
    confidence = _L if _L in caps else _M if _M in caps else Confidence.HIGH
    return confidence, tuple(note for _, note in found)


def _of_cause(
    percent: float, threshold: float, evidence: Mapping[str, float], causes: Sequence[Cause]
) -> str:
    """Why the cause of latency is not sure: the code of a doubt, or "" where it is."""
    if all(cause.code.startswith("stall_") for cause in causes):
        return "no_cause"
    sure = [cause for cause in causes if cause.code in _GEOMETRIC]
    if not sure:
        return "cause_by_threshold"
    # Half of what is missing to the threshold.
    needed = (threshold - percent) / 2
    gains = (_gain(cause, evidence) for cause in sure)
    explained = any(gain is None or percent * (gain - 1) >= needed for gain in gains)
    return "" if explained else "cause_explains_little"


def _gain(cause: Cause, evidence: Mapping[str, float]) -> float | None:
    if cause.code == "partial_warps" and {"warp_lanes", "threads"} <= evidence.keys():
        return evidence["warp_lanes"] / evidence["threads"]
    return cause.gain
