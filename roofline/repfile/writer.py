"""Write a report from plain values: for samples, for tests, and for whoever has numbers only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from roofline.files import whole_file
from roofline.model import Dim3
from roofline.repfile import wire
from roofline.repfile.schema import (
    CMDLIST_NAME,
    MAGIC,
    RESULTS,
    SETTINGS,
    Header,
    Kernel,
    ResultFields,
    Session,
    Workload,
)
from roofline.repfile.values import Capture, Launch, Metric, Process, Rule, Scalar, Section

_SPEEDUPS = {"local": 1, "global": 2}
_MESSAGES = {"ok": 1, "warning": 2, "error": 3, "optimization": 4}
_DEVICE = "device__attribute_"


def write(
    path: Path, launches: Iterable[Launch], capture: Capture | None = None, *, force: bool = False
) -> None:
    """Write a report that ncu_report and ``ncu --import`` read; ``.ncu-repz`` by the ending.

    Raises:
        UsageError: the file exists (without ``force``) or cannot be written.

    """
    pieces = encode(launches, capture or Capture())
    with whole_file(path, force=force) as temporary, temporary.open("wb") as file:
        if path.suffix == ".ncu-repz":
            file.write(compressed(b"".join(pieces)))
        else:
            file.writelines(pieces)


def encode(launches: Iterable[Launch], capture: Capture) -> Iterator[bytes]:
    """Give the bytes of a report piece by piece: the file header, then a block a launch.

    Names of metrics are in one table for the whole file; each block brings what is new in it.
    """
    yield MAGIC + sized(wire.uint(1, capture.version))
    names: dict[str, int] = {}
    first = True
    for index, launch in enumerate(launches):
        if first:
            yield block([_process(launch.process), _session(capture, launch.process)])
            first = False
        known = len(names)
        entry = _result(launch, index, names, capture)
        new = list(names)[known:] if len(names) > known else []
        yield block(
            [
                wire.uint(RESULTS[launch.workload].count, 1),
                wire.message(Header.STRINGS, [wire.text(1, name) for name in new]),
                _process(launch.process),
            ],
            [entry],
        )
    if first:
        yield block([_process(Process()), _session(capture, Process())])


def sized(message: bytes) -> bytes:
    """Put the length in front, as the container wants it."""
    return len(message).to_bytes(4, "little") + message


def block(header: Iterable[bytes], entries: Sequence[bytes] = ()) -> bytes:
    """Encode one block from the fields of its header (without the payload's size) and entries."""
    payload = b"".join(sized(entry) for entry in entries)
    return sized(b"".join((*header, wire.uint(Header.PAYLOAD, len(payload))))) + payload


def compressed(data: bytes) -> bytes:
    """Bytes as the one zstd frame that a ``.ncu-repz`` is."""
    import zstandard  # only compressed reports need it

    return zstandard.ZstdCompressor().compress(data)


def _process(process: Process) -> bytes:
    return wire.message(
        Header.PROCESS,
        [wire.uint(1, process.id), wire.text(2, process.host), wire.text(3, process.name)],
    )


def _session(capture: Capture, process: Process) -> bytes:
    versions = [
        wire.message(Session.VERSIONS, [wire.text(1, provider), wire.text(2, version)])
        for provider, version in capture.versions.items()
    ]
    settings = [wire.text(SETTINGS[name], text) for name, text in capture.settings.items()]
    return wire.message(
        Header.SESSION,
        [
            wire.uint(Session.PROCESS, process.id),
            wire.uint(Session.CREATED, capture.created_s),
            wire.text(Session.COMMENT, capture.comment),
            *(_device(number, device) for number, device in enumerate(capture.devices)),
            *versions,
            wire.message(Session.SETTINGS, settings),
        ],
    )


def _device(number: int, attributes: Mapping[str, Scalar]) -> bytes:
    rows = [
        wire.message(3, [wire.text(1, name), _value(2, value)])
        for name, value in attributes.items()
    ]
    name = str(attributes.get(f"{_DEVICE}display_name", ""))
    return wire.message(Session.DEVICES, [wire.uint(1, number), wire.text(2, name), *rows])


def _result(launch: Launch, index: int, names: dict[str, int], capture: Capture) -> bytes:
    fields = RESULTS[launch.workload]
    pieces = [wire.uint(Kernel.THREAD, launch.thread), wire.uint(Kernel.API_CALL, index + 1)]
    if launch.workload is Workload.KERNEL:
        pieces += _kernel(launch, index)
    elif launch.workload is Workload.CMDLIST:
        pieces.append(wire.text(CMDLIST_NAME, launch.name))
    pieces += [
        wire.message(fields.metrics, _metric(names.setdefault(name, len(names)), value))
        for name, value in launch.metrics.items()
    ]
    pieces += [
        wire.uint(fields.created, capture.created_s),
        wire.uint(fields.context, launch.context),
    ]
    if fields.stream:
        pieces.append(wire.uint(fields.stream, launch.stream))
    pieces += [_section(fields, section, launch) for section in capture.sections]
    pieces += [_rule(fields, rule) for rule in launch.rules]
    if launch.nvtx:
        pieces.append(_nvtx(fields, launch))
    return b"".join(pieces)


def _kernel(launch: Launch, index: int) -> list[bytes]:
    return [
        wire.uint(Kernel.PROGRAM, 1),
        wire.uint(Kernel.ID, index + 1),
        wire.text(Kernel.MANGLED, launch.mangled or launch.name),
        wire.text(Kernel.FUNCTION, launch.name),
        wire.text(Kernel.DEMANGLED, launch.demangled or launch.name),
        wire.uint(Kernel.DIMENSIONS, 3),
        _triple(Kernel.OFFSET, (0, 0, 0)),
        _triple(Kernel.GRID, launch.grid),
        _triple(Kernel.BLOCK, launch.block),
        wire.blob(Kernel.SOURCE, b""),
        wire.uint(Kernel.API, 0),
    ]


def _triple(number: int, xyz: Dim3) -> bytes:
    return wire.message(number, [wire.uint(i, n) for i, n in enumerate(xyz, start=1)])


def _metric(name: int, metric: Scalar | Metric) -> list[bytes]:
    if not isinstance(metric, Metric):
        return [wire.uint(1, name), _value(2, metric)]
    pieces = [wire.uint(1, name)]
    if metric.value is not None:
        pieces.append(_value(2, metric.value))
    for correlation, value in metric.instances:
        ids = [] if correlation is None else [_value(1, correlation)]
        pieces.append(wire.message(3, [*ids, _value(2, value)]))
    return pieces


def _value(number: int, value: Scalar) -> bytes:
    if isinstance(value, str):
        return wire.message(number, [wire.text(1, value)])
    if isinstance(value, float):
        return wire.message(number, [wire.double(3, value)])
    return wire.message(number, [wire.uint(5, value)])


def _section(fields: ResultFields, section: Section, launch: Launch) -> bytes:
    rows = [
        wire.message(2, [wire.text(1, name), wire.text(2, label)])
        for name, label in section.metrics.items()
        if name in launch.metrics
    ]
    return wire.message(
        fields.sections,
        [wire.text(1, section.identifier), wire.text(2, section.name), wire.message(4, rows)],
    )


def _rule(fields: ResultFields, rule: Rule) -> bytes:
    note = [
        wire.text(1, rule.message),
        wire.uint(2, _MESSAGES[rule.kind]),
        wire.uint(3, 0),
        wire.text(4, rule.title),
    ]
    item = [wire.message(1, note)]
    if rule.speedup_percent is not None:
        speedup = [wire.uint(1, _SPEEDUPS[rule.speedup_kind]), wire.double(2, rule.speedup_percent)]
        item.append(wire.message(10, speedup))
    body = wire.message(3, [wire.message(1, item)])
    pieces = [wire.text(1, rule.identifier), wire.text(2, rule.name), body]
    return wire.message(fields.rules, [*pieces, wire.text(4, rule.section)])


def _nvtx(fields: ResultFields, launch: Launch) -> bytes:
    """The stack of push/pop ranges of the default domain, outermost first."""
    domain = wire.message(1, [wire.uint(1, 0), wire.text(2, "<default domain>")])
    ranges = [wire.message(3, [wire.text(1, name)]) for name in launch.nvtx]
    stack = wire.message(2, [wire.uint(1, 0), *ranges])
    thread = wire.message(2, [wire.uint(1, launch.thread), stack])
    return wire.message(fields.nvtx, [domain, thread, wire.uint(4, 0)])
