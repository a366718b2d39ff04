"""Before and after on one roofline: an arrow a kernel, and a row with its times for every pair."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from matplotlib.figure import Figure

from roofline.model import Analysis, Group, Result
from roofline.plot import chart, details, drawing, page
from roofline.plot.canvas import Block, Canvas, Ruler, styled
from roofline.plot.chart import Chart
from roofline.plot.labels import Box
from roofline.plot.picture import Picture
from roofline.plot.scene import Mark, Options, Panel, Place, compose, place_of
from roofline.plot.style import HEADING_PX, SMALL_PX, TEXT_PX
from roofline.render import sentences
from roofline.text import names, numbers

_ROW, _HEAD, _AXIS, _PAD = 24.0, 40.0, 26.0, 14.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One kernel before and after; ``share`` is its part of the time before (0 to 1)."""

    before: Result
    after: Result
    share: float | None = None


def draw_comparison(pairs: Sequence[Pair], options: Options | None = None) -> Figure:
    """Draw an arrow from before to after for each pair, and all pairs by time in rows.

    Pairs with an end that no roofline can hold are in the rows alone. Roofs are those of the
    "after" results.
    """
    return picture_comparison(pairs, options).figure


def picture_comparison(pairs: Sequence[Pair], options: Options | None = None) -> Picture:
    """The same with tooltips and the table of the HTML page."""
    options = options or Options(levels=False)
    with styled():
        analysis = _after(pairs)
        scene = compose(analysis, options)
        before = {id(p.after): p.before for p in pairs}
        ruler, width = Ruler(), float(options.width_px)
        title = names.printable(options.title or "Before and after")
        blocks = [page.title_block(title, width, ruler)]
        legend = page.legend_items(scene, (p.before.verdict.bound for p in pairs))
        blocks.append(page.legend_block(legend, width, ruler))
        for number, panel in enumerate(scene.panels, start=1):
            blocks += _panel_blocks(panel, before, number, options, ruler)
        notes = [sentences.UNDER_PROFILER]
        if any(_arrows(panel, before) for panel in scene.panels):
            notes.insert(0, "Arrows go from before (hollow) to after; roofs are those of after.")
        blocks.append(page.footer_block(notes, width, ruler))
        figure = page.stack(blocks, options)
    return Picture(
        figure=figure,
        title=title,
        theme=options.theme,
        tips=details.tips(scene),
        table=details.table(scene),
    )


def _after(pairs: Sequence[Pair]) -> Analysis:
    """The "after" side as an analysis, so that it is arranged as any other."""
    groups = []
    for position, pair in enumerate(pairs):
        seconds = pair.after.measurement.duration_s
        groups.append(
            Group(
                result=pair.after,
                launches=(position,),
                total_s=seconds,
                min_s=seconds,
                max_s=seconds,
                share=pair.share,
                bounds={str(pair.after.verdict.bound): 1},
            )
        )
    return Analysis(sources=(), results=tuple(p.after for p in pairs), groups=tuple(groups))


def _panel_blocks(
    panel: Panel, before: dict[int, Result], number: int, options: Options, ruler: Ruler
) -> list[Block]:
    width = float(options.width_px)
    names_of_before = {
        before[id(m.result)].measurement.device.name or "unknown GPU" for m in panel.marks
    }
    text = panel.device
    if names_of_before != {panel.marks[0].result.measurement.device.name or "unknown GPU"}:
        text += f"; before on {', '.join(sorted(names_of_before))}"
    blocks = [page.text_block(text, width, ruler)]
    arrows = _arrows(panel, before)
    if arrows:
        shown = Panel(
            device=panel.device,
            marks=arrows,
            memory=panel.memory,
            ceilings=panel.ceilings,
            levels=False,
            rule=panel.rule,
        )
        starts = [_point(before[id(m.result)]) for m in arrows]
        height = float(options.height_px or page.CHART_PX)
        planned = chart.lay_out(shown, width, height, ruler, more=starts)
        assert planned is not None
        blocks.append(Block(height, partial(_draw_chart, planned, before, number)))
        if planned.numbered:
            blocks.append(page.key_block(planned, width, ruler))
    blocks.append(_rows_block(panel.marks, before, width, ruler))
    return blocks


def _arrows(panel: Panel, before: dict[int, Result]) -> tuple[Mark, ...]:
    """The kernels that a roofline can hold on both sides."""
    return tuple(m for m in panel.at(Place.CHART) if _on_chart(before[id(m.result)]))


