"""What an operator must compute and move at least, by the shapes of its arguments (PyTorch's)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

Shape = Sequence[int]
Made = tuple[float, float]  # operations, elements read and written at least once

# PyTorch's name of a type -> bytes of an element, and the precisions that may compute it: the first
# whose peak is not exceeded.
TYPES: dict[str, tuple[int, tuple[str, ...]]] = {
    "c10::BFloat16": (2, ("tensor_bf16",)),
    "c10::Half": (2, ("tensor_fp16",)),
    "float": (4, ("fp32", "tensor_tf32")),
    "double": (8, ("fp64", "tensor_fp64")),
    "c10::Float8_e4m3fn": (1, ("tensor_fp8",)),
    "c10::Float8_e5m2": (1, ("tensor_fp8",)),
    "signed char": (1, ("tensor_int8",)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One call: its kind of work, its type of data, operations (an FMA is two) and bytes.

    Operations are those of the mathematics: no padding, nothing computed twice, of a causal
    attention only what the mask leaves. Bytes are each argument and result once.
    """

    kind: str
    dtype: str
    flop: float
    compulsory_bytes: float


def operation(name: str, shapes: bytes, types: bytes, values: bytes) -> Operation | None:
    """The work of operator ``name`` with arguments as the trace writes them (JSON)."""
    try:
        kind, formula = FORMULAS[name]
        dims, dtypes = json.loads(shapes), json.loads(types)
        flop, elements = formula(dims, json.loads(values) if values else [])
        dtype = next(t for t in dtypes if t in TYPES)
        size = TYPES[dtype][0]
    except (KeyError, ValueError, TypeError, IndexError, StopIteration):
        return None  # not a known operator, or not its arguments
    return Operation(kind=kind, dtype=dtype, flop=flop, compulsory_bytes=elements * size)


def _matrices(at: int) -> Callable[[Sequence[Shape], Sequence[str]], Made]:
    """The argument ``at`` times the next, [..., m, k] x [..., k, n]; those before are added."""

    def made(dims: Sequence[Shape], _values: Sequence[str]) -> Made:
        a, b = dims[at], dims[at + 1]
        out = prod(a[:-1]) * b[-1]
        return 2.0 * out * a[-1], prod(a) + prod(b) + out + sum(prod(d) for d in dims[:at])

    return made


def _attention(
    first: int, causal: int, products: int
) -> Callable[[Sequence[Shape], Sequence[str]], Made]:
    """Products of [batch, heads, length, width]: two forwards, four backwards."""

    def made(dims: Sequence[Shape], values: Sequence[str]) -> Made:
        q, k, v = dims[first : first + 3]
        flop = float(products * prod(q[:3]) * k[2] * (q[3] + v[3]))
        if values[causal] == "True" and q[2] == k[2]:
            flop *= (q[2] + 1) / (2 * q[2])
        return flop, (products / 2) * (prod(q) + prod(k) + prod(v) + prod(q[:3]) * v[3])

    return made


def _convolution(dims: Sequence[Shape], values: Sequence[str]) -> Made:
    a, weight = dims[:2]
    stride, padding, dilation = (json.loads(v) for v in values[3:6])
    if values[6] != "False":
        raise ValueError("transposed")
    sides = zip(a[2:], weight[2:], stride, padding, dilation, strict=True)
    out = [(size + 2 * p - d * (k - 1) - 1) // s + 1 for size, k, s, p, d in sides]
    made = a[0] * weight[0] * prod(out)
    return 2.0 * made * prod(weight[1:]), prod(a) + prod(weight) + made


def _convolution_backward(dims: Sequence[Shape], values: Sequence[str]) -> Made:
    gradient, a, weight = dims[:3]
    wanted = json.loads(values[10].lower())[:2]  # of the gradients of input and weight
    elements = prod(gradient) * sum(wanted) + prod(a) * 2 + prod(weight) * 2
    return 2.0 * prod(gradient) * prod(weight[1:]) * sum(wanted), elements


_Formula = Callable[[Sequence[Any], Sequence[Any]], Made]
# Operator -> kind of work, and its operations and elements; each is the innermost of its kind.
FORMULAS: dict[str, tuple[str, _Formula]] = {
    "aten::mm": ("matmul", _matrices(0)),
    "aten::bmm": ("matmul", _matrices(0)),
    "aten::_scaled_mm": ("matmul", _matrices(0)),
    "aten::_int_mm": ("matmul", _matrices(0)),
    "aten::addmm": ("matmul", _matrices(1)),
    "aten::baddbmm": ("matmul", _matrices(1)),
    "aten::_addmm_activation": ("matmul", _matrices(1)),
    "aten::convolution": ("convolution", _convolution),
    "aten::convolution_backward": ("convolution", _convolution_backward),
}
for _name, _forward, _backward in (("flash", 4, 11), ("efficient", 6, 11), ("cudnn", 6, 14)):
    _whole = f"aten::_scaled_dot_product_{_name}_attention"
    FORMULAS[_whole] = ("attention", _attention(0, _forward, 2))
    FORMULAS[f"{_whole}_backward"] = ("attention", _attention(1, _backward, 4))
FAMILIES = {"matmul": "gemm", "convolution": "conv", "attention": "attention"}  # of their kernels
BY_SHAPES = frozenset(name for name, (kind, _) in FORMULAS.items() if kind == "matmul")
