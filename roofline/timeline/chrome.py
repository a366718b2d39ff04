"""PyTorch (Kineto) and JAX (XProf) traces: Chrome events to a ``Timeline``.

Events are sorted into columns a piece of the trace and a category at a time.
"""

from __future__ import annotations

import gzip
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from pathlib import Path
from typing import Any, cast

import numpy as np

from roofline.files import too_large, uncollected, unpacked_limit
from roofline.kernel_names import printable
from roofline.model import Device, Dim3, Note
from roofline.patterns import compiled
from roofline.timeline.chrome_scan import (
    CallArgs,
    CollectiveArgs,
    Event,
    JaxArgs,
    OperatorArgs,
    Scan,
    WorkArgs,
    arguments,
)
from roofline.timeline.events import (
    DAY_NS,
    LONG_NS,
    STEP,
    UNKNOWN,
    Calls,
    Events,
    Integers,
    Interner,
    LaunchSource,
    Mask,
    Message,
    Range,
    Timeline,
    Work,
    identity,
    no_such_step,
    possible,
    refusal,
    table,
)
from roofline.timeline.idle import known_classes
from roofline.timeline.model import From
from roofline.timeline.operations import BY_SHAPES, FORMULAS, operation
from roofline.timeline.sources import Scope, with_sources

FROM_START = "roofline.from_start"  # a key of our own traces: see trace.py
PIECE_BYTES = 2 << 20  # larger pieces fall out of the processor's cache
STREAM_PIECE_BYTES = 256 << 10

_WORK = {category: Work(work) for category, work in table("work").items()}
_HOST: dict[str, str] = table("host")
_READ = ("op", "module")  # unless a trace is read in small pieces
_SHAPING = frozenset(f"aten::{name}" for name in table("operators")["shaping"].split())
_MODULE = "nn.Module: "
_IS_MODULE = re.compile(table("operators")["module"])
_NUMBER = re.compile(r"_\d+$")  # of an instance, as PyTorch's profiler counts modules
_HIP = re.compile(r"hip[A-Z]")
_GPU = re.compile(r"/device:GPU:(\d+)")
_DETAILS = re.compile(r"(grid|block):(\d+),(\d+),(\d+)")
_DIGITS = re.compile(r"\d+")
_LATEST_US = 4e15  # later than the year 2090: nonsense, which would overflow
_LARGEST = (1 << 63) - 1
_ELEMENT_BYTES = table("element_bytes")


def read_chrome(path: Path, *, step: str | None = None, stream: bool = False) -> Timeline:
    """Read a ``.json`` or ``.json.gz`` trace as ``load_timeline`` says."""
    pattern, any_step = compiled(step or STEP, option="--step"), step is None
    kinds = {
        what: _Kinds(what, pattern, any_step=any_step, stream=stream)
        for what in {*_HOST.values(), "step"}
    }
    found = _Collected(kinds=kinds)
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    with uncollected(), _PackedTrace(path) if packed else path.open("rb") as source:
        scan = Scan(stream=source, piece_bytes=STREAM_PIECE_BYTES if stream else PIECE_BYTES)
        for piece in scan.pieces():
            found.take(piece)
    calls = [str(name) for what, name, *_ in found.names if what == "call"]
    if found.dispatched or _is_amd(calls, scan.metadata):
        raise refusal("amd", path=path)
    if not found.seen["kernels"]:
        raise refusal(_why_no_kernels(scan, found.seen, calls), file=path.name)
    timeline = _timeline(path.name, found, scan)
    if step is not None and not timeline.ranges and not scan.truncated:
        names = [n for what, own in kinds.items() if what != "call" for n in own]
        raise no_such_step(path.name, step, names)
    return timeline


def _is_amd(calls: Iterable[str], metadata: Mapping[str, Any]) -> bool:
    named = any("AMD" in str(d.get("name", "")) for d in _properties(metadata))
    hip = any(map(_HIP.match, calls))
    return named or hip or any(k.startswith(("hip_", "roctracer")) for k in metadata)


