"""The whole picture: title, legend, a chart and rows for each device, key, footer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from matplotlib.figure import Figure

from roofline.model import Analysis, Bound
from roofline.plot import bars, roofline, words
from roofline.plot.canvas import Block, Canvas, Ruler, styled
from roofline.plot.roofline import Chart
from roofline.plot.save import Picture
from roofline.plot.scene import Options, Place, Scene, compose
from roofline.plot.style import KINDS, PAD, SMALL_PX, TEXT_PX, THEMES, TITLE_PX
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
        ruler = Ruler()
        blocks = _blocks(scene, options, ruler, CHART_PX)
        charts = sum(bool(p.at(Place.CHART, Place.INFINITE)) for p in scene.panels)
        if options.height_px is not None and charts:
            missing = options.height_px - sum(b.height for b in blocks)
            height = max(CHART_PX + missing / charts, LEAST_CHART_PX)
            blocks = _blocks(scene, options, ruler, height)
        return finished(blocks, scene, options)


def finished(blocks: Sequence[Block], scene: Scene, options: Options) -> Picture:
    """Draw blocks below each other on a figure that holds them."""
    top = max(sum(b.height for b in blocks), float(options.height_px or 0))
    canvas = Canvas.new(THEMES[options.theme], float(options.width_px), top)
    for block in blocks:
        top -= block.height
        block.draw(canvas.shifted(top))
    return Picture(
        figure=canvas.figure,
        title=scene.title,
        theme=options.theme,
        tips={mark.id: words.tip(mark) for mark in scene.marks},
        columns=words.COLUMNS,
        rows={mark.id: words.row(mark) for mark in scene.marks},
    )


def _blocks(scene: Scene, options: Options, ruler: Ruler, chart_px: float) -> list[Block]:
    width = float(options.width_px)
    blocks = heading(scene, width, ruler)
    for panel in scene.panels:
        blocks.append(text_block([panel.device], width, ruler))
        chart = roofline.lay_out(panel, width, chart_px, ruler)
        if chart is not None:
            blocks += chart_blocks(chart, chart_px, width, ruler)
        rows = bars.block(panel, width, ruler, alone=chart is None)
        blocks += [rows] if rows else []
    return [*blocks, footer_block(_footer(scene), width, ruler)]


def heading(scene: Scene, width: float, ruler: Ruler, more: Iterable[Bound] = ()) -> list[Block]:
    """The title in one line, and the legend; ``more`` are verdicts beside those of the marks."""
    title = ruler.clip(scene.title, width - 2 * PAD, TITLE_PX, bold=True)
    bold: dict[str, Any] = {"fontsize": TITLE_PX, "weight": "bold"}
    return [
        Block(38, lambda canvas: canvas.text(PAD, 16, title, **bold)),
        _legend_block(scene, more, width, ruler),
    ]


def chart_blocks(
    chart: Chart,
    height: float,
    width: float,
    ruler: Ruler,
    draw: Callable[[Canvas, Chart], None] = roofline.draw,
) -> list[Block]:
    """A chart, and the key of its numbers where it has some."""
    blocks = [Block(height, lambda canvas: draw(canvas, chart))]
    return [*blocks, _key_block(chart, width, ruler)] if chart.numbered else blocks


def text_block(texts: Sequence[str], width: float, ruler: Ruler) -> Block:
    """A line about what follows, on several lines where it is long."""
    return _lines_block(texts, width, ruler, TEXT_PX, 16.0, 10.0)


def footer_block(texts: Sequence[str], width: float, ruler: Ruler) -> Block:
    """Small print."""
    return _lines_block(texts, width, ruler, SMALL_PX, 15.0, 18.0)


def _lines_block(
    texts: Sequence[str], width: float, ruler: Ruler, size: float, line_px: float, below: float
) -> Block:
    lines = [line for text in texts for line in ruler.wrap(text, width - 2 * PAD, size)]
    height = line_px * len(lines) + below

    def draw(canvas: Canvas) -> None:
        for i, line in enumerate(lines):
            canvas.small(PAD, height - 14 - line_px * i, line, fontsize=size)

    return Block(height, draw)


# --- legend and key -------------------------------------------------------------------------------


def _legend_block(scene: Scene, more: Iterable[Bound], width: float, ruler: Ruler) -> Block:
    """An entry for each verdict (and ``more``) and kind of roof, in as many lines as they need."""
    shown: set[str] = {m.result.verdict.bound for m in scene.marks} | set(more)
    shown |= {kind for panel in scene.panels for roof in panel.roofs for kind in roof.rates}
    entries: dict[str, str] = {bound: f"{bound}-bound" for bound in Bound}
    entries[Bound.UNKNOWN] = "unknown"
    entries |= {kind: text for kind, (_, text) in KINDS.items()}
    places: list[tuple[float, int, str]] = []
    x, line = PAD, 0
    for key in (key for key in entries if key in shown):
        needed = 24 + ruler.width(entries[key]) + 18
        if x + needed > width and x > PAD:
            x, line = PAD, line + 1
        places.append((x, line, key))
        x += needed
    height = 20.0 * (line + 1)

    def draw(canvas: Canvas) -> None:
        for left, row, key in places:
            y = height - 10 - 20 * row
            if key in KINDS:
                color, dashes = "roof" if key == "report" else "faint", KINDS[key][0]
                canvas.line([left + 1, left + 21], [y] * 2, color, linewidth=1.6, linestyle=dashes)
            else:
                canvas.mark(left + 10, y, Bound(key), 5.5)
            canvas.text(left + 26, y, entries[key], va="center_baseline")

    return Block(height, draw)


def _key_block(chart: Chart, width: float, ruler: Ruler) -> Block:
    """Which number is which kernel and what limits it, in two columns where there is room."""
    marks = [spot.mark for spot in chart.spots]
    shown, more = marks[: roofline.LABELLED], marks[roofline.LABELLED :]
    columns = 2 if width >= 700 and len(shown) > _ONE_COLUMN else 1
    rows = -(-len(shown) // columns)
    height = _ROW * rows + 14 + (16 if more else 0)
    column = (width - 2 * PAD) / columns
    say = words.verdict if columns == 1 else words.limit
    limits = [say(m.result.verdict) for m in shown]
    room = column - 124 - max(ruler.width(limit, SMALL_PX) for limit in limits)
    texts = ruler.names([(m.name, m.detail) for m in shown], room)
    aside = 112 + max(map(ruler.width, texts))

    def draw(canvas: Canvas) -> None:
        line: dict[str, Any] = {"va": "center_baseline"}
        right: dict[str, Any] = {"ha": "right", "color": "muted", **line}
        for i, mark in enumerate(shown):
            x, y = PAD + column * (i // rows), height - 12 - _ROW * (i % rows)
            canvas.text(x + 20, y, str(mark.rank), **right)
            canvas.mark(x + 32, y, mark.result.verdict.bound, 4.5)
            canvas.text(x + 88, y, words.share(mark.share), **right)
            canvas.text(x + 96, y, texts[i], **line)
            canvas.small(x + aside, y, limits[i], **line)
        if more:
            canvas.small(PAD, 8, words.rest(more, ", not numbered,"))

    return Block(height, draw)


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
