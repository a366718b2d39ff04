"""Hand-made timelines: a test states what ran when, in us, and gets a file or a ``Timeline``."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

from roofline.timeline.model import Selection, Use

PID = 100


def event(
    cat: str, name: str, start: float, lasted: float, *, tid: int = PID, pid: int = PID, **args: Any
) -> dict[str, Any]:
    """An event of Kineto."""
    head = {"ph": "X", "cat": cat, "name": name, "ts": start, "dur": lasted}
    return head | {"pid": pid, "tid": tid, "args": args}


def kernel(
    name: str,
    start: float,
    lasted: float,
    *,
    device: int = 0,
    stream: int = 7,
    launch: int | None = None,
    **more: Any,
) -> dict[str, Any]:
    """A kernel of Kineto; ``launch`` is the correlation id of its launch."""
    args = {"device": device, "stream": stream, "grid": [64, 1, 1], "block": [128, 1, 1]}
    if launch is not None:
        args["correlation"] = launch
    return event("kernel", name, start, lasted, pid=device, tid=stream, **(args | more))


def copy(start: float, lasted: float, *, stream: int = 9) -> dict[str, Any]:
    made = kernel("Memcpy HtoD (Pinned -> Device)", start, lasted, stream=stream)
    return made | {"cat": "gpu_memcpy"}


def call(
    name: str, start: float, lasted: float, launch: int = 0, *, tid: int = PID
) -> dict[str, Any]:
    return event("cuda_runtime", name, start, lasted, tid=tid, correlation=launch, cbid=211)


def launched(
    number: int, name: str, start: float, lasted: float, *, asked: float | None = None, **more: Any
) -> list[dict[str, Any]]:
    """A kernel and its launch, 2 us before it runs unless said otherwise."""
    at = start - 2 if asked is None else asked
    return [
        call("cudaLaunchKernel", at, 1, number),
        kernel(name, start, lasted, launch=number, **more),
    ]


def step(number: int, start: float, lasted: float, name: str = "ProfilerStep#{}") -> dict[str, Any]:
    return event("user_annotation", name.format(number), start, lasted)


def trace(*events: Any, **keys: Any) -> bytes:
    """A Kineto trace; lists of events are laid flat."""
    flat = [e for found in events for e in (found if isinstance(found, list) else [found])]
    head = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA Toy"}], **keys}
    return json.dumps(head | {"traceEvents": flat}).encode()


def write(folder: Path, content: bytes, name: str = "trace.json") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def used(selection: Selection) -> Use:
    """How the selected device was used, where that is known."""
    assert selection.selected.use is not None
    return selection.selected.use


STRINGS = "CREATE TABLE StringIds (id INTEGER, value TEXT)"


def _table(name: str, columns: str) -> str:
    listed = (f"{c} {'TEXT' if c == 'text' else 'INTEGER'}" for c in columns.split())
    return f"CREATE TABLE {name} ({', '.join(listed)})"


_WHERE = "start end deviceId streamId correlationId globalPid"
KERNELS = _table(
    "CUPTI_ACTIVITY_KIND_KERNEL",
    f"{_WHERE} demangledName shortName mangledName gridX gridY gridZ blockX blockY blockZ "
    "graphNodeId",
)
CALLS = _table("CUPTI_ACTIVITY_KIND_RUNTIME", "start end eventClass globalTid correlationId nameId")
COPIES = _table("CUPTI_ACTIVITY_KIND_MEMCPY", f"{_WHERE} copyKind")
NVTX = _table("NVTX_EVENTS", "start end eventType text globalTid textId domainId")


class Export:
    """An Nsight Systems export; times in ns."""

    def __init__(self, path: Path, *tables: str) -> None:
        self.path = path
        self.db = sqlite3.connect(path)
        for table in (STRINGS, *tables):
            self.db.execute(table)
        self.strings: dict[str, int] = {}

    def string(self, text: str) -> int:
        if text not in self.strings:
            self.strings[text] = len(self.strings) + 1
            self.db.execute("INSERT INTO StringIds VALUES (?, ?)", (self.strings[text], text))
        return self.strings[text]

    def insert(self, table: str, *values: Any) -> None:
        marks = ",".join("?" * len(values))
        self.db.execute(f"INSERT INTO {table} VALUES ({marks})", values)

    def kernel(
        self,
        name: str,
        start: int,
        end: int,
        *,
        correlation: int = 0,
        pid: int = 1,
        device: int = 0,
        grid: tuple[int, int, int] = (64, 2, 3),
        block: tuple[int, int, int] = (32, 4, 2),
        mangled: str | None = None,
    ) -> None:
        row = (start, end, device, 7, correlation, pid << 24)
        names = (self.string(name), self.string(name.split("(")[0]), self.string(mangled or name))
        self.insert("CUPTI_ACTIVITY_KIND_KERNEL", *row, *names, *grid, *block, None)

    def call(self, name: str, start: int, end: int, correlation: int, *, pid: int = 1) -> None:
        row = (start, end, 0, pid << 24 | 5, correlation, self.string(name))
        self.insert("CUPTI_ACTIVITY_KIND_RUNTIME", *row)

    def copy(self, start: int, end: int, *, kind: int = 1, pid: int = 1) -> None:
        self.insert("CUPTI_ACTIVITY_KIND_MEMCPY", start, end, 0, 7, 0, pid << 24, kind)

    def range(
        self,
        name: str,
        start: int,
        end: int | None,
        *,
        pid: int = 1,
        by_id: bool = False,
        domain: int = 0,
        event: int = 59,
    ) -> None:
        text, text_id = (None, self.string(name)) if by_id else (name, None)
        self.insert("NVTX_EVENTS", start, end, event, text, pid << 24 | 5, text_id, domain)

    def done(self) -> Path:
        self.db.commit()
        self.db.close()
        return self.path
