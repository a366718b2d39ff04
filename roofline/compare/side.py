"""From groups of launches to one side of a pair: per launch, or summed where shapes are summed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite, prod

from roofline.compare.model import Capture, Lone, Side
from roofline.model import Analysis, Family, Group, Measurement
from roofline.text.names import last_part
from roofline.verdict.utilization import COMPUTED

# What ncu was told that decides whether captures compare, where files record it.
SETTINGS = ("clock_control", "cache_control", "replay_mode")


def side_of(analysis: Analysis, groups: Sequence[Group], *, total: bool) -> Side:
    """What ``groups`` (one, or several that together replace one) did, per launch or in total."""
    main = max(groups, key=lambda g: g.total_s or 0.0)
    measured, verdict = main.result.measurement, main.result.verdict
    positions = tuple(sorted(p for g in groups for p in g.launches))
    durations = tuple(
        d for p in positions if (d := analysis.results[p].measurement.duration_s) is not None
    )
    busy = _sum([g.total_s for g in groups])
    duration = None if busy is None else busy if total else busy / max(len(durations), 1)
    counts = [1.0 if total else 1.0 / max(len(g.launches), 1) for g in groups]
    scales = [_scale(g) * c for g, c in zip(groups, counts, strict=True)]
    use, families = _utilization(groups)
    floor = _relative(verdict.floor_s, measured)
    next_floor = _relative(verdict.next_floor_s, measured)
    return Side(
        name=measured.name,
        demangled=measured.demangled,
        grid=measured.grid,
        block=measured.block,
        launches=len(positions),
        shape_count=len(groups),
        result=main.result,
        sources=_distinct(last_part(analysis.results[p].measurement.source) for p in positions),
        device=measured.device.name,
        duration_s=duration,
        durations_s=durations,
        total_s=busy,
        dram_bytes=_weighted(groups, scales, lambda m: m.dram_bytes),
        operations=_operations(groups, scales),
        unmeasured=_distinct(u for g in groups for u in g.result.measurement.unmeasured),
        utilization=use,
        families=families,
        computed=_computed(groups),
        bound=verdict.bound,
        limiter=verdict.limiter,
        limiter_percent=verdict.limiter_percent,
        nearest=verdict.nearest,
        co_limited=verdict.co_limited,
        cause=verdict.cause,
        cause_text=verdict.cause_text,
        floor_s=None if floor is None or duration is None else floor * duration,
        next_limiter=verdict.next_limiter,
        next_floor_s=None if next_floor is None or duration is None else next_floor * duration,
        sm_clock_hz=measured.sm_clock_hz,
        dram_clock_hz=measured.dram_clock_hz,
        threads=_threads(groups, total=total),
        waves=measured.waves,
        occupancy_percent=measured.occupancy_percent,
        registers_per_thread=measured.registers_per_thread,
        shared_memory_bytes=measured.shared_memory_bytes,
    )


def capture_of(analysis: Analysis) -> Capture:
    """One side as a whole, as its files describe it."""
    measured = [r.measurement for r in analysis.results]
    return Capture(
        sources=tuple(last_part(s.path) for s in analysis.sources),
        launches=len(measured),
        kernels=len(analysis.groups),
        devices=_distinct(m.device.name for m in measured),
        ncu_versions=_distinct(m.ncu_version for m in measured),
        settings=_settings(measured),
        total_s=_sum([m.duration_s for m in measured if m.duration_s is not None]),
    )


def _settings(measured: Sequence[Measurement]) -> dict[str, str]:
    said = {key: _distinct(m.settings.get(key) for m in measured) for key in SETTINGS}
    return {key: ", ".join(values) for key, values in said.items() if values}


def lone_of(analysis: Analysis, group: Group) -> Lone:
    """A kernel without a counterpart."""
    return Lone(
        name=group.result.measurement.name,
        launches=len(group.launches),
        total_s=group.total_s,
        share=group.share,
        side=side_of(analysis, [group], total=False),
    )


def _scale(group: Group) -> float:
    """Brings a folded measurement's sums to the sum over all of the group's launches."""
    return len(group.launches) / max(group.result.measurement.count, 1)


def _weighted(
    groups: Sequence[Group], scales: Sequence[float], get: Callable[[Measurement], float | None]
) -> float | None:
    parts = [get(g.result.measurement) for g in groups]
    return _sum([None if p is None else p * s for p, s in zip(parts, scales, strict=True)])


def _operations(groups: Sequence[Group], scales: Sequence[float]) -> Mapping[str, float]:
    """Operations by key; nothing where one group has none measured, as a part is not the whole."""
    if not all(g.result.measurement.operations for g in groups):
        return {}
    summed: dict[str, float] = {}
    for group, scale in zip(groups, scales, strict=True):
        for key, count in group.result.measurement.operations.items():
            summed[key] = summed.get(key, 0.0) + count * scale
    return summed


def _utilization(groups: Sequence[Group]) -> tuple[dict[str, float], dict[str, Family]]:
    """Percent of peak by unit, weighted by time where several groups are summed."""
    use: dict[str, float] = {}
    families: dict[str, Family] = {}
    uses = [g.result.measurement.units for g in groups]
    shared = set.intersection(*({use.unit for use in of_group} for of_group in uses))
    weights = [g.total_s or 0.0 for g in groups]
    whole = sum(weights)
    for of_group, weight in zip(uses, weights, strict=True):
        part = weight / whole if whole else 1.0 / len(groups)
        for unit in of_group:
            if unit.unit in shared and isfinite(unit.percent):
                use[unit.unit] = use.get(unit.unit, 0.0) + unit.percent * part
                families[unit.unit] = unit.family
    return use, families


def _computed(groups: Sequence[Group]) -> tuple[str, ...]:
    """The units whose utilisation no counter measured."""
    uses = (use for g in groups for use in g.result.measurement.units)
    return _distinct(use.unit for use in uses if use.metric.endswith(COMPUTED))


def _threads(groups: Sequence[Group], *, total: bool) -> float | None:
    shapes = [(g.result.measurement.grid, g.result.measurement.block, g) for g in groups]
    return _sum(
        [
            None
            if grid is None or block is None
            else float(prod(grid) * prod(block) * (len(g.launches) if total else 1))
            for grid, block, g in shapes
        ]
    )


def _relative(seconds: float | None, measured: Measurement) -> float | None:
    if seconds is None or not measured.duration_s:
        return None
    return seconds / measured.duration_s


def _sum(values: Sequence[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return sum(known) if values and len(known) == len(values) else None


def _distinct(values: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(v for v in values if v))
