"""From a launch in ncu's words to a measurement in ours."""

from __future__ import annotations

from collections.abc import Mapping

from roofline.counters.device import device_of
from roofline.counters.operations import operations_of
from roofline.counters.peaks import report_peaks
from roofline.counters.recipes import (
    DIMENSIONS,
    DRAM_CLOCK,
    DRAM_READ,
    DRAM_TOTAL,
    DRAM_WRITE,
    DURATION,
    DURATION_S,
    L1_BYTES,
    L2_BYTES,
    L2_FROM_L1,
    L2_MISSES,
    OCCUPANCY,
    OCCUPANCY_LIMITS,
    PASSES,
    REGISTERS,
    SECTOR_BYTES,
    SHARED_MEMORY,
    SM_ACTIVE,
    SM_CLOCK,
    THEORETICAL_OCCUPANCY,
    WAVES,
    QuantityReader,
    read,
)
from roofline.counters.stalls import stalls
from roofline.counters.tensor import tensor_work
from roofline.counters.utilization import unit_uses
from roofline.model import Device, Dim3, Kind, Launch, Measurement, Metrics, Missing, Note

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
    metrics, reader = launch.metrics, QuantityReader(launch.metrics)
    device = device_of(metrics)
    tensor = tensor_work(metrics)
    operations, unmeasured = operations_of(reader, tensor)
    read_bytes, write_bytes, dram_bytes = _dram_bytes(reader)
    sm_clock, dram_clock = reader.get("sm_clock", SM_CLOCK), reader.get("dram_clock", DRAM_CLOCK)
    l1_bytes = _l1_bytes(reader)
    peaks, peak_notes = report_peaks(
        metrics,
        device,
        sm_clock_hz=sm_clock,
        dram_clock_hz=dram_clock,
        tensor=tensor,
        l1_measured=l1_bytes is not None,
    )
    reasons, stall_how = stalls(metrics)
    if stall_how:
        reader.provenance["stalls"] = stall_how
    shared_bytes = reader.get("shared_memory", SHARED_MEMORY)
    duration_s, units = _duration(reader), unit_uses(metrics)
    waves, theoretical = (
        reader.get("waves", WAVES),
        reader.get("theoretical_occupancy", THEORETICAL_OCCUPANCY),
    )
    gaps = {
        "duration": duration_s is None,
        "utilization": not units,
        "dram_bytes": dram_bytes is None and not _has_no_dram_counters(device),
        "operations": not operations,
        "operations.tensor": "tensor" in unmeasured,
        "operations.fp16": "fp16" in unmeasured,
        "stalls": not reasons,
        "occupancy": theoretical is None,
        "launch": waves is None and launch.kind is Kind.KERNEL,
        "sm_clock": sm_clock is None,
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
        duration_s=duration_s,
        dram_bytes=dram_bytes,
        dram_read_bytes=read_bytes,
        dram_write_bytes=write_bytes,
        l2_bytes=reader.get("l2_bytes", L2_BYTES),
        l1_bytes=l1_bytes,
        operations=operations,
        accumulate=tensor.accumulate,
        tensor_path=tensor.path,
        unmeasured=unmeasured,
        sm_clock_hz=sm_clock,
        dram_clock_hz=dram_clock,
        units=units,
        waves=waves,
        occupancy_percent=reader.get("occupancy", OCCUPANCY),
        theoretical_occupancy_percent=theoretical,
        occupancy_limiter=_occupancy_limiter(metrics, theoretical, shared_bytes),
        registers_per_thread=reader.get("registers", REGISTERS),
        shared_memory_bytes=shared_bytes,
        sm_active_percent=reader.get("sm_active", SM_ACTIVE),
        stalls=reasons,
        passes=reader.get("passes", PASSES),
        nvtx=launch.nvtx,
        process=launch.process,
        ncu_version=launch.ncu_version,
        settings=launch.settings,
        peaks=peaks,
        provenance=reader.provenance,
        missing=_missing(gaps),
        notes=(
            *tensor.notes,
            *peak_notes,
            *reader.notes,
            *_notes(metrics, launch.kind),
            *_missed_notes(metrics, device),
            *_clock_notes(device, dram_clock, duration_s),
            *metrics.notes(),
        ),
    )


