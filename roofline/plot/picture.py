"""A finished picture and how it becomes a file: PNG, SVG, PDF or a page of HTML by the ending."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from roofline import __version__
from roofline.errors import UsageError
from roofline.files import refuse_overwrite, whole_file
from roofline.plot.canvas import styled
from roofline.plot.style import DPI

ENDINGS = (".png", ".svg", ".pdf", ".html")
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


def check_path(path: Path, *, force: bool) -> None:
    """Raise ``UsageError`` where a picture cannot be written to ``path``; before long work."""
    if path.suffix.lower() not in ENDINGS:
        raise UsageError(
            f"cannot draw {path}",
            why=f"a picture ends in {', '.join(ENDINGS)}",
            hint=f"-o {path.with_suffix('.png')}",
        )
    refuse_overwrite(path, force=force)


def save(
    picture: Picture,
    path: Path,
    *,
    scale: float = 1.0,
    force: bool = False,
    both_themes: bool = True,
) -> None:
    """Write ``picture`` in the format that ``path`` ends in, whole or not at all.

    ``scale`` multiplies the pixels of a PNG. ``both_themes`` lets a page of HTML follow the
    reader's setting instead of the picture's theme.

    Raises:
        UsageError: the ending is not known, or ``path`` exists (without ``force``).

    """
    check_path(path, force=force)
    kind = path.suffix.lower().removeprefix(".")
    if kind == "html":
        from roofline.plot.html import page

        content = page(picture, both_themes=both_themes).encode()
    elif kind == "svg":
        content = svg(picture).encode()
    else:
        content = _bytes(picture.figure, kind, dpi=DPI * (scale if kind == "png" else 1.0))
    with whole_file(path, force=force) as temporary:
        temporary.write_bytes(content)


def svg(picture: Picture) -> str:
    """The picture as SVG with text as text, its size in pixels, and a tooltip for each mark."""
    text = _bytes(picture.figure, "svg", dpi=DPI).decode()
    text = re.sub(r'(<svg [^>]*?width=")([\d.]+)pt(" height=")([\d.]+)pt"', r'\1\2\g<3>\4"', text)

    def with_tip(match: re.Match[str]) -> str:
        tip = picture.tips.get(match[1])
        return match[0] if tip is None else f"{match[0]}<title>{escape(tip)}</title>"

    return re.sub(r'<g id="([\w-]+)">', with_tip, text)


def _bytes(figure: Figure, kind: str, *, dpi: float) -> bytes:
    target = io.BytesIO()
    metadata: dict[str, Any] = dict(_METADATA[kind])
    with styled():
        figure.savefig(target, format=kind, dpi=dpi, metadata=metadata)
    return target.getvalue()
