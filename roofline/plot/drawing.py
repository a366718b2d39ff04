"""A laid-out roofline on a canvas: axes, roofs, marks and labels."""

from __future__ import annotations

from typing import Any

from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from roofline.model import Bound
from roofline.plot import levels, roofs
from roofline.plot.canvas import Canvas
from roofline.plot.chart import BOTTOM, DETAIL_PX, LABEL_PX, OWN_MARKS, Chart, Spot, radius
from roofline.plot.labels import Box
from roofline.plot.scene import mark_id
from roofline.plot.style import SMALL_PX, TEXT_PX
from roofline.text import numbers


def draw(canvas: Canvas, chart: Chart, panel_number: int) -> None:
    """Draw a chart with its lower left corner at the canvas's origin."""
    _axes(canvas, chart)
    end = (chart.edge or chart.scale.area).x1
    roofs.draw(canvas, chart.lines, chart.roof_labels, chart.scale, end)
    if chart.panel.levels:
        for spot in chart.spots:
            levels.draw(canvas, spot.mark, chart.scale, (spot.x, spot.y), spot.radius)
    # Large marks first, so that small ones are not hidden under them.
    for spot in sorted(chart.spots[:OWN_MARKS], key=lambda s: -s.radius):
        canvas.mark(
            spot.x,
            spot.y,
            spot.mark.result.verdict.bound,
            spot.radius,
            gid=mark_id(panel_number, spot.mark),
            zorder=5,
        )
    for bound in Bound:
        rest = [s for s in chart.spots[OWN_MARKS:] if s.mark.result.verdict.bound is bound]
        canvas.marks([s.x for s in rest], [s.y for s in rest], bound, radius(None), zorder=4.9)
    for spot in chart.spots:
        _draw_label(canvas, spot)


def _axes(canvas: Canvas, chart: Chart) -> None:
    if chart.edge is not None:
        canvas.box(chart.edge, "panel", zorder=0)
        middle = (chart.edge.x0 + chart.edge.x1) / 2
        canvas.text(middle, BOTTOM - 12, "∞", ha="center", color="muted", fontsize=TEXT_PX)
    ax = canvas.axes(chart.scale.area)
    ax.set_zorder(-1)
    bounds = chart.scale.limits
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(bounds.x0, bounds.x1)
    ax.set_ylim(bounds.y0, bounds.y1)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(LogLocator(base=10, numticks=12))
        axis.set_minor_formatter(NullFormatter())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: numbers.plain(x, digits=1)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: numbers.si(y, "", digits=1)))
    ax.grid(True, which="major", color=canvas.theme.grid, linewidth=0.8)
    ax.set_axisbelow(True)
    byte = "byte of the level (large marks: DRAM)" if chart.panel.levels else "DRAM byte"
    label: dict[str, Any] = {"color": canvas.theme.muted, "fontsize": SMALL_PX + 0.5}
    ax.set_xlabel(f"Operations per {byte}", **label)
    ax.set_ylabel("Operations per second", **label)


def _draw_label(canvas: Canvas, spot: Spot) -> None:
    if spot.box is None:
        return
    end = spot.box.nearest(spot.x, spot.y)
    if spot.box.distance(spot.x, spot.y) > spot.radius + 5:
        canvas.line([spot.x, end[0]], [spot.y, end[1]], "muted", linewidth=0.7, alpha=0.8, zorder=4)
    canvas.box(spot.box, "background", alpha=0.75, zorder=4.5)
    side, x = _side(spot.box, spot.x)
    style: dict[str, Any] = {"ha": side, "va": "center_baseline", "zorder": 7}
    canvas.text(x, spot.box.y1 - LABEL_PX / 2, spot.text, fontsize=TEXT_PX, **style)
    if spot.detail:
        low = spot.box.y0 + DETAIL_PX / 2
        canvas.text(x, low, spot.detail, fontsize=SMALL_PX, color="muted", **style)


def _side(box: Box, mark: float) -> tuple[str, float]:
    """How the lines of a label are aligned, and at which x: towards the mark."""
    if box.x0 >= mark:
        return "left", box.x0 + 1
    if box.x1 <= mark:
        return "right", box.x1 - 1
    return "center", (box.x0 + box.x1) / 2
