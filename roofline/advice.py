"""What follows from a verdict: the claim, what would refute it, what to try, what not to."""

from __future__ import annotations

from dataclasses import dataclass

from roofline.causes import Cause, ruled_out
from roofline.model import Bound, Measurement, PeakSet
from roofline.playbook import CAUSES, NO_CAUSE, NO_EVIDENCE, STALLS, UNITS, Play
from roofline.units import the_unit, unit_name


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
    unit: str,
    percent: float,
    cause: Cause | None,
    threshold: float,
) -> Words:
    """Put a verdict into words; ``percent`` and ``unit`` are those of the nearest ceiling."""
    name = unit_name(unit)
    if bound is Bound.LATENCY:
        play = _latency_play(cause, measurement)
        why = cause.text if cause else ruled_out(measurement)
        claim = (
            f"Latency: nothing is near its limit. The busiest, {the_unit(unit)}, reaches "
            f"{percent:.0f} % (under {threshold:.0f} %); {why}."
        )
        hint = f"latency: {why}"
    else:
        play = UNITS.get(unit, UNITS["other"])
        rate = _rate(measurement, peaks, unit)
        claim = f"Limited by {the_unit(unit)}: busy {percent:.0f} % of the elapsed time{rate}."
        hint = f"{name} at {percent:.0f} %{rate}"
    return Words(
        claim=claim,
        hint=f"{hint}: {play.short}" if play.short else hint,
        refute=play.refute,
        try_first=play.try_first,
        avoid=play.avoid,
    )


def _latency_play(cause: Cause | None, measurement: Measurement) -> Play:
    if cause is None:
        return NO_CAUSE if measurement.stalls else NO_EVIDENCE
    if cause.code.startswith("stall_"):
        return STALLS.get(cause.code.removeprefix("stall_"), STALLS["other"])
    return CAUSES[cause.code]


def _rate(measurement: Measurement, peaks: PeakSet, unit: str) -> str:
    """Achieved and peak bandwidth, where DRAM is spoken of and both are known."""
    rate, peak = measurement.dram_bytes_per_s, peaks.report.dram_bytes_per_s
    if unit != "dram" or rate is None or peak is None:
        return ""
    return f" ({rate / 1e9:.0f} of {peak / 1e9:.0f} GB/s in bytes)"
