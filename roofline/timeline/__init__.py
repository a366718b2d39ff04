"""From a timeline to the kernels worth profiling: read, cut into steps, measure, choose."""

from __future__ import annotations

from roofline.timeline.load import load_timeline
from roofline.timeline.selection import select

__all__ = ["load_timeline", "select"]
