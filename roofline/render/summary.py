"""What is said once for a whole analysis: devices and clocks, notes and gaps grouped by code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from roofline.model import Analysis, Device, Missing, Note, Result

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
    """A note or a gap, said once: the first text of its code and how many results have it."""

    code: str
    text: str
    count: int


def devices(analysis: Analysis) -> tuple[DeviceUse, ...]:
    """The GPUs of an analysis, in the order of their first launch."""
    found: dict[Device, list[Result]] = {}
    for result in analysis.results:
        found.setdefault(result.measurement.device, []).append(result)
    return tuple(
        DeviceUse(
            device=device,
            launches=len(results),
            sm_clock_hz=_span(r.measurement.sm_clock_hz for r in results),
            dram_clock_hz=_span(r.measurement.dram_clock_hz for r in results),
        )
        for device, results in found.items()
    )


def missing_of(result: Result) -> tuple[Missing, ...]:
    """What was not measured and what the verdict lacked, each quantity once."""
    both = (*result.measurement.missing, *result.verdict.missing)
    return tuple({m.quantity: m for m in reversed(both)}.values())[::-1]


def gaps(results: Sequence[Result]) -> tuple[Remark, ...]:
    """Quantities not measured, the flag that collects each, and on how many results."""
    return _once((m.quantity, m.flag) for r in results for m in missing_of(r))


def notes(results: Sequence[Result]) -> tuple[Remark, ...]:
    """Notes of the results, one a code."""
    return _once(_codes(n for r in results for n in _each_once(r.measurement.notes)))


def _each_once(notes_: Sequence[Note]) -> Iterable[Note]:
    return {note.code: note for note in reversed(notes_)}.values()


def _codes(notes_: Iterable[Note]) -> Iterable[tuple[str, str]]:
    return ((note.code, note.text) for note in notes_)


def _once(pairs: Iterable[tuple[str, str]]) -> tuple[Remark, ...]:
    texts: dict[str, str] = {}
    counts: dict[str, int] = {}
    for code, text in pairs:
        texts.setdefault(code, text)
        counts[code] = counts.get(code, 0) + 1
    return tuple(Remark(code=c, text=texts[c], count=counts[c]) for c in texts)


def _span(values: Iterable[float | None]) -> Span | None:
    known = [v for v in values if v is not None]
    return (min(known), max(known)) if known else None
