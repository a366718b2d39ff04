"""How busy each hardware unit was, from the percentages that a report holds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from roofline.model import Family, Metrics, UnitUse
from roofline.units import (
    AGGREGATES,
    ELAPSED,
    GENERIC,
    HALVED,
    MEMORY_THROUGHPUT,
    ROUNDING,
    SM_THROUGHPUT,
    THROUGHPUTS,
    UNITS,
    WITH_FABRIC,
    members,
    ranked,
    unit_of_metric,
)

_SIDES = (
    (MEMORY_THROUGHPUT, Family.BANDWIDTH, "other_memory"),
    (SM_THROUGHPUT, Family.COMPUTE, "other_compute"),
)
_UNLISTED = 1.0  # points above all members; passes of one short kernel differ by 0.2
# Percentages of peak by their roll-up, the most trusted first: that of the busiest instance says
# at most how busy all are, and one over the active time must be known to say it of the whole.
_FORMS = ("avg elapsed", "sum elapsed", "avg active", "sum active", "max elapsed", "max active")
_PERCENT = re.compile(
    r"\A(?P<base>\w+)\.(?P<roll>avg|sum|max)\.pct_of_peak_sustained_(?P<over>elapsed|active)$"
)
# Whether a unit had anything to do, or for how many warps: not how busy it was.
_NO_USE = re.compile(
    r"\A(?:(?!dram)\w+__cycles_(?:active|elapsed)$|dram__cycles_elapsed|\w+_warps_)"
)
# Halves of one whole, which add up; other directions have a path each.
_DIRECTION = re.compile(r"((?:dram|fbpa)__(?:\w*_)?|lts__t_sectors_op_)(?:read|write)")
# A percentage over the active time that is exactly twice one over the elapsed time is over that.
_EXACT = 1e-3
_PORTS = ("l1tex__m_l1tex2xbar_req_cycles_active", "l1tex__m_xbar2l1tex_read_sectors")


class _Place(NamedTuple):
    """Where a percentage stands: the metric's name, its unit's key, and its side."""

    name: str
    unit: str
    side: Family


def unit_uses(
    metrics: Metrics,
    active: float | None = None,
    share: float = 1.0,
    capability: str | None = None,
) -> tuple[UnitUse, ...]:
    """The busiest member of every unit that the report measures, busiest unit first.

    Members come from both ``breakdown:`` metrics; where a side has none, they are looked for in
    all spellings and roll-ups. The throughputs of L1 and L2 count what the breakdowns leave out.

    Args:
        metrics: the launch's.
        active: the part of the time for which SMs had something to do, where that is known.
        share: the part of the SMs that the launch was given; their percentages are of all.
        capability: the device's, "7.5".

    """
    busiest: dict[str, UnitUse] = {}
    unlisted: set[Family] = set()
    for throughput, family, other in _SIDES:
        named = metrics.text(f"breakdown:{throughput}{ELAPSED}")
        if named is None:
            unlisted.add(family)
        most = _keep(busiest, _listed(metrics, named or "", family, other, share))
        # The throughput is the largest of its members; where it is above them, one is not listed.
        itself = _listed(metrics, throughput + ELAPSED, family, other, share)
        _keep(busiest, (one for one in itself if one.percent > most + _UNLISTED))
    if unlisted:
        _keep(busiest, _searched(metrics, unlisted, active, share))
    _keep(busiest, _listed(metrics, _LINKS, Family.BANDWIDTH, "other_memory", share))
    for unit in THROUGHPUTS:
        _hidden(metrics, unit, busiest, active, share, capability)
    return ranked(busiest.values())


def _keep(busiest: dict[str, UnitUse], found: Iterable[UnitUse]) -> float:
    """Keep what is busier than what its unit has; give the largest percentage seen."""
    most = float("-inf")
    for one in found:
        most = max(most, one.percent)
        known = busiest.get(one.unit)
        if known is None or one.percent > known.percent:
            busiest[one.unit] = one
    return most


def _listed(
    metrics: Metrics, names: str, family: Family, other: str, share: float
) -> Iterator[UnitUse]:
    """Percentages over the elapsed time by their names."""
    for place in _places(names, family, other):
        percent = metrics.number(place.name)
        # A counter that ran backwards measured nothing.
        if percent is not None and percent >= 0:
            yield UnitUse(
                unit=place.unit,
                family=place.side,
                percent=_of_given(percent, place.unit, share),
                metric=place.name,
            )


def _of_given(percent: float, unit: str, share: float) -> float:
    """The percentage of the SMs that the launch was given."""
    return percent / share if UNITS[unit].clock == "sm" else percent


@cache
def _places(names: str, family: Family, other: str) -> tuple[_Place, ...]:
    """Comma-separated metric names with their units; what is unknown stays on its side."""
    found = ((name, unit_of_metric(name)) for name in names.split(",") if name)
    return tuple(
        _Place(name, other, family) if unit is None else _Place(name, unit.key, unit.family)
        for name, unit in found
    )


_LINKS = ",".join(members(links=True))


# --- whatever else says how busy a unit was -------------------------------------------------------


def _searched(
    metrics: Metrics, sides: set[Family], active: float | None, share: float
) -> Iterator[UnitUse]:
    """Percentages of peak in any spelling, each counter in its most trusted roll-up."""
    best: dict[str, tuple[int, UnitUse]] = {}
    for name in metrics.matching(_PERCENT):
        base, form, place = _place(name)
        percent = None if place is None else metrics.number(name)
        if place is None or place.side not in sides or percent is None or percent < 0:
            continue
        computed, said = form >= _FORMS.index("max elapsed"), name
        if name.endswith("_active") and UNITS[place.unit].clock == "sm":
            computed = computed or active is None
            said = f"{name} x SM activity" if active is not None else name
            percent *= 1.0 if active is None else active
        found = UnitUse(
            unit=place.unit,
            family=place.side,
            percent=_of_given(percent, place.unit, share),
            metric=said,
            computed=computed,
        )
        if base not in best or form < best[base][0]:
            best[base] = form, found
    halves: dict[str, list[UnitUse]] = {}
    for base, (_, found) in best.items():
        yield found
        if half := _DIRECTION.match(base):
            halves.setdefault(half[1] + base[half.end() :], []).append(found)
    for pair in halves.values():
        if len(pair) > 1:
            said = " + ".join(found.metric for found in pair)
            yield replace(pair[0], percent=sum(found.percent for found in pair), metric=said)


@cache
def _place(name: str) -> tuple[str, int, _Place | None]:
    """A percentage's counter, the rank of its roll-up, and its place if it is of a unit's use."""
    match = _PERCENT.match(name)
    assert match is not None
    base = match["base"]
    form = _FORMS.index(f"{match['roll']} {match['over']}")
    unit = unit_of_metric(name)
    itself = base in THROUGHPUTS.values()  # read apart
    unnamed = unit is not None and unit.key in GENERIC and base not in (*AGGREGATES, *unit.members)
    if unit is None or unnamed or itself or _NO_USE.match(base):
        return base, form, None
    return base, form, _Place(name, unit.key, unit.family)


# --- what the breakdowns leave out ----------------------------------------------------------------


def _hidden(
    metrics: Metrics,
    unit: str,
    busiest: dict[str, UnitUse],
    active: float | None,
    share: float,
    capability: str | None,
) -> None:
    """Raise a unit to its throughput, and name the part that is only in there."""
    base = THROUGHPUTS[unit]
    halves = {} if unit == "l2" else _halves(metrics, capability)
    found = _throughput(
        metrics, base, halves, (_share_of_l1(metrics) if unit == "l1" else None) or active
    )
    if found is None or found[0] < 0 or (unit == "l1" and _is_port(metrics, found[0])):
        return
    percent, said, computed = found
    near = {one: abs(2.0 * half - percent) for one, (half, _) in halves.items()}
    percent = _of_given(percent, unit, share)
    known = busiest.get(unit)
    above = percent - (known.percent if known else 0.0)
    if known is not None and above <= 0:
        return
    part = min((p for p in near if near[p] <= ROUNDING), key=lambda p: near[p], default=None)
    if unit == "l2" and known is not None and capability in WITH_FABRIC:
        part = "l2_fabric"
    busiest[unit] = UnitUse(
        unit=unit,
        family=UNITS[unit].family,
        percent=percent,
        metric=said,
        computed=computed,
        part=part if above > ROUNDING else None,
    )


def _halves(metrics: Metrics, capability: str | None) -> dict[str, tuple[float, str]]:
    """Parts of L1 whose counters reach half of their peak: what they read, and their names."""
    found = {
        part: (_elapsed(metrics, name), name + ELAPSED)
        for part, (name, capabilities) in HALVED.items()
        if capability in capabilities
    }
    return {part: (half, name) for part, (half, name) in found.items() if half is not None}


def _throughput(
    metrics: Metrics, base: str, halves: dict[str, tuple[float, str]], active: float | None
) -> tuple[float, str, bool] | None:
    """How busy a unit was over the elapsed time, how that was read, and whether it is a guess."""
    rolled = (base + ELAPSED, base + ELAPSED.replace(".avg", ".sum"))
    names = (*rolled, *(name.replace("elapsed", "active") for name in rolled))
    name = next((name for name in names if metrics.number(name) is not None), "")
    percent = metrics.number(name)
    if percent is None:
        # What would be in there, as far as it is known.
        half, member = max(halves.values(), default=(None, ""))
        return None if half is None else (2.0 * half, f"2 x {member}", False)
    # A part that is counted over the elapsed time makes it one over the elapsed time.
    if name in rolled or any(
        abs(2.0 * half - percent) <= _EXACT * percent for half, _ in halves.values()
    ):
        return percent, name, False
    return (
        (percent, name, True) if active is None else (percent * active, f"{name} x activity", False)
    )


def _elapsed(metrics: Metrics, base: str) -> float | None:
    """A percentage over the elapsed time in either roll-up that is of all instances."""
    percent = metrics.number(base + ELAPSED)
    return metrics.number(base + ELAPSED.replace(".avg", ".sum")) if percent is None else percent


def _share_of_l1(metrics: Metrics) -> float | None:
    """The part of the time for which L1 was active."""
    active, elapsed = (
        metrics.number(f"l1tex__cycles_{what}.avg") for what in ("active", "elapsed")
    )
    return min(1.0, active / elapsed) if active is not None and elapsed else None


def _is_port(metrics: Metrics, percent: float) -> bool:
    """Whether the busiest part of L1 is its port to L2, which is counted there."""
    ports = (_elapsed(metrics, name) for name in _PORTS)
    return any(port is not None and abs(port - percent) <= ROUNDING for port in ports)
