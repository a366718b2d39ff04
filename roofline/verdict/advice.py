"""What follows from a verdict: the claim, what would refute it, what to try, what not to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from roofline.model import Bound, Family, Measurement, PeakSet, UnitUse
from roofline.units import the_unit, unit_name
from roofline.verdict.causes import Cause, ruled_out
from roofline.verdict.phrases import percent
from roofline.verdict.playbook import UNITS, Play
from roofline.verdict.waiting import CAUSES, NO_CAUSE, NO_EVIDENCE, NO_STALLS, STALLS

# Under this share of its peak a unit is no concern of a kernel that waits.
_FAR = 40.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The sentences of a verdict."""

    claim: str
    hint: str
    refute: str
    try_first: tuple[str, ...]
    avoid: tuple[str, ...]


def advise(
    measurement: Measurement,
    peaks: PeakSet,
    *,
    bound: Bound,
    top: UnitUse,
    uses: Sequence[UnitUse],
    cause: Cause | None,
    threshold: float,
) -> Words:
    """Put a verdict into words; ``top`` is the nearest ceiling, ``uses`` all of them."""
    name = unit_name(top.unit)
    if bound is Bound.LATENCY:
        play = _latency_play(measurement, cause)
        why = cause.text if cause else ruled_out(measurement)
        claim = (
            f"Latency: nothing is near its limit. The busiest, {the_unit(top.unit)}, reaches "
            f"{percent(top.percent)} (under {percent(threshold)}); {why}."
        )
        hint = f"latency: {why}"
        avoid = (*_far_from_limits(uses), *play.avoid)
    else:
        play = UNITS.get(_play_of(top.unit, measurement), UNITS["other"])
        rate = _rate(measurement, peaks, top.unit)
        claim = (
            f"Limited by {the_unit(top.unit)}: busy {percent(top.percent)} of the elapsed time"
            f"{rate}."
        )
        hint = f"{name} at {percent(top.percent)}{rate}"
        avoid = play.avoid
    return Words(
        claim=claim,
        hint=f"{hint}: {play.short}" if play.short else hint,
        refute=play.refute,
        try_first=play.try_first,
        avoid=avoid,
    )


def _play_of(unit: str, m: Measurement) -> str:
    """L1 and shared memory are one unit, and what helps depends on which of them is used."""
    if unit != "l1" or m.shared_memory_bytes is None:
        return unit
    if m.shared_memory_bytes == 0:
        return "l1_global"
    share = {stall.reason: stall.share for stall in m.stalls}
    shared = share.get("mio_throttle", 0.0) + share.get("short_scoreboard", 0.0)
    return "l1_global" if share.get("lg_throttle", 0.0) > shared else "l1_shared"


def _latency_play(m: Measurement, cause: Cause | None) -> Play:
    if cause is None and m.stalls:
        return NO_CAUSE
    if cause is None:
        return NO_EVIDENCE if m.theoretical_occupancy_percent is None else NO_STALLS
    if cause.code.startswith("stall_"):
        return STALLS.get(cause.code.removeprefix("stall_"), STALLS["other"])
    return CAUSES[cause.code]


def _far_from_limits(uses: Sequence[UnitUse]) -> Iterator[str]:
    """What a kernel that waits would gain nothing from: only what is really far from a limit."""
    for family, what in ((Family.COMPUTE, "operations"), (Family.BANDWIDTH, "bytes")):
        busiest = next((use for use in uses if use.family is family), None)
        if busiest is not None and busiest.percent < _FAR:
            name = the_unit(busiest.unit)
            yield f"fewer {what}: {name}, the busiest, is at {percent(busiest.percent)}"


def _rate(measurement: Measurement, peaks: PeakSet, unit: str) -> str:
    """Achieved and peak bandwidth, where DRAM is spoken of and both are known."""
    rate, peak = measurement.dram_bytes_per_s, peaks.report.dram_bytes_per_s
    if unit != "dram" or rate is None or peak is None:
        return ""
    return f" ({rate / 1e9:.0f} of {peak / 1e9:.0f} GB/s in bytes)"
