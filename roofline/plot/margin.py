"""Rows for the kernels that no roofline can hold: how busy their units were, and what is known.

Two bars a kernel, the busiest unit of each family, against the line under which neither limits.
"""

from __future__ import annotations

from dataclasses import dataclass

from roofline.model import Bound, Family, Result, UnitUse
from roofline.plot import words
from roofline.plot.canvas import Block, Canvas, Ruler
from roofline.plot.labels import Box
from roofline.plot.scene import Mark, Panel, Place, mark_id
from roofline.plot.style import HEADING_PX, SMALL_PX, TEXT_PX
from roofline.text import names
from roofline.units import ranked

ROWS = 30
_ROW, _HEAD, _AXIS = 34.0, 30.0, 30.0
_LINE = 15.0  # of text
_BAR = 11.0
_PAD = 14.0
_LEFT = _PAD + 20  # of what is written beside a mark
_NARROW = 700.0  # below this width words are above the bars, not beside them


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """Everything that the rows of a panel need, laid out; the origin is their lower left corner."""

    marks: tuple[Mark, ...]
    more: tuple[Mark, ...]
    number: int
    width: float
    height: float
    bars: Box
    row: float
    narrow: bool
    heading: str
    threshold: float
    top: float

    @property
    def per_percent(self) -> float:
        """The length of a percent of a bar."""
        return (self.bars.x1 - self.bars.x0) / (self.top * 1.02)

    def low(self, position: int) -> float:
        """The lower edge of a row."""
        return self.bars.y1 - self.row * (position + 1)


def busiest(result: Result) -> tuple[UnitUse | None, UnitUse | None]:
    """The busiest unit of the bandwidth and of the compute family, as the verdict names it."""
    found: list[UnitUse | None] = []
    for family in (Family.BANDWIDTH, Family.COMPUTE):
        uses = [use for use in result.measurement.units if use.family is family]
        nearest = [use for use in uses if use.unit == result.verdict.nearest]
        found.append(ranked(nearest or uses)[0] if uses else None)
    return found[0], found[1]


def block(
    panel: Panel, width: float, ruler: Ruler, threshold: float, number: int, *, alone: bool
) -> Block | None:
    """The rows of a panel; ``None`` where every kernel is on its chart."""
    marks = panel.at(Place.MARGIN)
    if not marks:
        return None
    rows = _lay_out(marks, width, ruler, threshold, number, alone=alone)

    def draw(canvas: Canvas) -> None:
        heading = ruler.clip(rows.heading, width - 2 * _PAD, HEADING_PX, bold=True)
        canvas.text(_PAD, rows.height - 12, heading, fontsize=HEADING_PX, weight="bold")
        _scale(canvas, rows, ruler)
        room = (width - _PAD if rows.narrow else rows.bars.x0 - _PAD) - _LEFT
        texts = ruler.names([(m.name, m.detail) for m in rows.marks], room)
        for position, (mark, name) in enumerate(zip(rows.marks, texts, strict=True)):
            _words(canvas, rows, position, name, room, ruler)
            _bars(canvas, rows, mark, rows.low(position) + _ROW / 2, ruler)
        if rows.more:
            share = sum(m.share or 0.0 for m in rows.more)
            text = (
                f"and {len(rows.more)} more kernels with {words.percent(100 * share)} of the time"
            )
            canvas.text(_PAD, 10, text, fontsize=SMALL_PX, color="muted")

    return Block(rows.height, draw)


def _lay_out(
    marks: tuple[Mark, ...],
    width: float,
    ruler: Ruler,
    threshold: float,
    number: int,
    *,
    alone: bool,
) -> _Rows:
    narrow = width < _NARROW
    heading = "How busy the units were" if alone else "Not on the roofline: how busy the units were"
    left, right = (_LEFT, width - _PAD - 20) if narrow else (0.34 * width, 0.66 * width)
    highest = (use.percent for m in marks[:ROWS] for use in busiest(m.result) if use)
    top = max([100.0, *highest])
    # The line's name goes beside the heading where there is room, else below; or below the axis.
    line_name = ruler.width(_line_name(threshold), SMALL_PX)
    line_x = left + threshold * (right - left) / (top * 1.02)
    beside = line_x - line_name / 2 > _PAD + ruler.width(heading, HEADING_PX, bold=True) + 10
    head = _HEAD if beside or narrow else _HEAD + _LINE
    foot = _AXIS + (_LINE if narrow else 0.0) + (16.0 if len(marks) > ROWS else 0.0)
    row = _ROW + (3 * _LINE + 14 if narrow else 0.0)
    shown, more = marks[:ROWS], marks[ROWS:]
    height = head + row * len(shown) + foot
    bars = Box(left, height - head - row * len(shown), right, height - head)
    return _Rows(
        marks=shown,
        more=more,
        number=number,
        width=width,
        height=height,
        bars=bars,
        row=row,
        narrow=narrow,
        heading=heading,
        threshold=threshold,
        top=top,
    )


