"""The classic roofline as context: intensity, ridge and share of each roof."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from roofline.model import PLAIN_PRECISIONS, Bound, Measurement, PeakSet, UnitUse
from roofline.units import the_unit, unit_of_precision
from roofline.verdict.phrases import percent

# Where unit and roof of one precision differ by this many points, the mix of operations is why.
_GAP = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Roofs:
    """Where a kernel stands under the DRAM roofline.

    ``percent`` is of each precision's peak rate, ``dominant`` the precision that takes most time
    at peak, ``ridge`` in operations a byte, ``side`` "memory" or "compute".
    """

    percent: Mapping[str, float]
    dominant: str | None
    ridge: float | None
    side: str | None


def roofs_of(m: Measurement, peaks: PeakSet) -> Roofs:
    """Shares of the peak rates and the side of the ridge, at the report's clocks."""
    rates = peaks.report.operations_per_s
    at_peak_s = {
        key: count / rates[key] for key, count in m.operations.items() if count and rates.get(key)
    }
    shares = {}
    if m.duration_s:
        shares = {key: 100.0 * seconds / m.duration_s for key, seconds in at_peak_s.items()}
    dominant = max(at_peak_s, key=lambda key: at_peak_s[key]) if at_peak_s else None
    bandwidth = peaks.report.dram_bytes_per_s
    ridge = rates[dominant] / bandwidth if dominant and bandwidth else None
    side = None
    if ridge is not None and m.arithmetic_intensity is not None:
        side = "memory" if m.arithmetic_intensity < ridge else "compute"
    return Roofs(percent=shares, dominant=dominant, ridge=ridge, side=side)


def explain_disagreement(bound: Bound, top: UnitUse, m: Measurement, roofs: Roofs) -> str | None:
    """One sentence where the classic roofline would say something else; else ``None``."""
    name = the_unit(top.unit)
    served = [key for key in PLAIN_PRECISIONS if unit_of_precision(key) == top.unit]
    precision = max(served, key=lambda key: roofs.percent.get(key, 0.0), default="")
    roof = roofs.percent.get(precision)
    if bound is Bound.COMPUTE and roof is not None and top.percent - roof > _GAP:
        return (
            f"{name[0].upper()}{name[1:]} is busy {percent(top.percent)} of the time at "
            f"{percent(roof)} of the {label(precision)} roof: not every instruction is an "
            "FMA of a full warp, which counts most."
        )
    if roofs.side is None or m.arithmetic_intensity is None or roofs.dominant is None:
        return None
    share = roofs.percent.get(roofs.dominant)
    known = "unknown share" if share is None else percent(share)
    at = f"{known} of the {label(roofs.dominant)} roof"
    where = f"{m.arithmetic_intensity:.3g} operations a byte, ridge {roofs.ridge:.3g}"
    if bound is Bound.COMPUTE and roofs.side == "memory":
        return f"Left of the ridge ({where}; {at}), yet limited by {name}, not by DRAM."
    if bound is Bound.BANDWIDTH and roofs.side == "compute":
        return f"Right of the ridge ({where}; {at}), yet limited by {name}, not by arithmetic."
    if bound is Bound.BANDWIDTH and top.unit != "dram":
        return f"Left of the ridge ({where}), yet limited by {name}, not by DRAM."
    if bound is Bound.LATENCY:
        return f"Below both roofs ({where}; {at}): the roofline does not explain its time."
    return None


def label(key: str) -> str:
    """An operation key for people: "tensor_bf16" is "BF16 tensor"."""
    words = key.upper().split("_")
    if words[0] == "TENSOR":
        words = [*words[1:2], "tensor", *(word.lower() for word in words[2:])]
    return " ".join(words)
