"""The roofline picture: what was analysed in, a matplotlib figure or a file out.

Nothing here knows hardware or counters: it draws the values of ``roofline.model`` as they are.
"""

from __future__ import annotations

from importlib.util import find_spec

from roofline.errors import UsageError

if find_spec("matplotlib") is None:
    raise UsageError(
        "cannot draw",
        why="matplotlib is not installed",
        hint="pip install 'roofline[plot]'",
    )

from roofline.plot.comparison import Pair, draw_comparison, picture_comparison
from roofline.plot.page import draw, picture
from roofline.plot.picture import ENDINGS, Picture, check_path, save
from roofline.plot.scene import Options

__all__ = [
    "ENDINGS",
    "Options",
    "Pair",
    "Picture",
    "check_path",
    "draw",
    "draw_comparison",
    "picture",
    "picture_comparison",
    "save",
]
