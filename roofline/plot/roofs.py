"""Roofs: which a device has, their lines, and a label for each that hides no other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from roofline.model import PRECISIONS, Result
from roofline.plot.canvas import Canvas, Ruler
from roofline.plot.layout import Box, Point
from roofline.plot.style import KINDS, SMALL_PX
from roofline.text import names, numbers
from roofline.units import LEVELS, unit_name

_LINE_PX = 13.0  # height of a label's line
_STEP_PX = 18.0  # between two places tried along a roof


@dataclass(frozen=True, slots=True, kw_only=True)
class Roof:
    """A ceiling and its height by kind of peak; ``key`` is a memory level or an operation key."""

    key: str
    rates: dict[str, float]

    @property
    def is_memory(self) -> bool:
        """Whether it is a bandwidth."""
        return self.key in LEVELS

    @property
    def main(self) -> str:
        """The kind that the roof is labelled with: the report's own where there is one."""
        return next(iter(self.rates))

    @property
    def name(self) -> str:
        """What people call it."""
        return unit_name(self.key) if self.is_memory else names.operation(self.key)

    def height(self, rate: float) -> str:
        """A rate of its kind in words."""
        if self.is_memory:
            return numbers.bandwidth(rate)
        return numbers.rate(rate, names.operation_unit(self.key))


def roofs_of(results: Sequence[Result], *, datasheet: bool) -> Iterator[Roof]:
    """The roof of DRAM, of L2 and L1 where the reports measure them, and of each precision in use.

    ``results`` are the longest first: for each kind of peak the first that is known counts.
    """
    for level in LEVELS:
        rates = _rates(results, level, datasheet=datasheet)
        measured = any(getattr(r.measurement, f"{level}_bytes") is not None for r in results)
        if rates and (measured or level == "dram" or "report" in rates):
            yield Roof(key=level, rates=rates)
    for key in PRECISIONS:
        users = [r for r in results if r.measurement.operations.get(key, 0.0) > 0]
        if rates := _rates(users, key, datasheet=datasheet):
            yield Roof(key=key, rates=rates)


def _rates(results: Iterable[Result], key: str, *, datasheet: bool) -> dict[str, float]:
    found: dict[str, float] = {}
    for peaks in (peaks for result in results for peaks in result.peaks.of_kind()):
        rate = peaks.operations_per_s.get(key)
        if key in LEVELS:
            rate = getattr(peaks, f"{key}_bytes_per_s")
        if rate and (datasheet or peaks.kind != "datasheet"):
            found.setdefault(peaks.kind, rate)
    return {kind: found[kind] for kind in KINDS if kind in found}


# --- axes -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scale:
    """Log-log axes: operations per byte and operations per second, mapped into ``area``.

    The range is finite and over 0.
    """

    x0: float
    x1: float
    y0: float
    y1: float
    area: Box

    def x(self, value: float) -> float:
        """The horizontal place of an intensity, in pixels."""
        part = math.log(value / self.x0) / math.log(self.x1 / self.x0)
        return self.area.x0 + (self.area.x1 - self.area.x0) * part

    def y(self, value: float) -> float:
        """The vertical place of a rate, in pixels."""
        part = math.log(value / self.y0) / math.log(self.y1 / self.y0)
        return self.area.y0 + (self.area.y1 - self.area.y0) * part


def fitted(
    points: Sequence[Point], heights: Sequence[float], roofs: Sequence[Roof], area: Box
) -> Scale:
    """Room for every point, every ridge of the DRAM roof, all ceilings, and the labels.

    ``heights`` are rates without an intensity. At least one point or height is given.
    """
    tops = [rate for roof in roofs if not roof.is_memory for rate in roof.rates.values()]
    xs = [x for x, _ in points]
    for roof in roofs:
        if roof.is_memory and tops:
            ridges = tops if roof.key == "dram" else [max(tops)]
            xs += [top / roof.rates[roof.main] for top in ridges]
    ys = [y for _, y in points] + [*heights]
    y1 = max(ys + tops) * 3
    y0 = min(min(ys) / 4, y1 / 200, min(tops, default=y1) / 3)
    x1 = max(xs, default=1.0) * 10
    return Scale(min(min(xs, default=1.0) / 6, x1 / 1e3), x1, y0, y1, area)


