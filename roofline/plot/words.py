"""What a picture says of a kernel: in few words beside its mark, in full in tooltips and tables."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from roofline.model import Bound, Measurement, Result, Verdict
from roofline.plot.ceilings import OwnCeiling
from roofline.plot.roofs import beyond
from roofline.plot.scene import Mark, Scene
from roofline.text import names, numbers
from roofline.text import verdict as said
from roofline.units import unit_name

if TYPE_CHECKING:
    from roofline.compare.model import KernelPair

COLUMNS = ("#", "Kernel", "Time", "Share", "Verdict", "Confidence", "Op/B", "Rate", "DRAM")


def share(value: float | None) -> str:
    """A share of the time (0 to 1) in percent; "" where it is not known."""
    return "" if value is None else numbers.share(value)


def off_the_axes(marks: Iterable[Mark]) -> list[str]:
    """That kernels are drawn on the edge, as no axis reaches them; nothing where none is."""
    off = sum(any(beyond(v) for v in mark.point if v < math.inf) for mark in marks)
    said_ = f"Beyond the axes, drawn on their edge: {numbers.plural(off, 'kernel')}."
    return [said_] if off else []


def name(mark: Mark, limit: int = 110) -> str:
    """The name of a kernel with what tells it from others of that name."""
    return names.short(mark.name, limit) + mark.detail


def others(scene: Scene, marks: Sequence[Mark]) -> str:
    """What is left over, in a row: "280 more with 12.0 % of the time: 120 bandwidth, ..."."""
    bounds = Counter(said.kind(mark.result.verdict) for mark in marks)
    spent = f"{share(scene.spent(marks))} {scene.spent_of}"
    counted = ", ".join(f"{count:,} {bound}" for bound, count in bounds.most_common())
    return f"{len(marks):,} more with {spent}: {counted}"


def limit(judged: Verdict) -> str:
    """What holds a kernel back: "issue slots 78 %", "grid too small"; "" where that is unknown."""
    text = said.limited_by(judged)
    if judged.bound in (Bound.BANDWIDTH, Bound.COMPUTE) and judged.limiter_percent is not None:
        return f"{text} {numbers.percent(judged.limiter_percent)}"
    return text


def ceiling(own: OwnCeiling) -> str:
    """A kernel's own ceiling: "FP64 pipe 70 %"."""
    return f"{unit_name(own.unit)} {numbers.percent(own.percent)}"


def waits(m: Measurement, stalls: int = 1) -> list[str]:
    """What a wait is explained by: blocks, waves, occupancy, the first stalls."""
    found = [] if m.grid is None else [numbers.plural(math.prod(m.grid), "block")]
    if m.waves is not None:
        found.append(f"{numbers.waves(m.waves)} waves")
    if m.occupancy_percent is not None:
        found.append(f"occupancy {numbers.percent(m.occupancy_percent)}")
    return found + [
        f"{names.words(stall.reason)} {numbers.percent(100 * stall.share)}"
        for stall in m.stalls[:stalls]
    ]


def below(mark: Mark) -> list[str]:
    """What explains a verdict or what it leaves, the longest form first."""
    judged, m = mark.result.verdict, mark.result.measurement
    if judged.bound is Bound.UNKNOWN:
        return [said.hint(mark.result)]
    if judged.bound is Bound.LATENCY:
        parts = waits(m)
        return [", ".join(parts[i:]) for i in range(len(parts))] or [""]
    floor_s, took_s = judged.floor_s, m.duration_s
    if not floor_s or not took_s:
        return [""]
    limited = said.full(judged.nearest or "")
    if said.is_full(mark.result):
        return [f"no headroom: {limited}", "no headroom"]
    factor = f"up to {numbers.times(took_s / floor_s)}"
    return [f"{factor} until {limited}", factor]


def verdict(judged: Verdict) -> str:
    """The verdict in a few words: "compute: issue slots 78 %"."""
    text = limit(judged)
    return f"{judged.bound}: {text}" if text and not judged.two_roofs else said.kind(judged)


def rate(result: Result) -> str:
    """The rate of operations: integers are no floating-point operations."""
    m = result.measurement
    rates = m.operation_rates()
    most = max(rates, key=lambda key: rates[key], default=None)
    return numbers.rate(m.operations_per_s, names.operation_unit(most))


def tip(mark: Mark) -> str:
    """All that a tooltip says of a mark, in lines."""
    judged, m = mark.result.verdict, mark.result.measurement
    intensity, bandwidth = m.arithmetic_intensity, m.dram_bytes_per_s
    spent = numbers.duration(mark.time_s) if mark.time_s else "duration not measured"
    if mark.group and len(mark.group.launches) > 1:
        spent += f" in {numbers.plural(len(mark.group.launches), 'launch')}"
    rates = [] if bandwidth is None else [f"{numbers.bandwidth(bandwidth)} DRAM"]
    rates += [rate(mark.result)] if m.operations_per_s else []
    lines = [
        name(mark),
        spent + ("" if mark.share is None else f", {share(mark.share)} of the time"),
        f"{verdict(judged)} (confidence {judged.confidence})",
        ", ".join(rates),
        "" if intensity is None else f"{numbers.plain(intensity)} operations per DRAM byte",
        mark.why,
        said.hint(mark.result),
    ]
    return "\n".join(names.printable(line) for line in lines if line)


def row(mark: Mark) -> tuple[str, ...]:
    """A mark's row below ``COLUMNS``."""
    judged, m = mark.result.verdict, mark.result.measurement
    return (
        str(mark.rank),
        name(mark),
        numbers.duration(mark.time_s),
        share(mark.share) or numbers.ABSENT,
        verdict(judged),
        str(judged.confidence),
        numbers.plain(m.arithmetic_intensity),
        rate(mark.result),
        numbers.bandwidth(m.dram_bytes_per_s),
    )


def outcome(pair: KernelPair) -> str:
    """How a pair's time changed, with the range that noise leaves: "1.78x faster (1.73 to ...)"."""
    timing = pair.timing
    if timing is None or pair.outcome == "unknown":
        return "not judged"
    factors = [timing.speedup, *sorted((timing.low, timing.high))]
    if pair.outcome == "slower":
        factors = [1 / factors[0], *sorted(1 / end for end in factors[1:] if end)]
    factor, *ends = map(numbers.times, factors)
    return f"{pair.outcome.replace('_', ' ')}: {factor} ({' to '.join(ends)} with noise)"
