"""Saved reports (``.ncu-rep``): find, check, decode and redact them."""

from __future__ import annotations

from roofline.reports.decode import Reader, read
from roofline.reports.find import OnError, OnProgress
from roofline.reports.pool import LaunchRead, Refused, read_all

__all__ = ["LaunchRead", "OnError", "OnProgress", "Reader", "Refused", "read", "read_all"]
