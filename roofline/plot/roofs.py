"""Roofs: which a device has, the axes that show them, their lines, and a label for each."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from roofline.model import PRECISIONS, Result
from roofline.plot.layout import Box, Point, Room, points_along
from roofline.plot.style import KINDS, SMALL_PX
from roofline.text import names, numbers
from roofline.units import LEVELS, unit_name

if TYPE_CHECKING:
    from roofline.plot.canvas import Canvas, Ruler

_LINE_PX = 13.0  # height of a label's line
_STEP_PX = 18.0  # between two places tried along a roof
_PART = 0.05  # of a kernel's operations: a precision with less is a by-product, without a roof
# What axes reach at most, so that no broken number makes them endless.
_LEAST, _MOST = 1e-9, 1e21


@dataclass(frozen=True, slots=True, kw_only=True)
class Roof:
    """A ceiling and its height by kind of peak; ``key`` is a memory level or an operation key.

    ``how`` says of a kind what it is where that is not what the kind's name says.
    """

    key: str
    rates: dict[str, float]
    how: dict[str, str] = field(default_factory=dict)

    @property
    def is_memory(self) -> bool:
        """Whether it is a bandwidth."""
        return self.key in LEVELS

    @property
    def tops(self) -> tuple[float, ...]:
        """The rates of operations that it allows; none for memory."""
        return () if self.is_memory else tuple(self.rates.values())

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


def roofs_of(
    results: Sequence[Result], levels: Collection[str] = (), *, datasheet: bool
) -> Iterator[Roof]:
    """The roof of DRAM, of the other ``levels`` asked for, and of each precision in use.

    ``results`` are the longest first: for each kind of peak the first that is known counts. A
    precision is in use where it is a part of a kernel's operations worth naming.
    """
    for level in LEVELS:
        measured = (getattr(r.measurement, f"{level}_bytes") is not None for r in results)
        if level == "dram" or (level in levels and any(measured)):
            yield from _roof(results, level, datasheet=datasheet)
    users: dict[str, list[Result]] = {key: [] for key in PRECISIONS}
    for result in results:
        rates = result.measurement.operation_rates()
        whole = sum(rates.values()) or math.inf
        for key, rate in rates.items():
            if rate / whole >= _PART:
                users[key].append(result)
    for key in PRECISIONS:
        yield from _roof(users[key], key, datasheet=datasheet)


def _roof(results: Iterable[Result], key: str, *, datasheet: bool) -> Iterator[Roof]:
    found: dict[str, float] = {}
    how: dict[str, str] = {}
    for peaks in (peaks for result in results for peaks in result.peaks.of_kind()):
        rate = peaks.operations_per_s.get(key)
        if key in LEVELS:
            rate = getattr(peaks, f"{key}_bytes_per_s")
        wanted = peaks.kind not in found and (datasheet or peaks.kind != "datasheet")
        if wanted and rate and 0 < rate < math.inf:
            found[peaks.kind] = rate
            if peaks.kind == "datasheet" and key in peaks.how:
                how[peaks.kind] = peaks.how[key]
    if found:
        yield Roof(key=key, rates={kind: found[kind] for kind in KINDS if kind in found}, how=how)


# --- axes -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scale:
    """Log-log axes: operations per byte and operations per second, mapped into ``area``.

    The range is finite and over 0; what is outside of it is put on the edge.
    """

    x0: float
    x1: float
    y0: float
    y1: float
    area: Box

    def x(self, value: float) -> float:
        """The horizontal place of an intensity, in pixels."""
        return self.area.x0 + (self.area.x1 - self.area.x0) * _log_part(value, self.x0, self.x1)

    def y(self, value: float) -> float:
        """The vertical place of a rate, in pixels."""
        return self.area.y0 + (self.area.y1 - self.area.y0) * _log_part(value, self.y0, self.y1)


def _log_part(value: float, low: float, high: float) -> float:
    return math.log(min(max(value, low), high) / low) / math.log(high / low)


def beyond(value: float) -> bool:
    """Whether no axis reaches a value: it is drawn on the edge."""
    return not _LEAST <= value <= _MOST


def decades(low: float, high: float, most: int = 10) -> tuple[list[float], list[float]]:
    """Powers of ten in a range, at most so many, and the steps between where all are shown."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    step = max(1, -(-(last - first + 1) // most))
    major = [10.0**power for power in range(first, last + 1, step)]
    if step > 1:
        return major, []
    between = (d * 10.0**power for power in range(first - 1, last + 1) for d in range(2, 10))
    return major, [value for value in between if low < value < high]


