"""Which hardware unit a utilisation metric speaks of, and on which side of the roofline it is."""

from __future__ import annotations

from functools import cache

from roofline.model import Family, Metrics, UnitUse
from roofline.units import MEMORY_THROUGHPUT, SM_THROUGHPUT, rank

ELAPSED = ".avg.pct_of_peak_sustained_elapsed"

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
    ("l1tex__m_xbar2l1tex_read_sectors_mem_dshared", "l1", _B),
    ("l1tex__m_", "l2", _B),  # the port through which L1 reads from L2 and writes to it
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
    ("sm__inst_executed_pipe_tma", "tma", _B),
    ("sm__mem_tensor", "tensor_memory", _B),
    ("sm__pipe_tmem", "tensor_memory", _B),
    ("sm__inst_executed_pipe_tmem", "tensor_memory", _B),
    ("gpu__compute_memory_", "other_memory", _B),
    ("sm__inst_executed_pipe_cbu", "branch", _C),
    ("sm__inst_executed_pipe_uniform", "uniform", _C),
    ("sm__inst_executed_pipe_xu", "xu", _C),
    ("sm__inst_executed_pipe_fp16", "fp16", _C),
    ("sm__inst_executed_pipe_fp64_op_dmma", "tensor_fp64", _C),
    ("sm__inst_executed_pipe_fp64", "fp64", _C),
    ("sm__inst_executed_pipe_fmaheavy_subpipe_alulite", "alu", _C),
    ("sm__inst_executed_pipe_fma", "fma", _C),
    ("sm__inst_executed_pipe_alu", "alu", _C),
    ("sm__inst_executed_pipe_tensor_op_dmma", "tensor_fp64", _C),
    ("sm__inst_executed_pipe_tensor_subpipe_dmma", "tensor_fp64", _C),
    ("sm__inst_executed_pipe_tensor", "tensor", _C),
    ("sm__inst_executed_pipe_tc", "tensor", _C),
    ("sm__inst_executed_pipe_", "other_compute", _C),
    ("sm__pipe_tensor_op_dmma", "tensor_fp64", _C),
    ("sm__pipe_tensor_subpipe_dmma", "tensor_fp64", _C),
    ("sm__pipe_tensor", "tensor", _C),
    ("sm__pipe_tc_", "tensor", _C),
    ("sm__pipe_fp64", "fp64", _C),
    ("sm__pipe_fmaheavy_subpipe_alulite", "alu", _C),
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
_UNLISTED = 1.0  # points above all members; passes of one short kernel differ by 0.2
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


_Place = tuple[str, str, Family]  # metric name, unit, side
_NOTHING = float("-inf")


def unit_uses(metrics: Metrics) -> tuple[UnitUse, ...]:
    """The busiest member of every unit that the report measures, busiest unit first.

    Members come from both ``breakdown:`` metrics; what is not listed there is looked for by name.
    """
    busiest: dict[str, tuple[float, _Place]] = {}
    listed = False
    for throughput, family in ((MEMORY_THROUGHPUT, _B), (SM_THROUGHPUT, _C)):
        members = metrics.text(f"breakdown:{throughput}{ELAPSED}")
        listed = listed or members is not None
        most = _collect(metrics, _places(members or "", family), busiest)
        # The throughput is the largest of its members; where it is above them, one is not listed.
        itself = _places(throughput + ELAPSED, family)
        _collect(metrics, itself, busiest, above=most + _UNLISTED)
    if not listed:
        _collect(metrics, _BY_NAME, busiest)
    _collect(metrics, _OF_LINKS, busiest)
    uses = (
        UnitUse(unit=unit, family=side, percent=percent, metric=name)
        for percent, (name, unit, side) in busiest.values()
    )
    return tuple(sorted(uses, key=rank))


def _collect(
    metrics: Metrics,
    places: tuple[_Place, ...],
    busiest: dict[str, tuple[float, _Place]],
    above: float = _NOTHING,
) -> float:
    """Keep what is busier than what its unit has; give the largest percentage seen."""
    most = _NOTHING
    for place in places:
        percent = metrics.number(place[0])
        # A counter that ran backwards measured nothing.
        if percent is None or percent < 0 or percent <= above:
            continue
        most = max(most, percent)
        known = busiest.get(place[1])
        if known is None or percent > known[0]:
            busiest[place[1]] = (percent, place)
    return most


@cache
def _places(members: str, family: Family) -> tuple[_Place, ...]:
    """Comma-separated metric names with their units; what is unknown stays on its side."""
    other = "other_memory" if family is _B else "other_compute"
    names = members.split(",") if members else ()
    return tuple((name, *(unit_of(name) or (other, family))) for name in names)


_BY_NAME = _places(",".join(_MEMBER_METRICS), _C)
_OF_LINKS = _places(",".join(_LINKS), _B)
