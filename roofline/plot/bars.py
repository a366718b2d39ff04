"""Rows for the kernels that no roofline can hold: how busy their units were, and what is known.

Two bars a kernel, the busiest unit of each family, against the line under which neither limits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from roofline.model import Bound, Family, Result, UnitUse
from roofline.plot import words
from roofline.plot.canvas import Canvas
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

    def of(family: Family) -> UnitUse | None:
        uses = [use for use in result.measurement.units if use.family is family]
        nearest = [use for use in uses if use.unit == result.verdict.nearest]
        return next(iter(ranked(nearest or uses)), None)

    return of(Family.BANDWIDTH), of(Family.COMPUTE)


def draw(canvas: Canvas, panel: Panel, *, alone: bool) -> None:
    """The rows of a panel; nothing where every kernel is on its chart."""
    marks, width, ruler = panel.at(Place.BARS), canvas.width, canvas.ruler
    if not marks:
        return
    narrow, shown = width < _NARROW, marks[:ROWS]
    heading = "How busy the units were" if alone else "Not on the roofline: how busy the units were"
    left, right = (_LEFT, width - PAD - 20) if narrow else (0.34 * width, 0.66 * width)
    top = max([100.0, *(use.percent for m in shown for use in busiest(m.result) if use)])

    def x(percent: float) -> float:
        return left + percent * (right - left) / (top * 1.02)

    threshold = panel.rule.latency
    line_name = f"both under {threshold:g} %: latency"
    half = ruler.width(line_name, SMALL_PX) / 2
    # The line's name goes beside the heading where there is room, else below; or below the axis.
    beside = x(threshold) - half > PAD + ruler.width(heading, HEADING_PX, bold=True) + 10
    head = _HEAD if beside or narrow else _HEAD + _LINE
    foot = _AXIS + (_LINE if narrow else 0.0) + (16.0 if len(marks) > ROWS else 0.0)
    row = _ROW + (3 * _LINE + 14 if narrow else 0.0)
    bars = Box(left, foot, right, foot + row * len(shown))
    lows = [bars.y1 - row * (position + 1) for position in range(len(shown))]

    canvas.down(bars.y1 + head)
    text = ruler.clip(heading, width - 2 * PAD, HEADING_PX, bold=True)
    canvas.text(PAD, bars.y1 + head - 12, text, fontsize=HEADING_PX, weight="bold")
    ticks = range(0, int(top) + 1, 20 if top <= 120 else 50)
    for low in lows:
        canvas.box(Box(left, low, right, low + _ROW), "panel", zorder=0)
        for tick in map(x, ticks):
            canvas.line([tick, tick], [low, low + _ROW], "grid", linewidth=0.8, zorder=1)
    for percent in ticks:
        canvas.small(x(percent), foot - 10, f"{percent} %", ha="center")
    for low, high in [(low, low + _ROW) for low in lows] if narrow else [(foot, bars.y1 + 5)]:
        dashed = {"linestyle": (0, (4, 2)), "linewidth": 1.1, "zorder": 1.5}
        canvas.line([x(threshold)] * 2, [low, high], "ink", **dashed)
    middle = min(max(x(threshold), PAD + half), width - PAD - half)
    canvas.small(middle, foot - 25 if narrow else bars.y1 + 12, line_name, ha="center")
    room = (width - PAD if narrow else left - PAD) - _LEFT
    texts = ruler.names([(m.name, m.detail) for m in shown], room)
    for mark, name, low in zip(shown, texts, lows, strict=True):
        _draw_words(canvas, mark, name, room, low + (row - 18 if narrow else _ROW / 2), right)
        _draw_bars(canvas, mark, low + _ROW / 2, bars, x)
    if len(marks) > ROWS:
        canvas.small(PAD, 10, words.rest(marks[ROWS:], " kernels"))


def _draw_words(
    canvas: Canvas, mark: Mark, name: str, room: float, y: float, bars_end: float
) -> None:
    """Name, time, verdict and what is known: beside the bars, or all above them."""
    spent = canvas.ruler.first(words.times(mark), room, SMALL_PX)
    verdict, known = words.verdict(mark.result.verdict), words.rates(mark.result)
    facts = f"{known}; {mark.why}" if known else mark.why
    if canvas.width < _NARROW:
        rest = "; ".join(dict.fromkeys((spent, facts)))
        lines = [(_LEFT, y, name, TEXT_PX), (_LEFT, y - _LINE, verdict, TEXT_PX)]
        lines.append((_LEFT, y - 2 * _LINE, rest, SMALL_PX))
    else:
        lines = [(_LEFT, y + 7, name, TEXT_PX), (_LEFT, y - 8, spent, SMALL_PX)]
        lines += [(bars_end + 18, y + 7, verdict, TEXT_PX), (bars_end + 18, y - 8, facts, SMALL_PX)]
    canvas.mark(PAD + 7, y, mark.result.verdict.bound, 5.5, gid=mark.id, zorder=5)
    for x, line_y, text, size in lines:
        write = canvas.text if size == TEXT_PX else canvas.small
        room = canvas.width - PAD - x
        write(x, line_y, text if text == name else canvas.ruler.clip(text, room, size))


def _draw_bars(
    canvas: Canvas, mark: Mark, middle: float, bars: Box, x: Callable[[float], float]
) -> None:
    """The two bars of a kernel, named in or beside them."""
    uses = busiest(mark.result)
    if uses == (None, None):
        canvas.small(bars.x0 + 6, middle, "no utilisation in the report", style="italic")
    sides = ((Bound.BANDWIDTH, middle + 1.5), (Bound.COMPUTE, middle - _BAR - 1.5))
    for use, (bound, low) in zip(uses, sides, strict=True):
        if use is None:
            continue
        end = max(x(use.percent), bars.x0 + 1.0)
        canvas.box(Box(bars.x0, low, end, low + _BAR), bound, zorder=2)
        text = f"{unit_name(use.unit)} {numbers.percent(use.percent)}"
        style: dict[str, Any] = {"color": "ink", "ha": "left", "backed": "panel"}
        if inside := end + canvas.ruler.width(text, SMALL_PX) + 8 > bars.x1:
            style = {"color": "background", "ha": "right"}
        at = end - 4 if inside else end + 4
        canvas.small(at, low + _BAR / 2, text, va="center_baseline", zorder=3, **style)
