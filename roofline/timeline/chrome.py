"""PyTorch (Kineto) and JAX (XProf) traces: Chrome events to a ``Timeline``."""

from __future__ import annotations

import gc
import gzip
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from io import BufferedIOBase
from pathlib import Path
from typing import Any, cast

import numpy as np

from roofline.model import Device, Dim3, Note
from roofline.timeline.chrome_events import Event, fast_decoder, lenient
from roofline.timeline.chrome_refusal import refuse_amd, refuse_empty
from roofline.timeline.chrome_scan import Scan
from roofline.timeline.events import (
    STEP,
    UNKNOWN,
    Identity,
    Integers,
    Interner,
    Range,
    Timeline,
    Work,
    harmless,
    join_launches,
    make_calls,
    make_events,
    no_launch_record,
)
from roofline.timeline.names import base_name, printable

PIECE_BYTES = 2 << 20  # larger pieces fall out of the processor's cache
STREAM_PIECE_BYTES = 256 << 10

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
_DETAILS = re.compile(r"(grid|block):(\d+),(\d+),(\d+)")


def read_chrome(path: Path, *, step: str | None = None, stream: bool = False) -> Timeline:
    """Read a ``.json`` or ``.json.gz`` trace.

    Args:
        path: the trace; compression is told by its first bytes.
        step: regular expression for the names of ranges that are steps.
        stream: keep memory small: smaller pieces, and no operators of the host.

    Raises:
        InputError: no NVIDIA kernels in it; the reason says what to record instead.

    """
    with _open(path) as source:
        scan = Scan(
            stream=source,
            decode=fast_decoder() or lenient,
            piece_bytes=STREAM_PIECE_BYTES if stream else PIECE_BYTES,
        )
        reader = _Reader(is_step=_Matches(re.compile(step or STEP)), operators=not stream)
        with _no_garbage_collection():
            for piece in scan.pieces():
                reader.take(piece)
    refuse_amd(path, scan.metadata, hip=reader.is_hip)
    if not reader.kernels:
        refuse_empty(path, scan, reader.seen)
    return reader.timeline(path.name, scan)


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Millions of short-lived values make no cycles, and looking for some takes half the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _open(path: Path) -> BufferedIOBase:
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    return gzip.open(path) if packed else path.open("rb")


class _Columns:
    """Growing columns of one kind of event: start and duration in us, then integers."""

    def __init__(self, width: int) -> None:
        self.start, self.duration = array("d"), array("d")
        self.rest = [array("q") for _ in range(width)]

    def extend(self, events: Sequence[Event], *rest: Iterable[int]) -> None:
        self.start.extend([e.ts for e in events])
        self.duration.extend([e.dur for e in events])
        for column, values in zip(self.rest, rest, strict=True):
            column.extend(values)

    def arrays(self) -> list[Integers]:
        """Start and end in ns, then the integers."""
        start = _nanoseconds(np.frombuffer(self.start, dtype=np.float64))
        lasted = np.rint(np.frombuffer(self.duration, dtype=np.float64) * 1000).astype(np.int64)
        rest = [np.frombuffer(c, dtype=np.int64) for c in self.rest]
        return [start, start + np.maximum(lasted, 0), *rest]


