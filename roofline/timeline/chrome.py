"""PyTorch (Kineto) and JAX (XProf) traces: Chrome events to a ``Timeline``.

Events are sorted into columns a piece of the trace and a category at a time.
"""

from __future__ import annotations

import gc
import gzip
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from roofline.errors import InputError
from roofline.files import too_large, unpacked_limit
from roofline.kernel_names import printable
from roofline.model import Device, Dim3, Note
from roofline.patterns import compiled
from roofline.timeline.chrome_scan import Args, Event, Scan
from roofline.timeline.events import (
    DAY_NS,
    LONG_NS,
    NO_LAUNCH,
    RECORD_LAUNCHES,
    STEP,
    UNKNOWN,
    Calls,
    Events,
    Integers,
    Interner,
    Message,
    Range,
    Timeline,
    Work,
    identity,
    no_such_step,
    possible,
)
from roofline.timeline.idle import known_classes
from roofline.timeline.operations import BY_SHAPES, FORMULAS, operation
from roofline.timeline.sources import From, Scope, with_sources

FROM_START = "roofline.from_start"  # a key of our own traces: see trace.py
PIECE_BYTES = 2 << 20  # larger pieces fall out of the processor's cache
STREAM_PIECE_BYTES = 256 << 10

# Categories in the spelling of today and of 2021.
_WORK = {
    Work.KERNEL: ("kernel", "Kernel"),
    Work.COPY: ("gpu_memcpy", "Memcpy"),
    Work.SET: ("gpu_memset", "Memset"),
}
_CALLS = ("cuda_runtime", "cuda_driver", "Runtime")
_OPERATORS = ("cpu_op", "Operator")
_RANGES = ("user_annotation", *_OPERATORS)
_SCOPES: Mapping[str, From] = {
    "cpu_op": "op",
    "Operator": "op",
    "python_function": "module",
    "user_annotation": "nvtx",
}
# Operators that launch nothing: most of a trace.
_SHAPING = frozenset(
    f"aten::{name}"
    for name in "empty empty_like empty_strided as_strided view _unsafe_view reshape t transpose "
    "permute slice select narrow expand squeeze unsqueeze detach alias result_type resize_".split()
)
# Modules; those of PyTorch without parts are left out: the one around them tells more.
_MODULE = "nn.Module: "
_IS_MODULE = re.compile(
    rf"{_MODULE}(?!(?:Linear|\w*Conv\w*\dd|\w*Norm(?:\dd)?|Embedding(?:Bag)?|Dropout\w*|ReLU6?"
    r"|[GS]i?ELU|SiLU|Tanh|Sigmoid|Softmax|Identity|Flatten|\w*Pool\dd)_\d+$)"
)
_NUMBER = re.compile(r"_\d+$")  # of an instance, as PyTorch's profiler counts modules
_HIP = re.compile(r"hip[A-Z]")
_GPU = re.compile(r"/device:GPU:(\d+)")
_DETAILS = re.compile(r"(grid|block):(\d+),(\d+),(\d+)")
_DIGITS = re.compile(r"\d+")
_PYTHON = "python_function"
_LATEST_US = 4e15  # later than the year 2090: nonsense, which would overflow
_LARGEST = (1 << 63) - 1
# Bytes of an element, by what PyTorch calls its type.
_ELEMENT_BYTES = (
    {"Byte": 1, "Char": 1, "Bool": 1, "Half": 2, "BFloat16": 2, "Short": 2, "Int": 4, "Float": 4}
    | {"Long": 8, "Double": 8, "ComplexFloat": 8, "ComplexDouble": 16}
    | dict.fromkeys(("Float8_e4m3fn", "Float8_e5m2", "Float8_e4m3fnuz", "Float8_e5m2fnuz"), 1)
)
_RECORD_CUDA = (
    "profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], ...) around a few steps"
)
_JAX_WHY = (
    "it is a JAX trace without kernel_details: the profiler saw no GPU (CUPTI missing, held or not "
    "permitted), or more events than the viewer's JSON keeps"
)
_RECORD_JAX = (
    "jax.profiler.trace(FOLDER) around a few steps on the GPU (StepTraceAnnotation marks them), "
    "with nothing else attached, then FOLDER/plugins/profile/*/*.trace.json.gz; or nsys "
    "profile --trace=cuda,nvtx -o FILE PROGRAM"
)
_CALLS_ONLY = (
    "CUDA calls were recorded but no GPU activity: another profiler (nsys, ncu, DCGM) held CUPTI, "
    "or the records fell outside of the recorded window"
)
AMD = {
    "why": "it was recorded on an AMD GPU, and Nsight Compute profiles NVIDIA GPUs only",
    "hint": "rocprof-compute for AMD GPUs",
}


