"""Tensor operations: exact from the opcode mix, else from ``sm__ops_path_tensor_*``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from roofline.counters.opcodes import TensorMix, parse_mma, tensor_mix
from roofline.counters.tensor_path import PathCounts, path_counts
from roofline.model import Metrics, Note

OPCODES = "sass__inst_executed_per_opcode_with_modifier_all"
_BY_ADDRESS = "inst_executed"
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
_NOTHING_PERCENT = 0.05
TOLERANCE = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorWork:
    """Tensor operations of a launch.

    ``how`` is ``None`` where nothing was measured; ``active`` tells whether the tensor pipe did
    anything, ``None`` where the report does not say.
    """

    operations: Mapping[str, float] = field(default_factory=dict)
    accumulate: Mapping[str, str] = field(default_factory=dict)
    path: str | None = None
    how: str | None = None
    active: bool | None = None
    notes: tuple[Note, ...] = ()


def tensor_work(metrics: Metrics) -> TensorWork:
    """Tensor operations from the best source that the report has."""
    mix, mix_how = _mix(metrics)
    if mix is None:
        counted = path_counts(metrics)
        return _uncounted(metrics) if counted is None else _from_path(counted)
    if not mix.shapeless and not mix.operations:
        return TensorWork(how=f"{mix_how}: no tensor instructions", active=False)
    counted = path_counts(metrics)
    if mix.shapeless:
        if counted is not None and any(counted.operations.values()):
            return _from_path(counted)
        return TensorWork(active=True, notes=(_shapeless(mix),))
    notes = () if counted is None else _disagreement(mix, counted.operations)
    return TensorWork(
        operations=mix.operations,
        accumulate=mix.accumulate,
        path=mix.path,
        how=mix_how,
        active=True,
        notes=notes,
    )


def _from_path(counted: PathCounts) -> TensorWork:
    active = any(counted.operations.values())
    return TensorWork(
        operations={key: value for key, value in counted.operations.items() if value},
        accumulate=counted.accumulate,
        path=counted.path,
        how="sm__ops_path_tensor counters",
        active=active,
        notes=() if counted.told_apart else (Note(code="sparsity_unknown"),),
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


def _uncounted(metrics: Metrics) -> TensorWork:
    active, faint = _activity(metrics)
    if faint < _NOTHING_PERCENT:
        return TensorWork(active=active)
    note = Note(code="tensor_activity_faint", facts={"percent": faint})
    return TensorWork(active=False, notes=(note,))


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
    measured = {key.removesuffix("_sparse") for key in counted}  # each type is collected alone
    ours = sum(n for key, n in mix.operations.items() if key.removesuffix("_sparse") in measured)
    theirs = sum(counted.values())
    if not theirs or abs(ours - theirs) <= TOLERANCE * theirs:
        return ()
    return (Note(code="tensor_sources_differ", facts={"mix": ours, "counters": theirs}),)


def _shapeless(mix: TensorMix) -> Note:
    return Note(code="tensor_shape_unknown", facts={"opcodes": mix.shapeless})
