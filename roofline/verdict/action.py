"""Whose work helps a kernel: nobody's, its callers', or that of who wrote it."""

from __future__ import annotations

from functools import lru_cache

from roofline.kernel_names import family, foreign, is_initialisation
from roofline.model import Action, Bound, Measurement
from roofline.units import FEW_FP64, UNITS

# The best versions of a library are as near as this to what others reach, and no fix is theirs.
_NEAR = 1.05


def action_of(
    m: Measurement, bound: Bound, limiter: str, percent: float, *, inside: bool = False
) -> tuple[Action, str]:
    """What to do about a kernel and why: "initialisation", "near_ceiling", "library" or "".

    ``limiter`` at ``percent`` is the busiest unit; ``Unit.ceiling`` is what the best reach. Where
    a cause ``inside`` of it is proven, it is not left alone for being full.
    """
    initial, others = _kind(m.demangled or m.name)
    if initial:
        return Action.LEAVE, "initialisation"
    unit = UNITS.get(limiter)
    ceiling = None if unit is None else unit.ceiling
    limits = bound in (Bound.BANDWIDTH, Bound.COMPUTE)
    # A pipe of which there is almost none is full of what another one does.
    scarce = limiter == "fp64" and m.device.compute_capability in FEW_FP64
    reached = percent * (_NEAR if others else 1)
    if limits and not (scarce or inside) and ceiling and reached >= ceiling:
        return Action.LEAVE, "near_ceiling"
    return (Action.CALLER, "library") if others else (Action.FIX, "")


def callers_entry(m: Measurement) -> str | None:
    """The entry of the knowledge base for callers of a library's kernel; ``None`` for others."""
    name = m.demangled or m.name
    return f"caller.{family(name) or 'other'}" if _kind(name)[1] else None


@lru_cache(4096)
def _kind(name: str) -> tuple[bool, bool]:
    return is_initialisation(name), foreign(name) or family(name) == "communication"
