"""The knowledge base: for each unit, cause and stall what proves it, refutes it and helps.

``advice.toml`` holds it as data. Further entries come from a folder of the user's own: that of
``ROOFLINE_ADVICE``, else ``advice`` beside the user's own hardware specs.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from math import inf
from pathlib import Path
from string import Formatter
from typing import Any, Literal

from roofline.errors import InputError, RooflineWarning, why_unparsed
from roofline.files import read_text, settings_folder
from roofline.model import Cause
from roofline.playbook.condition import Evidence, amount, holds, names
from roofline.units import UNITS

FOLDER = "ROOFLINE_ADVICE"
TABLES = ("unit", "cause", "stall", "caller")
_SHARED = ("hint", "refute", "meaning", "try_first", "avoid")  # by the entries of a table
# What a cause promises: "first" holds all other advice back; "waste" is work that can go, of the
# units in ``removes``; "occupancy" more warps, "idle" a part of the GPU without work, both up to
# ``gain``; "unbounded" is work that can go of which no counter says how much; "wait" and "plain"
# promise nothing, and a ``gain`` only ranks them: the one keeps units from more, the other is work
# inside of a unit.
Promise = Literal["first", "waste", "occupancy", "idle", "unbounded", "wait", "plain"]
# How a claim may write a figure, beside Python's own ",.1f" and "of block" (1 block, 2 blocks).
FORMATS = (
    *("exact", "count", "share", "percent", "waves"),
    *("duration", "size", "bandwidth", "plain", "ratio"),
)
# Of changes to the code: results stay, sums are in another order, numbers get coarser.
Risk = Literal["exact", "reassociates", "changes numerics"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """A line of advice; ``when`` is the evidence without which it is not given.

    ``loads`` are the units onto which it moves work: not given where one of them is full.
    ``risk`` is that of the entry where the line has none.
    """

    say: str
    when: str = ""
    loads: tuple[str, ...] = ()
    risk: Risk | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """What is known of one limiter, cause or stall; ``hint`` ends the hint line.

    A cause fires where ``when`` holds and ``unless`` does not. Of its sentences in ``claim`` the
    first with all of its figures known is said. ``gain`` is how many times faster it gets at
    most; ``removes`` is, by unit, the share of work (0 to 1) that can go, and ``relieves`` names
    the units where no share is known; ``count`` is the figure that must fall then, and
    ``counted`` what that is called.
    """

    hint: str = ""
    refute: str = ""
    try_first: tuple[Advice, ...] = ()
    avoid: tuple[Advice, ...] = ()
    meaning: str = ""
    promise: Promise = "plain"
    when: str = ""
    unless: str = ""
    gain: str = ""
    removes: Mapping[str, str] = field(default_factory=dict)
    relieves: tuple[str, ...] = ()
    count: str = ""
    counted: str = ""
    claim: tuple[Advice, ...] = ()
    risk: Risk | None = None

    @property
    def units(self) -> tuple[str, ...]:
        """The units that a fix relieves."""
        return self.relieves or tuple(self.removes)

    def fires(self, evidence: Evidence) -> bool:
        """Whether the evidence proves this cause."""
        return holds(self.when, evidence) and not (self.unless and holds(self.unless, evidence))

    def decided(self, evidence: Evidence) -> bool:
        """Whether the evidence tells that this is a cause, or that it is none."""
        near = {f"near_{unit}": 0.0 for unit in UNITS if unit in evidence}
        excluded = bool(self.unless) and holds(self.unless, evidence)
        return excluded or amount(self.when, {**near, **evidence}) is not None

    def said(self, evidence: Mapping[str, Any]) -> str:
        """The first claim that is true and whose figures are all known, these still in braces."""
        claims = told(self.claim, evidence)
        return next((text for text in claims if figures(text) <= evidence.keys()), "")

    def steps(self, evidence: Mapping[str, Any]) -> Iterator[str]:
        """What to try, with what that may change beside it, but for what leaves results alone."""
        for line in self.try_first:
            risk = line.risk or self.risk or "exact"
            for say in told((line,), evidence):
                yield say if risk == "exact" else f"{say} ({risk})"

    def expressions(self) -> Iterator[str]:
        """All conditions and amounts."""
        lines = (line.when for line in (*self.try_first, *self.avoid, *self.claim))
        for text in (self.when, self.unless, self.gain, *self.removes.values(), *lines):
            if text:
                yield text


def figures(claim: str) -> frozenset[str]:
    """The evidence that a claim tells."""
    return frozenset(name for _, name, _, _ in Formatter().parse(claim) if name is not None)


def told(lines: tuple[Advice, ...], evidence: Mapping[str, Any]) -> tuple[str, ...]:
    """The lines that the evidence does not speak against."""
    full = evidence.get("threshold", inf)
    return tuple(
        line.say
        for line in lines
        if (not line.when or holds(line.when, evidence))
        and not any(evidence.get(unit, 0.0) >= full for unit in line.loads)
    )


class Plays(dict[str, Play]):
    """Entries by table and key: "unit.dram", "cause.tail_effect", "stall.wait"."""

    @cached_property
    def causes(self) -> tuple[tuple[str, Play], ...]:
        """The causes that a condition proves, by code."""
        by_table = ((key.partition("."), play) for key, play in self.items() if play.when)
        return tuple((key, play) for (table, _, key), play in by_table if table == "cause")

    def of(self, key: str | None) -> Play:
        """The entry of a verdict's ``advice``; that on others where there is none on the key."""
        if key is None:
            return Play()
        return self.get(key) or self.get(f"{key.partition('.')[0]}.other") or Play()


