"""The hardware registry: what GPUs can do by their vendor's numbers, each with its source."""

from __future__ import annotations

from roofline.specs.lookup import Found
from roofline.specs.registry import Registry, load
from roofline.specs.spec import Architecture, Citation, Spec

__all__ = ["Architecture", "Citation", "Found", "Registry", "Spec", "load"]
