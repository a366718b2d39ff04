"""Rows for the kernels that no roofline can hold: how busy their units were, and what is known.

Two bars a kernel, the busiest unit of each family, against the line under which neither limits.
"""

from __future__ import annotations

from dataclasses import dataclass

from roofline.model import Bound, Family, Result, UnitUse
from roofline.plot import words
from roofline.plot.canvas import Block, Canvas, Ruler
from roofline.plot.layout import Box
from roofline.plot.scene import Mark, Panel, Place
from roofline.plot.style import HEADING_PX, PAD, SMALL_PX, TEXT_PX
from roofline.text import numbers
from roofline.units import ranked, unit_name

ROWS = 30
_ROW, _HEAD, _AXIS = 34.0, 30.0, 30.0
_LINE = 15.0  # of text
_BAR = 11.0
_LEFT = PAD + 20  # of what is written beside a mark
_NARROW = 700.0  # below this width words are above the bars, not beside them


def busiest(result: Result) -> tuple[UnitUse | None, UnitUse | None]:
    """The busiest unit of the bandwidth and of the compute family, as the verdict names it."""
    found: list[UnitUse | None] = []
    for family in (Family.BANDWIDTH, Family.COMPUTE):
        uses = [use for use in result.measurement.units if use.family is family]
        nearest = [use for use in uses if use.unit == result.verdict.nearest]
        found.append(ranked(nearest or uses)[0] if uses else None)
    return found[0], found[1]