_held: ContextVar[Plays | None] = ContextVar("held", default=None)


def plays() -> Plays:
    """All entries.

    Raises:
        InputError: a file of the user's folder is no entry, or ``ROOFLINE_ADVICE`` names no folder
            that can be read. One that nobody has named is left out, with a ``RooflineWarning``.

    """
    if (held := _held.get()) is not None:
        return held
    own = os.environ.get(FOLDER)
    return _plays(Path(own), named=True) if own else _plays(settings_folder("advice"), named=False)


@contextmanager
def held() -> Iterator[None]:
    """Use the entries of now in the block: to ask where they are takes longer than to use them."""
    token = _held.set(plays())
    try:
        yield
    finally:
        _held.reset(token)


@cache
def builtin() -> Mapping[str, Play]:
    """The entries of ``advice.toml`` alone."""
    return _entries(Path(__file__).with_name("advice.toml"), {})


@cache
def _plays(folder: Path, *, named: bool) -> Plays:
    known = Plays(builtin())
    try:
        files = sorted(path for path in folder.iterdir() if path.suffix == ".toml")
    except OSError as error:
        if named:
            raise _refused(folder, str(error.strerror)) from error
        if not isinstance(error, FileNotFoundError):
            why = f"your own advice in {folder} is left out: {error.strerror}"
            warnings.warn(why, RooflineWarning, stacklevel=2)
        return known
    for path in files:
        known |= _entries(path, known)
    return known


def entry_of(cause: Cause) -> str:
    """The key of a cause's entry: "cause.bank_conflicts", "stall.wait"."""
    kind, _, reason = cause.code.partition("_")
    return f"stall.{reason}" if kind == "stall" else f"cause.{cause.code}"


def play(key: str | None) -> Play:
    """The entry of a verdict's ``advice``, as ``Plays.of`` gives it."""
    return plays().of(key)


def _read(path: Path) -> dict[str, Any]:
    import msgspec

    try:
        return dict(msgspec.toml.decode(read_text(path)))
    except (ValueError, RecursionError) as error:
        raise _refused(path, why_unparsed(error)) from error


def _tables(path: Path) -> dict[str, Any]:
    tables = _read(path)
    for name, table in tables.items():
        if name not in (*TABLES, "common"):
            raise _refused(path, f"[{name}] is none of {', '.join(TABLES)}")
        if not isinstance(table, dict):
            raise _refused(path, f"{name} is no table")
    return tables


def _entries(path: Path, known: Mapping[str, Play]) -> dict[str, Play]:
    """The entries of a file; what an entry leaves out is that of "other", or of the one it adds to.

    Lines of the user's come before those that are known.
    """
    import msgspec

    found, tables = {}, _tables(path)
    common = tables.pop("common", {})
    for table, entries in tables.items():
        for key, entry in entries.items():
            place, name = f"[{table}.{key}]", f"{table}.{key}"
            if not isinstance(entry, dict):
                raise _refused(path, f"{place} is no table")
            unknown = sorted(set(entry) - {item.name for item in fields(Play)})
            if unknown:
                raise _refused(path, f"{place} has no {unknown[0]!r}")
            others = entries.get("other", {}) if name not in known else {}
            said = {item: others[item] for item in _SHARED if item in others} | entry
            if isinstance(said.get("claim"), str):
                said["claim"] = [said["claim"]]
            for lines in ("try_first", "avoid", "claim"):
                known_lines = (
                    common.get(line, line) if isinstance(line, str) else line
                    for line in said.get(lines, ())
                )
                said[lines] = [
                    {"say": line} if isinstance(line, str) else line for line in known_lines
                ]
            try:
                one = msgspec.convert(said, Play)
                if known:  # ours are checked by a test: it takes as long as reading reports
                    _check(one, table)
            except (msgspec.ValidationError, ValueError) as error:
                raise _refused(path, f"{place}: {error}") from error
            found[name] = _added(known[name], one, entry) if name in known else one
    return found


def _added(old: Play, new: Play, entry: Mapping[str, Any]) -> Play:
    """A known entry with what a user's says beside it or in its place."""
    said = {name: getattr(new, name) for name in entry}
    for lines in ("try_first", "avoid"):
        said[lines] = (*getattr(new, lines), *getattr(old, lines))
    return replace(old, **said)


def _check(entry: Play, table: str) -> None:
    loaded = (unit for line in (*entry.try_first, *entry.avoid) for unit in line.loads)
    for unit in (*entry.removes, *entry.relieves, *loaded):
        if unit not in UNITS:
            raise ValueError(f"{unit!r} is none of {', '.join(UNITS)}")
    for text in entry.expressions():
        names(text)
    for claim in entry.claim:
        for _, name, written, how in Formatter().parse(claim.say):
            if name is None:
                continue
            if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
                raise ValueError(f"{name!r} in its claim is no name of evidence")
            written = written or ""
            known = written in FORMATS or re.fullmatch(r"of [a-z]+|,?(\.\d)?[fg]?", written)
            if how or not known:
                raise ValueError(f"{name!r} in its claim cannot be written as {written or how!r}")
    if table == "cause" and entry.when and not entry.claim:
        raise ValueError("it has a condition but no claim")


def _refused(path: Path, why: str) -> InputError:
    return InputError(
        f"cannot read the advice of {path}", why=why, hint=f"correct it, or unset {FOLDER}"
    )
