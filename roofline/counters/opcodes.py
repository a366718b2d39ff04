"""Operations from the opcode mix: every MMA opcode carries its shape and its types."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

_SHAPE = re.compile(r"^(?:(?P<m>\d+)x(?P<n>\d+)x(?P<k>\d+)|(?P<m0>16|8)8(?P<k0>\d+))$")
_MMA = re.compile(r"^(?:[HIDBQO]MMA|[HIQB]GMMA|UTC[HIQO]MMA)$")
# Four warps execute a warpgroup instruction together, so each counts a quarter of it.
_WARPGROUP = frozenset({"HGMMA", "IGMMA", "QGMMA", "BGMMA"})
# Operand type in the opcode -> operation key, widest first: mixed operands run at that rate.
_FLOAT_TYPES = (
    ("TF32", "tensor_tf32"),
    ("BF16", "tensor_bf16"),
    ("E4M3", "tensor_fp8"),
    ("E5M2", "tensor_fp8"),
    ("E3M2", "tensor_fp6"),
    ("E2M3", "tensor_fp6"),
    ("E2M1", "tensor_fp4"),
)
_INTEGER_TYPES = (
    ("S8", "tensor_int8"),
    ("U8", "tensor_int8"),
    ("S4", "tensor_int4"),
    ("U4", "tensor_int4"),
)
_FAMILY_DEFAULT = {
    "HMMA": "tensor_fp16",
    "HGMMA": "tensor_fp16",
    "QMMA": "tensor_fp8",
    "QGMMA": "tensor_fp8",
    "OMMA": "tensor_fp4",
    "IMMA": "tensor_int8",
    "IGMMA": "tensor_int8",
    "BMMA": "tensor_int1",
    "BGMMA": "tensor_int1",
    "DMMA": "tensor_fp64",
}
# Plain arithmetic: opcode -> (operation key, operations a thread). HxxX2 works on two lanes.
_PLAIN = {
    "FADD": ("fp32", 1),
    "FMUL": ("fp32", 1),
    "FFMA": ("fp32", 2),
    "FADD2": ("fp32", 2),
    "FMUL2": ("fp32", 2),
    "FFMA2": ("fp32", 4),
    "FADD32I": ("fp32", 1),
    "FMUL32I": ("fp32", 1),
    "FFMA32I": ("fp32", 2),
    "DADD": ("fp64", 1),
    "DMUL": ("fp64", 1),
    "DFMA": ("fp64", 2),
    "HADD2": ("fp16", 2),
    "HMUL2": ("fp16", 2),
    "HFMA2": ("fp16", 4),
    "HADD2_32I": ("fp16", 2),
    "HMUL2_32I": ("fp16", 2),
    "HFMA2_32I": ("fp16", 4),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorMix:
    """Tensor operations of an opcode mix.

    ``operations`` counts by operation key, ``accumulate`` gives the accumulator of most of them,
    ``path`` is "wgmma", "mma_sync" or ``None``; ``shapeless`` lists executed MMA opcodes whose
    operations cannot be known from the opcode.
    """

    operations: Mapping[str, float]
    accumulate: Mapping[str, str]
    path: str | None
    shapeless: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mma:
    """What one warp-level execution of an MMA opcode does; ``operations`` None for no shape."""

    key: str
    operations: float | None
    accumulate: str | None
    warpgroup: bool


@dataclass(slots=True)
class _Tally:
    """Operations of one key by accumulator."""

    by_accumulator: dict[str, float] = field(default_factory=dict)

    def add(self, accumulator: str | None, operations: float) -> None:
        name = accumulator or ""
        self.by_accumulator[name] = self.by_accumulator.get(name, 0.0) + operations

    @property
    def total(self) -> float:
        return sum(self.by_accumulator.values())

    @property
    def accumulator(self) -> str:
        return max(self.by_accumulator, key=lambda name: self.by_accumulator[name])


@cache  # kernels share a few hundred opcodes, and reports repeat them by the launch
def parse_mma(opcode: str) -> Mma | None:
    """Read an MMA opcode with its modifiers, e.g. "HMMA.16816.F32.BF16"; ``None`` for others."""
    head, *modifiers = opcode.split(".")
    if not _MMA.match(head):
        return None
    shape = next((match for word in modifiers if (match := _SHAPE.match(word))), None)
    sparse = "_sparse" if "SP" in modifiers else ""
    warpgroup = head in _WARPGROUP
    return Mma(
        key=_operand_key(head, modifiers) + sparse,
        operations=None if shape is None else _operations(head, shape, modifiers),
        accumulate=_accumulator(modifiers),
        warpgroup=warpgroup,
    )


def _operations(head: str, shape: re.Match[str], modifiers: list[str]) -> float:
    m = int(shape["m"] or shape["m0"])
    n = int(shape["n"] or 8)
    k = int(shape["k"] or shape["k0"])
    operations = 2.0 * m * n * k
    if head in _WARPGROUP:
        return operations / 4
    # Volta splits a product in steps: four of 8x8x4 into FP32, but only two into FP16.
    if any(word.startswith("STEP") for word in modifiers) and _accumulator(modifiers) == "fp16":
        return operations * 2
    return operations


def _operand_key(head: str, modifiers: list[str]) -> str:
    for word, key in _INTEGER_TYPES if head in {"IMMA", "IGMMA"} else _FLOAT_TYPES:
        if word in modifiers:
            return key
    return _FAMILY_DEFAULT.get(head.removeprefix("UTC"), "tensor_fp16")


def _accumulator(modifiers: list[str]) -> str | None:
    """The first of F32 and F16 among the modifiers: the destination comes before the sources."""
    return next((f"fp{word[1:]}" for word in modifiers if word in {"F32", "F16"}), None)


def tensor_mix(executions: Mapping[str, float]) -> TensorMix:
    """Tensor operations from warp-level ``executions`` by opcode with modifiers."""
    tallies: dict[str, _Tally] = {}
    paths: set[bool] = set()
    shapeless = []
    for opcode, count in executions.items():
        mma = parse_mma(opcode)
        if mma is None or not count:
            continue
        if mma.operations is None:
            shapeless.append(opcode)
            continue
        tallies.setdefault(mma.key, _Tally()).add(mma.accumulate, mma.operations * count)
        paths.add(mma.warpgroup)
    return TensorMix(
        operations={key: tally.total for key, tally in tallies.items()},
        accumulate={key: tally.accumulator for key, tally in tallies.items() if tally.accumulator},
        path=None if len(paths) != 1 else "wgmma" if True in paths else "mma_sync",
        shapeless=tuple(sorted(shapeless)),
    )


def plain_mix(thread_executions: Mapping[str, float]) -> dict[str, float]:
    """Operations of the ordinary pipes from thread-level ``executions`` by opcode.

    HxxX2.BF16 counts as bf16; HADD2.F32 converts and is no operation. Keys whose opcodes never
    ran are there with 0: the mix is complete, so they were measured.
    """
    found = dict.fromkeys(("fp64", "fp32", "fp16", "bf16"), 0.0)
    for opcode, count in thread_executions.items():
        key, operations = _plain(opcode)
        if key:
            found[key] += operations * count
    return found


@cache
def _plain(opcode: str) -> tuple[str, int]:
    """The operation key of an opcode and the operations of one thread; ("", 0) for none."""
    head, *modifiers = opcode.split(".")
    key, operations = _PLAIN.get(head, ("", 0))
    if head == "HADD2" and "F32" in modifiers:
        return "", 0
    if key == "fp16" and any(word.startswith("BF16") for word in modifiers):
        key = "bf16"
    return key, operations