def block(panel: Panel, width: float, ruler: Ruler, *, alone: bool) -> Block | None:
    """The rows of a panel; ``None`` where every kernel is on its chart."""
    marks, threshold = panel.at(Place.BARS), panel.rule.latency
    if not marks:
        return None
    narrow, shown = width < _NARROW, marks[:ROWS]
    heading = "How busy the units were" if alone else "Not on the roofline: how busy the units were"
    line_name = f"both under {threshold:g} %: latency"
    left, right = (_LEFT, width - PAD - 20) if narrow else (0.34 * width, 0.66 * width)
    top = max([100.0, *(use.percent for m in shown for use in busiest(m.result) if use)])
    per_percent = (right - left) / (top * 1.02)
    # The line's name goes beside the heading where there is room, else below; or below the axis.
    name_left = left + threshold * per_percent - ruler.width(line_name, SMALL_PX) / 2
    beside = name_left > PAD + ruler.width(heading, HEADING_PX, bold=True) + 10
    head = _HEAD if beside or narrow else _HEAD + _LINE
    foot = _AXIS + (_LINE if narrow else 0.0) + (16.0 if len(marks) > ROWS else 0.0)
    row = _ROW + (3 * _LINE + 14 if narrow else 0.0)
    bars = Box(left, foot, right, foot + row * len(shown))
    rows = _Rows(shown, bars, row, width, per_percent, top, ruler, narrow=narrow)

    def draw(canvas: Canvas) -> None:
        text = ruler.clip(heading, width - 2 * PAD, HEADING_PX, bold=True)
        canvas.text(PAD, bars.y1 + head - 12, text, fontsize=HEADING_PX, weight="bold")
        rows.draw_scale(canvas, threshold, line_name)
        room = (width - PAD if narrow else left - PAD) - _LEFT
        texts = ruler.names([(m.name, m.detail) for m in shown], room)
        for position, (mark, name) in enumerate(zip(shown, texts, strict=True)):
            rows.draw_words(canvas, mark, rows.low(position), name, room)
            rows.draw_bars(canvas, mark, rows.low(position) + _ROW / 2)
        if len(marks) > ROWS:
            canvas.small(PAD, 10, words.rest(marks[ROWS:], " kernels"))

    return Block(bars.y1 + head, draw)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Where the rows of a panel are; the origin is their lower left corner."""

    marks: tuple[Mark, ...]
    bars: Box
    row: float
    width: float
    per_percent: float
    top: float
    ruler: Ruler
    narrow: bool

    def low(self, position: int) -> float:
        """The lower edge of a row."""
        return self.bars.y1 - self.row * (position + 1)

    def x(self, percent: float) -> float:
        """Where a bar of so many percent ends."""
        return self.bars.x0 + percent * self.per_percent

    def draw_scale(self, canvas: Canvas, threshold: float, line_name: str) -> None:
        """The grid behind the bars, and the line of the rule."""
        bars, lows = self.bars, [self.low(position) for position in range(len(self.marks))]
        ticks = range(0, int(self.top) + 1, 20 if self.top <= 120 else 50)
        for low in lows:
            canvas.box(Box(bars.x0, low, bars.x1, low + _ROW), "panel", zorder=0)
            for x in map(self.x, ticks):
                canvas.line([x, x], [low, low + _ROW], "grid", linewidth=0.8, zorder=1)
        for percent in ticks:
            canvas.small(self.x(percent), lows[-1] - 10, f"{percent} %", ha="center")
        x = self.x(threshold)
        ends = [(low, low + _ROW) for low in lows] if self.narrow else [(bars.y0, bars.y1 + 5)]
        for low, high in ends:
            dashed = {"linestyle": (0, (4, 2)), "linewidth": 1.1, "zorder": 1.5}
            canvas.line([x, x], [low, high], "ink", **dashed)
        half = self.ruler.width(line_name, SMALL_PX) / 2
        x = min(max(x, PAD + half), self.width - PAD - half)
        canvas.small(x, bars.y0 - 25 if self.narrow else bars.y1 + 12, line_name, ha="center")

    def draw_words(self, canvas: Canvas, mark: Mark, low: float, name: str, room: float) -> None:
        """Name, time, verdict and what is known: beside the bars, or all above them."""
        spent = self.ruler.first(words.times(mark), room, SMALL_PX)
        verdict, known = words.verdict(mark.result.verdict), words.rates(mark.result)
        facts = f"{known}; {mark.why}" if known else mark.why
        if self.narrow:
            y = low + self.row - 18
            rest = "; ".join(dict.fromkeys((spent, facts)))
            lines = [(_LEFT, y, name, TEXT_PX), (_LEFT, y - _LINE, verdict, TEXT_PX)]
            lines.append((_LEFT, y - 2 * _LINE, rest, SMALL_PX))
        else:
            y, column = low + _ROW / 2, self.bars.x1 + 18
            lines = [(_LEFT, y + 7, name, TEXT_PX), (_LEFT, y - 8, spent, SMALL_PX)]
            lines += [(column, y + 7, verdict, TEXT_PX), (column, y - 8, facts, SMALL_PX)]
        canvas.mark(PAD + 7, y, mark.result.verdict.bound, 5.5, gid=mark.id, zorder=5)
        for x, y, text, size in lines:
            write = canvas.text if size == TEXT_PX else canvas.small
            write(x, y, text if text == name else self.ruler.clip(text, self.width - PAD - x, size))

    def draw_bars(self, canvas: Canvas, mark: Mark, middle: float) -> None:
        """The two bars of a kernel, named in or beside them."""
        uses = busiest(mark.result)
        if uses == (None, None):
            canvas.small(self.bars.x0 + 6, middle, "no utilisation in the report", style="italic")
        sides = ((Bound.BANDWIDTH, middle + 1.5), (Bound.COMPUTE, middle - _BAR - 1.5))
        for use, (bound, low) in zip(uses, sides, strict=True):
            if use is None:
                continue
            end = max(self.x(use.percent), self.bars.x0 + 1.0)
            canvas.box(Box(self.bars.x0, low, end, low + _BAR), bound, zorder=2)
            text = f"{unit_name(use.unit)} {numbers.percent(use.percent)}"
            inside = end + self.ruler.width(text, SMALL_PX) + 8 > self.bars.x1
            canvas.small(
                end - 4 if inside else end + 4,
                low + _BAR / 2,
                text,
                color="background" if inside else "ink",
                ha="right" if inside else "left",
                va="center_baseline",
                backed=None if inside else "panel",
                zorder=3,
            )
