"""The roofline: each kernel with what it reached and, above it, its own ceiling, all labelled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from roofline.model import Bound, Confidence
from roofline.plot import roofs, words
from roofline.plot.canvas import Canvas, Ruler
from roofline.plot.ceilings import OwnCeiling, level_intensity, own_ceiling
from roofline.plot.layout import Anchor, Box, Point, Room, place, points_along
from roofline.plot.roofs import Scale, decades
from roofline.plot.scene import Mark, Panel, Place
from roofline.plot.style import SMALL_PX, TEXT_PX
from roofline.text import names, numbers
from roofline.units import unit_name

LEFT, BOTTOM, TOP, RIGHT = 74.0, 44.0, 8.0, 14.0  # around the axes
EDGE = 44.0  # width of the strip of infinite intensity
NAMES_UP_TO = 10  # marks that are labelled with names on a wide chart; more get numbers
_NAME_ROOM = 190.0
_NAMES_WIDTH = 750.0  # of a wide chart
_FAR = 70.0  # a name farther from its mark than this is worse than a number
_LONG = 34.0  # a stem longer than this has the unit's name at its end
_HALF = 11.0  # of a ceiling's bar
LABEL_PX, DETAIL_PX = 14.0, 13.0  # heights of a label's two lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """A mark with its place and its label, in pixels within the chart.

    ``bars`` are its own ceilings with their heights; ``named`` whether the label has its name.
    """

    mark: Mark
    x: float
    y: float
    bars: tuple[tuple[OwnCeiling, float], ...] = ()
    text: str = ""
    detail: str = ""
    box: Box | None = None
    named: bool = False

    @property
    def bound(self) -> Bound:
        """The mark's verdict."""
        return self.mark.result.verdict.bound

    @property
    def radius(self) -> float:
        """The mark's area goes with the share of the time, within little: it marks a place."""
        return min(max(8.0 * math.sqrt(self.mark.share or 0.0), 3.6), 6.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A laid-out chart; the origin of its pixels is its lower left corner.

    The first ``top`` of ``spots`` have stems and labels.
    """

    panel: Panel
    scale: Scale
    edge: Box | None
    lines: tuple[roofs.Line, ...]
    ridges: tuple[tuple[float, float, str, Box | None], ...]
    roof_labels: tuple[roofs.RoofLabel, ...]
    spots: tuple[Spot, ...]
    units: tuple[tuple[Spot, str, Box | None], ...]
    top: int


def lay_out(
    panel: Panel, width: float, height: float, ruler: Ruler, top: int, *, numbered: bool = True
) -> Chart | None:
    """Place everything of a panel's chart; ``None`` where no kernel belongs on one.

    The kernels up to rank ``top`` get stems and labels: those that have a row, too.
    """
    marks = panel.shown
    if not marks:
        return None
    top = sum(mark.rank <= top for mark in marks)
    infinite = any(m.place is Place.INFINITE for m in marks)
    right = width - RIGHT - (EDGE if infinite else 0.0)
    area = Box(LEFT, BOTTOM, right, height - TOP)
    edge = Box(right, BOTTOM, width - RIGHT, height - TOP) if infinite else None
    scale = panel.scale(area, top)
    spots = []
    for place_, mark in enumerate(marks):
        intensity, rate = mark.point
        x = edge.middle if edge and mark.place is Place.INFINITE else scale.x(intensity)
        owned = ((own, own.rate) for own in mark.ceilings if place_ < top)
        bars = tuple((own, scale.y(rate)) for own, rate in owned if rate is not None)
        spots.append(Spot(mark=mark, x=x, y=scale.y(rate), bars=bars))
    drawn = roofs.lines(panel.roofs, scale)
    along = [point for line in drawn for point in points_along(line.start, line.end, 10)]
    around = [Box.around(s.x, s.y, s.radius) for s in spots[:500]]
    bars_ = [Box(s.x - _HALF, y - 2, s.x + _HALF, y + 2) for s in spots[:top] for _, y in s.bars]
    room = Room(area=area, marks=[*around, *bars_])
    roof_labels = roofs.labels(panel.roofs, drawn, room, ruler)
    taken = [box for label in roof_labels for box in label.boxes]
    whole = Box(area.x0, area.y0, width - RIGHT, area.y1)
    named = roofs.ridges(panel.roofs, scale)
    anchors = [Anchor(x, y, 2.0, ruler.width(text, SMALL_PX) + 2, 12.0) for x, y, text in named]
    boxes = place(anchors, Room(area=whole, taken=[*taken, *bars_], marks=around, lines=along))
    taken += [box for box in boxes if box is not None]
    for spot in spots[:top]:  # labels keep off stems
        for _, y in spot.bars:
            along += points_along((spot.x, spot.y), (spot.x, y), 6)
    room = Room(area=whole, taken=taken, marks=[*around[top:], *bars_], lines=along)
    labelled, units = _labelled(spots[:top], room, ruler, numbered=numbered)
    return Chart(
        panel=panel,
        scale=scale,
        edge=edge,
        lines=drawn,
        ridges=tuple((*ridge, box) for ridge, box in zip(named, boxes, strict=True)),
        roof_labels=roof_labels,
        spots=(*labelled, *spots[top:]),
        units=units,
        top=top,
    )


def _labelled(
    spots: Sequence[Spot], room: Room, ruler: Ruler, *, numbered: bool
) -> tuple[list[Spot], tuple[tuple[Spot, str, Box | None], ...]]:
    """Label with names and limits; what does not fit near its mark gets its number.

    The second answer are the names of units at the ends of long stems.
    """
    marks = [spot.mark for spot in spots]
    many = len(spots) > NAMES_UP_TO * (room.area.x1 - room.area.x0) / _NAMES_WIDTH
    titles = [str(mark.rank) for mark in marks]
    tips = [
        (s, max(s.bars, key=lambda bar: abs(bar[1] - s.y))) for s in spots if s.bars and not many
    ]
    ends = [
        (s, own, y) for s, (own, y) in tips if abs(y - s.y) > _LONG and not _crowded(s, y, spots)
    ]
    far = [s.mark.id for s, _, _ in ends]
    limits = [_limit(spot, named=spot.mark.id in far) for spot in spots]
    full: list[list[tuple[str, str]]] = [[(title, "")] for title in titles]
    if not many:
        texts = ruler.names([(m.name, m.detail) for m in marks], _NAME_ROOM)
        if numbered:
            texts = [f"{i}  {text}" for i, text in zip(titles, texts, strict=True)]
        forms = zip(texts, limits, titles, strict=True)
        full = [[(t, limit), (f"{i}  {limit}", ""), (i, "")] for t, limit, i in forms]

    def anchor(x: float, y: float, radius: float, text: str, detail: str = "") -> Anchor:
        wide = max(ruler.width(text), ruler.width(detail, SMALL_PX)) + 2
        return Anchor(x, y, radius, wide, LABEL_PX + (DETAIL_PX if detail else 0.0))

    tries = list(full)
    for _ in range(3):  # what does not fit near its mark gets its shorter form
        now = [options[0] for options in tries]
        anchors = [anchor(s.x, s.y, s.radius, *t) for s, t in zip(spots, now, strict=True)]
        anchors += [anchor(s.x, y, 4.0, words.ceiling(own)) for s, own, y in ends]
        boxes = place(anchors, room)
        near = [
            box is not None and box.distance(s.x, s.y) <= _FAR
            for s, box in zip(spots, boxes, strict=False)
        ]
        tries = [o if ok or len(o) == 1 else o[1:] for o, ok in zip(tries, near, strict=True)]
        if [options[0] for options in tries] == now:
            break
    labelled = [
        replace(spot, text=text, detail=detail, box=box, named=len(options) == 3)
        for spot, (text, detail), box, options in zip(spots, now, boxes, tries, strict=False)
    ]
    units = zip(ends, boxes[len(spots) :], strict=True)
    return labelled, tuple((s, words.ceiling(own), box) for (s, own, _), box in units)


def _crowded(spot: Spot, y: float, spots: Sequence[Spot]) -> bool:
    """Whether a kernel's own ceiling is at that of another, as of versions of one kernel."""
    return any(
        other is not spot and abs(other.x - spot.x) < 2 * _HALF and abs(at - y) < _LONG
        for other in spots
        for at in (other.y, *(bar for _, bar in other.bars))
    )


def _limit(spot: Spot, *, named: bool) -> str:
    """What limits a kernel, with the nearest unit where it waits, unless its stem names that."""
    judged = spot.mark.result.verdict
    nearest = ", ".join(words.ceiling(own) for own in spot.mark.ceilings)
    if judged.bound is not Bound.LATENCY:
        return nearest or str(judged.bound)
    cause = words.verdict(judged)
    return cause if named or not nearest else f"{cause}; {nearest}"


# --- drawing --------------------------------------------------------------------------------------


def draw(canvas: Canvas, chart: Chart) -> None:
    """Draw a chart with its lower left corner at the canvas's origin."""
    _draw_axes(canvas, chart)
    end = (chart.edge or chart.scale.area).x1
    roofs.draw(canvas, chart.lines, chart.roof_labels, end)
    for x, y, text, box in chart.ridges:
        canvas.line([x, x], [y - 5, y + 5], "roof", linewidth=1.2, zorder=2.2)
        if box is not None:
            canvas.small(box.x0 + 1, (box.y0 + box.y1) / 2, text, zorder=2.5)
    # Large marks first, so that small ones are not hidden under them.
    for spot in sorted(chart.spots[: chart.top], key=lambda s: -s.radius):
        _draw_levels(canvas, chart, spot)
        _draw_ceilings(canvas, spot, chart.scale)
        hollow = spot.mark.result.verdict.confidence is Confidence.LOW
        style: dict[str, Any] = {"hollow": hollow, "other": spot.mark.other, "zorder": 5}
        canvas.mark(spot.x, spot.y, spot.bound, spot.radius, gid=spot.mark.id, **style)
    for bound in Bound:
        rest = [s for s in chart.spots[chart.top :] if s.bound is bound]
        if rest:
            xs, ys = [s.x for s in rest], [s.y for s in rest]
            canvas.mark(xs, ys, bound, 2.6, alpha=0.5, gid=f"rest-{bound}", zorder=4)
    for spot in chart.spots:
        if spot.box is not None:
            _draw_label(canvas, spot, spot.box)
    for spot, text, box in chart.units:
        if box is not None:
            style = {"color": spot.bound, "zorder": 7}
            canvas.small(box.x0 + 1, (box.y0 + box.y1) / 2, text, backed="background", **style)


def _draw_ceilings(canvas: Canvas, spot: Spot, scale: Scale) -> None:
    """The stems and bars of a kernel's own ceilings, and the spread of its launches."""
    dotted = spot.bound is Bound.LATENCY
    for number, (own, y) in enumerate(spot.bars):
        stem = {"linewidth": 1.3, "linestyle": (0, (1, 2)) if dotted else "-", "zorder": 3}
        canvas.line([spot.x, spot.x], [spot.y, y], own.bound, **stem)
        # Of two ceilings each has a side.
        left, right = (_HALF, _HALF) if len(spot.bars) == 1 else ((_HALF, 0), (0, _HALF))[number]
        bar = {"linewidth": 2.6, "zorder": 3.2, "solid_capstyle": "butt"}
        gid = f"own-{spot.mark.rank}-{number}"
        canvas.line([spot.x - left, spot.x + right], [y, y], own.bound, gid=gid, **bar)
    if spot.mark.spread is not None:
        low, high = map(scale.y, spot.mark.spread)
        style = {"linewidth": 5.0, "alpha": 0.3, "solid_capstyle": "butt", "zorder": 2.8}
        canvas.line(
            [spot.x, spot.x], [low, high], spot.bound, gid=f"spread-{spot.mark.rank}", **style
        )


def _draw_levels(canvas: Canvas, chart: Chart, spot: Spot) -> None:
    """Small marks of L2 and L1 at their own intensity, each with its own ceiling."""
    m = spot.mark.result.measurement
    for level in chart.panel.levels:
        intensity = level_intensity(m, level)
        if intensity is None or spot.mark.place is not Place.CHART:
            continue
        x = chart.scale.x(intensity)
        use = next((use for use in m.units if use.unit == level), None)
        own = own_ceiling(m, use, spot.bound) if use else None
        if own and own.rate is not None:
            y = chart.scale.y(own.rate)
            canvas.line([x, x], [spot.y, y], spot.bound, linewidth=0.8, alpha=0.7, zorder=3)
            canvas.line([x - 6, x + 6], [y, y], spot.bound, linewidth=1.6, alpha=0.7, zorder=3)
        canvas.line([spot.x, x], [spot.y] * 2, spot.bound, linewidth=0.8, alpha=0.5, zorder=3)
        canvas.mark(x, spot.y, spot.bound, 3.0, hollow=True, zorder=5.5)
        style = {"ha": "center", "fontsize": SMALL_PX - 1.5, "backed": "background", "zorder": 3.5}
        canvas.small(x, spot.y - 11, unit_name(level), **style)


def _draw_axes(canvas: Canvas, chart: Chart) -> None:
    area, scale = chart.scale.area, chart.scale
    if chart.edge is not None:
        canvas.box(chart.edge, "panel", zorder=0)
        canvas.small(chart.edge.middle, BOTTOM - 13, "∞", ha="center", fontsize=TEXT_PX)
    majors, minors = zip(decades(scale.x0, scale.x1), decades(scale.y0, scale.y1), strict=True)
    xs, ys = (list(map(to, values)) for to, values in zip((scale.x, scale.y), majors, strict=True))
    lines: list[tuple[Point, Point]] = [((x, area.y0), (x, area.y1)) for x in xs]
    lines += [((area.x0, y), (area.x1, y)) for y in ys]
    canvas.segments(lines, "grid", 0.8, zorder=0.5)
    ticks: list[tuple[Point, Point]] = [((x, area.y0), (x, area.y0 - 5)) for x in xs]
    ticks += [((area.x0, y), (area.x0 - 5, y)) for y in ys]
    ticks += [((x, area.y0), (x, area.y0 - 3)) for x in map(scale.x, minors[0])]
    ticks += [((area.x0, y), (area.x0 - 3, y)) for y in map(scale.y, minors[1])]
    frame = [((area.x0, area.y1), (area.x0, area.y0)), ((area.x0, area.y0), (area.x1, area.y0))]
    canvas.segments([*ticks, *frame], "faint", 0.9, zorder=0.6)
    for x, value in zip(xs, majors[0], strict=True):
        text = numbers.plain(value, digits=1)
        half = canvas.ruler.width(text, SMALL_PX) / 2
        canvas.small(min(x, canvas.width - half - 2), area.y0 - 13, text, ha="center")
    for y, value in zip(ys, majors[1], strict=True):
        canvas.small(area.x0 - 8, y, numbers.si(value, "", digits=1), ha="right")
    integers = all(
        roof.is_memory or names.operation_unit(roof.key) == "OP" for roof in chart.panel.roofs
    ) and any(not roof.is_memory for roof in chart.panel.roofs)
    noun = "OP" if integers else "FLOP"
    byte = "byte of the level (large marks: DRAM)" if chart.panel.levels else "byte of DRAM"
    style: dict[str, Any] = {"ha": "center", "fontsize": SMALL_PX + 0.5}
    middle = (area.y0 + area.y1) / 2
    canvas.small(area.middle, 12, f"Arithmetic intensity [{noun}/{byte}]", **style)
    canvas.small(14, middle, f"Performance [{noun}/s]", rotation=90, va="center", **style)


def _draw_label(canvas: Canvas, spot: Spot, box: Box) -> None:
    """A label's lines, aligned towards the mark, with a leader where that is not beside it."""
    end = box.nearest(spot.x, spot.y)
    if box.distance(spot.x, spot.y) > spot.radius + 6:
        canvas.line([spot.x, end[0]], [spot.y, end[1]], "muted", linewidth=0.7, alpha=0.8, zorder=4)
    canvas.box(box, "background", alpha=0.75, zorder=4.5)
    side, x = "center", box.middle
    if box.x0 >= spot.x or box.x1 <= spot.x:
        side, x = ("left", box.x0 + 1) if box.x0 >= spot.x else ("right", box.x1 - 1)
    style: dict[str, Any] = {"ha": side, "zorder": 7}
    canvas.text(x, box.y1 - LABEL_PX / 2, spot.text, **style)
    if spot.detail:
        gid = f"limit-{spot.mark.rank}"
        color = spot.bound
        canvas.small(x, box.y0 + DETAIL_PX / 2, spot.detail, color=color, gid=gid, **style)
