"""From a kernel and its time to what a report says; nothing is drawn at random."""

from __future__ import annotations

import math

from sample_reports import names
from sample_reports.chips import Chip, attributes
from sample_reports.model import Kernel, Timing, demands, shared_wavefronts, timing
from sample_reports.writer import Metric, Scalar

Counters = dict[str, Scalar | Metric]


def counters(chip: Chip, kernel: Kernel, collected: str) -> Counters:
    """All metrics of one launch as ``--set full`` or ``--set basic`` would hold them."""
    time = timing(chip, kernel)
    values: Counters = {**attributes(chip), **_geometry(chip, kernel)}
    values |= _clocks(chip, kernel, time)
    values |= _throughput(chip, kernel, time)
    values["profiler__replayer_passes"] = float(chip.passes[collected])
    if collected == "full":
        values |= _traffic(chip, kernel, time)
        values |= _instructions(chip, kernel, time)
        values |= _tensor(chip, kernel, time)
        values |= _warps(chip, kernel, time)
    return values


def _share(chip: Chip, time: Timing, metric: str, need: float) -> float:
    """Percent of peak: demand in seconds over the whole cycles of the metric's domain."""
    if metric.startswith(("dram", "fbpa")):
        return 100 * need * chip.dram_mhz * 1e6 / time.dram
    if metric.startswith("lts"):
        return 100 * need * chip.l2_mhz * 1e6 / time.l2
    return 100 * need * chip.sm_mhz * 1e6 / time.sm


def _throughput(chip: Chip, kernel: Kernel, time: Timing) -> Counters:
    need = demands(chip, kernel)
    suffix = ".avg.pct_of_peak_sustained_elapsed"
    values: Counters = {}
    for whole, members in names.breakdowns(chip).items():
        shares = {m: _share(chip, time, m, need.get(m, 0.0)) for m in members}
        values |= {member + suffix: share for member, share in shares.items()}
        values[f"breakdown:{whole}{suffix}"] = ",".join(member + suffix for member in members)
        values[whole + suffix] = max(shares.values())
        for unit in ("l1tex", "lts"):
            if mine := [share for member, share in shares.items() if member.startswith(unit)]:
                values[f"{unit}__throughput{suffix}"] = max(mine)
    active = ".avg.pct_of_peak_sustained_active"
    l1 = values[f"l1tex__throughput{suffix}"]
    assert isinstance(l1, float)
    values[f"l1tex__throughput{active}"] = l1 * time.sm / round(time.sm * kernel.active)
    if chip.dram_bytes_per_cycle is not None:
        dram = [values[f"{m}{suffix}"] for m in ("dram__cycles_active", "fbpa__dram_sectors")]
        values[f"gpu__dram_throughput{suffix}"] = max(x for x in dram if isinstance(x, float))
    return values


def _clocks(chip: Chip, kernel: Kernel, time: Timing) -> Counters:
    busy = round(time.sm * kernel.active)
    values: Counters = {"gpu__time_duration.sum": float(time.ns)}
    for unit in ("gpc", "sm", "smsp", "l1tex"):
        values[f"{unit}__cycles_elapsed.avg"] = float(time.sm)
        values[f"{unit}__cycles_elapsed.avg.per_second"] = time.hz(time.sm)
    values["gpc__cycles_elapsed.max"] = float(time.sm)
    for unit in ("sm", "smsp", "l1tex"):
        values[f"{unit}__cycles_active.avg"] = float(busy)
    values["lts__cycles_elapsed.avg"] = float(time.l2)
    values["lts__cycles_elapsed.avg.per_second"] = time.hz(time.l2)
    if chip.dram_bytes_per_cycle is not None:
        moved = kernel.dram_read + kernel.dram_write
        values["dram__cycles_elapsed.avg"] = float(time.dram)
        values["dram__cycles_elapsed.avg.per_second"] = time.hz(time.dram)
        values["dram__cycles_active.avg"] = moved / chip.dram_bytes_per_cycle
    return values


