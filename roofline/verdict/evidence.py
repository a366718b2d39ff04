"""Evidence for the knowledge base: what was measured of a launch, under the names it reads."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from roofline.kernel_names import library
from roofline.model import Family, Measurement, Rule, UnitUse, exceeds
from roofline.units import FEW_FP64

_WARP = 32
_SECTOR_BYTES = 32.0
_WORD_SECTORS = 4.0  # of a whole warp that reads a word of 4 bytes a lane
# Wavefronts of L1 are counted against one a cycle, requests against one or every second cycle.
_REQUESTS_A_CYCLE = {
    **dict.fromkeys(("7.0", "7.2", "8.0", "9.0", "10.0"), 1.0),
    **dict.fromkeys(("7.5", "8.6", "8.9", "12.0", "12.1"), 0.5),
}


def evidence_of(m: Measurement, uses: Sequence[UnitUse], rule: Rule) -> dict[str, float]:
    """All that is known, of the mean launch; what was not measured is not there."""
    counts = (
        {name: count / m.count for name, count in m.counts.items()} if m.count > 1 else m.counts
    )
    known = {**counts, **m.ratios, **{f"stall_{s.reason}": s.share for s in m.stalls}}
    made_by = library(m.demangled or m.name)
    found: dict[str, float | None] = {
        **_units(uses, rule),
        **_launch(m, known),
        "duration_s": _each(m.duration_s, m),
        "dram_bytes": _each(m.dram_bytes, m),
        "few_waves": rule.waves,
        "library": float(made_by is not None),
        "cutlass": float(made_by == "cutlass"),
        "few_fp64": float(m.device.compute_capability in FEW_FP64),
        **_shared(m, known),
        **_memory(m, known),
        **_instructions(known),
    }
    known.update({name: value for name, value in found.items() if value is not None})
    return known


def _units(uses: Sequence[UnitUse], rule: Rule) -> dict[str, float | None]:
    busiest = max((use.percent for use in uses), default=0.0)
    nearest = max((use.near for use in uses), default=0.0)
    found: dict[str, float | None] = {"busiest": busiest, "latency": float(busiest < rule.latency)}
    for use in uses:
        found[use.unit] = use.percent
        if use.full_at != 100.0:
            found[f"{use.unit}_full"] = use.full_at
        if not exceeds(nearest - use.near, rule.balance):
            found[f"near_{use.unit}"] = 1.0
            if use.family is Family.COMPUTE:
                found["near_compute"] = 1.0
    return found


def _launch(m: Measurement, known: Mapping[str, float]) -> dict[str, float | None]:
    """Grid, block, waves, occupancy and how long SMs had work."""
    sms = m.sm_count or m.device.sm_count
    blocks = None if m.grid is None else float(math.prod(m.grid))
    threads = None if m.block is None else float(math.prod(m.block))
    fill = None if blocks is None or not sms else min(1.0, blocks / sms)
    active = None if m.sm_active_percent is None else min(1.0, m.sm_active_percent / 100)
    achieved, most = m.occupancy_percent, m.theoretical_occupancy_percent
    whole = None if m.waves is None else float(math.ceil(m.waves))
    idle = None
    if active is not None and "elapsed_cycles" in known:
        idle = known["elapsed_cycles"] * max(0.0, 1 - active / (fill or 1.0))
    tail = None if not m.waves or not whole else 1 - m.waves / whole
    if tail is not None and active is not None and achieved is not None and most:
        tail = min(tail, max(0.0, 1 - active * achieved / most))
    limit = m.device.max_warps_per_sm
    wide = None if threads is None else float(_WARP * math.ceil(threads / _WARP))
    would, fewer = known.get("fewer_registers_warps"), m.occupancy_limiter or ""
    return {
        "sms": None if sms is None else float(sms),
        "blocks": blocks,
        "threads": threads,
        "warp_lanes": wide,
        "empty_lanes": None if not wide or threads is None else 1 - threads / wide,
        "waves": m.waves,
        "whole_waves": whole,
        "fill": fill,
        "sm_active": active,
        "idle_cycles": idle,
        "tail": tail,
        "achieved": achieved,
        "theoretical": most,
        "warps": None if most is None or limit is None else float(round(most / 100 * limit)),
        "registers": m.registers_per_thread,
        "registers_limit": None if most is None else float("registers" in fewer),
        "launch_blocks": None if would is None or not wide else would * _WARP // wide,
    }


def _shared(m: Measurement, known: Mapping[str, float]) -> dict[str, float | None]:
    """Bank conflicts; the table of theory only where nothing counted them."""
    wavefronts, conflicts = known.get("shared_wavefronts"), known.get("shared_conflicts")
    requests, cycles = known.get("shared_requests"), known.get("elapsed_cycles")
    loads = known.get("shared_load_conflicts"), known.get("shared_load_requests")
    share = _part(conflicts, wavefronts)
    ops = [(conflicts, requests)]
    if None not in (conflicts, requests, *loads):  # the worse of both, which need not be alike
        ops = [loads, (conflicts - loads[0], requests - loads[1])]  # type: ignore[operator]
    repeats = [part for op in ops if (part := _part(*op)) is not None]
    if conflicts is None and "shared_table_ideal" in known:
        ideal, table = known["shared_table_ideal"], known.get("shared_table_wavefronts")
        share = None if not table else 1 - ideal / table
    percent, whole = known.get("wavefronts_percent"), None
    if percent and cycles and m.device.sm_count:
        whole = percent / 100 * cycles * m.device.sm_count
    shared = _part(wavefronts, whole)
    if m.shared_memory_bytes == 0 and wavefronts is None:
        shared = 0.0
    return {
        "conflict_share": share,
        "conflict_ways": 1 + max(repeats) if repeats else None,
        "shared_share": None if shared is None else min(shared, 1.0),
    }


def _memory(m: Measurement, known: Mapping[str, float]) -> dict[str, float | None]:
    """Coalescing, local memory, atomics."""
    asked, ideal = known.get("requested_sectors"), known.get("ideal_sectors")
    a_cycle = _REQUESTS_A_CYCLE.get(m.device.compute_capability or "")
    requests = known.get("requests_percent")
    passes = None
    if requests and a_cycle and "wavefronts_percent" in known:
        passes = known["wavefronts_percent"] / (requests * a_cycle)
    words = _part(ideal, known.get("global_requests"))
    local, misses = known.get("local_sectors"), known.get("local_misses")
    missed = None if misses is None else misses * _SECTOR_BYTES * m.count
    l2 = next((use.percent for use in m.units if use.unit == "l2"), None)
    atomics = known.get("atomics_percent")
    return {
        "passes": passes,
        "words": None if words is None else max(1.0, words / _WORD_SECTORS),
        "excess_share": _part(known.get("excess_sectors"), asked),
        "ideal_bytes": None if ideal is None else ideal * _SECTOR_BYTES,
        "local_share": None
        if local is None or "global_sectors" not in known
        else _part(local, local + known["global_sectors"]),
        "local_dram_share": _part(missed, m.dram_bytes),
        "local_l2_share": _part(missed, m.l2_bytes),
        "atomics_lead": None if atomics is None or l2 is None else float(atomics >= l2 - 0.5),
    }


def _instructions(known: Mapping[str, float]) -> dict[str, float | None]:
    """Shares of the opcode mix, and idle lanes."""
    whole, lanes = known.get("instructions"), known.get("lanes")
    pairs: dict[str, float | None] = {}
    for kind in ("fp64", "fp32"):  # an add needs a multiply to be fused with
        apart, adds = known.get(f"{kind}_separate"), known.get(f"{kind}_adds")
        if apart is not None and adds is not None:
            pairs[f"{kind}_pairs"] = min(adds, apart - adds)
    converted = known.get("fp64_conversions")
    piped = known.get("fp64_instructions", 0.0) - known.get("fp64_divisions", 0.0)  # those are XU's
    return pairs | {
        "fp64_conversion_share": _part(converted, piped + (converted or 0.0)),
        "idle_lanes": None if lanes is None else max(0.0, 1 - lanes / _WARP),
        "moves_share": _part(known.get("moves"), whole),
        "fp64_division_share": _part(known.get("fp64_divisions"), known.get("fp64_instructions")),
        "fp32_division_share": _part(known.get("fp32_divisions"), whole),
        "constant_share": _part(known.get("constant_loads"), whole),
    }


def _each(amount: float | None, m: Measurement) -> float | None:
    return None if amount is None else amount / m.count


def _part(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole
