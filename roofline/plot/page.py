"""The whole picture: title, legend, a chart and rows for each device, key, footer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from matplotlib.figure import Figure

from roofline.model import Analysis, Bound
from roofline.plot import chart, details, drawing, margin, words
from roofline.plot.canvas import Block, Canvas, Ruler, styled
from roofline.plot.chart import Chart
from roofline.plot.picture import Picture
from roofline.plot.scene import Mark, Options, Panel, Place, Scene, compose
from roofline.plot.style import KINDS, SMALL_PX, TEXT_PX, THEMES, TITLE_PX
from roofline.view import Chosen

CHART_PX, LEAST_CHART_PX = 470.0, 300.0
_PAD = 14.0
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
        figure = arrange(scene, options)
    return Picture(
        figure=figure,
        title=scene.title,
        theme=options.theme,
        tips=details.tips(scene),
        table=details.table(scene),
    )


def arrange(scene: Scene, options: Options) -> Figure:
    """Lay out and draw a scene; call with the style's settings in force."""
    ruler = Ruler()
    blocks = _blocks(scene, options, ruler, CHART_PX)
    missing = (options.height_px or 0) - sum(b.height for b in blocks)
    charts = sum(bool(p.at(Place.CHART, Place.INFINITE)) for p in scene.panels)
    if options.height_px is not None and charts:
        height = max(CHART_PX + missing / charts, LEAST_CHART_PX)
        blocks = _blocks(scene, options, ruler, height)
    return stack(blocks, options)


def stack(blocks: Sequence[Block], options: Options) -> Figure:
    """Draw blocks below each other on a figure that holds them."""
    width = float(options.width_px)
    total = max(sum(b.height for b in blocks), float(options.height_px or 0))
    canvas = Canvas.new(THEMES[options.theme], width, total)
    top = total
    for block in blocks:
        top -= block.height
        block.draw(canvas.shifted(top))
    return canvas.figure


def _blocks(scene: Scene, options: Options, ruler: Ruler, chart_px: float) -> list[Block]:
    width = float(options.width_px)
    blocks = [title_block(scene.title, width, ruler)]
    blocks.append(legend_block(legend_items(scene), width, ruler))
    for number, panel in enumerate(scene.panels, start=1):
        blocks += _panel_blocks(panel, number, options, ruler, chart_px)
    blocks.append(footer_block(footer(scene), width, ruler))
    return blocks


def _panel_blocks(
    panel: Panel, number: int, options: Options, ruler: Ruler, chart_px: float
) -> list[Block]:
    width = float(options.width_px)
    blocks = [text_block(panel.device, width, ruler)]
    planned = chart.lay_out(panel, width, chart_px, ruler)
    if planned is not None:
        blocks.append(Block(chart_px, partial(_draw_chart, planned, number)))
        if planned.numbered:
            blocks.append(key_block(planned, width, ruler))
    rows = margin.block(panel, width, ruler, panel.rule.latency, number, alone=planned is None)
    return [*blocks, rows] if rows is not None else blocks


def _draw_chart(planned: Chart, number: int, canvas: Canvas) -> None:
    drawing.draw(canvas, planned, number)


def title_block(title: str, width: float, ruler: Ruler) -> Block:
    """The title in one line."""
    text = ruler.clip(title, width - 2 * _PAD, TITLE_PX, bold=True)
    return Block(38, lambda canvas: canvas.text(_PAD, 16, text, fontsize=TITLE_PX, weight="bold"))


def text_block(text: str, width: float, ruler: Ruler) -> Block:
    """A line about what follows, on several lines where it is long."""
    lines = ruler.wrap(text, width - 2 * _PAD, TEXT_PX)
    height = 16.0 * len(lines) + 10

    def draw(canvas: Canvas) -> None:
        for i, line in enumerate(lines):
            canvas.text(_PAD, height - 14 - 16 * i, line, color="muted")

    return Block(height, draw)


LegendItem = tuple[str, Callable[[Canvas, float, float], None]]


def legend_items(scene: Scene, more: Iterable[Bound] = ()) -> list[LegendItem]:
    """An entry for each verdict (and ``more``) and each kind of roof that the picture has."""
    bounds = {m.result.verdict.bound for p in scene.panels for m in p.marks} | set(more)
    items: list[LegendItem] = []
    for bound in Bound:
        if bound in bounds:
            name = "unknown" if bound is Bound.UNKNOWN else f"{bound}-bound"
            items.append((name, partial(_legend_mark, bound)))
    roofs = [r for p in scene.panels for r in (*p.memory, *p.ceilings)]
    for kind, (dashes, text) in KINDS.items():
        if any(kind in r.rates for r in roofs):
            items.append((text, partial(_legend_line, dashes)))
    return items