def _on_chart(result: Result) -> bool:
    return place_of(result.measurement)[0] is Place.CHART


def _point(result: Result) -> tuple[float, float]:
    m = result.measurement
    assert m.arithmetic_intensity is not None
    assert m.operations_per_s is not None
    return m.arithmetic_intensity, m.operations_per_s


def _draw_chart(planned: Chart, before: dict[int, Result], number: int, canvas: Canvas) -> None:
    drawing.draw(canvas, planned, number)
    for spot in planned.spots:
        start = before[id(spot.mark.result)]
        x, y = _point(start)
        left, low = planned.scale.x(x), planned.scale.y(y)
        bound = start.verdict.bound
        canvas.mark(
            left,
            low,
            bound,
            5.0,
            markerfacecolor=canvas.theme.background,
            markeredgecolor=canvas.theme.of_bound(bound),
            markeredgewidth=1.5,
            zorder=4.6,
        )
        if math.hypot(spot.x - left, spot.y - low) > spot.radius + 8:
            canvas.arrow((left, low), (spot.x, spot.y), "ink", (6.0, spot.radius + 1.0))


def per_launch_s(result: Result) -> float | None:
    """How long one launch took; a result may stand for several."""
    m = result.measurement
    return None if m.duration_s is None else m.duration_s / m.count


def _rows_block(
    marks: Sequence[Mark], before: dict[int, Result], width: float, ruler: Ruler
) -> Block:
    height = _HEAD + _ROW * len(marks) + _AXIS
    times = [(per_launch_s(before[id(m.result)]), per_launch_s(m.result)) for m in marks]

    def draw(canvas: Canvas) -> None:
        heading = "Time of one launch, after against before"
        canvas.text(_PAD, height - 14, heading, fontsize=HEADING_PX, weight="bold")
        bars = Box(0.36 * width, _AXIS, 0.70 * width, height - _HEAD)
        reach = _reach(times)
        _axis(canvas, bars, reach)
        left = _PAD + 20
        texts = ruler.names([(m.name, m.detail) for m in marks], bars.x0 - 14 - left)
        for row, (mark, text, (old, new)) in enumerate(zip(marks, texts, times, strict=True)):
            y = bars.y1 - _ROW * (row + 0.5)
            canvas.mark(_PAD + 7, y, mark.result.verdict.bound, 5.0)
            canvas.text(left, y, text)
            _change(canvas, bars, y, reach, old, new)

    return Block(height, draw)


def _reach(times: Sequence[tuple[float | None, float | None]]) -> float:
    """How many times faster or slower the axis reaches: at least 2, a power of two."""
    factors = [max(a / b, b / a) for a, b in times if a and b]
    return float(2 ** max(1, math.ceil(math.log2(max(factors, default=2.0)) - 1e-9)))


def _axis(canvas: Canvas, bars: Box, reach: float) -> None:
    canvas.box(bars, "panel", zorder=0)
    middle, half = (bars.x0 + bars.x1) / 2, (bars.x1 - bars.x0) / 2
    canvas.line([middle] * 2, [bars.y0, bars.y1], "muted", linewidth=1.0, zorder=1)
    for x, text in (
        (bars.x0 + 0.06 * half, f"{reach:g}x slower"),
        (middle, "same"),
        (bars.x1 - 0.06 * half, f"{reach:g}x faster"),
    ):
        canvas.line([x] * 2, [bars.y0, bars.y1], "grid", linewidth=0.8, zorder=0.5)
        canvas.text(x, bars.y0 - 11, text, ha="center", fontsize=SMALL_PX, color="muted")


def _change(
    canvas: Canvas, bars: Box, y: float, reach: float, old: float | None, new: float | None
) -> None:
    text = f"{numbers.duration(old)} → {numbers.duration(new)}"
    if old and new:
        middle, half = (bars.x0 + bars.x1) / 2, 0.94 * (bars.x1 - bars.x0) / 2
        end = middle + half * math.log(old / new) / math.log(reach)
        if abs(end - middle) > 4:
            canvas.arrow((middle, y), (end, y), "ink")
        text += f"  {numbers.plain(old / new)}x"
    else:
        text += "  not comparable"
    canvas.text(bars.x1 + 14, y, text, fontsize=TEXT_PX)
