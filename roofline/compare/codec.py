"""Frozen values to plain JSON data and back, exactly; fields that a later version adds are fine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

Value = TypeVar("Value")


def encode(value: object) -> Any:
    """``value`` as dicts, lists, texts and numbers; a field at its default is left out."""
    if is_dataclass(value) and not isinstance(value, type):
        return {
            f.name: encode(inner)
            for f in fields(value)
            if (inner := getattr(value, f.name)) != _default(f)
        }
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {key: encode(inner) for key, inner in value.items()}
    if isinstance(value, (tuple, list)):
        return [encode(inner) for inner in value]
    return value


def decode(kind: type[Value], data: object) -> Value:
    """The value of dataclass ``kind`` that ``encode`` gave ``data``; unknown keys are ignored.

    Raises:
        TypeError, ValueError, KeyError: ``data`` is not of that kind.

    """
    return _decode(kind, data)  # type: ignore[no-any-return]


def _default(field: Any) -> object:
    if field.default is not MISSING:
        return field.default
    return field.default_factory() if field.default_factory is not MISSING else MISSING


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _decode(kind: Any, data: Any) -> Any:
    if is_dataclass(kind) and isinstance(kind, type):
        if not isinstance(data, dict):
            raise TypeError(f"{kind.__name__} is not an object")
        hints = _hints(kind)
        known = {f.name for f in fields(kind)}
        return kind(**{k: _decode(hints[k], v) for k, v in data.items() if k in known})
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return _decode_union(arguments, data)
    if origin is tuple:
        return _decode_tuple(arguments, data)
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(data, dict):
            raise TypeError("not an object")
        return {key: _decode(arguments[1], inner) for key, inner in data.items()}
    return _decode_plain(kind, data)


def _decode_union(arguments: tuple[Any, ...], data: Any) -> Any:
    if data is None and NoneType in arguments:
        return None
    return _decode(next(a for a in arguments if a is not NoneType), data)


def _decode_tuple(arguments: tuple[Any, ...], data: Any) -> tuple[Any, ...]:
    if not isinstance(data, list):
        raise TypeError("not a list")
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return tuple(_decode(arguments[0], inner) for inner in data)
    return tuple(_decode(a, inner) for a, inner in zip(arguments, data, strict=True))


def _decode_plain(kind: Any, data: Any) -> Any:
    if kind is Any:
        return data
    if kind is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(data)
    if not isinstance(data, kind):
        raise TypeError(f"{data!r:.40} is not {kind.__name__}")
    return data
