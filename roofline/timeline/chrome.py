"""PyTorch (Kineto) and JAX (XProf) traces: Chrome events to a ``Timeline``."""

from __future__ import annotations

import gc
import gzip
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from io import BufferedIOBase
from pathlib import Path
from typing import Any

import numpy as np

from roofline.kernel_names import base_name, printable
from roofline.model import Device, Dim3, Note
from roofline.timeline.chrome_collect import Collected, Matches, integer, nanoseconds
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
    no_valid_time,
)
from roofline.timeline.step_refusal import no_such_step
from roofline.typed import Typed

PIECE_BYTES = 2 << 20  # larger pieces fall out of the processor's cache
STREAM_PIECE_BYTES = 256 << 10


def read_chrome(path: Path, *, step: str | None = None, stream: bool = False) -> Timeline:
    """Read a ``.json`` or ``.json.gz`` trace.

    Args:
        path: the trace; compression is told by its first bytes.
        step: regular expression for the names of ranges that are steps.
        stream: keep memory small: smaller pieces, and no operators of the host.

    Raises:
        InputError: no NVIDIA kernels in it; the reason says what to record instead.
        UsageError: ``step`` matches no range.

    """
    with _open(path) as source:
        scan = Scan(
            stream=source,
            decode=fast_decoder() or lenient,
            piece_bytes=STREAM_PIECE_BYTES if stream else PIECE_BYTES,
        )
        found = Collected(
            is_step=Matches(Typed(step or STEP, option="--step")),
            operators=not stream,
            any_step=step is None,
        )
        with _no_garbage_collection():
            for piece in scan.pieces():
                found.take(piece)
    refuse_amd(path, scan.metadata, hip=found.is_hip)
    if not found.kernels:
        refuse_empty(path, scan, found.seen)
    if step is not None and not found.ranges and not scan.truncated:
        raise no_such_step(path.name, step, found.is_step)
    return _timeline(path.name, found, scan)


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


def _timeline(file: str, found: Collected, scan: Scan) -> Timeline:
    """Columns in ns, launches joined to what they launched."""
    ranges = tuple(_range(found, name, event) for name, event in found.ranges)
    start, end, device, identity, correlation = found.gpu.arrays()
    *columns, keys = found.calls.arrays()
    order = np.argsort(columns[0], kind="stable")
    calls = make_calls(columns, order)
    launch, launched, thread = join_launches(correlation, calls, keys[order])
    numbers = np.array(
        [found.jax_devices.get(d, integer(d)) for d in found.devices], dtype=np.int64
    )
    processes = Interner()
    owner = np.array([processes[pid] for pid, _ in found.threads] or [UNKNOWN], dtype=np.int64)
    process = np.where(thread >= 0, owner[thread], UNKNOWN)
    events = make_events([start, end, numbers[device], identity, launch, launched, thread, process])
    return Timeline(
        file=file,
        format="jax" if found.jax_devices else "kineto",
        identities=tuple(_identity(*key) for key in found.identities),
        events=events,
        calls=calls,
        call_names={number: harmless(str(name)) for name, number in found.names.items()},
        ranges=tuple(_of_process(r, owner) for r in ranges),
        devices=_devices(scan.metadata),
        origin=_origin(found.first_us),
        truncated=scan.truncated,
        notes=(
            *_damage(scan),
            *no_valid_time(found.gpu.untimed, len(events)),
            *no_launch_record(events),
        ),
    )


def _range(found: Collected, name: str, event: Event) -> Range:
    start = int(nanoseconds(np.array([event.ts]))[0])
    thread = found.threads[event.pid, event.tid]
    end = start + round(event.dur * 1000)
    return Range(name=printable(name), start=start, end=end, thread=thread)


def _of_process(found: Range, owner: Integers) -> Range:
    return replace(found, process=int(owner[found.thread]))


def _origin(first_us: float) -> int:
    return 0 if np.isinf(first_us) else int(nanoseconds(np.array([first_us]))[0])


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
        text = (
            "The file ends in the middle. Its events are in no order of time, so any step may lack "
            "some: wall time, idle time and bounds are not given."
        )
        notes.append(Note(code="truncated", text=text))
    if scan.dropped:
        what = "1 event is" if scan.dropped == 1 else f"{scan.dropped} events are"
        text = f"{what} not valid JSON and left out."
        notes.append(Note(code="damaged", text=text))
    return notes
