"""Tensor operations: exact from the opcode mix, else from ``sm__ops_path_tensor_*``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from roofline.counters.opcodes import TensorWork, parse_mma, tensor_mix
from roofline.counters.recipes import QuantityReader, forms, planned, read_table
from roofline.model import Metrics, Note

OPCODES = "sass__inst_executed_per_opcode_with_modifier_all"
THREAD_OPCODES = "sass__thread_inst_executed_true_per_opcode_with_modifier_all"
# Instances by opcode -> executions of each that make one of a warp, and how it is said. Without
# modifiers an opcode states no shape, but still tells whether it ran.
MIXES = {
    OPCODES: (1.0, "opcode mix"),
    THREAD_OPCODES: (32.0, "thread-level opcode mix"),
    "sass__inst_executed_per_opcode": (1.0, "opcode mix without modifiers"),
    "sass__thread_inst_executed_true_per_opcode": (32.0, "opcode mix without modifiers"),
}
_BY_ADDRESS = "inst_executed"
# Whatever is counted of the tensor pipe, but the peaks of its counters.
_TENSOR = re.compile(
    r"(?:sm(?:sp)?__(?:inst_executed_)?pipe_(?:tensor|tc(?=[_.]))\w*|sm(?:sp)?__mem_tensor\w*"
    r"|sm(?:sp)?__inst_executed_pipe_fp64_op_dmma|sm__ops_path_tensor\w*)"
    r"\.(?:sum|avg|max)(?!\.peak)(?:\.\w+)?$"
)
# Activity that only matrix instructions cause, and what HFMA2.MMA causes as well: compilers move
# constants with it, and some chips count those moves apart.
_CERTAIN = re.compile(r"(?:op|subpipe)_(?:[idbqo]mma|[hiqb]?gmma|utc)|mem_tensor|ops_path")
_MOVES = "type_hfma2"
# Kernels without matrix instructions show up to 1.2 % in public reports.
FAINT_PERCENT = 2.0
_NOTHING_PERCENT = 0.05
TOLERANCE = 0.01


def tensor_work(reader: QuantityReader) -> TensorWork:
    """Tensor operations from the best source that the report has."""
    mix, mix_how = _mix(reader.metrics)
    if mix is not None and not mix.shapeless and not mix.operations:
        return TensorWork(how=f"{mix_how}: no tensor instructions", active=False)
    counted = path_counts(reader)
    if mix is None or mix.shapeless:
        if counted is not None and (counted.active or mix is None):
            ran = {key: value for key, value in counted.operations.items() if value}
            return replace(counted, operations=ran)
        if mix is None:
            return _uncounted(reader.metrics)
        note = Note(code="tensor_shape_unknown", facts={"opcodes": list(mix.shapeless)})
        return TensorWork(active=True, notes=(note,))
    notes = () if counted is None else _disagreement(mix, counted.operations)
    return replace(mix, how=mix_how, active=True, notes=notes)


def _mix(metrics: Metrics) -> tuple[TensorWork | None, str]:
    for name, (threads, how) in MIXES.items():
        if executions := metrics.instances(name):
            if threads != 1:
                executions = {opcode: count / threads for opcode, count in executions.items()}
            return tensor_mix(executions), how
    active, faint = _activity(metrics)
    if not active and not faint:
        return None, ""
    by_opcode: dict[str, float] = {}
    by_address = metrics.instances(_BY_ADDRESS)
    all_known = bool(by_address)
    for address, count in by_address.items():
        words = (metrics.sass(address) or "").split()
        opcode = next((word.rstrip(";") for word in words if not word.startswith("@")), "")
        all_known = all_known and opcode not in ("", "???")
        if parse_mma(opcode):
            by_opcode[opcode] = by_opcode.get(opcode, 0.0) + count
    if not by_opcode and not all_known:
        return None, ""
    return tensor_mix(by_opcode), "executions by address with SASS"


def _uncounted(metrics: Metrics) -> TensorWork:
    active, faint = _activity(metrics)
    if faint < _NOTHING_PERCENT:
        return TensorWork(active=active)
    note = Note(code="tensor_activity_faint", facts={"percent": faint})
    return TensorWork(active=False, notes=(note,))


def _activity(metrics: Metrics) -> tuple[bool | None, float]:
    """Whether matrix instructions ran (``None``: not said), and activity too small to tell."""
    found = {
        name: value
        for name in metrics.matching(_TENSOR)
        if (value := metrics.number(name)) is not None
    }
    if not found:
        return None, 0.0
    moves = {value for name, value in found.items() if _MOVES in name}
    ran = {name: value for name, value in found.items() if value and value not in moves}
    percents = {name: value for name, value in ran.items() if ".pct_of_peak" in name}
    # Of a count alone nobody can say that it is faint.
    if any(map(_CERTAIN.search, ran)) or (ran and not percents):
        return True, 0.0
    of_all = [value for name, value in percents.items() if ".max." not in name]
    most = max(of_all or percents.values(), default=0.0)
    return (True, 0.0) if most > FAINT_PERCENT else (False, most)


def _disagreement(mix: TensorWork, counted: Mapping[str, float]) -> tuple[Note, ...]:
    measured = {key.removesuffix("_sparse") for key in counted}  # each type is collected alone
    ours = sum(n for key, n in mix.operations.items() if key.removesuffix("_sparse") in measured)
    theirs = sum(counted.values())
    if not theirs or abs(ours - theirs) <= TOLERANCE * theirs:
        return ()
    return (Note(code="tensor_sources_differ", facts={"mix": ours, "counters": theirs}),)


# --- sm__ops_path_tensor counters: each operation counted once, whichever were collected ---------
_PATH = "sm__ops_path_tensor_"
# Source and destination types in a counter's name -> operation key, accumulator, kinds of MMA.
_TYPES: dict[str, tuple[str, str, list[str]]] = {
    source: (key, accumulator, kinds.split())
    for source, (key, accumulator, kinds) in read_table("tensor")["types"].items()
}
# Hopper's half precision has no destination in its name, and holds what the rows with one counted.
_HALF, _HALF_ROWS = "src_fp16", ("src_fp16_dst_fp32", "src_fp16_dst_fp16")
_KINDS = {source: kinds for source, (_, _, kinds) in _TYPES.items()} | {_HALF: ["hgmma", "hmma"]}
_NEVER_SPARSE = frozenset({"tensor_fp64", "tensor_int1"})
_FIRST_SPARSE = 8.0  # compute capability: tensor cores before Ampere know no sparsity
# Counters of different passes differ a little; less than this is no operation of unknown kind.
_NOISE = 0.01


class _Count(NamedTuple):
    """Operations of one kind; ``total`` is at least dense + sparse, the rest is either."""

    dense: float = 0.0
    sparse: float = 0.0
    total: float = 0.0

    @property
    def rest(self) -> float:
        return self.total - self.dense - self.sparse


def path_counts(reader: QuantityReader) -> TensorWork | None:
    """What the counters say, zeros too; ``None`` where a report has none of them.

    A counter without ``op_`` is the sum of those with, and one without ``_sparsity_`` is the sum
    of both halves: what is known of a type is the largest of what any level of it says.
    """
    there = planned(reader.metrics, _KINDS, _there)
    if not there:
        return None
    counts: dict[str, _Count] = {}
    paths: set[str] = set()
    for source, kinds in there.items():
        if source == _HALF:
            continue
        parts = _parts(reader, source, kinds, paths)
        count = _merge(reader, source, parts)
        if count is not None:
            counts[source] = count
    rows = [counts[row] for row in _HALF_ROWS if row in counts]
    half = _hopper_half(reader, rows, paths) if _HALF in there else None
    if half is not None:
        counts[_HALF] = half
    return _by_key(reader.metrics, counts, paths) if counts else None


def _there(metrics: Metrics, sources: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """The types of which a report counts anything, with the kinds of MMA that it counts."""
    found = {
        source: [kind for kind in kinds if metrics.any_of(_spellings(f"op_{kind}_{source}"))]
        for source, kinds in sources.items()
    }
    return {s: kinds for s, kinds in found.items() if kinds or metrics.any_of(_spellings(s))}


def _by_key(metrics: Metrics, counts: Mapping[str, _Count], paths: set[str]) -> TensorWork:
    operations: dict[str, float] = {}
    largest: dict[str, tuple[float, str]] = {}
    told_apart = True
    for source, count in counts.items():
        key, accumulator, _ = _TYPES.get(source, ("tensor_fp16", "", []))
        if key not in _NEVER_SPARSE and count.rest > _NOISE * count.total:
            told_apart = False
        for name, value in ((key, count.dense + count.rest), (f"{key}_sparse", count.sparse)):
            operations[name] = operations.get(name, 0.0) + value
            if accumulator and value > largest.get(name, (0.0, ""))[0]:
                largest[name] = (value, accumulator)
    major = metrics.number("device__attribute_compute_capability_major")
    told_apart = told_apart or (major is not None and major < _FIRST_SPARSE)
    return TensorWork(
        operations=operations,
        accumulate={name: best[1] for name, best in largest.items()},
        path=paths.pop() if len(paths) == 1 else None,
        how="sm__ops_path_tensor counters",
        active=any(operations.values()),
        notes=() if told_apart else (Note(code="sparsity_unknown"),),
    )


def _parts(
    reader: QuantityReader, source: str, kinds: Sequence[str], paths: set[str]
) -> list[_Count]:
    """Counts by kind of MMA; adds the paths of those that ran to ``paths``."""
    parts = []
    for kind in kinds:
        part = _merge(reader, f"op_{kind}_{source}", ())
        if part is not None:
            parts.append(part)
            if part.total:
                paths.add(_path_of(kind))
    return parts


def _hopper_half(reader: QuantityReader, rows: Sequence[_Count], paths: set[str]) -> _Count | None:
    """What Hopper's half-precision counters hold beyond the rows with a destination."""
    counted = _added(rows)
    warpgroup = _parts(reader, _HALF, ("hgmma",), paths)
    by_warp = _merge(reader, f"op_hmma_{_HALF}", rows)
    if by_warp is not None and by_warp.total:
        paths.add("mma_sync")
    whole = _merge(reader, _HALF, [*warpgroup, by_warp or counted])
    own = _merge(reader, _HALF, ())
    if whole is None or (not warpgroup and by_warp is None and own is None):
        return None
    return _Count(*(all_ - known for all_, known in zip(whole, counted, strict=True)))


