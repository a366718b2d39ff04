"""What a picture shows, before anybody knows where: kernels by device, their roofs, their place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from roofline.errors import UsageError
from roofline.model import Analysis, Measurement, Result, Rule
from roofline.plot.roofs import Roof, roofs_of
from roofline.plot.style import THEMES
from roofline.render import overview
from roofline.text import names
from roofline.view import Chosen, chosen, devices

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
        for what, value, (least, most) in (
            ("width", self.width_px, WIDTHS_PX),
            ("height", self.height_px, HEIGHTS_PX),
        ):
            if value is not None and not least <= value <= most:
                raise UsageError(
                    f"a picture cannot be {value} pixels in {what}",
                    hint=f"a {what} from {least} to {most}",
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A kernel (or launch) in the picture; ``rank`` counts from 1 by time within its panel.

    ``detail`` tells it from others with the same name; ``why`` says what keeps it off the chart;
    ``id`` is its own in the SVG.
    """

    result: Result
    total_s: float | None
    share: float | None
    count: int
    place: Place
    why: str
    rank: int = 0
    detail: str = ""
    id: str = ""

    @property
    def name(self) -> str:
        """The kernel's full name."""
        return self.result.measurement.demangled or self.result.measurement.name

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
    by_device: dict[tuple[object, ...], list[Mark]] = {}
    for mark in sorted(_marks(part, options), key=lambda m: -(m.total_s or 0.0)):
        device = mark.result.measurement.device
        key = device.name, device.compute_capability, device.sm_count
        by_device.setdefault(key, []).append(mark)
    panels = tuple(
        _panel(number, marks, options, part.analysis.rule)
        for number, marks in enumerate(by_device.values(), start=1)
    )
    return Scene(
        title=names.printable(options.title or _title(part.analysis, panels)),
        panels=panels,
        notes=tuple(_notes(part)),
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


def _marks(part: Chosen, options: Options) -> Iterator[Mark]:
    results, shares = part.analysis.results, part.shares
    if options.launches:
        found = [(results[i], results[i].measurement.duration_s, shares[i], 1) for i in part.order]
    else:
        found = [(g.result, g.total_s, g.share, len(g.launches)) for g in part.analysis.groups]
    for result, total_s, share, count in found:
        place, why = place_of(result.measurement)
        yield Mark(result=result, total_s=total_s, share=share, count=count, place=place, why=why)


def _panel(number: int, marks: Sequence[Mark], options: Options, rule: Rule) -> Panel:
    ranked = tuple(
        replace(mark, rank=rank, detail=detail, id=f"kernel-{number}-{rank}")
        for rank, (mark, detail) in enumerate(zip(marks, _details(marks), strict=True), start=1)
    )
    results = tuple(m.result for m in marks)
    on_chart = [m.result for m in ranked if m.place is not Place.BARS]
    levels = options.levels
    return Panel(
        device=overview.device(devices(results)[0]),
        marks=ranked,
        roofs=tuple(roofs_of(on_chart, datasheet=options.datasheet)),
        levels=len(on_chart) <= LEVELS_UP_TO if levels is None else levels,
        rule=rule,
    )


def _details(marks: Sequence[Mark]) -> list[str]:
    """What to add to equal names: their grids and blocks, else their places in the files."""
    shapes = [names.geometry(m.result.measurement) for m in marks]
    same_name = Counter(m.name for m in marks)
    same_both = Counter((m.name, shape) for m, shape in zip(marks, shapes, strict=True))

    def detail(mark: Mark, shape: str) -> str:
        if same_name[mark.name] == 1:
            return ""
        unique = same_both[mark.name, shape] == 1
        return f" ({shape})" if unique else f" #{mark.result.measurement.index}"

    return list(map(detail, marks, shapes))


def _notes(part: Chosen) -> Iterable[str]:
    yield overview.UNDER_PROFILER
    if scope := overview.scope(part):
        yield f"{scope}."
    yield from overview.source_notes(part)


def _title(analysis: Analysis, panels: Sequence[Panel]) -> str:
    on_chart = any(p.at(Place.CHART, Place.INFINITE) for p in panels)
    what = "Roofline" if on_chart else "Utilisation"
    paths = [names.last_part(source.path) for source in analysis.sources]
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return f"{what} of {', '.join(paths[:3])}{more}" if paths else what
