"""JSON of the schema ``roofline.comparison/1``: valid JSON always, one pair a line.

The document has the fields of the values of ``roofline.compare.model``, with the sentence of a
note in its place; what differs is told here. ``scripts/make_schemas.py`` derives the types of the
schema from it.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import msgspec

from roofline import __version__
from roofline.compare.change import cause_gone, changes_of
from roofline.compare.model import Comparison, KernelPair, Side, Unpaired
from roofline.model import Note
from roofline.render.comparison import sentence
from roofline.text import verdict as said
from roofline.text.notes import note_text

SCHEMA = "roofline.comparison/1"
DESCRIPTION = (
    "What `roofline compare --format json` writes. SI units, in the names; null is not measured; "
    "ratios are after / before. Within /1 keys are added, never renamed or removed."
)
# A side: fields of its own, of its measurement and of its verdict.
SIDE = (
    *("name", "demangled", "grid", "block", "launches", "shape_count", "sources", "device"),
    *("duration_s", "durations_s", "total_s", "dram_bytes", "operations", "unmeasured"),
    *("utilization", "families", "computed", "bound", "limiter", "limiter_percent", "nearest"),
    *("co_limited", "cause", "cause_text", "causes", "gain", "gain_by"),
    *("floor_s", "next_limiter", "next_floor_s"),
    *("sm_clock_hz", "dram_clock_hz", "threads", "waves", "occupancy_percent"),
    *("registers_per_thread", "shared_memory_bytes"),
)
# A kernel without a counterpart: its share, and these of its side.
UNPAIRED = ("name", "launches", "total_s")


def render(comparison: Comparison) -> str:
    """All of ``comparison`` as JSON text."""
    data = {"schema": SCHEMA, "version": __version__} | plain(comparison)
    lines = [f'"{key}": {_lines(value)}' for key, value in data.items()]
    return "{" + ",\n".join(lines) + "}\n"


def _lines(value: Any) -> str:
    """Lists of objects one a line, the rest as it comes."""
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(msgspec.json.encode(item).decode() for item in value) + "]"
    return msgspec.json.encode(value).decode()


def plain(value: Any) -> Any:
    """A value of the model as the document has it."""
    match value:
        case Note():
            return note_text(value)
        case Side():
            own = {"device": value.measured.device.name, "cause_text": said.cause(value.result)}
            return {n: own[n] if n in own else plain(value.figure(n)) for n in SIDE}
        case Unpaired(side=side, share=share):
            return {n: side.figure(n) for n in UNPAIRED} | {"share": share}
        case list() | tuple():
            return [
                {"code": v.code, "text": note_text(v)} if isinstance(v, Note) else plain(v)
                for v in value
            ]
    if not is_dataclass(value):
        return value
    data = {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Comparison):
        return data | {"gain": value.gain}
    if isinstance(value, KernelPair):
        changes = plain(changes_of(value.before, value.after))
        sides = value.before, value.after
        more = {"per": value.per, "cause": value.cause.code, "sentence": sentence(value)}
        more["doubt"] = plain(value.doubt)
        gone = {
            key: [c.code for c in had.verdict.causes if cause_gone(c, had, other)]
            for key, had, other in (
                ("causes_gone", *sides),
                ("causes_new", *sides[::-1]),
            )
        }
        return data | more | gone | {"changes": changes}
    return data
