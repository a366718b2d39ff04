"""How busy each hardware unit was, from the percentages that a report holds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache

from roofline.counters.recipes import planned, there
from roofline.model import Family, Metrics, UnitUse, thawed
from roofline.units import (
    AGGREGATES,
    ELAPSED,
    FEW_FP64,
    FULL,
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


_Use = thawed(UnitUse)
# Where a percentage stands: the metric's name, its unit's key, and its side.
_Place = tuple[str, str, Family]


def unit_uses(
    metrics: Metrics,
    active: float | None = None,
    share: float = 1.0,
    capability: str | None = None,
) -> tuple[UnitUse, ...]:
    """The busiest member of every unit that the report measures, the unit nearest to full first.

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
        most = _listed(metrics, _places(named or "", family, other), share, busiest)
        # The throughput is the largest of its members; where it is above them, one is not listed.
        itself = _places(throughput + ELAPSED, family, other)
        _listed(metrics, itself, share, busiest, above=most + _UNLISTED)
    if unlisted:
        for found in _searched(metrics, unlisted, active, share):
            if found.unit not in busiest or found.percent > busiest[found.unit].percent:
                busiest[found.unit] = found
    _listed(metrics, planned(metrics, _LINKS, there), share, busiest)
    for unit in THROUGHPUTS:
        _hidden(metrics, unit, busiest, active, share, capability)
    if "fp64" in busiest and capability in FEW_FP64:
        busiest["fp64"] = replace(busiest["fp64"], full_at=FULL["few_fp64"])
    return ranked(busiest.values())


def _listed(
    metrics: Metrics,
    places: tuple[_Place, ...],
    share: float,
    busiest: dict[str, UnitUse],
    above: float = float("-inf"),
) -> float:
    """Keep what is busier than what its unit has, and than ``above``; give the most seen."""
    most, number = float("-inf"), metrics.number
    best: dict[str, tuple[float, str, Family]] = {}
    for name, unit, side in places:
        percent = number(name)
        if percent is None or percent < 0:  # a counter that ran backwards measured nothing
            continue
        if share != 1.0:
            percent = _of_given(percent, unit, share)
        if percent > most:
            most = percent
        if unit not in best or percent > best[unit][0]:
            best[unit] = percent, name, side
    for unit, (percent, name, side) in best.items():
        if percent > above and (unit not in busiest or percent > busiest[unit].percent):
            use = busiest[unit] = _Use(unit=unit, family=side, percent=percent, metric=name)
            use.__class__ = UnitUse
    return most


def _of_given(percent: float, unit: str, share: float) -> float:
    """The percentage of the SMs that the launch was given."""
    return percent / share if UNITS[unit].clock == "sm" else percent


@cache
def _places(names: str, family: Family, other: str) -> tuple[_Place, ...]:
    """Comma-separated metric names with their units; what is unknown stays on its side."""
    found = ((name, unit_of_metric(name)) for name in names.split(",") if name)
    return tuple(
        (name, other, family) if unit is None else (name, unit.key, unit.family)
        for name, unit in found
    )


_LINKS = _places(",".join(members(links=True)), Family.BANDWIDTH, "other_memory")


# --- whatever else says how busy a unit was -------------------------------------------------------


def _searched(
    metrics: Metrics, sides: set[Family], active: float | None, share: float
) -> Iterator[UnitUse]:
    """Percentages of peak in any spelling, each counter in its most trusted roll-up."""
    best: dict[str, tuple[int, UnitUse]] = {}
    for name in metrics.matching(_PERCENT):
        found = _place(name)
        if found is None or found[3] not in sides:
            continue
        base, form, unit, side = found
        percent = metrics.number(name)
        if percent is None or percent < 0 or (base in best and form >= best[base][0]):
            continue
        computed, said = form >= _FORMS.index("max elapsed"), name
        if name.endswith("_active") and UNITS[unit].clock == "sm":
            if active is None:
                computed = True
            else:
                percent, said = percent * active, f"{name} x SM activity"
        percent = _of_given(percent, unit, share)
        use = UnitUse(unit=unit, family=side, percent=percent, metric=said, computed=computed)
        best[base] = form, use
    halves: dict[str, list[UnitUse]] = {}
    for base, (_, use) in best.items():
        yield use
        if half := _DIRECTION.match(base):
            halves.setdefault(half[1] + base[half.end() :], []).append(use)
    for pair in halves.values():
        if len(pair) > 1:
            said = " + ".join(use.metric for use in pair)
            yield replace(pair[0], percent=sum(use.percent for use in pair), metric=said)


@cache
def _place(name: str) -> tuple[str, int, str, Family] | None:
    """A percentage's counter, the rank of its roll-up, unit and side, if it is of a unit's use."""
    match = _PERCENT.match(name)
    assert match is not None
    base, unit = match["base"], unit_of_metric(name)
    # What stands for a whole unit is read apart.
    if unit is None or base in THROUGHPUTS.values() or _NO_USE.match(base):
        return None
    if unit.key in GENERIC and base not in (*AGGREGATES, *unit.members):
        return None
    return base, _FORMS.index(f"{match['roll']} {match['over']}"), unit.key, unit.family


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
    halves: dict[str, tuple[float, str]] = {}
    if unit == "l1":
        active = _share_of_l1(metrics) or active
        # Parts whose counters reach half of their peak.
        for part, (name, capabilities) in HALVED.items():
            half = _elapsed(metrics, name) if capability in capabilities else None
            if half is not None:
                halves[part] = 2.0 * half, f"2 x {name}{ELAPSED}"
    percent, said, computed = _throughput(metrics, THROUGHPUTS[unit], halves, active)
    if percent is None or percent < 0 or (unit == "l1" and _is_port(metrics, percent)):
        return
    near = {
        one: apart
        for one, (all_, _) in halves.items()
        if (apart := abs(all_ - percent)) <= ROUNDING
    }
    percent, known = _of_given(percent, unit, share), busiest.get(unit)
    above = percent - (known.percent if known else 0.0)
    if known is not None and above <= 0:
        return
    hidden = min(near, key=lambda one: near[one], default=None)
    if unit == "l2" and known is not None and capability in WITH_FABRIC:
        hidden = "l2_fabric"
    busiest[unit] = UnitUse(
        unit=unit,
        family=UNITS[unit].family,
        percent=percent,
        metric=said,
        computed=computed,
        part=hidden if above > ROUNDING else None,
    )


def _throughput(
    metrics: Metrics, base: str, halves: Mapping[str, tuple[float, str]], active: float | None
) -> tuple[float | None, str, bool]:
    """How busy a unit was over the elapsed time, how that was read, and whether it is a guess."""
    for over in ("elapsed", "active"):
        for roll in (".avg", ".sum"):
            name = f"{base}{roll}.pct_of_peak_sustained_{over}"
            percent = metrics.number(name)
            if percent is None:
                continue
            # A part that is counted over the elapsed time makes it one over the elapsed time.
            alike = (abs(half - percent) <= _EXACT * percent for half, _ in halves.values())
            if over == "elapsed" or any(alike):
                return percent, name, False
            if active is None:
                return percent, name, True
            return percent * active, f"{name} x activity", False
    # What would be in there, as far as it is known.
    percent, name = max(halves.values(), default=(None, ""))
    return percent, name, False


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
