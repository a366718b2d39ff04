"""Colours, marks and line styles: each meaning has a colour and a shape, in light and in dark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from roofline.model import Bound


@dataclass(frozen=True, slots=True, kw_only=True)
class Theme:
    """Colours by what they stand for; within a theme no two are equal.

    The HTML page relies on that: it puts a variable in place of each colour.
    """

    background: str
    panel: str
    ink: str
    muted: str
    faint: str
    grid: str
    roof: str
    bandwidth: str
    compute: str
    latency: str
    unknown: str

    def of_bound(self, bound: Bound) -> str:
        """The colour of a verdict."""
        return {
            Bound.BANDWIDTH: self.bandwidth,
            Bound.COMPUTE: self.compute,
            Bound.LATENCY: self.latency,
            Bound.UNKNOWN: self.unknown,
        }[bound]

    def roles(self) -> Mapping[str, str]:
        """Role -> colour."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


THEMES: Mapping[str, Theme] = {
    "light": Theme(
        background="#ffffff",
        panel="#f6f8fa",
        ink="#1f2328",
        muted="#57606a",
        faint="#8c959f",
        grid="#e4e8ec",
        roof="#30363d",
        bandwidth="#1f5fc0",
        compute="#d55e00",
        latency="#0f9d58",
        unknown="#6b7280",
    ),
    "dark": Theme(
        background="#0d1117",
        panel="#161b22",
        ink="#e6edf3",
        muted="#a5aeb8",
        faint="#768390",
        grid="#262c36",
        roof="#c9d1d9",
        bandwidth="#4c9be8",
        compute="#f0883e",
        latency="#5fe0b0",
        unknown="#9aa4b2",
    ),
}

MARKERS: Mapping[Bound, str] = {
    Bound.BANDWIDTH: "o",
    Bound.COMPUTE: "s",
    Bound.LATENCY: "^",
    Bound.UNKNOWN: "D",
}

# Kind of peak -> dash pattern in units of the line's width, and what the legend says.
KINDS: Mapping[str, tuple[tuple[float, ...] | None, str]] = {
    "report": (None, "roof at the report's clocks"),
    "datasheet": ((5.0, 2.5), "roof of the datasheet"),
    "achieved": ((1.0, 1.6), "roof achieved by a benchmark"),
}

FONT = ("DejaVu Sans",)  # comes with matplotlib: the same picture on every machine
TITLE_PX, HEADING_PX, TEXT_PX, SMALL_PX = 16.0, 13.0, 11.5, 10.5

# The figure has 72 dots an inch, so that a point is a pixel and every length below is in pixels.
DPI = 72
HASH_SALT = "roofline"
RC: Any = {  # matplotlib types the keys one by one
    "font.family": ["sans-serif"],
    "font.sans-serif": [*FONT],
    "font.size": TEXT_PX,
    "text.parse_math": False,
    "axes.unicode_minus": False,
    "svg.fonttype": "none",
    "svg.hashsalt": HASH_SALT,
    "pdf.fonttype": 42,
    "path.simplify": False,
}
