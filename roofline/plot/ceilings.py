"""What a verdict looks like on a roofline: each kernel's own ceilings, at its own clocks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from roofline.model import Bound, Measurement, Result, UnitUse
from roofline.units import GENERIC, UNITS


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
    """The ceiling of one unit of a kernel, never below what was reached."""
    reached, near = m.operations_per_s, min(use.near, 100.0)
    rate = 100.0 * reached / near if reached and near > 0 else None
    rate = rate if rate is not None and math.isfinite(rate) else None
    return OwnCeiling(unit=use.unit, percent=use.percent, rate=rate, bound=bound)


def own_ceilings(result: Result) -> tuple[OwnCeiling, ...]:
    """The ceiling that the verdict names, and the next one where both limit.

    That of the nearest unit where the kernel waits; none where nothing is known of any unit.
    """
    v, uses = result.verdict, {use.unit: use for use in result.measurement.units}
    return tuple(
        own_ceiling(result.measurement, use, v.bound if first else Bound(use.family.value))
        for first, unit in ((True, v.nearest), (False, v.co_limiter))
        if v.limiter_percent is not None and (use := uses.get(unit or ""))
    )


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
    for result in results:
        for use in result.measurement.units:
            if use.percent > peaks.get(use.unit, -1.0) and use.percent < math.inf:
                peaks[use.unit] = use.percent
    named = {own.unit for result in results for own in own_ceilings(result)}
    order = {key: place for place, key in enumerate(UNITS)}

    def place(unit: str) -> tuple[int, str]:
        return order.get(unit, len(order)), unit

    def rank(unit: str) -> tuple[bool, bool, float, tuple[int, str]]:
        busiest = peaks.get(unit, 0.0)
        quiet = busiest < 1.0 and not (unit in UNITS and UNITS[unit].needed)
        return unit not in named, quiet, -busiest, place(unit)

    wanted = named | {unit for unit in peaks if unit not in GENERIC}
    return tuple(sorted(sorted(wanted, key=rank)[:most], key=place))
