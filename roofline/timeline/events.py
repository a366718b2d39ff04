"""What every reader makes of its file: columns of events in nanoseconds, whatever the format."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from roofline.errors import InputError, UsageError
from roofline.kernel_names import base_name, printable
from roofline.model import Device, Dim3, Note
from roofline.timeline.model import Format
from roofline.timeline.operations import Operation

Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

UNKNOWN = -1
BEFORE = -2  # a launch before the recording began
LONG_NS = 10_000  # shorter operators fill no gap that is worth a word, and are most of a trace
DAY_NS = 86_400 * 10**9  # no recording is longer
_NEAR_NS = 1_000_000
_ROUNDED_NS = 1000  # old traces have whole microseconds
_DEPENDENT_NS = 50_000  # dependent launches overlap by less: by 13 us in public recordings
_ODD = 0x9E3779B97F4A7C15 - (1 << 64)  # spreads its multiples over 64 bits
STEP = r"^ProfilerStep#\d+$"  # what PyTorch's profiler calls the steps of its schedule


def table(name: str) -> dict[str, Any]:
    """A part of what is known of formats."""
    return dict(_formats()[name])


@cache
def _formats() -> dict[str, Any]:
    return dict(msgspec.toml.decode(Path(__file__).with_name("formats.toml").read_bytes()))


def refusal(code: str, **facts: object) -> InputError:
    """The error for a file that cannot be used, by its code in the table of formats."""
    row = table("refusals")[code]
    what, why, hint = (row.get(k, "").format(**facts) or None for k in ("what", "why", "hint"))
    return InputError(str(what), why=why, hint=hint)


class Work(StrEnum):
    """What a device was doing."""

    KERNEL = "kernel"
    COPY = "copy"
    SET = "set"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What a launch is an instance of: one kernel at one grid and block, or one kind of copy.

    ``grid`` and ``block`` are ``None`` where the timeline does not say. ``collective`` is set
    where the recorder itself says that the kernel is one.
    """

    work: Work
    name: str
    base_name: str
    mangled: str | None = None
    grid: Dim3 | None = None
    block: Dim3 | None = None
    collective: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What the recorder says of one collective: process group, kind, place in order, bytes moved.

    ``members`` is the size of the group.
    """

    group: str
    name: str
    sequence: int | None = None
    size: float | None = None
    members: int | None = None


def identity(work: Work, name: str, **more: Any) -> Identity:
    """The identity of a ``name`` as the file spells it; ``more`` are its other fields."""
    text = printable(name)
    base = base_name(text) if work is Work.KERNEL else text
    return Identity(work=work, name=text, base_name=base, **more)


class Columns:
    """Equally long columns in order of start, which are equal where all their values are."""

    __slots__: tuple[str, ...] = ()
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in self.__slots__
        )

    @classmethod
    def of(cls, *columns: Integers, order: Integers | slice | None = None) -> Self:
        """Columns in the order of the class, put in order of start, or an ``order`` known already.

        No columns are empty ones, for what a recording does not have; the last may be left out
        and are 0.
        """
        columns = columns or (np.empty(0, np.int64),)
        if order is None and (columns[0][1:] < columns[0][:-1]).any():
            order = np.argsort(columns[0], kind="stable")
        if order is not None:
            columns = tuple(c[order] for c in columns)
        lacking = len(cls.__slots__) - len(columns)
        columns += (np.zeros(len(columns[0]), np.int64),) * lacking
        return cls(**dict(zip(cls.__slots__, columns, strict=True)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Events(Columns):
    """What ran on devices; times in ns.

    ``identity`` is an index into ``Timeline.identities``; ``launch`` is when the host began to ask
    for it, ``launched`` when that call returned, ``thread`` the index of the thread that did,
    ``process`` that thread's process, ``stream`` where it ran: -1 where not known. Of a launch that
    was not recorded ``since`` is when the call before it began, or ``BEFORE``. ``source`` is an
    index into ``Timeline.sources``, 0 where there are none.
    """

    start: Integers
    end: Integers
    device: Integers
    identity: Integers
    launch: Integers
    launched: Integers
    thread: Integers
    process: Integers
    stream: Integers
    since: Integers
    source: Integers

    def __len__(self) -> int:
        return len(self.start)

    @property
    def asked(self) -> Integers:
        """``launch``, or ``since`` where it was not recorded."""
        return np.where(self.launch >= 0, self.launch, self.since)

    @property
    def placed(self) -> Integers:
        """``asked``, or ``start`` where nothing tells when that was."""
        asked = self.asked
        return np.where(asked == UNKNOWN, self.start, asked)

    def where(self, mask: Mask | Integers | slice) -> Events:
        """Those of ``mask`` alone, or in an order."""
        return Events(**{name: getattr(self, name)[mask] for name in Events.__slots__})

    def notes(self, *, untimed: int) -> Iterator[Note]:
        """Notes on ``untimed`` others, left out for their times, and on work without a launch."""
        if untimed:
            facts = {"left_out": untimed, "events": untimed + len(self)}
            yield Note(code="no_valid_time", facts=facts)
        yield from self.overlaps()
        before = (self.launch < 0) & (self.since == BEFORE)
        for code, which in (
            ("launched_before", before),
            ("no_launch_record", (self.launch < 0) & ~before),
        ):
            if missing := int(which.sum()):
                yield Note(code=code, facts={"missing": missing, "events": len(self)})

    def overlaps(self) -> Iterator[Note]:
        """A note on work of one stream that ran at once: launches are done one after the other.

        A dependent launch may begin before the one before it ends, though not end before it does.
        Work of one CUDA graph, which one call launched, may.
        """
        if not len(self):
            return
        keys = (self.device, self.process, self.stream)
        mixed = keys[0] * _ODD + keys[1]
        mixed = (mixed * _ODD + keys[2]) * _ODD >> 48
        order = np.argsort(mixed.astype(np.uint16), kind="stable")  # 16 bits: in linear time
        same = np.all([c[1:] == c[:-1] for c in (key[order] for key in keys)], axis=0)
        first, span = int(self.start[0]), int(self.end.max() - self.start[0])
        begin, end = (c[order] - first for c in (self.start, self.end))
        apart = np.concatenate([[0], np.cumsum(~same)]) * span  # each stream after all others
        busy_until = np.maximum.accumulate(end + apart)[:-1] - apart[:-1]
        launch = self.launch[order]
        same &= (launch[1:] != launch[:-1]) | (launch[1:] < 0)
        over = np.where(same, busy_until - begin[1:], 0)
        wrong = (over > _DEPENDENT_NS) | ((over > 0) & (busy_until - end[1:] > _ROUNDED_NS))
        if wrong.any():
            facts = {"events": int(wrong.sum()), "longest_s": int(over[wrong].max()) / 1e9}
            yield Note(code="stream_overlap", facts=facts)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Calls(Columns):
    """What host threads did: CUDA calls, operators and named ranges but for those that are steps.

    ``name`` is a key of ``call_names``, which has names as they are: ``harmless`` before output.
    """

    start: Integers
    end: Integers
    thread: Integers
    name: Integers

    def and_ranges(
        self, ranges: Iterable[tuple[int, int, int, str]], names: dict[int, str]
    ) -> Calls:
        """These and ``ranges``: start, end, thread, name; ``names`` gets what those are called."""
        rows = list(ranges)
        if not rows:
            return self
        keys = {name: -2 - i for i, name in enumerate(dict.fromkeys(r[3] for r in rows))}
        names |= {key: name for name, key in keys.items()}
        more = np.array([(*r[:3], keys[r[3]]) for r in rows], dtype=np.int64).T
        own = (self.start, self.end, self.thread, self.name)
        return Calls.of(*(np.concatenate([a, b]) for a, b in zip(own, more, strict=True)))

    def launches(self, wanted: Integers, keys: Integers) -> list[Integers]:
        """``launch``, ``launched``, ``thread`` and ``since`` of each GPU event.

        ``wanted`` are correlation ids of events and ``keys`` those of these calls; where several
        share one (runtime over driver), the first counts. Ids that are not positive match nothing.
        A process (in the upper 32 bits) counts its calls, so an id between those of two calls was
        given between them, and one below all of them before the recording began.
        """
        if not len(keys):
            return [np.full(len(wanted), UNKNOWN, dtype=np.int64)] * 4
        unsorted = (keys[1:] < keys[:-1]).any()
        order = np.argsort(keys, kind="stable") if unsorted else slice(None)
        keys = keys[order]
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        hit = (keys[place] == wanted) & (wanted > 0)
        found = (self.start, self.end, self.thread)
        columns = [np.where(hit, c[order][place], UNKNOWN) for c in found]
        missed = np.flatnonzero(~hit & (wanted > 0))
        since = np.full(len(wanted), UNKNOWN, dtype=np.int64)
        if len(missed):
            own = np.searchsorted(keys, wanted[missed] >> 32 << 32)
            prior = np.searchsorted(keys, wanted[missed]) - 1
            counts = keys[np.minimum(own, len(keys) - 1)] >> 32 == wanted[missed] >> 32
            began = np.where(prior < own, BEFORE, self.start[order][prior])
            since[missed] = np.where(counts, began, UNKNOWN)
        return [*columns, since]


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """A named stretch of host time that may be a step.

    ``nvtx`` is how ncu would name it; ``None`` where it cannot, or where the name may be private.
    ``own_end`` is where it ended if it is taken to go on until the next step begins.
    """

    name: str
    start: int
    end: int
    process: int = UNKNOWN
    thread: int = UNKNOWN
    nvtx: str | None = None
    own_end: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """A kernel's sum over a whole recording, from a summary that has no timeline."""

    identity: Identity
    instances: int
    total_ns: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchSource:
    """What launched something: the innermost operator, module and range of the user.

    ``operation`` is the work of the call, of which one kernel ``counts`` and the others do not.
    """

    op: str | None = None
    module: str | None = None
    nvtx: str | None = None
    operation: Operation | None = None
    counts: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """One recording. ``totals`` is set instead of ``events`` where there is only a summary.

    ``origin`` is the time that viewers call 0. ``from_start`` says whether every launch since the
    beginning of the process was recorded, so that launches can be counted. ``truncated`` says that
    events are missing, and not which: a file that ends in the middle is in no order of time.
    ``rank`` is that of the process in its job of ``world_size``, ``messages`` are what the recorder
    says of collectives, by device and start.
    """

    file: str
    format: Format
    identities: tuple[Identity, ...]
    events: Events = field(default_factory=Events.of)
    calls: Calls = field(default_factory=Calls.of)
    call_names: dict[int, str] = field(default_factory=dict)
    ranges: tuple[Range, ...] = ()
    devices: dict[int, Device] = field(default_factory=dict)
    origin: int = 0
    from_start: bool = False
    truncated: bool = False
    totals: tuple[Total, ...] = ()
    sources: tuple[LaunchSource, ...] = ()
    rank: int | None = None
    world_size: int | None = None
    messages: dict[tuple[int, int], Message] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()

    @property
    def is_kernel(self) -> Mask:
        """Of each identity, whether it is a kernel."""
        return np.array([i.work is Work.KERNEL for i in self.identities], dtype=np.bool_)


