"""A picture to a file: PNG, SVG, PDF or a page of HTML by the ending; the same bytes every time."""

from __future__ import annotations

import io
import logging
import re
import sys
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape, unescape
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roofline import __version__
from roofline.arguments import checked
from roofline.display import short
from roofline.errors import UsageError
from roofline.files import refuse_overwrite, whole_file
from roofline.plot import words
from roofline.plot.scene import Mark
from roofline.plot.style import DPI, FONT, THEMES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDINGS = (".png", ".svg", ".pdf", ".html")
DPIS = (36.0, 600.0)
# Tables of a font that letters need.
_TABLES = {*("GlyphOrder", "head", "hhea", "hmtx", "maxp", "OS/2", "cmap", "glyf", "loca", "post")}
_CREATOR = f"roofline {__version__}"
# No date, so that the same report gives the same bytes.
_METADATA: Mapping[str, dict[str, Any]] = {
    "png": {"Software": _CREATOR},
    "svg": {"Date": None, "Creator": _CREATOR},
    "pdf": {"CreationDate": None, "Creator": _CREATOR},
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Picture:
    """A figure and its marks, which tooltips tell of; ``table`` is what a page writes below it."""

    figure: Figure
    title: str
    theme: str
    marks: tuple[Mark, ...]
    table: tuple[tuple[str, ...], ...] = ()

    def __repr__(self) -> str:
        count = {"len(marks)": len(self.marks)}
        return short(self, title=self.title, theme=self.theme, **count)

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        """What a notebook shows: the picture itself."""
        return {"text/plain": repr(self), "image/svg+xml": compact(svg(self))}

    @checked
    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write it as ``roofline.plot.save`` does, by the ending of ``path``."""
        save(self, Path(path), force=force)


def need_matplotlib() -> None:
    """Import what takes longest, and say what to install where it is missing.

    Raises:
        UsageError: matplotlib is not installed, or refuses its environment.

    """
    if find_spec("matplotlib") is None:
        hint = "pip install matplotlib"
        raise UsageError("cannot draw", why="matplotlib is not installed", hint=hint)
    if "matplotlib.font_manager" not in sys.modules:
        # Without a home that can be written to, matplotlib caches in a temporary folder, and warns
        # of that at length: nothing for somebody who only wants a picture.
        talk = logging.getLogger("matplotlib")
        level = talk.level
        talk.setLevel(logging.ERROR)
        try:
            import_module("matplotlib.font_manager")
        except ValueError as error:  # of MPLBACKEND
            raise UsageError("cannot draw", why=str(error), hint="unset MPLBACKEND") from error
        finally:
            talk.setLevel(level)


def check_path(path: Path, *, force: bool, option: str = "") -> None:
    """Raise ``UsageError`` where a picture cannot be written to ``path``; before long work.

    ``option`` is what named the path ("-o", "--plot"), for the hint.
    """
    if path.suffix.lower() != ".html":
        need_matplotlib()
    if path.suffix.lower() not in ENDINGS:
        nameless = path.name in {"", "-", ".."}  # "-" is no stream: a picture is a file
        better = Path("roofline.png") if nameless else path.with_suffix(".png")
        raise UsageError(
            "cannot draw to standard output" if path == Path("-") else f"cannot draw {path}",
            why=f"a picture is a file that ends in {', '.join(ENDINGS)}",
            hint=f"{option} {better}".lstrip(),
        )
    refuse_overwrite(path, force=force)


def save(
    picture: Picture, path: Path, *, dpi: float = DPI, force: bool = False, both_themes: bool = True
) -> None:
    """Write ``picture`` in the format that ``path`` ends in, whole or not at all.

    ``dpi`` are the dots of a PNG: at 72 a pixel for each of the options' pixels. ``both_themes``
    lets a page of HTML follow the reader's setting instead of the picture's theme.

    Raises:
        UsageError: an unknown ending, a ``path`` that exists, or a ``dpi`` out of range.

    """
    check_path(path, force=force)
    least, most = DPIS
    if not least <= dpi <= most:
        what, why = f"cannot draw at {dpi:g} dots an inch", f"they are from {least:g} to {most:g}"
        raise UsageError(what, why=why, hint="144 for dense screens, 300 for print")
    kind = path.suffix.lower().removeprefix(".")
    if kind == "html":
        content = html(picture, both_themes=both_themes).encode()
    elif kind == "svg":
        content = svg(picture).encode()
    else:
        content = _encoded(picture.figure, kind, dpi=dpi if kind == "png" else DPI)
    with whole_file(path, force=force) as temporary:
        temporary.write_bytes(content)


def _encoded(figure: Figure, kind: str, *, dpi: float = DPI) -> bytes:
    from roofline.plot.canvas import styled

    target = io.BytesIO()
    with styled():
        figure.savefig(target, format=kind, dpi=dpi, metadata=_METADATA[kind])
    return target.getvalue()


def svg(picture: Picture) -> str:
    """The picture as SVG with text as text, its size in pixels, and a tooltip for each mark."""
    text = _encoded(picture.figure, "svg").decode()
    text = re.sub(r'(<svg [^>]*?width=")([\d.]+)pt(" height=")([\d.]+)pt"', r'\1\2\g<3>\4"', text)

    marks = {mark.id: mark for mark in picture.marks}

    def with_tip(match: re.Match[str]) -> str:
        return f"{match[0]}<title>{escape(words.tip(marks[match[1]]))}</title>"

    text = re.sub(r'<g id="(?:row-)?(kernel-\d+)">', with_tip, text)
    return text.replace("<defs>", f"<defs>\n{_fonts(text)}", 1)


def compact(text: str) -> str:
    """An SVG in fewer letters: no data about it, no line ends, lengths to a hundredth."""
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg ") :], flags=re.DOTALL)
    lengths = re.compile(r' (?:d|x|y|transform)="[^"]*"')
    text = lengths.sub(lambda a: re.sub(r"\d+\.\d{3,}", lambda n: f"{float(n[0]):.2f}", a[0]), text)
    return re.sub(r">\s+<", "><", re.sub(r"\s*\n\s*", " ", text))


def _fonts(text: str) -> str:
    """The letters of an SVG's text as fonts, so that it looks the same where DejaVu is missing."""
    from matplotlib.font_manager import FontProperties, findfont

    letters: dict[bool, set[str]] = {False: set(), True: set()}
    for style, words_ in re.findall(r'<text style="([^"]*)"[^>]*>([^<]*)</text>', text):
        letters["700" in style or "bold" in style] |= set(unescape(words_))
    faces = []
    for bold, used in letters.items():
        weight = "bold" if bold else "normal"
        path = findfont(FontProperties(family=FONT, weight=weight))
        data = b64encode(_subset(path, set(map(ord, used)))).decode()
        faces.append(
            f"@font-face {{ font-family: '{FONT}'; font-weight: {weight}; "
            f"src: url(data:font/woff;base64,{data}) }}"
        )
    return f'<style id="fonts">{" ".join(faces)}</style>\n'


def _subset(path: str, letters: set[int]) -> bytes:
    """A TrueType font with some letters, as WOFF without hints.

    ``fontTools.subset`` takes longer, most of it for what is left out here.
    """
    from fontTools.ttLib import TTFont
    from fontTools.ttLib.tables.DefaultTable import DefaultTable

    with TTFont(path, recalcTimestamp=False) as font:
        for table in set(font.keys()) - _TABLES:
            del font[table]
        order, glyphs, packed = font.getGlyphOrder(), font["glyf"].glyphs, io.BytesIO()
        found = {code: name for code, name in font.getBestCmap().items() if code in letters}
        kept, more = set(), {".notdef", *found.values()}
        while more:  # of "é" the "e" and the accent, too
            kept |= more
            parts = (font["glyf"][name].getComponentNames(font["glyf"]) for name in more)
            more = {part for names in parts for part in names} - kept
        glyf, names = font["glyf"], [name for name in order if name in kept]
        for name in names:
            glyf[name].removeHinting()
        glyf.glyphs = {name: glyphs[name] for name in names}
        font["hmtx"].metrics = {name: font["hmtx"].metrics[name] for name in names}
        font["cmap"].tables = [t for t in font["cmap"].tables if t.isUnicode()]
        for table in font["cmap"].tables:
            table.cmap = {code: name for code, name in found.items() if code in table.cmap}
        font["post"].formatType, font["name"] = 3.0, DefaultTable("name")
        font["name"].data = bytes((0, 0, 0, 0, 0, 6))  # no name
        font.setGlyphOrder(names)
        glyf.glyphOrder = names
        font.flavor = "woff"
        font.save(packed)
    return packed.getvalue()


def html(picture: Picture, *, both_themes: bool) -> str:
    """The picture over its table, without script; ``both_themes`` follows the reader's setting."""
    from roofline.plot.page import still

    text = re.sub(r"<style id=.*?</style>", "", compact(svg(picture)))
    roles = {color: f"var(--{role})" for role, color in THEMES[picture.theme].items()}

    def variable(match: re.Match[str]) -> str:
        return f"{match[1]}: {roles.get(match[2].lower(), match[2])}"

    inline = re.sub(r"\b(fill|stroke): (#[0-9a-fA-F]{6})\b", variable, text)
    table = picture.table or (words.COLUMNS, *map(words.row, picture.marks))
    return still(picture.title, None if both_themes else picture.theme, inline, table)
