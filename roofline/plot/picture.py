"""A finished picture, as the bytes of a PNG, SVG or PDF that hold no date."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from matplotlib.figure import Figure

from roofline import __version__
from roofline.plot.canvas import styled
from roofline.plot.style import DPI

_CREATOR = f"roofline {__version__}"
# No date, so that the same report gives the same bytes.
_METADATA: Mapping[str, Mapping[str, str | None]] = {
    "png": {"Software": _CREATOR},
    "svg": {"Date": None, "Creator": _CREATOR},
    "pdf": {"CreationDate": None, "Creator": _CREATOR},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """What the page of HTML lists below the picture; ``ids`` are those of the marks, by row."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A figure with what can be said about its marks; ``tips`` maps a mark's id to lines."""

    figure: Figure
    title: str
    theme: str
    tips: Mapping[str, str]
    table: Table


def svg(picture: Picture) -> str:
    """The picture as SVG with text as text, its size in pixels, and a tooltip for each mark."""
    text = encoded(picture.figure, "svg", dpi=DPI).decode()
    text = re.sub(r'(<svg [^>]*?width=")([\d.]+)pt(" height=")([\d.]+)pt"', r'\1\2\g<3>\4"', text)

    def with_tip(match: re.Match[str]) -> str:
        tip = picture.tips.get(match[1])
        return match[0] if tip is None else f"{match[0]}<title>{escape(tip)}</title>"

    return re.sub(r'<g id="([\w-]+)">', with_tip, text)


def encoded(figure: Figure, kind: str, *, dpi: float) -> bytes:
    """A figure as "png", "svg" or "pdf"; the same figure gives the same bytes."""
    target = io.BytesIO()
    metadata: dict[str, Any] = dict(_METADATA[kind])
    with styled():
        figure.savefig(target, format=kind, dpi=dpi, metadata=metadata)
    return target.getvalue()
