"""Pictures: what was analysed or compared in, a matplotlib figure, a file or a page out.

Nothing here knows hardware or counters: it draws the values of ``roofline.model`` as they are.
What a picture shows, and where, is computed without matplotlib, which is imported to draw.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from roofline.files import whole_file
from roofline.model import Analysis, Details
from roofline.plot.page import page
from roofline.plot.save import Picture, check_path, need_matplotlib, save
from roofline.plot.scene import Options
from roofline.plot.style import DPI
from roofline.view import Chosen

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from roofline.compare.model import Comparison
    from roofline.timeline.model import Selection

__all__ = ["Options", "Picture", "check_path", "draw", "need_matplotlib", "page", "picture"]
__all__ += ["save", "write"]


def picture(
    shown: Analysis | Chosen | Comparison | Selection, options: Options | None = None
) -> Picture:
    """Draw what was analysed, what changed between two captures, or a timeline's step in lanes.

    Raises:
        UsageError: matplotlib is not installed.

    """
    need_matplotlib()
    wanted = options or Options()
    if isinstance(shown, (Analysis, Chosen)):
        from roofline.plot import figure

        return figure.picture(shown, wanted)
    from roofline.compare.model import Comparison  # a picture of reports needs no such values
    from roofline.plot import comparison, lanes

    if isinstance(shown, Comparison):
        return comparison.picture(shown, wanted)
    return lanes.picture(shown, wanted)


def write(
    shown: Analysis | Chosen | Comparison | Selection,
    path: Path,
    options: Options | None = None,
    *,
    dpi: float = DPI,
    force: bool = False,
    both_themes: bool = True,
    details: Mapping[int, Details] | None = None,
) -> None:
    """Write a picture, or for ``.html`` the page, whole or not at all.

    ``details`` are for a page: instructions of kernels by their places among the groups. The rest
    is as for ``picture`` and ``save``, whose errors it raises, too; a timeline's page is its
    picture over a table.
    """
    explored = path.suffix.lower() == ".html"
    if explored and not isinstance(shown, (Analysis, Chosen)):
        from roofline.compare.model import Comparison

        explored = isinstance(shown, Comparison)
    if not explored:
        save(picture(shown, options), path, dpi=dpi, force=force, both_themes=both_themes)
        return
    check_path(path, force=force)
    theme = None if both_themes else (options or Options()).theme
    text = page(shown, options, details=details, theme=theme)  # type: ignore[arg-type]
    with whole_file(path, force=force) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")


def draw(shown: Analysis | Chosen | Comparison, options: Options | None = None) -> Figure:
    """The same as a matplotlib figure of 72 dots an inch: a point is a pixel."""
    return picture(shown, options).figure
