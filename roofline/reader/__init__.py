"""Saved reports to launches and measurements: the only package that imports ncu_report."""

from __future__ import annotations

from roofline.reader.batch import Measured, Refused
from roofline.reader.report import OnProgress, read
from roofline.reader.spread import survey

__all__ = ["Measured", "OnProgress", "Refused", "read", "survey"]