def _line_name(threshold: float) -> str:
    return f"both under {threshold:g} %: latency"


def _scale(canvas: Canvas, rows: _Rows, ruler: Ruler) -> None:
    bars = rows.bars
    for position in range(len(rows.marks)):
        low = rows.low(position)
        canvas.box(Box(bars.x0, low, bars.x1, low + _ROW), "panel", zorder=0)
        step = 20 if rows.top <= 120 else 50
        for percent in range(0, int(rows.top) + 1, step):
            x = bars.x0 + percent * rows.per_percent
            canvas.line([x, x], [low, low + _ROW], "grid", linewidth=0.8, zorder=1)
            if position == len(rows.marks) - 1:
                text = f"{percent} %"
                canvas.text(x, low - 10, text, ha="center", fontsize=SMALL_PX, color="muted")
    x = bars.x0 + rows.threshold * rows.per_percent
    ends = [(rows.low(position), rows.low(position) + _ROW) for position in range(len(rows.marks))]
    for low, high in ends if rows.narrow else [(bars.y0, bars.y1 + 5)]:
        canvas.line([x, x], [low, high], "ink", linewidth=1.1, linestyle=(0, (4, 2)), zorder=1.5)
    text = _line_name(rows.threshold)
    half = ruler.width(text, SMALL_PX) / 2
    x = min(max(x, _PAD + half), rows.width - _PAD - half)
    y = bars.y0 - 25 if rows.narrow else bars.y1 + 12
    canvas.text(x, y, text, ha="center", fontsize=SMALL_PX, color="muted")


def _words(
    canvas: Canvas, rows: _Rows, position: int, name: str, room: float, ruler: Ruler
) -> None:
    """Name, time, verdict and what is known: beside the bars, or all above them."""
    mark, low = rows.marks[position], rows.low(position)
    middle = low + _ROW / 2
    spent = ruler.first(words.times(mark.total_s, mark.count, mark.share), room, SMALL_PX)
    verdict, known = words.verdict(mark.result.verdict), words.rates(mark.result)
    facts = f"{known}; {mark.why}" if known else mark.why
    if rows.narrow:
        beside = low + rows.row - 18
        lines = [(_LEFT, beside, name, TEXT_PX), (_LEFT, beside - _LINE, verdict, TEXT_PX)]
        rest = "; ".join(dict.fromkeys((spent, facts)))
        lines.append((_LEFT, beside - 2 * _LINE, rest, SMALL_PX))
    else:
        beside, column = middle, rows.bars.x1 + 18
        lines = [(_LEFT, middle + 7, name, TEXT_PX), (_LEFT, middle - 8, spent, SMALL_PX)]
        lines += [(column, middle + 7, verdict, TEXT_PX), (column, middle - 8, facts, SMALL_PX)]
    bound, gid = mark.result.verdict.bound, mark_id(rows.number, mark)
    canvas.mark(_PAD + 7, beside, bound, 5.5, gid=gid, zorder=5)
    for x, y, text, size in lines:
        color = "ink" if size == TEXT_PX else "muted"
        clipped = text if text == name else ruler.clip(text, rows.width - _PAD - x, size)
        canvas.text(x, y, clipped, fontsize=size, color=color)


def _bars(canvas: Canvas, rows: _Rows, mark: Mark, middle: float, ruler: Ruler) -> None:
    bars, uses = rows.bars, busiest(mark.result)
    if uses == (None, None):
        text = "no utilisation in the report"
        canvas.text(bars.x0 + 6, middle, text, fontsize=SMALL_PX, color="muted", style="italic")
        return
    for unit, bound, low in (
        (uses[0], Bound.BANDWIDTH, middle + 1.5),
        (uses[1], Bound.COMPUTE, middle - _BAR - 1.5),
    ):
        if unit is None:
            continue
        end = bars.x0 + max(unit.percent * rows.per_percent, 1.0)
        canvas.box(Box(bars.x0, low, end, low + _BAR), bound.value, zorder=2)
        text = f"{names.unit(unit.unit)} {words.percent(unit.percent)}"
        inside = end + ruler.width(text, SMALL_PX) + 8 > bars.x1
        canvas.text(
            end - 4 if inside else end + 4,
            low + _BAR / 2,
            text,
            fontsize=SMALL_PX,
            color="background" if inside else "ink",
            ha="right" if inside else "left",
            va="center_baseline",
            backed=None if inside else "panel",
            zorder=3,
        )
