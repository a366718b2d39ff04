"""A picture to a file: PNG, SVG, PDF or a page of HTML by the ending."""

from __future__ import annotations

from pathlib import Path

from roofline.errors import UsageError
from roofline.files import refuse_overwrite, whole_file
from roofline.plot.html import page
from roofline.plot.picture import Picture, encoded, svg
from roofline.plot.style import DPI

ENDINGS = (".png", ".svg", ".pdf", ".html")
MOST_SCALE = 4.0


def check_path(path: Path, *, force: bool, option: str = "") -> None:
    """Raise ``UsageError`` where a picture cannot be written to ``path``; before long work.

    ``option`` is what named the path ("-o", "--plot"), for the hint.
    """
    if path.suffix.lower() not in ENDINGS:
        nameless = path.name in {"", "-", ".."}  # "-" is no stream: a picture is a file
        better = Path("roofline.png") if nameless else path.with_suffix(".png")
        raise UsageError(
            "cannot draw to standard output" if path == Path("-") else f"cannot draw {path}",
            why=f"a picture is a file that ends in {', '.join(ENDINGS)}",
            hint=f"{option} {better}".lstrip(),
        )
    refuse_overwrite(path, force=force)


def _check_scale(scale: float) -> None:
    if not 0 < scale <= MOST_SCALE:
        raise UsageError(
            f"cannot draw at {scale:g} times the pixels",
            why=f"the scale is a number over 0, at most {MOST_SCALE:g}",
            hint="2 for dense screens",
        )


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
        UsageError: the ending is not known, ``path`` exists (without ``force``), or ``scale`` is
            not over 0 and at most ``MOST_SCALE``.

    """
    check_path(path, force=force)
    _check_scale(scale)
    kind = path.suffix.lower().removeprefix(".")
    if kind == "html":
        content = page(picture, both_themes=both_themes).encode()
    elif kind == "svg":
        content = svg(picture).encode()
    else:
        content = encoded(picture.figure, kind, dpi=DPI * (scale if kind == "png" else 1.0))
    with whole_file(path, force=force) as temporary:
        temporary.write_bytes(content)
