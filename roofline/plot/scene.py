"""What a picture shows, before anybody knows where: kernels, their roofs, the views of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from roofline.arguments import checked, unless_none, whole
from roofline.errors import ArgumentError
from roofline.model import Analysis, Bound, Measurement, Rule
from roofline.plot.ceilings import OwnCeiling, level_intensity, own_ceilings
from roofline.plot.layout import Box, Point
from roofline.plot.roofs import Roof, Scale, fitted, roofs_of
from roofline.plot.style import THEMES
from roofline.render import overview
from roofline.text import names, numbers
from roofline.text import verdict as said
from roofline.view import Chosen, Row, by_place, chosen, devices

if TYPE_CHECKING:
    from roofline.compare.model import Comparison

VIEWS = ("roofline", "units", "gain")
LEVELS = ("l2", "l1")
WIDTHS_PX, HEIGHTS_PX = (480, 4000), (300, 8000)  # narrower, and labels have no room
ROWS, TOP = 30, 20  # kernels that get rows and labels; of more than ``ROWS`` the first ``TOP``
_FILE = 14  # letters of a file where it tells kernels apart
CHARTS = 2  # devices with a roofline each, where no view is asked for; more share the units


class Place(StrEnum):
    """Where a kernel is in a roofline."""

    CHART = "chart"
    INFINITE = "infinite"  # operations without DRAM bytes: at the right edge of the chart
    NONE = "none"


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to draw; lengths in pixels.

    ``views`` are some of ``VIEWS`` from top to bottom; none asks for those that suit the number of
    kernels. ``levels`` adds the points and roofs of ``LEVELS``; ``datasheet`` draws the
    datasheet's roofs. ``key`` adds the units to a roofline whose kernels have numbers, not names.
    ``height_px`` is what charts and the number of rows are fitted to.

    Raises:
        ArgumentError: a theme, view or level is not known, or a length is out of range.

    """

    theme: str = "light"
    title: str | None = None
    width_px: int = 900
    height_px: int | None = None
    launches: bool = False
    views: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    datasheet: bool = True
    key: bool = True

    def __post_init__(self) -> None:
        whole(0, width_px=self.width_px, **unless_none(height_px=self.height_px))
        known = (("theme", THEMES, (self.theme,)), ("view", VIEWS, self.views))
        for what, all_, given in (*known, ("level", LEVELS, self.levels)):
            for name in (one for one in given if one not in all_):
                hint = f"one of: {', '.join(all_)}"
                raise ArgumentError(f"no {what} is called {name!r}", hint=hint)
        for side, value, (least, most) in (
            ("width", self.width_px, WIDTHS_PX),
            ("height", self.height_px, HEIGHTS_PX),
        ):
            if value is not None and not least <= value <= most:
                what = f"a picture cannot be {value} pixels in {side}"
                raise ArgumentError(what, hint=f"a {side} from {least} to {most}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark(Row):
    """A kernel (or launch) in the picture; ``rank`` counts from 1 by time over all panels.

    ``detail`` tells it from others with the same name; ``why`` says what keeps it off the chart;
    ``id`` is its own in the SVG; ``ceilings`` are its own ones, the limiter's first.
    """

    place: Place
    why: str
    rank: int
    detail: str
    id: str
    ceilings: tuple[OwnCeiling, ...]

    @property
    def point(self) -> Point:
        """Operations per DRAM byte and per second; only for a place on the chart or its edge."""
        m = self.result.measurement
        return m.arithmetic_intensity or math.inf, m.operations_per_s or 0.0

    @property
    def other(self) -> Bound | None:
        """What else limits the kernel, where that is of the other family."""
        bounds = (own.bound for own in self.ceilings[1:])
        return next((b for b in bounds if b is not self.result.verdict.bound), None)

    @property
    def spread(self) -> tuple[float, float] | None:
        """The lowest and the highest rate of the launches, where there are several."""
        group, m = self.group, self.result.measurement
        if group is None or len(group.launches) < 2 or not (group.min_s and group.max_s):
            return None
        mean_s = (m.duration_s or 0.0) / m.count
        rate = m.operations_per_s or 0.0
        return rate * mean_s / group.max_s, rate * mean_s / group.min_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One device with its kernels by time, and the roofs that they run against."""

    device: str
    name: str
    marks: tuple[Mark, ...]
    roofs: tuple[Roof, ...]
    levels: tuple[str, ...]

    @property
    def shown(self) -> tuple[Mark, ...]:
        """The kernels that a roofline can hold."""
        return tuple(m for m in self.marks if m.place is not Place.NONE)

    def scale(self, area: Box, top: int) -> Scale:
        """Axes for what is shown, with the own ceilings of the first ``top``."""
        inner = [m for m in self.shown if m.place is Place.CHART]
        points = [m.point for m in inner]
        for level in self.levels:
            found = ((level_intensity(m.result.measurement, level), m.point[1]) for m in inner)
            points += [(x, y) for x, y in found if x]
        rates = [m.point[1] for m in self.shown]
        # Ceilings are shown as far as roofs reach: one of a unit that did nothing is beyond any.
        most = max(rates + [rate for roof in self.roofs for rate in roof.tops])
        for mark in self.shown[:top]:
            owned = (own.rate for own in mark.ceilings if own.rate is not None)
            rates += [min(max(rate, mark.point[1] / 10), most) for rate in owned]
        return fitted(points, rates, self.roofs, area)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """All panels, the one with the most time first; ``marks`` are those of all, by time."""

    title: str
    panels: tuple[Panel, ...]
    marks: tuple[Mark, ...]
    notes: tuple[str, ...]
    views: tuple[str, ...]
    rule: Rule
    places: int = 1  # files and GPUs that shares are of

    def spent(self, marks: Iterable[Mark]) -> float:
        """What part of the time they take: where shares are of several wholes, of all shown."""
        if self.places == 1:
            return sum(mark.share or 0.0 for mark in marks)
        whole = sum(mark.time_s or 0.0 for mark in self.marks)
        return sum(mark.time_s or 0.0 for mark in marks) / (whole or math.inf)

    @property
    def spent_of(self) -> str:
        """What ``spent`` is a part of."""
        return "of the time" if self.places == 1 else "of their time"

    @property
    def top(self) -> int:
        """How many kernels get rows and labels."""
        return ROWS if len(self.marks) <= ROWS else TOP


def compose(view: Analysis | Chosen, options: Options) -> Scene:
    """Arrange what was analysed, nothing left out; what a filter left out is noted."""
    part = chosen(view)
    scope = overview.scope(part)
    notes = [overview.under_profiler(part), *([f"{scope}."] if scope else ())]
    notes += (*overview.unread(part.analysis.unread), *overview.source_notes(part))
    rows = part.rows(launches=options.launches)
    scene = scene_of(rows, options, part.analysis.rule, tuple(notes))
    scene = replace(scene, places=len(by_place(part)))
    title = names.printable(options.title or claim(scene))
    return replace(scene, title=title, views=options.views or views_of(scene.panels))


def paired(comparison: Comparison, options: Options) -> Scene:
    """Arrange the sides after of a comparison; shares are of the time before."""
    pairs = comparison.pairs
    whole_s = sum(p.before.total_s or 0.0 for p in pairs) or math.inf
    shares = (None if p.before.total_s is None else p.before.total_s / whole_s for p in pairs)
    rows = (Row(result=p.after.result, share=s) for p, s in zip(pairs, shares, strict=True))
    return scene_of(rows, options, pairs[0].after.verdict.rule if pairs else Rule())


def scene_of(
    rows: Iterable[Row],
    options: Options,
    rule: Rule,
    notes: tuple[str, ...] = (),
    *,
    by_time: bool = True,
) -> Scene:
    """A panel for each device; ranks go over all, by time or in the order of ``rows``."""
    ranked = list(rows)
    if by_time:
        ranked.sort(key=lambda row: -(row.time_s or 0.0))
    marks = []
    for rank, (row, detail) in enumerate(zip(ranked, _details(ranked), strict=True), start=1):
        place, why = place_of(row.result.measurement)
        mark = Mark(
            result=row.result,
            share=row.share,
            group=row.group,
            place=place,
            why=why,
            rank=rank,
            detail=detail,
            id=f"kernel-{rank}",
            ceilings=own_ceilings(row.result),
        )
        marks.append(mark)
    by_device: dict[tuple[object, ...], list[Mark]] = {}
    for mark in marks:
        device = mark.result.measurement.device
        key = device.name, device.compute_capability, device.sm_count
        by_device.setdefault(key, []).append(mark)
    panels = tuple(_panel(of_one, options) for of_one in by_device.values())
    title = names.printable(options.title or "")
    return Scene(title=title, panels=panels, marks=tuple(marks), notes=notes, views=(), rule=rule)


def views_of(panels: Collection[Panel]) -> tuple[str, ...]:
    """The views that suit what there is: units alone where no roofline can hold a kernel."""
    charts = sum(bool(p.shown) for p in panels)
    return ("roofline", "units") if 0 < charts <= CHARTS >= len(panels) else ("units",)


def claim(scene: Scene) -> str:
    """What the picture says, for its title: what limits the kernel, or how the time is spent."""
    marks = scene.marks
    if len(marks) == 1:
        judged = marks[0].result.verdict
        name = names.short(marks[0].name, 40)
        if judged.bound is Bound.UNKNOWN:
            return f"{name}: what limits it is not known"
        if judged.two_roofs:
            return f"{name} is limited by {said.NEITHER}"
        percent = "" if judged.limiter is None else f" {numbers.percent(judged.limiter_percent)}"
        return f"{name} is {judged.bound}-bound: {said.limited_by(judged)}{percent}"
    kinds: dict[str, list[Mark]] = {}
    for mark in marks:
        kinds.setdefault(said.kind(mark.result.verdict), []).append(mark)
    shares = {kind: scene.spent(some) for kind, some in kinds.items()}
    longest = sorted(shares.items(), key=lambda item: -item[1])
    parts = [f"{kind} {numbers.share(s)}" for kind, s in longest if s > 0]
    if parts:
        parts[0] += f" {scene.spent_of}"
    counted = numbers.plural(len(marks), "kernel" if any(m.group for m in marks) else "launch")
    return f"What limits {counted}: {', '.join(parts)}" if parts else counted


def place_of(m: Measurement) -> tuple[Place, str]:
    """Where a kernel can be shown, and the reason where that is not on the chart."""
    rate, bytes_per_s = m.operations_per_s, m.dram_bytes_per_s
    if rate is None:
        timed = m.duration_s or m.rates
        return Place.NONE, f"{'operations' if timed else 'duration'} not measured"
    if not rate:
        return Place.NONE, "no FP or tensor operations"
    if bytes_per_s is None:
        return Place.NONE, "DRAM bytes not measured"
    return (Place.CHART if bytes_per_s else Place.INFINITE), ""


def _panel(marks: Sequence[Mark], options: Options) -> Panel:
    # The bytes of another level may place what has none of DRAM.
    placed = [m.result for m in marks if m.place is not Place.NONE or options.levels]
    device = devices([m.result for m in marks])[0]
    return Panel(
        device=overview.device(device),
        name=device.device.name or "unknown GPU",
        marks=tuple(marks),
        roofs=tuple(roofs_of(placed, options.levels, datasheet=options.datasheet)),
        levels=options.levels,
    )


def _details(rows: Sequence[Row]) -> Iterator[str]:
    """What to add to equal names: their grids and blocks, else their files and places in them."""
    same_name = Counter(row.name for row in rows)
    shaped = [
        (row.name, names.geometry(row.result.measurement) if same_name[row.name] > 1 else "")
        for row in rows
    ]
    same_both = Counter(shaped)
    sources = [row.result.measurement.source for row in rows]
    in_file = Counter(zip(shaped, sources, strict=True))
    files = [*dict.fromkeys(source for source in sources if source is not None)]
    short = overview.short_files(files, _FILE) if len(files) > 1 else {}
    for row, (name, shape), source in zip(rows, shaped, sources, strict=True):
        if same_name[name] == 1:
            yield ""
        elif same_both[name, shape] == 1:
            yield f" ({shape})"
        else:
            number = f"#{row.result.measurement.index}"
            alone = in_file[(name, shape), source] == 1
            file = "" if source is None else short.get(source, "")
            yield f" {file}" if file and alone else f" {file} {number}" if file else f" {number}"
