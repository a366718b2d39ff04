"""What a picture shows, before anybody knows where: kernels by device, their roofs, their place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from roofline.model import Analysis, Device, Measurement, Result
from roofline.plot import names
from roofline.plot.ceilings import Roof, ceilings, memory_roofs
from roofline.render import numbers

NAME_LIMIT = 120  # characters that any place of the picture could show
LEVELS_UP_TO = 5  # kernels for which the L2 and L1 points are still readable


class Place(StrEnum):
    """Where a kernel is shown."""

    CHART = "chart"
    INFINITE = "infinite"  # operations without DRAM bytes: at the right edge of the chart
    MARGIN = "margin"  # below the chart, with what is known of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to draw; lengths in pixels.

    ``height_px`` is the least height: a picture grows where its rows need more. ``top`` draws the
    kernels with the most time only. ``levels`` adds the points of L2 and L1; ``None`` does so for
    up to ``LEVELS_UP_TO`` kernels. ``latency_threshold`` is the line in the utilisation bars, in
    percent.
    """

    theme: str = "light"
    title: str | None = None
    width_px: int = 900
    height_px: int | None = None
    top: int | None = None
    launches: bool = False
    levels: bool | None = None
    specs: bool = True
    latency_threshold: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A kernel (or launch) in the picture; ``rank`` counts from 1 by time within its panel."""

    rank: int
    name: str
    result: Result
    total_s: float | None
    share: float | None
    count: int
    place: Place
    why: str = ""

    @property
    def x(self) -> float:
        """Operations per DRAM byte; only for a place on the chart."""
        intensity = self.result.measurement.arithmetic_intensity
        assert intensity is not None
        return intensity

    @property
    def y(self) -> float:
        """Operations per second; only for a place on the chart or at its edge."""
        rate = self.result.measurement.operations_per_s
        assert rate is not None
        return rate

    def level_intensity(self, level: str) -> float | None:
        """Operations per byte of a cache level, where its bytes are measured."""
        m = self.result.measurement
        level_bytes = {"dram": m.dram_bytes, "l2": m.l2_bytes, "l1": m.l1_bytes}[level]
        return m.total_operations / level_bytes if m.total_operations and level_bytes else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One device: its kernels by time, the roofs they run against, and what must be said."""

    device: str
    marks: tuple[Mark, ...]
    memory: tuple[Roof, ...]
    ceilings: tuple[Roof, ...]
    facts: tuple[str, ...]
    levels: bool

    def at(self, *places: Place) -> tuple[Mark, ...]:
        """The kernels that are shown at ``places``."""
        return tuple(m for m in self.marks if m.place in places)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """All panels, the one with the most time first."""

    title: str
    panels: tuple[Panel, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Item:
    result: Result
    total_s: float | None
    share: float | None
    count: int


def compose(analysis: Analysis, options: Options) -> Scene:
    """Arrange what was analysed: nothing is left out, except below ``options.top``, and noted."""
    items = sorted(_items(analysis, options), key=lambda i: -(i.total_s or 0.0))
    shown = items if options.top is None else items[: options.top]
    by_device: dict[tuple[object, ...], list[_Item]] = {}
    for item in shown:
        by_device.setdefault(_device_key(item.result.measurement.device), []).append(item)
    panels = tuple(_panel(group, options) for group in by_device.values())
    notes = [*_dropped(items[len(shown) :])]
    for source in analysis.sources:
        notes += [f"{source.path}: {note.text}" for note in source.notes]
    return Scene(title=options.title or _title(analysis), panels=panels, notes=tuple(notes))


def place_of(m: Measurement) -> tuple[Place, str]:
    """Where a kernel can be shown, and the reason where that is not on the chart."""
    if not m.duration_s:
        return Place.MARGIN, "duration not measured"
    if not m.operations:
        return Place.MARGIN, "operations not measured"
    if not m.total_operations:
        return Place.MARGIN, "no floating-point or tensor operations"
    if m.dram_bytes is None:
        return Place.MARGIN, "DRAM bytes not measured"
    return (Place.CHART if m.dram_bytes else Place.INFINITE), ""


def _items(analysis: Analysis, options: Options) -> Iterable[_Item]:
    if not options.launches:
        for group in analysis.groups:
            yield _Item(group.result, group.total_s, group.share, len(group.launches))
        return
    whole = sum(r.measurement.duration_s or 0.0 for r in analysis.results)
    for result in analysis.results:
        seconds = result.measurement.duration_s
        share = None if seconds is None or not whole else seconds / whole
        yield _Item(result, seconds, share, 1)


def _panel(items: Sequence[_Item], options: Options) -> Panel:
    marks = _marks(items)
    on_chart = [m.result for m in marks if m.place is not Place.MARGIN]
    levels = options.levels
    if levels is None:
        levels = len(on_chart) <= LEVELS_UP_TO
    return Panel(
        device=_device_text(items[0].result.measurement.device),
        marks=marks,
        memory=tuple(memory_roofs(on_chart, specs=options.specs)),
        ceilings=tuple(ceilings(on_chart, specs=options.specs)),
        facts=_facts(marks),
        levels=levels,
    )


def _marks(items: Sequence[_Item]) -> tuple[Mark, ...]:
    measured = [i.result.measurement for i in items]
    labels = names.tell_apart(
        [names.shorten(m.demangled or m.name, NAME_LIMIT) for m in measured],
        [(_geometry(m), f"#{m.index}") for m in measured],
    )
    marks = []
    for rank, (item, label) in enumerate(zip(items, labels, strict=True), start=1):
        place, why = place_of(item.result.measurement)
        marks.append(
            Mark(
                rank=rank,
                name=label,
                result=item.result,
                total_s=item.total_s,
                share=item.share,
                count=item.count,
                place=place,
                why=why,
            )
        )
    return tuple(marks)


def _facts(marks: Sequence[Mark]) -> tuple[str, ...]:
    measured = [m.result.measurement for m in marks]
    clocks = [
        f"{name} {_span(values)}"
        for name, values in (
            ("SM", [m.sm_clock_hz for m in measured if m.sm_clock_hz]),
            ("DRAM", [m.dram_clock_hz for m in measured if m.dram_clock_hz]),
        )
        if values
    ]
    if not clocks:
        return ("clocks not in the report",)
    text = "clocks " + ", ".join(clocks)
    if any(" to " in clock for clock in clocks):
        text += " (roofs: those of the kernel with the most time)"
    return (text,)


def _span(values: Sequence[float]) -> str:
    low, high = numbers.clock(min(values)), numbers.clock(max(values))
    return low if low == high else f"{low} to {high}"


def _dropped(items: Sequence[_Item]) -> Iterable[str]:
    if items:
        share = sum(i.share or 0.0 for i in items)
        yield f"Not drawn: {len(items)} more kernels with {100 * share:.2g} % of the time."


def _title(analysis: Analysis) -> str:
    paths = [source.path for source in analysis.sources]
    return (
        "Roofline"
        if not paths
        else "Roofline of " + ", ".join(paths[:3]) + ("…" * (paths[3:] != []))
    )


def _device_key(device: Device) -> tuple[object, ...]:
    return device.name, device.compute_capability, device.sm_count


def _device_text(device: Device) -> str:
    parts = [device.name or "device not named in the report"]
    if device.compute_capability:
        parts.append(f"compute capability {device.compute_capability}")
    if device.sm_count:
        parts.append(f"{device.sm_count} SMs")
    return " · ".join(parts)


def _geometry(m: Measurement) -> str:
    def dims(d: tuple[int, int, int] | None) -> str:
        return "?" if d is None else "x".join(str(n) for n in d if n != 1) or "1"

    return "" if m.grid is None and m.block is None else f"({dims(m.grid)} by {dims(m.block)})"
