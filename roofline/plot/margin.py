"""Rows for the kernels that no roofline can hold: how busy their units were, and what is known.

Two bars a kernel, the busiest unit of each family, against the line under which neither limits.
"""

from __future__ import annotations

from collections.abc import Sequence

from roofline.model import Bound, Family, Result, UnitUse
from roofline.plot import words
from roofline.plot.canvas import Block, Canvas, Ruler
from roofline.plot.labels import Box
from roofline.plot.scene import Mark, Panel, Place, mark_id
from roofline.plot.style import HEADING_PX, SMALL_PX, TEXT_PX
from roofline.render import names

ROWS = 30
_ROW, _HEAD, _AXIS = 34.0, 30.0, 30.0
_BAR = 11.0
_PAD = 14.0


def busiest(result: Result) -> tuple[UnitUse | None, UnitUse | None]:
    """The busiest unit of the bandwidth and of the compute family."""
    found: list[UnitUse | None] = []
    for family in (Family.BANDWIDTH, Family.COMPUTE):
        units = [u for u in result.measurement.units if u.family is family]
        found.append(max(units, key=lambda u: u.percent, default=None))
    return found[0], found[1]


def block(
    panel: Panel, width: float, ruler: Ruler, threshold: float, number: int, *, alone: bool
) -> Block | None:
    """The rows of a panel; ``None`` where every kernel is on its chart."""
    marks = panel.at(Place.MARGIN)
    if not marks:
        return None
    shown = marks[:ROWS]
    more = marks[ROWS:]
    height = _HEAD + _ROW * len(shown) + _AXIS + (16.0 if more else 0.0)

    def draw(canvas: Canvas) -> None:
        _draw(canvas, shown, more, width, height, ruler, threshold, number, alone=alone)

    return Block(height, draw)


def _draw(
    canvas: Canvas,
    shown: Sequence[Mark],
    more: Sequence[Mark],
    width: float,
    height: float,
    ruler: Ruler,
    threshold: float,
    number: int,
    *,
    alone: bool,
) -> None:
    head = "How busy the units were" if alone else "Not on the roofline: how busy the units were"
    canvas.text(_PAD, height - 12, head, fontsize=HEADING_PX, weight="bold")
    bars = Box(0.34 * width, height - _HEAD - _ROW * len(shown), 0.66 * width, height - _HEAD)
    highest = max((u.percent for m in shown for u in busiest(m.result) if u), default=0.0)
    top = max(100.0, highest)
    per_percent = (bars.x1 - bars.x0) / (top * 1.02)
    _scale(canvas, bars, top, per_percent, threshold)
    left = _PAD + 20
    texts = ruler.names([(m.name, m.detail) for m in shown], bars.x0 - _PAD - left)
    for row, (mark, name) in enumerate(zip(shown, texts, strict=True)):
        middle = bars.y1 - _ROW * (row + 0.5)
        _name(canvas, mark, name, left, middle, number)
        _bars(canvas, mark, middle, bars, per_percent, ruler)
        _text(canvas, mark, middle, Box(bars.x1 + 18, 0, width - _PAD, 0), ruler)
    if more:
        share = sum(m.share or 0.0 for m in more)
        text = f"and {len(more)} more kernels with {words.percent(100 * share)} of the time"
        canvas.text(_PAD, bars.y0 - 10, text, fontsize=SMALL_PX, color="muted")


def _scale(canvas: Canvas, bars: Box, top: float, per_percent: float, threshold: float) -> None:
    canvas.box(Box(bars.x0, bars.y0, bars.x1, bars.y1), "panel", zorder=0)
    step = 20 if top <= 120 else 50
    for percent in range(0, int(top) + 1, step):
        x = bars.x0 + percent * per_percent
        canvas.line([x, x], [bars.y0, bars.y1], "grid", linewidth=0.8, zorder=1)
        canvas.text(x, bars.y0 - 10, f"{percent} %", ha="center", fontsize=SMALL_PX, color="muted")
    x = bars.x0 + threshold * per_percent
    canvas.line(
        [x, x], [bars.y0, bars.y1 + 5], "ink", linewidth=1.1, linestyle=(0, (4, 2)), zorder=1.5
    )
    canvas.text(
        x,
        bars.y1 + 12,
        f"both under {threshold:g} %: latency",
        ha="center",
        fontsize=SMALL_PX,
        color="muted",
    )


def _name(canvas: Canvas, mark: Mark, name: str, left: float, middle: float, number: int) -> None:
    canvas.mark(
        _PAD + 7,
        middle,
        mark.result.verdict.bound,
        5.5,
        gid=mark_id(number, mark),
        zorder=5,
    )
    canvas.text(left, middle + 7, name)
    text = words.time(mark.total_s, mark.count, mark.share)
    canvas.text(left, middle - 8, text, fontsize=SMALL_PX, color="muted")


def _bars(
    canvas: Canvas, mark: Mark, middle: float, bars: Box, per_percent: float, ruler: Ruler
) -> None:
    use = busiest(mark.result)
    if use == (None, None):
        text = "no utilisation in the report"
        canvas.text(bars.x0 + 6, middle, text, fontsize=SMALL_PX, color="muted", style="italic")
        return
    for unit, bound, low in (
        (use[0], Bound.BANDWIDTH, middle + 1.5),
        (use[1], Bound.COMPUTE, middle - _BAR - 1.5),
    ):
        if unit is None:
            continue
        end = bars.x0 + max(unit.percent * per_percent, 1.0)
        canvas.box(Box(bars.x0, low, end, low + _BAR), bound.value, zorder=2)
        text = f"{names.unit(unit.unit)} {words.percent(unit.percent)}"
        room = ruler.width(text, SMALL_PX) + 8
        inside = end + room > bars.x1
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


def _text(canvas: Canvas, mark: Mark, middle: float, column: Box, ruler: Ruler) -> None:
    room = column.x1 - column.x0
    verdict = ruler.clip(words.verdict(mark.result.verdict), room, TEXT_PX)
    canvas.text(column.x0, middle + 7, verdict)
    known = words.rates(mark.result)
    text = f"{known}; {mark.why}" if known else mark.why
    canvas.text(
        column.x0, middle - 8, ruler.clip(text, room, SMALL_PX), fontsize=SMALL_PX, color="muted"
    )