# --- lines ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A roof of one kind, its ends in pixels."""

    roof: Roof
    kind: str
    start: Point
    end: Point

    @property
    def angle(self) -> float:
        """Its direction, anticlockwise from the right."""
        return math.atan2(self.end[1] - self.start[1], self.end[0] - self.start[0])


def lines(roofs: Sequence[Roof], scale: Scale) -> tuple[Line, ...]:
    """Every roof that the axes show: memory up to the highest ceiling, ceilings from the ridge.

    Kinds meet their own kind; any where there is none of it.
    """
    found: list[Line] = []
    for roof in roofs:
        others = [r for r in roofs if r.is_memory != roof.is_memory]
        for kind, rate in roof.rates.items():
            same = [r.rates[kind] for r in others if kind in r.rates]
            meets = max(same or [rate for r in others for rate in r.rates.values()], default=None)
            if roof.is_memory:
                high = scale.y1 if meets is None else min(meets, scale.y1)
                left, right = max(scale.x0, scale.y0 / rate), min(scale.x1, high / rate)
                if left >= right:
                    continue
                ends = (left, left * rate), (right, right * rate)
            else:
                left = scale.x0 if meets is None else max(scale.x0, rate / meets)
                ends = (min(left, scale.x1), rate), (scale.x1, rate)
            start, end = ((scale.x(x), scale.y(y)) for x, y in ends)
            found.append(Line(roof=roof, kind=kind, start=start, end=end))
    return tuple(found)


# --- labels ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class RoofLabel:
    """Text at (x, y) in pixels, turned by ``angle`` about its lower left corner."""

    text: str
    x: float
    y: float
    angle: float
    width: float
    boxes: tuple[Box, ...]


def labels(
    roofs: Sequence[Roof], drawn: Sequence[Line], area: Box, ruler: Ruler, marks: Sequence[Box]
) -> tuple[RoofLabel, ...]:
    """A label for each roof, clear of other labels and, where there is room, of marks and roofs."""
    placed: list[RoofLabel] = []
    taken: list[Box] = []
    for group in _groups(roofs):
        own = [line for line in drawn if line.roof is group[0]]
        others = [line for line in drawn if line.roof is not group[0]]
        best = None
        for full in (True, False) if own else ():
            tries = _tries(own, label_text(group, full=full), ruler)
            free = [t for t in tries if _is_free(t.boxes, area, taken)]
            clear = [t for t in free if _is_free(t.boxes, area, marks)]
            legible = (t for t in clear if not any(_runs_through(line, t) for line in others))
            if clear:
                best = next(legible, clear[0])
                break
            best = best or next(iter(free), None)
        if best is not None:
            placed.append(best)
            taken += best.boxes
    return tuple(placed)


def _groups(roofs: Sequence[Roof]) -> list[list[Roof]]:
    """What gets one label: ceilings of the same heights together, each memory roof alone."""
    same: dict[object, list[Roof]] = {}
    for roof in sorted(roofs, key=lambda roof: roof.is_memory):
        same.setdefault(roof.key if roof.is_memory else str(roof.rates), []).append(roof)
    return list(same.values())


def label_text(roofs: Sequence[Roof], *, full: bool = True) -> str:
    """Name a roof with its height: "DRAM 603 GB/s (datasheet 640 GB/s)".

    ``roofs`` have the same height; without ``full`` the other kinds of peak are left out.
    """
    roof = roofs[0]
    text = f"{', '.join(r.name for r in roofs)} {roof.height(roof.rates[roof.main])}"
    if roof.main != "report":
        text += f" {roof.main}"
    others = [f"{kind} {roof.height(r)}" for kind, r in roof.rates.items() if kind != roof.main]
    return f"{text} ({', '.join(others)})" if full and others else text


