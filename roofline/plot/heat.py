"""The units of every kernel: a row a kernel, a column a unit, per cent in the cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from roofline.model import Bound, Confidence, Family
from roofline.plot import words
from roofline.plot.canvas import Canvas
from roofline.plot.ceilings import unit_columns
from roofline.plot.layout import Box
from roofline.plot.scene import Mark, Scene
from roofline.plot.style import PAD, SMALL_PX
from roofline.text import numbers
from roofline.units import UNITS, unit_name

ROW_PX = 29.0
_CELL = 30.0
_HEAD = 92.0  # heading and the names of units, which are turned
_STRONG = 62.0  # per cent from which a cell is dark enough for light text


def draw(canvas: Canvas, scene: Scene, top: int) -> None:
    """The first ``top`` kernels in rows, and one row for the others."""
    shown, rest = scene.marks[:top], scene.marks[top:]
    width, ruler = canvas.width, canvas.ruler
    narrow = width < 700
    names_x = PAD + 44
    room = max((0.20 if narrow else 0.19) * width, 96.0)
    share_x = names_x + room + (0 if narrow else 56)
    texts_px = 0.26 * width if narrow else max(0.325 * width, 200.0)
    cells_px = width - PAD - texts_px - share_x - 14
    units = unit_columns([m.result for m in shown], max(int(cells_px / _CELL), 1))
    cell = min(cells_px / max(len(units), 1), 52.0)
    height = _HEAD + ROW_PX * len(shown) + (20.0 if rest else 0.0) + 10
    canvas.down(height)
    head = "How busy each unit was, in % of its peak"
    canvas.heading(PAD, height - 12, head, width - 2 * PAD)
    first, y1 = share_x + 8, height - _HEAD
    for number, unit in enumerate(units):
        style = {"rotation": 40, "rotation_mode": "anchor", "va": "bottom", "ha": "left"}
        canvas.small(
            first + cell * (number + 0.4), y1 + 4, unit_name(unit), gid=f"unit-{unit}", **style
        )
    right = first + cell * len(units) + 12
    texts = ruler.names([(m.name, m.detail) for m in shown], room)
    several = len(scene.panels) > 1
    widths = [ruler.width(words.verdict(mark.result.verdict)) for mark in shown]
    wide = max(widths, default=0.0) <= width - PAD - right  # else all verdicts are short
    for number, (mark, name) in enumerate(zip(shown, texts, strict=True)):
        low = y1 - ROW_PX * (number + 1)
        middle = low + ROW_PX / 2
        bound = mark.result.verdict.bound
        hollow = mark.result.verdict.confidence is Confidence.LOW
        canvas.small(PAD + 18, middle, str(mark.rank), ha="right")
        look: dict[str, Any] = {"hollow": hollow, "other": mark.other}
        canvas.mark(PAD + 30, middle, bound, 4.5, gid=f"row-{mark.id}", **look)
        if several:
            canvas.text(names_x, middle + 6, name)
            device = mark.result.measurement.device.name or "unknown GPU"
            device = ruler.clip(device.removeprefix("NVIDIA "), room, SMALL_PX - 1)
            canvas.small(names_x, middle - 7, device, fontsize=SMALL_PX - 1)
        else:
            canvas.text(names_x, middle, name)
        if not narrow:
            share = words.share(mark.share)
            part = 44.0 * min(mark.share or 0.0, 1.0)
            canvas.box(Box(share_x - 44, low + 3, share_x - 44 + part, low + 6), bound)
            canvas.small(share_x, middle + 2, share, ha="right")
        _draw_cells(canvas, mark, units, first, low, cell)
        _draw_verdict(canvas, mark, right, middle, width - PAD - right, wide=wide)
    if units and shown:
        box = Box(first, y1 - ROW_PX * len(shown), first + cell * len(units), y1)
        edge = sum(UNITS[u].family is Family.BANDWIDTH for u in units if u in UNITS)
        for x in (box.x0, first + cell * edge, box.x1):
            canvas.line([x, x], [box.y0, box.y1], "faint", linewidth=0.9, zorder=2)
    if rest:
        canvas.small(
            names_x, 14, ruler.clip(words.others(scene, rest), width - PAD - names_x, SMALL_PX)
        )


def _draw_cells(
    canvas: Canvas, mark: Mark, units: Sequence[str], first: float, low: float, cell: float
) -> None:
    """The percentages of a kernel, the deeper the colour the more; the limiter's in a box."""
    percents = {use.unit: use for use in mark.result.measurement.units}
    own = {c.unit: c for c in mark.ceilings}
    waits = mark.result.verdict.bound is Bound.LATENCY
    for number, unit in enumerate(units):
        x = first + cell * number
        box = Box(x + 0.5, low + 1, x + cell - 0.5, low + ROW_PX - 1)
        use = percents.get(unit)
        percent = own[unit].percent if unit in own else use.percent if use else None
        if percent is None or not math.isfinite(percent):
            canvas.small(x + cell / 2, low + ROW_PX / 2, "·", ha="center")
            continue
        family = UNITS[unit].family if unit in UNITS else use.family if use else Family.COMPUTE
        alpha = 0.02 + 0.9 * min(max(percent, 0.0), 100.0) / 100
        canvas.box(box, Bound(family.value), alpha=round(alpha, 3), zorder=1)
        style: dict[str, Any] = {"color": "background" if percent >= _STRONG else "ink"}
        if unit in own:
            style["weight"] = "bold"
            edge = {"linewidth": 1.8, "linestyle": (0, (2, 1.2)) if waits else "-", "zorder": 2.5}
            canvas.box(box, None, edge="ink", gid=f"box-{mark.rank}-{unit}", **edge)
        text = numbers.percent(percent).removesuffix(" %") if percent < 1e4 else f"{percent:.0e}"
        style |= {"ha": "center", "zorder": 3, "gid": f"cell-{mark.rank}-{unit}"}
        canvas.small(x + cell / 2, low + ROW_PX / 2, text, **style)


def _draw_verdict(
    canvas: Canvas, mark: Mark, x: float, middle: float, room: float, *, wide: bool
) -> None:
    """The verdict, and below it what explains it or what it leaves."""
    ruler, judged, small = canvas.ruler, mark.result.verdict, SMALL_PX - 1
    short = words.limit(judged) or str(judged.bound)
    text = words.verdict(judged) if wide else ruler.clip(short, room)
    canvas.text(x, middle + 6.5, text, color=judged.bound, gid=f"verdict-{mark.rank}")
    text = ruler.first(words.below(mark), room, small)
    canvas.small(x, middle - 6.5, text, fontsize=small)
