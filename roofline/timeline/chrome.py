"""PyTorch (Kineto) and JAX (XProf) traces: Chrome events to a ``Timeline``."""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from roofline.model import Device, Dim3, Note
from roofline.timeline.chrome_refusal import refuse_amd, refuse_empty
from roofline.timeline.chrome_scan import Scan, args_decoder, fast_decoder, lenient
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

PIECE_BYTES = 16 << 20
STREAM_PIECE_BYTES = 1 << 20

# Category, in the spelling of 2021 and of today -> what the event is.
_WORK = {
    "kernel": Work.KERNEL,
    "Kernel": Work.KERNEL,
    "gpu_memcpy": Work.COPY,
    "Memcpy": Work.COPY,
    "gpu_memset": Work.SET,
    "Memset": Work.SET,
}
_CALLS = {"cuda_runtime", "cuda_driver", "Runtime", "runtime", "driver"}
_OPERATORS = {"cpu_op", "Operator"}
_RANGES = {"user_annotation", "cpu_op", "Operator"}

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
        reader = _Reader(step=re.compile(step or STEP), operators=not stream)
        for piece in scan.pieces():
            reader.take(piece)
    refuse_amd(path, scan.metadata, reader.seen)
    if not reader.kernels:
        refuse_empty(path, scan, reader.seen)
    return reader.timeline(path, scan)


def _open(path: Path) -> IO[bytes]:
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    return cast(IO[bytes], gzip.open(path) if packed else path.open("rb"))


@dataclass(slots=True)
class _Reader:
    """Collects what matters from pieces of events; times stay in float us until the end."""

    step: re.Pattern[str]
    operators: bool
    seen: Counter[str] = field(default_factory=Counter)
    kernels: int = 0
    first_us: float = float("inf")
    args: Callable[[Any], dict[str, Any]] = field(default_factory=args_decoder)
    identities: Interner = field(default_factory=Interner)
    threads: Interner = field(default_factory=Interner)
    processes: Interner = field(default_factory=Interner)
    names: Interner = field(default_factory=Interner)
    devices: Interner = field(default_factory=Interner)
    gpu: _Rows = field(default_factory=lambda: _Rows(3))
    calls: _Rows = field(default_factory=lambda: _Rows(3))
    ranges: list[tuple[str, float, float, int, int]] = field(default_factory=list)
    jax_devices: dict[Any, int] = field(default_factory=dict)

    def take(self, piece: list[Any]) -> None:
        """Sort the events of one piece into columns."""
        for event in piece:
            if event.ph == "X":
                category = event.cat
                if category in _WORK:
                    self._gpu(event, _WORK[category])
                elif category in _CALLS:
                    self._call(event)
                elif category in _RANGES:
                    self._operator(event)
                elif not category:
                    self._uncategorised(event)
                else:
                    self.seen[category] += 1
            elif event.ph == "M" and event.name == "process_name":
                self._process(event)
        starts = [e.ts for e in piece if e.ph == "X" and e.ts > 0]
        self.first_us = min(self.first_us, min(starts, default=self.first_us))

    def _gpu(self, event: Any, work: Work) -> None:
        args = self.args(event.args)
        device = args.get("device", event.pid)
        if args.get("kind") == "Dispatch Kernel":
            self.seen["amd"] += 1
        self.kernels += work is Work.KERNEL
        self.gpu.add(
            event,
            self.devices(device),
            self.identities(
                (
                    work,
                    event.name,
                    _dim3(args.get("grid")),
                    _dim3(args.get("block")),
                    "Collective name" in args,
                )
            ),
            _integer(args.get("correlation")),
        )

    def _call(self, event: Any) -> None:
        self.seen["call"] += 1
        name = event.name if isinstance(event.name, str) else ""
        if name.startswith("hip"):
            self.seen["amd"] += 1
        correlation = _integer(self.args(event.args).get("correlation"))
        self.calls.add(event, self._thread(event), self.names(name), correlation)

    def _operator(self, event: Any) -> None:
        name = event.name if isinstance(event.name, str) else ""
        if self.step.search(name):
            self._range(event, name)
        elif self.operators and event.cat in _OPERATORS:
            self.calls.add(event, self._thread(event), self.names(name), UNKNOWN)

    def _uncategorised(self, event: Any) -> None:
        """JAX gives no categories: the arguments tell."""
        args = self.args(event.args)
        if not args:
            return
        if "kernel_details" in args or "memcpy_details" in args:
            self._jax_gpu(event, args)
        elif "step_num" in args:
            self._range(event, f"{event.name} {args['step_num']}")
        elif "correlation_id" in args:
            self.seen["call"] += 1
            correlation = _integer(args["correlation_id"])
            self.calls.add(event, self._thread(event), self.names(str(event.name)), correlation)

    def _jax_gpu(self, event: Any, args: Mapping[str, Any]) -> None:
        work = Work.KERNEL if "kernel_details" in args else Work.COPY
        sizes = {
            m[1]: (int(m[2]), int(m[3]), int(m[4]))
            for m in _DETAILS.finditer(str(args.get("kernel_details", "")))
        }
        name = args.get("name") if work is Work.KERNEL else None
        self.kernels += work is Work.KERNEL
        key = (work, name or event.name, sizes.get("grid"), sizes.get("block"), False)
        self.gpu.add(
            event,
            self.devices(event.pid),
            self.identities(key),
            _integer(args.get("correlation_id")),
        )

    def _process(self, event: Any) -> None:
        name = str(self.args(event.args).get("name", ""))
        if match := re.fullmatch(r"/device:GPU:(\d+).*", name):
            self.jax_devices[event.pid] = int(match[1])

    def _range(self, event: Any, name: str) -> None:
        thread = self._thread(event)
        self.ranges.append((name, event.ts, event.dur, self.processes(event.pid), thread))

    def _thread(self, event: Any) -> int:
        return self.threads((event.pid, event.tid))

    def timeline(self, path: Path, scan: Scan) -> Timeline:
        """Columns in ns, launches joined to what they launched."""
        start, end, device, identity, correlation = self.gpu.columns()
        numbers = np.array([self._device_number(d) for d in self.devices.values] or [0])
        *columns, keys = self.calls.columns()
        order = np.argsort(columns[0], kind="stable")
        calls = make_calls(columns, order)
        launch, thread = join_launches(correlation, calls, keys[order])
        owner = np.array(
            [self.processes(pid) for pid, _ in self._pairs()] or [UNKNOWN], dtype=np.int64
        )
        process = np.where(thread >= 0, owner[thread], UNKNOWN)
        events = make_events(
            [start, end, numbers[device].astype(np.int64), identity, launch, thread, process]
        )
        return Timeline(
            file=path.name,
            format="jax" if self.jax_devices else "kineto",
            identities=tuple(_identity(key) for key in self.identities.values),
            events=events,
            calls=calls,
            call_names={i: harmless(str(n)) for n, i in self.names.values.items()},
            ranges=tuple(self._range_value(r) for r in self.ranges),
            devices=_devices(scan.metadata),
            origin=_nanoseconds(np.array([self.first_us]))[0].item(),
            notes=(*_damage(scan), *no_launch_record(events)),
        )

    def _pairs(self) -> list[tuple[Any, Any]]:
        return cast("list[tuple[Any, Any]]", list(self.threads.values))

    def _range_value(self, found: tuple[str, float, float, int, int]) -> Range:
        name, ts, duration, process, thread = found
        start = int(_nanoseconds(np.array([ts]))[0])
        return Range(
            name=printable(name),
            start=start,
            end=start + round(duration * 1000),
            process=process,
            thread=thread,
        )

    def _device_number(self, value: Any) -> int:
        return self.jax_devices.get(value, _integer(value))


