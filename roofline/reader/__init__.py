"""Saved reports to launches and measurements: the only package that imports ncu_report."""

from __future__ import annotations

from roofline.reader.batch import Measured
from roofline.reader.report import OnProgress, read
from roofline.reader.spread import survey

__all__ = ["Measured", "OnProgress", "read", "survey"]
