"""Write the sample timeline again: ``python -m sample_reports.timeline [FOLDER]``.

Computed, not captured: six steps of the program whose kernels are in ``h100_mix.ncu-rep``, as
PyTorch's profiler would write them, at clocks a fifth above the profiler's. A gradient all-reduce
overlaps the second half of each step. The host launches ahead and waits for the GPU twice a step,
after the first of which it is late. The first step warms up, the last holds the profiler's end.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sample_reports.chips import CHIPS
from sample_reports.generate import samples
from sample_reports.model import Kernel, timing

FILE = "h100_step.trace.json.gz"
ORIGIN = "computed by roofline sample_reports/timeline.py, not captured"
FASTER = 1.2  # than under the profiler, which holds the clocks down
STEPS, LAYERS = 6, 4
PROCESS, COMPUTE, COPY, NCCL = 4242, 7, 13, 20
LATE_US, WARMUP_US, STOP_US, LAUNCH_US = 900.0, 5000.0, 2500.0, 8.0

Event = dict[str, Any]


def events() -> Iterator[Event]:
    """All events of the trace, times in us."""
    sample = samples()["h100_mix"]
    chip = CHIPS[sample.chip]
    pieces = [(k, timing(chip, k).ns / FASTER / 1e3) for k in sample.kernels]
    *layer, last = pieces
    now, number = 1000.0, 0
    for step in range(STEPS):
        begin = now
        now += 40 + (WARMUP_US if step == 0 else 0)
        number += 1
        yield _host("cuda_runtime", "cudaMemcpyAsync", now - 30, 5, number)
        yield _gpu("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", now, 60, COPY, number)
        asked = now - 4
        for place, (kernel, lasts) in enumerate(layer * LAYERS + [last]):
            if place == len(layer) * LAYERS // 2:
                yield _host("cpu_op", "aten::item", asked, now + LATE_US - asked)
                yield _host("cuda_runtime", "cudaStreamSynchronize", asked, now + 2 - asked)
                now += LATE_US
                asked = now - 4
                number += 1
                yield _host("cuda_runtime", "cudaLaunchKernelExC", now - 8, 3, number)
                yield _reduce(now + 100, number)
            number += 1
            yield _host("cuda_runtime", "cudaLaunchKernel", asked, 3, number)
            asked += LAUNCH_US
            yield _kernel(kernel, now, lasts, number)
            now += lasts + 1.5
        yield _host("cuda_runtime", "cudaStreamSynchronize", asked, now - asked)
        now += STOP_US if step == STEPS - 1 else 0
        yield _host("user_annotation", f"ProfilerStep#{step + 10}", begin, now - begin)
        now += 5


def _kernel(kernel: Kernel, start: float, lasts: float, number: int) -> Event:
    event = _gpu("kernel", kernel.demangled, start, lasts, COMPUTE, number)
    event["args"] |= {"grid": list(kernel.grid), "block": list(kernel.block)}
    return event


def _reduce(start: float, number: int) -> Event:
    name = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
    event = _gpu("kernel", name, start, 9000, NCCL, number)
    event["args"] |= {"grid": [24, 1, 1], "block": [544, 1, 1]}
    return event


def _gpu(cat: str, name: str, start: float, lasts: float, stream: int, number: int) -> Event:
    args = {"device": 0, "context": 1, "stream": stream, "correlation": number}
    return _event(cat, name, start, lasts, 0, stream, args)


def _host(cat: str, name: str, start: float, lasts: float, number: int = 0) -> Event:
    args = {"correlation": number} if number else {}
    return _event(cat, name, start, lasts, PROCESS, PROCESS, args)


def _event(
    cat: str, name: str, start: float, lasts: float, pid: int, tid: int, args: dict[str, Any]
) -> Event:
    timed = {"ts": round(start, 3), "dur": round(lasts, 3)}
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, **timed, "args": args}


def content() -> bytes:
    """The compressed file, the same bytes each time."""
    device = {"id": 0, "name": "NVIDIA H100 80GB HBM3", "computeMajor": 9, "computeMinor": 0}
    head = {"schemaVersion": 1, "origin": ORIGIN, "deviceProperties": [device | {"numSms": 132}]}
    text = json.dumps(head | {"traceEvents": list(events())}, separators=(",", ":"))
    return gzip.compress(text.encode(), mtime=0)


def main(folder: Path) -> None:
    """Write the timeline into ``folder``."""
    path = folder / FILE
    path.write_bytes(content())
    print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
