"""The table of hardware units: one row a unit, and all that is said of units derives from it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from math import inf
from typing import Literal

from roofline.model import TENSOR_PRECISIONS, Family, UnitUse

ELAPSED = ".avg.pct_of_peak_sustained_elapsed"
# The two percentages that stand for a whole side where no unit of it is known.
MEMORY_THROUGHPUT = "gpu__compute_memory_throughput"
SM_THROUGHPUT = "sm__throughput"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A hardware unit.

    Attributes:
        key: as in the JSON's ``utilization``.
        name: as people read it, everywhere; ``article`` is what a sentence puts before it.
        family: its side of the roofline.
        clock: what it runs at, "sm" or "dram"; ``None`` where reports do not name its clock.
        precisions: operation keys that it executes, without "_sparse".
        prefixes: beginnings of the names of its metrics; the longest that fits decides.
        members: metrics to look for where a report does not list them, the usual ones first.
        level: whether it is a level of memory whose bytes are counted.
        ceiling: % of peak that the best kernels reach; ``None`` where that is not known.
        generic: whether it stands for several units; named only where no single one is as busy.
        needed: whether its family is measured in full only where it is.
        link: whether it is outside of both throughputs; its members are sums.
        parts: units whose work it counts as well.

    """

    key: str
    name: str
    family: Family
    article: str = "the"
    clock: Literal["sm", "dram"] | None = None
    precisions: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    level: bool = False
    ceiling: float | None = None
    generic: bool = False
    needed: bool = False
    link: bool = False
    parts: tuple[str, ...] = ()


