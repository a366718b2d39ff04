"""Why a Chrome trace cannot be used, and what to record instead."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from roofline.errors import InputError

if TYPE_CHECKING:
    from roofline.timeline.chrome_scan import Scan

_RECORD_CUDA = (
    "profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], ...) around a few steps"
)
_CALLS_ONLY = (
    "CUDA calls were recorded but no GPU activity: another profiler (nsys, ncu, DCGM) held CUPTI, "
    "or the records fell outside of the recorded window"
)


def refuse_amd(path: Path, metadata: Mapping[str, Any], *, hip: bool) -> None:
    """Raise ``InputError`` for a trace of an AMD GPU."""
    devices = metadata.get("deviceProperties")
    named = any(
        isinstance(d, dict) and "AMD" in str(d.get("name", ""))
        for d in (devices if isinstance(devices, list) else [])
    )
    if named or hip or any(k.startswith(("hip_", "roctracer")) for k in metadata):
        raise InputError(
            f"{path.name} cannot be used",
            why="it was recorded on an AMD GPU, and Nsight Compute profiles NVIDIA GPUs only",
            hint="rocprof-compute for AMD GPUs",
        )


def refuse_empty(path: Path, scan: Scan, seen: Mapping[str, int]) -> NoReturn:
    """Raise ``InputError`` for a trace without kernels, with the likeliest reason."""
    why, hint = _reason(scan, seen)
    raise InputError(f"{path.name} holds no kernels", why=why, hint=hint)


def _reason(scan: Scan, seen: Mapping[str, int]) -> tuple[str, str]:
    if not scan.found:
        return (
            "it is JSON without a list of trace events",
            "a PyTorch or JAX trace (*.json, *.json.gz) or an nsys export",
        )
    if scan.truncated:
        return "the file ends before the first one", "copy the trace again, or record a new one"
    if seen.get("cuda_profiler_range"):
        return (
            "it was recorded with CUPTI range profiling (counters), which leaves no kernel times",
            f"{_RECORD_CUDA}, without the CUPTI profiler's metrics",
        )
    if any(seen.get(c) for c in ("cuda_runtime", "cuda_driver", "Runtime")):
        return _CALLS_ONLY, f"{_RECORD_CUDA}, with no other profiler attached"
    return "only the CPU was recorded", _RECORD_CUDA
