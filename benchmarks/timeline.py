"""Time and memory of ``roofline select`` on large synthetic timelines.

    python benchmarks/timeline.py [--folder DIR] [--megabytes 500] [--kernels 1000000]

Writes a PyTorch-like trace and an Nsight-Systems-like export (both made up: 40 kernels in steps,
operators and launches around them, one all-reduce stream) and runs the whole command on each, in
a process of its own, several times: the fastest run counts. Peak memory is the resident set.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import resource
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, redirect_stdout
from pathlib import Path
from typing import Any

from roofline.cli import cli
from roofline.process import run_quietly

NAMES = [
    f"void library::detail::kernel_{i}<{i}, Functor<float>, std::array<char*, {i % 3 + 1}ul> >"
    f"(int, Functor<float>, std::array<char*, {i % 3 + 1}ul>)"
    for i in range(39)
] + ["ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"]
PER_STEP = 4000
PERIOD_US = 20


def main() -> None:
    """Generate, measure, print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="keep the files here and use those there")
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--kernels", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3, help="the fastest of so many counts")
    parser.add_argument(
        "--hta", type=Path, help="the Python that has HolisticTraceAnalysis, to run it beside"
    )
    parser.add_argument("--measure", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        measure(*given.measure)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(exist_ok=True)
        trace, export = folder / "trace.json", folder / "export.sqlite"
        if not trace.exists():
            write_trace(trace, given.megabytes * 10**6)
        if not export.exists():
            write_export(export, given.kernels)
        print(f"Python {sys.version.split()[0]}, {os.cpu_count()} CPUs")
        print(f"{'input':<34}{'seconds':>9}{'CPU s':>9}{'peak MB':>9}{'kernels':>11}")
        ours = [sys.executable, __file__, "--measure"]
        runs: list[tuple[str, Path, list[str]]] = [
            ("trace", trace, [*ours, str(trace)]),
            ("trace, --stream", trace, [*ours, str(trace), "stream"]),
            ("export, no steps", export, [*ours, str(export)]),
            ("export, steps by NVTX", export, [*ours, str(export), "step"]),
        ]
        if given.hta:
            theirs = [str(given.hta), "-c", HTA, str(trace)]
            runs.insert(1, ("trace, HolisticTraceAnalysis", trace, theirs))
        for title, path, argv in runs:
            size = path.stat().st_size / 1e6
            seconds, cpu, peak, kernels = min(run(argv) for _ in range(given.repeats))
            figures = f"{seconds:>9.2f}{cpu:>9.2f}{peak:>9.0f}{kernels:>11,}"
            print(f"{title:<34}{figures}  ({size:.0f} MB)", flush=True)


# What the same trace takes there: read it, and break the GPU's time down.
HTA = """
import json, resource, sys
from hta.trace_analysis import TraceAnalysis
trace = TraceAnalysis(trace_files={0: sys.argv[1]})
trace.get_temporal_breakdown(visualize=False)
events = trace.t.get_trace(0)
kernels = int((events["stream"] >= 0).sum())
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
print(json.dumps({"peak_mb": peak, "kernels": kernels}))
"""


def run(argv: list[str]) -> tuple[float, float, float, int]:
    """Seconds of the process from start to end, of its CPU; its peak in MB, kernels counted."""
    begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = run_quietly(argv, timeout_s=1800, env=os.environ | {"PYTHONPATH": str(Path.cwd())})
    seconds, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done is None or done.code != 0:
        sys.exit("failed" if done is None else done.stderr)
    found = json.loads(done.stdout.splitlines()[-1])
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, cpu, found["peak_mb"], found["kernels"]


def measure(path: str, *words: str) -> None:
    """Run the command in this process and print what it took as JSON."""
    options = ["--stream"] if "stream" in words else []
    options += ["--step", "^step"] if "step" in words else []
    out = io.StringIO()
    with redirect_stdout(out):
        argv = ["select", path, "--keep", "all", "--format", "json", *options]
        cli.main(argv, standalone_mode=False)
    device = json.loads(out.getvalue())["devices"][0]
    kernels = sum(k["instances"] for k in (*device["kernels"], *device["apart"]))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    print(json.dumps({"peak_mb": peak, "kernels": kernels}))


# --- a trace as PyTorch's profiler writes it ---------------------------------------------------

HEAD = """{
  "schemaVersion": 1,
  "deviceProperties": [
    {"id": 0, "name": "NVIDIA Toy", "computeMajor": 8, "computeMinor": 0}
  ],
  "traceEvents": [
"""
END = """
  ],
  "traceName": "toy.json",
  "displayTimeUnit": "ms"
}
"""
STEP = '"External id": %(i)d, "Ev Idx": %(i)d'
OPERATOR = (
    '"External id": %(i)d, "Sequence number": %(i)d, "Fwd thread id": 0, "Record function id": 0, '
    '"Ev Idx": %(i)d, "Input Dims": [[128, 1024], [1024, 1024], []], "Concrete Inputs": ["", ""], '
    '"Input type": ["float", "float", "Scalar"]'
)
CALL = '"External id": %(i)d, "cbid": 211, "correlation": %(correlation)d'
KERNEL = (
    '"External id": %(i)d, "queued": 0, "device": 0, "context": 1, "stream": %(stream)d, '
    '"correlation": %(correlation)d, "registers per thread": 32, "shared memory": 0, '
    '"blocks per SM": 1.5, "warps per SM": 12.0, "grid": [%(grid)d, 1, 1], "block": [256, 1, 1], '
    '"est. achieved occupancy %%": 19'
)


def write_trace(path: Path, size: int) -> None:
    """A Kineto trace of about ``size`` bytes."""
    with path.open("w") as file:
        file.write(HEAD)
        written, i = 0, 0
        while written < size:
            chunk = ",\n".join(_launch(i))
            file.write(chunk if i == 0 else f",\n{chunk}")
            written += len(chunk)
            i += 1
        file.write(END)


def _launch(i: int) -> Iterator[str]:
    """What one launch leaves: operators, calls, arrows, the kernel; now and then a step."""
    name, ts = NAMES[i * 7 % len(NAMES)], 1_000_000 + i * PERIOD_US
    stream = 20 if name.startswith("nccl") else 7
    host, gpu = (9, 9), (0, stream)
    if i % PER_STEP == 0:
        step, lasted = f"ProfilerStep#{i // PER_STEP}", PER_STEP * PERIOD_US - 1
        yield _event("user_annotation", step, host, ts, lasted, STEP % {"i": i})
    for depth, operator in enumerate(("aten::linear", "aten::addmm", "aten::empty")):
        at, lasted = ts + depth + 0.25, 12 - 3 * depth
        yield _event("cpu_op", operator, host, at, lasted, OPERATOR % {"i": i})
    for call, at, number in (("cudaGetLastError", 4, 0), ("cudaLaunchKernel", 5, i + 1)):
        args = CALL % {"i": i, "correlation": number}
        yield _event("cuda_runtime", call, host, ts + at, 2.125, args)
    yield _arrow("s", i, host, ts + 5)
    grid = 64 + i * 7 % len(NAMES)
    args = KERNEL % {"i": i, "stream": stream, "correlation": i + 1, "grid": grid}
    yield _event("kernel", name, gpu, ts + 9.5, 8.125, args)
    yield _arrow("f", i, gpu, ts + 9.5)


def _event(cat: str, name: str, at: tuple[int, int], ts: float, dur: float, args: str) -> str:
    return (
        f'  {{\n    "ph": "X", "cat": "{cat}", "name": "{name}", "pid": {at[0]}, "tid": {at[1]},\n'
        f'    "ts": {ts:.3f}, "dur": {dur:.3f},\n    "args": {{\n      {args}\n    }}\n  }}'
    )


def _arrow(end: str, i: int, at: tuple[int, int], ts: float) -> str:
    more = ', "bp": "e"' if end == "f" else ""
    return (
        f'  {{\n    "ph": "{end}", "id": {i}, "pid": {at[0]}, "tid": {at[1]}, "ts": {ts},\n'
        f'    "cat": "ac2g", "name": "ac2g"{more}\n  }}'
    )


# --- an export as nsys writes it ---------------------------------------------------------------

TABLES = {
    "StringIds": "id value",
    "CUPTI_ACTIVITY_KIND_KERNEL": "start end deviceId contextId greenContextId streamId "
    "correlationId globalPid demangledName shortName mangledName launchType cacheConfig "
    "registersPerThread gridX gridY gridZ blockX blockY blockZ staticSharedMemory "
    "dynamicSharedMemory localMemoryPerThread localMemoryTotal gridId sharedMemoryExecuted "
    "graphNodeId sharedMemoryLimitConfig",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start end eventClass globalTid correlationId nameId "
    "returnValue callchainId",
    "NVTX_EVENTS": "start end eventType text globalTid textId domainId",
}
TEXTS = ("value", "text")


def write_export(path: Path, kernels: int) -> None:
    """An export of ``kernels`` launches, each with its call."""
    pid, thread, period = 4711 << 24, 4711 << 24 | 4711, PERIOD_US * 1000
    texts = [*NAMES, *(f"_Z{i}" for i in range(40)), "cudaLaunchKernel_v7000"]
    launches = [(i, i * 7 % 40, 10**9 + i * period) for i in range(kernels)]
    where, how, end = (0, 1, None, 7), (1, 0, 32), (0, None, 0)
    sizes = (1, 1, 256, 1, 1, 0, 0, 0, 0)  # of the rest of the grid, the block, and memory
    rows: dict[str, Iterable[tuple[Any, ...]]] = {
        "StringIds": enumerate(texts),
        "CUPTI_ACTIVITY_KIND_KERNEL": (
            (t + 9000, t + 17000, *where, i + 1, pid, k, k, k + 40, *how, 64 + k, *sizes, i, *end)
            for i, k, t in launches
        ),
        "CUPTI_ACTIVITY_KIND_RUNTIME": (
            (t + 5000, t + 7000, 0, thread, i + 1, 80, 0, None) for i, _, t in launches
        ),
        "NVTX_EVENTS": (
            (t, t + PER_STEP * period - 100, 59, f"step {i // PER_STEP}", thread, None, 0)
            for i, _, t in launches[::PER_STEP]
        ),
    }
    with closing(sqlite3.connect(path)) as db, db:
        for table, columns in TABLES.items():
            names = columns.split()
            types = (f"{name} {'TEXT' if name in TEXTS else 'INTEGER'}" for name in names)
            db.execute(f"CREATE TABLE {table} ({', '.join(types)})")
            marks = ",".join("?" * len(names))
            db.executemany(f"INSERT INTO {table} VALUES ({marks})", rows[table])


if __name__ == "__main__":
    main()
