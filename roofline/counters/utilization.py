"""How busy each hardware unit was, from the percentages that a report holds."""

from __future__ import annotations

from functools import cache

from roofline.model import Family, Metrics, UnitUse
from roofline.units import (
    ELAPSED,
    MEMORY_THROUGHPUT,
    SM_THROUGHPUT,
    members,
    ranked,
    unit_of_metric,
)

_THROUGHPUTS = (
    (MEMORY_THROUGHPUT, Family.BANDWIDTH, "other_memory"),
    (SM_THROUGHPUT, Family.COMPUTE, "other_compute"),
)
_UNLISTED = 1.0  # points above all members; passes of one short kernel differ by 0.2
_NOTHING = float("-inf")

_Place = tuple[str, str, Family]  # metric name, unit, side


def unit_uses(metrics: Metrics) -> tuple[UnitUse, ...]:
    """The busiest member of every unit that the report measures, busiest unit first.

    Members come from both ``breakdown:`` metrics; what is not listed there is looked for by name.
    """
    busiest: dict[str, tuple[float, _Place]] = {}
    listed = False
    for throughput, family, other in _THROUGHPUTS:
        named = metrics.text(f"breakdown:{throughput}{ELAPSED}")
        listed = listed or named is not None
        most = _collect(metrics, _places(named or "", family, other), busiest)
        # The throughput is the largest of its members; where it is above them, one is not listed.
        itself = _places(throughput + ELAPSED, family, other)
        _collect(metrics, itself, busiest, above=most + _UNLISTED)
    if not listed:
        _collect(metrics, _BY_NAME, busiest)
    _collect(metrics, _LINKS, busiest)
    return ranked(
        UnitUse(unit=unit, family=side, percent=percent, metric=name)
        for percent, (name, unit, side) in busiest.values()
    )


def _collect(
    metrics: Metrics,
    places: tuple[_Place, ...],
    busiest: dict[str, tuple[float, _Place]],
    above: float = _NOTHING,
) -> float:
    """Keep what is busier than what its unit has; give the largest percentage seen."""
    most = _NOTHING
    for place in places:
        percent = metrics.number(place[0])
        # A counter that ran backwards measured nothing.
        if percent is None or percent < 0 or percent <= above:
            continue
        most = max(most, percent)
        known = busiest.get(place[1])
        if known is None or percent > known[0]:
            busiest[place[1]] = (percent, place)
    return most


@cache
def _places(names: str, family: Family, other: str) -> tuple[_Place, ...]:
    """Comma-separated metric names with their units; what is unknown stays on its side."""
    found = ((name, unit_of_metric(name)) for name in names.split(",") if name)
    return tuple(
        (name, other, family) if unit is None else (name, unit.key, unit.family)
        for name, unit in found
    )


_BY_NAME = _places(",".join(members(links=False)), Family.COMPUTE, "other_compute")
_LINKS = _places(",".join(members(links=True)), Family.BANDWIDTH, "other_memory")