def _legend_mark(bound: Bound, canvas: Canvas, x: float, y: float) -> None:
    canvas.mark(x, y, bound, 5.5)


def _legend_line(dashes: tuple[float, ...] | None, canvas: Canvas, x: float, y: float) -> None:
    style = "-" if dashes is None else (0, dashes)
    color = "roof" if dashes is None else "faint"
    canvas.line([x - 9, x + 11], [y, y], color, linewidth=1.6, linestyle=style)


def legend_block(items: Sequence[LegendItem], width: float, ruler: Ruler) -> Block:
    """Entries side by side, in as many lines as they need."""
    places: list[tuple[float, int, LegendItem]] = []
    x, line = _PAD, 0
    for item in items:
        needed = 24 + ruler.width(item[0]) + 18
        if x + needed > width and x > _PAD:
            x, line = _PAD, line + 1
        places.append((x, line, item))
        x += needed
    height = 20.0 * (line + 1)

    def draw(canvas: Canvas) -> None:
        for left, row, (text, symbol) in places:
            y = height - 10 - 20 * row
            symbol(canvas, left + 10, y)
            canvas.text(left + 26, y, text, va="center_baseline")

    return Block(height, draw)


def key_block(planned: Chart, width: float, ruler: Ruler) -> Block:
    """Which number is which kernel and what limits it, in two columns where there is room."""
    marks = [s.mark for s in planned.spots]
    shown = marks[: chart.LABELLED]
    columns = 2 if width >= 700 and len(shown) > _ONE_COLUMN else 1
    rows = -(-len(shown) // columns)
    height = _ROW * rows + 14 + (16 if len(marks) > len(shown) else 0)
    column = (width - 2 * _PAD) / columns
    say = words.verdict if columns == 1 else words.limit
    limits = [say(m.result.verdict) for m in shown]
    room = column - 124 - max(ruler.width(limit, SMALL_PX) for limit in limits)
    texts = ruler.names([(m.name, m.detail) for m in shown], room)
    aside = 112 + max(map(ruler.width, texts))

    def draw(canvas: Canvas) -> None:
        for i, mark in enumerate(shown):
            x, y = _PAD + column * (i // rows), height - 12 - _ROW * (i % rows)
            _key_row(canvas, mark, texts[i], x, y)
            style: dict[str, Any] = {"va": "center_baseline", "color": "muted"}
            canvas.text(x + aside, y, limits[i], fontsize=SMALL_PX, **style)
        if len(marks) > len(shown):
            more = sum(m.share or 0.0 for m in marks[len(shown) :])
            text = f"and {len(marks) - len(shown)} more, not numbered, with {words.share(more)}"
            text += " of the time"
            canvas.text(_PAD, 8, text, fontsize=SMALL_PX, color="muted")

    return Block(height, draw)


def _key_row(canvas: Canvas, mark: Mark, name: str, x: float, y: float) -> None:
    canvas.text(x + 20, y, str(mark.rank), ha="right", color="muted", va="center_baseline")
    canvas.mark(x + 32, y, mark.result.verdict.bound, 4.5)
    share = words.share(mark.share)
    canvas.text(x + 88, y, share, ha="right", color="muted", va="center_baseline")
    canvas.text(x + 96, y, name, va="center_baseline")


def footer(scene: Scene) -> list[str]:
    """What must be said below every picture."""
    charts = any(p.at(Place.CHART, Place.INFINITE) for p in scene.panels)
    lines = list(scene.notes)
    if charts:
        clocks = {m.result.measurement.sm_clock_hz for p in scene.panels for m in p.marks}
        first = "The area of a mark goes with its share of the time."
        if len(clocks) > len(scene.panels):
            first += " Roofs are at the clocks of the kernel with the most time."
        lines.insert(0, first)
    if any(p.at(Place.INFINITE) for p in scene.panels):
        lines.append("∞: operations without any DRAM byte.")
    return lines


def footer_block(texts: Sequence[str], width: float, ruler: Ruler) -> Block:
    """Small print."""
    lines = [line for text in texts for line in ruler.wrap(text, width - 2 * _PAD, SMALL_PX)]
    height = 15.0 * len(lines) + 18

    def draw(canvas: Canvas) -> None:
        for i, line in enumerate(lines):
            canvas.text(_PAD, height - 14 - 15 * i, line, fontsize=SMALL_PX, color="muted")

    return Block(height, draw)
