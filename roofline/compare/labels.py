"""What units and operation keys are called in sentences."""

from __future__ import annotations

UNITS = {
    "dram": "DRAM",
    "l2": "L2",
    "l1": "L1/shared memory",
    "lsu": "the memory-instruction path",
    "tex": "the texture path",
    "constant": "the constant cache",
    "sysmem": "system memory",
    "nvlink": "NVLink",
    "pcie": "PCIe",
    "c2c": "C2C",
    "tma": "TMA",
    "issue": "instruction issue",
    "fma": "the FMA pipe",
    "alu": "the ALU pipe",
    "fp64": "the FP64 pipe",
    "fp16": "the FP16 pipe",
    "xu": "the XU pipe",
    "tensor": "the tensor pipe",
    "tensor_fp64": "the FP64 tensor pipe",
    "uniform": "the uniform pipe",
    "branch": "branching",
}


def unit(key: str | None) -> str:
    """A unit for a sentence: "DRAM", "the FP64 pipe"; its key where it has no other name."""
    if key is None:
        return "no unit"
    return UNITS.get(key, key.replace("_", " "))


def operation(key: str) -> str:
    """An operation key for a sentence: "FP32", "tensor BF16", "tensor INT8 (sparse)"."""
    plain = key.removesuffix("_sparse")
    kind, _, precision = plain.rpartition("_")
    text = f"{kind} {precision.upper()}" if kind else precision.upper()
    return f"{text} (sparse)" if plain != key else text
