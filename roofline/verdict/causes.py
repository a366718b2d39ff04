"""Why a kernel that is near no ceiling waits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
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
    return next(_causes(m, nearest, rule), None)


def _causes(m: Measurement, nearest: float, rule: Rule) -> Iterator[Cause]:
    if m.waves is not None and m.waves < rule.waves:
        blocks = None if m.grid is None else math.prod(m.grid)
        yield Cause(code="grid_too_small", facts={"waves": m.waves, "blocks": blocks})
    threads = _WARP if m.block is None else math.prod(m.block)
    # Warps that lack lanes issue and wait like full ones.
    lanes = _WARP * math.ceil(threads / _WARP)
    if threads < _FULL_LANES * lanes:
        yield Cause(code="partial_warps", facts={"threads": threads, "lanes": lanes})
    idle = list(_idle(m))
    yield from (cause for cause in idle if nearest >= rule.latency * (1 - cause.idle))
    most, achieved = m.theoretical_occupancy_percent, m.occupancy_percent
    if most is not None and most < _LOW_OCCUPANCY:
        facts = {"most_percent": most, "limiter": m.occupancy_limiter}
        yield Cause(code="occupancy_limited", facts=facts)
    if m.stalls and m.stalls[0].share >= _STALL_SHARE:
        yield Cause(code=f"stall_{m.stalls[0].reason}")
    # Fewer warps than the occupancy allows: short blocks, or uneven ones.
    if most is not None and achieved is not None and achieved < _MISSING_WARPS * most:
        facts = {"achieved_percent": achieved, "most_percent": most}
        yield Cause(code="occupancy_not_reached", facts=facts)
    yield from idle


def _idle(m: Measurement) -> Iterator[Cause]:
    """What leaves a part of the GPU without work for a part of the time."""
    whole = 0 if m.waves is None else math.ceil(m.waves)
    if m.waves is not None and whole and (idle := 1 - m.waves / whole) >= _TAIL:
        facts = {"waves": m.waves, "whole_waves": whole, "idle_percent": 100 * idle}
        yield Cause(code="tail_effect", facts=facts, idle=idle)
    active = m.sm_active_percent
    if active is not None and active < _BUSY_SMS:
        yield Cause(code="imbalance", facts={"active_percent": active}, idle=1 - active / 100)
