"""A matplotlib figure that is drawn on in pixels, with text measured before it is placed."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, Rectangle
from matplotlib.transforms import Affine2D

from roofline.kernel_names import ELLIPSIS
from roofline.model import Bound
from roofline.plot.layout import Box, Point
from roofline.plot.style import DPI, FONT, MARKERS, RC, SMALL_PX, TEXT_PX, THEMES
from roofline.text import names


@contextmanager
def styled() -> Iterator[None]:
    """Our settings of matplotlib, for measuring, drawing and saving alike."""
    with rc_context(RC), warnings.catch_warnings():
        # A name may have signs that the font lacks; they become boxes, and that is all.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


class Ruler:
    """Measures text in pixels without drawing it.

    As the raster back end sets it: that rounds to whole pixels and so is the widest of all.
    """

    def __init__(self) -> None:
        self._renderer: Any = FigureCanvasAgg(Figure(dpi=DPI)).get_renderer()  # type: ignore[no-untyped-call]

    def width(self, text: str, size: float = TEXT_PX, *, bold: bool = False) -> float:
        """The width of one line of text."""
        font = FontProperties(family=FONT, size=size, weight="bold" if bold else "normal")
        return float(self._renderer.get_text_width_height_descent(text, font, False)[0])

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
        limit, clipped = len(text), text
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
        for word in text.split():
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
        self.figure = Figure(dpi=DPI, facecolor=self.theme["background"])
        self._to_top = Affine2D()  # from the bottom of the figure, known once it is finished
        self._axes: list[tuple[Axes, Box, float]] = []

    def down(self, height: float) -> None:
        """Begin a block of that height below all others."""
        self.height += height
        pixels = Affine2D().translate(0, -self.height) + self._to_top
        self.pixels = pixels + Affine2D().scale(1 / DPI) + self.figure.dpi_scale_trans

    def finish(self, least: float) -> Figure:
        """The figure, as high as its blocks or ``least``."""
        height = max(self.height, least)
        self._to_top.translate(0, height)
        self.figure.set_size_inches(self.width / DPI, height / DPI)
        for ax, area, down in self._axes:
            low, wide, high = area.y0 + height - down, area.x1 - area.x0, area.y1 - area.y0
            ax.set_position((area.x0 / self.width, low / height, wide / self.width, high / height))
        return self.figure

    def axes(self, area: Box) -> Axes:
        """Axes whose frame is ``area``, in the theme's colours."""
        ax = self.figure.add_axes((0, 0, 1, 1))
        self._axes.append((ax, area, self.height))
        ax.set_facecolor(self.theme["background"])
        ax.tick_params(colors=self.theme["muted"], labelsize=SMALL_PX, length=0, which="both")
        ax.spines[["top", "right"]].set_visible(False)
        ax.spines[["left", "bottom"]].set_color(self.theme["faint"])
        return ax

    def text(
        self, x: float, y: float, text: str, *, backed: str | None = None, **style: Any
    ) -> None:
        """One line of text; lines behind it do not run through it where it is ``backed``."""
        given: dict[str, Any] = {"fontsize": TEXT_PX, "va": "center", "color": "ink"} | style
        if backed:
            face = self.theme[backed]
            given["bbox"] = {"facecolor": face, "alpha": 0.8, "linewidth": 0, "pad": 0.5}
        given["color"] = self.theme[given["color"]]
        self.figure.text(x, y, text, transform=self.pixels, **given)

    def small(self, x: float, y: float, text: str, **style: Any) -> None:
        """One line of small print."""
        given: dict[str, Any] = {"fontsize": SMALL_PX, "color": "muted"} | style
        self.text(x, y, text, **given)

    def line(self, xs: Sequence[float], ys: Sequence[float], color: str, **style: Any) -> None:
        """A line through points."""
        line = Line2D(xs, ys, transform=self.pixels, color=self.theme[color], **style)
        self.figure.add_artist(line)

    def box(self, box: Box, color: str, **style: Any) -> None:
        """A filled rectangle."""
        corner, width, height = (box.x0, box.y0), box.x1 - box.x0, box.y1 - box.y0
        style |= {"facecolor": self.theme[color], "linewidth": 0, "transform": self.pixels}
        self.figure.add_artist(Rectangle(corner, width, height, **style))

    def mark(
        self,
        x: float | Sequence[float],
        y: float | Sequence[float],
        bound: Bound,
        radius: float,
        *,
        edge: float = 0.0,
        **style: Any,
    ) -> None:
        """The mark of a verdict, or several as one object; hollow with an ``edge``."""
        colors, (shape, width) = (self.theme[bound], self.theme["background"]), MARKERS[bound]
        face, line = reversed(colors) if edge else colors
        style |= {"markerfacecolor": face, "markeredgecolor": line, "markeredgewidth": edge or 0.8}
        style |= {"linestyle": "none", "marker": shape, "markersize": 2 * radius * width}
        self.figure.add_artist(Line2D(*np.atleast_1d(x, y), transform=self.pixels, **style))

    def arrow(self, start: Point, end: Point, shrink: tuple[float, float] = (0.0, 0.0)) -> None:
        """An arrow; ``shrink`` is what it keeps from its start and its end."""
        style: dict[str, Any] = {"color": self.theme["ink"], "linewidth": 1.3, "zorder": 4.7}
        style |= {"arrowstyle": "->,head_length=6.3,head_width=3", "mutation_scale": 1.0}
        style |= {"shrinkA": shrink[0], "shrinkB": shrink[1], "transform": self.pixels}
        self.figure.add_artist(FancyArrowPatch(start, end, **style))
