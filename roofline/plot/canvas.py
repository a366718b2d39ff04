"""A matplotlib figure that is drawn on in pixels, with text measured before it is placed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
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
from roofline.plot.style import DPI, FONT, MARKERS, RC, SMALL_PX, TEXT_PX
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
    """The figure; x from the left and y from the bottom, both in pixels.

    Colours are given as roles of the theme, other styles as matplotlib's.
    """

    def __init__(self, theme: Mapping[str, str], figure: Figure, *, up: float = 0.0) -> None:
        self.theme, self.figure, self._up = theme, figure, up
        self.pixels = Affine2D().translate(0, up).scale(1 / DPI) + figure.dpi_scale_trans

    @classmethod
    def new(cls, theme: Mapping[str, str], width: float, height: float) -> Canvas:
        """An empty canvas of ``width`` x ``height``."""
        size = (width / DPI, height / DPI)
        return cls(theme, Figure(figsize=size, dpi=DPI, facecolor=theme["background"]))

    def shifted(self, up: float) -> Canvas:
        """The same figure with its origin ``up`` pixels higher."""
        return Canvas(self.theme, self.figure, up=self._up + up)

    def axes(self, area: Box) -> Axes:
        """Axes whose frame is ``area``, in the theme's colours."""
        width, height = (inches * DPI for inches in self.figure.get_size_inches())
        left, low = area.x0 / width, (area.y0 + self._up) / height
        ax = self.figure.add_axes(
            (left, low, (area.x1 - area.x0) / width, (area.y1 - area.y0) / height)
        )
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
        artist = Line2D(
            *np.atleast_1d(x, y),
            transform=self.pixels,
            linestyle="none",
            marker=shape,
            markersize=2 * radius * width,
            **style,
        )
        self.figure.add_artist(artist)

    def arrow(self, start: Point, end: Point, shrink: tuple[float, float] = (0.0, 0.0)) -> None:
        """An arrow; ``shrink`` is what it keeps from its start and its end."""
        arrow = FancyArrowPatch(
            start,
            end,
            transform=self.pixels,
            color=self.theme["ink"],
            arrowstyle="->,head_length=6.3,head_width=3",
            mutation_scale=1.0,
            shrinkA=shrink[0],
            shrinkB=shrink[1],
            linewidth=1.3,
            zorder=4.7,
        )
        self.figure.add_artist(arrow)


@dataclass(frozen=True, slots=True)
class Block:
    """A part of the page: how high it is, and how to draw it from its lower left corner."""

    height: float
    draw: Callable[[Canvas], None]
