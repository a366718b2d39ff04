"""Roofline analysis of CUDA kernels from Nsight Compute reports."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from roofline.display import Displayed

__version__ = "0.1.0"

if TYPE_CHECKING:
    from collections.abc import Callable

    from roofline.analysis import analyze, details_of
    from roofline.api import compare, plot, select
    from roofline.errors import (
        ArgumentError,
        CaptureError,
        InputError,
        NoKernelError,
        ProgramError,
        RooflineError,
        UsageError,
    )
    from roofline.figures import Point
    from roofline.gpu_time import bench
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
    name: f"roofline.{home}"
    for home, names in {
        "model": "Analysis Bound Group Launch Measurement PeakSet Result Rule Verdict",
        "errors": "ArgumentError CaptureError InputError NoKernelError "
        "ProgramError RooflineError UsageError",
        "figures": "Point",
        "analysis": "analyze details_of",
        "gpu_time": "bench",
        "api": "select",
        "trial": "profile",
        "reports": "read",
        "regions": "region",
        "render.flat": "to_frame",
    }.items()
    for name in names.split()
}

# Parts of the package that are functions of the same name, too.
_CALLABLE = ("compare", "plot")

__all__ = [
    "Analysis",
    "ArgumentError",
    "Bound",
    "CaptureError",
    "Group",
    "InputError",
    "Launch",
    "Measurement",
    "NoKernelError",
    "PeakSet",
    "Point",
    "ProgramError",
    "Result",
    "RooflineError",
    "Rule",
    "UsageError",
    "Verdict",
    "__version__",
    "analyze",
    "bench",
    "compare",
    "details_of",
    "plot",
    "profile",
    "read",
    "region",
    "select",
    "to_frame",
]


Displayed.presenter = "roofline.notebook"


class _Function(ModuleType):
    """A part of the package that is a function of the same name, too: plot, compare."""

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]  # a module has its own text
        """The function's with its arguments, for help."""
        from inspect import signature

        first, _, rest = (self.__wrapped__.__doc__ or "").partition("\n")
        return f"{first}\n\n    {self.__name__}{signature(self.__wrapped__)}\n{rest}"

    @property
    def __wrapped__(self) -> Callable[..., object]:  # whose signature help shows
        function: Callable[..., object] = getattr(import_module("roofline.api"), self.__name__[9:])
        return function

    def __call__(self, *args: object, **options: object) -> object:
        """Call the function of this name in roofline.api."""
        return self.__wrapped__(*args, **options)


class _Package(ModuleType):
    def __setattr__(self, name: str, value: object) -> None:
        """Make a part callable when its import binds it here."""
        if name in _CALLABLE and isinstance(value, ModuleType):
            value.__class__ = _Function
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> object:
    if name in _CALLABLE:
        return import_module(f"{__name__}.{name}")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
