"""The registry against what a report says of its own device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from roofline.model import NOTHING, Device, Note, Peaks
from roofline.specs.fit import MEMORY_TOLERANCE
from roofline.specs.spec import Spec

TOLERANCE = 0.02
MEASURED_CLOCK = "SM clock while profiled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A quantity on which registry and report are more than 2 % apart.

    Both values are in ``unit``: "" (a count), "Hz", "bit", "B", "B/s", or "op/clk/SM".
    ``explanation`` is ``None`` where the cause is not known: then one of the two is wrong.
    """

    quantity: str
    registry: float
    report: float
    unit: str
    explanation: str | None = None

    @property
    def percent(self) -> float:
        """How far the report lies from the registry, in % of the registry's value."""
        return 100 * (self.report / self.registry - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A device of a report beside its entry: ``compared`` quantities, ``differences`` of them."""

    device: str
    spec: str | None
    compared: int = 0
    differences: tuple[Difference, ...] = ()
    notes: tuple[Note, ...] = ()
    suggestions: tuple[str, ...] = ()


def check(
    device: Device,
    report_peaks: Peaks,
    sm_clock_hz: float | None,
    spec: Spec,
    *,
    accumulate: Mapping[str, str] = NOTHING,
    tensor_path: str | None = None,
) -> tuple[Difference, ...]:
    """What the report and the registry disagree on, with the cause where it is known.

    Args:
        device: the device as the report describes it.
        report_peaks: the report's own peaks, at the clocks that were measured.
        sm_clock_hz: the SM clock that they go with.
        spec: the registry's entry, cut to a slice where the device is one.
        accumulate: as for ``Spec.rates``.
        tensor_path: as for ``Spec.rates``.

    """
    found = []
    for row in compared(device, report_peaks, sm_clock_hz, spec, accumulate, tensor_path):
        tolerance = MEMORY_TOLERANCE if row.quantity == "memory" else TOLERANCE
        if abs(row.report / row.registry - 1) > tolerance:
            found.append(row)
    return tuple(found)


def compared(
    device: Device,
    report_peaks: Peaks,
    sm_clock_hz: float | None,
    spec: Spec,
    accumulate: Mapping[str, str] = NOTHING,
    tensor_path: str | None = None,
) -> tuple[Difference, ...]:
    """Every quantity that both registry and report give; arguments as for ``check``."""
    clock = spec.boost_clock_hz
    pairs = [
        ("SMs", spec.sm_count, device.sm_count, "", None),
        ("SM clock", clock, device.sm_clock_max_hz, "Hz", _why_boost(spec)),
        (MEASURED_CLOCK, clock, sm_clock_hz, "Hz", _why_measured(spec, device, sm_clock_hz)),
        ("memory clock", spec.memory_clock_hz, device.dram_clock_max_hz, "Hz", None),
        ("memory bus", spec.memory_bus_bits, device.dram_bus_bits, "bit", _why_slice(spec)),
        ("memory", spec.memory_bytes, device.memory_bytes, "B", None),
        ("L2", spec.l2_bytes, device.l2_bytes, "B", _why_l2(spec)),
        (
            "DRAM bandwidth",
            spec.dram_bytes_per_s,
            report_peaks.dram_bytes_per_s,
            "B/s",
            _why_dram(spec, device, report_peaks),
        ),
        *_rates(device, report_peaks, sm_clock_hz, spec.rates(accumulate, tensor_path)),
    ]
    return tuple(
        Difference(quantity=what, registry=ours, report=theirs, unit=unit, explanation=why)
        for what, ours, theirs, unit, why in pairs
        if ours and theirs
    )


_Pair = tuple[str, float | None, float | None, str, str | None]


def _rates(
    device: Device, peaks: Peaks, clock_hz: float | None, rates: Mapping[str, float]
) -> Iterator[_Pair]:
    if not clock_hz or not device.sm_count:
        return
    for key, peak in peaks.operations_per_s.items():
        yield key, rates.get(key), peak / clock_hz / device.sm_count, "op/clk/SM", None


def _why_slice(spec: Spec) -> str | None:
    return "a MIG slice" if spec.memory_share < 1 else None


def _is_card(spec: Spec) -> bool:
    """Whether board partners sell it with clocks of their own."""
    return any("GeForce" in name or "TITAN" in name for name in spec.names)


def _why_boost(spec: Spec) -> str | None:
    if spec.laptop:
        return "a laptop: its maker sets the boost clock"
    return "a partner board with a boost clock of its own" if _is_card(spec) else None


def _why_measured(spec: Spec, device: Device, clock_hz: float | None) -> str | None:
    boost = device.sm_clock_max_hz or spec.boost_clock_hz
    if not clock_hz or not boost:
        return None
    if spec.base_clock_hz and abs(clock_hz / spec.base_clock_hz - 1) <= TOLERANCE:
        return "ncu held the base clock"
    if clock_hz < (1 - TOLERANCE) * boost:
        return f"it ran at {100 * clock_hz / boost:.0f} % of boost: ncu's clock control, or power"
    return _why_boost(spec)


def _why_l2(spec: Spec) -> str | None:
    return _why_slice(spec) or ("cards of one name differ in L2" if _is_card(spec) else None)


def _why_dram(spec: Spec, device: Device, peaks: Peaks) -> str | None:
    ours, theirs = spec.dram_bytes_per_s, peaks.dram_bytes_per_s
    if _why_slice(spec):
        return "a MIG slice: the report's bandwidth may be that of the whole GPU"
    if not ours or not theirs or not device.dram_clock_max_hz or not device.dram_bus_bits:
        return None
    maximum = 2 * device.dram_clock_max_hz * device.dram_bus_bits / 8
    if theirs < (1 - TOLERANCE) * maximum and abs(maximum / ours - 1) <= TOLERANCE:
        return f"the memory clock ran at {100 * theirs / maximum:.0f} % of its maximum"
    return None
