"""``roofline.bench``: the time of a function on the GPU, by CUDA events."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from roofline.arguments import checked, whole
from roofline.display import short
from roofline.errors import UsageError
from roofline.specs.measure import WARM_UP, open_torch, timed
from roofline.wall_time import TimeSummary, ancestors, instrumentation, summarize

_UNKNOWN_L2 = 128 * 2**20  # more than any GPU has


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class GpuTimes:
    """What the calls of a function took on the GPU: ``call_s.median``, ``.p95``, ``.p99``.

    ``flushed_bytes`` were written before each call, so that L2 held nothing of the call before.
    ``instrumented`` names what measured inside, which spoils the times.
    """

    gpu: str
    made_with: str
    warmup: int
    flushed_bytes: int
    call_s: TimeSummary
    instrumented: tuple[str, ...] = ()

    def __repr__(self) -> str:
        s = self.call_s
        told = {"len(call_s.values)": len(s.values), "call_s.median": s.median, "call_s.p99": s.p99}
        return short(self, gpu=self.gpu, **told)


@checked
def bench(
    function: Callable[[], object],
    *,
    warmup: int = WARM_UP,
    repeats: int = 50,
    flush_l2: bool = True,
) -> GpuTimes:
    """Time ``function`` on the GPU that PyTorch or CuPy uses now, with CUDA events on its stream.

    A call that launches little takes as long as the launches: events see gaps between kernels.

    Args:
        function: what launches the work; what it returns is dropped.
        warmup: calls before those that count.
        repeats: calls that count, each with events of its own.
        flush_l2: write over the L2 cache before each call.

    Raises:
        UsageError: neither library is there with a GPU.
        ArgumentError: a number is out of range.

    """
    whole(0, warmup=warmup)
    whole(1, repeats=repeats)
    use = _cupy if "cupy" in sys.modules and "torch" not in sys.modules else _torch
    gpu, made_with, l2_bytes, event, allocate = use()
    flushed = 2 * (l2_bytes or _UNKNOWN_L2) if flush_l2 else 0
    flush = allocate(flushed) if flushed else None
    times = timed(event, function, warmup=warmup, repeats=repeats, before=flush)
    return GpuTimes(
        gpu=gpu,
        made_with=made_with,
        warmup=warmup,
        flushed_bytes=flushed,
        call_s=summarize(times),
        instrumented=instrumentation(os.environ, tuple(ancestors())),
    )


# The GPU's name, versions, bytes of L2, what makes an event, and what gives a flush of so many.
_Tools = tuple[str, str, "int | None", Callable[[], Any], Callable[[int], Callable[[], object]]]


def _torch() -> _Tools:
    torch, device, made_with = open_torch(None, what="roofline.bench")

    def allocate(size: int) -> Callable[[], object]:
        return torch.empty(size, dtype=torch.int8, device="cuda").zero_  # type: ignore[no-any-return]

    event = lambda: torch.cuda.Event(enable_timing=True)  # noqa: E731
    return device.name or "unknown GPU", made_with, device.l2_bytes, event, allocate


def _cupy() -> _Tools:
    cupy = sys.modules["cupy"]
    try:
        properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
    except Exception as error:  # its own kind, which has no name without a GPU
        raise UsageError(
            "roofline.bench needs a GPU that CuPy can use", why=str(error), hint="nvidia-smi"
        ) from error

    class CupyEvent:
        def __init__(self) -> None:
            self.event = cupy.cuda.Event()
            self.record, self.synchronize = self.event.record, self.event.synchronize

        def elapsed_time(self, end: CupyEvent) -> float:
            return float(cupy.cuda.get_elapsed_time(self.event, end.event))

    def allocate(size: int) -> Callable[[], object]:
        buffer = cupy.empty(size, dtype="int8")
        return lambda: buffer.fill(0)

    name, l2_bytes = properties["name"].decode(), properties.get("l2CacheSize")
    return name, f"CuPy {cupy.__version__}", l2_bytes, CupyEvent, allocate