class _Matches(dict[Any, bool]):
    """Whether a name matches, found out once for each name: ``matches[name]``."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        super().__init__()
        self.pattern = pattern

    def __missing__(self, key: Any) -> bool:
        self[key] = found = isinstance(key, str) and self.pattern.search(key) is not None
        return found


@dataclass(slots=True)
class _Reader:
    """Collects what matters from pieces of events, a category at a time."""

    is_step: _Matches
    operators: bool
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
            self._calls(events, [_integer(e.args.correlation) for e in events])
        for category in _RANGES:
            self._ranges(found.get(category, ()))
        if self.operators:
            for category in _OPERATORS:
                events = found.get(category, [])
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
            [_integer(a.correlation) for _, a in pairs],
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
        self.ranges += [(e.name, e) for e in events if is_step[e.name]]

    def _uncategorised(self, events: Sequence[Event]) -> None:
        """JAX gives no categories: the arguments tell."""
        if not events:
            return
        kernels = [e for e in events if e.args.kernel_details is not None]
        copies = [e for e in events if e.args.memcpy_details is not None]
        self._jax_gpu(kernels, Work.KERNEL)
        self._jax_gpu(copies, Work.COPY)
        steps = [e for e in events if e.args.step_num is not None]
        self.ranges += [(f"{e.name} {e.args.step_num}", e) for e in steps]
        on_gpu = {id(e) for e in (*kernels, *copies)}
        calls = [e for e in events if e.args.correlation_id is not None and id(e) not in on_gpu]
        self.seen["cuda_runtime"] += len(calls)
        self._calls(calls, [_integer(e.args.correlation_id) for e in calls])

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
            [_integer(e.args.correlation_id) for e in events],
        )

    def _process(self, event: Event) -> None:
        if match := re.fullmatch(r"/device:GPU:(\d+).*", str(event.args.name)):
            self.jax_devices[event.pid] = int(match[1])

    def timeline(self, file: str, scan: Scan) -> Timeline:
        """Columns in ns, launches joined to what they launched."""
        ranges = tuple(self._range(name, event) for name, event in self.ranges)
        start, end, device, identity, correlation = self.gpu.arrays()
        *columns, keys = self.calls.arrays()
        order = np.argsort(columns[0], kind="stable")
        calls = make_calls(columns, order)
        launch, thread = join_launches(correlation, calls, keys[order])
        numbers = np.array([self._device_number(d) for d in self.devices], dtype=np.int64)
        processes = Interner()
        owner = np.array([processes[pid] for pid, _ in self.threads] or [UNKNOWN], dtype=np.int64)
        process = np.where(thread >= 0, owner[thread], UNKNOWN)
        events = make_events([start, end, numbers[device], identity, launch, thread, process])
        return Timeline(
            file=file,
            format="jax" if self.jax_devices else "kineto",
            identities=tuple(_identity(*key) for key in self.identities),
            events=events,
            calls=calls,
            call_names={number: harmless(str(name)) for name, number in self.names.items()},
            ranges=tuple(_of_process(r, owner) for r in ranges),
            devices=_devices(scan.metadata),
            origin=_origin(self.first_us),
            notes=(*_damage(scan), *no_launch_record(events)),
        )

    def _range(self, name: str, event: Event) -> Range:
        start = int(_nanoseconds(np.array([event.ts]))[0])
        thread = self.threads[event.pid, event.tid]
        end = start + round(event.dur * 1000)
        return Range(name=printable(name), start=start, end=end, thread=thread)

    def _device_number(self, value: Any) -> int:
        return self.jax_devices.get(value, _integer(value))


def _of_process(found: Range, owner: Integers) -> Range:
    return replace(found, process=int(owner[found.thread]))


def _origin(first_us: float) -> int:
    return 0 if np.isinf(first_us) else int(_nanoseconds(np.array([first_us]))[0])


def _nanoseconds(microseconds: Any) -> Integers:
    """Whole and fraction apart: a time since 1970 in ns does not fit into a float."""
    whole = np.floor(microseconds)
    fraction = np.rint((microseconds - whole) * 1000).astype(np.int64)
    return cast("Integers", whole.astype(np.int64) * 1000 + fraction)


def _identity(work: Work, name: Any, grid: Any, block: Any, ordinary: bool) -> Identity:
    text = printable(str(name))
    return Identity(
        work=work,
        name=text,
        base_name=base_name(text) if work is Work.KERNEL else text,
        grid=_dim3(grid),
        block=_dim3(block),
        collective=not ordinary,
    )


def _dim3(value: Sequence[int] | None) -> Dim3 | None:
    return (value[0], value[1], value[2]) if value is not None and len(value) == 3 else None


def _jax_sizes(event: Event) -> tuple[Dim3 | None, Dim3 | None]:
    text = str(event.args.kernel_details or "")
    sizes = {m[1]: (int(m[2]), int(m[3]), int(m[4])) for m in _DETAILS.finditer(text)}
    return sizes.get("grid"), sizes.get("block")


def _devices(metadata: Mapping[str, Any]) -> dict[int, Device]:
    found = metadata.get("deviceProperties")
    devices = {}
    for raw in found if isinstance(found, list) else []:
        if isinstance(raw, dict) and isinstance(raw.get("id"), int):
            major, minor = raw.get("computeMajor"), raw.get("computeMinor")
            name, sms = raw.get("name"), raw.get("numSms")
            devices[raw["id"]] = Device(
                index=raw["id"],
                name=printable(name) if isinstance(name, str) and name else None,
                compute_capability=None if major is None else f"{major}.{minor}",
                sm_count=sms if isinstance(sms, int) else None,
            )
    return devices


def _damage(scan: Scan) -> list[Note]:
    notes = []
    if scan.truncated:
        text = "The file ends in the middle: what precedes the end was read."
        notes.append(Note(code="truncated", text=text))
    if scan.dropped:
        text = f"{scan.dropped} events are not valid JSON and were left out."
        notes.append(Note(code="damaged", text=text))
    return notes


def _integer(value: Any) -> int:
    """``value`` as a number: 7, "7" and "stream 7" are 7; -1 where there is none."""
    if type(value) is int:
        return value
    digits = re.search(r"\d+", str(value)) if value is not None else None
    return int(digits[0]) if digits else UNKNOWN
