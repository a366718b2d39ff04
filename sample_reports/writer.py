"""Write a report from plain values: for samples, for tests, and for whoever has numbers only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
    yield MAGIC + sized(message("FileHeader")(version=capture.version).SerializeToString())
    names: dict[str, int] = {}
    first = True
    for index, launch in enumerate(launches):
        if first:
            yield _block(launch.process, session=_session(capture, launch.process))
            first = False
        known = len(names)
        result = _result(launch, index, names, capture)
        new = [_text(name) for name in list(names)[known:]] if len(names) > known else []
        counts = {str(launch.workload): 1}
        yield _block(launch.process, [result], strings={"text": new}, **counts)
    if first:
        yield _block(Process(), session=_session(capture, Process()))


def _block(process: Process, entries: Sequence[Any] = (), **header: Any) -> bytes:
    payload = b"".join(sized(entry.SerializeToString()) for entry in entries)
    owner = {"id": process.id, "host": _text(process.host), "name": _text(process.name)}
    made = message("BlockHeader")(payload=len(payload), process=owner, **header)
    return sized(made.SerializeToString()) + payload


def _session(capture: Capture, process: Process) -> dict[str, Any]:
    return {
        "process": process.id,
        "created": capture.created_s,
        "comment": _text(capture.comment),
        "devices": [_device(number, device) for number, device in enumerate(capture.devices)],
        "versions": _pairs(capture.versions),
        "settings": [{name: _text(said) for name, said in capture.settings.items()}],
    }


def _device(number: int, attributes: Mapping[str, Scalar]) -> dict[str, Any]:
    rows = [{"name": _text(name), "value": _value(value)} for name, value in attributes.items()]
    name = str(attributes.get("device__attribute_display_name", ""))
    return {"index": number, "name": _text(name), "attributes": rows}


def _result(launch: Launch, index: int, names: dict[str, int], capture: Capture) -> Any:
    """The message of one result; names that are new in the file are added to ``names``."""
    has = numbers(launch.workload)
    given: dict[str, Any] = {
        "thread": launch.thread,
        "api_call": index + 1,
        "metrics": [
            _metric(names.setdefault(name, len(names)), value)
            for name, value in launch.metrics.items()
        ],
        "created": capture.created_s,
        "context": launch.context,
        "stream": launch.stream,
        "sections": [_section(section, launch) for section in capture.sections],
        "rules": [_rule(rule) for rule in launch.rules],
        "program": 1,
        "id": index + 1,
        "mangled": _text(launch.mangled or launch.name),
        "function": _text(launch.name),
        "demangled": _text(launch.demangled or launch.name),
        "dimensions": 3,
        "offset": _triple((0, 0, 0)),
        "grid": _triple(launch.grid),
        "block": _triple(launch.block),
        "source": b"",
        "api": 0,
    }
    if launch.nvtx:
        given["nvtx"] = _nvtx(launch)
    return message(launch.workload)(**{name: given[name] for name in has if name in given})


def _triple(xyz: Dim3) -> dict[str, int]:
    return dict(zip("xyz", xyz, strict=True))


def _metric(number: int, metric: Scalar | Metric) -> dict[str, Any]:
    if not isinstance(metric, Metric):
        return {"name": number, "value": _value(metric)}
    given: dict[str, Any] = {"name": number}
    if metric.value is not None:
        given["value"] = _value(metric.value)
    given["instances"] = [
        {"value": _value(value)} if key is None else {"id": _value(key), "value": _value(value)}
        for key, value in metric.instances
    ]
    return given


def _value(value: Scalar) -> dict[str, Any]:
    if isinstance(value, str):
        return {"text": _text(value)}
    return {"double" if isinstance(value, float) else "uint64": value}


def _section(section: Section, launch: Launch) -> dict[str, Any]:
    rows = {name: label for name, label in section.metrics.items() if name in launch.metrics}
    header = {"metrics": _pairs(rows)}
    return {"identifier": _text(section.identifier), "name": _text(section.name), "header": header}


def _rule(rule: Rule) -> dict[str, Any]:
    said = {
        "text": _text(rule.message),
        "kind": _MESSAGES[rule.kind],
        "focus": 0,
        "title": _text(rule.title),
    }
    item: dict[str, Any] = {"message": said}
    if rule.speedup_percent is not None:
        item["speedup"] = {"kind": _SPEEDUPS[rule.speedup_kind], "percent": rule.speedup_percent}
    return {
        "identifier": _text(rule.identifier),
        "name": _text(rule.name),
        "body": {"items": [item]},
        "section": _text(rule.section),
    }


def _nvtx(launch: Launch) -> dict[str, Any]:
    """The stack of push/pop ranges of the default domain, outermost first."""
    stack = {"domain": 0, "ranges": [{"name": _text(name)} for name in launch.nvtx]}
    return {
        "domains": [{"id": 0, "name": b"<default domain>"}],
        "threads": [{"id": launch.thread, "stacks": [stack]}],
        "last": 0,
    }


def _pairs(texts: Mapping[str, str]) -> list[dict[str, bytes]]:
    return [{"name": _text(name), "value": _text(value)} for name, value in texts.items()]


def _text(text: str) -> bytes:
    """The format wants UTF-8, in which an unpaired surrogate has no place."""
    return text.encode("utf-8", "replace")
