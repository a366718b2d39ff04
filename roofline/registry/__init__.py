"""The hardware registry: what GPUs can do by their vendor's numbers, each with its source."""

from __future__ import annotations

from roofline.registry.lookup import Found
from roofline.registry.spec import Architecture, Source, Spec
from roofline.registry.store import Registry, load

__all__ = ["Architecture", "Found", "Registry", "Source", "Spec", "load"]
