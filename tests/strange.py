"""Makers of reports that are hard to read: broken ones, and whole ones with odd content.

``BROKEN`` and ``WHOLE`` are tables, so that a test can run over all of them; ``write`` puts one
into a folder.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from roofline.files import opened
from roofline.reports.container import Summary, compressed, summarize
from roofline.reports.fields import Workload
from sample_reports.writer import Capture, Launch, Process, Scalar, encode

NAN = math.nan
# What identifies an A100 to a reader: without the implementation there are no units.
A100: dict[str, Scalar] = {
    "device__attribute_display_name": "NVIDIA A100-SXM4-80GB",
    "device__attribute_architecture": 0x170,
    "device__attribute_implementation": 0x170,
    "device__attribute_chip": 0x170,
    "device__attribute_compute_capability_major": 8,
    "device__attribute_compute_capability_minor": 0,
    "device__attribute_device_index": 0,
    "device__attribute_multiprocessor_count": 108,
    "device__attribute_max_gpu_frequency_khz": 1_410_000,
    "device__attribute_max_mem_frequency_khz": 1_593_000,
    "device__attribute_global_memory_bus_width": 5120,
    "device__attribute_fb_bus_width": 5120,
}
# 1 ms; 1 GB read and 0.5 GB written is 1.5 TB/s, 74 % of 2.039 TB/s.
VALUES: dict[str, Scalar] = {
    "gpu__time_duration.sum": 1e6,
    "dram__bytes_read.sum": 1e9,
    "dram__bytes_write.sum": 0.5e9,
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": 74.0,
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": 74.0,
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": 20.0,
    "sm__cycles_elapsed.avg.per_second": 1.41e9,
    "dram__cycles_elapsed.avg.per_second": 1.593e9,
    "launch__waves_per_multiprocessor": 8.0,
}
CAPTURE = Capture(
    comment="written by tests/strange.py",
    versions={"Nsight Compute Target": "2024.1.1.0 (build 1) (public-release)"},
    settings={"clock_control": "Base", "replay_mode": "Kernel"},
    created_s=1_700_000_000,
)


def launch(name: str = "kernel", **values: Any) -> Launch:
    """A healthy launch; ``metrics`` replace values, one that is ``None`` is left out."""
    changes: dict[str, Any] = values.pop("metrics", {})
    metrics = {k: v for k, v in (A100 | VALUES | changes).items() if v is not None}
    given: dict[str, Any] = {
        "name": name,
        "demangled": f"void {name}(float *, int)",
        "mangled": f"_Z{len(name)}{name}Pfi",
        "grid": (864, 1, 1),
        "block": (256, 1, 1),
        "metrics": metrics,
    }
    return Launch(**(given | values))


def report(*launches: Launch, capture: Capture = CAPTURE) -> bytes:
    """The bytes of a report with these launches."""
    return b"".join(encode(launches, capture))


def packed(data: bytes) -> bytes:
    """A report's bytes as those of a ``.ncu-repz``."""
    return b"".join(compressed([data]))


def summary(path: Path) -> Summary:
    """What the container of a report says."""
    with opened(path) as file:
        return summarize(file, path)


def actions(path: Path) -> list[Any]:
    """The results of a report as ncu_report, NVIDIA's own reader, gives them."""
    import ncu_report

    return [action for part in ncu_report.load_report(str(path)) for action in part]


@cache
def _readers() -> dict[int, Callable[..., Any]]:
    from ncu_report import IMetric

    numbers, texts = {"UINT32": "as_uint64", "UINT64": "as_uint64"}, {"STRING": "as_string"}
    numbers |= {"FLOAT": "as_double", "DOUBLE": "as_double"}
    known = (numbers | texts).items()
    return {getattr(IMetric, f"ValueKind_{kind}"): getattr(IMetric, name) for kind, name in known}


def value(metric: Any, *at: int) -> Any:
    """What ncu_report's own ``value`` gives of a metric or an instance, without its detours."""
    read = _readers().get(metric.kind(*at))
    return None if read is None else read(metric, *at)


def values(metric: Any) -> list[Any]:
    """The value of each instance, all of the kind of the first."""
    count = metric.num_instances()
    read = _readers().get(metric.kind(0)) if count else None
    return [None if read is None else read(metric, at) for at in range(count)]


def _healthy() -> bytes:
    return report(launch("first"), launch("second"))


def _cut_in_the_last_result() -> bytes:
    return _healthy()[:-100]


def _cut_between_blocks() -> bytes:
    """Whole blocks, yet the last one is gone: nothing in the format can tell."""
    return _healthy()[: len(report(launch("first")))]


@dataclass(frozen=True)
class Broken:
    """Bytes under a name, and the code of the problem that ``summarize`` must find."""

    make: Callable[[], bytes]
    code: str
    name: str = "broken.ncu-rep"


