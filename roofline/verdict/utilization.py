"""How busy each unit was: what was measured, and what can be computed where it was not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from roofline.model import Family, Measurement, PeakSet, UnitUse
from roofline.units import MEMORY_THROUGHPUT, SM_THROUGHPUT, rank

COMPUTED = " over time and peak"
_ROUNDING = 3.0
# A family is measured where its throughput is (the largest of all members), or where all of these
# units are: any of them may be the limit, and a quiet one says nothing of the others.
_THROUGHPUTS = {Family.BANDWIDTH: MEMORY_THROUGHPUT, Family.COMPUTE: SM_THROUGHPUT}
_NEEDED = {
    Family.BANDWIDTH: frozenset({"dram", "l2", "l1"}),
    Family.COMPUTE: frozenset({"issue", "fma", "alu", "fp64", "tensor"}),
}
_VECTOR_UNITS = {"fp32": "fma", "fp64": "fp64", "fp16": "fp16"}


def all_uses(measurement: Measurement, peaks: PeakSet) -> tuple[UnitUse, ...]:
    """Measured utilisations, and what can be computed where a unit was not measured.

    The tensor pipe's own activity misleads where one instruction takes longer than the counter
    thinks (FP32 accumulation on GeForce), so operations over peak count there too.
    """
    by_unit = {use.unit: use for use in measurement.units}
    for use in _computed(measurement, peaks):
        known = by_unit.get(use.unit)
        # A little above the counter is rounding; far above, the counter does not see it all.
        misled = use.unit == "tensor" and known and use.percent > known.percent + _ROUNDING
        if known is None or misled:
            by_unit[use.unit] = use
    return tuple(sorted(by_unit.values(), key=rank))


def _computed(measurement: Measurement, peaks: PeakSet) -> list[UnitUse]:
    duration, report = measurement.duration_s, peaks.report
    if not duration:
        return []
    found = []
    if measurement.dram_bytes is not None and report.dram_bytes_per_s:
        percent = 100.0 * measurement.dram_bytes / duration / report.dram_bytes_per_s
        found.append(_use("dram", Family.BANDWIDTH, percent, f"DRAM bytes{COMPUTED}"))
    tensor = 0.0
    for key, count in measurement.operations.items():
        peak = report.operations_per_s.get(key)
        if not peak:
            continue
        percent = 100.0 * count / duration / peak
        if key.startswith("tensor_"):
            tensor += percent
        elif key in _VECTOR_UNITS:
            metric = f"{key} operations{COMPUTED}"
            found.append(_use(_VECTOR_UNITS[key], Family.COMPUTE, percent, metric))
    if tensor:
        metric = f"tensor operations{COMPUTED}"
        found.append(_use("tensor", Family.COMPUTE, tensor, metric))
    return found


def _use(unit: str, family: Family, percent: float, metric: str) -> UnitUse:
    return UnitUse(unit=unit, family=family, percent=percent, metric=metric)


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