def _why_no_kernels(scan: Scan, seen: Counter[str], calls: Iterable[str]) -> str:
    """The likeliest reason, by its code."""
    gpu = (c for c in (*_HOST, *_WORK) if _HOST.get(c) in (None, "call"))
    if not scan.found:
        return "no_list"
    if scan.truncated:
        return "cut_short"
    if seen.get("cuda_profiler_range"):
        return "counters"
    if seen["jax"]:
        return "jax"
    if not any(seen.values()):
        return "unreadable" if scan.dropped else "no_events"
    if not any(map(seen.get, gpu)):
        return "cpu_only"
    return "calls_only" if any("Launch" in name for name in calls) else "no_launch"


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
    """Growing columns of one kind of event: start and duration in us, then integers as ``rest``.

    ``untimed`` counts the events that ``arrays`` left out: their times cannot be.
    """

    untimed = 0

    def __init__(self, rest: str) -> None:
        self.start, self.duration = array("d"), array("d")
        self.rest = [array(code) for code in rest]

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
        rest = [np.frombuffer(c, dtype=c.typecode) for c in self.rest]
        self.start = self.duration = array("d")
        self.rest = []
        timed = (abs(begin) <= _LATEST_US) & (lasted >= 0) & (lasted <= _LATEST_US)
        if not timed.all():
            self.untimed = int((~timed).sum())
            begin, lasted, rest = begin[timed], lasted[timed], [c[timed] for c in rest]
        start = _nanoseconds(begin)
        return [start, start + np.rint(lasted * 1000).astype(np.int64), *rest]


class _Kinds(dict[Any, tuple[bool, bool, bool, bool, float | None]]):
    """What each name of one kind of host event, ``what``, is; found out once for each.

    A step; a CUDA call; what fills gaps where it is long; what tells where a launch came from; and
    how long it must be to be kept, in us, where that matters.
    """

    def __init__(self, what: str, step: re.Pattern[str], *, any_step: bool, stream: bool) -> None:
        super().__init__()
        self.what, self.step, self.any_step, self.stream = what, step, any_step, stream
        self.framework = known_classes().any_name

    def __missing__(self, name: Any) -> tuple[bool, bool, bool, bool, float | None]:
        what, text = self.what, str(name)
        step = what == "step" and self.any_step
        step |= what in ("op", "nvtx", "step") and self.step.search(text) is not None
        fills = tells = not step and (what == "nvtx" or (what in _READ and not self.stream))
        if what == "module":  # every call of the user's own files, too
            fills &= self.framework.search(text) is not None
            tells &= _IS_MODULE.search(text) is not None
        tells &= not self.stream and not (what == "op" and text in _SHAPING)
        least = None if step or tells else LONG_NS / 1000 if fills else float("inf")
        self[name] = found = (step, what == "call", fills, tells, least)
        return found


