"""Parts that several JSON documents have; their types are the schema."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from roofline.model import Note
from roofline.text.notes import noted

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
