"""Which microbenchmarks a device gets, how large, and what one run of each amounts to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from roofline.errors import UsageError
from roofline.model import Device
from roofline.specs.spec import Spec

# Torch's name of the type -> operation key, and the capability from which cuBLAS has it.
GEMMS = (
    ("float32", "fp32", (0, 0)),
    ("float64", "fp64", (0, 0)),
    ("tf32", "tensor_tf32", (8, 0)),
    ("float16", "tensor_fp16", (7, 0)),
    ("bfloat16", "tensor_bf16", (8, 0)),
    ("float8_e4m3fn", "tensor_fp8", (8, 9)),
    ("int8", "tensor_int8", (7, 5)),
)
# Where DGEMM runs on tensor cores.
FP64_TENSOR = {"8.0", "9.0", "10.0"}
GEMM_SECONDS = 0.02  # about how long one run should take at the datasheet's rate
SMALLEST, LARGEST = 1024, 16384
WHOLE_DRAM = 4 * 2**30
CACHE_RUNS = 64  # one pass over a cache takes microseconds: many to a timed run


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One microbenchmark.

    ``kind`` is "copy", "read", "write" or "gemm". ``size`` is bytes of an array, or rows of the
    square matrices; ``passes`` of it make one timed run, which moves or computes ``amount`` bytes
    or operations.
    """

    quantity: str
    kind: str
    dtype: str
    size: int
    passes: int
    amount: float


def plan(device: Device, spec: Spec | None) -> tuple[Plan, ...]:
    """The microbenchmarks that make sense on a device; ``spec`` sizes and names them better."""
    return (*_memory(device), *_gemms(device, spec))


def choose(plans: Sequence[Plan], only: Sequence[str]) -> tuple[Plan, ...]:
    """The plans that ``only`` names, all where it is empty.

    Raises:
        UsageError: a name is none of theirs.

    """
    names = [p.quantity for p in plans]
    for name in only:
        if name not in names:
            raise UsageError(f"this GPU has no ceiling {name!r}", hint=f"one of {', '.join(names)}")
    return tuple(p for p in plans if not only or p.quantity in only)


def _memory(device: Device) -> Iterator[Plan]:
    whole = WHOLE_DRAM if device.memory_bytes is None else min(WHOLE_DRAM, device.memory_bytes // 8)
    # Far more than the cache holds, or the cache would be measured.
    size = _rounded(max(whole, 4 * (device.l2_bytes or 0)))
    for kind, moved in (("copy", 2), ("read", 1), ("write", 1)):
        yield _pass(f"dram_{kind}", kind, size, 1, moved)
    if device.l2_bytes:
        # Source and destination together fill half of the cache: none of it is evicted.
        small = _rounded(device.l2_bytes // 4)
        for kind, moved in (("copy", 2), ("write", 1)):
            yield _pass(f"l2_{kind}", kind, small, CACHE_RUNS, moved)


def _pass(quantity: str, kind: str, size: int, passes: int, moved: int) -> Plan:
    return Plan(
        quantity=quantity,
        kind=kind,
        dtype="float32",
        size=size,
        passes=passes,
        amount=float(moved * size * passes),
    )


def _gemms(device: Device, spec: Spec | None) -> Iterator[Plan]:
    capability = tuple(int(part) for part in (device.compute_capability or "0.0").split("."))
    rates = None if spec is None else spec.peaks().operations_per_s
    for dtype, usual, first in GEMMS:
        key = _key(usual, device, rates)
        if capability < first or key is None:
            continue
        size = _rows(device, None if rates is None else rates.get(key))
        amount = 2.0 * size**3
        yield Plan(quantity=key, kind="gemm", dtype=dtype, size=size, passes=1, amount=amount)


def _key(usual: str, device: Device, rates: Mapping[str, float] | None) -> str | None:
    """The operation key that a GEMM of a type counts for on this device; ``None``: no such unit."""
    if usual == "fp64" and device.compute_capability in FP64_TENSOR:
        return "tensor_fp64" if rates is None or "tensor_fp64" in rates else "fp64"
    if usual.startswith("tensor_") and rates is not None and usual not in rates:
        return "fp16" if usual == "tensor_fp16" and "fp16" in rates else None
    return usual


def _rows(device: Device, rate: float | None) -> int:
    """Rows of a GEMM that takes about ``GEMM_SECONDS`` and fits a quarter of the memory."""
    rows = SMALLEST
    fits = LARGEST
    if device.memory_bytes is not None:
        fits = int((device.memory_bytes / 4 / (3 * 8)) ** 0.5)
    while rows * 2 <= min(LARGEST, fits) and 2.0 * (2 * rows) ** 3 <= GEMM_SECONDS * (rate or 1e13):
        rows *= 2
    return rows


def _rounded(size: int) -> int:
    return max(4096, size // 4096 * 4096)
