"""Names for people: C++ kernel names cut to fit, and what units and operations are called."""

from __future__ import annotations

import re

from roofline import units

# Renderers say names.short and so on.
from roofline.kernel_names import ELLIPSIS as ELLIPSIS
from roofline.kernel_names import cut as cut
from roofline.kernel_names import few as few
from roofline.kernel_names import library
from roofline.kernel_names import middle as middle
from roofline.kernel_names import printable as printable
from roofline.kernel_names import short as short
from roofline.kernel_names import short_all as short_all
from roofline.model import QUANTITIES, Dim3, Kind, Measurement
from roofline.text.numbers import ABSENT

# What is not a number, or is named where it is missing.
_OTHERS = {
    "gpu": "GPU",
    "sm_count": "number of SMs",
    "occupancy_limiter": "occupancy limited by",
    "utilization": "utilisation unit by unit",
    "stalls": "stall reasons",
    "launch": "waves and registers",
    "sm_clock": "SM clock",
}
_CU = ("cublas", "cudnn", "cufft", "cusparse", "cusolver")
_INTEGER = re.compile(r"int\d")


def unit(key: str | None) -> str:
    """The name of a hardware unit: "issue" is "issue slots"; ``None`` is the empty text."""
    return "" if key is None else units.unit_name(key)


def the_unit(key: str | None) -> str:
    """What limits, within a sentence: "DRAM", "the FP64 pipe"; "latency" for ``None``."""
    return "latency" if key is None else units.the_unit(key)


def operation(key: str) -> str:
    """The name of an operation key: "tensor_bf16_sparse" is "tensor BF16 sparse"."""
    return " ".join(
        word if word in ("tensor", "sparse") else word.upper() for word in key.split("_")
    )


def operation_unit(key: str | None) -> str:
    """What one operation of a key is called: "OP" for integers, else "FLOP"."""
    return "OP" if key is not None and _INTEGER.search(key) else "FLOP"


def quantity(key: str) -> str:
    """The name of a quantity: "dram_bytes" is "DRAM bytes"; "operations.fp32" "FP32 operations"."""
    group, _, member = key.partition(".")
    if group == "operations" and member:
        return f"{operation(member)} operations"
    if member:
        return f"{unit(member)} {words(group)}"
    known = QUANTITIES.get(key)
    return _OTHERS.get(key, words(key)) if known is None else known.label


def library_name(name: str) -> str:
    """The library of a kernel as it calls itself: "cuBLAS"; empty where the name tells of none."""
    key = library(name) or ""
    return f"cu{key[2:].upper()}" if key in _CU else key


def words(code: str) -> str:
    """A code as words: "long_scoreboard" is "long scoreboard"."""
    return code.replace("_", " ")


def last_part(path: str) -> str:
    """The file name alone: folders say who someone is."""
    return path.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]


def dims(dim: Dim3 | None) -> str:
    """A grid or block without trailing ones: (64, 64, 1) is "64x64"."""
    if dim is None:
        return ABSENT
    sizes = list(dim)
    while len(sizes) > 1 and sizes[-1] == 1:
        sizes.pop()
    return "x".join(map(str, sizes))


def geometry(m: Measurement) -> str:
    """Grid and block: "64x64 / 256"; the kind of what has neither, a range or a graph."""
    if m.grid is None and m.block is None:
        return "" if m.kind is Kind.KERNEL else str(m.kind)
    return f"{dims(m.grid)} / {dims(m.block)}"
