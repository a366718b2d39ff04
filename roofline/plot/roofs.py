"""Roofs and ceilings: their lines by kind of peak, and one label for each that hides no other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from roofline.plot import words
from roofline.plot.canvas import Canvas, Ruler
from roofline.plot.ceilings import Roof
from roofline.plot.labels import Box
from roofline.plot.scale import Limits, Scale, ceiling_line, memory_line
from roofline.plot.scene import Panel
from roofline.plot.style import KINDS, SMALL_PX
from roofline.text import names, numbers

_LINE_PX = 13.0  # height of a label's line
_STEP_PX = 18.0  # between two places tried along a roof

Ends = tuple[tuple[float, float], tuple[float, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A roof of one kind, its ends in data coordinates."""

    key: str
    kind: str
    ends: Ends
    is_memory: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RoofLabel:
    """Text at (x, y) in pixels, turned by ``degrees`` about its lower left corner."""

    text: str
    x: float
    y: float
    degrees: float
    width: float
    boxes: tuple[Box, ...]


def lines(panel: Panel, limits: Limits) -> tuple[Line, ...]:
    """Every roof of the panel that the axes show."""
    found: list[Line] = []
    for roof in panel.memory:
        for kind, rate in roof.rates.items():
            ends = memory_line(rate, limits, _top(panel.ceilings, kind))
            if ends is not None:
                found.append(Line(key=roof.key, kind=kind, ends=ends, is_memory=True))
    for roof in panel.ceilings:
        for kind, rate in roof.rates.items():
            ends = ceiling_line(rate, limits, _bandwidths(panel.memory, kind))
            found.append(Line(key=roof.key, kind=kind, ends=ends, is_memory=False))
    return tuple(found)


def _top(ceilings: Sequence[Roof], kind: str) -> float | None:
    """The highest ceiling of a kind; of any kind where that kind has none."""
    same = [roof.rates[kind] for roof in ceilings if kind in roof.rates]
    return max(same or [r for roof in ceilings for r in roof.rates.values()], default=None)


def _bandwidths(memory: Sequence[Roof], kind: str) -> Iterable[float]:
    same = [roof.rates[kind] for roof in memory if kind in roof.rates]
    return same or [r for roof in memory for r in roof.rates.values()]


def labels(
    panel: Panel, drawn: Sequence[Line], scale: Scale, ruler: Ruler, marks: Sequence[Box]
) -> tuple[RoofLabel, ...]:
    """A label for each roof, clear of other labels and, where there is room, of marks and roofs."""
    placed: list[RoofLabel] = []
    taken: list[Box] = []
    for roofs, is_memory in _groups(panel):
        main = roofs[0].main
        own = [x for x in drawn if x.key == roofs[0].key and x.is_memory == is_memory]
        own.sort(key=lambda line: line.kind != main)
        if not own:
            continue
        others = [_pixels(x, scale) for x in drawn if x not in own]
        best = None
        for full in (True, False):
            text = label_text(roofs, is_memory=is_memory, full=full)
            width = ruler.width(text, SMALL_PX)
            tries = _tries(own, text, width, scale, is_memory=is_memory)
            free = [t for t in tries if _is_free(t.boxes, scale.area, taken)]
            clear = [t for t in free if _is_free(t.boxes, scale.area, marks)]
            legible = [t for t in clear if not any(_runs_through(line, t) for line in others)]
            if clear:
                best = (legible or clear)[0]
                break
            best = best or next(iter(free), None)
        if best is not None:
            placed.append(best)
            taken += best.boxes
    return tuple(placed)


def _groups(panel: Panel) -> Iterable[tuple[list[Roof], bool]]:
    """What gets one label: ceilings of the same heights together, each memory roof alone."""
    same: dict[tuple[tuple[str, float], ...], list[Roof]] = {}
    for roof in panel.ceilings:
        same.setdefault(tuple(roof.rates.items()), []).append(roof)
    yield from ((roofs, False) for roofs in same.values())
    yield from (([roof], True) for roof in panel.memory)


def label_text(roofs: Sequence[Roof], *, is_memory: bool, full: bool = True) -> str:
    """Name a roof with its height: "DRAM 603 GB/s (datasheet 640 GB/s)".

    ``roofs`` have the same height; without ``full`` the other kinds of peak are left out.
    """
    roof = roofs[0]

    def height(rate: float) -> str:
        return numbers.bandwidth(rate) if is_memory else words.rate(roof.key, rate)

    name = ", ".join(words.LEVELS[r.key] if is_memory else names.operation(r.key) for r in roofs)
    text = f"{name} {height(roof.rates[roof.main])}"
    if roof.main != "report":
        text += f" {roof.main}"
    if not full:
        return text
    others = [f"{kind} {height(r)}" for kind, r in roof.rates.items() if kind != roof.main]
    return text + (f" ({', '.join(others)})" if others else "")