@dataclass(slots=True)
class _Collected:
    """What matters of the pieces so far.

    ``seen`` counts events by category, and kernels. ``host`` is of CUDA calls, operators, modules,
    ranges and steps: thread, place in ``names``, correlation. A name is what it names, its text
    and, of an operator that computes, the arguments. JAX has ``jax_devices``, by process.
    """

    kinds: Mapping[str, _Kinds]
    dispatched: bool = False
    seen: Counter[str] = field(default_factory=Counter)
    first_us: float = float("inf")
    identities: Interner = field(default_factory=Interner)
    threads: Interner = field(default_factory=Interner)
    names: Interner = field(default_factory=Interner)
    devices: Interner = field(default_factory=Interner)
    streams: Interner = field(default_factory=Interner)
    gpu: _Growing = field(default_factory=lambda: _Growing("iiqii"))
    host: _Growing = field(default_factory=lambda: _Growing("iiq"))
    messages: list[Message] = field(default_factory=list)
    jax_devices: dict[Any, int] = field(default_factory=dict)

    def take(self, piece: Sequence[Event]) -> None:
        """Sort the events of one piece into columns."""
        found: defaultdict[str, list[Event]] = defaultdict(list)
        for event in piece:
            if event.ph == "X":
                found[event.cat].append(event)
            elif event.name == "process_name":  # JAX calls processes by the device
                name = str(arguments([event], JaxArgs)[0].name)
                if gpu := _GPU.match(name):
                    self.jax_devices[event.pid] = int(gpu[1])
                self.seen["jax"] += name.startswith(("/device:", "/host:"))
        for category, events in found.items():
            self.seen[category] += len(events)
            self.first_us = min([self.first_us, *[e.ts for e in events if e.ts > 0]])
            if work := _WORK.get(category):
                self._gpu(events, arguments(events, WorkArgs), work)
            elif what := _HOST.get(category):
                self._host(events, what)
            elif not category:
                self._jax(events)

    def _host(self, events: list[Event], what: str) -> None:
        if what == "call":
            self._calls(events, what, [a.correlation for a in arguments(events, CallArgs)])
            return
        kinds = self.kinds[what]
        kept = [e for e in events if (least := kinds[e.name][-1]) is None or e.dur >= least]
        if what == "op" and (computing := [e for e in kept if e.name in FORMULAS]):
            kept = [e for e in kept if e.name not in FORMULAS]
            told = zip(computing, arguments(computing, OperatorArgs), strict=True)
            texts = [
                (bytes(a.shapes), bytes(a.types), b"" if e.name in BY_SHAPES else bytes(a.values))
                for e, a in told
            ]
            self._calls(computing, what, texts=texts)
        self._calls(kept, what)

    def _calls(
        self,
        events: Sequence[Event],
        what: str,
        correlations: list[int] | None = None,
        texts: Iterable[tuple[bytes, ...]] = repeat(()),
    ) -> None:
        threads, names = self.threads, self.names
        self.host.extend(
            events,
            [threads[e.pid, e.tid] for e in events],
            [names[what, e.name, more] for e, more in zip(events, texts, strict=False)],
            correlations or [UNKNOWN] * len(events),
        )

    def _gpu(self, events: Sequence[Event], args: Sequence[WorkArgs], work: Work) -> None:
        if work is Work.KERNEL:
            self.seen["kernels"] += len(events)
        pairs = [*zip(events, args, strict=True)]
        self.dispatched |= any(a.kind == "Dispatch Kernel" for a in args)
        identities, devices, streams = self.identities, self.devices, self.streams
        self.gpu.extend(
            events,
            [devices[e.pid if a.device is None else a.device] for e, a in pairs],
            [identities[work, e.name, a.grid, a.block, a.collective is not None] for e, a in pairs],
            [a.correlation for a in args],
            [streams[e.pid, e.tid] for e in events],
            [UNKNOWN if a.group is None else self._message(e, a) for e, a in pairs],
        )

    def _message(self, event: Event, known: WorkArgs) -> int:
        """The place of what the arguments of a kernel say of the collective that it is."""
        (args,) = arguments([event], CollectiveArgs)
        elements, width = max(args.sent, args.received), _ELEMENT_BYTES.get(str(args.dtype))
        ranks = bytes(args.ranks).decode("utf-8", "replace").strip('"{}')
        message = Message(
            group=printable(f"{known.group} {ranks}".strip()),  # groups apart may share a name
            name=printable(str(known.collective)),
            sequence=args.sequence if args.sequence >= 0 else None,
            size=None if width is None or elements < 0 else float(elements * width),
            members=args.members if args.members > 0 else None,
        )
        self.messages.append(message)
        return len(self.messages) - 1

    def _jax(self, events: Sequence[Event]) -> None:
        """JAX gives no categories: the arguments tell."""
        found: defaultdict[str, list[tuple[Event, WorkArgs]]] = defaultdict(list)
        for event, told in zip(events, arguments(events, JaxArgs), strict=True):
            args = WorkArgs(correlation=_integer(told.correlation_id))
            if told.kernel_details is not None:
                for size in _DETAILS.finditer(str(told.kernel_details)):
                    setattr(args, size[1], (int(size[2]), int(size[3]), int(size[4])))
                event.name = told.name or event.name
                found[Work.KERNEL].append((event, args))
            elif told.memcpy_details is not None:
                found[Work.COPY].append((event, args))
            elif told.step_num is not None:
                event.name = f"{event.name} {told.step_num}"
                found["step"].append((event, args))
            elif told.correlation_id is not None:
                found["call"].append((event, args))
        self.seen["cuda_runtime"] += len(found["call"])
        for what, pairs in found.items():
            own, known = [e for e, _ in pairs], [a for _, a in pairs]
            if isinstance(what, Work):
                self._gpu(own, known, what)
            else:
                self._calls(own, what, [a.correlation for a in known])

    def begin_at_zero(self) -> None:
        """Shift all times where some are below 0, as -1 is a launch that is not known."""
        columns = [np.frombuffer(c.start) for c in (self.gpu, self.host) if c.start]
        below = [c[(c < 0) & (c >= -DAY_NS / 1000)] for c in columns]
        first = min(float(c.min(initial=0)) for c in below)
        least = float(np.floor(first))  # whole, so that fractions stay
        if least < 0:
            self.first_us = first - least
            for column in columns:
                column -= least  # in place


def _nanoseconds(microseconds: Any) -> Integers:
    """Whole and fraction apart: a time since 1970 in ns does not fit into a float."""
    whole = np.floor(microseconds)
    fraction = np.rint((microseconds - whole) * 1000).astype(np.int64)
    return cast("Integers", whole.astype(np.int64) * 1000 + fraction)