_B, _C = Family.BANDWIDTH, Family.COMPUTE
_TABLE = (
    Unit(
        key="dram", name="DRAM", article="", family=_B, clock="dram", level=True, needed=True,
        ceiling=85,
        prefixes=("dram__", "fbpa__", "gpu__dram_throughput"),
        members=("dram__cycles_active", "dram__throughput", "gpu__dram_throughput",
                 "fbpa__dram_sectors"),
    ),
    Unit(
        key="l2", name="L2", article="", family=_B, ceiling=88, level=True, needed=True,
        # l1tex__m_ is the port through which L1 reads from L2 and writes to it.
        prefixes=("lts__", "ltc__", "l1tex__m_"),
        members=("lts__t_sectors", "lts__t_tag_requests", "lts__d_sectors",
                 "lts__d_sectors_fill_device", "lts__lts2xbar_cycles_active",
                 "lts__xbar2lts_cycles_active", "lts__d_atomic_input_cycles_active",
                 "lts__throughput", "l1tex__m_l1tex2xbar_req_cycles_active",
                 "l1tex__m_xbar2l1tex_read_sectors", "lts__d_decomp_input_sectors"),
    ),
    Unit(
        key="l1", name="L1/shared", article="", family=_B, clock="sm", level=True, needed=True,
        ceiling=95,
        prefixes=("l1tex__", "l1tex__m_xbar2l1tex_read_sectors_mem_dshared"),
        members=("l1tex__data_pipe_lsu_wavefronts", "l1tex__data_bank_reads",
                 "l1tex__data_bank_writes", "l1tex__f_wavefronts", "l1tex__lsu_writeback_active",
                 "l1tex__m_xbar2l1tex_read_sectors_mem_dshared"),
    ),
    Unit(
        key="lsu", name="LSU path", family=_B, ceiling=95, clock="sm",
        prefixes=("l1tex__lsuin_requests", "sm__mio", "sm__inst_executed_pipe_lsu",
                  "sm__inst_executed_pipe_adu", "sm__memory_throughput_"),
        members=("l1tex__lsuin_requests", "sm__inst_executed_pipe_adu",
                 "sm__inst_executed_pipe_lsu", "sm__mio_inst_issued",
                 "sm__mio_pq_read_cycles_active", "sm__mio_pq_write_cycles_active",
                 "sm__mio2rf_writeback_active"),
    ),
    Unit(
        key="tex", name="texture path", family=_B, clock="sm",
        prefixes=("l1tex__texin", "l1tex__tex_writeback", "l1tex__data_pipe_tex",
                  "sm__inst_executed_pipe_tex"),
        members=("l1tex__data_pipe_tex_wavefronts", "l1tex__tex_writeback_active",
                 "l1tex__texin_sm2tex_req_cycles_active", "sm__inst_executed_pipe_tex"),
    ),
    Unit(
        key="constant", name="constant cache", family=_B, clock="sm",
        prefixes=("idc__",), members=("idc__request_cycles_active",),
    ),
    Unit(
        key="sysmem", name="system memory", article="", family=_B,
        prefixes=("lts__d_sectors_fill_sysmem", "syslts__"),
        members=("lts__d_sectors_fill_sysmem",),
    ),
    Unit(
        key="nvlink", name="NVLink", article="", family=_B, link=True,
        prefixes=("nvl",), members=("nvlrx__bytes", "nvltx__bytes"),
    ),
    Unit(
        key="pcie", name="PCIe", article="", family=_B, link=True,
        prefixes=("pcie__",), members=("pcie__read_bytes", "pcie__write_bytes"),
    ),
    Unit(key="c2c", name="C2C link", family=_B, prefixes=("c2clink__",)),
    Unit(
        key="tma", name="TMA", family=_B, clock="sm",
        prefixes=("l1tex__tmain", "sm__pipe_tma", "sm__inst_executed_pipe_tma"),
        members=("sm__pipe_tma_cycles_active", "l1tex__tmain_requests"),
    ),
    Unit(
        key="tensor_memory", name="tensor memory", article="", family=_B, clock="sm",
        prefixes=("sm__mem_tensor", "sm__pipe_tmem", "sm__inst_executed_pipe_tmem"),
        members=("sm__mem_tensor_cycles_active",),
    ),
    Unit(
        key="other_memory", name="unnamed memory unit", article="an", family=_B, generic=True,
        prefixes=("gpu__compute_memory_", "sm__memory_throughput."),
    ),
    Unit(
        key="issue", name="issue slots", family=_C, ceiling=80, clock="sm", needed=True,
        prefixes=("sm__inst_executed", "sm__inst_issued", "sm__issue_active"),
        members=("sm__inst_executed", "sm__issue_active"),
    ),
    Unit(
        key="fma", name="FMA pipe", family=_C, ceiling=93, clock="sm", needed=True,
        precisions=("fp32", "bf16"),
        prefixes=("sm__pipe_fma", "sm__inst_executed_pipe_fma"),
        members=("sm__pipe_fma_cycles_active", "sm__pipe_fmaheavy_cycles_active"),
    ),
    Unit(
        key="alu", name="ALU pipe", family=_C, ceiling=82, clock="sm", needed=True,
        prefixes=("sm__pipe_alu", "sm__pipe_fmaheavy_subpipe_alulite",
                  "sm__inst_executed_pipe_alu",
                  "sm__inst_executed_pipe_fmaheavy_subpipe_alulite"),
        members=("sm__pipe_alu_cycles_active", "sm__pipe_aluheavy_cycles_active"),
    ),
    Unit(
        key="fp64", name="FP64 pipe", family=_C, ceiling=82, clock="sm", needed=True,
        precisions=("fp64",), parts=("tensor_fp64",),
        prefixes=("sm__pipe_fp64", "sm__inst_executed_pipe_fp64"),
        members=("sm__pipe_fp64_cycles_active",),
    ),
    Unit(
        key="fp16", name="FP16 pipe", family=_C, clock="sm", precisions=("fp16",),
        prefixes=("sm__pipe_fp16", "sm__inst_executed_pipe_fp16"),
        members=("sm__inst_executed_pipe_fp16",),
    ),
    Unit(
        key="xu", name="XU pipe", family=_C, ceiling=70, clock="sm",
        prefixes=("sm__pipe_xu", "sm__inst_executed_pipe_xu"),
        members=("sm__inst_executed_pipe_xu",),
    ),
    Unit(
        key="tensor", name="tensor pipe", family=_C, ceiling=80, clock="sm", needed=True,
        precisions=tuple(key for key in TENSOR_PRECISIONS if key != "tensor_fp64"),
        parts=("tensor_fp64",),
        prefixes=("sm__pipe_tensor", "sm__pipe_tc_", "sm__inst_executed_pipe_tensor",
                  "sm__inst_executed_pipe_tc", "sm__ops_path_tensor"),
        members=("sm__pipe_tensor_cycles_active", "sm__pipe_tensor_op_hmma_cycles_active",
                 "sm__pipe_tensor_op_imma_cycles_active",
                 "sm__pipe_tensor_subpipe_hmma_cycles_active", "sm__pipe_tc_cycles_active"),
    ),
    Unit(
        key="tensor_fp64", name="FP64 tensor pipe", family=_C, clock="sm",
        precisions=("tensor_fp64",),
        prefixes=("sm__pipe_tensor_op_dmma", "sm__pipe_tensor_subpipe_dmma",
                  "sm__inst_executed_pipe_tensor_op_dmma",
                  "sm__inst_executed_pipe_tensor_subpipe_dmma",
                  "sm__inst_executed_pipe_fp64_op_dmma", "sm__ops_path_tensor_src_fp64"),
        members=("sm__pipe_tensor_op_dmma_cycles_active",),
    ),
    Unit(
        key="shared_pipe", name="FP64/tensor pipe", family=_C, clock="sm", generic=True,
        parts=("fp64", "tensor", "tensor_fp64"),
        prefixes=("sm__pipe_shared",), members=("sm__pipe_shared_cycles_active",),
    ),
    Unit(
        key="uniform", name="uniform pipe", family=_C, clock="sm",
        prefixes=("sm__inst_executed_pipe_uniform",),
        members=("sm__inst_executed_pipe_uniform",),
    ),
    Unit(
        key="branch", name="branch unit", family=_C, clock="sm",
        prefixes=("sm__inst_executed_pipe_cbu",),
        members=("sm__inst_executed_pipe_cbu_pred_on_any",),
    ),
    Unit(
        key="other_compute", name="unnamed compute unit", article="an", family=_C, clock="sm",
        generic=True, prefixes=("sm__", "sm__inst_executed_pipe_"),
    ),
)  # fmt: skip
UNITS = {unit.key: unit for unit in _TABLE}
GENERIC = frozenset(unit.key for unit in _TABLE if unit.generic)
# Levels of memory whose bytes are counted, from the outermost in.
LEVELS = tuple(unit.key for unit in _TABLE if unit.level)
_OF_PRECISION = {precision: unit.key for unit in _TABLE for precision in unit.precisions}
_BY_PREFIX = sorted(
    ((prefix, unit) for unit in _TABLE for prefix in unit.prefixes), key=lambda row: -len(row[0])
)

