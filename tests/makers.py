"""Makers of values: a test states what matters and gets the rest."""

from __future__ import annotations

from typing import Any

from roofline.model import (
    Analysis,
    Bound,
    Confidence,
    Device,
    Family,
    Group,
    Kind,
    Measurement,
    Peaks,
    PeakSet,
    Result,
    Source,
    UnitUse,
    Verdict,
)

# A round-numbered device: 1 TB/s and 10 TFLOP/s put the ridge at 10 operations a byte.
TOY_DEVICE = Device(
    name="NVIDIA Toy",
    compute_capability="8.0",
    sm_count=100,
    sm_clock_max_hz=1e9,
    dram_clock_max_hz=1e9,
    dram_bus_bits=4000,
)
TOY_PEAKS = Peaks(
    kind="report",
    source="toy",
    dram_bytes_per_s=1e12,
    l2_bytes_per_s=4e12,
    l1_bytes_per_s=10e12,
    operations_per_s={"fp32": 10e12, "fp64": 5e12, "tensor_bf16": 100e12},
)
BANDWIDTH_UNITS = {"dram", "l2", "l1", "lsu", "tex", "constant", "nvlink", "pcie"}


def unit(name: str, percent: float) -> UnitUse:
    family = Family.BANDWIDTH if name in BANDWIDTH_UNITS else Family.COMPUTE
    return UnitUse(unit=name, family=family, percent=percent, metric=f"toy__{name}.pct")


def with_rest(*units: UnitUse) -> tuple[UnitUse, ...]:
    """``units`` and, idle, the others that a report must hold to be judged in full."""
    named = {use.unit for use in units}
    rest = ("dram", "l2", "l1", "issue", "fma", "alu", "fp64", "tensor")
    return (*units, *(unit(name, 0.0) for name in rest if name not in named))


def measurement(name: str = "kernel", **values: Any) -> Measurement:
    """1 ms, 0.9 GB and 75 MFLOP of FP32 at 90 % DRAM, unless said otherwise."""
    given: dict[str, Any] = {
        "source": "toy.ncu-rep",
        "range": 0,
        "index": 0,
        "kind": Kind.KERNEL,
        "name": name,
        "demangled": f"void {name}(float *)",
        "grid": (100, 1, 1),
        "block": (256, 1, 1),
        "device": TOY_DEVICE,
        "duration_s": 1e-3,
        "dram_bytes": 0.9e9,
        "dram_read_bytes": 0.6e9,
        "dram_write_bytes": 0.3e9,
        "operations": {"fp32": 75e6},
        "sm_clock_hz": 1e9,
        "dram_clock_hz": 1e9,
        "units": (unit("dram", 90.0), unit("issue", 20.0), unit("l2", 40.0)),
        "waves": 10.0,
        "peaks": TOY_PEAKS,
    }
    return Measurement(**(given | values))


def verdict(**values: Any) -> Verdict:
    given: dict[str, Any] = {
        "bound": Bound.BANDWIDTH,
        "limiter": "dram",
        "limiter_percent": 90.0,
        "nearest": "dram",
        "confidence": Confidence.HIGH,
        "floor_s": 0.9e-3,
        "next_limiter": "l2",
        "next_floor_s": 0.4e-3,
        "gain": 1 / 0.9,
        "gain_by": "headroom",
        "dominant": "fp32",
        "ridge": 10.0,
        "ridge_side": "memory",
        "advice": "unit.dram",
    }
    return Verdict(**(given | values))


def result(
    measured: Measurement | None = None, judged: Verdict | None = None, **values: Any
) -> Result:
    measured = measured or measurement(**values)
    return Result(
        measurement=measured, peaks=PeakSet(report=measured.peaks), verdict=judged or verdict()
    )


def group(*results: Result, positions: tuple[int, ...] = (0,), share: float = 1.0) -> Group:
    """A group whose sums are those of its first result."""
    durations = [r.measurement.duration_s for r in results if r.measurement.duration_s is not None]
    return Group(
        result=results[0],
        launches=positions,
        total_s=sum(durations) if durations else None,
        min_s=min(durations, default=None),
        max_s=max(durations, default=None),
        share=share,
        bounds={str(results[0].verdict.bound): len(results)},
    )


def analysis(*results: Result) -> Analysis:
    """Every result a group of its own."""
    total = sum(r.measurement.duration_s or 0.0 for r in results) or 1.0
    return Analysis(
        sources=(Source(path="toy.ncu-rep", launches=len(results)),),
        results=results,
        groups=tuple(
            group(r, positions=(i,), share=(r.measurement.duration_s or 0.0) / total)
            for i, r in enumerate(results)
        ),
    )
