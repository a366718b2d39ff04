"""What is said once for a whole analysis: devices and clocks, notes and gaps grouped by code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from roofline.model import Analysis, Device, Missing, Result, UnitUse
from roofline.text.notes import note_text
from roofline.units import GENERIC

Span = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceUse:
    """One GPU with the clocks (lowest, highest, in Hz) that its launches ran at."""

    device: Device
    launches: int
    sm_clock_hz: Span | None
    dram_clock_hz: Span | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A note or a gap, said once: the first text of its code, and which results have it.

    ``places`` are positions among the results asked about.
    """

    code: str
    text: str
    places: tuple[int, ...]


def devices(analysis: Analysis) -> tuple[DeviceUse, ...]:
    """The GPUs of an analysis, in the order of their first launch.

    Those that nobody could tell apart by name, capability and SMs are one: reports of one model
    differ in what else they say of it.
    """
    alike: dict[tuple[object, ...], Device] = {}
    found: dict[Device, list[Result]] = {}
    for result in analysis.results:
        device = result.measurement.device
        said = (device.name, device.compute_capability, device.sm_count)
        found.setdefault(alike.setdefault(said, device), []).append(result)
    return tuple(
        DeviceUse(
            device=device,
            launches=len(results),
            sm_clock_hz=_span(r.measurement.sm_clock_hz for r in results),
            dram_clock_hz=_span(r.measurement.dram_clock_hz for r in results),
        )
        for device, results in found.items()
    )


def busiest(result: Result) -> list[UnitUse]:
    """The nearest unit, then the others from the busiest on; those that stand for several last."""
    nearest = result.verdict.nearest
    return sorted(
        result.measurement.units,
        key=lambda use: (use.unit != nearest, use.unit in GENERIC, -use.percent),
    )


def missing_of(result: Result) -> tuple[Missing, ...]:
    """What was not measured and what the verdict lacked, each quantity once."""
    both = (*result.measurement.missing, *result.verdict.missing)
    return tuple({m.quantity: m for m in reversed(both)}.values())[::-1]


def gaps(results: Sequence[Result]) -> tuple[Remark, ...]:
    """Quantities not measured, with the ncu flag that collects each as text."""
    return _once(
        (place, missing.quantity, missing.flag)
        for place, result in enumerate(results)
        for missing in missing_of(result)
    )


def notes(results: Sequence[Result]) -> tuple[Remark, ...]:
    """Notes of the results, one a code."""
    return _once(
        (place, note.code, note_text(note))
        for place, result in enumerate(results)
        for note in result.measurement.notes
    )


def command(flags: Iterable[str]) -> str:
    """One ncu command line of several flags, each given once, metrics in one list."""
    metrics: dict[str, None] = {}
    others: dict[str, None] = {}
    for flag in flags:
        name, _, value = flag.partition(" ")
        if name == "--metrics":
            metrics |= dict.fromkeys(value.split(","))
        else:
            others[flag] = None
    listed = [f"--metrics {','.join(metrics)}"] if metrics else []
    return " ".join(["ncu", *others, *listed])


def _once(found: Iterable[tuple[int, str, str]]) -> tuple[Remark, ...]:
    texts: dict[str, str] = {}
    places: dict[str, dict[int, None]] = {}
    for place, code, text in found:
        texts.setdefault(code, text)
        places.setdefault(code, {})[place] = None
    return tuple(Remark(code=c, text=texts[c], places=tuple(places[c])) for c in texts)


def _span(values: Iterable[float | None]) -> Span | None:
    known = [v for v in values if v is not None]
    return (min(known), max(known)) if known else None
