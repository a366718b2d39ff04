"""What a picture shows, before anybody knows where: kernels by device, their roofs, their place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from roofline.errors import UsageError
from roofline.model import Analysis, Measurement, Result, Rule
from roofline.plot.ceilings import Roof, ceilings, memory_roofs
from roofline.plot.style import THEMES
from roofline.render import sentences, summary
from roofline.text import names
from roofline.view import Chosen, chosen

LEVELS_UP_TO = 5  # kernels for which the L2 and L1 points are still readable
WIDTHS_PX, HEIGHTS_PX = (480, 4000), (300, 8000)  # narrower, and labels have no room


class Place(StrEnum):
    """Where a kernel is shown."""

    CHART = "chart"
    INFINITE = "infinite"  # operations without DRAM bytes: at the right edge of the chart
    MARGIN = "margin"  # below the chart, with what is known of it


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
            raise UsageError(
                f"no theme is called {self.theme!r}", hint=f"one of: {', '.join(sorted(THEMES))}"
            )
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

    ``detail`` tells it from others with the same name; ``why`` says what keeps it off the chart.
    """

    rank: int
    name: str
    detail: str
    result: Result
    total_s: float | None
    share: float | None
    count: int
    place: Place
    why: str

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
        level_bytes = {"dram": m.dram_bytes, "l2": m.l2_bytes, "l1": m.l1_bytes}[level]
        return m.total_operations / level_bytes if m.total_operations and level_bytes else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One device with its kernels by time, the roofs that they run against, and the rule."""

    device: str
    marks: tuple[Mark, ...]
    memory: tuple[Roof, ...]
    ceilings: tuple[Roof, ...]
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


def compose(view: Analysis | Chosen, options: Options) -> Scene:
    """Arrange what was analysed, nothing left out; what a filter left out is noted."""
    part = chosen(view)
    by_device: dict[tuple[object, ...], list[Mark]] = {}
    for mark in sorted(_marks(part, options), key=lambda m: -(m.total_s or 0.0)):
        device = mark.result.measurement.device
        key = device.name, device.compute_capability, device.sm_count
        by_device.setdefault(key, []).append(mark)
    panels = tuple(_panel(marks, options, part.analysis.rule) for marks in by_device.values())
    return Scene(
        title=names.printable(options.title or _title(part.analysis, panels)),
        panels=panels,
        notes=tuple(_notes(part)),
    )


def mark_id(panel: int, mark: Mark) -> str:
    """The id of a mark in the SVG; panels count from 1."""
    return f"kernel-{panel}-{mark.rank}"


def place_of(m: Measurement) -> tuple[Place, str]:
    """Where a kernel can be shown, and the reason where that is not on the chart."""
    if not m.duration_s:
        return Place.MARGIN, "duration not measured"
    if not m.operations:
        return Place.MARGIN, "operations not measured"
    if not m.total_operations:
        return Place.MARGIN, "no FP or tensor operations"
    if m.dram_bytes is None:
        return Place.MARGIN, "DRAM bytes not measured"
    return (Place.CHART if m.dram_bytes else Place.INFINITE), ""


def _marks(part: Chosen, options: Options) -> Iterable[Mark]:
    if options.launches:
        for position in part.order:
            result = part.analysis.results[position]
            yield _mark(result, result.measurement.duration_s, part.shares[position], 1)
        return
    for group in part.analysis.groups:
        yield _mark(group.result, group.total_s, group.share, len(group.launches))


def _mark(result: Result, total_s: float | None, share: float | None, count: int) -> Mark:
    measured = result.measurement
    place, why = place_of(measured)
    return Mark(
        rank=0,
        name=measured.demangled or measured.name,
        detail="",
        result=result,
        total_s=total_s,
        share=share,
        count=count,
        place=place,
        why=why,
    )


def _panel(marks: Sequence[Mark], options: Options, rule: Rule) -> Panel:
    details = tell_apart([m.name for m in marks], [m.result.measurement for m in marks])
    ranked = tuple(
        replace(mark, rank=rank, detail=detail)
        for rank, (mark, detail) in enumerate(zip(marks, details, strict=True), start=1)
    )
    on_chart = [m.result for m in ranked if m.place is not Place.MARGIN]
    levels = options.levels
    if levels is None:
        levels = len(on_chart) <= LEVELS_UP_TO
    return Panel(
        device=_device(marks),
        marks=ranked,
        memory=tuple(memory_roofs(on_chart, datasheet=options.datasheet)),
        ceilings=tuple(ceilings(on_chart, datasheet=options.datasheet)),
        levels=levels,
        rule=rule,
    )


def tell_apart(signatures: Sequence[str], measured: Sequence[Measurement]) -> tuple[str, ...]:
    """What to add to equal names: their grids and blocks, else their places in the files."""

    def repeated(keys: Sequence[tuple[str, ...]]) -> list[bool]:
        counts = Counter(keys)
        return [counts[key] > 1 for key in keys]

    geometry = [sentences.geometry(m) for m in measured]
    same_name = repeated([(name,) for name in signatures])
    same_both = repeated(list(zip(signatures, geometry, strict=True)))
    return tuple(
        "" if not twice else f" #{m.index}" if still else f" ({shape})"
        for twice, still, shape, m in zip(same_name, same_both, geometry, measured, strict=True)
    )


def _device(marks: Sequence[Mark]) -> str:
    results = tuple(m.result for m in marks)
    used = summary.devices(Analysis(sources=(), results=results, groups=()))
    return sentences.device(used[0])


def _notes(part: Chosen) -> Iterable[str]:
    yield sentences.UNDER_PROFILER
    scope = sentences.scope(part)
    if scope:
        yield f"{scope}."
    yield from sentences.source_notes(part)


def _title(analysis: Analysis, panels: Sequence[Panel]) -> str:
    on_chart = any(p.at(Place.CHART, Place.INFINITE) for p in panels)
    what = "Roofline" if on_chart else "Utilisation"
    paths = [names.last_part(source.path) for source in analysis.sources]
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return f"{what} of {', '.join(paths[:3])}{more}" if paths else what
