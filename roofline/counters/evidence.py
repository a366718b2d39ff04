"""Counters that prove causes: by name what is counted, and ratios that are kept as they are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import fsum, inf

from roofline.counters.recipes import Recipe, read
from roofline.model import Metrics

_ELAPSED = ".avg.pct_of_peak_sustained_elapsed"
_OPCODES = "sass__inst_executed_per_opcode_with_modifier_all"
_BY_ADDRESS = "inst_executed"


def _sum(how: str, *names: str, ops: str = "ld st") -> Recipe:
    """The sum of counters; in ``names`` braces stand for each of ``ops``."""
    needs = dict.fromkeys(f"{name.format(op)}.sum" for name in names for op in ops.split())
    return Recipe(how, tuple(needs), lambda *values: sum(values))


def _plain(*names: str) -> tuple[Recipe, ...]:
    return tuple(Recipe(name, (name,), float) for name in names)


def _sectors(space: str, of: str = "t_sectors", end: str = "") -> Recipe:
    return _sum(f"{space} {of}", f"l1tex__{of}_pipe_lsu_mem_{space}_op_{{}}{end}")


# Counts of a launch, which add up over launches.
COUNTS: Mapping[str, tuple[Recipe, ...]] = {
    "shared_conflicts": (
        _sum("loads and stores", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}"),
        *_plain("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"),
    ),
    "shared_wavefronts": _plain("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"),
    "shared_requests": (
        _sum("SASS counters", "smsp__sass_inst_executed_op_shared_{}"),
        _sum("instructions", "smsp__inst_executed_op_shared_{}"),
    ),
    "shared_table_wavefronts": _plain("memory_l1_wavefronts_shared"),
    "shared_table_ideal": _plain("memory_l1_wavefronts_shared_ideal"),
    "global_requests": (_sectors("global", "t_requests"),),
    "global_sectors": (_sectors("global"),),
    "local_sectors": (_sectors("local"),),
    "local_misses": (_sectors("local", end="_lookup_miss"),),
    "requested_sectors": _plain("memory_l2_theoretical_sectors_global", "memory_l2_sectors_global"),
    "ideal_sectors": _plain(
        "memory_l2_theoretical_sectors_global_ideal", "memory_l2_sectors_global_ideal"
    ),
    "excess_sectors": (
        *_plain("derived__memory_l2_theoretical_sectors_global_excessive"),
        *(
            Recipe(
                f"{name} without its ideal", (name, f"{name}_ideal"), lambda all_, rest: all_ - rest
            )
            for name in ("memory_l2_theoretical_sectors_global", "memory_l2_sectors_global")
        ),
    ),
    "spills": _plain("sass__inst_executed_register_spilling", "derived__local_spilling_requests"),
    "elapsed_cycles": _plain("sm__cycles_elapsed.max", "gpc__cycles_elapsed.max"),
}
# Percentages and ratios, which are means over time.
RATIOS: Mapping[str, tuple[Recipe, ...]] = {
    "wavefronts_percent": _plain(f"l1tex__data_pipe_lsu_wavefronts{_ELAPSED}"),
    "requests_percent": _plain(f"l1tex__lsuin_requests{_ELAPSED}"),
    "atomics_percent": _plain(f"lts__d_atomic_input_cycles_active{_ELAPSED}"),
    "host_fill_percent": _plain(f"lts__d_sectors_fill_sysmem{_ELAPSED}"),
    "device_fill_percent": _plain(f"lts__d_sectors_fill_device{_ELAPSED}"),
    "lanes": _plain("smsp__thread_inst_executed_per_inst_executed.ratio"),
    "sm_balance": (
        Recipe(
            "sm__cycles_active.avg over .max",
            ("sm__cycles_active.avg", "sm__cycles_active.max"),
            lambda mean, most: mean / most if most else None,
        ),
    ),
}
# Warp-level executions, by the beginnings of their opcodes.
MIX = {
    "moves": ("MOV",),
    "fp64_instructions": ("DADD", "DMUL", "DFMA", "DSETP", "DMNMX", "MUFU.RCP64H"),
    "fp64_divisions": ("MUFU.RCP64H",),
    "fp32_divisions": ("FCHK",),
    "conversions": ("I2F", "F2I", "F2F", "FRND", "I2I"),
    "to_float": ("I2F",),
    "to_integer": ("F2I",),
    "constant_loads": ("LDC",),
}
# So few registers less are worth a try, as a share of those that are used.
_FEWER = 0.75
# Executed moves of which a debug build may be made, and its least length.
_MANY_MOVES, _SHORT_CODE = 0.15, 16
_ONTO_ITSELF = re.compile(r"(?<![.\w])MOV (R\d+), \1\b")


def counts_of(metrics: Metrics) -> dict[str, float]:
    """Counts by name; one that the report lacks, or that is negative, is not there."""
    found = _read(COUNTS, metrics)
    mix = metrics.instances(_OPCODES)
    if mix:
        found["instructions"] = sum(mix.values())
        for name, opcodes in MIX.items():
            found[name] = fsum(count for opcode, count in mix.items() if _is(opcode, opcodes))
    return found


def ratios_of(
    metrics: Metrics, counts: Mapping[str, float], registers: float | None
) -> dict[str, float]:
    """Ratios by name, among them what other registers or blocks would make of the occupancy."""
    found = _read(RATIOS, metrics)
    curve = _curve(metrics, "launch__occupancy_per_register_count")
    steps = {r: w for r, w in curve.items() if registers and _FEWER * registers <= r < registers}
    if steps:
        most = max(steps.values())
        found |= {
            "fewer_registers": max(r for r, warps in steps.items() if warps == most),
            "fewer_registers_warps": most,
        }
    blocks = _curve(metrics, "launch__occupancy_per_block_size")
    # Of sizes with as many warps the nearest to today's would do; whole warps, and not tiny ones.
    sizes = {b: w for b, w in blocks.items() if b % 32 == 0 and 64 <= b <= 512}
    if sizes:
        most, size = max(sizes.values()), metrics.number("launch__block_size") or 256.0
        best = min((b for b, w in sizes.items() if w == most), key=lambda b: abs(b - size))
        found |= {"other_block": best, "other_block_warps": most}
    repeated = _repeated_moves(metrics, counts)
    if repeated is not None:
        found["repeated_moves"] = repeated
    return found


def _read(recipes: Mapping[str, tuple[Recipe, ...]], metrics: Metrics) -> dict[str, float]:
    found = {name: read(ways, metrics) for name, ways in recipes.items()}
    return {name: one.value for name, one in found.items() if one is not None and one.value >= 0}


def _is(opcode: str, beginnings: tuple[str, ...]) -> bool:
    """Whether an opcode is one of ``beginnings``, with or without further modifiers."""
    return any(opcode == one or opcode.startswith(f"{one}.") for one in beginnings)


def _curve(metrics: Metrics, name: str) -> dict[float, float]:
    """Warps an SM, by registers or by threads a block."""
    rows = metrics.instances(name).items()
    return {float(key): warps for key, warps in rows if key.replace(".", "", 1).isdigit()}


def _repeated_moves(metrics: Metrics, counts: Mapping[str, float]) -> float | None:
    """The share of the code that moves a register onto itself; only debug builds have any.

    The code is read only where moves were many or are not known, as that costs time.
    """
    if counts.get("moves", inf) < _MANY_MOVES * counts.get("instructions", 0.0):
        return None
    code = [line for at in metrics.instances(_BY_ADDRESS) if (line := metrics.sass(at))]
    if len(code) < _SHORT_CODE:
        return None
    return sum(_ONTO_ITSELF.search(line) is not None for line in code) / len(code)
