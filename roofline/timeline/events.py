"""What every reader makes of its file: columns of events in nanoseconds, whatever the format."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roofline.model import Device, Dim3, Note

Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]
_NO_NAMES: Mapping[int, str] = {}
_NO_DEVICES: Mapping[int, Device] = {}

UNKNOWN = -1
STEP = r"^ProfilerStep#\d+$"  # what PyTorch's profiler calls the steps of its schedule

# Names that cannot hold anything private: CUDA calls and library operators.
_HARMLESS = re.compile(r"(?:cuda?[A-Z]\w*|[A-Za-z_]\w*::\w+)(?:\.\w+)?")


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
class Events:
    """What ran on devices: equally long columns, ordered by start, times in ns.

    ``identity`` is an index into ``Timeline.identities``; ``launch`` is when the host began to ask
    for it, ``launched`` when that call returned, ``thread`` the index of the thread that did,
    ``process`` that thread's process: -1 where not known.
    """

    start: Integers
    end: Integers
    device: Integers
    identity: Integers
    launch: Integers
    launched: Integers
    thread: Integers
    process: Integers

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """What host threads did: columns ordered by start. ``name`` is a key of ``call_names``."""

    start: Integers
    end: Integers
    thread: Integers
    name: Integers


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """A named stretch of host time that may be a step.

    ``nvtx`` is how ncu would name it; ``None`` where it cannot, or where the name may be private.
    """

    name: str
    start: int
    end: int
    process: int = UNKNOWN
    thread: int = UNKNOWN
    nvtx: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """A kernel's sum over a whole recording, from a summary that has no timeline."""

    identity: Identity
    instances: int
    total_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """One recording. ``totals`` is set instead of ``events`` where there is only a summary.

    ``origin`` is the time that viewers call 0. ``from_start`` says whether every launch since the
    beginning of the process was recorded, so that launches can be counted. ``truncated`` says that
    events are missing, and not which: a file that ends in the middle is in no order of time.
    """

    file: str
    format: str
    identities: tuple[Identity, ...]
    events: Events
    calls: Calls
    call_names: Mapping[int, str] = field(default_factory=lambda: _NO_NAMES)
    ranges: tuple[Range, ...] = ()
    devices: Mapping[int, Device] = field(default_factory=lambda: _NO_DEVICES)
    origin: int = 0
    from_start: bool = False
    truncated: bool = False
    totals: tuple[Total, ...] = ()
    notes: tuple[Note, ...] = ()


class Interner(dict[Any, int]):
    """Gives equal values the same small number, in order of first sight: ``interner[value]``."""

    def __missing__(self, key: Any) -> int:
        self[key] = number = len(self)
        return number


def make_events(columns: Sequence[Integers]) -> Events:
    """Columns as ``Events`` lists them, put in order of start."""
    names = Events.__slots__
    if (columns[0][1:] < columns[0][:-1]).any():
        order = np.argsort(columns[0], kind="stable")
        columns = [c[order] for c in columns]
    return Events(**dict(zip(names, columns, strict=True)))


def make_calls(columns: Sequence[Integers], order: Integers | None = None) -> Calls:
    """Columns (start, end, thread, name) in order of start, or in an ``order`` known already."""
    order = np.argsort(columns[0], kind="stable") if order is None else order
    start, end, thread, name = (c[order] for c in columns)
    return Calls(start=start, end=end, thread=thread, name=name)


def nothing(width: int) -> list[Integers]:
    """``width`` empty columns, for what a recording does not have."""
    return [np.empty(0, np.int64) for _ in range(width)]


def join_launches(wanted: Integers, calls: Calls, keys: Integers) -> list[Integers]:
    """``launch``, ``launched`` and ``thread`` of each GPU event; -1 where the call is missing.

    ``wanted`` are correlation ids of events and ``keys`` those of ``calls``; where several calls
    share one (runtime over driver), the first counts. Ids that are not positive match nothing.
    """
    order = np.argsort(keys, kind="stable")
    order = order[np.searchsorted(keys[order], 1) :]
    if not len(order):
        missing = np.full(len(wanted), UNKNOWN, dtype=np.int64)
        return [missing, missing, missing]
    call = order[np.minimum(np.searchsorted(keys[order], wanted), len(order) - 1)]
    hit = keys[call] == wanted
    return [np.where(hit, c[call], UNKNOWN) for c in (calls.start, calls.end, calls.thread)]


def harmless(name: str) -> str:
    """``name`` where it is a CUDA call or a library's operator, else an empty text."""
    return name if _HARMLESS.fullmatch(name) else ""


def no_valid_time(left_out: int, read: int) -> tuple[Note, ...]:
    """A note on work that was ``left_out`` because its times cannot be."""
    if not left_out:
        return ()
    text = (
        f"{left_out} of {left_out + read} GPU events have no valid time (one is missing, no "
        "number, or the end is before the start) and were left out."
    )
    return (Note(code="no_valid_time", text=text),)


def runs_kernels(timeline: Timeline) -> bool:
    """Whether any kernel is among the events."""
    kernel = np.array([i.work is Work.KERNEL for i in timeline.identities])
    return bool(kernel[timeline.events.identity].any())


def no_launch_record(events: Events) -> tuple[Note, ...]:
    """A note on work whose launch was not recorded."""
    missing = int((events.launch < 0).sum())
    if not missing:
        return ()
    text = (
        f"{missing} of {len(events)} GPU events have no launch record (queued before the "
        "recording began, or launched unseen); they are placed by when they ran."
    )
    return (Note(code="no_launch_record", text=text),)
