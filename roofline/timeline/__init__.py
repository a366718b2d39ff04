"""From a timeline to the kernels worth profiling: read, cut into steps, measure, choose."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from roofline.timeline.load import load_timeline
    from roofline.timeline.selection import select, select_ranks

__all__ = ["load_timeline", "select", "select_ranks"]


def __getattr__(name: str) -> Any:
    """Import readers, and numpy with them, when they are used: the values need neither."""
    homes = {"load_timeline": "load", "select": "selection", "select_ranks": "selection"}
    if name not in homes:
        raise AttributeError(name)
    return getattr(import_module(f"{__name__}.{homes[name]}"), name)
