"""Values on their way between our own processes: pickle, quick for the frozen value types.

By itself pickle takes a frozen dataclass with slots apart and puts it together field by field in
Python, which takes a quarter as long as reading and measuring. Here a third of that is left.
"""

from __future__ import annotations

import gc
import io
import pickle
from collections.abc import Callable
from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import Any

from roofline.model import Device, Measurement, Missing, Note, Peaks, Stall, UnitUse

_TYPES = (Measurement, Device, UnitUse, Stall, Peaks, Note, Missing)


def pack(value: object) -> bytes:
    """Bytes that ``unpack`` makes an equal value of."""
    stream = io.BytesIO()
    _Packer(stream, pickle.HIGHEST_PROTOCOL).dump(value)
    return stream.getvalue()


def unpack(data: bytes) -> Any:
    """The value in ``data``, which must come from ``pack`` in a process of ours.

    Raises:
        ValueError: the data end too early.

    """
    collecting = gc.isenabled()
    gc.disable()  # nothing of it is garbage, and looking for some takes longer than the rest
    try:
        return pickle.loads(data)  # noqa: S301  # see above
    except (EOFError, pickle.UnpicklingError) as error:
        raise ValueError(f"no whole value: {error}") from error
    finally:
        if collecting:
            gc.enable()


def _taken_apart(value: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    cls: Any = type(value)
    return _together, (cls, *_getter(cls)(value))


def _together(cls: Any, *values: Any) -> Any:
    made: Any = object.__new__(cls)
    for put, value in zip(_setters(cls), values, strict=True):
        put(made, value)
    return made


@cache
def _getter(cls: Any) -> Callable[[Any], tuple[Any, ...]]:
    return attrgetter(*(field.name for field in fields(cls)))


@cache
def _setters(cls: Any) -> tuple[Callable[[Any, Any], None], ...]:
    """The slots' own setters, which a frozen class does not forbid."""
    return tuple(getattr(cls, field.name).__set__ for field in fields(cls))


class _Packer(pickle.Pickler):
    dispatch_table = dict.fromkeys(_TYPES, _taken_apart)  # as pickle has it
