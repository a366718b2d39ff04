"""Numbers of the fields that are read or written here, per kind of result.

They are facts of the format as Nsight Compute documents it (``extras/FileFormat``) and as its
reports have it; ``docs/report-format.md`` says what each is for.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

MAGIC = b"NVR\0"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
VERSION = 7


class Workload(StrEnum):
    """What one result covers."""

    KERNEL = "kernel"
    RANGE = "range"
    CMDLIST = "cmdlist"
    GRAPH = "graph"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultFields:
    """Where a kind of result keeps what all kinds have; ``count`` is in the block's header.

    ``stacks`` are call stacks of the host program, ``stream`` and ``name`` are 0 where the kind
    has none.
    """

    count: int
    comment: int
    metrics: int
    created: int
    sections: int
    notes: int
    rules: int
    nvtx: int
    context: int
    stream: int
    names: tuple[int, ...]
    stacks: tuple[int, ...]


class Header:
    """Fields of a block's header."""

    SOURCES = 1
    SESSION = 3
    STRINGS = 4
    PAYLOAD = 5
    PROCESS = 6
    GRAPH_VIEWS = 10


class Session:
    """Fields of the session details."""

    PROCESS = 1
    CREATED = 2
    HOST = 3
    TARGET = 4
    PROPERTIES = 5
    DEVICES = 6
    COMMENT = 7
    VERSIONS = 8
    EXECUTABLE = 9
    SETTINGS = 10
    COMMAND_LINE = 11


# Texts in the session's settings: how the capture was told to work.
SETTINGS = {"activity": 4, "sections": 7, "clock_control": 8, "replay_mode": 11}


class Kernel:
    """Fields that only a kernel's result has."""

    THREAD = 1
    API_CALL = 2
    PROGRAM = 3
    ID = 4
    MANGLED = 5
    FUNCTION = 6
    DEMANGLED = 7
    DIMENSIONS = 8
    OFFSET = 9
    GRID = 10
    BLOCK = 11
    SOURCE = 15
    API = 16


CMDLIST_NAME = 18

RESULTS = {
    Workload.KERNEL: ResultFields(
        count=2,
        comment=12,
        metrics=13,
        created=14,
        sections=17,
        notes=18,
        rules=19,
        nvtx=21,
        context=22,
        stream=23,
        names=(26, 27),
        stacks=(28, 32),
    ),
    Workload.RANGE: ResultFields(
        count=7,
        comment=3,
        metrics=4,
        created=5,
        sections=7,
        notes=8,
        rules=20,
        nvtx=10,
        context=11,
        stream=0,
        names=(13,),
        stacks=(14, 17),
    ),
    Workload.CMDLIST: ResultFields(
        count=8,
        comment=3,
        metrics=4,
        created=5,
        sections=7,
        notes=8,
        rules=21,
        nvtx=10,
        context=11,
        stream=12,
        names=(14, 15),
        stacks=(16, 22),
    ),
    Workload.GRAPH: ResultFields(
        count=9,
        comment=3,
        metrics=4,
        created=5,
        sections=7,
        notes=8,
        rules=22,
        nvtx=10,
        context=11,
        stream=12,
        names=(14, 15),
        stacks=(16, 19),
    ),
}
