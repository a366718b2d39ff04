"""The roofline in letters, as wide as a terminal: roofs in dots, kernels as the table's numbers."""

from __future__ import annotations

import string
from collections.abc import Iterator

from rich.text import Text

from roofline.model import Bound
from roofline.plot import roofs, words
from roofline.plot.layout import Box, points_along
from roofline.plot.scene import Mark, Options, Panel, Place, scene_of
from roofline.text import numbers
from roofline.text.console import BOUND_STYLES, to_text
from roofline.view import Chosen

_LEFT, _BOTTOM = 9, 2  # columns and rows of the axes
_HEIGHTS = 12, 24  # rows
_DIGITS = string.digits[1:] + string.ascii_letters
# The dots of a letter of Braille, by column and row from the bottom.
_DOTS = ((0x40, 0x04, 0x02, 0x01), (0x80, 0x20, 0x10, 0x08))

Grid = dict[tuple[int, int], tuple[str, str]]


def render(part: Chosen, *, launches: bool, width: int, color: bool) -> str:
    """A roofline for each device that has kernels for one, with a key of what limits each."""
    rows = part.rows(launches=launches)
    scene = scene_of(rows, Options(datasheet=False), part.analysis.rule, by_time=False)
    lines: list[Text] = []
    for panel in scene.panels:
        if panel.shown:
            lines += [Text(), Text(panel.device, "bold"), *_chart(panel, width)]
    if not lines:
        whys = sorted({mark.why for mark in scene.marks})
        return f"\nNo roofline: {', '.join(whys)}.\n"
    own = "Number: reached, as in the table; ━ above it: its own ceiling, at 100 % of its unit."
    return to_text([*lines, Text(own, "dim")], width=width, color=color)


def _chart(panel: Panel, width: int) -> Iterator[Text]:
    high = min(max(width // 5, _HEIGHTS[0]), _HEIGHTS[1])
    area = Box(_LEFT, _BOTTOM, width - 2, high)
    scale = panel.scale(area, len(panel.shown))
    grid: Grid = {}
    for line in roofs.lines(panel.roofs, scale):
        _draw_line(grid, line)
    xs, ys = (roofs.decades(*ends)[0] for ends in ((scale.x0, scale.x1), (scale.y0, scale.y1)))
    for y in ys:
        _write(grid, 0, int(scale.y(y)), f"{numbers.si(y, '', digits=1):>{_LEFT - 2}} ┤", "dim")
    for x in range(_LEFT, width - 1):
        grid.setdefault((x, _BOTTOM - 1), ("─", "dim"))
    for value in xs:
        text = numbers.plain(value, digits=1)
        at = min(int(scale.x(value)), width - len(text) // 2 - 2)
        _write(grid, at - len(text) // 2, 0, text, "dim")
        grid[at, _BOTTOM - 1] = "┴", "dim"
    for mark in reversed(panel.shown):
        _draw_mark(grid, mark, scale, width)
    _write(grid, _LEFT + 1, high, "FLOP/s over FLOP/byte of DRAM", "dim")
    for row in range(high, -1, -1):
        yield Text.assemble(*(grid.get((x, row), (" ", "")) for x in range(width)))
    for mark in panel.shown[:10]:
        named = ", ".join(map(words.ceiling, mark.ceilings)) or "unknown"
        style = BOUND_STYLES[mark.result.verdict.bound]
        yield Text.assemble(f"{_sign(mark)} {words.name(mark, 40)}: ", (named, style))
    yield from map(Text, words.off_the_axes(panel.shown))


def _sign(mark: Mark) -> str:
    return _DIGITS[mark.rank - 1] if mark.rank <= len(_DIGITS) else "•"


def _draw_mark(grid: Grid, mark: Mark, scale: roofs.Scale, width: int) -> None:
    """A kernel's number, and its own ceiling with a stem where that is another row."""
    column = width - 2 if mark.place is Place.INFINITE else int(scale.x(mark.point[0]))
    bound, row = mark.result.verdict.bound, int(scale.y(mark.point[1]))
    style, stem = BOUND_STYLES[bound], "┊" if bound is Bound.LATENCY else "│"
    for end in (int(scale.y(c.rate)) for c in mark.ceilings[:1] if c.rate):
        for at in range(min(row, end) + 1, max(row, end)):
            grid[column, at] = stem, style
        if end != row:
            _write(grid, column - 1, end, "━━━", style)
    grid[column, row] = _sign(mark), f"bold {style}"


def _draw_line(grid: Grid, line: roofs.Line) -> None:
    """A roof in dots, with its name above its right end, or left of a slope."""
    for x, y in points_along(line.start, line.end, 0.2):
        column, row = int(x), int(y)
        bit = _DOTS[int(2 * (x - column))][int(4 * (y - row))]
        letter = grid.get((column, row), (chr(0x2800), ""))[0]
        grid[column, row] = chr(max(ord(letter), 0x2800) | bit), ""
    text = roofs.label_text([line.roof], full=False)
    if line.roof.is_memory:
        (x0, y0), (x1, y1) = line.start, line.end  # left of the line, where no kernel can be
        at = max(int(x0 + 0.6 * (x1 - x0)) - len(text) - 2, _LEFT)
        _write(grid, at, int(y0 + 0.6 * (y1 - y0)), text, "dim")
    else:
        _write(grid, int(line.end[0]) - len(text), int(line.end[1]) + 1, text, "dim")


def _write(grid: Grid, column: int, row: int, text: str, style: str) -> None:
    for at, letter in enumerate(text, start=column):
        grid[at, row] = letter, style
