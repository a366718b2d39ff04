"""The roofline itself: where axes, roofs, marks and their labels are, and drawing them there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from roofline.model import Bound
from roofline.plot import roofs, words
from roofline.plot.canvas import Canvas, Ruler
from roofline.plot.layout import Anchor, Box, Point, Room, place, points_along
from roofline.plot.roofs import Scale, fitted
from roofline.plot.scene import Mark, Panel, Place
from roofline.plot.style import SMALL_PX, TEXT_PX
from roofline.text import numbers
from roofline.units import unit_name

LEFT, BOTTOM, TOP, RIGHT = 74.0, 44.0, 8.0, 14.0  # around the axes
EDGE = 44.0  # width of the strip of infinite intensity
LABELLED = 30  # marks with a label: those with the most time
NAMES_UP_TO = 10  # marks that are labelled with names on a wide chart; more get numbers and a key
OWN_MARKS = 500  # marks with a tooltip; more are drawn together, and no label keeps off them
_NAME_ROOM = 210.0
_NAMES_WIDTH = 750.0  # of a wide chart
_FAR = 70.0  # a name farther from its mark than this is worse than a number
LABEL_PX, DETAIL_PX = 14.0, 13.0  # heights of a label's two lines
_LEVEL_RADIUS = 3.5
# L2 is named above the line and L1 below, since they are often at nearly the same place.
_SIDES = {"l2": 1, "l1": -1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """A mark with its place and its label, in pixels within the chart."""

    mark: Mark
    x: float
    y: float
    text: str = ""
    detail: str = ""
    box: Box | None = None

    @property
    def bound(self) -> Bound:
        """The mark's verdict."""
        return self.mark.result.verdict.bound

    @property
    def radius(self) -> float:
        """The mark's area goes with the share of the time, within what can be seen."""
        return min(max(17.0 * math.sqrt(self.mark.share or 0.0), 4.0), 15.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A laid-out chart; the origin of its pixels is its lower left corner."""

    panel: Panel
    scale: Scale
    edge: Box | None
    lines: tuple[roofs.Line, ...]
    roof_labels: tuple[roofs.RoofLabel, ...]
    spots: tuple[Spot, ...]
    numbered: bool


def lay_out(
    panel: Panel, width: float, height: float, ruler: Ruler, *, more: Sequence[Point] = ()
) -> Chart | None:
    """Place everything of a panel's chart; ``None`` where no kernel belongs on one.

    ``more`` are further points, in data coordinates, that it must have room for.
    """
    inner, outer = panel.at(Place.CHART), panel.at(Place.INFINITE)
    if not inner and not outer:
        return None
    shown = ("dram", *_SIDES) if panel.levels else ("dram",)
    points = [(x, m.point[1]) for m in inner for level in shown if (x := m.level_intensity(level))]
    right = width - RIGHT - (EDGE if outer else 0.0)
    area = Box(LEFT, BOTTOM, right, height - TOP)
    edge = Box(right, BOTTOM, width - RIGHT, height - TOP) if outer else None
    scale = fitted([*more, *points], [m.point[1] for m in outer], panel.roofs, area)
    spots = []
    for mark in panel.at(Place.CHART, Place.INFINITE):
        intensity, rate = mark.point
        x = edge.middle if edge and mark.place is Place.INFINITE else scale.x(intensity)
        spots.append(Spot(mark=mark, x=x, y=scale.y(rate)))
    drawn = roofs.lines(panel.roofs, scale)
    along = [point for line in drawn for point in points_along(line.start, line.end, 10)]
    small = [Box.around(scale.x(x), scale.y(y), 6.0) for x, y in more]
    for spot in spots if panel.levels else ():
        found = levels(spot, scale)
        xs = [spot.x, *(x for _, x, _ in found)]
        along += points_along((min(xs), spot.y), (max(xs), spot.y), 10) if found else []
        for level, x, y in found:  # the mark and its name
            low, high = sorted((spot.y - 5 * _SIDES[level], y + 6 * _SIDES[level]))
            small.append(Box(x - 8, low, x + 8, high))
    around = [Box.around(s.x, s.y, s.radius) for s in spots[:OWN_MARKS]]
    roof_labels = roofs.labels(panel.roofs, drawn, area, ruler, [*around, *small])
    room = Room(
        area=Box(area.x0, area.y0, width - RIGHT, area.y1),
        taken=[*small, *(box for label in roof_labels for box in label.boxes)],
        marks=around[LABELLED:],
        lines=along,
    )
    labelled, numbered = _labelled(spots[:LABELLED], room, ruler)
    return Chart(
        panel=panel,
        scale=scale,
        edge=edge,
        lines=drawn,
        roof_labels=roof_labels,
        spots=(*labelled, *spots[LABELLED:]),
        numbered=numbered,
    )


def _labelled(spots: Sequence[Spot], room: Room, ruler: Ruler) -> tuple[list[Spot], bool]:
    """Label with names and verdicts if all fit near their marks, with names alone, or with numbers.

    Numbers need a key below the chart; whether they were needed is the second answer.
    """

    def attempt(texts: Sequence[str], details: Sequence[str], width: float = 0.0) -> list[Spot]:
        anchors = []
        for spot, text, detail in zip(spots, texts, details, strict=True):
            wide = width or max(ruler.width(text), ruler.width(detail, SMALL_PX)) + 2
            high = LABEL_PX + (DETAIL_PX if detail else 0.0)
            anchors.append(Anchor(spot.x, spot.y, spot.radius, wide, high))
        found = zip(spots, texts, details, place(anchors, room), strict=True)
        return [replace(s, text=text, detail=detail, box=b) for s, text, detail, b in found]

    marks, bare = [spot.mark for spot in spots], [""] * len(spots)
    if len(spots) <= NAMES_UP_TO * (room.area.x1 - room.area.x0) / _NAMES_WIDTH:
        texts = ruler.names([(m.name, m.detail) for m in marks], _NAME_ROOM)
        if len(marks) > 1:
            shares = [words.share(m.share) for m in marks]
            texts = [f"{t}  {share}".rstrip() for t, share in zip(texts, shares, strict=True)]
        for details in ([words.verdict(m.result.verdict) for m in marks], bare):
            found = attempt(texts, details)
            if all(s.box is not None and s.box.distance(s.x, s.y) <= _FAR for s in found):
                return found, False
    digits = [str(mark.rank) for mark in marks]
    return attempt(digits, bare, max(map(ruler.width, digits)) + 3), True


def levels(spot: Spot, scale: Scale) -> list[tuple[str, float, float]]:
    """The levels that were measured beside DRAM, their x in pixels, and the y of their names.

    A name is clear of the kernel's own mark.
    """
    found = []
    for level, side in _SIDES.items():
        if (intensity := spot.mark.level_intensity(level)) is not None:
            x = scale.x(intensity)
            away = spot.radius + 6 if abs(x - spot.x) < spot.radius + 10 else 10.0
            found.append((level, x, spot.y + side * away))
    return found


def _draw_levels(canvas: Canvas, spot: Spot, scale: Scale) -> None:
    """Small marks of L2 and L1 at their own intensity, on a thin line from the kernel's DRAM."""
    found = levels(spot, scale)
    xs = [spot.x, *(x for _, x, _ in found)]
    style: dict[str, Any] = {"linewidth": 1.0, "alpha": 0.6, "zorder": 3}
    if found:
        canvas.line([min(xs), max(xs)], [spot.y] * 2, spot.bound, **style)
    for level, x, y in found:
        # Above the marks: where all levels have the same traffic, theirs lie on the kernel's own.
        canvas.mark(x, spot.y, spot.bound, _LEVEL_RADIUS, edge=1.2, zorder=5.5)
        style = {"ha": "center", "fontsize": SMALL_PX - 1.5, "backed": "background", "zorder": 3.5}
        canvas.small(x, y, unit_name(level), **style)


# --- drawing --------------------------------------------------------------------------------------


def draw(canvas: Canvas, chart: Chart) -> None:
    """Draw a chart with its lower left corner at the canvas's origin."""
    _draw_axes(canvas, chart)
    end = (chart.edge or chart.scale.area).x1
    roofs.draw(canvas, chart.lines, chart.roof_labels, end)
    for spot in chart.spots if chart.panel.levels else ():
        _draw_levels(canvas, spot, chart.scale)
    # Large marks first, so that small ones are not hidden under them.
    for spot in sorted(chart.spots[:OWN_MARKS], key=lambda s: -s.radius):
        canvas.mark(spot.x, spot.y, spot.bound, spot.radius, gid=spot.mark.id, zorder=5)
    for bound in Bound:
        rest = [s for s in chart.spots[OWN_MARKS:] if s.bound is bound]
        canvas.mark([s.x for s in rest], [s.y for s in rest], bound, 4.0, zorder=4.9)
    for spot in chart.spots:
        if spot.box is not None:
            _draw_label(canvas, spot, spot.box)


def _draw_axes(canvas: Canvas, chart: Chart) -> None:
    if chart.edge is not None:
        canvas.box(chart.edge, "panel", zorder=0)
        canvas.small(chart.edge.middle, BOTTOM - 12, "∞", ha="center", fontsize=TEXT_PX)
    ax, axes = canvas.axes(chart.scale.area), chart.scale
    byte = "byte of the level (large marks: DRAM)" if chart.panel.levels else "DRAM byte"
    ax.set(zorder=-1, xscale="log", yscale="log", xlim=(axes.x0, axes.x1), ylim=(axes.y0, axes.y1))
    label: dict[str, Any] = {"color": canvas.theme["muted"], "fontsize": SMALL_PX + 0.5}
    ax.set_xlabel(f"Operations per {byte}", **label)
    ax.set_ylabel("Operations per second", **label)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(LogLocator(base=10, numticks=12))
        axis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: numbers.plain(x, digits=1)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: numbers.si(y, "", digits=1)))
    ax.grid(True, which="major", color=canvas.theme["grid"], linewidth=0.8)
    ax.set_axisbelow(True)


def _draw_label(canvas: Canvas, spot: Spot, box: Box) -> None:
    """A label's lines, aligned towards the mark, with a leader where that is not beside it."""
    end = box.nearest(spot.x, spot.y)
    if box.distance(spot.x, spot.y) > spot.radius + 5:
        canvas.line([spot.x, end[0]], [spot.y, end[1]], "muted", linewidth=0.7, alpha=0.8, zorder=4)
    canvas.box(box, "background", alpha=0.75, zorder=4.5)
    side, x = "center", box.middle
    if box.x0 >= spot.x or box.x1 <= spot.x:
        side, x = ("left", box.x0 + 1) if box.x0 >= spot.x else ("right", box.x1 - 1)
    style: dict[str, Any] = {"ha": side, "va": "center_baseline", "zorder": 7}
    canvas.text(x, box.y1 - LABEL_PX / 2, spot.text, **style)
    if spot.detail:
        canvas.small(x, box.y0 + DETAIL_PX / 2, spot.detail, **style)
