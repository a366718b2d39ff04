"""The whole picture: title, legend, a chart and rows for each device, key, footer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from matplotlib.figure import Figure

from roofline.model import Analysis, Bound
from roofline.plot import bars, roofline, words
from roofline.plot.canvas import Canvas, styled
from roofline.plot.roofline import Chart
from roofline.plot.save import Picture
from roofline.plot.scene import Options, Place, Scene, compose
from roofline.plot.style import KINDS, PAD, SMALL_PX, TEXT_PX, TITLE_PX
from roofline.view import Chosen

CHART_PX, LEAST_CHART_PX = 470.0, 300.0
_ROW = 18.0
_ONE_COLUMN = 12  # rows of a key that names of full length are worth


def draw(view: Analysis | Chosen, options: Options | None = None) -> Figure:
    """Draw everything that was analysed as a figure of 72 dots an inch: a point is a pixel."""
    return picture(view, options).figure


def picture(view: Analysis | Chosen, options: Options | None = None) -> Picture:
    """The same with tooltips and the table of the HTML page."""
    options = options or Options()
    scene = compose(view, options)
    with styled():
        canvas = _drawn(scene, options, CHART_PX)
        charts = sum(bool(p.at(Place.CHART, Place.INFINITE)) for p in scene.panels)
        if options.height_px is not None and charts:
            height = CHART_PX + (options.height_px - canvas.height) / charts
            canvas = _drawn(scene, options, max(height, LEAST_CHART_PX))
        return finished(canvas, scene, options)


def finished(canvas: Canvas, scene: Scene, options: Options) -> Picture:
    """The picture on a canvas on which everything is drawn."""
    figure = canvas.finish(float(options.height_px or 0))
    return Picture(figure=figure, title=scene.title, theme=options.theme, marks=scene.marks)


def _drawn(scene: Scene, options: Options, chart_px: float) -> Canvas:
    canvas = Canvas(options.theme, float(options.width_px))
    draw_heading(canvas, scene)
    for panel in scene.panels:
        draw_text(canvas, [panel.device])
        chart = roofline.lay_out(panel, canvas.width, chart_px, canvas.ruler)
        if chart is not None:
            canvas.down(chart_px)
            roofline.draw(canvas, chart)
            draw_key(canvas, chart)
        bars.draw(canvas, panel, alone=chart is None)
    draw_footer(canvas, _footer(scene))
    return canvas


def draw_heading(canvas: Canvas, scene: Scene, more: Iterable[Bound] = ()) -> None:
    """The title in one line, and the legend; ``more`` are verdicts beside those of the marks."""
    title = canvas.ruler.clip(scene.title, canvas.width - 2 * PAD, TITLE_PX, bold=True)
    canvas.down(38)
    canvas.text(PAD, 16, title, fontsize=TITLE_PX, weight="bold")
    _draw_legend(canvas, scene, more)


def draw_text(
    canvas: Canvas,
    texts: Sequence[str],
    size: float = TEXT_PX,
    line_px: float = 16.0,
    below: float = 10.0,
) -> None:
    """A line about what follows, on several lines where it is long."""
    lines = [s for text in texts for s in canvas.ruler.wrap(text, canvas.width - 2 * PAD, size)]
    height = line_px * len(lines) + below
    canvas.down(height)
    for i, line in enumerate(lines):
        canvas.small(PAD, height - 14 - line_px * i, line, fontsize=size)


def draw_footer(canvas: Canvas, texts: Sequence[str]) -> None:
    """Small print."""
    draw_text(canvas, texts, SMALL_PX, line_px=15.0, below=18.0)


def _draw_legend(canvas: Canvas, scene: Scene, more: Iterable[Bound]) -> None:
    """An entry for each verdict (and ``more``) and kind of roof, in as many lines as they need."""
    shown: set[str] = {m.result.verdict.bound for m in scene.marks} | set(more)
    shown |= {kind for panel in scene.panels for roof in panel.roofs for kind in roof.rates}
    entries: dict[str, str] = {bound: f"{bound}-bound" for bound in Bound}
    entries[Bound.UNKNOWN] = "unknown"
    entries |= {kind: text for kind, (_, text) in KINDS.items()}
    x = canvas.width
    for key in (key for key in entries if key in shown):
        needed = 24 + canvas.ruler.width(entries[key]) + 18
        if x + needed > canvas.width:
            x = PAD
            canvas.down(20)
        if key in KINDS:
            color, dashes = "roof" if key == "report" else "faint", KINDS[key][0]
            canvas.line([x + 1, x + 21], [10, 10], color, linewidth=1.6, linestyle=dashes)
        else:
            canvas.mark(x + 10, 10, Bound(key), 5.5)
        canvas.text(x + 26, 10, entries[key], va="center_baseline")
        x += needed


def draw_key(canvas: Canvas, chart: Chart) -> None:
    """Which number is which kernel and what limits it, in two columns where there is room."""
    if not chart.numbered:
        return
    marks = [spot.mark for spot in chart.spots]
    shown, more = marks[: roofline.LABELLED], marks[roofline.LABELLED :]
    columns = 2 if canvas.width >= 700 and len(shown) > _ONE_COLUMN else 1
    rows = -(-len(shown) // columns)
    height = _ROW * rows + 14 + (16 if more else 0)
    column = (canvas.width - 2 * PAD) / columns
    say = words.verdict if columns == 1 else words.limit
    limits = [say(m.result.verdict) for m in shown]
    room = column - 124 - max(canvas.ruler.width(limit, SMALL_PX) for limit in limits)
    texts = canvas.ruler.names([(m.name, m.detail) for m in shown], room)
    aside = 112 + max(map(canvas.ruler.width, texts))
    line: dict[str, Any] = {"va": "center_baseline"}
    right: dict[str, Any] = {"ha": "right", "color": "muted", **line}
    canvas.down(height)
    for i, mark in enumerate(shown):
        x, y = PAD + column * (i // rows), height - 12 - _ROW * (i % rows)
        canvas.text(x + 20, y, str(mark.rank), **right)
        canvas.mark(x + 32, y, mark.result.verdict.bound, 4.5)
        canvas.text(x + 88, y, words.share(mark.share), **right)
        canvas.text(x + 96, y, texts[i], **line)
        canvas.small(x + aside, y, limits[i], **line)
    if more:
        canvas.small(PAD, 8, words.rest(more, ", not numbered,"))


def _footer(scene: Scene) -> list[str]:
    """What must be said below every picture."""
    lines = list(scene.notes)
    if any(p.at(Place.CHART, Place.INFINITE) for p in scene.panels):
        first = "The area of a mark goes with its share of the time."
        if len({m.result.measurement.sm_clock_hz for m in scene.marks}) > len(scene.panels):
            first += " Roofs are at the clocks of the kernel with the most time."
        lines.insert(0, first)
    if any(p.at(Place.INFINITE) for p in scene.panels):
        lines.append("∞: operations without any DRAM byte.")
    return lines
