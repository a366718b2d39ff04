"""How long a kernel takes: each unit needs ``work / rate`` cycles, and one of them decides.

One unit at a stated percentage (or a stated duration) fixes the time; all else follows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sample_reports import names
from sample_reports.chips import Chip

Dim3 = tuple[int, int, int]
_TICK_NS = 32  # GPU time stamps come in steps of 32 ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """What one launch does; all counts are of the whole grid.

    ``opcodes`` are warp-level executions with all 32 lanes on. ``wavefronts_per_load`` and
    ``..._store`` say how many shared-memory wavefronts one LDS or STS takes (1: no bank
    conflict). ``limit`` names the unit and the percentage it reaches, else ``duration_ns``.
    ``tensor`` maps rate keys of the chip to operations.
    ``stalls`` are weights of the reasons.
    """

    name: str
    demangled: str
    grid: Dim3
    block: Dim3
    registers: int
    opcodes: Mapping[str, int]
    static_shared: int = 0
    dynamic_shared: int = 0
    dram_read: int = 0
    dram_write: int = 0
    l2_read: int = 0
    l2_write: int = 0
    wavefronts_per_load: int = 1
    wavefronts_per_store: int = 1
    wavefronts_per_global: int = 1
    tensor: Mapping[str, int] = field(default_factory=dict)
    limit: tuple[str, float] | None = None
    duration_ns: int | None = None
    active: float = 0.98
    occupancy: float = 0.95
    stalls: Mapping[str, float] = field(default_factory=lambda: {"long_scoreboard": 1.0})
    nvtx: tuple[str, ...] = ()

    def executed(self, *roots: str) -> int:
        """Executions of all opcodes whose first part is one of ``roots``."""
        return sum(n for code, n in self.opcodes.items() if code.split(".")[0] in roots)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Duration and whole cycles of each clock domain, and so the clocks."""

    ns: int
    sm: int
    l2: int
    dram: int

    def hz(self, cycles: int) -> float:
        """Clock of a domain."""
        return cycles / self.ns * 1e9


def demands(chip: Chip, kernel: Kernel) -> dict[str, float]:
    """Seconds that each unit would need at its peak, by the name of its utilisation metric."""
    sm, l2 = chip.sms * chip.sm_mhz * 1e6, chip.slices * chip.l2_mhz * 1e6
    need = {name: work / sm for name, work in _sm_cycles(chip, kernel).items()}
    need |= {name: work / sm for name, work in _l1_cycles(chip, kernel).items()}
    need |= {name: work / l2 for name, work in _l2_cycles(chip, kernel).items()}
    if chip.dram_bytes_per_cycle is not None:
        moved = kernel.dram_read + kernel.dram_write
        dram = moved / (chip.dram_bytes_per_cycle * chip.dram_mhz * 1e6)
        need |= {"dram__cycles_active": dram, "fbpa__dram_sectors": dram * chip.fbpa}
    return need


def timing(chip: Chip, kernel: Kernel) -> Timing:
    """The duration: the limiting unit at its percentage, or what was stated."""
    if kernel.limit is not None:
        unit, percent = kernel.limit
        ns = demands(chip, kernel)[unit] / (percent / 100) * 1e9
    else:
        assert kernel.duration_ns is not None, kernel.name
        ns = kernel.duration_ns
    ticks = max(1, round(ns / _TICK_NS)) * _TICK_NS
    return Timing(
        ns=ticks,
        sm=round(ticks * chip.sm_mhz / 1000),
        l2=round(ticks * chip.l2_mhz / 1000),
        dram=round(ticks * chip.dram_mhz / 1000),
    )


def _sm_cycles(chip: Chip, kernel: Kernel) -> dict[str, float]:
    """Cycles of one SM, times SMs, that instructions and pipes need."""
    total = sum(kernel.opcodes.values())
    pipes = dict.fromkeys((*chip.pipes, "fp16", "tex", "ipa"), 0.0)
    for code, count in kernel.opcodes.items():
        pipe = names.PIPES.get(code.split(".")[0], "alu")
        if pipe in pipes:
            pipes[pipe] += count / chip.pipes.get(pipe, 2.0)
    need = {"sm__inst_executed": total / 4, "sm__issue_active": total * 1.001 / 4}
    need |= {metric: pipes.get(pipe, 0.0) for metric, pipe in names.PIPE_METRICS.items()}
    tensor = sum(operations / chip.tensor[rate] for rate, operations in kernel.tensor.items())
    need |= dict.fromkeys(names.TENSOR_PIPES, tensor)
    memory = kernel.executed("LDG", "STG", "LDS", "STS", "LDSM", "LDGSTS", "ATOMG", "RED")
    need |= {
        "sm__mio_inst_issued": memory / 2,
        "sm__mio_pq_read_cycles_active": memory / 2,
        "sm__mio_pq_write_cycles_active": memory / 2,
        "sm__mio2rf_writeback_active": kernel.executed("LDG", "LDS", "LDSM") / 2,
        "idc__request_cycles_active": kernel.executed("LDC", "LDCU") / 1,
    }
    return need


def _l1_cycles(chip: Chip, kernel: Kernel) -> dict[str, float]:
    shared_loads, shared_stores = shared_wavefronts(kernel)
    loads, stores = kernel.executed("LDG", "LDGSTS"), kernel.executed("STG", "RED", "ATOMG")
    wide = kernel.wavefronts_per_global
    everything = shared_loads + shared_stores + (loads + stores) * wide
    return {
        "l1tex__data_pipe_lsu_wavefronts": everything,
        "l1tex__data_bank_reads": kernel.executed("LDS", "LDSM") + loads * wide,
        "l1tex__data_bank_writes": kernel.executed("STS") + loads * wide,
        "l1tex__lsuin_requests": kernel.executed(
            "LDG", "STG", "LDS", "STS", "LDSM", "LDGSTS", "ATOMG", "RED"
        ),
        "l1tex__lsu_writeback_active": kernel.executed("LDS", "LDSM") + loads * wide,
        "l1tex__m_l1tex2xbar_req_cycles_active": kernel.l2_write,
        "l1tex__m_xbar2l1tex_read_sectors": kernel.l2_read / chip.xbar_read_sectors,
    }


def _l2_cycles(chip: Chip, kernel: Kernel) -> dict[str, float]:
    sectors = kernel.l2_read + kernel.l2_write
    return {
        "lts__t_sectors": sectors / chip.l2_sectors,
        "lts__t_tag_requests": sectors / 4,
        "lts__d_sectors": sectors / 2,
        "lts__d_sectors_fill_device": kernel.dram_read / 32,
        "lts__lts2xbar_cycles_active": kernel.l2_read / chip.l2_read_sectors,
        "lts__xbar2lts_cycles_active": kernel.l2_write,
    }


def shared_wavefronts(kernel: Kernel) -> tuple[int, int]:
    """Shared-memory wavefronts of loads and of stores."""
    loads = kernel.executed("LDS", "LDSM") * kernel.wavefronts_per_load
    return loads, kernel.executed("STS") * kernel.wavefronts_per_store
