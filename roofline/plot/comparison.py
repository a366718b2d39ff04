"""Before and after on one roofline: an arrow a kernel, and a row with its times for every pair."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from matplotlib.figure import Figure

from roofline.model import Result, Rule
from roofline.plot import page, roofline
from roofline.plot.canvas import Canvas, styled
from roofline.plot.layout import Box
from roofline.plot.save import Picture
from roofline.plot.scene import Mark, Options, Panel, Place, Scene, panels_of, place_of, point_of
from roofline.plot.style import HEADING_PX, PAD
from roofline.render import overview
from roofline.text import names, numbers
from roofline.view import Row

_ROW, _HEAD, _AXIS = 24.0, 40.0, 26.0


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
    options = options or Options()
    rows = [Row(result=p.after, share=p.share) for p in pairs]
    panels = panels_of(rows, options, Rule())
    title = names.printable(options.title or "Before and after")
    scene = Scene(title=title, panels=panels, notes=())
    before = {id(p.after): p.before for p in pairs}
    notes = [overview.UNDER_PROFILER]
    with styled():
        canvas = Canvas(options.theme, float(options.width_px))
        page.draw_heading(canvas, scene, (p.before.verdict.bound for p in pairs))
        for panel in panels:
            page.draw_text(canvas, [_devices(panel, before)])
            if _draw_chart(canvas, panel, before, float(options.height_px or page.CHART_PX)):
                arrows = "Arrows go from before (hollow) to after; roofs are those of after."
                notes = [arrows, overview.UNDER_PROFILER]
            _draw_rows(canvas, panel.marks, before)
        page.draw_footer(canvas, notes)
        return page.finished(canvas, scene, options)


def _devices(panel: Panel, before: dict[int, Result]) -> str:
    """The device, and those of before where they are others."""
    after, *_ = (_gpu(m.result) for m in panel.marks)
    others = {_gpu(before[id(m.result)]) for m in panel.marks}
    return panel.device + ("" if others == {after} else f"; before on {', '.join(sorted(others))}")


def _gpu(result: Result) -> str:
    return result.measurement.device.name or "unknown GPU"


def _draw_chart(canvas: Canvas, panel: Panel, before: dict[int, Result], height: float) -> bool:
    """The pairs with both ends on the chart; whether there are any."""
    ends = [(m, before[id(m.result)]) for m in panel.at(Place.CHART)]
    moved = [(m, r) for m, r in ends if place_of(r.measurement)[0] is Place.CHART]
    if not moved:
        return False
    shown = replace(panel, marks=tuple(m for m, _ in moved), levels=False)
    starts = [point_of(result.measurement) for _, result in moved]
    chart = roofline.lay_out(shown, canvas.width, height, canvas.ruler, more=starts)
    assert chart is not None
    canvas.down(height)
    roofline.draw(canvas, chart)
    for spot in chart.spots:
        start = before[id(spot.mark.result)]
        x, y = point_of(start.measurement)
        x, y = chart.scale.x(x), chart.scale.y(y)
        canvas.mark(x, y, start.verdict.bound, 5.0, edge=1.5, zorder=4.6)
        if math.dist((x, y), (spot.x, spot.y)) > spot.radius + 8:
            canvas.arrow((x, y), (spot.x, spot.y), (6.0, spot.radius + 1.0))
    page.draw_key(canvas, chart)
    return True


def per_launch_s(result: Result) -> float | None:
    """How long one launch took; a result may stand for several."""
    m = result.measurement
    return None if m.duration_s is None else m.duration_s / m.count


def _draw_rows(canvas: Canvas, marks: Sequence[Mark], before: dict[int, Result]) -> None:
    height, width = _HEAD + _ROW * len(marks) + _AXIS, canvas.width
    times = [(per_launch_s(before[id(m.result)]), per_launch_s(m.result)) for m in marks]
    # The axis reaches at least 2x to both sides, a power of two.
    factors = [max(a / b, b / a) for a, b in times if a and b]
    reach = 2.0 ** max(1, math.ceil(math.log2(max(factors, default=2.0)) - 1e-9))
    bars = Box(0.36 * width, _AXIS, 0.70 * width, height - _HEAD)
    half, left = (bars.x1 - bars.x0) / 2, PAD + 20
    texts = canvas.ruler.names([(m.name, m.detail) for m in marks], bars.x0 - 14 - left)

    def x(factor: float) -> float:
        return bars.middle + 0.94 * half * math.log(factor) / math.log(reach)

    canvas.down(height)
    heading = "Time of one launch, after against before"
    canvas.text(PAD, height - 14, heading, fontsize=HEADING_PX, weight="bold")
    canvas.box(bars, "panel", zorder=0)
    ends = (1 / reach, f"{reach:g}x slower"), (1.0, "same"), (reach, f"{reach:g}x faster")
    for factor, text in ends:
        color, ys = "muted" if factor == 1 else "grid", [bars.y0, bars.y1]
        canvas.line([x(factor)] * 2, ys, color, linewidth=0.9, zorder=1)
        canvas.small(x(factor), bars.y0 - 11, text, ha="center")
    for row, (mark, name, (old, new)) in enumerate(zip(marks, texts, times, strict=True)):
        y = bars.y1 - _ROW * (row + 0.5)
        canvas.mark(PAD + 7, y, mark.result.verdict.bound, 5.0)
        canvas.text(left, y, name)
        change = "not comparable"
        if old and new:
            change, end = numbers.ratio(old / new), x(old / new)
            if abs(end - bars.middle) > 4:
                canvas.arrow((bars.middle, y), (end, y))
        text = f"{numbers.duration(old)} → {numbers.duration(new)}  {change}"
        canvas.text(bars.x1 + 14, y, text)
