"""Roofline analysis of CUDA kernels from Nsight Compute reports."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from roofline.display import Displayed

__version__ = "0.1.0"

if TYPE_CHECKING:
    from roofline.analysis import analyze, details_of
    from roofline.errors import RooflineError
    from roofline.figures import Point
    from roofline.model import (
        Analysis,
        Bound,
        Group,
        Launch,
        Measurement,
        PeakSet,
        Result,
        Rule,
        Verdict,
    )
    from roofline.regions import region
    from roofline.render.flat import to_frame
    from roofline.reports import read
    from roofline.trial import profile

# Name -> module, so that importing the package costs nothing until a name is used.
_HOMES = {
    "Analysis": "roofline.model",
    "Bound": "roofline.model",
    "Group": "roofline.model",
    "Launch": "roofline.model",
    "Measurement": "roofline.model",
    "PeakSet": "roofline.model",
    "Point": "roofline.figures",
    "Result": "roofline.model",
    "Rule": "roofline.model",
    "RooflineError": "roofline.errors",
    "Verdict": "roofline.model",
    "analyze": "roofline.analysis",
    "details_of": "roofline.analysis",
    "profile": "roofline.trial",
    "read": "roofline.reports",
    "region": "roofline.regions",
    "to_frame": "roofline.render.flat",
}

__all__ = [
    "Analysis",
    "Bound",
    "Group",
    "Launch",
    "Measurement",
    "PeakSet",
    "Point",
    "Result",
    "RooflineError",
    "Rule",
    "Verdict",
    "__version__",
    "analyze",
    "details_of",
    "profile",
    "read",
    "region",
    "to_frame",
]


Displayed.presenter = "roofline.notebook"


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
