"""TOML tables, entry by entry: every number with a source, every mistake with its place."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from roofline.errors import InputError
from roofline.specs.spec import Source

# Entries that count something.
WHOLE = {"sm_count", "memory_bus_bits", "mig_memory_slices"}
_WORDS = {
    str: "a text",
    list: "a list",
    dict: "a table",
    date: "a date",
    bool: "true or false",
}


def tables(path: Path, text: str) -> dict[str, Any]:
    """The tables of one file, or which line of it is wrong."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        hint = f"mend that line; roofline specs check --specs {path.parent} looks again"
        raise InputError(f"{path} is not valid TOML", why=str(error), hint=hint) from error


class Table:
    """One table of a file: hands out its entries checked, and refuses what nobody asked for."""

    def __init__(self, path: Path, name: str, content: Any, sources: Mapping[str, Source]) -> None:
        self.path, self.name, self.sources = path, name, sources
        if not isinstance(content, dict):
            raise self.wrong("", "it is not a table", hint="begin a table with [name]")
        self.left = dict(content)
        self.origins: dict[str, str] = {}

    def wrong(self, key: str, why: str, *, hint: str | None = None) -> InputError:
        """The error for ``key`` of this table."""
        place = f"{self.path.name}: [{self.name}] {key}".rstrip()
        return InputError(
            place, why=why, hint=hint or "see 'Adding a GPU' in docs/peaks.md, then: "
            f"roofline specs check --specs {self.path.parent}"
        )  # fmt: skip

    def take(self, key: str, kind: type, default: Any = None) -> Any:
        """The plain entry ``key``, of one kind."""
        value = self.left.pop(key, default)
        if value is not None and not isinstance(value, kind):
            raise self.wrong(key, f"{value!r} is not {_WORDS[kind]}")
        return value

    def need(self, key: str, kind: type) -> Any:
        """The plain entry ``key``, which must be there."""
        value = self.take(key, kind)
        if value is None:
            raise self.wrong(key, "it is missing")
        return value

    def words(self, key: str) -> tuple[str, ...]:
        """A list of strings, empty where absent."""
        values = self.take(key, list, [])
        if not all(isinstance(v, str) and v for v in values):
            raise self.wrong(key, "it must be a list of texts")
        return tuple(values)

    def reasons(self, key: str) -> dict[str, str]:
        """A sub-table of sentences by operation key."""
        entries: dict[str, Any] = self.take(key, dict, {})
        for name, reason in entries.items():
            if not isinstance(reason, str) or not reason:
                raise self.wrong(key, f"{name} needs a reason in words")
        return entries

    def sourced(self, key: str, place: str, check: Callable[[Any], bool], what: str) -> Any:
        """``[value, "source"]``; the source is noted under ``place``."""
        entry = self.left.pop(key)
        if not (isinstance(entry, list) and len(entry) == 2 and isinstance(entry[1], str)):
            raise self.wrong(key, f'{entry!r} is not [value, "source"]')
        value, source = entry
        if not check(value):
            raise self.wrong(key, f"{value!r} is not {what}")
        if source not in self.sources:
            raise self.wrong(key, f"there is no source {source!r} in sources.toml")
        self.origins[place] = source
        return value

    def numbers(self, table: Mapping[str, tuple[str, float]]) -> dict[str, float]:
        """Every number of ``table`` that is there, in SI, by field."""
        found = {}
        for key, (field, unit) in table.items():
            if key in self.left:
                what = "a whole number above 0" if key in WHOLE else "a number above 0"
                value = self.sourced(key, field, _whole if key in WHOLE else _positive, what)
                found[field] = value if key in WHOLE else value * unit
        return found

    def rates(self, key: str, allowed: tuple[str, ...], unit: float = 1) -> dict[str, float]:
        """The sub-table ``key`` of sourced numbers by operation key."""
        inner = Table(self.path, f"{self.name}.{key}", self.left.pop(key, {}), self.sources)
        found = {}
        for name in list(inner.left):
            if name not in allowed:
                raise inner.wrong(name, f"it is not one of {', '.join(allowed)}")
            found[name] = unit * inner.sourced(name, name, _positive, "a number above 0")
        self.origins |= {f"{key}.{name}": source for name, source in inner.origins.items()}
        return found

    def finish(self) -> None:
        """Refuse whatever is left: a mistyped key must not be ignored."""
        for key in self.left:
            raise self.wrong(key, "there is no such entry")


def _positive(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf


def _whole(value: Any) -> bool:
    return isinstance(value, int) and _positive(value)
