"""The roofline itself laid out: where axes, roofs, marks and their labels are. Draws nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from roofline.plot import levels, roofs, words
from roofline.plot.canvas import Ruler
from roofline.plot.labels import Anchor, Box, place
from roofline.plot.scale import Scale, limits
from roofline.plot.scene import Mark, Panel, Place
from roofline.plot.style import SMALL_PX

LEFT, BOTTOM, TOP, RIGHT = 74.0, 44.0, 8.0, 14.0  # around the axes
EDGE = 44.0  # width of the strip of infinite intensity
LABELLED = 30  # marks with a label: those with the most time
NAMES_UP_TO = 10  # marks that are labelled with names on a wide chart; more get numbers and a key
OWN_MARKS = 500  # marks with a tooltip; more are drawn together, and no label keeps off them
_NAME_ROOM = 210.0
_NAMES_WIDTH = 750.0  # of a wide chart
_FAR = 70.0  # a name farther from its mark than this is worse than a number
LABEL_PX, DETAIL_PX = 14.0, 13.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """A mark with its place and its label, in pixels within the chart."""

    mark: Mark
    x: float
    y: float
    radius: float
    text: str
    detail: str
    box: Box | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A laid-out chart; the origin of its pixels is its lower left corner."""

    panel: Panel
    width: float
    height: float
    scale: Scale
    edge: Box | None
    lines: tuple[roofs.Line, ...]
    roof_labels: tuple[roofs.RoofLabel, ...]
    spots: tuple[Spot, ...]
    numbered: bool


def radius(share: float | None) -> float:
    """The size of a mark: its area goes with the share of the time, within what can be seen."""
    return min(max(17.0 * math.sqrt(share or 0.0), 4.0), 15.0)


def lay_out(
    panel: Panel,
    width: float,
    height: float,
    ruler: Ruler,
    *,
    more: Sequence[tuple[float, float]] = (),
) -> Chart | None:
    """Place everything of a panel's chart; ``None`` where no kernel belongs on one.

    ``more`` are further points, in data coordinates, that it must have room for.
    """
    inner, outer = panel.at(Place.CHART), panel.at(Place.INFINITE)
    if not inner and not outer:
        return None
    ranges = limits(
        [*more, *((x, m.y) for m in inner for x in _intensities(m, panel))],
        [m.y for m in outer],
        panel.memory,
        panel.ceilings,
    )
    right = width - RIGHT - (EDGE if outer else 0.0)
    area = Box(LEFT, BOTTOM, right, height - TOP)
    scale = Scale(ranges, area)
    edge = Box(right, BOTTOM, width - RIGHT, height - TOP) if outer else None
    drawn = roofs.lines(panel, ranges)
    places = [(m, scale.x(m.x), scale.y(m.y)) for m in inner]
    if edge is not None:
        places += [(m, (edge.x0 + edge.x1) / 2, scale.y(m.y)) for m in outer]
    places.sort(key=lambda p: p[0].rank)
    small = [_around(scale.x(x), scale.y(y), 6.0) for x, y in more]
    along = [point for line in drawn for point in _points(line, scale)]
    if panel.levels:
        for m, x, y in places:
            small += levels.boxes(m, scale, (x, y), radius(m.share))
        along += [(x, y) for m, start, y in places for x in levels.line(m, scale, start)]
    around = [_around(x, y, radius(m.share)) for m, x, y in places]
    roof_labels = roofs.labels(panel, drawn, scale, ruler, [*around[:OWN_MARKS], *small])
    room = _Room(
        area=Box(area.x0, area.y0, width - RIGHT, area.y1),
        taken=[*small, *(box for label in roof_labels for box in label.boxes)],
        marks=around[LABELLED:OWN_MARKS],
        lines=along,
    )
    spots, numbered = _label(places[:LABELLED], room, ruler)
    spots += tuple(_spot(place, ("", ""), None) for place in places[LABELLED:])
    return Chart(
        panel=panel,
        width=width,
        height=height,
        scale=scale,
        edge=edge,
        lines=drawn,
        roof_labels=roof_labels,
        spots=spots,
        numbered=numbered,
    )


def _around(x: float, y: float, reach: float) -> Box:
    return Box(x - reach, y - reach, x + reach, y + reach)


def _intensities(mark: Mark, panel: Panel) -> list[float]:
    shown = ("dram", "l2", "l1") if panel.levels else ("dram",)
    return [x for x in map(mark.level_intensity, shown) if x is not None]


_Place = tuple[Mark, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Room:
    """Where labels may go, what they must keep off, and what they should keep off."""

    area: Box
    taken: Sequence[Box]
    marks: Sequence[Box]
    lines: Sequence[tuple[float, float]]


_Text = tuple[str, str]  # a label and its second, smaller line


def _label(places: Sequence[_Place], room: _Room, ruler: Ruler) -> tuple[tuple[Spot, ...], bool]:
    """Label with names and verdicts if all fit near their marks, with names alone, or with numbers.

    Numbers need a key below the chart; whether they were needed is the second answer.
    """

    def attempt(texts: Sequence[_Text], width: float | None) -> tuple[Spot, ...]:
        anchors = [
            Anchor(
                x,
                y,
                radius(m.share),
                width or max(ruler.width(text), ruler.width(detail, SMALL_PX)) + 2,
                LABEL_PX + (DETAIL_PX if detail else 0.0),
            )
            for (m, x, y), (text, detail) in zip(places, texts, strict=True)
        ]
        boxes = place(anchors, room.area, taken=room.taken, marks=room.marks, lines=room.lines)
        return tuple(map(_spot, places, texts, boxes))

    if len(places) <= NAMES_UP_TO * (room.area.x1 - room.area.x0) / _NAMES_WIDTH:
        marks = [m for m, _, _ in places]
        names = _name_labels(marks, ruler)
        limits = [words.verdict(m.result.verdict) for m in marks]
        for details in (limits, [""] * len(marks)):
            spots = attempt(list(zip(names, details, strict=True)), None)
            if all(s.box is not None and s.box.distance(s.x, s.y) <= _FAR for s in spots):
                return spots, False
    digits = [(str(m.rank), "") for m, _, _ in places]
    return attempt(digits, max(ruler.width(d) for d, _ in digits) + 3), True


def _spot(at: _Place, text: _Text, box: Box | None) -> Spot:
    mark, x, y = at
    return Spot(
        mark=mark, x=x, y=y, radius=radius(mark.share), text=text[0], detail=text[1], box=box
    )


def _name_labels(marks: Sequence[Mark], ruler: Ruler) -> list[str]:
    texts = ruler.names([(m.name, m.detail) for m in marks], _NAME_ROOM)
    if len(marks) == 1:
        return texts
    return [f"{t}  {words.share(m.share)}".rstrip() for t, m in zip(texts, marks, strict=True)]


def _points(line: roofs.Line, scale: Scale) -> list[tuple[float, float]]:
    (x0, y0), (x1, y1) = line.ends
    start, end = (scale.x(x0), scale.y(y0)), (scale.x(x1), scale.y(y1))
    steps = max(int(math.hypot(end[0] - start[0], end[1] - start[1]) // 10), 1)
    return [
        (
            start[0] + (end[0] - start[0]) * i / steps,
            start[1] + (end[1] - start[1]) * i / steps,
        )
        for i in range(steps + 1)
    ]
