"""A matplotlib figure that is drawn on in pixels, with text measured before it is placed."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from matplotlib import rc_context
from matplotlib.backends.backend_agg import get_hinting_flag
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, Rectangle
from matplotlib.transforms import Affine2D

from roofline.kernel_names import ELLIPSIS
from roofline.model import Bound
from roofline.plot import style as look
from roofline.plot.layout import Box, Point
from roofline.plot.style import HEADING_PX, PAD, SMALL_PX, TEXT_PX, THEMES, TITLE_PX
from roofline.text import names


@contextmanager
def styled() -> Iterator[None]:
    """Our settings of matplotlib, for measuring, drawing and saving alike."""
    with rc_context(look.RC), warnings.catch_warnings():
        # A name may have signs that the font lacks; they become boxes, and that is all.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


class Ruler:
    """Measures text in pixels without drawing it: the advances of its letters, each asked once.

    They are hinted as the raster back end hints them: that is the widest of all.
    """

    def __init__(self) -> None:
        self._advances: dict[tuple[float, bool], dict[str, float]] = {}

    def width(self, text: str, size: float = TEXT_PX, *, bold: bool = False) -> float:
        """The width of one line of text."""
        known = self._advances.setdefault((size, bold), {})
        if new := set(text) - known.keys():
            font = get_font(findfont(FontProperties(weight="bold" if bold else "normal")))
            font.set_size(size, look.DPI)
            flags = get_hinting_flag()  # type: ignore[no-untyped-call]
            for letter in new:
                glyph = font.load_glyph(font.get_char_index(ord(letter)), flags=flags)
                known[letter] = glyph.horiAdvance / 64
        return sum(known[letter] for letter in text) + 1

    def names(self, full: Sequence[tuple[str, str]], room: float) -> list[str]:
        """The longest short forms of kernel names, each with its detail, that fit into ``room``.

        Names that would look the same show where they differ.
        """
        fitted: dict[int, str] = {}
        for limit in range(max(int(room / (0.52 * TEXT_PX)), 8), 2, -1):
            texts = names.short_all([name for name, _ in full], limit)
            for position, (text, (_, detail)) in enumerate(zip(texts, full, strict=True)):
                if position not in fitted and self.width(text + detail) <= room:
                    fitted[position] = text + detail
            if len(fitted) == len(full):
                break
        return [fitted.get(position, ELLIPSIS) for position in range(len(full))]

    def clip(self, text: str, room: float, size: float = TEXT_PX, *, bold: bool = False) -> str:
        """``text`` with its middle left out where it is wider than ``room``."""
        # No letter is narrower than 2 pixels.
        limit = min(len(text), int(max(room, 0) / 2) + 1)
        clipped = text if limit == len(text) else names.middle(text, limit)
        while limit > 1 and self.width(clipped, size, bold=bold) > room:
            limit -= 1
            clipped = names.middle(text, limit)
        return clipped

    def first(self, texts: Sequence[str], room: float, size: float = TEXT_PX) -> str:
        """The first of ``texts`` that fits into ``room``; the last one clipped if none does."""
        fitting = (text for text in texts if self.width(text, size) <= room)
        return next(fitting, None) or self.clip(texts[-1], room, size)

    def wrap(self, text: str, room: float, size: float) -> list[str]:
        """``text`` in lines that are at most ``room`` wide, broken between words."""
        lines: list[str] = []
        for word in text.split(" "):
            longer = f"{lines[-1]} {word}" if lines else word
            if lines and self.width(longer, size) <= room:
                lines[-1] = longer
            else:
                lines.append(self.clip(word, room, size))
        return lines


class Canvas:
    """A figure that grows downwards, by a block at a time.

    x is from the left and y from the bottom of the block that was begun last, both in pixels.
    Colours are given as roles of the theme, other styles as matplotlib's.
    """

    def __init__(self, theme: str, width: float) -> None:
        self.theme, self.width, self.height, self.ruler = THEMES[theme], width, 0.0, Ruler()
        self.figure = Figure(dpi=look.DPI, facecolor=self.theme["background"])
        self._to_top = Affine2D()  # from the bottom of the figure, known once it is finished

    def down(self, height: float) -> None:
        """Begin a block of that height below all others."""
        self.height += height
        pixels = Affine2D().translate(0, -self.height) + self._to_top
        self.pixels = pixels + Affine2D().scale(1 / look.DPI) + self.figure.dpi_scale_trans

    def finish(self, least: float) -> Figure:
        """The figure, as high as its blocks or ``least``."""
        height = max(self.height, least)
        self._to_top.translate(0, height)
        self.figure.set_size_inches(self.width / look.DPI, height / look.DPI)
        return self.figure

    def text(
        self, x: float, y: float, text: str, *, backed: str | None = None, **style: Any
    ) -> None:
        """One line of text; lines behind it do not run through it where it is ``backed``."""
        given: dict[str, Any] = {"fontsize": TEXT_PX, "va": "center_baseline", "color": "ink"}
        given |= style
        if backed:
            face = self.theme[backed]
            given["bbox"] = {"facecolor": face, "alpha": 0.8, "linewidth": 0, "pad": 0.5}
        given["color"] = self.theme[given["color"]]
        self.figure.text(x, y, text, transform=self.pixels, parse_math=False, **given)

    def small(self, x: float, y: float, text: str, **style: Any) -> None:
        """One line of small print."""
        given: dict[str, Any] = {"fontsize": SMALL_PX, "color": "muted"} | style
        self.text(x, y, text, **given)

    def title(self, text: str) -> None:
        """A block of the title, on two lines where it is long."""
        size, lines, room = TITLE_PX, [text], self.width - 2 * PAD
        if self.ruler.width(text, size, bold=True) > room:
            size, text = HEADING_PX, text.replace(" %", "\N{NO-BREAK SPACE}%")
            lines = self.ruler.wrap(text, room / 1.1, size)[:2]
        self.down(20 + 18 * len(lines))
        for number, line in enumerate(reversed(lines)):
            self.text(PAD, 16 + 18 * number, line, fontsize=size, weight="bold")

    def heading(self, x: float, y: float, text: str, room: float, **style: Any) -> float:
        """A line in bold that keeps to its ``room``; the answer is where it ends."""
        text = self.ruler.clip(text, room, HEADING_PX, bold=True)
        self.text(x, y, text, fontsize=HEADING_PX, weight="bold", **style)
        return x + self.ruler.width(text, HEADING_PX, bold=True)

    def tick(self, x: float, y0: float, y1: float, text: str, **style: Any) -> None:
        """A line of the grid with its value below."""
        self.line([x, x], [y0, y1], "grid", linewidth=0.8, zorder=0.5)
        self.small(x, y0 - 10, text, **{"ha": "center"} | style)

    def block(self, lines: Sequence[str], size: float = TEXT_PX, *, below: float = 10.0) -> None:
        """A block of lines of small print, each wrapped where it is long."""
        wrapped = [s for line in lines for s in self.ruler.wrap(line, self.width - 2 * PAD, size)]
        step = size + 4.5
        height = step * len(wrapped) + below
        self.down(height)
        for i, line in enumerate(wrapped):
            self.small(PAD, height - 14 - step * i, line, fontsize=size)

    def legend(self, texts: Iterable[str], size: float = TEXT_PX) -> Iterator[float]:
        """Write entries in as many lines as they need; the answer is where their signs go."""
        x = self.width
        for text in texts:
            needed = 42 + self.ruler.width(text, size)
            if x + needed > self.width:
                x = PAD
                self.down(20)
            self.text(x + 26, 10, text, fontsize=size)
            yield x
            x += needed

    def line(self, xs: Sequence[float], ys: Sequence[float], color: str, **style: Any) -> None:
        """A line through points."""
        line = Line2D(xs, ys, transform=self.pixels, color=self.theme[color], **style)
        self.figure.add_artist(line)

    def segments(
        self, ends: Sequence[tuple[Point, Point]], color: str, width: float, **style: Any
    ) -> None:
        """Many lines as one object."""
        style |= {"colors": self.theme[color], "linewidths": width, "transform": self.pixels}
        self.figure.add_artist(LineCollection(list(ends), **style))

    def box(self, box: Box, color: str | None, *, edge: str | None = None, **style: Any) -> None:
        """A rectangle, filled with a ``color`` or drawn with an ``edge``."""
        corner, width, height = (box.x0, box.y0), box.x1 - box.x0, box.y1 - box.y0
        style = {"linewidth": 0} | style
        style |= {"facecolor": self.theme[color] if color else "none", "transform": self.pixels}
        if edge:
            style["edgecolor"] = self.theme[edge]
        self.figure.add_artist(Rectangle(corner, width, height, **style))

    def mark(
        self,
        x: float | Sequence[float],
        y: float | Sequence[float],
        bound: Bound,
        radius: float,
        *,
        hollow: bool = False,
        other: Bound | None = None,
        **style: Any,
    ) -> None:
        """The mark of a verdict, or several as one object; the right half is of an ``other``."""
        colors, (shape, width) = (self.theme[bound], self.theme["background"]), look.MARKERS[bound]
        face, line = reversed(colors) if hollow else colors
        style |= {"markerfacecolor": face, "markeredgecolor": line}
        style |= {"markeredgewidth": 1.4 if hollow else 0.8}
        if other is not None:
            alternative = self.theme["background" if hollow else other]
            style |= {"fillstyle": "left", "markerfacecoloralt": alternative}
        style |= {"linestyle": "none", "marker": shape, "markersize": 2 * radius * width}
        xs, ys = ([v] if isinstance(v, (int, float)) else v for v in (x, y))
        self.figure.add_artist(Line2D(xs, ys, transform=self.pixels, **style))

    def arrow(self, start: Point, end: Point, color: str) -> None:
        """An arrow."""
        style: dict[str, Any] = {"color": self.theme[color], "linewidth": 1.5, "zorder": 3}
        if math.dist(start, end) > 12:
            style |= {"arrowstyle": "->,head_length=6.3,head_width=3", "mutation_scale": 1.0}
            style |= {"shrinkA": 5.0, "shrinkB": 5.0, "transform": self.pixels}
            self.figure.add_artist(FancyArrowPatch(start, end, **style))
