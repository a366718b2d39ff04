"""Time and memory of ``roofline select`` on large synthetic timelines.

    python benchmarks/timeline.py [--folder DIR] [--megabytes 500] [--kernels 1000000]

Writes a PyTorch-like trace and an Nsight-Systems-like export (both made up: 40 kernels in steps,
operators and launches around them, one all-reduce stream) and runs the whole command on each, in
a process of its own, several times: the fastest run counts. Peak memory is the resident set.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

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
        print(f"{'input':<34}{'seconds':>9}{'peak MB':>9}{'kernels':>11}")
        for title, path, words in (
            ("trace", trace, []),
            ("trace, --stream", trace, ["stream"]),
            ("export, no steps", export, []),
            ("export, steps by NVTX", export, ["step"]),
        ):
            size = path.stat().st_size / 1e6
            found = [run(path, words) for _ in range(given.repeats)]
            seconds, peak, kernels = min(found)
            print(f"{title:<34}{seconds:>9.2f}{peak:>9.0f}{kernels:>11,}  ({size:.0f} MB)")


def run(path: Path, words: list[str]) -> tuple[float, float, int]:
    """Seconds of the process from start to end, its peak memory in MB, kernels counted."""
    begin = time.perf_counter()
    argv = [sys.executable, __file__, "--measure", str(path), *words]
    done = run_quietly(argv, timeout_s=600, env=os.environ | {"PYTHONPATH": str(Path.cwd())})
    seconds = time.perf_counter() - begin
    if done is None or done.code != 0:
        sys.exit("failed" if done is None else done.stderr)
    found = json.loads(done.stdout)
    return seconds, found["peak_mb"], found["kernels"]


def measure(path: str, *words: str) -> None:
    """Run the command in this process and print what it took as JSON."""
    import io
    from contextlib import redirect_stdout

    from roofline.cli import cli

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


def write_trace(path: Path, size: int) -> None:
    """A Kineto trace of about ``size`` bytes."""
    with path.open("w") as file:
        file.write('{\n  "schemaVersion": 1,\n  "deviceProperties": [\n    ')
        file.write('{"id": 0, "name": "NVIDIA Toy", "computeMajor": 8, "computeMinor": 0}\n  ],\n')
        file.write('  "traceEvents": [\n')
        written, i = 0, 0
        while written < size:
            chunk = ",\n".join(_launch(i))
            file.write(chunk if i == 0 else f",\n{chunk}")
            written += len(chunk)
            i += 1
        file.write('\n  ],\n  "traceName": "toy.json",\n  "displayTimeUnit": "ms"\n}\n')


def _launch(i: int) -> Iterator[str]:
    """What one launch leaves: operators, calls, arrows, the kernel; now and then a step."""
    name, ts = NAMES[i * 7 % len(NAMES)], 1_000_000 + i * PERIOD_US
    stream = 20 if name.startswith("nccl") else 7
    if i % PER_STEP == 0:
        yield _event(
            "user_annotation",
            f"ProfilerStep#{i // PER_STEP}",
            9,
            9,
            ts,
            PER_STEP * PERIOD_US - 1,
            f'"External id": {i}, "Ev Idx": {i}',
        )
    for depth, operator in enumerate(("aten::linear", "aten::addmm", "aten::empty")):
        yield _event(
            "cpu_op",
            operator,
            9,
            9,
            ts + depth + 0.25,
            12 - 3 * depth,
            f'"External id": {i}, "Sequence number": {i}, "Fwd thread id": 0, '
            f'"Record function id": 0, "Ev Idx": {i}, '
            '"Input Dims": [[128, 1024], [1024, 1024], []], "Concrete Inputs": ["", ""], '
            '"Input type": ["float", "float", "Scalar"]',
        )
    for call, at in (("cudaGetLastError", 4), ("cudaLaunchKernel", 5)):
        correlation = i + 1 if call == "cudaLaunchKernel" else 0
        yield _event(
            "cuda_runtime",
            call,
            9,
            9,
            ts + at,
            2.125,
            f'"External id": {i}, "cbid": 211, "correlation": {correlation}',
        )
    yield (
        f'  {{\n    "ph": "s", "id": {i}, "pid": 9, "tid": 9, "ts": {ts + 5},\n'
        '    "cat": "ac2g", "name": "ac2g"\n  }'
    )
    yield _event(
        "kernel",
        name,
        0,
        stream,
        ts + 9.5,
        8.125,
        f'"External id": {i}, "queued": 0, "device": 0, "context": 1, '
        f'"stream": {stream}, "correlation": {i + 1}, "registers per thread": 32, '
        '"shared memory": 0, "blocks per SM": 1.5, "warps per SM": 12.0, '
        f'"grid": [{64 + i * 7 % len(NAMES)}, 1, 1], "block": [256, 1, 1], '
        '"est. achieved occupancy %": 19',
    )
    yield (
        f'  {{\n    "ph": "f", "id": {i}, "pid": 0, "tid": {stream}, "ts": {ts + 9.5},\n'
        '    "cat": "ac2g", "name": "ac2g", "bp": "e"\n  }'
    )


def _event(cat: str, name: str, pid: int, tid: int, ts: float, dur: float, args: str) -> str:
    return (
        f'  {{\n    "ph": "X", "cat": "{cat}", "name": "{name}", "pid": {pid}, "tid": {tid},\n'
        f'    "ts": {ts:.3f}, "dur": {dur:.3f},\n    "args": {{\n      {args}\n    }}\n  }}'
    )


# --- an export as nsys writes it ---------------------------------------------------------------

KERNEL_COLUMNS = (
    "start end deviceId contextId greenContextId streamId correlationId globalPid demangledName "
    "shortName mangledName launchType cacheConfig registersPerThread gridX gridY gridZ blockX "
    "blockY blockZ staticSharedMemory dynamicSharedMemory localMemoryPerThread localMemoryTotal "
    "gridId sharedMemoryExecuted graphNodeId sharedMemoryLimitConfig"
).split()


def write_export(path: Path, kernels: int) -> None:
    """An export of ``kernels`` launches, each with its call."""
    process, thread = 4711 << 24, 4711 << 24 | 4711
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE StringIds (id INTEGER, value TEXT)")
        texts = [
            (i, n)
            for i, n in enumerate(
                [*NAMES, *(f"_Z{i}" for i in range(40)), "cudaLaunchKernel_v7000"]
            )
        ]
        db.executemany("INSERT INTO StringIds VALUES (?, ?)", texts)
        columns = ", ".join(f"{c} INTEGER" for c in KERNEL_COLUMNS)
        db.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL ({columns})")
        marks = ",".join("?" * len(KERNEL_COLUMNS))
        db.executemany(
            f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({marks})",
            (
                (
                    t + 9000,
                    t + 17000,
                    0,
                    1,
                    None,
                    7,
                    i + 1,
                    process,
                    k,
                    k,
                    k + 40,
                    1,
                    0,
                    32,
                    64 + k,
                    1,
                    1,
                    256,
                    1,
                    1,
                    0,
                    0,
                    0,
                    0,
                    i,
                    0,
                    None,
                    0,
                )
                for i, k, t in ((i, i * 7 % 40, 10**9 + i * 20_000) for i in range(kernels))
            ),
        )
        db.execute(
            "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, "
            "eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER, "
            "returnValue INTEGER, callchainId INTEGER)"
        )
        db.executemany(
            "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, 80, 0, NULL)",
            (
                (t + 5000, t + 7000, thread, i + 1)
                for i, t in ((i, 10**9 + i * 20_000) for i in range(kernels))
            ),
        )
        db.execute(
            "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, "
            "text TEXT, globalTid INTEGER, textId INTEGER, domainId INTEGER)"
        )
        db.executemany(
            "INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, ?, ?, NULL, 0)",
            (
                (
                    10**9 + i * 20_000,
                    10**9 + (i + PER_STEP) * 20_000 - 100,
                    f"step {i // PER_STEP}",
                    thread,
                )
                for i in range(0, kernels, PER_STEP)
            ),
        )
    db.close()


if __name__ == "__main__":
    main()
