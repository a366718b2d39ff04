"""Pictures: what was analysed or compared in, a matplotlib figure or a file out.

Nothing here knows hardware or counters: it draws the values of ``roofline.model`` as they are.
What a picture shows, and where, is computed without matplotlib, which is imported to draw.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roofline.compare.model import Comparison
from roofline.model import Analysis
from roofline.plot.save import Picture, check_path, need_matplotlib, save
from roofline.plot.scene import Options
from roofline.timeline.model import Selection
from roofline.view import Chosen

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Options", "Picture", "check_path", "draw", "need_matplotlib", "picture", "save"]


def picture(
    shown: Analysis | Chosen | Comparison | Selection, options: Options | None = None
) -> Picture:
    """Draw what was analysed, what changed between two captures, or a timeline's step in lanes.

    Raises:
        UsageError: matplotlib is not installed.

    """
    need_matplotlib()
    from roofline.plot import figure

    if isinstance(shown, Selection):
        from roofline.plot import lanes

        return lanes.picture(shown, options or Options())
    if isinstance(shown, Comparison):
        from roofline.plot import comparison

        return comparison.picture(shown, options or Options())
    return figure.picture(shown, options or Options())


def draw(shown: Analysis | Chosen | Comparison, options: Options | None = None) -> Figure:
    """The same as a matplotlib figure of 72 dots an inch: a point is a pixel."""
    return picture(shown, options).figure
