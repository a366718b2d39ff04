"""Small real reports for tests of the command line."""

from __future__ import annotations

from pathlib import Path

from sample_reports.writer import Launch, write

_PERCENT = ".avg.pct_of_peak_sustained_elapsed"


def kernel(name: str, *, ns: float, dram: float = 90.0, issue: float = 20.0) -> Launch:
    """A launch of ``ns`` nanoseconds with its DRAM and issue slots this busy."""
    return Launch(
        name=name,
        demangled=f"void {name}<float>(float *)",
        grid=(1000, 1, 1),
        block=(256, 1, 1),
        metrics={
            "device__attribute_display_name": "NVIDIA Toy",
            "gpu__time_duration.sum": ns,
            f"gpu__compute_memory_throughput{_PERCENT}": dram,
            f"sm__throughput{_PERCENT}": issue,
            f"dram__throughput{_PERCENT}": dram,
            f"lts__t_sectors{_PERCENT}": dram / 2,
            f"sm__inst_executed{_PERCENT}": issue,
            "launch__waves_per_multiprocessor": 10.0,
        },
    )


def report(path: Path, *launches: Launch) -> Path:
    """Write ``launches`` (or two kernels, 3 and 1 ms) to ``path``."""
    write(path, list(launches) or [kernel("axpy", ns=1e6), kernel("sgemm", ns=3e6, issue=95.0)])
    return path
