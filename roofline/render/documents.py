"""Parts that several JSON documents have; their types are the schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, make_dataclass
from functools import cache, reduce
from operator import or_
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import msgspec
from msgspec import UNSET, Meta, UnsetType

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


class Documents:
    """The types of documents whose keys, and what a schema says of them, are in a TOML table.

    A document has the keys of what it ``extends``, its own, and those of its ``base``.
    """

    def __init__(self, table: Path, **words: str) -> None:
        self.table: Any = msgspec.toml.decode(table.read_bytes())
        self.words = words  # what stands in braces in the table
        self.made: dict[Any, Any] = {Note: NoteDocument}  # a value of the model -> its document

    def keys(self, called: str) -> Mapping[str, str]:
        """The keys of a document with what is said of each."""
        row = self.table[called]
        first, last = (self.keys(row[n]) if n in row else {} for n in ("extends", "base"))
        return {**first, **row["keys"], **last}

    def type(self, called: str, /, *of: type, **types: Any) -> Any:
        """The type of a document about values ``of`` the model; ``types`` are not as there."""
        made = []
        for key, said in self.keys(called).items():
            hint = types.get(key) or self._of(next(_hint(c, key) for c in of if hasattr(c, key)))
            hint = Annotated[hint, about(said.format(**self.words))] if said else hint
            optional = UnsetType in get_args(types.get(key))
            made.append((key, hint, field(default=UNSET)) if optional else (key, hint))
        own = {"__doc__": self.table[called]["about"], "__module__": __name__}
        document = make_dataclass(called, made, frozen=True, kw_only=True, namespace=own)
        for model in of[:1]:
            self.made.setdefault(model, document)
        return document

    def _of(self, hint: Any) -> Any:
        """The same of documents in place of values."""
        if hint in self.made:
            return self.made[hint]
        if (origin := get_origin(hint)) is None or not (inner := get_args(hint)):
            return hint
        made = tuple(self._of(one) for one in inner)
        same = made == inner
        return hint if same else reduce(or_, made) if origin is UnionType else origin[made]


_hints = cache(get_type_hints)


def _hint(of: type, key: str) -> Any:
    """The type of a field or a property."""
    known = _hints(of)
    return known[key] if key in known else get_type_hints(getattr(of, key).fget)["return"]
