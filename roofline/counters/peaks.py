"""The report's own peaks: peak rates a cycle times the clocks that were measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import product

from roofline.counters.opcodes import TensorWork
from roofline.counters.recipes import L2_PEAK, WAVEFRONT_BYTES, planned, read, read_table, there
from roofline.model import Device, Metrics, Note, Peaks

# Peak instructions a cycle over the whole device -> (operation key, operations each).
VECTOR = (
    ("sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained", "fp32", 2.0),
    ("sm__sass_thread_inst_executed_op_dfma_pred_on.sum.peak_sustained", "fp64", 2.0),
    ("sm__sass_thread_inst_executed_op_hfma_pred_on.sum.peak_sustained", "fp16", 4.0),
)


@cache
def _tensor_rows(*, by_warp: bool, into_fp16: bool) -> tuple[tuple[str, str], ...]:
    """Peak operations a cycle, and their keys; a later one overrides an earlier."""
    tables: Mapping[str, Mapping[str, list[str]]] = read_table("tensor")

    def named(names: Iterable[str], halves: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        for key, sources in (row for name in names for row in tables[name].items()):
            for source, (half, sparse) in product(sources, halves):
                yield f"sm__ops_path_tensor_{source}{half}.sum.peak_sustained", key + sparse

    either, one = ["peaks"], ["peaks_never_sparse"]
    if by_warp:
        either.append("peaks_by_warp")
        one.append("peaks_never_sparse_by_warp")
    if into_fp16:
        either.append("peaks_into_fp16")
    halves = (("_sparsity_off", ""), ("_sparsity_on", "_sparse"))
    return (*named(either, halves), *named(one, [("", "")]))


_ALL = tuple(name for name, _ in _tensor_rows(by_warp=True, into_fp16=True))
DENSE_PEAKS = tuple(name for name in _ALL if "_sparsity_on" not in name)
# Turing's wavefronts of 128 bytes take two cycles; elsewhere they take one.
_L1_PER_CYCLE = {"7.5": 64.0}
DRAM_PER_CYCLE = "dram__bytes.sum.peak_sustained"
_TOO_HIGH = 1.02


def report_peaks(
    metrics: Metrics,
    device: Device,
    *,
    sm_clock_hz: float | None,
    dram_clock_hz: float | None,
    tensor: TensorWork,
    l1_measured: bool,
    share: float = 1.0,
) -> tuple[Peaks, tuple[Note, ...]]:
    """What the report says its device can do at the clocks that were measured.

    ``share`` is the part of the SMs that the launch was given.
    """
    how: dict[str, str] = {}
    dram, notes = _dram(metrics, device, dram_clock_hz, how)
    l2 = read(L2_PEAK, metrics)
    if l2 is not None:
        how["l2"] = l2.how
    l1 = None
    if l1_measured and sm_clock_hz and device.sm_count:
        per_cycle = _L1_PER_CYCLE.get(device.compute_capability or "", WAVEFRONT_BYTES)
        l1 = per_cycle * device.sm_count * share * sm_clock_hz
        how["l1"] = f"{per_cycle:g} bytes a cycle and SM x SM clock"
    peaks = Peaks(
        kind="report",
        source="the report's peak rates at its measured clocks",
        dram_bytes_per_s=dram,
        l2_bytes_per_s=None if l2 is None else l2.value,
        l1_bytes_per_s=l1,
        operations_per_s={
            key: share * rate
            for key, rate in _operations(metrics, sm_clock_hz, tensor, how).items()
        },
        how=how,
    )
    return peaks, notes


def _dram(
    metrics: Metrics, device: Device, clock_hz: float | None, how: dict[str, str]
) -> tuple[float | None, tuple[Note, ...]]:
    """DRAM bandwidth; a counter's peak above what bus and clock allow is not believed."""
    per_cycle, bus = metrics.number(DRAM_PER_CYCLE), device.dram_bus_bits
    # Memory transfers twice a cycle of CUDA's memory clock, which is the counters' clock too.
    most = device.dram_clock_max_hz or 0.0
    ceiling = 2 * most * bus / 8 if bus and most else None
    if per_cycle and clock_hz:
        peak = per_cycle * clock_hz
        if ceiling is None or peak <= _TOO_HIGH * ceiling:
            how["dram"] = "dram__bytes.sum.peak_sustained x DRAM clock"
            return peak, ()
        how["dram"] = "2 x memory clock x bus width"
        facts = {"peak_bytes_per_s": peak, "used_bytes_per_s": ceiling}
        return ceiling, (Note(code="dram_peak_implausible", facts=facts),)
    if bus and clock_hz and clock_hz <= _TOO_HIGH * most:
        how["dram"] = "2 x DRAM clock x bus width"
        return 2 * clock_hz * bus / 8, ()
    if ceiling is not None:
        how["dram"] = "2 x memory clock x bus width"
    return ceiling, ()


def _operations(
    metrics: Metrics, clock_hz: float | None, tensor: TensorWork, how: dict[str, str]
) -> dict[str, float]:
    if not clock_hz:
        return {}
    per_cycle: dict[str, float] = {}
    for name, key, operations in planned(metrics, VECTOR, there):
        rate = metrics.number(name)
        if rate:
            per_cycle[key] = operations * rate
            how[key] = _said(name, operations)
    by_warp = tensor.path == "mma_sync"
    into_fp16 = tensor.accumulate.get("tensor_fp16") == "fp16"
    rows = _tensor_rows(by_warp=by_warp, into_fp16=into_fp16)
    for name, key in planned(metrics, rows, there):
        if rate := metrics.number(name):
            per_cycle[key] = rate
            how[key] = _said(name)
    return {key: rate * clock_hz for key, rate in per_cycle.items()}


@cache  # the launches of a report share one text
def _said(name: str, operations: float | None = None) -> str:
    times = "" if operations is None else f" x {operations:g}"
    return f"{name}{times} x SM clock"
