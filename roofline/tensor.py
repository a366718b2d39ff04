"""Tensor operations: exact from the opcode mix, else from ``sm__ops_path_tensor_*``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from roofline.launch import Metrics
from roofline.model import NOTHING, Note
from roofline.opcodes import TensorMix, parse_mma, tensor_mix

OPCODES = "sass__inst_executed_per_opcode_with_modifier_all"
_BY_ADDRESS = "inst_executed"
_PATH = "sm__ops_path_tensor_"
# Source and destination types in a counter's name -> (operation key, accumulator, kinds of MMA
# whose counters split it). Mixed sources are filed under the widest, at whose rate they run.
_TYPES: tuple[tuple[str, str, str | None, tuple[str, ...]], ...] = (
    ("src_bf16_dst_fp32", "tensor_bf16", "fp32", ("hmma", "hgmma", "utchmma")),
    ("src_fp16_dst_fp32", "tensor_fp16", "fp32", ("hmma", "utchmma")),
    ("src_fp16_dst_fp16", "tensor_fp16", "fp16", ("hmma", "utchmma")),
    ("src_fp16", "tensor_fp16", None, ("hgmma",)),
    ("src_tf32_dst_fp32", "tensor_tf32", "fp32", ("hmma", "hgmma", "utchmma")),
    ("src_fp16_bf16_tf32_dst_fp32", "tensor_fp16", "fp32", ()),
    ("src_fp8", "tensor_fp8", None, ()),
    ("src_fp8_dst_fp16", "tensor_fp8", "fp16", ()),
    ("src_fp8_dst_fp32", "tensor_fp8", "fp32", ()),
    ("src_fp4_fp6_fp8_dst_fp16", "tensor_fp8", "fp16", ("utcqmma",)),
    ("src_fp4_fp6_fp8_dst_fp32", "tensor_fp8", "fp32", ("utcqmma",)),
    ("src_fp4_fp6_dst_fp16", "tensor_fp6", "fp16", ()),
    ("src_fp4_fp6_dst_fp32", "tensor_fp6", "fp32", ()),
    ("src_fp4_dst_fp32", "tensor_fp4", "fp32", ("utcomma",)),
    ("src_fp64", "tensor_fp64", None, ()),
    ("src_int8", "tensor_int8", None, ("imma", "igmma", "utcimma")),
    ("src_int4", "tensor_int4", None, ()),
    ("src_int1", "tensor_int1", None, ("bmma", "bgmma")),
)
_PATH_NAMES = frozenset(
    f"{_PATH}{name}{half}.sum"
    for source, _, _, kinds in _TYPES
    for name in (source, *(f"op_{kind}_{source}" for kind in kinds))
    for half in ("", "_sparsity_off", "_sparsity_on")
)
# Activity that only matrix instructions cause.
_CERTAIN = (
    "sm__inst_executed_pipe_tensor_op_imma.avg.pct_of_peak_sustained_active",
    "sm__inst_executed_pipe_tensor_op_dmma.avg.pct_of_peak_sustained_active",
    "sm__inst_executed_pipe_tensor_op_gmma.avg.pct_of_peak_sustained_active",
)
_HOPPER_PIPE = (
    "sm__pipe_tensor_type_hmma_hgmma_qgmma_imma_igmma_bmma_bgmma_cycles_active"
    ".avg.pct_of_peak_sustained_elapsed"
)
# Activity that HFMA2.MMA causes as well: compilers use it to move constants.
_LIKELY = (
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
    "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active",
    "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active",
    "sm__inst_executed_pipe_tensor_op_hmma.avg.pct_of_peak_sustained_active",
    "sm__pipe_tc_cycles_active.avg.pct_of_peak_sustained_elapsed",
    _HOPPER_PIPE,
)
# Kernels without matrix instructions show up to 1.2 % in public reports.
FAINT_PERCENT = 2.0
TOLERANCE = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorWork:
    """Tensor operations of a launch.

    ``how`` is ``None`` where nothing was measured; ``active`` tells whether the tensor pipe did
    anything, ``None`` where the report does not say.
    """

    operations: Mapping[str, float] = field(default_factory=lambda: NOTHING)
    accumulate: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    path: str | None = None
    how: str | None = None
    active: bool | None = None
    notes: tuple[Note, ...] = ()


def tensor_work(metrics: Metrics) -> TensorWork:
    """Tensor operations from the best source that the report has."""
    mix, mix_how = _mix(metrics)
    if mix is None:
        counted = _path_operations(metrics)
        if counted is None:
            return _uncounted(metrics)
        return _from_path(counted, ())
    if not mix.shapeless and not mix.operations:
        return TensorWork(how=f"{mix_how}: no tensor instructions", active=False)
    counted = _path_operations(metrics)
    if mix.shapeless:
        if counted is not None and any(counted[0].values()):
            return _from_path(counted, ())
        return TensorWork(active=True, notes=(_shapeless(mix),))
    notes = () if counted is None else _disagreement(mix, counted[0])
    return TensorWork(
        operations=mix.operations,
        accumulate=mix.accumulate,
        path=mix.path,
        how=mix_how,
        active=True,
        notes=notes,
    )


def _from_path(
    counted: tuple[dict[str, float], dict[str, str], str | None, bool], notes: tuple[Note, ...]
) -> TensorWork:
    operations, accumulate, path, told_apart = counted
    active = any(operations.values())
    if active and not told_apart:
        notes = (
            *notes,
            Note(
                code="sparsity_unknown",
                text="the tensor counters do not tell sparse from dense; all are taken as dense",
            ),
        )
    return TensorWork(
        operations={key: value for key, value in operations.items() if value},
        accumulate=accumulate,
        path=path,
        how="sm__ops_path_tensor counters",
        active=active,
        notes=notes,
    )


def _mix(metrics: Metrics) -> tuple[TensorMix | None, str]:
    executions = metrics.instances(OPCODES)
    if executions:
        return tensor_mix(executions), "opcode mix"
    active, faint = _activity(metrics)
    if not active and not faint:
        return None, ""
    by_opcode: dict[str, float] = {}
    for address, count in metrics.instances(_BY_ADDRESS).items():
        opcode = _opcode(metrics.sass(address))
        if opcode and parse_mma(opcode):
            by_opcode[opcode] = by_opcode.get(opcode, 0.0) + count
    if not by_opcode:
        return None, ""
    return tensor_mix(by_opcode), "executions by address with SASS"


def _opcode(line: str | None) -> str | None:
    words = (line or "").split()
    if words and words[0].startswith("@"):
        words = words[1:]
    return words[0].rstrip(";") if words else None


def _path_operations(
    metrics: Metrics,
) -> tuple[dict[str, float], dict[str, str], str | None, bool] | None:
    """Operations and accumulators by key, the path, and whether sparsity was told apart."""
    if not metrics.any_of(_PATH_NAMES):
        return None
    operations: dict[str, float] = {}
    largest: dict[str, tuple[float, str]] = {}
    paths: set[str] = set()
    told_apart, found = True, False
    for source, key, accumulator, kinds in _TYPES:
        counts = _type_operations(metrics, source, kinds, paths)
        if counts is None:
            continue
        dense, sparse, split = counts
        if source == "src_fp16" and not split:  # covers what the rows with a destination counted
            dense -= operations.get(key, 0.0) + operations.get(f"{key}_sparse", 0.0)
        found, told_apart = True, told_apart and (split or not dense)
        for name, value in ((key, dense), (f"{key}_sparse", sparse)):
            operations[name] = operations.get(name, 0.0) + value
            if accumulator and value > largest.get(name, (0.0, ""))[0]:
                largest[name] = (value, accumulator)
    if not found:
        return None
    path = paths.pop() if len(paths) == 1 else None
    return operations, {name: best[1] for name, best in largest.items()}, path, told_apart


def _type_operations(
    metrics: Metrics, source: str, kinds: tuple[str, ...], paths: set[str]
) -> tuple[float, float, bool] | None:
    """(dense, sparse, told apart) of one source type, never adding a parent to its parts."""
    parent = metrics.number(f"{_PATH}{source}.sum")
    dense, sparse = _halves(metrics, source)
    if dense is None and sparse is None:
        for kind in kinds:
            part, part_sparse = _halves(metrics, f"op_{kind}_{source}")
            if part is None and part_sparse is None:
                continue
            dense, sparse = (dense or 0.0) + (part or 0.0), (sparse or 0.0) + (part_sparse or 0.0)
            if part or part_sparse:
                paths.add(_path_of(kind))
    if dense is not None:
        return dense, sparse or 0.0, True
    if parent is None:
        return None
    return (parent - (sparse or 0.0), sparse or 0.0, sparse is not None)


def _path_of(kind: str) -> str:
    if kind.startswith("utc"):
        return "tcgen05"
    return "wgmma" if kind.endswith("gmma") else "mma_sync"


def _halves(metrics: Metrics, name: str) -> tuple[float | None, float | None]:
    off, on = _half_names(name)
    return metrics.number(off), metrics.number(on)


@cache
def _half_names(name: str) -> tuple[str, str]:
    return f"{_PATH}{name}_sparsity_off.sum", f"{_PATH}{name}_sparsity_on.sum"


def _uncounted(metrics: Metrics) -> TensorWork:
    active, faint = _activity(metrics)
    if not faint:
        return TensorWork(active=active)
    text = (
        f"the tensor pipe was busy {faint:.1f} %, which moving constants also causes; "
        "matrix operations, if there were any, are not counted"
    )
    return TensorWork(active=False, notes=(Note(code="tensor_activity_faint", text=text),))


def _activity(metrics: Metrics) -> tuple[bool | None, float]:
    """Whether matrix instructions ran (``None``: not said), and activity too small to tell."""
    certain = [value for name in _CERTAIN if (value := metrics.number(name)) is not None]
    likely = [value for name in _LIKELY if (value := metrics.number(name)) is not None]
    if not certain and not likely:
        return None, 0.0
    most = max(likely, default=0.0)
    if any(certain) or most > FAINT_PERCENT:
        return True, 0.0
    return False, most


def _disagreement(mix: TensorMix, counted: Mapping[str, float]) -> tuple[Note, ...]:
    ours, theirs = sum(mix.operations.values()), sum(counted.values())
    if not theirs or abs(ours - theirs) <= TOLERANCE * theirs:
        return ()
    return (
        Note(
            code="tensor_sources_differ",
            text=f"the opcode mix counts {ours:.6g} tensor operations, sm__ops_path_tensor "
            f"counts {theirs:.6g} ({100 * (ours / theirs - 1):+.1f} %); the opcode mix is used",
        ),
    )


def _shapeless(mix: TensorMix) -> Note:
    return Note(
        code="tensor_shape_unknown",
        text=f"{', '.join(mix.shapeless)} state no shape; only sm__ops_path_tensor_* counts them",
    )