def _merge(reader: QuantityReader, name: str, parts: Sequence[_Count]) -> _Count | None:
    """The count of ``name`` from its own counters and from its parts; ``None`` without any."""
    if not parts and not reader.metrics.any_of(_spellings(name)):
        return None
    dense, sparse, total = (reader.amount(counter) for counter in _levels(name))
    if not parts and dense is None and sparse is None and total is None:
        return None
    if total is not None and dense is None and sparse is not None:
        dense = total - sparse
    if total is not None and sparse is None and dense is not None:
        sparse = total - dense
    below = _added(parts)
    dense, sparse = max(dense or 0.0, below.dense), max(sparse or 0.0, below.sparse)
    return _Count(dense, sparse, max(total or 0.0, dense + sparse, below.total))


def _added(counts: Sequence[_Count]) -> _Count:
    return _Count(*map(sum, zip(_Count(), *counts, strict=True)))


def _path_of(kind: str) -> str:
    if kind.startswith("utc"):
        return "tcgen05"
    return "wgmma" if kind.endswith("gmma") else "mma_sync"


@cache
def _levels(name: str) -> tuple[str, ...]:
    return tuple(f"{_PATH}{name}{half}" for half in ("_sparsity_off", "_sparsity_on", ""))


@cache
def _spellings(name: str) -> frozenset[str]:
    """Every form of the counters of ``name``."""
    return frozenset(recipe.needs[0] for level in _levels(name) for recipe in forms(level))
