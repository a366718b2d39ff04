"""What a verdict looks like on a roofline: each kernel's own ceilings, at its own clocks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from roofline.model import Bound, Measurement, Result, UnitUse
from roofline.units import GENERIC, UNITS, ranked


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnCeiling:
    """The rate of operations that a kernel would reach with one unit busy all the time.

    It is the rate reached over the unit's utilisation, so it holds at the clocks of the launch and
    for the instructions that it executed. ``rate`` is ``None`` where operations or time were not
    measured, or the unit was idle; ``bound`` is the colour that it is drawn in.
    """

    unit: str
    percent: float
    rate: float | None
    bound: Bound


def own_ceiling(m: Measurement, use: UnitUse, bound: Bound) -> OwnCeiling:
    """The ceiling of one unit of a kernel."""
    reached = m.operations_per_s
    rate = 100.0 * reached / use.percent if reached and use.percent > 0 else None
    finite = rate is not None and math.isfinite(rate)
    return OwnCeiling(
        unit=use.unit, percent=use.percent, rate=rate if finite else None, bound=bound
    )


def own_ceilings(result: Result) -> tuple[OwnCeiling, ...]:
    """The ceiling that the verdict names, and the other family's where both limit.

    That of the busiest unit where the kernel waits; none where nothing is known of any unit.
    """
    verdict = result.verdict
    if verdict.nearest is None or verdict.limiter_percent is None:
        return ()
    uses = {use.unit: use for use in result.measurement.units}
    first = uses.get(verdict.nearest)
    unit = UNITS.get(verdict.nearest)
    family = first.family if first else unit.family if unit else None
    if family is None:
        return ()
    # The verdict may know better than the counter: it takes what it computed where that is more.
    nearest = UnitUse(
        unit=verdict.nearest, family=family, percent=verdict.limiter_percent, metric=""
    )
    found = [own_ceiling(result.measurement, nearest, verdict.bound)]
    others = ranked(use for use in uses.values() if use.family is not family)
    if verdict.co_limited and others:
        found.append(own_ceiling(result.measurement, others[0], Bound(others[0].family.value)))
    return tuple(found)


def level_intensity(m: Measurement, level: str) -> float | None:
    """Operations per byte of a memory level, where its bytes are measured."""
    level_bytes = getattr(m, f"{level}_bytes")
    return m.total_operations / level_bytes if m.total_operations and level_bytes else None


def unit_columns(results: Sequence[Result], most: int) -> tuple[str, ...]:
    """The units that tell these kernels apart, at most so many, in the order of the table of units.

    First those that a verdict names, then those that are busiest anywhere. Units that stand for
    several are there only where a verdict names them.
    """
    peaks: dict[str, float] = {}
    for use in (use for result in results for use in result.measurement.units):
        if math.isfinite(use.percent):
            peaks[use.unit] = max(peaks.get(use.unit, 0.0), use.percent)
    named = {c.unit for result in results for c in own_ceilings(result)}
    order = {key: place for place, key in enumerate(UNITS)}
    wanted = [unit for unit in peaks if unit in named or unit not in GENERIC]
    wanted += sorted(named - set(peaks))
    needed = {key for key, unit in UNITS.items() if unit.needed}

    def rank(unit: str) -> tuple[bool, bool, float, int]:
        quiet = peaks.get(unit, 0.0) < 1.0 and unit not in needed
        return unit not in named, quiet, -peaks.get(unit, 0.0), order.get(unit, len(order))

    kept = sorted(wanted, key=rank)[:most]
    return tuple(sorted(kept, key=lambda unit: (order.get(unit, len(order)), unit)))
