"""The picture of a step: lanes of host and GPU on one axis of time, idle time coloured by cause."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from matplotlib.collections import PolyCollection

from roofline.plot.canvas import Canvas, styled
from roofline.plot.layout import Box, ticks
from roofline.plot.save import Picture
from roofline.plot.scene import Options
from roofline.plot.style import PAD, SMALL_PX
from roofline.render.selection import head, titles, where
from roofline.text import numbers
from roofline.timeline.model import Selection, TimelineDevice

WIDTH_PX = 1100.0
_LEFT, _LANE, _BAR = 120.0, 34.0, 24.0
# What a span is -> its colour in both themes; the causes of idle time have theirs in their table.
COLORS = {
    "operator": "#9fb3c8",
    "cuda": "#4f6d8f",
    "wait": "#e0a100",
    "copies": "#2a9d8f",
    "compute": "#3b76c4",
    "communication": "#8e5bb5",
}
_HOST = {"operator": "operators and ranges", "cuda": "CUDA calls", "wait": "waiting for the GPU"}


def picture(selection: Selection, options: Options) -> Picture:
    """Draw the judged step of the selected device, whose lanes were asked for (``Criteria``)."""
    device, lines = selection.selected, list(head(selection))
    with styled():
        canvas = Canvas(options.theme, WIDTH_PX)
        canvas.title(lines[0])
        canvas.block(lines[1:3])
        _draw_lanes(canvas, device)
        _draw_legend(canvas, device)
        figure = canvas.finish(0)
    table = (tuple(title.removeprefix("-") for title in titles(selection)), *where(selection))
    return Picture(figure=figure, title=lines[0], theme=options.theme, marks=(), table=table)


def _draw_lanes(canvas: Canvas, device: TimelineDevice) -> None:
    assert device.judged is not None
    wall_s = device.judged.wall_s
    height = _LANE * len(device.lanes) + 40
    canvas.down(height)
    per_s = (WIDTH_PX - PAD - _LEFT) / wall_s
    colors = _colors(device)
    for i, lane in enumerate(device.lanes):
        low = height - 10 - _LANE * (i + 1)
        canvas.text(_LEFT - 10, low + _BAR / 2, lane.name, ha="right")
        canvas.box(Box(_LEFT, low, WIDTH_PX - PAD, low + _BAR), "panel")
        bars = defaultdict(list)
        for start_s, end_s, what, share in lane.spans:
            x0, x1 = _LEFT + start_s * per_s, _LEFT + end_s * per_s
            bars[what, share].append(Box(x0, low, x1, low + _BAR))
        for (what, share), boxes in bars.items():
            _fill(canvas, boxes, colors[what], share)
    for seconds in ticks(wall_s):
        x = _LEFT + seconds * per_s
        ha = "right" if x > WIDTH_PX - 2 * PAD else "center"
        text = numbers.duration(seconds) if seconds else "0"
        canvas.tick(x, 24, height - 10, text, ha=ha)


def _colors(device: TimelineDevice) -> dict[str, str]:
    return {cause.code: cause.color for cause in device.idle} | COLORS


def _fill(canvas: Canvas, boxes: Sequence[Box], color: str, share: float = 1.0) -> None:
    """Boxes as one object, paler where something took only a share of them."""
    corners = [[(b.x0, b.y0), (b.x1, b.y0), (b.x1, b.y1), (b.x0, b.y1)] for b in boxes]
    style: dict[str, Any] = {"linewidths": 0, "transform": canvas.pixels, "alpha": share}
    canvas.figure.add_artist(PolyCollection(corners, facecolors=color, **style))


def _draw_legend(canvas: Canvas, device: TimelineDevice) -> None:
    """What the colours mean: of idle time by how much there is of it, with the time."""
    assert device.judged is not None
    shown = {what for lane in device.lanes for _, _, what, _ in lane.spans}
    wall_s = device.judged.wall_s
    entries = [(what, f"host: {text}") for what, text in _HOST.items() if what in shown]
    entries += [
        (c.code, f"idle, {c.title}: {numbers.duration(c.total_s)} ({numbers.share(c.share)})")
        for c in device.idle
        if c.total_s > 0.001 * wall_s
    ]
    colors, places = _colors(device), canvas.legend((text for _, text in entries), SMALL_PX)
    for (what, _), x in zip(entries, places, strict=True):
        _fill(canvas, [Box(x + 5, 4, x + 19, 16)], colors[what])
    canvas.down(8)
