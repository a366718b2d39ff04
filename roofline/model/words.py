"""The words that values use: bounds, families, kinds, operation keys."""

from __future__ import annotations

from enum import StrEnum

Dim3 = tuple[int, int, int]


class Bound(StrEnum):
    """What kind of ceiling a kernel runs against."""

    BANDWIDTH = "bandwidth"
    COMPUTE = "compute"
    LATENCY = "latency"
    UNKNOWN = "unknown"


class Family(StrEnum):
    """The side of the roofline that a hardware unit belongs to."""

    BANDWIDTH = "bandwidth"
    COMPUTE = "compute"


class Confidence(StrEnum):
    """How far a verdict may be leant on."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Kind(StrEnum):
    """What one result of a report covers."""

    KERNEL = "kernel"
    RANGE = "range"
    GRAPH = "graph"


# Operation keys. An FMA is two operations. "_sparse" is appended for 2:4 structured sparsity.
PLAIN_PRECISIONS = ("fp64", "fp32", "fp16", "bf16")
TENSOR_PRECISIONS = (
    "tensor_fp64",
    "tensor_tf32",
    "tensor_bf16",
    "tensor_fp16",
    "tensor_fp8",
    "tensor_fp6",
    "tensor_fp4",
    "tensor_int8",
    "tensor_int4",
    "tensor_int1",
)
PRECISIONS = (
    PLAIN_PRECISIONS + TENSOR_PRECISIONS + tuple(f"{name}_sparse" for name in TENSOR_PRECISIONS)
)