def read_chrome(path: Path, *, step: str | None = None, stream: bool = False) -> Timeline:
    """Read a ``.json`` or ``.json.gz`` trace as ``load_timeline`` says."""
    found = _Collected(
        is_step=_Matches(compiled(step or STEP, option="--step")),
        operators=not stream,
        any_step=step is None,
        is_framework=_Matches(known_classes().any_name),
    )
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    # Millions of short-lived values make no cycles, and looking for some takes half the time.
    collecting = gc.isenabled()
    gc.disable()
    try:
        with _PackedTrace(path) if packed else path.open("rb") as source:
            scan = Scan(stream=source, piece_bytes=STREAM_PIECE_BYTES if stream else PIECE_BYTES)
            for piece in scan.pieces():
                found.take(piece)
    finally:
        if collecting:
            gc.enable()
    if found.dispatched or _is_amd(found.names, scan.metadata):
        raise InputError(f"cannot use {path}", **AMD)
    if not found.seen["kernels"]:
        why, hint = _why_no_kernels(scan, found)
        raise InputError(f"{path.name} holds no kernels", why=why, hint=hint)
    if step is not None and not found.ranges and not scan.truncated:
        raise no_such_step(path.name, step, found.is_step)
    return _timeline(path.name, found, scan)


def _is_amd(calls: Iterable[Any], metadata: Mapping[str, Any]) -> bool:
    named = any("AMD" in str(d.get("name", "")) for d in _properties(metadata))
    hip = any(_HIP.match(str(name)) for name in calls)
    return named or hip or any(k.startswith(("hip_", "roctracer")) for k in metadata)


def _why_no_kernels(scan: Scan, found: _Collected) -> tuple[str, str]:
    """The likeliest reason, and what to record instead."""
    seen = found.seen
    if not scan.found:
        return (
            "it is JSON without a list of trace events",
            "a PyTorch or JAX trace (*.json, *.json.gz) or an nsys export",
        )
    if scan.truncated:
        return "the file ends before the first one", "copy the trace again, or record a new one"
    if seen.get("cuda_profiler_range"):
        return (
            "it was recorded with CUPTI range profiling (counters), which leaves no kernel times",
            f"{_RECORD_CUDA}, without the CUPTI profiler's metrics",
        )
    if seen["jax"]:
        return _JAX_WHY, _RECORD_JAX
    if any(seen.get(c) for c in (*_CALLS, *_WORK[Work.COPY], *_WORK[Work.SET])):
        if not any("Launch" in str(name) for name in found.names):
            return NO_LAUNCH, RECORD_LAUNCHES
        return _CALLS_ONLY, f"{_RECORD_CUDA}, with no other profiler attached"
    return "only the CPU was recorded", _RECORD_CUDA


