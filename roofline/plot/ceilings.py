"""What a verdict looks like on a roofline: each kernel's own ceilings, at its own clocks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from roofline.model import Bound, Measurement, Result
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


def own_ceiling(
    m: Measurement, unit: str, percent: float, bound: Bound, full: float | None = None
) -> OwnCeiling:
    """The ceiling of one unit of a kernel, at ``full`` percent of what the unit reaches."""
    reached, of_full = m.operations_per_s, percent if full is None else full
    rate = 100.0 * reached / of_full if reached and of_full > 0 else None
    finite = rate is not None and math.isfinite(rate)
    return OwnCeiling(unit=unit, percent=percent, rate=rate if finite else None, bound=bound)


def own_ceilings(result: Result) -> tuple[OwnCeiling, ...]:
    """The ceiling that the verdict names, and the next one where both limit.

    That of the busiest unit where the kernel waits; none where nothing is known of any unit.
    """
    return tuple(own_ceiling(result.measurement, *one) for one in _nearest(result))


def _nearest(result: Result) -> Iterator[tuple[str, float, Bound, float | None]]:
    v, took_s = result.verdict, result.measurement.duration_s
    if v.nearest is None or v.limiter_percent is None:
        return
    # The verdict may know better than the counter: it takes what it computed where that is more.
    known = v.floor_s and took_s and v.floor_limiter == v.nearest
    full = 100 * v.floor_s / took_s if known and v.floor_s and took_s else None
    yield v.nearest, v.limiter_percent, v.bound, full
    for use in result.measurement.units if v.co_limiter else ():
        if use.unit == v.co_limiter:
            yield use.unit, use.percent, Bound(use.family.value), None


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
    named = {unit for result in results for unit, *_ in _nearest(result)}
    order = {key: place for place, key in enumerate(UNITS)}

    def place(unit: str) -> tuple[int, str]:
        return order.get(unit, len(order)), unit

    def rank(unit: str) -> tuple[bool, bool, float, tuple[int, str]]:
        busiest = peaks.get(unit, 0.0)
        quiet = busiest < 1.0 and not (unit in UNITS and UNITS[unit].needed)
        return unit not in named, quiet, -busiest, place(unit)

    wanted = named | {unit for unit in peaks if unit not in GENERIC}
    return tuple(sorted(sorted(wanted, key=rank)[:most], key=place))