def _tries(own: Sequence[Line], text: str, ruler: Ruler) -> Iterator[RoofLabel]:
    """Places for a label, the best first: above the roof's own line, then below its lowest.

    Above means above those of its lines that would run through the text, too.
    """
    width, main = ruler.width(text, SMALL_PX), own[0]
    above, angle = main, main.angle
    lowest_first = sorted(own, key=lambda line: line.end[1] - line.end[0])
    for line in lowest_first:
        higher = line.start[1] - above.start[1]
        higher -= math.tan(angle) * (line.start[0] - above.start[0])
        if 0 < higher * math.cos(angle) < _LINE_PX + 4:
            above = line
    for line, lift in ((above, 3.0), (lowest_first[0], -_LINE_PX - 1.0)):
        length = math.dist(line.start, line.end)
        if line.roof.is_memory:
            firsts = [8 + _STEP_PX * i for i in range(int((length - width) // _STEP_PX))]
        else:  # named at the right end; the text may begin left of the ridge
            firsts = [length - width - 8 - _STEP_PX * i for i in range(20)]
        for first in firsts:
            yield _at(text, width, line, first, lift)


def _at(text: str, width: float, line: Line, first: float, lift: float) -> RoofLabel:
    """The text ``first`` pixels along a line and ``lift`` above it."""
    angle = line.angle
    cos, sin = math.cos(angle), math.sin(angle)
    x = line.start[0] + first * cos - lift * sin
    y = line.start[1] + first * sin + lift * cos
    if abs(angle) < 1e-6:
        boxes = [Box(x, y, x + width, y + _LINE_PX)]
    else:
        half = _LINE_PX / 2
        steps = max(int(width // half), 1)
        along = [(i + 0.5) * width / steps for i in range(steps)]
        left, low = x - half * sin, y + half * cos
        boxes = [Box.around(left + a * cos, low + a * sin, half) for a in along]
    return RoofLabel(text=text, x=x, y=y, angle=angle, width=width, boxes=tuple(boxes))


def _runs_through(line: Line, label: RoofLabel) -> bool:
    """Whether a line crosses the text: it is clipped to it, in the text's own axes."""
    cos, sin = math.cos(label.angle), math.sin(label.angle)
    low, high = 0.0, 1.0  # the part of the line that is left
    for (ax, ay), length in (((cos, sin), label.width), ((-sin, cos), _LINE_PX)):
        start, end = ((x - label.x) * ax + (y - label.y) * ay for x, y in (line.start, line.end))
        if abs(end - start) < 1e-9:
            if not 0 < start < length:
                return False
            continue
        first, last = sorted((-start / (end - start), (length - start) / (end - start)))
        low, high = max(low, first), min(high, last)
    return low < high


def _is_free(boxes: Sequence[Box], area: Box, taken: Sequence[Box]) -> bool:
    return all(b.inside(area) for b in boxes) and not any(
        b.overlaps(t, 3.0) for b in boxes for t in taken
    )


def draw(canvas: Canvas, drawn: Sequence[Line], texts: Sequence[RoofLabel], x_end: float) -> None:
    """Draw lines and labels; ceilings go on to ``x_end``, over the strip of infinite intensity."""
    for line in drawn:
        thick = line.kind == "report" and (line.roof.key == "dram" or not line.roof.is_memory)
        xs = [line.start[0], line.end[0] if line.roof.is_memory else x_end]
        style = {"linewidth": 1.8 if thick else 1.2, "linestyle": KINDS[line.kind][0], "zorder": 2}
        canvas.line(xs, [line.start[1], line.end[1]], "roof" if thick else "faint", **style)
    for label in texts:
        turned = {"rotation": math.degrees(label.angle), "rotation_mode": "anchor", "va": "bottom"}
        canvas.small(label.x, label.y, label.text, backed="background", zorder=2.5, **turned)
