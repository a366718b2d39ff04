"""From a launch in ncu's words to a measurement in ours."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from roofline.counters import recipes
from roofline.counters.device import device_of, sms_given, whole
from roofline.counters.evidence import counts_of, ratios_of
from roofline.counters.operations import integer_operations, operations_of
from roofline.counters.peaks import report_peaks
from roofline.counters.stalls import stalls
from roofline.counters.tensor import tensor_work
from roofline.counters.utilization import unit_uses
from roofline.kernel_names import own_name
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
    UnitUse,
)
from roofline.units import FEW_FP64

# Public reports of GPUs under load stay above 0.9; kernels of some microseconds go down to 0.4.
_LOW_CLOCK = 0.8
_SHORT_S = 20e-6
_FULL = 99.9
# FP64 from which on it is told of, in % of its peak, unless DRAM is so busy.
_SOME_FP64, _FULL_DRAM = 10.0, 80.0
# Orin, Thor (10.1 before CUDA 13) and GB10: memory shared with the CPU, without dram__ metrics.
_NO_DRAM_COUNTERS = frozenset({"8.7", "10.1", "11.0", "12.1"})
# Quantity -> the ncu option that collects it, and the beginnings of the metrics it is read from.
FLAGS: Mapping[str, str] = recipes.tables()["flags"]
_SOURCES = {quantity: tuple(names) for quantity, names in recipes.tables()["sources"].items()}
_MISSING = {quantity: Missing(quantity=quantity, flag=flag) for quantity, flag in FLAGS.items()}


def measure(launch: Launch, source: str | None = None) -> Measurement:
    """Measure one launch: every quantity by the most trusted recipe that its metrics allow.

    Durations in seconds, amounts in bytes and operations, clocks in Hz, percentages of peak over
    elapsed time. What is not measured is ``None`` and named in ``missing``.
    """
    metrics, reader = launch.metrics, recipes.QuantityReader(launch.metrics)
    device, tensor = device_of(metrics), tensor_work(reader)
    operations, unmeasured = operations_of(reader, tensor)
    numbers = _numbers(reader)
    rates: Mapping[str, float] = {}
    if numbers["duration_s"] is None:
        rates, unmeasured = _rates(metrics, unmeasured)
    block = _dim3(metrics, "block") or launch.block
    grid = _dim3(metrics, "grid") or _grid(launch)
    sms = sms_given(metrics, device)
    share = 1.0 if sms is None or not device.sm_count else sms / device.sm_count
    if numbers["sm_active_percent"] is not None:
        numbers["sm_active_percent"] = min(100.0, numbers["sm_active_percent"] / share)
    peaks, peak_notes = report_peaks(
        metrics,
        device,
        share=share,
        sm_clock_hz=numbers["sm_clock_hz"],
        dram_clock_hz=numbers["dram_clock_hz"],
        tensor=tensor,
        l1_measured=numbers["l1_bytes"] is not None,
    )
    reasons, stall_how = stalls(metrics)
    if stall_how:
        reader.provenance["stalls"] = stall_how
    active = _active(numbers["sm_active_percent"], grid, sms or device.sm_count)
    units = unit_uses(metrics, active, share, device.compute_capability)
    counts = counts_of(metrics)
    nan = [name for note in metrics.notes() for name in note.facts.get("names", ())]
    gaps = {
        "duration": numbers["duration_s"] is None,
        "utilization": not units,
        "dram_bytes": numbers["dram_bytes"] is None
        and "dram_bytes" not in rates
        and device.compute_capability not in _NO_DRAM_COUNTERS,
        "operations": not operations and not rates.keys() - {"dram_bytes"},
        **{f"operations.{kind}": kind in unmeasured for kind in ("tensor", "fp16", "packed_fp32")},
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
        name=own_name(launch.name, launch.demangled),
        demangled=launch.demangled,
        grid=grid,
        block=block,
        device=device,
        sm_count=sms,
        operations=operations,
        rates=rates,
        accumulate=tensor.accumulate,
        tensor_path=tensor.path,
        unmeasured=unmeasured,
        units=units,
        occupancy_limiter=_occupancy_limiter(metrics, numbers),
        stalls=reasons,
        counts=counts,
        ratios=ratios_of(metrics, counts, numbers),
        nvtx=launch.nvtx,
        process=launch.process,
        ncu_version=launch.ncu_version,
        settings=launch.settings,
        peaks=peaks,
        provenance=reader.provenance,
        missing=tuple(
            _MISSING[quantity]
            for quantity, gap in gaps.items()
            if gap and not any(name.startswith(_SOURCES.get(quantity, ())) for name in nan)
        ),
        notes=(
            *tensor.notes,
            *peak_notes,
            *reader.notes,
            *_notes(launch, device, sms, numbers),
            *_fp64_note(units, device),
            *metrics.notes(),
        ),
        **numbers,
    )


def _numbers(reader: recipes.QuantityReader) -> dict[str, Any]:
    """All that has recipes, by field of a measurement."""
    numbers: dict[str, Any] = dict.fromkeys(recipes.RECIPES)
    for name, ways in recipes.planned(reader.metrics, recipes.RECIPES, recipes.all_possible):
        if name != "duration_s":
            numbers[name] = reader.get(QUANTITIES[name].origin, ways)
    numbers["duration_s"] = reader.duration_s
    numbers["integer_operations"] = reader.keep("integer_operations", integer_operations(reader))
    sides = numbers["dram_read_bytes"], numbers["dram_write_bytes"]
    if sides[0] is not None and sides[1] is not None:
        reader.provenance["dram_bytes"] = "read + write"
        numbers["dram_bytes"] = sides[0] + sides[1]
    # Where L1 asked L2 for more, bytes came by ways that are not counted here.
    found, below = numbers["l1_bytes"], reader.read(recipes.L2_FROM_L1)
    if found is not None and below is not None and found < below.value:
        del reader.provenance["l1_bytes"]
        numbers["l1_bytes"] = None
    return numbers


def _active(percent: float | None, grid: Dim3 | None, sms: int | None) -> float | None:
    """The part of the time for which SMs had a block, at most that of the SMs that had one."""
    fill = 1.0 if grid is None or not sms else min(1.0, math.prod(grid) / sms)
    if percent is not None:
        return percent / 100.0
    return fill if fill < 1.0 else None


def _rates(
    metrics: Metrics, unmeasured: tuple[str, ...]
) -> tuple[dict[str, float], tuple[str, ...]]:
    """What a report without a time tells per second: operations by key, and "dram_bytes".

    Also what is uncounted, ``unmeasured`` where there are no rates of operations.
    """
    reader = recipes.QuantityReader(metrics, rates=True)
    found, uncounted = operations_of(reader, tensor_work(reader))
    rates = {key: rate for key, rate in found.items() if rate}
    whole = _numbers(reader)["dram_bytes"]
    if rates:
        unmeasured = uncounted
    return rates if whole is None else {**rates, "dram_bytes": whole}, unmeasured


def _dim3(metrics: Metrics, what: str) -> Dim3 | None:
    x, y, z = (whole(metrics.number(name)) for name in recipes.DIMENSIONS[what])
    return None if x is None or y is None or z is None else (x, y, z)


def _grid(launch: Launch) -> Dim3 | None:
    """The grid that the file says beside the metrics; the first versions of ncu gave threads."""
    grid, blocks = launch.grid, launch.metrics.number("launch__grid_size")
    if grid is None or blocks is None or math.prod(grid) == blocks:
        return grid
    if launch.block is None:
        return None
    x, y, z = (threads // one for threads, one in zip(grid, launch.block, strict=True))
    return (x, y, z) if x * y * z == blocks else None


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


def _fp64_note(units: Iterable[UnitUse], device: Device) -> Iterator[Note]:
    """Doubles where there are almost no FP64 units for them, and too few to be the cause."""
    if device.compute_capability not in FEW_FP64:
        return
    busy = {use.unit: use.percent for use in units}
    percent, most = busy.get("fp64", 0.0), max(busy.values(), default=0.0)
    if _SOME_FP64 <= percent < most / 2 and busy.get("dram", 0.0) < _FULL_DRAM:
        yield Note(code="some_fp64")


def _notes(
    launch: Launch, device: Device, sms: int | None, numbers: Mapping[str, float | None]
) -> Iterator[Note]:
    metrics = launch.metrics
    if launch.kind is not Kind.KERNEL:
        yield Note(code=f"{launch.kind}_result")
    if sms is not None:
        yield Note(code="part_of_gpu", facts={"sms": sms, "of_sms": device.sm_count})
    elif metrics.number("launch__uses_green_context") and not metrics.number("launch__sm_count"):
        yield Note(code="part_unknown")
    if metrics.number("launch__uses_mps"):
        yield Note(code="shared_gpu")
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
