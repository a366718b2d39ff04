"""From a launch in ncu's words to a measurement in ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from roofline.counters import recipes
from roofline.counters.device import device_of
from roofline.counters.evidence import counts_of, ratios_of
from roofline.counters.operations import operations_of
from roofline.counters.peaks import report_peaks
from roofline.counters.stalls import stalls
from roofline.counters.tensor import tensor_work
from roofline.counters.utilization import unit_uses
from roofline.model import (
    QUANTITIES,
    Device,
    Dim3,
    Kind,
    Launch,
    Measurement,
    Metrics,
    Missing,
    Note,
)

# Public reports of GPUs under load stay above 0.9; kernels of some microseconds go down to 0.4.
_LOW_CLOCK = 0.8
_SHORT_S = 20e-6
_FULL = 99.9
# Orin, Thor (10.1 before CUDA 13) and GB10: memory shared with the CPU, without dram__ metrics.
_NO_DRAM_COUNTERS = frozenset({"8.7", "10.1", "11.0", "12.1"})
# Quantity -> the ncu option that collects it.
FLAGS = {
    "duration": "--metrics gpu__time_duration.sum",
    "utilization": "--section SpeedOfLight",
    "dram_bytes": "--metrics dram__bytes_read.sum,dram__bytes_write.sum",
    "operations": "--section SpeedOfLight_RooflineChart",
    "operations.tensor": "--metrics sass__inst_executed_per_opcode_with_modifier_all",
    "operations.fp16": "--metrics sass__thread_inst_executed_true_per_opcode_with_modifier_all",
    "stalls": "--section WarpStateStats",
    "occupancy": "--section Occupancy",
    "launch": "--section LaunchStats",
    "sm_clock": "--section SpeedOfLight",
}

_MISSING = {quantity: Missing(quantity=quantity, flag=flag) for quantity, flag in FLAGS.items()}


def measure(launch: Launch, source: str | None = None) -> Measurement:
    """Measure one launch: every quantity by the most trusted recipe that its metrics allow.

    Durations in seconds, amounts in bytes and operations, clocks in Hz, percentages of peak over
    elapsed time. What is not measured is ``None`` and named in ``missing``.
    """
    metrics, reader = launch.metrics, recipes.QuantityReader(launch.metrics)
    device, tensor = device_of(metrics), tensor_work(metrics)
    operations, unmeasured = operations_of(reader, tensor)
    numbers = _numbers(reader)
    peaks, peak_notes = report_peaks(
        metrics,
        device,
        sm_clock_hz=numbers["sm_clock_hz"],
        dram_clock_hz=numbers["dram_clock_hz"],
        tensor=tensor,
        l1_measured=numbers["l1_bytes"] is not None,
    )
    reasons, stall_how = stalls(metrics)
    if stall_how:
        reader.provenance["stalls"] = stall_how
    units, counts = unit_uses(metrics), counts_of(metrics)
    gaps = {
        "duration": numbers["duration_s"] is None,
        "utilization": not units,
        "dram_bytes": numbers["dram_bytes"] is None
        and device.compute_capability not in _NO_DRAM_COUNTERS,
        "operations": not operations,
        "operations.tensor": "tensor" in unmeasured,
        "operations.fp16": "fp16" in unmeasured,
        "stalls": not reasons,
        "occupancy": numbers["theoretical_occupancy_percent"] is None,
        "launch": numbers["waves"] is None and launch.kind is Kind.KERNEL,
        "sm_clock": numbers["sm_clock_hz"] is None,
    }
    return Measurement(
        source=source or launch.source,
        range=launch.range,
        index=launch.index,
        kind=launch.kind,
        name=launch.name,
        demangled=launch.demangled,
        grid=_dim3(metrics, "grid"),
        block=_dim3(metrics, "block"),
        device=device,
        operations=operations,
        accumulate=tensor.accumulate,
        tensor_path=tensor.path,
        unmeasured=unmeasured,
        units=units,
        occupancy_limiter=_occupancy_limiter(metrics, numbers),
        stalls=reasons,
        counts=counts,
        ratios=ratios_of(metrics, counts, numbers["registers_per_thread"]),
        nvtx=launch.nvtx,
        process=launch.process,
        ncu_version=launch.ncu_version,
        settings=launch.settings,
        peaks=peaks,
        provenance=reader.provenance,
        missing=tuple(_MISSING[quantity] for quantity, gap in gaps.items() if gap),
        notes=(
            *tensor.notes,
            *peak_notes,
            *reader.notes,
            *_notes(metrics, launch.kind, device, numbers),
            *metrics.notes(),
        ),
        **numbers,
    )


def _numbers(reader: recipes.QuantityReader) -> dict[str, Any]:
    """All that has recipes, by field of a measurement."""
    numbers = {
        name: reader.get(QUANTITIES[name].origin, ways) for name, ways in recipes.RECIPES.items()
    }
    numbers["duration_s"] = numbers["duration_s"] or None  # a duration of 0 measures nothing
    sides = numbers["dram_read_bytes"], numbers["dram_write_bytes"]
    if sides[0] is not None and sides[1] is not None:
        reader.provenance["dram_bytes"] = "read + write"
        numbers["dram_bytes"] = sides[0] + sides[1]
    # Where L1 asked L2 for more, bytes came by ways that are not counted here.
    found, below = numbers["l1_bytes"], recipes.read(recipes.L2_FROM_L1, reader.metrics)
    if found is not None and below is not None and found < below.value:
        del reader.provenance["l1_bytes"]
        numbers["l1_bytes"] = None
    return numbers


def _dim3(metrics: Metrics, what: str) -> Dim3 | None:
    x, y, z = map(metrics.number, recipes.DIMENSIONS[what])
    return None if x is None or y is None or z is None else (int(x), int(y), int(z))


def _occupancy_limiter(metrics: Metrics, numbers: Mapping[str, float | None]) -> str | None:
    """What keeps more blocks off an SM, all of it where several do; ``None`` at full occupancy."""
    theoretical = numbers["theoretical_occupancy_percent"]
    if theoretical is not None and theoretical >= _FULL:
        return None
    limits = {
        what: value
        for name, what in recipes.OCCUPANCY_LIMITS.items()
        if (value := metrics.number(name)) is not None
    }
    if not numbers["shared_memory_bytes"]:  # what is left is the driver's reservation
        limits.pop("shared memory", None)
    least = min(limits.values(), default=None)
    return " and ".join(what for what, value in limits.items() if value == least) or None


def _notes(
    metrics: Metrics, kind: Kind, device: Device, numbers: Mapping[str, float | None]
) -> Iterator[Note]:
    if metrics.has(recipes.DURATION) and metrics.number(recipes.DURATION) is None:
        yield Note(code="counters_nan")
    if kind is not Kind.KERNEL:
        yield Note(code=f"{kind}_result")
    if device.compute_capability in _NO_DRAM_COUNTERS:
        sectors = metrics.number(recipes.L2_MISSES)
        missed = None if sectors is None else recipes.SECTOR_BYTES * sectors
        yield Note(code="no_dram_counters", facts={"missed_l2_bytes": missed})
    # A DRAM clock far below the device's own: counters that barely ran, or a GPU held back.
    most, clock = device.dram_clock_max_hz, numbers["dram_clock_hz"]
    if clock and most and clock <= _LOW_CLOCK * most:
        short = (numbers["duration_s"] or _SHORT_S) < _SHORT_S
        facts = {"clock_hz": clock, "most_hz": most, "short": short}
        yield Note(code="dram_clock_low", facts=facts)