BROKEN: dict[str, Broken] = {
    "empty": Broken(lambda: b"", "empty"),
    "garbage": Broken(lambda: bytes(range(1, 256)) * 40, "magic"),
    "text": Broken(lambda: b"==PROF== Connected to process 1\n", "magic"),
    "lfs pointer": Broken(lambda: b"version https://git-lfs.github.com/spec/v1\n", "magic"),
    "sqlite": Broken(lambda: b"SQLite format 3\0" + bytes(100), "magic"),
    "wrong magic": Broken(lambda: b"NVX\0" + _healthy()[4:], "magic"),
    "only the magic": Broken(lambda: _healthy()[:4], "cut"),
    "only the file header": Broken(lambda: _healthy()[:10], "no results"),
    "cut by one byte": Broken(lambda: _healthy()[:-1], "cut"),
    "cut in the last result": Broken(_cut_in_the_last_result, "cut"),
    "cut in the middle": Broken(lambda: _healthy()[: len(_healthy()) // 2], "cut"),
    "junk appended": Broken(lambda: _healthy() + b"\x05\0\0\0\xff\xff\xff\xff\xff", "junk"),
    "zeros appended": Broken(lambda: _healthy() + bytes(4096), "junk"),
    "zeros appended, compressed": Broken(
        lambda: packed(_healthy() + bytes(4096)), "junk", "zeros.ncu-repz"
    ),
    "a block that holds nothing": Broken(lambda: _healthy() + b"\x02\0\0\0\x28\0", "junk"),
    "more entries than bytes": Broken(
        lambda: _healthy() + b"\x08\0\0\0\x10\xff\xff\xff\xff\x0f\x28\0", "junk"
    ),
    "text appended": Broken(lambda: _healthy() + b"and some text", "cut"),
    "a report appended": Broken(lambda: _healthy() * 2, "junk"),
    "a report appended, compressed": Broken(lambda: packed(_healthy() * 2), "junk", "2.ncu-repz"),
    "no kernels": Broken(lambda: report(), "no results"),
    "compressed, named plain": Broken(lambda: packed(_healthy()), "renamed"),
    "plain, named compressed": Broken(_healthy, "renamed", "broken.ncu-repz"),
    "compressed and cut": Broken(lambda: packed(_healthy())[:-1], "cut", "broken.ncu-repz"),
    "compressed, then junk": Broken(lambda: packed(_healthy()) + b"junk", "junk", "b.ncu-repz"),
}

OTHER_GPU: dict[str, Scalar] = {
    "device__attribute_display_name": "NVIDIA H100 80GB HBM3",
    "device__attribute_architecture": 0x180,
    "device__attribute_implementation": 0x180,
    "device__attribute_chip": 0x180,
    "device__attribute_compute_capability_major": 9,
    "device__attribute_device_index": 1,
    "device__attribute_multiprocessor_count": 132,
}
_NOTHING_MEASURED = dict.fromkeys(VALUES)

# Whole files: what is in them, launch by launch.
WHOLE: dict[str, tuple[Launch, ...]] = {
    "two launches": (launch("first"), launch("second")),
    "no metrics at all": (replace(launch(), metrics={}),),
    "no measured metrics": (launch(metrics=_NOTHING_MEASURED),),
    "duration NaN": (launch(metrics=dict.fromkeys(VALUES, NAN)), launch()),
    "duration zero": (launch(metrics={"gpu__time_duration.sum": 0.0}),),
    "duration only": (launch(metrics=_NOTHING_MEASURED | {"gpu__time_duration.sum": 1e6}),),
    "infinite": (launch(metrics={"dram__bytes_read.sum": math.inf}),),
    "above 100 %": (
        launch(metrics={"sm__throughput.avg.pct_of_peak_sustained_elapsed": 104.5}),
        launch(metrics={"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": 131.0}),
    ),
    "negative": (launch(metrics={"dram__bytes_read.sum": -32.0}),),
    "no DRAM traffic": (
        launch(metrics={"dram__bytes_read.sum": 0.0, "dram__bytes_write.sum": 0.0}),
    ),
    "no chip, so no units": (launch(metrics={"device__attribute_implementation": None}),),
    "unknown chip": (launch(metrics={"device__attribute_implementation": 0x7F0}),),
    "string where a number belongs": (launch(metrics={"gpu__time_duration.sum": "n/a"}),),
    "range": (launch("range", workload=Workload.RANGE),),
    "graph": (launch("graph", workload=Workload.GRAPH),),
    "command list": (launch("cmdlist", workload=Workload.CMDLIST),),
    "all kinds": (
        launch("kernel"),
        launch("range", workload=Workload.RANGE),
        launch("graph", workload=Workload.GRAPH),
        launch("kernel"),
    ),
    "two processes": (
        launch("mine", process=Process(id=11, name="rank0")),
        launch("yours", process=Process(id=12, name="rank1")),
        launch("mine", process=Process(id=11, name="rank0")),
    ),
    "two GPUs": (launch("here"), launch("there", metrics=OTHER_GPU)),
    "nested NVTX": (launch("inside", nvtx=("step 3", "backward")), launch("outside")),
    "name without letters": (launch(" ", demangled=" "),),
    "name of 20,000 letters": (launch("k", demangled="void k<" + "T, " * 6664 + ">()"),),
    "name with markup": (launch("k", demangled="void k<[red]a|b](int)<script>\n\x1b[31m`"),),
    "name not in ASCII": (launch("カーネル", demangled="カーネル(int)"),),
    "largest grid": (launch(grid=(2**31 - 1, 65535, 65535), block=(1024, 1, 1)),),
}
NEWER = replace(CAPTURE, version=99)


def write(folder: Path, name: str) -> Path:
    """Write the strange file of that name and give its path."""
    if name in BROKEN:
        path = folder / BROKEN[name].name
        path.write_bytes(BROKEN[name].make())
    else:
        path = folder / f"{name.replace(' ', '_').replace('%', 'percent')}.ncu-rep"
        path.write_bytes(report(*WHOLE[name]))
    return path


def many(path: Path, count: int) -> Path:
    """Write ``count`` launches of ten kernels, without holding them."""
    kernels = [launch(f"kernel{i}", metrics={"gpu__time_duration.sum": 1e6 + i}) for i in range(10)]
    with path.open("wb") as file:
        file.writelines(encode((kernels[i % 10] for i in range(count)), CAPTURE))
    return path
