"""Where labels go: boxes in pixels that touch neither each other nor the edge. Pure geometry."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

Point = tuple[float, float]

_DIRECTIONS = tuple(
    (math.cos(math.radians(a)), math.sin(math.radians(a)))
    for a in (0, 180, 45, 135, 315, 225, 90, 270, 22, 158, 338, 202, 67, 113, 293, 247)
)
_RINGS = (3.0, 9.0, 16.0, 24.0, 34.0, 46.0, 60.0, 76.0, 94.0, 114.0, 138.0, 166.0, 200.0)
_GAP = 2.0  # between two labels
# What an ugly place costs, in pixels of distance that one would go to avoid it.
_ON_MARK, _ON_LINE, _ON_LEADER = 60.0, 6.0, 30.0


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle, y upwards."""

    x0: float
    y0: float
    x1: float
    y1: float

    @classmethod
    def around(cls, x: float, y: float, reach: float) -> Box:
        """The square about a point."""
        return cls(x - reach, y - reach, x + reach, y + reach)

    @property
    def middle(self) -> float:
        """The x of its centre."""
        return (self.x0 + self.x1) / 2

    def overlaps(self, other: Box, gap: float = 0.0) -> bool:
        """Whether the two are nearer than ``gap``."""
        across = self.x0 < other.x1 + gap and other.x0 < self.x1 + gap
        return across and self.y0 < other.y1 + gap and other.y0 < self.y1 + gap

    def inside(self, area: Box) -> bool:
        """Whether nothing of this box is outside of ``area``."""
        return (
            self.x0 >= area.x0 and self.x1 <= area.x1 and self.y0 >= area.y0 and self.y1 <= area.y1
        )

    def holds(self, point: Point) -> bool:
        """Whether a point is within the box, not on its edge."""
        return self.x0 < point[0] < self.x1 and self.y0 < point[1] < self.y1

    def nearest(self, x: float, y: float) -> Point:
        """The point of the box that is nearest to (x, y)."""
        return min(max(x, self.x0), self.x1), min(max(y, self.y0), self.y1)

    def distance(self, x: float, y: float) -> float:
        """From (x, y) to the nearest point of the box."""
        return math.dist((x, y), self.nearest(x, y))


def points_along(start: Point, end: Point, step: float) -> list[Point]:
    """Points from ``start`` to ``end``, about ``step`` apart."""
    steps = max(int(math.dist(start, end) // step), 1)
    (x, y), (width, height) = start, (end[0] - start[0], end[1] - start[1])
    return [(x + width * i / steps, y + height * i / steps) for i in range(steps + 1)]


def ticks(most: float) -> list[float]:
    """Round numbers from 0 to ``most``, four to seven of them."""
    power = 10.0 ** math.floor(math.log10(most / 4))
    step = next(s * power for s in (1, 2, 5, 10) if most / (s * power) <= 6.5)
    return [step * i for i in range(int(most / step + 1e-9) + 1)]


@dataclass(frozen=True, slots=True)
class Anchor:
    """A mark that wants a label of ``width`` x ``height``; ``radius`` is the mark's own."""

    x: float
    y: float
    radius: float
    width: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Where labels may go, what they must keep off (``taken``), and what they should keep off.

    ``lines`` are points along roofs.
    """

    area: Box
    taken: Sequence[Box] = ()
    marks: Sequence[Box] = ()
    lines: Sequence[Point] = ()

    def cost(self, boxes: Sequence[Box]) -> float:
        """What a label in these boxes costs; infinite where there is no room for it."""
        free = all(box.inside(self.area) for box in boxes)
        if not free or any(box.overlaps(other, _GAP) for box in boxes for other in self.taken):
            return math.inf
        marks, points = self.marks, self.lines
        if len(boxes) > 1:  # along a slope: what is far from all of them need not be asked each
            left, low = min(box.x0 for box in boxes), min(box.y0 for box in boxes)
            whole = Box(left, low, max(box.x1 for box in boxes), max(box.y1 for box in boxes))
            marks = [mark for mark in marks if whole.overlaps(mark, 1.0)]
            points = [point for point in points if whole.holds(point)]
        on_marks = sum(box.overlaps(mark, 1.0) for box in boxes for mark in marks)
        return _ON_MARK * on_marks + _ON_LINE * sum(b.holds(p) for b in boxes for p in points)


def place(anchors: Sequence[Anchor], room: Room) -> tuple[Box | None, ...]:
    """A box near each anchor, the first served first; ``None`` where there is no room.

    No box overlaps another or one of ``room.taken``, or leaves the area. Marks, leaders and lines
    are avoided where there is room. The same input gives the same answer.
    """
    marks = [*room.marks, *(Box.around(a.x, a.y, a.radius) for a in anchors)]
    placed: list[Box | None] = []
    for anchor in anchors:
        taken = [*room.taken, *filter(None, placed)]
        placed.append(_around(anchor, replace(room, taken=taken, marks=marks)))
    return tuple(placed)


def _around(anchor: Anchor, room: Room) -> Box | None:
    """The cheapest place near a mark."""
    best, best_cost = None, math.inf
    for ring in _RINGS:
        if ring >= best_cost:  # no farther ring can be cheaper
            break
        for order, (dx, dy) in enumerate(_DIRECTIONS):
            # Its nearest edge or corner is ``ring`` away from the mark's edge.
            reach = anchor.radius + ring
            left = anchor.x + reach * dx - anchor.width * _before(dx)
            low = anchor.y + reach * dy - anchor.height * _before(dy)
            box = Box(left, low, left + anchor.width, low + anchor.height)
            cost = ring + 0.4 * order + room.cost([box])
            if cost < best_cost:
                path = points_along((anchor.x, anchor.y), box.nearest(anchor.x, anchor.y), 5)[1:-1]
                cost += _ON_LEADER * sum(any(map(label.holds, path)) for label in room.taken)
                best, best_cost = (box, cost) if cost < best_cost else (best, best_cost)
    return best


def _before(direction: float) -> float:
    """The part of a label that lies before its mark, from 0 to 1."""
    return 0.5 - 0.5 * max(-1.0, min(1.0, 1.6 * direction))
