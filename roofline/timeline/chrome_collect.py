"""Sorts the events of a Chrome trace into columns: a piece of it and a category at a time."""

from __future__ import annotations

import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from roofline.model import Dim3
from roofline.timeline.chrome_events import Event
from roofline.timeline.events import UNKNOWN, Integers, Interner, Work
from roofline.typed import Typed

# Categories in the spelling of today and of 2021.
_WORK = {
    "kernel": Work.KERNEL,
    "Kernel": Work.KERNEL,
    "gpu_memcpy": Work.COPY,
    "Memcpy": Work.COPY,
    "gpu_memset": Work.SET,
    "Memset": Work.SET,
}
_CALLS = ("cuda_runtime", "cuda_driver", "Runtime")
_OPERATORS = ("cpu_op", "Operator")
INFINITY = float("inf")
_RANGES = ("user_annotation", *_OPERATORS)
_HIP = re.compile(r"hip[A-Z]")
_WORTH_US = 10.0  # shorter operators fill no gap that is worth a word, and are most of a trace
_LARGEST = (1 << 63) - 1
_LATEST_US = 4e15  # later than the year 2090: nonsense, which would overflow
_DETAILS = re.compile(r"(grid|block):(\d+),(\d+),(\d+)")


class _Columns:
    """Growing columns of one kind of event: start and duration in us, then integers.

    ``untimed`` counts the events that ``arrays`` left out: their times cannot be.
    """

    untimed = 0

    def __init__(self, width: int) -> None:
        self.start, self.duration = array("d"), array("d")
        self.rest = [array("q") for _ in range(width)]

    def extend(self, events: Sequence[Event], *rest: Iterable[int]) -> None:
        self.start.extend([e.ts for e in events])
        self.duration.extend([e.dur for e in events])
        for column, values in zip(self.rest, rest, strict=True):
            column.extend(values)

    def arrays(self) -> list[Integers]:
        """Start and end in ns, then the integers; without events whose times cannot be."""
        begin, lasted = np.frombuffer(self.start), np.frombuffer(self.duration)
        rest = [np.frombuffer(c, dtype=np.int64) for c in self.rest]
        timed = (abs(begin) <= _LATEST_US) & (lasted >= 0) & (lasted <= _LATEST_US)
        if not timed.all():
            self.untimed = int((~timed).sum())
            begin, lasted, rest = begin[timed], lasted[timed], [c[timed] for c in rest]
        start = nanoseconds(begin)
        return [start, start + np.rint(lasted * 1000).astype(np.int64), *rest]


class Matches(dict[Any, bool]):
    """Whether a name matches, found out once for each name: ``matches[name]``."""

    def __init__(self, pattern: Typed) -> None:
        super().__init__()
        self.pattern = pattern

    def __missing__(self, key: Any) -> bool:
        self[key] = found = isinstance(key, str) and self.pattern.search(key) is not None
        return found


