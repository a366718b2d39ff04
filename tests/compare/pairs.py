"""Captures made by hand for comparisons; verdicts are judged, not made up."""

from __future__ import annotations

from typing import Any

from roofline.analysis import Judge, group
from roofline.compare.judge import compare
from roofline.compare.model import Comparison, KernelPair
from roofline.model import Analysis, Measurement, Source
from roofline.specs import Registry
from tests.makers import measurement, unit

# No device is known here: the peaks are the reports' own.
RULE = Judge(registry=Registry(folders=(), families=(), sources={}, architectures={}))


def capture(*measured: Measurement, path: str = "toy.ncu-rep") -> Analysis:
    """An analysis of launches in this order."""
    results = [RULE(m) for m in measured]
    return Analysis(
        sources=(Source(path=path, launches=len(results)),),
        results=tuple(results),
        groups=group(results, RULE),
    )


# A report must hold these too before a kernel without a busy unit is called latency-bound.
IDLE = dict.fromkeys(("l1", "fma", "alu", "fp64", "tensor"), 0.0)


def launch(
    name: str = "kernel", *, us: float = 1000.0, use: Any = None, **values: Any
) -> Measurement:
    """A launch of ``us`` microseconds whose units are ``use`` (percent by unit key)."""
    units = {"dram": 90.0, "issue": 20.0, "l2": 40.0} if use is None else use
    given: dict[str, Any] = {
        "duration_s": us * 1e-6,
        "units": tuple(unit(k, v) for k, v in sorted(units.items(), key=lambda i: -i[1])),
    }
    return measurement(name, **(given | values))


def one(before: Measurement, after: Measurement, **options: Any) -> KernelPair:
    """The only pair of two captures of one launch each."""
    comparison = compared(before, after, **options)
    assert len(comparison.pairs) == 1
    return comparison.pairs[0]


def compared(before: Measurement, after: Measurement, **options: Any) -> Comparison:
    """Two captures of one launch each."""
    return compare(capture(before), capture(after), **options)


# --- the pairs that the rules must get right -----------------------------------------------------


def fewer_bytes() -> tuple[Measurement, Measurement]:
    """DRAM-bound; half the bytes in half the time."""
    return (
        launch(us=1000, dram_bytes=0.9e9, use={"dram": 90, "l2": 40, "issue": 20}),
        launch(us=500, dram_bytes=0.45e9, use={"dram": 90, "l2": 40, "issue": 40}),
    )


def by_clock() -> tuple[Measurement, Measurement]:
    """Compute-bound; the same cycles at a clock 1.2 times higher."""
    use = {"fma": 85, "issue": 60, "dram": 20}
    return (
        launch(us=1200, sm_clock_hz=1.0e9, use=use),
        launch(us=1000, sm_clock_hz=1.2e9, use=use),
    )


def slower_but_busier() -> tuple[Measurement, Measurement]:
    """DRAM goes from 70 to 90 % busy and the kernel takes 1.5 times as long: twice the bytes."""
    return (
        launch(us=1000, dram_bytes=0.7e9, use={"dram": 70, "l2": 40, "issue": 20}),
        launch(us=1500, dram_bytes=1.35e9, use={"dram": 90, "l2": 40, "issue": 14}),
    )


def l2_resident() -> tuple[Measurement, Measurement]:
    """Tiled to stay in L2: next to no DRAM bytes, L2 limits, faster all the same."""
    return (
        launch(us=1000, dram_bytes=0.9e9, use={"dram": 90, "l2": 55, "issue": 20}),
        launch(us=600, dram_bytes=1e6, use={"dram": 0.2, "l2": 92, "issue": 33}),
    )


def other_grid() -> tuple[Measurement, Measurement]:
    """An autotuner chose another tile: a quarter of the blocks, the same work."""
    return (
        launch("gemm", us=1000, grid=(400, 1, 1), block=(256, 1, 1)),
        launch("gemm", us=800, grid=(100, 1, 1), block=(128, 1, 1), use={"dram": 95, "l2": 50}),
    )


def renamed() -> tuple[Measurement, Measurement]:
    """Triton and Inductor spell a kernel anew in every build."""
    return (
        launch(
            "triton_poi_fused_add_mul_12",
            demangled="triton_poi_fused_add_mul_12",
            use={"dram": 90, "l2": 40},
        ),
        launch(
            "triton_poi_fused_add_mul_31",
            demangled="triton_poi_fused_add_mul_31",
            use={"dram": 90, "l2": 40},
        ),
    )