class _Rows:
    """Growing columns of one kind of event: start and duration in us, then integers."""

    def __init__(self, width: int) -> None:
        from array import array

        self.start, self.duration = array("d"), array("d")
        self.rest = [array("q") for _ in range(width)]

    def add(self, event: Any, first: int, second: int, third: int) -> None:
        self.start.append(event.ts)
        self.duration.append(event.dur)
        for column, value in zip(self.rest, (first, second, third), strict=True):
            column.append(value)

    def columns(self) -> list[Integers]:
        """Start and end in ns, then the integers."""
        start = _nanoseconds(np.frombuffer(self.start, dtype=np.float64))
        lasted = np.rint(np.frombuffer(self.duration, dtype=np.float64) * 1000).astype(np.int64)
        return [
            start,
            start + np.maximum(lasted, 0),
            *(np.frombuffer(c, dtype=np.int64) for c in self.rest),
        ]


def _nanoseconds(microseconds: Any) -> Integers:
    """Whole and fraction apart: a time since 1970 in ns does not fit into a float."""
    whole = np.floor(microseconds)
    fraction = np.rint((microseconds - whole) * 1000).astype(np.int64)
    return cast("Integers", whole.astype(np.int64) * 1000 + fraction)


def _identity(key: object) -> Identity:
    work, name, grid, block, collective = cast("tuple[Work, Any, Any, Any, bool]", key)
    text = printable(str(name))
    return Identity(
        work=work,
        name=text,
        base_name=base_name(text) if work is Work.KERNEL else text,
        grid=grid,
        block=block,
        collective=collective,
    )


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
        notes.append(
            Note(code="truncated", text="The file ends in the middle: what precedes it was read.")
        )
    if scan.dropped:
        text = f"{scan.dropped} events are not valid JSON and were left out."
        notes.append(Note(code="damaged", text=text))
    return notes


def _dim3(value: Any) -> Dim3 | None:
    if isinstance(value, list) and len(value) == 3 and all(isinstance(v, int) for v in value):
        return value[0], value[1], value[2]
    return None


def _integer(value: Any) -> int:
    """``value`` as a number: 7, "7" and "stream 7" are 7; -1 where there is none."""
    if isinstance(value, int):
        return value
    digits = re.search(r"\d+", str(value)) if value is not None else None
    return int(digits[0]) if digits else UNKNOWN