def _geometry(chip: Chip, kernel: Kernel) -> Counters:
    threads, blocks = math.prod(kernel.block), math.prod(kernel.grid)
    warps = -(-threads // 32)
    per_warp = -(-kernel.registers * 32 // 256) * 256
    shared = kernel.static_shared + kernel.dynamic_shared + 1024
    allocated = -(-shared // 128) * 128
    limits = {
        "blocks": chip.max_blocks,
        "warps": chip.max_warps // warps,
        "registers": 4 * (65536 // 4 // per_warp) // warps,
        "shared_mem": chip.shared_bytes // allocated,
    }
    resident = min(limits.values())
    assert resident > 0, f"{kernel.name} does not fit on {chip.name}: {limits}"
    values: Counters = {f"launch__occupancy_limit_{k}": float(v) for k, v in limits.items()}
    for letter, grid, block in zip("xyz", kernel.grid, kernel.block, strict=True):
        values |= {f"launch__grid_dim_{letter}": grid, f"launch__block_dim_{letter}": block}
    occupied = resident * warps
    most = min(occupied, -(-blocks // chip.sms) * warps)  # what one SM ever holds
    assert occupied * kernel.occupancy <= most, f"{kernel.name}: more warps than were launched"
    return values | {
        "launch__grid_size": blocks,
        "launch__block_size": threads,
        "launch__thread_count": blocks * threads,
        "launch__registers_per_thread": kernel.registers,
        "launch__shared_mem_per_block_static": kernel.static_shared,
        "launch__shared_mem_per_block_dynamic": kernel.dynamic_shared,
        "launch__shared_mem_per_block_driver": 1024,
        "launch__shared_mem_per_block": shared,
        "launch__shared_mem_config_size": chip.shared_bytes,
        "launch__sm_count": chip.sms,
        "launch__device_id": 0,
        "launch__context_id": 1,
        "launch__stream_id": 7,
        "launch__func_cache_config": "CachePreferNone",
        "launch__waves_per_multiprocessor": blocks / (chip.sms * resident),
        "sm__maximum_warps_avg_per_active_cycle": float(occupied),
        "sm__maximum_warps_per_active_cycle_pct": 100.0 * occupied / chip.max_warps,
        "sm__warps_active.avg.pct_of_peak_sustained_active": 100.0
        * occupied
        * kernel.occupancy
        / chip.max_warps,
        "sm__warps_active.avg.per_cycle_active": occupied * kernel.occupancy,
    }


def _traffic(chip: Chip, kernel: Kernel, time: Timing) -> Counters:
    seconds = time.ns * 1e-9
    loads, stores = shared_wavefronts(kernel)
    ideal = kernel.executed("LDS", "LDSM") + kernel.executed("STS")
    misses = (kernel.dram_read + kernel.dram_write) // 32
    sectors = kernel.l2_read + kernel.l2_write
    values: Counters = {
        "lts__t_sectors.sum": float(sectors),
        "lts__t_sectors.avg.peak_sustained": chip.l2_sectors,
        "lts__t_sectors_op_read.sum": float(kernel.l2_read),
        "lts__t_sectors_op_write.sum": float(kernel.l2_write),
        "lts__t_sectors_lookup_miss.sum": float(min(misses, sectors)),
        "lts__t_sectors_lookup_hit.sum": float(sectors - min(misses, sectors)),
        "lts__t_sector_hit_rate.pct": 100.0 * (1 - min(misses, sectors) / sectors),
        "derived__lts__lts2xbar_bytes.sum.per_second": 32.0 * kernel.l2_read / seconds,
        "derived__lts__lts2xbar_bytes.sum.peak_sustained": 32.0
        * chip.l2_read_sectors
        * chip.slices,
        "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum": float(loads + stores),
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": float(loads),
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum": float(stores),
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum": float(loads + stores - ideal),
        "l1tex__m_xbar2l1tex_read_bytes.sum": 32.0 * kernel.l2_read,
        "l1tex__m_l1tex2xbar_write_bytes.sum": 32.0 * kernel.l2_write,
    }
    if chip.dram_bytes_per_cycle is None:
        return values
    moved = kernel.dram_read + kernel.dram_write
    return values | {
        "dram__bytes_read.sum": float(kernel.dram_read),
        "dram__bytes_write.sum": float(kernel.dram_write),
        "dram__bytes_read.sum.per_second": kernel.dram_read / seconds,
        "dram__bytes_write.sum.per_second": kernel.dram_write / seconds,
        "dram__bytes.sum.per_second": moved / seconds,
        "dram__bytes.sum.peak_sustained": float(chip.dram_bytes_per_cycle),
        "dram__sectors_read.sum": kernel.dram_read / 32,
        "dram__sectors_write.sum": kernel.dram_write / 32,
    }


def _instructions(chip: Chip, kernel: Kernel, time: Timing) -> Counters:
    total = float(sum(kernel.opcodes.values()))
    mix = sorted(kernel.opcodes.items(), key=lambda item: -item[1])
    roots: dict[str, float] = {}
    for code, count in mix:
        roots[code.split(".")[0]] = roots.get(code.split(".")[0], 0.0) + count
    values: Counters = {
        "smsp__inst_executed.sum": total,
        "sass__inst_executed_per_opcode": Metric(total, tuple(roots.items())),
        "sass__inst_executed_per_opcode_with_modifier_all": Metric(
            total, tuple((code, float(count)) for code, count in mix)
        ),
        "sm__inst_executed.avg.per_cycle_elapsed": total / chip.sms / time.sm,
        "smsp__inst_executed.avg": total / chip.sms / 4,
    }
    for letter, root in (("f", "FFMA"), ("d", "DFMA")):
        for kind in ("add", "mul", "fma"):
            executed = kernel.executed(f"{letter.upper()}{kind.upper()}")
            name = f"smsp__sass_thread_inst_executed_op_{letter}{kind}_pred_on"
            values[f"{name}.sum.per_cycle_elapsed"] = 32.0 * executed / time.sm
        lanes = 32.0 * chip.pipes["fma" if root == "FFMA" else "fp64"] * chip.sms
        peak = f"sm__sass_thread_inst_executed_op_{letter}fma_pred_on"
        values[f"{peak}.sum.peak_sustained"] = lanes
        values[f"derived__{peak}_x2"] = 2 * lanes
    return values


def _tensor(chip: Chip, kernel: Kernel, time: Timing) -> Counters:
    """Operation counters of the tensor cores, on the chips whose full set collects them."""
    values: Counters = {}
    for name, (peak, rates) in names.TENSOR_COUNTERS.get(chip.chip, {}).items():
        done = float(sum(kernel.tensor.get(rate, 0) for rate in rates))
        counter = f"sm__ops_path_tensor_{name}"
        values |= {
            f"{counter}.sum": done,
            f"{counter}.sum.peak_sustained": peak * chip.sms,
            f"{counter}.sum.per_cycle_elapsed": done / time.sm,
            f"{counter}.sum.per_second": done / time.ns * 1e9,
            f"{counter}.avg.pct_of_peak_sustained_elapsed": 100
            * done
            / (peak * chip.sms * time.sm),
        }
    return values


def _warps(chip: Chip, kernel: Kernel, time: Timing) -> Counters:
    """Stall reasons: warps resident for each instruction issued, less the one that issues."""
    geometry = _geometry(chip, kernel)
    resident = geometry["sm__warps_active.avg.per_cycle_active"]
    assert isinstance(resident, float)
    issued = sum(kernel.opcodes.values()) * 1.001 / chip.sms / 4
    per_cycle = issued / round(time.sm * kernel.active)
    latency = resident / 4 / per_cycle
    assert latency >= 1, f"{kernel.name}: more instructions than warps can issue"
    weights = {**dict.fromkeys(names.stalls(chip), 0.0), **kernel.stalls}
    total = sum(weights.values())
    values: Counters = {
        "smsp__average_warp_latency_per_inst_issued.ratio": latency,
        "smsp__issue_active.avg.per_cycle_active": per_cycle,
        "smsp__warps_active.avg.per_cycle_active": resident / 4,
        "smsp__average_warps_issue_stalled_selected_per_issue_active.ratio": 1.0,
    }
    for reason, weight in weights.items():
        name = f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio"
        values[name] = (latency - 1) * weight / total
    return values