def _integer(value: Any) -> int:
    """``value`` as a number: 7, "7" and "stream 7" are 7; -1 where there is none."""
    digits = None if value is None else _DIGITS.search(str(value))
    number = int(digits[0]) if digits else UNKNOWN
    return number if number <= _LARGEST else UNKNOWN


# --- columns to a timeline


def _timeline(file: str, found: _Collected, scan: Scan) -> Timeline:
    """Columns in ns, launches joined to what they launched."""
    found.begin_at_zero()
    flags = [found.kinds[what][name][:4] for what, name, _ in found.names]
    kinds = np.array(flags, dtype=np.bool_).reshape(-1, 4)
    texts = [printable(str(text)) for _, text, _ in found.names]
    processes = Interner()
    owner = np.array([processes[pid] for pid, _ in found.threads] or [UNKNOWN], dtype=np.int64)
    *columns, correlation = found.host.arrays()
    begun, done, name = (columns[i] for i in (0, 1, 3))
    step, call, fills, tells = (own[name] for own in kinds.T)
    calls, keys = _chosen(call | (fills & (done - begun >= LONG_NS)), columns, correlation)
    scopes, _ = _chosen(tells, columns, correlation)
    steps = [c[step].tolist() for c in columns]
    del columns, correlation, begun, done, name  # millions of rows
    events, messages, untimed = _events(found, calls, keys, owner)
    sources: tuple[LaunchSource, ...] = ()
    if len(scopes.start):
        source, sources = with_sources(events, scopes, [_scope(*key) for key in found.names])
        events = replace(events, source=source)
    first = 0.0 if np.isinf(found.first_us) else found.first_us
    origin = int(_nanoseconds(np.array(first)))
    if len(events) and events.start[0] - origin > DAY_NS:  # the first time of all cannot be
        origin = int(events.start[0])
    own = scan.metadata.get("distributedInfo")
    told = own if isinstance(own, dict) else {}
    rank, world_size = (
        value if type(value := told.get(key)) is int and value >= 0 else None
        for key in ("rank", "world_size")
    )
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
        call_names={number: texts[number] for number in np.unique(calls.name).tolist()},
        ranges=tuple(
            Range(name=texts[n], start=start, end=end, process=int(owner[own]), thread=own)
            for start, end, own, n in zip(*steps, strict=True)
        ),
        devices=_devices(scan.metadata),
        origin=origin,
        from_start=scan.metadata.get(FROM_START) is True,
        truncated=scan.truncated,
        sources=sources,
        rank=rank,
        world_size=world_size,
        messages=messages,
        notes=(*damage, *events.notes(untimed=untimed)),
    )


def _chosen(which: Mask, columns: Sequence[Integers], keys: Integers) -> tuple[Calls, Integers]:
    own = np.flatnonzero(which)
    own = own[np.argsort(columns[0][own], kind="stable")]
    return Calls.of(*(c[own].astype(np.int64) for c in columns)), keys[own]


def _events(
    found: _Collected, calls: Calls, keys: Integers, owner: Integers
) -> tuple[Events, dict[tuple[int, int], Message], int]:
    """What ran, joined to the ``calls`` of these ``keys``; how many have times that cannot be.

    ``owner`` is the process of each thread.
    """
    columns = found.gpu.arrays()
    timed = possible(*columns[:2])
    if not timed.all():
        columns = [c[timed] for c in columns]
    start, end, device, which, correlation, stream, message = columns
    numbers = [found.jax_devices.get(d, _integer(d)) for d in found.devices]
    device = np.array(numbers, dtype=np.int64)[device]
    *launches, since = calls.launches(correlation, keys)
    process = np.where(launches[-1] >= 0, owner[launches[-1]], UNKNOWN)
    told = np.flatnonzero(message >= 0)
    where = zip(*(c[told].tolist() for c in (device, start, message)), strict=True)
    messages = {(number, at): found.messages[i] for number, at, i in where}
    events = Events.of(start, end, device, which, *launches, process, stream, since)
    return events, messages, found.gpu.untimed + int((~timed).sum())


def _scope(by: From, name: Any, texts: Sequence[bytes]) -> Scope:
    text = printable(str(name))
    if by == "module":
        text = _NUMBER.sub("", text.removeprefix(_MODULE))
    return Scope(by=by, name=text, operation=operation(text, *texts) if texts else None)


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
