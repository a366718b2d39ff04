"""Saved reports (``.ncu-rep``): find, check, decode and redact them."""

from __future__ import annotations

from roofline.reports.decode import Reader, read
from roofline.reports.find import OnError, OnProgress
from roofline.reports.pool import Measured, Refused, measure_all

__all__ = ["Measured", "OnError", "OnProgress", "Reader", "Refused", "measure_all", "read"]
