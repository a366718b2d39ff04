"""JSON of the schema ``roofline.comparison/1``: valid JSON always, one pair a line."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from roofline import __version__
from roofline.compare.model import Comparison

SCHEMA = "roofline.comparison/1"
# The analysis that a side was taken from, and a kernel on one side alone: roofline.analysis/1 has
# them.
_INTERNAL = {"result", "side"}


def render(comparison: Comparison) -> str:
    """All of ``comparison`` as JSON text."""
    data = {"schema": SCHEMA, "version": __version__} | _plain(comparison)
    lines = [f"{_dump(key)}: {_value(value)}" for key, value in data.items()]
    return "{" + ",\n".join(lines) + "}\n"


def _value(value: Any) -> str:
    """Lists of objects one a line, the rest as it comes."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(_dump(item) for item in value) + "]"
    return _dump(value)


def _dump(value: Any) -> str:
    return json.dumps(value, allow_nan=False, ensure_ascii=False)


def _plain(value: Any) -> Any:
    """Values as JSON data; NaN and infinity were not measured."""
    if is_dataclass(value) and not isinstance(value, type):
        return {
            f.name: _plain(getattr(value, f.name)) for f in fields(value) if f.name not in _INTERNAL
        }
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(inner) for inner in value]
    return value
