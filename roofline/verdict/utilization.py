"""How busy each unit was: what was measured, and what can be computed where it was not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from roofline.model import Family, Measurement, PeakSet, UnitUse
from roofline.units import (
    MEMORY_THROUGHPUT,
    ROUNDING,
    SM_THROUGHPUT,
    UNITS,
    ranked,
    unit_of_precision,
)

COMPUTED = " over time and peak"
# A family is measured where its throughput is (the largest of all members), or where all units are
# that it needs: any of them may be the limit, and a quiet one says nothing of the others.
_THROUGHPUTS = {Family.BANDWIDTH: MEMORY_THROUGHPUT, Family.COMPUTE: SM_THROUGHPUT}
_NEEDED = {
    family: {unit.key for unit in UNITS.values() if unit.needed and unit.family is family}
    for family in Family
}


def all_uses(measurement: Measurement, peaks: PeakSet) -> tuple[UnitUse, ...]:
    """Measured utilisations, and what can be computed where a unit was not measured.

    The tensor pipe's own activity misleads where one instruction takes longer than the counter
    thinks (FP32 accumulation on GeForce), so operations over peak count there too.
    """
    by_unit = {use.unit: use for use in measurement.units}
    for use in _computed(measurement, peaks):
        known = by_unit.get(use.unit)
        # A little above the counter is rounding; far above, the counter does not see it all.
        misled = use.unit == "tensor" and known and use.percent > known.percent + ROUNDING
        if known is None or misled:
            by_unit[use.unit] = use
    return ranked(by_unit.values())


def _computed(measurement: Measurement, peaks: PeakSet) -> list[UnitUse]:
    duration, report = measurement.duration_s, peaks.report
    if not duration:
        return []
    found = []
    if measurement.dram_bytes is not None and report.dram_bytes_per_s:
        percent = 100.0 * measurement.dram_bytes / duration / report.dram_bytes_per_s
        found.append(_use("dram", percent, "DRAM bytes"))
    by_unit: dict[str, tuple[float, str]] = {}
    for key, count in measurement.operations.items():
        peak = report.operations_per_s.get(key)
        if peak:
            unit = unit_of_precision(key)
            percent, said = by_unit.get(unit, (0.0, "tensor" if unit == "tensor" else key))
            by_unit[unit] = (percent + 100.0 * count / duration / peak, said)
    for unit, (percent, said) in by_unit.items():
        found.append(_use(unit, percent, f"{said} operations"))
    return found


def _use(unit: str, percent: float, what: str) -> UnitUse:
    family = UNITS[unit].family
    return UnitUse(unit=unit, family=family, percent=percent, metric=what + COMPUTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """The busiest unit of each family, and whether each family was measured well enough."""

    best: Mapping[Family, float]
    measured: frozenset[Family]

    @classmethod
    def of(cls, uses: Sequence[UnitUse]) -> Sides:
        """What a list of utilisations says of both families."""
        best: dict[Family, float] = {}
        for use in uses:
            best[use.family] = max(use.percent, best.get(use.family, use.percent))
        units = {use.unit for use in uses}
        whole = {
            family
            for family, throughput in _THROUGHPUTS.items()
            if any(use.metric.startswith(throughput) for use in uses)
        }
        by_member = {family for family, needed in _NEEDED.items() if needed <= units}
        return cls(best=best, measured=frozenset(whole | by_member))

    @property
    def complete(self) -> bool:
        """Whether enough was measured of both to call a kernel idle."""
        return len(self.measured) == len(Family)

    @property
    def margin(self) -> float:
        """Points between the families' busiest units; infinite where one has none."""
        if len(self.best) < len(Family):
            return float("inf")
        return abs(self.best[Family.BANDWIDTH] - self.best[Family.COMPUTE])