@dataclass(slots=True)
class Collected:
    """Collects what matters from pieces of events, a category at a time.

    ``any_step`` takes the steps that JAX marks as such whatever their name.
    """

    is_step: Matches
    operators: bool
    any_step: bool = True
    seen: Counter[str] = field(default_factory=Counter)
    first_us: float = INFINITY
    identities: Interner = field(default_factory=Interner)
    threads: Interner = field(default_factory=Interner)
    names: Interner = field(default_factory=Interner)
    devices: Interner = field(default_factory=Interner)
    gpu: _Columns = field(default_factory=lambda: _Columns(3))
    calls: _Columns = field(default_factory=lambda: _Columns(3))
    ranges: list[tuple[str, Event]] = field(default_factory=list)
    jax_devices: dict[Any, int] = field(default_factory=dict)

    @property
    def kernels(self) -> int:
        """How many kernels were seen."""
        return self.seen["kernels"]

    @property
    def is_hip(self) -> bool:
        """Whether kernels or calls are AMD's."""
        return self.seen["hip"] > 0 or any(_HIP.match(str(name)) for name in self.names)

    def take(self, piece: Sequence[Event]) -> None:
        """Sort the events of one piece into columns."""
        found: defaultdict[str, list[Event]] = defaultdict(list)
        for event in piece:
            if event.ph == "X":
                found[event.cat].append(event)
            elif event.ph == "M" and event.name == "process_name":
                self._process(event)
        for category, events in found.items():
            self.seen[category] += len(events)
            self.first_us = min(self.first_us, *[e.ts for e in events if e.ts > 0], INFINITY)
        for category, work in _WORK.items():
            self._gpu(found.get(category, ()), work)
        for category in _CALLS:
            events = found.get(category, [])
            self._calls(events, [integer(e.args.correlation) for e in events])
        for category in _RANGES:
            self._ranges(found.get(category, ()))
        if self.operators:
            for category in _OPERATORS:
                events = [e for e in found.get(category, ()) if e.dur >= _WORTH_US]
                self._calls(events, [UNKNOWN] * len(events))
        self._uncategorised(found.get("", ()))

    def _gpu(self, events: Sequence[Event], work: Work) -> None:
        if work is Work.KERNEL:
            self.seen["kernels"] += len(events)
        if any(e.args.kind == "Dispatch Kernel" for e in events):
            self.seen["hip"] += 1
        pairs = [(e, e.args) for e in events]
        identities, devices = self.identities, self.devices
        self.gpu.extend(
            events,
            [devices[e.pid if a.device is None else a.device] for e, a in pairs],
            [identities[work, e.name, a.grid, a.block, a.collective is None] for e, a in pairs],
            [integer(a.correlation) for _, a in pairs],
        )

    def _calls(self, events: Sequence[Event], correlations: Sequence[int]) -> None:
        threads, names = self.threads, self.names
        self.calls.extend(
            events,
            [threads[e.pid, e.tid] for e in events],
            [names[e.name] for e in events],
            correlations,
        )

    def _ranges(self, events: Iterable[Event]) -> None:
        is_step = self.is_step
        self.ranges += [(str(e.name), e) for e in events if is_step[e.name] and _timed(e)]

    def _uncategorised(self, events: Sequence[Event]) -> None:
        """JAX gives no categories: the arguments tell."""
        if not events:
            return
        kernels = [e for e in events if e.args.kernel_details is not None]
        copies = [e for e in events if e.args.memcpy_details is not None]
        self._jax_gpu(kernels, Work.KERNEL)
        self._jax_gpu(copies, Work.COPY)
        steps = [e for e in events if e.args.step_num is not None and _timed(e)]
        named = [(f"{e.name} {e.args.step_num}", e) for e in steps]
        self.ranges += [(n, e) for n, e in named if self.any_step or self.is_step[n]]
        on_gpu = {id(e) for e in (*kernels, *copies)}
        calls = [e for e in events if e.args.correlation_id is not None and id(e) not in on_gpu]
        self.seen["cuda_runtime"] += len(calls)
        self._calls(calls, [integer(e.args.correlation_id) for e in calls])

    def _jax_gpu(self, events: Sequence[Event], work: Work) -> None:
        if work is Work.KERNEL:
            self.seen["kernels"] += len(events)
        keys = [
            (work, (e.args.name if work is Work.KERNEL else None) or e.name, *_jax_sizes(e), True)
            for e in events
        ]
        self.gpu.extend(
            events,
            [self.devices[e.pid] for e in events],
            [self.identities[key] for key in keys],
            [integer(e.args.correlation_id) for e in events],
        )

    def _process(self, event: Event) -> None:
        if match := re.fullmatch(r"/device:GPU:(\d+).*", str(event.args.name)):
            self.jax_devices[event.pid] = int(match[1])


def _timed(event: Event) -> bool:
    return abs(event.ts) <= _LATEST_US and 0 <= event.dur <= _LATEST_US


def nanoseconds(microseconds: Any) -> Integers:
    """Whole and fraction apart: a time since 1970 in ns does not fit into a float."""
    whole = np.floor(microseconds)
    fraction = np.rint((microseconds - whole) * 1000).astype(np.int64)
    return cast("Integers", whole.astype(np.int64) * 1000 + fraction)


def _jax_sizes(event: Event) -> tuple[Dim3 | None, Dim3 | None]:
    text = str(event.args.kernel_details or "")
    sizes = {m[1]: (int(m[2]), int(m[3]), int(m[4])) for m in _DETAILS.finditer(text)}
    return sizes.get("grid"), sizes.get("block")


def integer(value: Any) -> int:
    """``value`` as a number: 7, "7" and "stream 7" are 7; -1 where there is none."""
    if type(value) is not int:
        digits = None if value is None else re.search(r"\d+", str(value))
        value = int(digits[0]) if digits else UNKNOWN
    return value if -_LARGEST <= value <= _LARGEST else UNKNOWN
