"""A kernel on its way across the roofline: a mark for each capture, and arrows between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from roofline.model import Result
from roofline.plot import figure, heat, roofline
from roofline.plot.canvas import Canvas, styled
from roofline.plot.save import Picture
from roofline.plot.scene import Options, Scene, scene_of
from roofline.plot.style import SMALL_PX
from roofline.text import names, numbers
from roofline.view import Row

_CHART_PX = 450.0
# The name of a capture, the kernel in it, and whether it is the kernel of the point before.
Point = tuple[str, tuple[Result, bool]]


def picture(points: Sequence[Point], options: Options) -> Picture:
    """Draw the captures of ``points`` in their order, over how busy the units were in each."""
    scene = _scene(points, options)
    kept = [follows for _, (_, follows) in points]
    with styled():
        canvas = Canvas(options.theme, float(options.width_px))
        canvas.title(scene.title)
        figure.draw_legend(canvas, scene)
        charts = 0
        for panel in scene.panels:
            canvas.block([panel.device], below=6)
            chart = roofline.lay_out(panel, canvas.width, _CHART_PX, canvas.ruler, len(points))
            if chart is None:
                continue
            charts += 1
            canvas.down(_CHART_PX)
            roofline.draw(canvas, chart)
            at = {spot.mark.rank: (spot.x, spot.y) for spot in chart.spots}
            for one, other in pairwise(range(1, len(points) + 1)):
                if kept[other - 1] and one in at and other in at:
                    canvas.arrow(at[one], at[other], "ink")
        heat.draw(canvas, scene, len(points))
        if not charts:  # no arrows to speak of
            scene = replace(scene, notes=scene.notes[1:])
        canvas.block(scene.notes, SMALL_PX, below=16)
        return figure.finished(canvas, scene, options)


def _scene(points: Sequence[Point], options: Options) -> Scene:
    """Each capture as a kernel that has its name; ranks are their places."""
    rows = [
        Row(result=replace(result, measurement=replace(m, name=name, demangled=name)), share=None)
        for name, (result, _) in points
        for m in (result.measurement,)
    ]
    kernels = [names.short(result.measurement.name, 40) for _, (result, _) in points]
    whole = " → ".join(dict.fromkeys(kernels))
    first_s, last_s = (rows[place].result.measurement.duration_s for place in (0, -1))
    if first_s and last_s:
        fall = numbers.fall(first_s, last_s).replace("->", "→")
        whole += f": {fall}, {numbers.times(first_s / last_s)}"
    kept = all(follows for _, (_, follows) in points[1:])
    gone = "" if kept else " None leads to a kernel that the capture before does not have."
    notes = (f"Arrows: from one capture to the next.{gone}", "Times measured under ncu.")
    scene = scene_of(rows, options, rows[-1].result.verdict.rule, notes, by_time=False)
    title = names.printable(options.title or whole)
    return replace(scene, title=title, views=("roofline", "units"))
