"""The roofline picture: what was analysed in, a matplotlib figure or a file out.

Nothing here knows hardware or counters: it draws the values of ``roofline.model`` as they are.
"""

from __future__ import annotations

import logging
import sys
from importlib import import_module
from importlib.util import find_spec

from roofline.errors import UsageError

if find_spec("matplotlib") is None:
    raise UsageError(
        "cannot draw", why="matplotlib is not installed", hint="pip install matplotlib"
    )
elif "matplotlib.font_manager" not in sys.modules:
    # Without a home that can be written to, matplotlib caches in a temporary folder, and warns of
    # that at length: nothing for somebody who only wants a picture.
    _talk = logging.getLogger("matplotlib")
    _level = _talk.level
    _talk.setLevel(logging.ERROR)
    import_module("matplotlib.font_manager")
    _talk.setLevel(_level)

from roofline.plot.comparison import Pair, draw_comparison, picture_comparison
from roofline.plot.page import draw, picture
from roofline.plot.save import Picture, check_path, save
from roofline.plot.scene import Options

__all__ = [
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