def possible(start: Integers, end: Integers) -> Mask:
    """Which times can be: CUPTI writes 0 for those it does not know, and no recording is for days.

    Events at 0 count where others begin near it.
    """
    if not len(start):
        return np.ones(0, dtype=np.bool_)
    middle = np.partition(start, len(start) // 2)[len(start) // 2]
    found: Mask = (end >= start) & (abs(start - middle) < DAY_NS) & (end - start < DAY_NS)
    unknown = (start == 0) & (end == 0)
    if unknown.any():
        known = start[found & ~unknown]
        found &= ~unknown | (len(known) == 0 or int(known.min()) < _NEAR_NS)
    return found


class Interner(dict[Any, int]):
    """Gives equal values the same small number, in order of first sight: ``interner[value]``."""

    def __missing__(self, key: Any) -> int:
        self[key] = number = len(self)
        return number


def different(column: Integers) -> Integers:
    """The different values in order; most columns hold but one, which is seen sooner."""
    one = column[:1]
    return one if (column == one).all() else np.unique(column)


def distinct(*columns: Integers) -> tuple[list[tuple[int, ...]], Integers]:
    """The different rows, and for each row the place of its like among them.

    Rows are told apart by a mix of their columns, and it is checked that no two share one.
    """
    code = columns[0].copy()
    for column in columns[1:]:
        code *= _ODD  # wraps around
        code += column
    found = np.unique(code)
    index = np.searchsorted(found, code)  # the inverse that unique can give needs a sort of all
    first = np.empty(len(found), dtype=np.int64)
    first[index[::-1]] = np.arange(len(code))[::-1]  # the last that is written stays
    if not all((c[first][index] == c).all() for c in columns):
        rows, index = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
        return [tuple(row) for row in rows.tolist()], index.reshape(-1)
    return [tuple(int(c[i]) for c in columns) for i in first], index


@cache
def _harmless() -> re.Pattern[str]:
    return re.compile(table("names")["harmless"])


def harmless(name: str) -> str:
    """What of ``name`` cannot be private: CUDA calls, operators and ranges of frameworks."""
    found = _harmless().match(name)
    return found[0] if found else ""


_NAMES = 5  # of ranges that a message lists


def no_such_step(
    file: str, step: str, names: Iterable[object], unknown: Sequence[str] = ()
) -> UsageError:
    """The error for a ``step`` that none of the ``names`` of ranges in ``file`` matches.

    Names of ranges can be private: those of frameworks are named, the others counted. ``unknown``
    are tables that may hold ranges, too.
    """
    texts = {str(name) for name in names}
    marks = {text for text in texts if re.fullmatch(STEP, text)}
    marked = len(marks)
    counts = (marked, "ProfilerStep range", ""), (len(texts) - marked, "other name", " of ranges")
    found = [f"{n} {what}{'s' * (n > 1)}{rest}" for n, what, rest in counts if n]
    hint = "--start and --end instead, or NVTX ranges around the steps of your program"
    if texts:
        leave = "without --step the ProfilerSteps count; " if marked else ""
        hint = f"{leave}names are spelled as a viewer shows them, and case counts"
    why = f"it has {' and '.join(found) or 'no named ranges'}"
    if shown := sorted(text for text in texts - marks if harmless(text) == text)[:_NAMES]:
        why += f", such as {', '.join(shown)}"
    if unknown:
        why += f" that are known; its table {', '.join(unknown)} is not read"
    return UsageError(f"--step {step!r} matches no range of {file}", why=why, hint=hint)