class _PackedTrace(gzip.GzipFile):
    """A compressed trace, refused beyond what it may hold."""

    def __init__(self, path: Path) -> None:
        self.path, self.packed = path, path.open("rb")
        super().__init__(fileobj=self.packed)

    def read1(self, size: int = -1) -> bytes:
        """Read some bytes; ``InputError`` where they are too many."""
        if self.tell() > (limit := unpacked_limit(self.packed.tell())):
            raise too_large(self.path, limit)
        return super().read1(size)

    def close(self) -> None:
        """Close the file, too."""
        super().close()
        self.packed.close()


# --- events in columns


class _Growing:
    """Growing columns of one kind of event: start and duration in us, then integers.

    ``untimed`` counts the events that ``arrays`` left out: their times cannot be.
    """

    untimed = 0

    def __init__(self, width: int) -> None:
        self.start, self.duration = array("d"), array("d")
        self.rest = [array("q") for _ in range(width)]

    def extend(self, events: Sequence[Event], *rest: list[int]) -> None:
        self.start.fromlist([e.ts for e in events])  # twice as fast as to extend
        self.duration.fromlist([e.dur for e in events])
        for column, values in zip(self.rest, rest, strict=True):
            column.fromlist(values)

    def arrays(self) -> list[Integers]:
        """Start and end in ns, then the integers; without events whose times cannot be.

        What grew is given away, since millions of events need much memory.
        """
        begin, lasted = np.frombuffer(self.start), np.frombuffer(self.duration)
        rest = [np.frombuffer(c, dtype=np.int64) for c in self.rest]
        self.start = self.duration = array("d")
        self.rest = []
        timed = (abs(begin) <= _LATEST_US) & (lasted >= 0) & (lasted <= _LATEST_US)
        if not timed.all():
            self.untimed = int((~timed).sum())
            begin, lasted, rest = begin[timed], lasted[timed], [c[timed] for c in rest]
        start = _nanoseconds(begin)
        return [start, start + np.rint(lasted * 1000).astype(np.int64), *rest]


