"""Which hardware unit a utilisation metric speaks of, and on which side of the roofline it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from roofline.launch import Metrics
from roofline.model import Family, UnitUse

ELAPSED = ".avg.pct_of_peak_sustained_elapsed"
MEMORY_THROUGHPUT = "gpu__compute_memory_throughput"
SM_THROUGHPUT = "sm__throughput"

_B, _C = Family.BANDWIDTH, Family.COMPUTE
# Base name's beginning -> (unit, family); the first that fits decides.
_UNITS: tuple[tuple[str, str, Family], ...] = (
    ("dram__", "dram", _B),
    ("fbpa__", "dram", _B),
    ("gpu__dram_throughput", "dram", _B),
    ("lts__d_sectors_fill_sysmem", "sysmem", _B),
    ("syslts__", "sysmem", _B),
    ("lts__", "l2", _B),
    ("ltc__", "l2", _B),
    ("l1tex__lsuin_requests", "lsu", _B),
    ("l1tex__texin", "tex", _B),
    ("l1tex__tex_writeback", "tex", _B),
    ("l1tex__data_pipe_tex", "tex", _B),
    ("l1tex__tmain", "tma", _B),
    ("l1tex__", "l1", _B),
    ("idc__", "constant", _B),
    ("nvl", "nvlink", _B),
    ("pcie__", "pcie", _B),
    ("c2clink__", "c2c", _B),
    ("sm__mio", "lsu", _B),
    ("sm__inst_executed_pipe_lsu", "lsu", _B),
    ("sm__inst_executed_pipe_adu", "lsu", _B),
    ("sm__memory_throughput", "lsu", _B),
    ("sm__inst_executed_pipe_tex", "tex", _B),
    ("sm__pipe_tma", "tma", _B),
    ("sm__mem_tensor", "tensor_memory", _B),
    ("gpu__compute_memory_", "other_memory", _B),
    ("sm__inst_executed_pipe_cbu", "branch", _C),
    ("sm__inst_executed_pipe_ipa", "other_compute", _C),
    ("sm__inst_executed_pipe_uniform", "uniform", _C),
    ("sm__inst_executed_pipe_xu", "xu", _C),
    ("sm__inst_executed_pipe_fp16", "fp16", _C),
    ("sm__inst_executed_pipe_tensor", "tensor", _C),
    ("sm__pipe_tensor_op_dmma", "tensor_fp64", _C),
    ("sm__pipe_tensor_subpipe_dmma", "tensor_fp64", _C),
    ("sm__pipe_tensor", "tensor", _C),
    ("sm__pipe_tc_", "tensor", _C),
    ("sm__pipe_fp64", "fp64", _C),
    ("sm__pipe_fma", "fma", _C),
    ("sm__pipe_alu", "alu", _C),
    ("sm__pipe_fp16", "fp16", _C),
    ("sm__pipe_xu", "xu", _C),
    ("sm__pipe_shared", "shared_pipe", _C),
    ("sm__inst_executed", "issue", _C),
    ("sm__inst_issued", "issue", _C),
    ("sm__issue_active", "issue", _C),
    ("sm__", "other_compute", _C),
)
# What is looked for by name where the report does not say which members a throughput has.
_MEMBERS: tuple[str, ...] = (
    "dram__cycles_active",
    "dram__throughput",
    "gpu__dram_throughput",
    "fbpa__dram_sectors",
    "lts__t_sectors",
    "lts__t_tag_requests",
    "lts__d_sectors",
    "lts__d_sectors_fill_device",
    "lts__d_sectors_fill_sysmem",
    "lts__lts2xbar_cycles_active",
    "lts__xbar2lts_cycles_active",
    "lts__d_atomic_input_cycles_active",
    "lts__throughput",
    "l1tex__data_pipe_lsu_wavefronts",
    "l1tex__data_bank_reads",
    "l1tex__data_bank_writes",
    "l1tex__data_pipe_tex_wavefronts",
    "l1tex__f_wavefronts",
    "l1tex__lsu_writeback_active",
    "l1tex__lsuin_requests",
    "l1tex__m_l1tex2xbar_req_cycles_active",
    "l1tex__m_xbar2l1tex_read_sectors",
    "l1tex__tex_writeback_active",
    "l1tex__texin_sm2tex_req_cycles_active",
    "idc__request_cycles_active",
    "sm__inst_executed",
    "sm__issue_active",
    "sm__inst_executed_pipe_adu",
    "sm__inst_executed_pipe_cbu_pred_on_any",
    "sm__inst_executed_pipe_fp16",
    "sm__inst_executed_pipe_lsu",
    "sm__inst_executed_pipe_tex",
    "sm__inst_executed_pipe_uniform",
    "sm__inst_executed_pipe_xu",
    "sm__mio_inst_issued",
    "sm__mio_pq_read_cycles_active",
    "sm__mio_pq_write_cycles_active",
    "sm__mio2rf_writeback_active",
    "sm__pipe_alu_cycles_active",
    "sm__pipe_aluheavy_cycles_active",
    "sm__pipe_fma_cycles_active",
    "sm__pipe_fmaheavy_cycles_active",
    "sm__pipe_fp64_cycles_active",
    "sm__pipe_shared_cycles_active",
    "sm__pipe_tensor_cycles_active",
    "sm__pipe_tensor_op_dmma_cycles_active",
    "sm__pipe_tensor_op_hmma_cycles_active",
    "sm__pipe_tensor_op_imma_cycles_active",
    "sm__pipe_tensor_subpipe_hmma_cycles_active",
    "sm__pipe_tc_cycles_active",
    "sm__pipe_tma_cycles_active",
    "sm__mem_tensor_cycles_active",
    "l1tex__tmain_requests",
    "l1tex__m_xbar2l1tex_read_sectors_mem_dshared",
    "lts__d_decomp_input_sectors",
)
_MEMBER_METRICS = tuple(name + ELAPSED for name in _MEMBERS)
# Links are in neither throughput; ncu writes them as sums.
_LINKS = (
    "nvlrx__bytes.sum.pct_of_peak_sustained_elapsed",
    "nvltx__bytes.sum.pct_of_peak_sustained_elapsed",
    "pcie__read_bytes.sum.pct_of_peak_sustained_elapsed",
    "pcie__write_bytes.sum.pct_of_peak_sustained_elapsed",
)


@cache
def unit_of(metric: str) -> tuple[str, Family] | None:
    """The unit and family of a utilisation metric; ``None`` where its name tells nothing."""
    for beginning, unit, family in _UNITS:
        if metric.startswith(beginning):
            return unit, family
    return None


def unit_uses(metrics: Metrics) -> tuple[UnitUse, ...]:
    """The busiest member of every unit that the report measures, busiest unit first.

    Members come from both ``breakdown:`` metrics; what is not listed there is looked for by name.
    """
    busiest: dict[str, UnitUse] = {}
    for use in _all_uses(metrics):
        known = busiest.get(use.unit)
        if known is None or use.percent > known.percent:
            busiest[use.unit] = use
    return tuple(sorted(busiest.values(), key=lambda use: (-use.percent, use.unit)))


def _all_uses(metrics: Metrics) -> Iterator[UnitUse]:
    listed = False
    for throughput, family in ((MEMORY_THROUGHPUT, _B), (SM_THROUGHPUT, _C)):
        members = metrics.text(f"breakdown:{throughput}{ELAPSED}")
        # The throughput itself is the largest of its members, and all there is without them.
        names = members.split(",") if members else [throughput + ELAPSED]
        listed = listed or members is not None
        yield from _uses(metrics, names, family)
    if not listed:
        yield from _uses(metrics, _MEMBER_METRICS, None)
    yield from _uses(metrics, _LINKS, None)


def _uses(
    metrics: Metrics, names: Iterator[str] | list[str] | tuple[str, ...], family: Family | None
) -> Iterator[UnitUse]:
    for name in names:
        percent = metrics.number(name)
        if percent is None:
            continue
        other = "other_memory" if family is _B else "other_compute"
        unit, side = unit_of(name) or (other, family or _C)
        yield UnitUse(unit=unit, family=side, percent=percent, metric=name)


# What people call the units.
UNIT_NAMES = {
    "dram": "DRAM",
    "l2": "L2 cache",
    "l1": "L1 and shared memory",
    "lsu": "memory-instruction path (LSU, MIO)",
    "tex": "texture path",
    "constant": "constant cache",
    "sysmem": "system memory over the bus",
    "nvlink": "NVLink",
    "pcie": "PCIe",
    "c2c": "chip-to-chip link",
    "tma": "tensor memory accelerator",
    "tensor_memory": "tensor memory",
    "other_memory": "memory path (no unit named)",
    "issue": "issue slots",
    "fma": "FMA pipe",
    "alu": "ALU pipe (integer, logic)",
    "fp64": "FP64 pipe",
    "fp16": "FP16 pipe",
    "xu": "XU pipe (transcendentals, conversions)",
    "tensor": "tensor pipe",
    "tensor_fp64": "FP64 tensor pipe",
    "shared_pipe": "pipe that FP64 and tensor share",
    "uniform": "uniform datapath",
    "branch": "branch unit",
    "other_compute": "SM (no unit named)",
}
# Units that stand for several: named only where no single unit is as busy.
GENERIC = frozenset({"shared_pipe", "other_memory", "other_compute"})


_TIE = 0.5  # points of percent


def named(uses: Sequence[UnitUse]) -> UnitUse:
    """The busiest unit; one that stands for several gives way to a single one as busy."""
    top = max(uses, key=lambda use: use.percent)
    if top.unit not in GENERIC:
        return top
    close = [use for use in uses if use.unit not in GENERIC and as_busy(use, top)]
    return max(close, key=lambda use: use.percent, default=top)


def as_busy(use: UnitUse, other: UnitUse) -> bool:
    """Whether two units are equally busy, but for rounding."""
    return abs(use.percent - other.percent) <= _TIE


def unit_name(unit: str) -> str:
    """A unit's name for people; an unknown one as it is."""
    return UNIT_NAMES.get(unit, unit)
