"""Operations from the opcode mix: every MMA opcode carries its shape and its types."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from roofline.counters.recipes import read_table
from roofline.model import Note

_SHAPE = re.compile(r"^(?:(?P<m>\d+)x(?P<n>\d+)x(?P<k>\d+)|(?P<m0>16|8)8(?P<k0>\d+))$")
_MMA = re.compile(r"^(?:[HIDBQO]MMA|[HIQB]GMMA|UTC[HIQO]MMA)$")
# Four warps execute a warpgroup instruction together, so each counts a quarter of it.
_WARPGROUP = frozenset({"HGMMA", "IGMMA", "QGMMA", "BGMMA"})
TABLES = read_table("opcodes")
_PLAIN = {
    opcode: (key, operations)
    for key in ("fp32", "fp64", "fp16")
    for opcode, operations in TABLES[key].items()
}
_INTEGER: dict[str, int] = TABLES["integer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorWork:
    """Tensor operations of a launch.

    ``accumulate`` has the accumulator of most operations of a key, ``path`` is "wgmma", "mma_sync"
    or "tcgen05" where all ran on one. ``how`` is ``None`` where nothing was measured; ``active``
    tells whether the tensor pipe did anything, ``None`` where the report does not say.
    ``shapeless`` lists executed opcodes whose operations cannot be known from the opcode.
    """

    operations: Mapping[str, float] = field(default_factory=dict)
    accumulate: Mapping[str, str] = field(default_factory=dict)
    path: str | None = None
    how: str | None = None
    active: bool | None = None
    shapeless: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()


class Mma(NamedTuple):
    """What one warp-level execution of an MMA opcode does; ``operations`` None for no shape."""

    key: str
    operations: float | None
    accumulate: str | None
    warpgroup: bool


@cache  # kernels share a few hundred opcodes, and reports repeat them by the launch
def parse_mma(opcode: str) -> Mma | None:
    """Read an MMA opcode with its modifiers, e.g. "HMMA.16816.F32.BF16"; ``None`` for others."""
    head, *modifiers = opcode.split(".")
    if not _MMA.match(head):
        return None
    shape = next((match for word in modifiers if (match := _SHAPE.match(word))), None)
    # The destination comes before the sources.
    accumulate = next((f"fp{word[1:]}" for word in modifiers if word in {"F32", "F16"}), None)
    types = TABLES[f"{'integer' if head in {'IMMA', 'IGMMA'} else 'float'}_operands"]
    default = TABLES["default_operands"][head.removeprefix("UTC")[0]]
    operand = next((name for word, name in types.items() if word in modifiers), default)
    return Mma(
        key=f"tensor_{operand}{'_sparse' if 'SP' in modifiers else ''}",
        operations=None if shape is None else _operations(head, shape, modifiers, accumulate),
        accumulate=accumulate,
        warpgroup=head in _WARPGROUP,
    )


def _operations(
    head: str, shape: re.Match[str], modifiers: list[str], accumulate: str | None
) -> float:
    m = int(shape["m"] or shape["m0"])
    n = int(shape["n"] or 8)
    k = int(shape["k"] or shape["k0"])
    operations = 2.0 * m * n * k
    if head in _WARPGROUP:
        return operations / 4
    # Volta splits a product in steps: four of 8x8x4 into FP32, but only two into FP16.
    stepped = any(word.startswith("STEP") for word in modifiers)
    return operations * 2 if stepped and accumulate == "fp16" else operations


def tensor_mix(executions: Mapping[str, float]) -> TensorWork:
    """Tensor operations from warp-level ``executions`` by opcode with modifiers."""
    # Operations by key and, of each, by accumulator.
    found: dict[str, dict[str | None, float]] = {}
    paths: set[str] = set()
    shapeless = []
    for opcode, count in executions.items():
        mma = parse_mma(opcode)
        if mma is None or not count:
            continue
        if mma.operations is None:
            shapeless.append(opcode)
            continue
        sums = found.setdefault(mma.key, {})
        sums[mma.accumulate] = sums.get(mma.accumulate, 0.0) + mma.operations * count
        paths.add("wgmma" if mma.warpgroup else "mma_sync")
    most = {key: max(sums, key=lambda name: sums[name]) for key, sums in found.items()}
    return TensorWork(
        operations={key: sum(sums.values()) for key, sums in found.items()},
        accumulate={key: name for key, name in most.items() if name},
        path=paths.pop() if len(paths) == 1 else None,
        shapeless=tuple(sorted(shapeless)),
    )


def plain_mix(thread_executions: Mapping[str, float]) -> dict[str, float]:
    """Operations of the ordinary pipes from thread-level ``executions`` by opcode.

    HxxX2.BF16 counts as bf16; HADD2.F32 converts and is no operation, nor is HFMA2.MMA where no
    other opcode works on halves: compilers move constants with it. Keys whose opcodes never ran
    are there with 0: the mix is complete, so they were measured.
    """
    halves = {opcode for opcode, count in thread_executions.items() if count and _is_half(opcode)}
    if all(opcode.startswith("HFMA2.MMA") for opcode in halves):
        thread_executions = {o: n for o, n in thread_executions.items() if o not in halves}
    found = dict.fromkeys(("fp64", "fp32", "fp16", "bf16"), 0.0)
    for opcode, count in thread_executions.items():
        key, operations = _plain(opcode)
        if key:
            found[key] += operations * count
    return found


@cache
def packed_kind(opcode: str) -> str:
    """The kind of packed arithmetic that an opcode is, "" for others."""
    return str(TABLES["packed"].get(opcode.partition(".")[0], ""))


def integer_mix(thread_executions: Mapping[str, float]) -> float:
    """Integer additions and multiplications, a multiply-add as two; from thread-level counts."""
    return sum(_integer(opcode) * count for opcode, count in thread_executions.items())


@cache
def _integer(opcode: str) -> int:
    head, *modifiers = opcode.split(".")
    return _INTEGER.get(".".join([head, *modifiers[:1]]), _INTEGER.get(head, 0))


def _is_half(opcode: str) -> bool:
    return _plain(opcode)[0] in ("fp16", "bf16")


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
