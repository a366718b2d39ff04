"""What stdout is: whether it wants colours, and how wide it is."""

from __future__ import annotations

import os
import shutil
import sys


def wants_color() -> bool:
    """Colours only for a terminal that wants them; an empty NO_COLOR says nothing."""
    unwanted = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return sys.stdout.isatty() and not unwanted


def columns(otherwise: int) -> int:
    """The columns of the terminal; ``otherwise`` where there is none to ask."""
    return shutil.get_terminal_size((otherwise, 40)).columns
