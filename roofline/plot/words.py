"""What things are called in a picture: short, because there is little room."""

from __future__ import annotations

from collections.abc import Mapping

from roofline.model import Bound, Result, Verdict
from roofline.render import numbers

LEVELS: Mapping[str, str] = {"dram": "DRAM", "l2": "L2", "l1": "L1"}
UNITS: Mapping[str, str] = {
    "dram": "DRAM",
    "l2": "L2",
    "l1": "L1",
    "lsu": "LSU",
    "tex": "texture",
    "constant": "constant cache",
    "sysmem": "system memory",
    "nvlink": "NVLink",
    "pcie": "PCIe",
    "c2c": "C2C",
    "tma": "TMA",
    "other_memory": "other memory",
    "issue": "issue slots",
    "fma": "FMA pipe",
    "alu": "ALU pipe",
    "fp64": "FP64 pipe",
    "fp16": "FP16 pipe",
    "xu": "XU pipe",
    "tensor": "tensor pipe",
    "tensor_fp64": "FP64 tensor pipe",
    "uniform": "uniform pipe",
    "branch": "branch unit",
    "other_compute": "other compute",
}


def unit(key: str) -> str:
    """The name of a hardware unit; a key that is not known stays as it is."""
    return UNITS.get(key, key.replace("_", " "))


def precision(key: str) -> str:
    """Name an operation key: "tensor_bf16_sparse" gives "BF16 tensor 2:4 sparse"."""
    base, sparse, _ = key.partition("_sparse")
    tensor = base.startswith("tensor_")
    name = base.removeprefix("tensor_").upper()
    return name + (" tensor" if tensor else "") + (" 2:4 sparse" if sparse else "")


def rate(key: str, operations_per_s: float) -> str:
    """A rate of one precision: integers are no floating-point operations."""
    return numbers.rate(operations_per_s, "OP" if "int" in key else "FLOP")


def percent(value: float) -> str:
    """A percentage as it is, over 100 too."""
    return f"{value:.0f} %" if value >= 9.95 else f"{value:.1f} %"


def share(value: float | None) -> str:
    """A share of the time (0 to 1) in percent; "" where it is not known."""
    return "" if value is None else percent(100 * value)


def verdict(judged: Verdict) -> str:
    """The verdict in a few words: "compute: issue slots 78 %"."""
    if judged.bound is Bound.UNKNOWN:
        return "unknown"
    if judged.bound is Bound.LATENCY:
        return "latency" if judged.cause is None else f"latency: {judged.cause.replace('_', ' ')}"
    if judged.limiter is None:
        return str(judged.bound)
    text = f"{judged.bound}: {unit(judged.limiter)}"
    return text if judged.limiter_percent is None else f"{text} {percent(judged.limiter_percent)}"


def rates(result: Result) -> str:
    """What was achieved, as far as it was measured: "712 GB/s DRAM, 3.1 TFLOP/s"."""
    m = result.measurement
    parts = []
    if m.dram_bytes_per_s is not None:
        parts.append(f"{numbers.bandwidth(m.dram_bytes_per_s)} DRAM")
    if m.operations_per_s:
        whole = "OP" if any("int" in key for key in m.operations) else "FLOP"
        parts.append(numbers.rate(m.operations_per_s, whole))
    return ", ".join(parts)
