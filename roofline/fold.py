"""Several launches of one kernel as one measurement: sums over sums, never means of ratios."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from roofline.model import Measurement, Note, Peaks, Stall, UnitUse
from roofline.units import ranked

Key = tuple[object, ...]
_T = TypeVar("_T")


def key_of(m: Measurement) -> Key:
    """What makes launches the same kernel: name, grid, block and device."""
    return (m.demangled, m.name, m.kind, m.grid, m.block, m.device.name, m.device.index)


def fold(launches: Sequence[Measurement]) -> Measurement:
    """Sum launches of one kernel.

    Amounts and times are summed, and are ``None`` where one launch lacks them; percentages,
    clocks and peaks are weighted by time, which makes them sums over sums. What differs between
    the launches and cannot be summed is kept only where all agree.
    """
    first = launches[0]
    if len(launches) == 1:
        return first
    keys = set(first.operations)
    for launch in launches[1:]:
        keys &= set(launch.operations)
    uneven = any(set(launch.operations) != keys for launch in launches)
    return replace(
        first,
        count=sum(launch.count for launch in launches),
        duration_s=_sum(launches, lambda m: m.duration_s),
        dram_bytes=_sum(launches, lambda m: m.dram_bytes),
        dram_read_bytes=_sum(launches, lambda m: m.dram_read_bytes),
        dram_write_bytes=_sum(launches, lambda m: m.dram_write_bytes),
        l2_bytes=_sum(launches, lambda m: m.l2_bytes),
        l1_bytes=_sum(launches, lambda m: m.l1_bytes),
        operations={k: sum(m.operations[k] for m in launches) for k in sorted(keys)},
        unmeasured=_union(m.unmeasured for m in launches) + (("some launches",) if uneven else ()),
        sm_clock_hz=_over_time(launches, lambda m: m.sm_clock_hz),
        dram_clock_hz=_over_time(launches, lambda m: m.dram_clock_hz),
        units=_units(launches),
        waves=_over_time(launches, lambda m: m.waves),
        occupancy_percent=_over_time(launches, lambda m: m.occupancy_percent),
        theoretical_occupancy_percent=_over_time(
            launches, lambda m: m.theoretical_occupancy_percent
        ),
        sm_active_percent=_over_time(launches, lambda m: m.sm_active_percent),
        occupancy_limiter=_same(launches, lambda m: m.occupancy_limiter),
        registers_per_thread=_same(launches, lambda m: m.registers_per_thread),
        shared_memory_bytes=_same(launches, lambda m: m.shared_memory_bytes),
        tensor_path=_same(launches, lambda m: m.tensor_path),
        passes=_same(launches, lambda m: m.passes),
        process=_same(launches, lambda m: m.process),
        nvtx=_same(launches, lambda m: m.nvtx) or (),
        stalls=_stalls(launches),
        peaks=_peaks(launches),
        missing=_union(m.missing for m in launches),
        notes=_union(m.notes for m in launches),
    )


def mixed_note(bounds: dict[str, int]) -> Note | None:
    """What to say where the launches of one kernel were judged differently."""
    if len(bounds) < 2:
        return None
    parts = ", ".join(f"{count} {bound}" for bound, count in sorted(bounds.items()))
    return Note(code="mixed_verdicts", text=f"its launches differ: {parts}")


def _sum(
    launches: Sequence[Measurement], value: Callable[[Measurement], float | None]
) -> float | None:
    values = [value(m) for m in launches]
    return None if None in values else sum(v for v in values if v is not None)


def _over_time(
    launches: Sequence[Measurement], value: Callable[[Measurement], float | None]
) -> float | None:
    """Time-weighted; all launches weigh the same where one has no duration."""
    values = [value(m) for m in launches]
    if any(v is None for v in values):
        return None
    if len(set(values)) == 1:
        return values[0]
    weights = [m.duration_s for m in launches]
    if any(not w for w in weights):
        weights = [1.0] * len(launches)
    total = sum(w for w in weights if w is not None)
    return sum((v or 0.0) * (w or 0.0) for v, w in zip(values, weights, strict=True)) / total


def _same(launches: Sequence[Measurement], value: Callable[[Measurement], _T]) -> _T | None:
    first = value(launches[0])
    return first if all(value(m) == first for m in launches) else None


def _union(parts: Iterable[tuple[_T, ...]]) -> tuple[_T, ...]:
    return tuple(dict.fromkeys(item for part in parts for item in part))


def _units(launches: Sequence[Measurement]) -> tuple[UnitUse, ...]:
    """Time-weighted utilisation of the units that every launch has measured."""
    percents = {id(m): {use.unit: use.percent for use in m.units} for m in launches}
    folded = []
    for use in launches[0].units:

        def percent(m: Measurement, unit: str = use.unit) -> float | None:
            return percents[id(m)].get(unit)

        value = _over_time(launches, percent)
        if value is not None:
            folded.append(replace(use, percent=value))
    return ranked(folded)


def _stalls(launches: Sequence[Measurement]) -> tuple[Stall, ...]:
    """Time-weighted shares, where every launch has any."""
    if not all(m.stalls for m in launches):
        return ()
    shares = {id(m): {stall.reason: stall.share for stall in m.stalls} for m in launches}
    reasons = dict.fromkeys(stall.reason for m in launches for stall in m.stalls)
    folded = []
    for reason in reasons:

        def share(m: Measurement, reason: str = reason) -> float:
            return shares[id(m)].get(reason, 0.0)

        folded.append(Stall(reason=reason, share=_over_time(launches, share) or 0.0))
    return tuple(sorted(folded, key=lambda stall: (-stall.share, stall.reason)))


def _peaks(launches: Sequence[Measurement]) -> Peaks:
    """Peak rates weighted by time: what the device could have done in that time."""
    first = launches[0].peaks
    keys = set(first.operations_per_s)
    for m in launches[1:]:
        keys &= set(m.peaks.operations_per_s)
    rates = {}
    for key in sorted(keys):

        def rate(m: Measurement, key: str = key) -> float:
            return m.peaks.operations_per_s[key]

        rates[key] = _over_time(launches, rate) or 0.0
    return replace(
        first,
        dram_bytes_per_s=_over_time(launches, lambda m: m.peaks.dram_bytes_per_s),
        l2_bytes_per_s=_over_time(launches, lambda m: m.peaks.l2_bytes_per_s),
        l1_bytes_per_s=_over_time(launches, lambda m: m.peaks.l1_bytes_per_s),
        operations_per_s=rates,
    )
