"""Why a kernel that is near no ceiling waits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from roofline.model import Measurement, Rule

_WARP = 32
_FULL_LANES = 0.75
# A last wave that leaves this much of the GPU idle over the kernel is worth naming.
_TAIL = 0.2
_BUSY_SMS = 80.0
_LOW_OCCUPANCY = 50.0
_MISSING_WARPS = 0.7
# The dominant stall must be more than one among many.
_STALL_SHARE = 0.2
CODES = (
    *("grid_too_small", "partial_warps", "tail_effect", "imbalance", "occupancy_limited"),
    "occupancy_not_reached",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """A cause of latency: one of ``CODES`` or "stall_" and a reason, and the evidence.

    ``idle`` is the part of the time in which the GPU had less to do because of it.
    """

    code: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    idle: float = 0.0


def latency_cause(m: Measurement, nearest: float, rule: Rule) -> Cause | None:
    """The first cause that the evidence supports, or ``None`` where nothing would tell.

    A tail or uneven work is the cause only where the busiest unit, at ``nearest`` percent of the
    whole time, would reach ``rule.latency`` in the time that is not idle; else it comes last.
    """
    idle = [found for found in (_tail(m), _imbalance(m)) if found is not None]
    enough = [cause for cause in idle if nearest >= rule.latency * (1 - cause.idle)]
    found = (
        *(_small_grid(m, rule), _partial_warps(m), *enough),
        *(_occupancy(m), _stall(m), _idle_warps(m), *idle),
    )
    return next((cause for cause in found if cause is not None), None)


def _small_grid(m: Measurement, rule: Rule) -> Cause | None:
    if m.waves is None or m.waves >= rule.waves:
        return None
    blocks = None if m.grid is None else math.prod(m.grid)
    return Cause(code="grid_too_small", facts={"waves": m.waves, "blocks": blocks})


def _partial_warps(m: Measurement) -> Cause | None:
    """Blocks that leave lanes of their warps empty: those issue and wait like full ones."""
    if m.block is None:
        return None
    threads = math.prod(m.block)
    lanes = _WARP * math.ceil(threads / _WARP)
    if threads >= _FULL_LANES * lanes:
        return None
    return Cause(code="partial_warps", facts={"threads": threads, "lanes": lanes})


def _tail(m: Measurement) -> Cause | None:
    if m.waves is None:
        return None
    last = math.ceil(m.waves)
    idle = 1 - m.waves / last
    if idle < _TAIL:
        return None
    facts = {"waves": m.waves, "whole_waves": last, "idle_percent": 100 * idle}
    return Cause(code="tail_effect", facts=facts, idle=idle)


def _imbalance(m: Measurement) -> Cause | None:
    active = m.sm_active_percent
    if active is None or active >= _BUSY_SMS:
        return None
    return Cause(code="imbalance", facts={"active_percent": active}, idle=1 - active / 100)


def _occupancy(m: Measurement) -> Cause | None:
    most = m.theoretical_occupancy_percent
    if most is None or most >= _LOW_OCCUPANCY:
        return None
    return Cause(
        code="occupancy_limited", facts={"most_percent": most, "limiter": m.occupancy_limiter}
    )


def _stall(m: Measurement) -> Cause | None:
    if not m.stalls or m.stalls[0].share < _STALL_SHARE:
        return None
    return Cause(code=f"stall_{m.stalls[0].reason}")


def _idle_warps(m: Measurement) -> Cause | None:
    """Fewer warps than the occupancy allows: short blocks, or uneven ones."""
    most, achieved = m.theoretical_occupancy_percent, m.occupancy_percent
    if most is None or achieved is None or achieved >= _MISSING_WARPS * most:
        return None
    facts = {"achieved_percent": achieved, "most_percent": most}
    return Cause(code="occupancy_not_reached", facts=facts)
