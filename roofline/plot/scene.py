"""What a picture shows, before anybody knows where: kernels by device, their roofs, their place."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from roofline.errors import UsageError
from roofline.model import Analysis, Measurement, Rule
from roofline.plot.layout import Point
from roofline.plot.roofs import Roof, roofs_of
from roofline.plot.style import THEMES
from roofline.render import overview
from roofline.text import names
from roofline.view import Chosen, Row, chosen, devices

LEVELS_UP_TO = 5  # kernels for which the L2 and L1 points are still readable
WIDTHS_PX, HEIGHTS_PX = (480, 4000), (300, 8000)  # narrower, and labels have no room


class Place(StrEnum):
    """Where a kernel is shown."""

    CHART = "chart"
    INFINITE = "infinite"  # operations without DRAM bytes: at the right edge of the chart
    BARS = "bars"  # below the chart, with what is known of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to draw; lengths in pixels.

    ``height_px`` is what the chart is stretched or (down to a readable height) shrunk for; rows
    and keys take what they need. ``levels`` adds the points of L2 and L1; ``None`` does so for up
    to ``LEVELS_UP_TO`` kernels. ``datasheet`` draws the datasheet's roofs.

    Raises:
        UsageError: the theme is not known, or a length is out of range.

    """

    theme: str = "light"
    title: str | None = None
    width_px: int = 900
    height_px: int | None = None
    launches: bool = False
    levels: bool | None = None
    datasheet: bool = True

    def __post_init__(self) -> None:
        if self.theme not in THEMES:
            hint = f"one of: {', '.join(sorted(THEMES))}"
            raise UsageError(f"no theme is called {self.theme!r}", hint=hint)
        for side, value, (least, most) in (
            ("width", self.width_px, WIDTHS_PX),
            ("height", self.height_px, HEIGHTS_PX),
        ):
            if value is not None and not least <= value <= most:
                what = f"a picture cannot be {value} pixels in {side}"
                raise UsageError(what, hint=f"a {side} from {least} to {most}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark(Row):
    """A kernel (or launch) in the picture; ``rank`` counts from 1 by time within its panel.

    ``detail`` tells it from others with the same name; ``why`` says what keeps it off the chart;
    ``id`` is its own in the SVG.
    """

    place: Place
    why: str
    rank: int
    detail: str
    id: str

    @property
    def point(self) -> Point:
        """Operations per DRAM byte and per second; only for a place on the chart or its edge."""
        return point_of(self.result.measurement)

    def level_intensity(self, level: str) -> float | None:
        """Operations per byte of a memory level, where its bytes are measured."""
        m = self.result.measurement
        level_bytes = getattr(m, f"{level}_bytes")
        return m.total_operations / level_bytes if m.total_operations and level_bytes else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One device with its kernels by time, the roofs that they run against, and the rule."""

    device: str
    marks: tuple[Mark, ...]
    roofs: tuple[Roof, ...]
    levels: bool
    rule: Rule

    def at(self, *places: Place) -> tuple[Mark, ...]:
        """The kernels that are shown at ``places``."""
        return tuple(m for m in self.marks if m.place in places)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """All panels, the one with the most time first."""

    title: str
    panels: tuple[Panel, ...]
    notes: tuple[str, ...]

    @property
    def marks(self) -> tuple[Mark, ...]:
        """The marks of all panels."""
        return tuple(mark for panel in self.panels for mark in panel.marks)


def compose(view: Analysis | Chosen, options: Options) -> Scene:
    """Arrange what was analysed, nothing left out; what a filter left out is noted."""
    part = chosen(view)
    panels = panels_of(part.rows(launches=options.launches), options, part.analysis.rule)
    scope = overview.scope(part)
    notes = [overview.under_profiler(part), *([f"{scope}."] if scope else ())]
    return Scene(
        title=names.printable(options.title or _title(part.analysis, panels)),
        panels=panels,
        notes=(*notes, *overview.source_notes(part)),
    )


def panels_of(rows: Iterable[Row], options: Options, rule: Rule) -> tuple[Panel, ...]:
    """A panel for each device."""
    by_device: dict[tuple[object, ...], list[Row]] = {}
    for row in sorted(rows, key=lambda row: -(row.time_s or 0.0)):
        device = row.result.measurement.device
        key = device.name, device.compute_capability, device.sm_count
        by_device.setdefault(key, []).append(row)
    return tuple(
        _panel(number, rows, options, rule)
        for number, rows in enumerate(by_device.values(), start=1)
    )


def place_of(m: Measurement) -> tuple[Place, str]:
    """Where a kernel can be shown, and the reason where that is not on the chart."""
    if not m.duration_s:
        return Place.BARS, "duration not measured"
    if not m.operations:
        return Place.BARS, "operations not measured"
    if not m.total_operations:
        return Place.BARS, "no FP or tensor operations"
    if m.dram_bytes is None:
        return Place.BARS, "DRAM bytes not measured"
    return (Place.CHART if m.dram_bytes else Place.INFINITE), ""


def point_of(m: Measurement) -> Point:
    """Operations per DRAM byte and operations per second of a kernel that can be on the chart."""
    return m.arithmetic_intensity or math.inf, m.operations_per_s or 0.0


def _panel(number: int, rows: Sequence[Row], options: Options, rule: Rule) -> Panel:
    marks = []
    for rank, (row, detail) in enumerate(zip(rows, _details(rows), strict=True), start=1):
        place, why = place_of(row.result.measurement)
        mark = Mark(
            result=row.result,
            share=row.share,
            group=row.group,
            place=place,
            why=why,
            rank=rank,
            detail=detail,
            id=f"kernel-{number}-{rank}",
        )
        marks.append(mark)
    on_chart = [m.result for m in marks if m.place is not Place.BARS]
    return Panel(
        device=overview.device(devices([row.result for row in rows])[0]),
        marks=tuple(marks),
        roofs=tuple(roofs_of(on_chart, datasheet=options.datasheet)),
        levels=len(on_chart) <= LEVELS_UP_TO if options.levels is None else options.levels,
        rule=rule,
    )


def _details(rows: Sequence[Row]) -> Iterator[str]:
    """What to add to equal names: their grids and blocks, else their places in the files."""
    shaped = [(row.name, names.geometry(row.result.measurement)) for row in rows]
    same_name, same_both = Counter(name for name, _ in shaped), Counter(shaped)
    for row, (name, shape) in zip(rows, shaped, strict=True):
        if same_name[name] == 1:
            yield ""
        elif same_both[name, shape] == 1:
            yield f" ({shape})"
        else:
            yield f" #{row.result.measurement.index}"


def _title(analysis: Analysis, panels: Sequence[Panel]) -> str:
    on_chart = any(p.at(Place.CHART, Place.INFINITE) for p in panels)
    what = "Roofline" if on_chart else "Utilisation"
    paths = [names.last_part(source.path) for source in analysis.sources]
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return f"{what} of {', '.join(paths[:3])}{more}" if paths else what
