"""Colours, marks and line styles: each meaning has a colour and a shape, in every theme."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from roofline.model import Bound

# What a colour stands for -> the colour in light, in dark and on paper, where bounds differ in
# lightness, too. Within a theme no two are equal: the page of HTML puts a variable in place of
# each.
_COLORS: Mapping[str, tuple[str, str, str]] = {
    "background": ("#ffffff", "#0d1117", "#ffffff"),
    "panel": ("#f6f8fa", "#161b22", "#f7f7f7"),
    "ink": ("#1f2328", "#e6edf3", "#000000"),
    "muted": ("#57606a", "#a5aeb8", "#3a3a3a"),
    "faint": ("#8c959f", "#768390", "#7a7a7a"),
    "grid": ("#e4e8ec", "#262c36", "#e0e0e0"),
    "roof": ("#30363d", "#c9d1d9", "#1a1a1a"),
    "faster": ("#1a7f37", "#3fb950", "#1b6e33"),
    "slower": ("#cf222e", "#f85149", "#b3202a"),
    Bound.BANDWIDTH: ("#1f5fc0", "#4c9be8", "#0b3d91"),
    Bound.COMPUTE: ("#c45200", "#f0883e", "#c25600"),
    Bound.LATENCY: ("#b5499a", "#c46aa8", "#b84f9c"),
    Bound.UNKNOWN: ("#39414c", "#cfd6de", "#5c5c5c"),
}
THEMES: Mapping[str, Mapping[str, str]] = {
    theme: {role: colors[place] for role, colors in _COLORS.items()}
    for place, theme in enumerate(("light", "dark", "paper"))
}

# Verdict -> marker, and its width for the same area as a circle of width 1.
MARKERS: Mapping[Bound, tuple[str, float]] = {
    Bound.BANDWIDTH: ("o", 1.0),
    Bound.COMPUTE: ("s", 0.89),
    Bound.LATENCY: ("^", 1.2),
    Bound.UNKNOWN: ("D", 0.89),
}

# Kind of peak -> line style, dashes in units of the line's width, and what the legend says.
KINDS: Mapping[str, tuple[str | tuple[int, tuple[float, ...]], str]] = {
    "report": ("-", "roof at the report's clocks"),
    "datasheet": ((0, (5.0, 2.5)), "roof of the datasheet"),
    "achieved": ((0, (1.0, 1.6)), "roof achieved by a benchmark"),
}

FONT = "DejaVu Sans"  # comes with matplotlib: the same picture on every machine
TITLE_PX, HEADING_PX, TEXT_PX, SMALL_PX = 16.0, 13.0, 11.5, 10.5
PAD = 14.0  # between the edge of the picture and what is written

# The figure has 72 dots an inch, so that a point is a pixel and every length below is in pixels.
DPI = 72
RC: Any = {  # matplotlib types the keys one by one
    "font.family": ["sans-serif"],
    "font.sans-serif": [FONT],
    "font.size": TEXT_PX,
    "text.parse_math": False,
    "axes.unicode_minus": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "roofline",
    "pdf.fonttype": 42,
    "path.simplify": False,
}
