"""A report as plain values: what the writer is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from roofline.model import Dim3
from roofline.repfile.schema import VERSION, Workload

Scalar = float | int | str


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric with instances: pairs of a correlation id (an address, an opcode) and a value."""

    value: Scalar | None
    instances: tuple[tuple[Scalar | None, Scalar], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A result of one of NVIDIA's rules; ``kind`` is "ok", "warning", "error" or "optimization"."""

    identifier: str
    name: str
    section: str = ""
    title: str = ""
    message: str = ""
    kind: str = "ok"
    speedup_percent: float | None = None
    speedup_kind: str = "global"


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A section of the details page: the metrics of its header with their labels."""

    identifier: str
    name: str
    metrics: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """The process that a launch belongs to."""

    id: int = 1
    name: str = "program"
    host: str = "host"


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One result.

    ``metrics`` are in the metric's base unit (nanoseconds, bytes, hertz): a report holds no
    units, its reader knows them by name once ``device__attribute_implementation`` tells the chip.
    ``grid`` and ``block`` are for kernels only. An ``int`` is stored as an unsigned number.
    """

    name: str
    demangled: str = ""
    mangled: str = ""
    workload: Workload = Workload.KERNEL
    grid: Dim3 = (1, 1, 1)
    block: Dim3 = (1, 1, 1)
    metrics: Mapping[str, Scalar | Metric] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()
    nvtx: tuple[str, ...] = ()
    process: Process = Process()
    thread: int = 1
    context: int = 1
    stream: int = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """What the report says about how it came to be.

    ``created_s`` is Unix time; ``settings`` has the keys of ``schema.SETTINGS``;
    ``devices`` are the attributes of each GPU as its launches have them.
    """

    comment: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    created_s: int = 0
    sections: tuple[Section, ...] = ()
    devices: tuple[Mapping[str, Scalar], ...] = ()
    version: int = VERSION
