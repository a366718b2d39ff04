"""JSON of the schema ``roofline.comparison/1``: valid JSON always, one pair a line.

The document has the fields of the values of ``roofline.compare.model``, with the sentence of a
note in its place; what differs is told here, and the types of the schema are derived from it.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from roofline import __version__
from roofline.compare.change import changes_of
from roofline.compare.model import CauseCode, Change, Comparison, KernelPair, Side, Unpaired
from roofline.model import Measurement, Note, Verdict
from roofline.render.comparison import sentence
from roofline.text import verdict as said
from roofline.text.notes import note_text

SCHEMA = "roofline.comparison/1"
DESCRIPTION = (
    "What `roofline compare --format json` writes. SI units, in the names; null is not measured; "
    "ratios are after / before. Within /1 keys are added, never renamed or removed."
)
# A side: fields of its own, of its measurement and of its verdict.
_SIDE = (
    *("name", "demangled", "grid", "block", "launches", "shape_count", "sources", "device"),
    *("duration_s", "durations_s", "total_s", "dram_bytes", "operations", "unmeasured"),
    *("utilization", "families", "computed", "bound", "limiter", "limiter_percent", "nearest"),
    *("co_limited", "cause", "cause_text", "causes", "gain", "gain_by"),
    *("floor_s", "next_limiter", "next_floor_s"),
    *("sm_clock_hz", "dram_clock_hz", "threads", "waves", "occupancy_percent"),
    *("registers_per_thread", "shared_memory_bytes"),
)
# A kernel without a counterpart: its share, and these of its side.
_UNPAIRED = ("name", "launches", "total_s")


def render(comparison: Comparison) -> str:
    """All of ``comparison`` as JSON text."""
    data = {"schema": SCHEMA, "version": __version__} | _plain(comparison)
    lines = [f'"{key}": {_lines(value)}' for key, value in data.items()]
    return "{" + ",\n".join(lines) + "}\n"


def _lines(value: Any) -> str:
    """Lists of objects one a line, the rest as it comes."""
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(msgspec.json.encode(item).decode() for item in value) + "]"
    return msgspec.json.encode(value).decode()


def _plain(value: Any) -> Any:
    """A value of the model as the document has it."""
    match value:
        case Note():
            return note_text(value)
        case Side():
            own = {"device": value.measured.device.name, "cause_text": said.cause(value.result)}
            return {n: own[n] if n in own else _plain(value.figure(n)) for n in _SIDE}
        case Unpaired(side=side, share=share):
            return {n: side.figure(n) for n in _UNPAIRED} | {"share": share}
        case list() | tuple():
            return [
                {"code": v.code, "text": note_text(v)} if isinstance(v, Note) else _plain(v)
                for v in value
            ]
    if not is_dataclass(value):
        return value
    data = {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, KernelPair):
        changes = _plain(changes_of(value.before, value.after))
        before, after = (
            [c.code for c in side.result.verdict.causes] for side in (value.before, value.after)
        )
        more = {"per": value.per, "cause": value.cause.code, "sentence": sentence(value)}
        gone = {
            "causes_gone": [code for code in before if code not in after],
            "causes_new": [code for code in after if code not in before],
        }
        return data | more | gone | {"changes": changes}
    return data


# --- its types, for the schema ------------------------------------------------------------------


def document_type() -> type[Any]:
    """The type of the document, of which its JSON Schema is made."""
    return _struct(Comparison)


@cache
def _struct(cls: type) -> type[Any]:
    """A struct with the fields that the document has of ``cls``."""
    known = get_type_hints(cls)
    hints = {item.name: known[item.name] for item in fields(cls)}
    if cls is Side:
        hints = {name: _hint(name) for name in _SIDE} | {"device": str | None}
    elif cls is Unpaired:
        hints = {name: _hint(name) for name in _UNPAIRED} | get_type_hints(cls)
        del hints["side"]
    elif cls is KernelPair:
        hints |= {
            "per": Literal["launch", "total"],
            "cause": CauseCode,
            "causes_gone": tuple[str, ...],
            "causes_new": tuple[str, ...],
            "changes": tuple[Change, ...],
            "sentence": str,
        }
    elif cls is Comparison:
        hints = {"schema": Literal["roofline.comparison/1"], "version": str} | hints
    elif cls is Note:
        hints = {"code": str, "text": str}
    typed = [(name, _in_document(hint)) for name, hint in hints.items()]
    return msgspec.defstruct(cls.__name__, typed, namespace={"__doc__": cls.__doc__})


def _hint(name: str) -> Any:
    """The type of a figure of a side."""
    if name == "cause_text":
        return str | None
    of = next(c for c in (Side, Measurement, Verdict) if hasattr(c, name))
    hints = get_type_hints(of)
    return hints[name] if name in hints else get_type_hints(getattr(of, name).fget)["return"]


def _in_document(hint: Any) -> Any:
    """The type that the document has in place of ``hint``."""
    if hint is Note:
        return str
    if is_dataclass(hint) and isinstance(hint, type):
        return _struct(hint)
    arguments = get_args(hint)
    if get_origin(hint) is tuple and arguments[0] is Note:
        return tuple[_struct(Note), ...]  # type: ignore[misc]
    if get_origin(hint) in (None, Literal):
        return hint
    inner = tuple(map(_in_document, arguments))
    return Union[inner] if isinstance(hint, UnionType) else get_origin(hint)[inner]  # noqa: UP007