def fitted(
    points: Sequence[Point], heights: Sequence[float], roofs: Sequence[Roof], area: Box
) -> Scale:
    """Room for every point, every ridge of the DRAM roof, all ceilings, and the labels.

    ``heights`` are rates without an intensity. At least one point or height is given. Numbers that
    no device reaches are left to the edge.
    """

    def sane(values: Iterable[float]) -> list[float]:
        return [min(max(value, _LEAST), _MOST) for value in values]

    tops = sane(rate for roof in roofs for rate in roof.tops)
    xs = sane(x for x, _ in points)
    for roof in roofs:
        if roof.is_memory and tops:
            ridges = tops if roof.key == "dram" else [max(tops)]
            xs += sane(top / roof.rates[roof.main] for top in ridges)
    ys = sane([y for _, y in points] + [*heights])
    y1 = max(ys + tops) * 3
    y0 = min(min(ys) / 4, y1 / 200, min(tops, default=y1) / 3)
    x1 = max(xs, default=1.0) * 10
    return Scale(min(min(xs, default=1.0) / 6, x1 / 1e3), x1, y0, y1, area)


def ridges(roofs: Sequence[Roof], scale: Scale) -> list[tuple[float, float, str]]:
    """Where the report's DRAM roof meets its ceilings, in pixels, with the intensity in words."""
    dram = next((roof for roof in roofs if roof.key == "dram"), None)
    found = []
    for roof in roofs if dram else ():
        if not roof.is_memory and roof.main == dram.main and dram.rates[dram.main] > 0:  # type: ignore[union-attr]
            top = roof.rates[roof.main]
            at = top / dram.rates[dram.main]  # type: ignore[union-attr]
            if scale.x0 < at < scale.x1:
                found.append((scale.x(at), scale.y(top), f"ridge {numbers.plain(at)}"))
    return found


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
    boxes: tuple[Box, ...]


def labels(
    roofs: Sequence[Roof], drawn: Sequence[Line], room: Room, ruler: Ruler
) -> tuple[RoofLabel, ...]:
    """A label for each roof, clear of other labels and, where there is room, of marks and roofs."""
    placed: list[RoofLabel] = []
    # Ceilings of the same heights have one label, each memory roof its own.
    groups: dict[object, list[Roof]] = {}
    for roof in sorted(roofs, key=lambda roof: roof.is_memory):
        groups.setdefault(roof.key if roof.is_memory else str(roof.rates), []).append(roof)
    for group in groups.values():
        own = next((line for line in drawn if line.roof is group[0]), None)
        taken = [box for label in placed for box in label.boxes]
        others = [p for a in drawn if a is not own for p in points_along(a.start, a.end, 10)]
        left = replace(room, taken=taken, lines=others)
        best, least = None, math.inf
        for text in (label_text(group), label_text(group, full=False)) if own else ():
            for label in _tries(own, text, ruler):  # type: ignore[arg-type]
                cost = left.cost(label.boxes) if least else math.inf
                best, least = (label, cost) if cost < least else (best, least)
        placed += [best] if best else []
    return tuple(placed)


def label_text(roofs: Sequence[Roof], *, full: bool = True) -> str:
    """Name roofs of one height, in full or by one kind: "DRAM 603 GB/s (datasheet 640 GB/s)"."""
    roof = roofs[0]
    first, *others = (
        f"{roof.height(rate)} {roof.how[kind]}"
        if kind in roof.how
        else f"{kind} {roof.height(rate)}"
        for kind, rate in roof.rates.items()
    )
    text = f"{', '.join(r.name for r in roofs)} {first.removeprefix('report ')}"
    return f"{text} ({', '.join(others)})" if full and others else text


def _tries(line: Line, text: str, ruler: Ruler) -> Iterator[RoofLabel]:
    """Places for a label along a roof, the best first: above it, then below."""
    width, length = ruler.width(text, SMALL_PX), math.dist(line.start, line.end)
    cos, sin = math.cos(line.angle), math.sin(line.angle)
    if line.roof.is_memory:
        firsts = [8 + _STEP_PX * i for i in range(int((length - width) // _STEP_PX))]
    else:  # named at the right end; the text may begin left of the ridge
        firsts = [length - width - 8 - _STEP_PX * i for i in range(20)]
    for lift in (3.0, 9.0, -_LINE_PX - 1.0, -_LINE_PX - 7.0):
        for first in firsts:
            x = line.start[0] + first * cos - lift * sin
            y = line.start[1] + first * sin + lift * cos
            if abs(sin) < 1e-6:
                boxes: tuple[Box, ...] = (Box(x, y, x + width, y + _LINE_PX),)
                yield RoofLabel(text=text, x=x, y=y, angle=0.0, boxes=boxes)
                continue
            half = _LINE_PX / 2
            steps = max(int(width // half), 1)
            along = [(i + 0.5) * width / steps for i in range(steps)]
            left, low = x - half * sin, y + half * cos
            boxes = tuple(Box.around(left + a * cos, low + a * sin, half) for a in along)
            yield RoofLabel(text=text, x=x, y=y, angle=line.angle, boxes=boxes)


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
