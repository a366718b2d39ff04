"""A matplotlib figure that is drawn on in pixels, with text measured before it is placed."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.transforms import Affine2D

from roofline.model import Bound
from roofline.plot.labels import Box
from roofline.plot.style import DPI, FONT, MARKERS, RC, SMALL_PX, TEXT_PX, Theme
from roofline.text import names
from roofline.text.cpp import ELLIPSIS


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
        font = FontProperties(family=[*FONT], size=size, weight="bold" if bold else "normal")
        size_of = self._renderer.get_text_width_height_descent
        return float(size_of(text, font, False)[0])

    def names(
        self, full: Sequence[tuple[str, str]], room: float, size: float = TEXT_PX
    ) -> list[str]:
        """The longest short forms of kernel names, each with its detail, that fit into ``room``.

        Names that would look the same show where they differ.
        """
        fitted: dict[int, str] = {}
        for limit in range(max(int(room / (0.52 * size)), 8), 2, -1):
            texts = names.short_all([name for name, _ in full], limit)
            for position, (text, (_, detail)) in enumerate(zip(texts, full, strict=True)):
                if position not in fitted and self.width(text + detail, size) <= room:
                    fitted[position] = text + detail
            if len(fitted) == len(full):
                break
        return [fitted.get(position, ELLIPSIS) for position in range(len(full))]

    def clip(self, text: str, room: float, size: float = TEXT_PX, *, bold: bool = False) -> str:
        """``text`` with its middle left out where it is wider than ``room``."""
        limit = len(text)
        clipped = text
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
    """The figure; x from the left and y from the bottom, both in pixels."""

    def __init__(self, theme: Theme, figure: Figure, *, up: float = 0.0) -> None:
        self.theme, self.figure, self._up = theme, figure, up
        self.pixels = Affine2D().translate(0, up).scale(1 / DPI) + figure.dpi_scale_trans

    @classmethod
    def new(cls, theme: Theme, width: float, height: float) -> Canvas:
        """An empty canvas of ``width`` x ``height``."""
        figure = Figure(figsize=(width / DPI, height / DPI), dpi=DPI)
        figure.set_facecolor(theme.background)
        return cls(theme, figure)

    def shifted(self, up: float) -> Canvas:
        """The same figure with its origin ``up`` pixels higher."""
        return Canvas(self.theme, self.figure, up=self._up + up)

    def axes(self, area: Box) -> Axes:
        """Axes whose frame is ``area``, in the theme's colours."""
        width, height = (inches * DPI for inches in self.figure.get_size_inches())
        ax = self.figure.add_axes(
            (
                area.x0 / width,
                (area.y0 + self._up) / height,
                (area.x1 - area.x0) / width,
                (area.y1 - area.y0) / height,
            )
        )
        ax.set_facecolor(self.theme.background)
        ax.tick_params(colors=self.theme.muted, labelsize=SMALL_PX, length=0, which="both")
        for side, spine in ax.spines.items():
            spine.set_visible(side in {"left", "bottom"})
            spine.set_color(self.theme.faint)
        return ax

    def text(self, x: float, y: float, text: str, **style: Any) -> None:
        """One line of text; ``style`` is matplotlib's, the colour a role of the theme."""
        given: dict[str, Any] = {"fontsize": TEXT_PX, "va": "center", "color": "ink"} | style
        backed = given.pop("backed", None)
        if backed:  # lines behind the text must not run through it
            face = self.theme.roles()[backed]
            given["bbox"] = {"facecolor": face, "alpha": 0.8, "linewidth": 0, "pad": 0.5}
        given["color"] = self.theme.roles()[given["color"]]
        self.figure.text(x, y, text, transform=self.pixels, **given)

    def line(self, xs: Sequence[float], ys: Sequence[float], color: str, **style: Any) -> None:
        """A line through points; ``color`` is a role of the theme."""
        self.figure.add_artist(
            Line2D(xs, ys, transform=self.pixels, color=self.theme.roles()[color], **style)
        )

    def box(self, box: Box, color: str, **style: Any) -> None:
        """A filled rectangle; ``color`` is a role of the theme."""
        self.figure.add_artist(
            Rectangle(
                (box.x0, box.y0),
                box.x1 - box.x0,
                box.y1 - box.y0,
                transform=self.pixels,
                facecolor=self.theme.roles()[color],
                linewidth=0,
                **style,
            )
        )

    def mark(self, x: float, y: float, bound: Bound, radius: float, **style: Any) -> None:
        """The mark of a verdict: its colour and its shape; ``gid`` is its id in an SVG."""
        self.marks([x], [y], bound, radius, **style)

    def marks(
        self, xs: Sequence[float], ys: Sequence[float], bound: Bound, radius: float, **style: Any
    ) -> None:
        """Several marks of one verdict as one object."""
        given: dict[str, Any] = {
            "markeredgecolor": self.theme.background,
            "markerfacecolor": self.theme.of_bound(bound),
            "markeredgewidth": 0.8,
        } | style
        artist = Line2D(
            xs,
            ys,
            transform=self.pixels,
            linestyle="none",
            marker=MARKERS[bound],
            markersize=2 * radius * EQUAL_AREA[bound],
            **given,
        )
        self.figure.add_artist(artist)

    def arrow(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        color: str,
        shrink: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        """An arrow; ``shrink`` is what it keeps from its start and its end."""
        length = math.hypot(end[0] - start[0], end[1] - start[1])
        along = ((end[0] - start[0]) / length, (end[1] - start[1]) / length)
        tail = (start[0] + shrink[0] * along[0], start[1] + shrink[0] * along[1])
        tip = (end[0] - shrink[1] * along[0], end[1] - shrink[1] * along[1])
        self.line([tail[0], tip[0]], [tail[1], tip[1]], color, linewidth=1.3, zorder=4.7)
        for side in (0.45, -0.45):
            turned = (
                along[0] * math.cos(side) - along[1] * math.sin(side),
                along[0] * math.sin(side) + along[1] * math.cos(side),
            )
            wing = (tip[0] - 7 * turned[0], tip[1] - 7 * turned[1])
            self.line([tip[0], wing[0]], [tip[1], wing[1]], color, linewidth=1.3, zorder=4.7)


# A shape's width for the same area as a circle of width 1.
EQUAL_AREA = {Bound.BANDWIDTH: 1.0, Bound.COMPUTE: 0.89, Bound.LATENCY: 1.2, Bound.UNKNOWN: 0.89}


@dataclass(frozen=True, slots=True)
class Block:
    """A part of the page: how high it is, and how to draw it from its lower left corner."""

    height: float
    draw: Callable[[Canvas], None]
