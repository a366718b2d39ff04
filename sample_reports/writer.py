"""Write a report from plain values: for samples, for tests, and for whoever has numbers only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any

from roofline.model import Dim3
from roofline.reports.container import save, sized
from roofline.reports.fields import MAGIC, VERSION, Workload, message, numbers
from roofline.reports.metrics import Scalar

_SPEEDUPS = {"local": 1, "global": 2}
_MESSAGES = {"ok": 1, "warning": 2, "error": 3, "optimization": 4}


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
    units, ncu_report knows them by name once ``device__attribute_implementation`` tells the chip.
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

    ``created_s`` is Unix time; ``settings`` has the keys "activity", "sections", "clock_control"
    and "replay_mode"; ``devices`` are the attributes of each GPU as its launches have them.
    """

    comment: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    created_s: int = 0
    sections: tuple[Section, ...] = ()
    devices: tuple[Mapping[str, Scalar], ...] = ()
    version: int = VERSION


def write(
    path: Path, launches: Iterable[Launch], capture: Capture | None = None, *, force: bool = False
) -> None:
    """Write a report that ncu_report and ``ncu --import`` read; ``.ncu-repz`` by the ending.

    Raises:
        UsageError: the file exists (without ``force``) or cannot be written.

    """
    save(path, encode(launches, capture or Capture()), force=force)


def encode(launches: Iterable[Launch], capture: Capture) -> Iterator[bytes]:
    """Give the bytes of a report piece by piece: the file header, then a block a launch.

    Names of metrics are in one table for the whole file; each block brings what is new in it.
    """
    yield MAGIC + sized(_bytes("FileHeader", version=capture.version))
    names: dict[str, int] = {}
    launches = iter(launches)
    some = list(islice(launches, 1))
    process = some[0].process if some else Process()
    yield _block(process, session=_session(capture, process))
    for index, launch in enumerate(chain(some, launches)):
        known = len(names)
        result = _result(launch, index, names, capture)
        new = list(islice(names, known, None))
        yield _block(launch.process, result, strings={"text": new}, **{launch.workload: 1})


def _block(process: Process, *entries: bytes, **header: Any) -> bytes:
    payload = b"".join(map(sized, entries))
    owner = {"id": process.id, "host": process.host, "name": process.name}
    return sized(_bytes("BlockHeader", payload=len(payload), process=owner, **header)) + payload


def _session(capture: Capture, process: Process) -> dict[str, Any]:
    devices = [
        {
            "index": number,
            "name": str(device.get("device__attribute_display_name", "")),
            "attributes": [{"name": name, "value": _value(v)} for name, v in device.items()],
        }
        for number, device in enumerate(capture.devices)
    ]
    return {
        "process": process.id,
        "created": capture.created_s,
        "comment": capture.comment,
        "devices": devices,
        "versions": _pairs(capture.versions),
        "settings": [capture.settings],
    }


def _result(launch: Launch, index: int, names: dict[str, int], capture: Capture) -> bytes:
    """The bytes of one result; names that are new in the file are added to ``names``."""
    given: dict[str, Any] = {
        "thread": launch.thread,
        "api_call": index + 1,
        "metrics": tuple(
            _metric(names.setdefault(name, len(names)), value)
            for name, value in launch.metrics.items()
        ),
        "created": capture.created_s,
        "context": launch.context,
        "stream": launch.stream,
        "sections": [_section(section, launch) for section in capture.sections],
        "rules": [_rule(rule) for rule in launch.rules],
        "program": 1,
        "id": index + 1,
        "mangled": launch.mangled or launch.name,
        "function": launch.name,
        "demangled": launch.demangled or launch.name,
        "dimensions": 3,
        "offset": {"x": 0, "y": 0, "z": 0},
        "grid": dict(zip("xyz", launch.grid, strict=True)),
        "block": dict(zip("xyz", launch.block, strict=True)),
        "source": {},
        "api": 0,
    }
    if launch.nvtx:  # push/pop ranges of the default domain, outermost first
        stack = {"domain": 0, "ranges": [{"name": name} for name in launch.nvtx]}
        given["nvtx"] = {
            "domains": [{"id": 0, "name": "<default domain>"}],
            "threads": [{"id": launch.thread, "stacks": [stack]}],
            "last": 0,
        }
    has = given.keys() & numbers(launch.workload)
    return _bytes(launch.workload, **{name: given[name] for name in has})


def _metric(number: int, metric: Scalar | Metric) -> dict[str, Any]:
    if not isinstance(metric, Metric):
        return {"name": number, "value": _value(metric)}
    rows = [{"id": _value(key), "value": _value(value)} for key, value in metric.instances]
    return {"name": number, "value": _value(metric.value), "instances": rows}


def _value(value: Scalar | None) -> dict[str, bytes | float] | None:
    if isinstance(value, str):
        return {"text": _packed(value)}
    return None if value is None else {"double" if isinstance(value, float) else "uint64": value}


def _section(section: Section, launch: Launch) -> dict[str, Any]:
    rows = {name: label for name, label in section.metrics.items() if name in launch.metrics}
    header = {"metrics": _pairs(rows)}
    return {"identifier": section.identifier, "name": section.name, "header": header}


def _rule(rule: Rule) -> dict[str, Any]:
    kind = _MESSAGES[rule.kind]
    said = {"text": rule.message, "kind": kind, "focus": 0, "title": rule.title}
    gain = {"kind": _SPEEDUPS[rule.speedup_kind], "percent": rule.speedup_percent}
    item = {"message": said, "speedup": None if rule.speedup_percent is None else gain}
    whose = {"identifier": rule.identifier, "name": rule.name, "section": rule.section}
    return whose | {"body": {"items": [item]}}


def _pairs(texts: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in texts.items()]


def _bytes(kind: str, **fields: Any) -> bytes:
    data: bytes = message(kind)(**_packed(fields)).SerializeToString()
    return data


def _packed(tree: Any) -> Any:
    """The same with texts as UTF-8, where no unpaired surrogate can stand; tuples have them."""
    if isinstance(tree, str):
        return tree.encode("utf-8", "replace")
    if isinstance(tree, Mapping):
        return {name: _packed(one) for name, one in tree.items()}
    return list(map(_packed, tree)) if isinstance(tree, list) else tree
