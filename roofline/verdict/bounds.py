"""Ceilings: how busy each unit was, what limits next, and the classic roofline as context."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from roofline.model import PLAIN_PRECISIONS, Bound, Family, Measurement, Note, PeakSet, UnitUse
from roofline.units import (
    MEMORY_THROUGHPUT,
    ROUNDING,
    SM_THROUGHPUT,
    UNITS,
    ranked,
    unit_of_precision,
)

# A family is measured where its throughput is (the largest of all members), or where all units are
# that it needs: any of them may be the limit, and a quiet one says nothing of the others.
_THROUGHPUTS = {Family.BANDWIDTH: MEMORY_THROUGHPUT, Family.COMPUTE: SM_THROUGHPUT}
_NEEDED = {
    family: {unit.key for unit in UNITS.values() if unit.needed and unit.family is family}
    for family in Family
}
# How a utilisation is computed from a peak that is not the report's.
AT_DATASHEET = "over time and the datasheet's peak"
# Where unit and roof of one precision differ by this many points, the mix of operations is why.
_GAP = 15.0


def all_uses(measurement: Measurement, peaks: PeakSet) -> tuple[UnitUse, ...]:
    """Measured utilisations, and what can be computed where a unit was not measured.

    The tensor pipe's own activity misleads where one instruction takes longer than the counter
    thinks (FP32 accumulation on GeForce), so operations over peak count there too.
    """
    by_unit = {use.unit: use for use in measurement.units}
    for use in computed(measurement, peaks):
        known = by_unit.get(use.unit)
        # A little above the counter is rounding; far above, the counter does not see it all.
        misled = use.unit == "tensor" and known and use.percent > known.percent + ROUNDING
        # Over 100 % the peak is not the kernel's, and nothing follows from it.
        if (known is None or misled) and use.percent <= 100.0 + ROUNDING:
            by_unit[use.unit] = use
    return ranked(by_unit.values())


def computed(measurement: Measurement, peaks: PeakSet) -> list[UnitUse]:
    """How busy DRAM and arithmetic units were by bytes, operations, time and peaks."""
    report, sheet = peaks.report, peaks.datasheet or peaks.report
    rate, found = measurement.dram_bytes_per_s, dict[str, tuple[float, str]]()

    def over(own: float | None) -> str:
        return "over time and peak" if own else AT_DATASHEET

    peak = report.dram_bytes_per_s or sheet.dram_bytes_per_s
    if rate is not None and peak:
        found["dram"] = (100.0 * rate / peak, f"DRAM bytes {over(report.dram_bytes_per_s)}")
    for key, rate in measurement.operation_rates().items():
        own = report.operations_per_s.get(key)
        if peak := own or sheet.operations_per_s.get(key):
            unit = unit_of_precision(key)
            what = f"{'tensor' if unit == 'tensor' else key} operations {over(own)}"
            percent, what = found.get(unit, (0.0, what))
            found[unit] = (percent + 100.0 * rate / peak, what)
    return [
        UnitUse(unit=unit, family=UNITS[unit].family, percent=percent, metric=how, computed=True)
        for unit, (percent, how) in found.items()
    ]


def lacking(uses: Sequence[UnitUse], idle: Collection[str] = ()) -> frozenset[Family]:
    """The families that were not measured well enough; ``idle`` units need no counter."""
    units = {use.unit for use in uses} | set(idle)
    return frozenset(
        family
        for family, throughput in _THROUGHPUTS.items()
        if not (_NEEDED[family] <= units or any(use.metric.startswith(throughput) for use in uses))
    )


def idle_below(m: Measurement, threshold: float) -> frozenset[str]:
    """Units that cannot be as busy as that, in percent, by the grid alone: few SMs have a block.

    A unit of the SMs is at most as busy as the share of SMs that have a block. Without the bytes
    that an SM can move nothing is said of what all SMs share.
    """
    sms = m.sm_count or m.device.sm_count
    if m.grid is None or not sms or 100.0 * math.prod(m.grid) / sms >= threshold:
        return frozenset()
    return frozenset(unit.key for unit in UNITS.values() if unit.clock == "sm")


def roofs_of(m: Measurement, peaks: PeakSet) -> dict[str, Any]:
    """A verdict's fields on the DRAM roofline: shares, ridge and side, and the ceiling.

    At the report's clocks, or the datasheet's where the report lacks a peak.
    """
    roof = peaks.report
    ran = [key for key, rate in m.operation_rates().items() if rate]
    if peaks.datasheet and (
        not roof.dram_bytes_per_s or any(key not in roof.operations_per_s for key in ran)
    ):
        roof = peaks.datasheet
    rates = roof.operations_per_s
    amounts, took_s = (m.operations, m.duration_s) if m.operations else (m.operation_rates(), 1.0)
    at_peak_s = {
        key: count / rates[key] for key, count in amounts.items() if count and rates.get(key)
    }
    shares = {}
    if took_s:
        shares = {key: 100.0 * seconds / took_s for key, seconds in at_peak_s.items()}
    dominant = max(at_peak_s, key=lambda key: at_peak_s[key]) if at_peak_s else None
    bandwidth, intensity = roof.dram_bytes_per_s, m.arithmetic_intensity
    ridge = rates[dominant] / bandwidth if dominant and bandwidth else None
    side = None
    if ridge is not None and intensity is not None:
        side = "memory" if intensity < ridge else "compute"
    ceiling = percent = None
    if took_s and bandwidth and intensity and m.operations_per_s and at_peak_s.keys() >= set(ran):
        # Operations of one unit queue for it, those of several overlap.
        busy_s: dict[str, float] = {"dram": m.operations_per_s / intensity / bandwidth * took_s}
        for key, seconds in at_peak_s.items():
            unit = unit_of_precision(key)
            busy_s[unit] = busy_s.get(unit, 0.0) + seconds
        part = max(busy_s.values()) / took_s
        if part and math.isfinite(m.operations_per_s / part):  # as it is of amounts next to nothing
            ceiling, percent = m.operations_per_s / part, 100.0 * part
    return {
        "roof_percent": shares,
        "dominant": dominant,
        "ridge": ridge,
        "ridge_side": side,
        "ceiling_operations_per_s": ceiling,
        "ceiling_percent": percent,
    }


def disagreement(bound: Bound, top: UnitUse, roofs: Mapping[str, Any]) -> Note | None:
    """Where the classic roofline (``roofs_of``) would say something else, and what."""
    percents, side = roofs["roof_percent"], roofs["ridge_side"]
    served = [key for key in PLAIN_PRECISIONS if unit_of_precision(key) == top.unit]
    precision = max(served, key=lambda key: percents.get(key, 0.0), default="")
    roof = percents.get(precision)
    if bound is Bound.COMPUTE and roof is not None and top.percent - roof > _GAP:
        return Note(code="pipe_above_roof", facts={"precision": precision, "percent": roof})
    if side is None:
        return None
    if bound is Bound.LATENCY:
        return Note(code="below_roofs")
    if bound is Bound.COMPUTE:
        return Note(code="left_of_ridge") if side == "memory" else None
    if side == "compute":
        return Note(code="right_of_ridge")
    return Note(code="left_but_not_dram") if top.unit != "dram" else None
