"""The hardware registry: what GPUs can do by their vendor's numbers, each with its source."""

from __future__ import annotations

from roofline.specs.lookup import Found
from roofline.specs.spec import Architecture, Source, Spec
from roofline.specs.store import Registry, load

__all__ = ["Architecture", "Found", "Registry", "Source", "Spec", "load"]