def _duration(reader: QuantityReader) -> float | None:
    """A duration of 0 measures nothing."""
    return reader.get("duration", DURATION_S) or None


def _l1_bytes(reader: QuantityReader) -> float | None:
    """Bytes through L1; ``None`` where L1 asked L2 for more, by ways that are not counted here."""
    found, below = reader.get("l1_bytes", L1_BYTES), read(L2_FROM_L1, reader.metrics)
    if found is not None and below is not None and found < below.value:
        del reader.provenance["l1_bytes"]
        return None
    return found


def _dram_bytes(reader: QuantityReader) -> tuple[float | None, float | None, float | None]:
    read_bytes = reader.get("dram_read_bytes", DRAM_READ)
    write_bytes = reader.get("dram_write_bytes", DRAM_WRITE)
    if read_bytes is not None and write_bytes is not None:
        reader.provenance["dram_bytes"] = "read + write"
        return read_bytes, write_bytes, read_bytes + write_bytes
    return read_bytes, write_bytes, reader.get("dram_bytes", DRAM_TOTAL)


def _dim3(metrics: Metrics, what: str) -> Dim3 | None:
    x, y, z = map(metrics.number, DIMENSIONS[what])
    if x is None or y is None or z is None:
        return None
    return int(x), int(y), int(z)


def _occupancy_limiter(
    metrics: Metrics, theoretical: float | None, shared_bytes: float | None
) -> str | None:
    """What keeps more blocks off an SM, all of it where several do; ``None`` at full occupancy."""
    if theoretical is not None and theoretical >= _FULL:
        return None
    limits = {
        what: value
        for name, what in OCCUPANCY_LIMITS.items()
        if (value := metrics.number(name)) is not None
    }
    if not shared_bytes:  # what is left is the driver's reservation
        limits.pop("shared memory", None)
    least = min(limits.values(), default=None)
    return " and ".join(what for what, value in limits.items() if value == least) or None


def _notes(metrics: Metrics, kind: Kind) -> tuple[Note, ...]:
    notes = []
    if metrics.has(DURATION) and metrics.number(DURATION) is None:
        notes.append(Note(code="counters_nan"))
    if kind is not Kind.KERNEL:
        notes.append(Note(code=f"{kind}_result"))
    return tuple(notes)


def _has_no_dram_counters(device: Device) -> bool:
    return device.compute_capability in _NO_DRAM_COUNTERS


def _missed_notes(metrics: Metrics, device: Device) -> tuple[Note, ...]:
    """What can be said of the memory of GPUs whose DRAM ncu cannot measure."""
    if not _has_no_dram_counters(device):
        return ()
    sectors = metrics.number(L2_MISSES)
    missed = None if sectors is None else SECTOR_BYTES * sectors
    return (Note(code="no_dram_counters", facts={"missed_l2_bytes": missed}),)


def _clock_notes(
    device: Device, dram_clock_hz: float | None, duration_s: float | None
) -> tuple[Note, ...]:
    """A DRAM clock far below the device's own: counters that barely ran, or a GPU held back."""
    most = device.dram_clock_max_hz
    if not dram_clock_hz or not most or dram_clock_hz > _LOW_CLOCK * most:
        return ()
    short = duration_s is not None and duration_s < _SHORT_S
    facts = {"clock_hz": dram_clock_hz, "most_hz": most, "short": short}
    return (Note(code="dram_clock_low", facts=facts),)


def _missing(gaps: Mapping[str, bool]) -> tuple[Missing, ...]:
    return tuple(_MISSING[quantity] for quantity, gap in gaps.items() if gap)
