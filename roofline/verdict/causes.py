"""Why a kernel that is near no ceiling waits."""

from __future__ import annotations

import math
from dataclasses import dataclass

from roofline.model import Measurement, Rule
from roofline.verdict.phrases import count, percent, waves

_WARP = 32
_FULL_LANES = 0.75
# A last wave that leaves this much of the GPU idle over the kernel is worth naming.
_TAIL = 0.2
_BUSY_SMS = 80.0
_LOW_OCCUPANCY = 50.0
_MISSING_WARPS = 0.7
# The dominant stall must be more than one among many.
_STALL_SHARE = 0.2

STALL_MEANINGS = {
    "long_scoreboard": "waiting for global, local or texture memory",
    "short_scoreboard": "waiting for shared memory, or for the XU pipe",
    "barrier": "waiting for the other warps of the block at a barrier",
    "wait": "fixed latency between dependent instructions",
    "math_pipe_throttle": "waiting for an arithmetic pipe to be free",
    "mio_throttle": "the queue of memory instructions (shared memory, special functions) is full",
    "lg_throttle": "the queue of global and local memory instructions is full",
    "tex_throttle": "the queue of texture instructions is full",
    "no_instruction": "waiting for instructions: cache misses after jumps in long code",
    "imc_miss": "waiting for constants",
    "branch_resolving": "waiting for a branch target",
    "dispatch_stall": "the dispatcher holds back",
    "drain": "waiting at the end for stores to memory",
    "membar": "waiting at a memory barrier",
    "sleeping": "asleep by nanosleep",
    "gmma": "waiting for warpgroup matrix instructions",
    "misc": "other reasons",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """A cause of latency: ``code`` is stable, ``text`` has the evidence."""

    code: str
    text: str


def latency_cause(m: Measurement, nearest: float, rule: Rule) -> Cause | None:
    """The first cause that the evidence supports, or ``None`` where nothing would tell.

    A tail or uneven work is the cause only where the busiest unit, at ``nearest`` percent of the
    whole time, would reach ``rule.latency`` in the time that is not idle; else it comes last.
    """
    idle = [found for found in (_tail(m), _imbalance(m)) if found is not None]
    enough = [cause for part, cause in idle if nearest >= rule.latency * (1 - part)]
    first = (_small_grid(m, rule), _partial_warps(m), *enough)
    first += (_occupancy(m), _stall(m), _idle_warps(m))
    return next((c for c in (*first, *(cause for _, cause in idle)) if c is not None), None)


def _small_grid(m: Measurement, rule: Rule) -> Cause | None:
    if m.waves is None or m.waves >= rule.waves:
        return None
    text = "the grid is too small: "
    if m.grid is not None:
        blocks = math.prod(m.grid)
        text += f"{count(blocks, 'block')} {'is' if blocks == 1 else 'are'} "
    text += f"{waves(m.waves)} waves"
    if m.device.sm_count is not None:
        text += f" on {m.device.sm_count} SMs"
    return Cause(code="grid_too_small", text=text)


def _partial_warps(m: Measurement) -> Cause | None:
    """Blocks that leave lanes of their warps empty: those issue and wait like full ones."""
    if m.block is None:
        return None
    threads = math.prod(m.block)
    lanes = _WARP * math.ceil(threads / _WARP)
    if threads >= _FULL_LANES * lanes:
        return None
    text = f"blocks of {count(threads, 'thread')} fill {threads} of the {lanes} lanes they occupy"
    return Cause(code="partial_warps", text=text + _top_stall(m))


def _tail(m: Measurement) -> tuple[float, Cause] | None:
    """The idle part of the time, and the cause."""
    if m.waves is None:
        return None
    last = math.ceil(m.waves)
    idle = 1 - m.waves / last
    if idle < _TAIL:
        return None
    text = f"a tail: {m.waves:.2f} waves need the time of {last}, {percent(100 * idle)} of it idle"
    return idle, Cause(code="tail_effect", text=text + _top_stall(m))


def _imbalance(m: Measurement) -> tuple[float, Cause] | None:
    """The idle part of the time, and the cause."""
    active = m.sm_active_percent
    if active is None or active >= _BUSY_SMS:
        return None
    text = f"work is uneven: the average SM has work for {percent(active)} of the time"
    return 1 - active / 100, Cause(code="imbalance", text=text + _top_stall(m))


def _occupancy(m: Measurement) -> Cause | None:
    theoretical = m.theoretical_occupancy_percent
    if theoretical is None or theoretical >= _LOW_OCCUPANCY:
        return None
    by = "" if m.occupancy_limiter is None else f", limited by {m.occupancy_limiter}"
    text = f"few warps to hide latency: occupancy at most {percent(theoretical)}{by}"
    return Cause(code="occupancy_limited", text=text + _top_stall(m))


def _stall(m: Measurement) -> Cause | None:
    if not m.stalls or m.stalls[0].share < _STALL_SHARE:
        return None
    top = m.stalls[0]
    meaning = STALL_MEANINGS.get(top.reason, "a reason of its own name")
    text = f"warps stall on {top.reason} ({percent(100 * top.share)} of stalls): {meaning}"
    return Cause(code=f"stall_{top.reason}", text=text)


def _idle_warps(m: Measurement) -> Cause | None:
    """Fewer warps than the occupancy allows: short blocks, or uneven ones."""
    most, achieved = m.theoretical_occupancy_percent, m.occupancy_percent
    if most is None or achieved is None or achieved >= _MISSING_WARPS * most:
        return None
    text = f"occupancy is {achieved:.0f} % of {most:.0f} % possible: blocks are short or uneven"
    return Cause(code="occupancy_not_reached", text=text)


def ruled_out(m: Measurement) -> str:
    """What the evidence excludes where no cause was found, and what would tell."""
    excluded = []
    if m.waves is not None:
        excluded.append(f"the grid ({waves(m.waves)} waves)")
    if m.theoretical_occupancy_percent is not None:
        excluded.append(f"occupancy (up to {percent(m.theoretical_occupancy_percent)})")
    start = f"not {' and not '.join(excluded)}; " if excluded else ""
    if m.stalls:
        return f"{start}no stall reason stands out"
    return f"{start}stall reasons were not collected"


def _top_stall(m: Measurement) -> str:
    if not m.stalls:
        return ""
    return f"; top stall {m.stalls[0].reason} ({percent(100 * m.stalls[0].share)} of stalls)"