def _tries(
    own: Sequence[Line], text: str, width: float, scale: Scale, *, is_memory: bool
) -> Iterable[RoofLabel]:
    """Places for a label, the best first: above the roof's own line, then below its lowest.

    Above means above those of its lines that would run through the text, too.
    """
    ends = sorted((_pixels(line, scale) for line in own), key=lambda e: e[1][1] - e[1][0])
    main = _pixels(own[0], scale)
    above = main
    across = math.cos(math.atan2(main[1][1] - main[0][1], main[1][0] - main[0][0]))
    for line in ends:
        if 0 < across * (line[0][1] - above[0][1] - _rise(above, line)) < _LINE_PX + 4:
            above = line
    for (start, end), up in ((above, True), (ends[0], False)):
        angle = math.atan2(end[1] - start[1], end[0] - start[0])
        length = math.hypot(end[0] - start[0], end[1] - start[1])
        if is_memory:
            firsts = [8 + _STEP_PX * i for i in range(int((length - width) // _STEP_PX))]
        else:  # named at the right end; the text may begin left of the ridge
            firsts = [length - width - 8 - _STEP_PX * i for i in range(20)]
        for first in firsts:
            yield _at(text, width, start, angle, first, above=up)


def _pixels(line: Line, scale: Scale) -> Ends:
    (x0, y0), (x1, y1) = line.ends
    return (scale.x(x0), scale.y(y0)), (scale.x(x1), scale.y(y1))


def _rise(base: Ends, other: Ends) -> float:
    """How much higher ``base`` is where ``other`` begins than where it begins itself."""
    (x0, y0), (x1, y1) = base
    return (other[0][0] - x0) * (y1 - y0) / (x1 - x0) if x1 > x0 else 0.0


def _at(
    text: str, width: float, origin: tuple[float, float], angle: float, start: float, *, above: bool
) -> RoofLabel:
    along, up = (math.cos(angle), math.sin(angle)), (-math.sin(angle), math.cos(angle))
    lift = 3.0 if above else -_LINE_PX - 1.0
    x = origin[0] + start * along[0] + lift * up[0]
    y = origin[1] + start * along[1] + lift * up[1]
    if abs(angle) < 1e-6:
        boxes = [Box(x, y, x + width, y + _LINE_PX)]
    else:
        half = _LINE_PX / 2
        steps = max(int(width // half), 1)
        centres = [
            (
                x + (i + 0.5) * width / steps * along[0] + half * up[0],
                y + (i + 0.5) * width / steps * along[1] + half * up[1],
            )
            for i in range(steps)
        ]
        boxes = [Box(cx - half, cy - half, cx + half, cy + half) for cx, cy in centres]
    degrees = math.degrees(angle)
    return RoofLabel(text=text, x=x, y=y, degrees=degrees, width=width, boxes=tuple(boxes))


def _runs_through(line: Ends, label: RoofLabel) -> bool:
    """Whether a line crosses the text: it is clipped to it, in the text's own axes."""
    angle = math.radians(label.degrees)
    along, up = (math.cos(angle), math.sin(angle)), (-math.sin(angle), math.cos(angle))
    low, high = 0.0, 1.0  # the part of the line that is left
    for axis, length in ((along, label.width), (up, _LINE_PX)):
        start, end = ((x - label.x) * axis[0] + (y - label.y) * axis[1] for x, y in line)
        if abs(end - start) < 1e-9:
            if not 0 < start < length:
                return False
            continue
        first, last = sorted(((0 - start) / (end - start), (length - start) / (end - start)))
        low, high = max(low, first), min(high, last)
    return low < high


def _is_free(boxes: Sequence[Box], area: Box, taken: Sequence[Box]) -> bool:
    return all(b.inside(area) for b in boxes) and not any(
        b.overlaps(t, 3.0) for b in boxes for t in taken
    )


def draw(
    canvas: Canvas, drawn: Sequence[Line], texts: Sequence[RoofLabel], scale: Scale, x_end: float
) -> None:
    """Draw lines and labels; ceilings go on to ``x_end``, over the strip of infinite intensity."""
    for line in drawn:
        dashes = KINDS[line.kind][0]
        main = line.key == "dram" or not line.is_memory
        xs = [scale.x(line.ends[0][0]), scale.x(line.ends[1][0])]
        ys = [scale.y(line.ends[0][1]), scale.y(line.ends[1][1])]
        if not line.is_memory:
            xs[1] = x_end
        canvas.line(
            xs,
            ys,
            "roof" if main and line.kind == "report" else "faint",
            linewidth=1.8 if main and line.kind == "report" else 1.2,
            linestyle="-" if dashes is None else (0, dashes),
            zorder=2,
        )
    for label in texts:
        canvas.text(
            label.x,
            label.y,
            label.text,
            fontsize=SMALL_PX,
            color="muted",
            va="bottom",
            rotation=label.degrees,
            rotation_mode="anchor",
            backed="background",
            zorder=2.5,
        )