# Percentages that stand for many units: named where nothing else is known of their side.
AGGREGATES = frozenset(
    (MEMORY_THROUGHPUT, SM_THROUGHPUT, "sm__memory_throughput", "sm__instruction_throughput",
     "gpu__compute_memory_access_throughput", "gpu__compute_memory_request_throughput")
)  # fmt: skip
# Unit -> what counts more of it than its members do.
THROUGHPUTS = {"l1": "l1tex__throughput", "l2": "lts__throughput"}
# Parts of a unit -> their names.
PARTS = {"l1_data": "L1 data", "l1_to_l2": "L1's path to L2", "l2_fabric": "L2 fabric"}
# Parts of L1 -> a member of which half the peak is all that it reaches, and on which capabilities.
HALVED = {
    "l1_data": ("l1tex__data_pipe_lsu_wavefronts", frozenset({"7.5"})),
    "l1_to_l2": (
        "l1tex__m_l1tex2xbar_req_cycles_active",
        frozenset({"7.0", "7.2", "7.5", "8.6", "8.9", "12.0", "12.1"}),
    ),
}
# Where L2 has two halves: what connects them carries what DRAM does.
WITH_FABRIC = frozenset({"8.0", "9.0"})
# Units are equally busy to this many points: passes of one kernel differ by 0.2.
TIE = 0.5
# What is computed and what is counted of one unit differ by a little more.
ROUNDING = 3.0


def unit_name(key: str) -> str:
    """A unit's name for people: "issue" is "issue slots"; that of an unknown one are its words."""
    unit = UNITS.get(key)
    return key.replace("_", " ") if unit is None else unit.name


def the_unit(key: str) -> str:
    """A unit's name within a sentence: "DRAM", "the issue slots"."""
    unit = UNITS.get(key)
    return unit_name(key) if unit is None else f"{unit.article} {unit.name}".lstrip()


def unit_of_precision(precision: str) -> str:
    """The unit that executes operations of a key: "fma" for "fp32"."""
    return _OF_PRECISION.get(precision.removesuffix("_sparse"), precision)


@cache
def unit_of_metric(metric: str) -> Unit | None:
    """The unit of a utilisation metric; ``None`` where its name tells nothing."""
    metric = metric.replace("smsp__", "sm__", 1)  # a quarter of an SM
    return next((unit for prefix, unit in _BY_PREFIX if metric.startswith(prefix)), None)


def members(*, links: bool) -> tuple[str, ...]:
    """The metrics of units of both throughputs, or of the links, which are in neither."""
    roll_up = ELAPSED.replace(".avg", ".sum") if links else ELAPSED
    return tuple(name + roll_up for unit in _TABLE if unit.link is links for name in unit.members)


def ranked(uses: Iterable[UnitUse]) -> tuple[UnitUse, ...]:
    """The busiest unit first; one that stands for several, or has a part as busy, gives way."""
    uses = tuple(uses)
    percents = {use.unit: use.percent for use in uses}

    def key(use: UnitUse) -> tuple[float, bool, str]:
        unit = UNITS.get(use.unit)
        yields = unit is not None and (
            unit.generic
            or any(abs(percents.get(part, inf) - use.percent) <= TIE for part in unit.parts)
        )
        return -(use.percent - (TIE if yields else 0.0)), yields, use.unit

    return tuple(sorted(uses, key=key))


def queue_of_fp64(use: UnitUse) -> bool:
    """Whether it is the way of FP64 operands to the pipe, on GPUs with two FP64 units an SM."""
    return use.metric.startswith("sm__mio_pq_")


def same_pipe(use: UnitUse, other: UnitUse) -> bool:
    """Whether one of the two is a part of the other that makes up all of its activity."""
    for whole, part in ((use, other), (other, use)):
        unit = UNITS.get(whole.unit)
        if unit is None:
            continue
        near = abs(whole.percent - part.percent)
        if (unit.generic and near <= TIE) or (part.unit in unit.parts and near <= ROUNDING):
            return True
    return False
