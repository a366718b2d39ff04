"""Hand-made timelines: a test states what ran when, in us, and gets a file or a ``Timeline``."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

PID, GPU_US = 100, 1.0


def kernel(
    name: str,
    start: float,
    lasted: float,
    *,
    stream: int = 7,
    launch: int | None = None,
    **more: Any,
) -> dict[str, Any]:
    """A kernel of Kineto; ``launch`` is the correlation id of its launch."""
    args = {
        "device": more.pop("device", 0),
        "stream": stream,
        "grid": more.pop("grid", [64, 1, 1]),
        "block": more.pop("block", [128, 1, 1]),
    }
    if launch is not None:
        args["correlation"] = launch
    return {
        "ph": "X",
        "cat": "kernel",
        "name": name,
        "ts": start,
        "dur": lasted,
        "pid": args["device"],
        "tid": stream,
        "args": args | more,
    }


def copy(start: float, lasted: float, *, stream: int = 9) -> dict[str, Any]:
    event = kernel("Memcpy HtoD (Pinned -> Device)", start, lasted, stream=stream)
    return event | {"cat": "gpu_memcpy"}


def call(
    name: str, start: float, lasted: float, launch: int = 0, *, tid: int = PID
) -> dict[str, Any]:
    return {
        "ph": "X",
        "cat": "cuda_runtime",
        "name": name,
        "ts": start,
        "dur": lasted,
        "pid": PID,
        "tid": tid,
        "args": {"correlation": launch, "cbid": 211},
    }


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
    return {
        "ph": "X",
        "cat": "user_annotation",
        "name": name.format(number),
        "ts": start,
        "dur": lasted,
        "pid": PID,
        "tid": PID,
        "args": {},
    }


def trace(*events: Any, **keys: Any) -> bytes:
    """A Kineto trace; lists of events are laid flat."""
    flat: list[Any] = []
    for event in events:
        flat += event if isinstance(event, list) else [event]
    head = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA Toy"}], **keys}
    return json.dumps(head | {"traceEvents": flat}).encode()


def write(folder: Path, content: bytes, name: str = "trace.json") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


STRINGS = "CREATE TABLE StringIds (id INTEGER, value TEXT)"
KERNELS = """CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER,
    streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER,
    shortName INTEGER, mangledName INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER,
    blockX INTEGER, blockY INTEGER, blockZ INTEGER, graphNodeId INTEGER)"""
CALLS = """CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER,
    eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER)"""
COPIES = """CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER,
    streamId INTEGER, correlationId INTEGER, globalPid INTEGER, copyKind INTEGER)"""
NVTX = """CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT,
    globalTid INTEGER, textId INTEGER, domainId INTEGER)"""


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
        values = (*row, *names, *grid, *block, None)
        marks = ",".join("?" * len(values))
        self.db.execute(f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({marks})", values)

    def call(self, name: str, start: int, end: int, correlation: int, *, pid: int = 1) -> None:
        values = (start, end, 0, pid << 24 | 5, correlation, self.string(name))
        self.db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?,?,?,?,?,?)", values)

    def copy(self, start: int, end: int, *, kind: int = 1, pid: int = 1) -> None:
        values = (start, end, 0, 7, 0, pid << 24, kind)
        self.db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?,?,?,?,?,?,?)", values)

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
        values = (start, end, event, text, pid << 24 | 5, text_id, domain)
        self.db.execute("INSERT INTO NVTX_EVENTS VALUES (?,?,?,?,?,?,?)", values)

    def done(self) -> Path:
        self.db.commit()
        self.db.close()
        return self.path