class _Matches(dict[Any, bool]):
    """Whether a name matches, found out once for each name: ``matches[name]``."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        super().__init__()
        self.pattern = pattern

    def __missing__(self, key: Any) -> bool:
        self[key] = found = isinstance(key, str) and self.pattern.search(key) is not None
        return found


@dataclass(slots=True)
class _Collected:
    """What matters of the pieces so far.

    ``seen`` counts events by category, and kernels; ``any_step`` takes the steps that JAX marks as
    such whatever their name.
    """

    is_step: _Matches
    operators: bool
    any_step: bool
    is_framework: _Matches
    dispatched: bool = False
    seen: Counter[str] = field(default_factory=Counter)
    first_us: float = float("inf")
    identities: Interner = field(default_factory=Interner)
    threads: Interner = field(default_factory=Interner)
    names: Interner = field(default_factory=Interner)
    devices: Interner = field(default_factory=Interner)
    streams: Interner = field(default_factory=Interner)
    gpu: _Growing = field(default_factory=lambda: _Growing(4))
    calls: _Growing = field(default_factory=lambda: _Growing(3))
    ranges: list[tuple[str, Event]] = field(default_factory=list)
    jax_devices: dict[Any, int] = field(default_factory=dict)
    collectives: list[Event] = field(default_factory=list)
    is_module: _Matches = field(default_factory=lambda: _Matches(_IS_MODULE))
    scopes: _Growing = field(default_factory=lambda: _Growing(2))
    scope_names: Interner = field(default_factory=Interner)

    def take(self, piece: Sequence[Event]) -> None:
        """Sort the events of one piece into columns."""
        found: defaultdict[str, list[Event]] = defaultdict(list)
        for event in piece:
            if event.ph == "X":
                found[event.cat].append(event)
            elif event.name == "process_name":
                self._process(event)
        for category, events in found.items():
            self.seen[category] += len(events)
            self.first_us = min([self.first_us, *[e.ts for e in events if e.ts > 0]])
        for work, categories in _WORK.items():
            self._gpu([e for c in categories for e in found.get(c, ())], work)
        for category in _CALLS:
            events = found.get(category, [])
            self._calls(events, [_integer(e.args.correlation) for e in events])
        is_step = self.is_step
        for category in _RANGES:
            events = found.get(category, [])
            self.ranges += [(str(e.name), e) for e in events if is_step[e.name] and _timed(e)]
        for category in (*_RANGES, _PYTHON) if self.operators else _RANGES[:1]:
            events = [e for e in found.get(category, ()) if e.dur * 1000 >= LONG_NS]
            events = [e for e in events if not is_step[e.name]]
            if category == _PYTHON:  # names of the user's own files, and every call of them
                events = [e for e in events if self.is_framework[e.name]]
            self._calls(events, [UNKNOWN] * len(events))
        self._scopes(found)
        self._uncategorised(found.get("", ()))

    def _process(self, event: Event) -> None:
        """The name of a process: JAX calls them by the device."""
        if gpu := _GPU.match(name := str(event.args.name)):
            self.jax_devices[event.pid] = int(gpu[1])
        self.seen["jax"] += name.startswith(("/device:", "/host:"))

    def _scopes(self, found: Mapping[str, Sequence[Event]]) -> None:
        """Operators (with their shapes where those tell the work), modules, ranges of the user."""
        names, threads = self.scope_names, self.threads
        for category, by in _SCOPES.items() if self.operators else ():
            events = found.get(category, ())
            if by == "op":
                events = [e for e in events if e.name not in _SHAPING]
            elif by == "module":
                events = [e for e in events if self.is_module[e.name]]
            else:
                events = [e for e in events if not self.is_step[e.name]]
            which = [
                names[
                    *(by, e.name, bytes(a.shapes), bytes(a.types)),
                    b"" if e.name in BY_SHAPES else bytes(a.values),
                ]
                if e.name in FORMULAS and (a := e.args).shapes
                else names[by, e.name]
                for e in events
            ]
            self.scopes.extend(events, [threads[e.pid, e.tid] for e in events], which)

    def begin_at_zero(self) -> None:
        """Shift all times where some are below 0, as -1 is a launch that is not known."""
        timed = [*(e for _, e in self.ranges), *self.collectives]
        columns = [np.frombuffer(c.start) for c in (self.gpu, self.calls, self.scopes) if c.start]
        columns.append(np.array([e.ts for e in timed]))
        below = [c[(c < 0) & (c >= -DAY_NS / 1000)] for c in columns]
        first = min(float(c.min(initial=0)) for c in below)
        least = float(np.floor(first))  # whole, so that fractions stay
        if least < 0:
            self.first_us = first - least
            for column in columns:
                column -= least  # in place
            for e in {id(e): e for e in timed}.values():
                e.ts -= least

    def _gpu(self, events: Sequence[Event], work: Work) -> None:
        if work is Work.KERNEL:
            self.seen["kernels"] += len(events)
        self.dispatched |= any(e.args.kind == "Dispatch Kernel" for e in events)
        pairs = [(e, e.args) for e in events]
        identities, devices, streams = self.identities, self.devices, self.streams
        self.gpu.extend(
            events,
            [devices[e.pid if a.device is None else a.device] for e, a in pairs],
            [identities[work, e.name, a.grid, a.block, a.collective is not None] for e, a in pairs],
            [_integer(a.correlation) for _, a in pairs],
            [streams[e.pid, e.tid] for e in events],
        )
        self.collectives += [e for e, a in pairs if a.group is not None and _timed(e)]

    def _calls(self, events: Sequence[Event], correlations: list[int]) -> None:
        threads, names = self.threads, self.names
        of_thread = [threads[e.pid, e.tid] for e in events]
        self.calls.extend(events, of_thread, [names[e.name] for e in events], correlations)

    def _uncategorised(self, events: Sequence[Event]) -> None:
        """JAX gives no categories: the arguments tell."""
        kernels = [e for e in events if e.args.kernel_details is not None]
        copies = [e for e in events if e.args.memcpy_details is not None]
        self.seen["kernels"] += len(kernels)
        self._jax_gpu(kernels, [(Work.KERNEL, e.args.name or e.name) for e in kernels])
        self._jax_gpu(copies, [(Work.COPY, e.name) for e in copies])
        steps = [e for e in events if e.args.step_num is not None and _timed(e)]
        named = [(f"{e.name} {e.args.step_num}", e) for e in steps]
        self.ranges += [(n, e) for n, e in named if self.any_step or self.is_step[n]]
        on_gpu = {id(e) for e in (*kernels, *copies)}
        calls = [e for e in events if e.args.correlation_id is not None and id(e) not in on_gpu]
        self.seen["cuda_runtime"] += len(calls)
        self._calls(calls, [_integer(e.args.correlation_id) for e in calls])

    def _jax_gpu(self, events: Sequence[Event], work: Sequence[tuple[Work, Any]]) -> None:
        sizes = [
            {m[1]: (int(m[2]), int(m[3]), int(m[4])) for m in _DETAILS.finditer(text)}
            for text in (str(e.args.kernel_details or "") for e in events)
        ]
        pairs = zip(work, sizes, strict=True)
        self.gpu.extend(
            events,
            [self.devices[e.pid] for e in events],
            [self.identities[*w, s.get("grid"), s.get("block"), False] for w, s in pairs],
            [_integer(e.args.correlation_id) for e in events],
            [self.streams[e.pid, e.tid] for e in events],
        )


def _timed(event: Event) -> bool:
    return abs(event.ts) <= _LATEST_US and 0 <= event.dur <= _LATEST_US


def _nanoseconds(microseconds: Any) -> Integers:
    """Whole and fraction apart: a time since 1970 in ns does not fit into a float."""
    whole = np.floor(microseconds)
    fraction = np.rint((microseconds - whole) * 1000).astype(np.int64)
    return cast("Integers", whole.astype(np.int64) * 1000 + fraction)


def _integer(value: Any) -> int:
    """``value`` as a number: 7, "7" and "stream 7" are 7; -1 where there is none."""
    if type(value) is not int:
        digits = None if value is None else _DIGITS.search(str(value))
        value = int(digits[0]) if digits else UNKNOWN
    return value if -_LARGEST <= value <= _LARGEST else UNKNOWN


# --- columns to a timeline


def _joined(found: _Collected, owner: Integers) -> tuple[Events, Calls, int]:
    """What ran and the host's calls, joined; and how many events have times that cannot be.

    ``owner`` is the process of each thread.
    """
    columns = found.gpu.arrays()
    timed = possible(*columns[:2])
    if not timed.all():
        columns = [c[timed] for c in columns]
    start, end, device, which, correlation, stream = columns
    *columns, keys = found.calls.arrays()
    order = np.argsort(columns[0], kind="stable")
    calls = Calls.of(*columns, order=order)
    del columns
    launch, launched, thread = calls.launches(correlation, keys[order])
    process = np.where(thread >= 0, owner[thread], UNKNOWN)
    numbers = [found.jax_devices.get(d, _integer(d)) for d in found.devices]
    device = np.array(numbers, dtype=np.int64)[device]
    events = Events.of(start, end, device, which, launch, launched, thread, process, stream)
    return events, calls, found.gpu.untimed + int((~timed).sum())


def _timeline(file: str, found: _Collected, scan: Scan) -> Timeline:
    """Columns in ns, launches joined to what they launched."""
    threads = [found.threads[e.pid, e.tid] for _, e in found.ranges]
    processes = Interner()
    owner = np.array([processes[pid] for pid, _ in found.threads] or [UNKNOWN], dtype=np.int64)
    found.begin_at_zero()
    events, calls, untimed = _joined(found, owner)
    first = 0.0 if np.isinf(found.first_us) else found.first_us
    origin, *begins = _nanoseconds(np.array([first, *(e.ts for _, e in found.ranges)])).tolist()
    if len(events) and events.start[0] - origin > DAY_NS:  # the first time of all cannot be
        origin = int(events.start[0])
    began = _nanoseconds(np.array([e.ts for e in found.collectives])).tolist()
    ran_on = [
        _integer(e.pid if e.args.device is None else e.args.device) for e in found.collectives
    ]
    own_rank = scan.metadata.get("distributedInfo")
    scopes = Calls.of(*found.scopes.arrays())
    if len(scopes.start):
        kinds = [_scope(*key) for key in found.scope_names]
        source, sources = with_sources(events, scopes, kinds)
        events = replace(events, source=source)
    else:
        sources = ()
    damage = [Note(code="truncated")] if scan.truncated else []
    if scan.dropped:
        damage.append(Note(code="damaged", facts={"events": scan.dropped}))
    return Timeline(
        file=file,
        format="jax" if found.jax_devices else "kineto",
        identities=tuple(
            identity(work, str(name), grid=_dim3(grid), block=_dim3(block), collective=collective)
            for work, name, grid, block, collective in found.identities
        ),
        events=events,
        calls=calls,
        call_names={number: printable(str(name)) for name, number in found.names.items()},
        ranges=tuple(
            Range(
                name=printable(name),
                start=begin,
                end=begin + round(event.dur * 1000),
                process=int(owner[own]),
                thread=own,
            )
            for (name, event), begin, own in zip(found.ranges, begins, threads, strict=True)
        ),
        devices=_devices(scan.metadata),
        origin=origin,
        from_start=scan.metadata.get(FROM_START) is True,
        truncated=scan.truncated,
        sources=sources,
        rank=own_rank.get("rank") if isinstance(own_rank, dict) else None,
        messages={
            (where, at): _message(e.args)
            for where, at, e in zip(ran_on, began, found.collectives, strict=True)
        },
        notes=(*damage, *events.notes(untimed=untimed)),
    )


def _message(args: Args) -> Message:
    """What the arguments of a kernel say of the collective that it is."""
    elements = max(_integer(args.sent), _integer(args.received))
    width = _ELEMENT_BYTES.get(str(args.dtype))
    members, sequence = _integer(args.members), _integer(args.sequence)
    ranks = bytes(args.group_ranks).decode("utf-8", "replace").strip('"')
    return Message(
        group=printable(f"{args.group} {ranks}".strip()),  # groups apart may share a name
        name=printable(str(args.collective)),
        sequence=sequence if sequence >= 0 else None,
        size=None if width is None or elements < 0 else float(elements * width),
        members=members if members > 0 else None,
    )


def _scope(by: From, name: Any, *arguments: bytes) -> Scope:
    text = printable(str(name))
    if by == "module":
        text = _NUMBER.sub("", text.removeprefix(_MODULE))
    return Scope(by=by, name=text, operation=operation(text, *arguments) if arguments else None)


def _dim3(value: Sequence[int] | None) -> Dim3 | None:
    return (value[0], value[1], value[2]) if value is not None and len(value) == 3 else None


def _properties(metadata: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = metadata.get("deviceProperties")
    return [d for d in found if isinstance(d, dict)] if isinstance(found, list) else []


def _devices(metadata: Mapping[str, Any]) -> dict[int, Device]:
    devices = {}
    for raw in _properties(metadata):
        if isinstance(raw.get("id"), int):
            major, minor = raw.get("computeMajor"), raw.get("computeMinor")
            name, sms = raw.get("name"), raw.get("numSms")
            devices[raw["id"]] = Device(
                index=raw["id"],
                name=printable(name) if isinstance(name, str) and name else None,
                compute_capability=None if major is None else f"{major}.{minor}",
                sm_count=sms if isinstance(sms, int) else None,
            )
    return devices
