"""Time and gain: where the time goes, how much of it each kernel waits, and what comes next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from roofline.model import PROMISED, Verdict
from roofline.plot import words
from roofline.plot.canvas import Canvas
from roofline.plot.layout import Box
from roofline.plot.scene import Mark, Scene
from roofline.plot.style import PAD, SMALL_PX
from roofline.text import numbers
from roofline.text import verdict as said

_ROW, _BAR, _HEAD, _AXIS = 26.0, 15.0, 44.0, 28.0
_BESIDE = 260.0  # less room than this is too little for a line


def gain(mark: Mark, share: float) -> tuple[str, str]:
    """What a kernel with a ``share`` of the time could save: "saves up to 7.1 % of all: ..."."""
    judged, took_s = mark.result.verdict, mark.result.measurement.duration_s
    if judged.floor_s is None or not took_s or judged.nearest is None:
        return (said.bounds(mark.result) or "no ceiling known",) * 2
    if not judged.floor_s or took_s / judged.floor_s > PROMISED:
        return (f"no useful bound: every unit is below {100 / PROMISED:.0f} %",) * 2
    full = said.full(judged.nearest)
    if said.is_full(mark.result):
        return f"no headroom: {full}", "no headroom"
    saved = numbers.share(share * (1 - judged.floor_s / took_s))
    factor = numbers.times(took_s / judged.floor_s)
    long = f"saves up to {saved} of all: {factor} until {full}"
    return long, f"up to {factor}, {saved} of all"


def draw(canvas: Canvas, scene: Scene, top: int) -> None:
    """A bar for each of the first ``top`` kernels, one after the other, and one for the rest."""
    shown = [m for m in scene.marks[:top] if m.time_s]
    rest = [m for m in scene.marks[top:] if m.time_s]
    whole = sum(m.time_s or 0.0 for m in scene.marks)
    rows = len(shown) + bool(rest)
    height = _HEAD + _ROW * max(rows, 1) + _AXIS
    canvas.down(height)
    head = "Where the time goes, and what the nearest ceiling would save"
    canvas.heading(PAD, height - 12, head, canvas.width - 2 * PAD)
    key = "full: the busiest unit works; pale: it waits; tick: the next unit's floor"
    canvas.small(PAD, height - 30, canvas.ruler.clip(key, canvas.width - 2 * PAD, SMALL_PX))
    if not shown:
        canvas.small(PAD, _AXIS + 10, "no duration in the report")
        return
    left, right = PAD + 8, canvas.width - PAD - 12

    def x(seconds: float) -> float:
        return left + (right - left) * seconds / whole

    for tick in range(0, 101, 20):
        canvas.tick(x(whole * tick / 100), _AXIS, height - _HEAD, f"{tick} %")
    begin = 0.0
    for number, mark in enumerate(shown):
        low = height - _HEAD - _ROW * (number + 1) + (_ROW - _BAR) / 2
        time_s = mark.time_s or 0.0
        bar = Box(x(begin), low, max(x(begin + time_s), x(begin) + 1), low + _BAR)
        judged, took_s = mark.result.verdict, mark.result.measurement.duration_s
        draw_bar(canvas, judged, took_s, bar, f"floor-{mark.rank}")
        spent = f"{numbers.duration(time_s)}, {numbers.share(time_s / whole)}"
        long, short = gain(mark, scene.spent([mark]))
        forms = ((44, long), (28, long), (20, short), (12, short))
        texts = [f"{mark.rank}  {words.name(mark, n)}  {spent}; {told}" for n, told in forms]
        _draw_beside(canvas, x(begin), x(begin + time_s), low + _BAR / 2, texts)
        begin += time_s
    if rest:
        low = _AXIS + (_ROW - _BAR) / 2
        canvas.box(Box(x(begin), low, x(whole), low + _BAR), "faint", alpha=0.6)
        _draw_beside(canvas, x(begin), x(whole), low + _BAR / 2, [words.others(scene, rest)])


def draw_bar(
    canvas: Canvas, judged: Verdict, took_s: float | None, bar: Box, gid: str | None = None
) -> None:
    """A time: full where the busiest unit works, pale where it waits, a tick at the next floor."""
    canvas.box(bar, judged.bound, alpha=0.28)
    if not took_s:
        return
    floors = (judged.floor_s, judged.next_floor_s)
    ends = [f and bar.x0 + (bar.x1 - bar.x0) * min(f / took_s, 1.0) for f in floors]
    if ends[0] is not None:
        canvas.box(Box(bar.x0, bar.y0, ends[0], bar.y1), judged.bound, gid=gid, zorder=2)
    if ends[1] is not None:
        canvas.line([ends[1]] * 2, [bar.y0 - 3, bar.y1 + 3], "ink", linewidth=1.5, zorder=3)


def _draw_beside(canvas: Canvas, x0: float, x1: float, y: float, texts: Sequence[str]) -> None:
    """A line of text on the side of a bar that has more room; over the bar where neither has."""
    before, after = x0 - PAD - 6, canvas.width - PAD - x1 - 6
    style: dict[str, Any] = {"zorder": 4, "color": "ink"}
    room = after if after >= before or after >= canvas.ruler.width(texts[0], SMALL_PX) else before
    x, side = (x1 + 6, "left") if room == after else (x0 - 6, "right")
    if room < _BESIDE:
        x, side, room, style["backed"] = PAD + 14, "left", canvas.width - 2 * PAD - 30, "background"
    canvas.small(x, y, canvas.ruler.first(texts, room, SMALL_PX), ha=side, **style)
