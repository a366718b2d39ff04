"""Parts that several JSON documents have; their types are the schema."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from roofline.model import Dim3, Note
from roofline.text.notes import noted
from roofline.timeline.model import Apart, Bounds

_T = TypeVar("_T")
Number = float | None
Text = str | None


def about(what: str) -> Meta:
    """What the schema says about a key."""
    return Meta(description=what)


def filled(kind: type[_T], value: object, **more: Any) -> _T:
    """A document with the attributes of ``value``, and of ``more`` what those do not have."""
    names = [f.name for f in fields(kind)]  # type: ignore[arg-type]
    found = {name: more[name] if name in more else getattr(value, name) for name in names}
    return msgspec.convert(found, kind, from_attributes=True)


def text(value: object, *, indent: int = 0) -> str:
    """A document, by default on one line; NaN and infinity are null: not measured."""
    return msgspec.json.format(msgspec.json.encode(value), indent=indent).decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteDocument:
    """Something that a reader must know."""

    code: Annotated[str, about("stable")]
    text: Annotated[str, about("for people; may change")]


def note_documents(notes: tuple[Note, ...]) -> list[NoteDocument]:
    """Notes with their sentences; one that several make is given once."""
    return [NoteDocument(code=code, text=text) for text, code in noted(notes).items()]


@dataclass(frozen=True, kw_only=True)
class ShareDocument:
    """One kernel of a timeline at one grid and block, or one kind of copy, and its bounds."""

    name: str
    base_name: str
    mangled: Text
    grid: Dim3 | None
    block: Dim3 | None
    instances: int
    instances_per_step: Number
    total_s: Annotated[float, about("in the steps that count")]
    kernel_share: Annotated[Number, about("of the sum of all kernels' times")]
    exposed_share: Annotated[Number, about("of the wall time: it ran and nothing else did")]
    wall_share: Annotated[Number, about("of the wall time: it ran")]
    speedup_at_most: Annotated[Bounds, about("by exposed_share, wall_share; null is no limit")]
    apart: Annotated[Apart | None, about("why ncu cannot help with it")]
    chosen: bool


@dataclass(frozen=True, kw_only=True)
class JoinedShareDocument(ShareDocument):
    """A profiled kernel, and what reaching its nearest ceiling buys the step."""

    launches: Annotated[tuple[int, ...], about("positions in this document")]
    saved_at_most: Annotated[Bounds, about("of the step's time: by exposed_share, wall_share")]
    step_speedup_at_most: Annotated[Bounds, about("how many times faster the step gets")]


@dataclass(frozen=True, kw_only=True)
class JoinedDocument:
    """Profiled kernels by what the step gains, and what could not be joined to the timeline."""

    file: str
    device: int
    kernels: list[JoinedShareDocument]
    unprofiled: list[ShareDocument]
    unmatched: Annotated[list[tuple[int, ...]], about("launches that it does not have")]
    ambiguous: Annotated[list[tuple[int, ...]], about("launches that could be several kernels")]
