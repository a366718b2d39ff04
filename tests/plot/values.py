"""Values for pictures: a few kernels of every place, and many at nearly the same one."""

from __future__ import annotations

import random
from typing import Any

from matplotlib.figure import Figure
from matplotlib.text import Text

from roofline.model import Analysis, Bound, Peaks, PeakSet, Result
from tests.makers import analysis, measurement, unit, verdict

DATASHEET = Peaks(
    kind="datasheet",
    source="toy datasheet",
    dram_bytes_per_s=1.2e12,
    operations_per_s={"fp32": 20e12, "fp64": 10e12, "tensor_bf16": 300e12},
)
ACHIEVED = Peaks(kind="achieved", source="toy benchmark", dram_bytes_per_s=0.9e12)


def kernel(name: str, bound: Bound = Bound.BANDWIDTH, **values: Any) -> Result:
    measured = measurement(name, **values)
    return Result(
        measurement=measured,
        peaks=PeakSet(report=measured.peaks, datasheet=DATASHEET),
        verdict=verdict(
            bound=bound,
            limiter={Bound.BANDWIDTH: "dram", Bound.COMPUTE: "fma"}.get(bound),
            nearest=max(measured.units, key=lambda u: u.percent).unit if measured.units else None,
            cause="grid_too_small" if bound is Bound.LATENCY else None,
        ),
    )


def mixed() -> Analysis:
    """One kernel for each place and each reason to be there."""
    return analysis(
        kernel("saxpy"),
        kernel(
            "gemm",
            Bound.COMPUTE,
            duration_s=4e-3,
            operations={"tensor_bf16": 200e9, "fp32": 1e9, "fp64": 0.0},
            dram_bytes=0.8e9,
            l2_bytes=3e9,
            l1_bytes=9e9,
        ),
        kernel(
            "resident", Bound.COMPUTE, duration_s=5e-4, operations={"fp32": 3e9}, dram_bytes=0.0
        ),
        kernel("copy", operations={"fp32": 0.0}),
        kernel("uncounted", operations={}),
        kernel(
            "unmetered",
            Bound.COMPUTE,
            duration_s=2e-4,
            operations={"fp32": 1e9},
            dram_bytes=None,
            units=(unit("fma", 104.0),),
        ),
        kernel("failed", Bound.UNKNOWN, duration_s=None, operations={}, dram_bytes=None, units=()),
    )


def crowd(seed: int, count: int = 30) -> Analysis:
    """``count`` kernels, half of them at nearly the same point."""
    dice = random.Random(seed)
    results = []
    for i in range(count):
        together = dice.random() < 0.5
        exponent = 6.0 + 0.02 * dice.random() if together else dice.uniform(4, 9)
        results.append(
            kernel(
                f"very_long_kernel_name_number_{i}",
                dice.choice(list(Bound)),
                index=i,
                duration_s=1e-3 if together else 10 ** dice.uniform(-6, -2),
                operations={"fp32": 10**exponent},
                dram_bytes=1e6 if together else 10 ** dice.uniform(3, 9),
            )
        )
    return analysis(*results)


def texts(figure: Figure) -> list[str]:
    """All that is written in a figure."""
    return [str(t.get_text()) for t in figure.findobj(Text) if t.get_text()]
