"""The protobuf fields of a report that are read or written here, as messages made when needed.

The numbers are facts of the format as Nsight Compute documents it (``extras/FileFormat``) and as
its reports have it; ``docs/report-format.md`` says what each is for.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from typing import Any

from roofline.foreign import printable

MAGIC = b"NVR\0"
VERSION = 7
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_WIRES = {VARINT: 0, FIXED64: 8, BYTES: 0, FIXED32: 4}  # wire type -> its size, where it has one


# As descriptor.proto numbers labels and types.
_OPTIONAL, _REPEATED = 1, 3
_TYPES, _MESSAGE = {"double": 1, "float": 2, "int": 4, "bytes": 12}, 11


class Workload(StrEnum):
    """What one result covers, in the order in which a block has its results."""

    KERNEL = "kernel"
    RANGE = "range"
    CMDLIST = "cmdlist"
    GRAPH = "graph"


# Message -> its fields: name, number, type ("*": repeated). Text is "bytes", as what is in a report
# need not be UTF-8; numbers without a sign, enumerations and truth values are all "int".
_MESSAGES = {
    "FileHeader": "version 1 int",
    "BlockHeader": "sources 1 int, kernel 2 int, session 3 Session, strings 4 Strings, "
    "payload 5 int, process 6 Process, range 7 int, cmdlist 8 int, graph 9 int, views 10 int",
    "Strings": "text 1 bytes*",
    "Process": "id 1 int, host 2 bytes, name 3 bytes",
    "Session": "process 1 int, created 2 int, devices 6 Device*, comment 7 bytes, "
    "versions 8 Pair*, settings 10 Settings*",
    "Pair": "name 1 bytes, value 2 bytes",
    "Settings": "activity 4 bytes, sections 7 bytes, clock_control 8 bytes, replay_mode 11 bytes",
    "Device": "index 1 int, name 2 bytes, attributes 3 Attribute*",
    "Attribute": "name 1 bytes, value 2 Value",
    "Value": "text 1 bytes, float 2 float, double 3 double, uint32 4 int, uint64 5 int",
    "Instance": "id 1 Value, value 2 Value",
    "Metric": "name 1 int, value 2 Value, instances 3 Instance*",
    "Triple": "x 1 int, y 2 int, z 3 int",
    "Section": "identifier 1 bytes, name 2 bytes, header 4 SectionHeader",
    "SectionHeader": "metrics 2 Pair*",
    "Rule": "identifier 1 bytes, name 2 bytes, body 3 RuleBody, section 4 bytes",
    "RuleBody": "items 1 RuleItem*",
    "RuleItem": "message 1 RuleMessage, speedup 10 Speedup",
    "RuleMessage": "text 1 bytes, kind 2 int, focus 3 int, title 4 bytes",
    "Speedup": "kind 1 int, percent 2 double",
    "Nvtx": "domains 1 NvtxDomain*, threads 2 NvtxThread*, started 3 NvtxStarted*, last 4 int",
    "NvtxDomain": "id 1 int, name 2 bytes",
    "NvtxThread": "id 1 int, stacks 2 NvtxStack*",
    "NvtxStack": "domain 1 int, ranges 3 NvtxPushed*",
    "NvtxPushed": "name 1 bytes",
    "NvtxStarted": "domain 1 int, ranges 3 NvtxRange*",
    "NvtxRange": "id 1 int, name 2 bytes",
    "Source": "id 1 int, code 4 bytes, loaded 9 Loaded",
    "Loaded": "functions 1 Function*",
    "Function": "name 1 bytes, address 2 int",
}
_ALL = "thread 1 int, api_call 2 int"
_RESULTS = {
    Workload.KERNEL: f"{_ALL}, program 3 int, id 4 int, mangled 5 bytes, function 6 bytes, "
    "demangled 7 bytes, dimensions 8 int, offset 9 Triple, grid 10 Triple, block 11 Triple, "
    "metrics 13 Metric*, created 14 int, source 15 Source, api 16 int, sections 17 Section*, "
    "rules 19 Rule*, nvtx 21 Nvtx, context 22 int, stream 23 int",
    Workload.RANGE: f"{_ALL}, metrics 4 Metric*, created 5 int, sections 7 Section*, "
    "nvtx 10 Nvtx, context 11 int, rules 20 Rule*",
    Workload.CMDLIST: f"{_ALL}, metrics 4 Metric*, created 5 int, sections 7 Section*, "
    "nvtx 10 Nvtx, context 11 int, stream 12 int, function 18 bytes, rules 21 Rule*",
    Workload.GRAPH: f"{_ALL}, metrics 4 Metric*, created 5 int, sections 7 Section*, "
    "nvtx 10 Nvtx, context 11 int, stream 12 int, rules 22 Rule*",
}
_FIELDS = {
    name: [words.split() for words in text.split(", ")]
    for name, text in (_MESSAGES | _RESULTS).items()
}
# A result is read as this, and a metric of it when it is asked for: of a thousand most never are.
# What is left out here stays in the result's bytes.
_READ = ("thread", "function", "demangled", "grid", "block", "nvtx", "metrics", "source")
READ = "Read"
for _kind in _RESULTS:
    _FIELDS[_kind + READ] = [
        [name, number, "bytes*" if name == "metrics" else kind]
        for name, number, kind in _FIELDS[_kind]
        if name in _READ
    ]


@cache
def numbers(message: str) -> dict[str, int]:
    """The numbers of a message's fields by name; results are called as their ``Workload``."""
    return {name: int(number) for name, number, _ in _FIELDS[message]}


def message(name: str) -> Any:
    """The class of a message; that of a result's name and ``READ`` leaves its metrics bytes."""
    return _classes()[f"report.{name}"]


@cache
def _classes() -> dict[str, Any]:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="report", package="report", syntax="proto2")
    for message_name, fields in _FIELDS.items():
        target = file.message_type.add(name=message_name)
        if message_name == "Value":
            target.oneof_decl.add(name="kind")
        for name, number, kind in fields:
            label = _REPEATED if kind.endswith("*") else _OPTIONAL
            added = target.field.add(name=name, number=int(number), label=label)
            kind = kind.rstrip("*")
            added.type = _TYPES.get(kind, _MESSAGE)
            if kind not in _TYPES:
                added.type_name = f".report.{kind}"
            if message_name == "Value":  # of which one excludes the others
                added.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    classes: dict[str, Any] = message_factory.GetMessageClassesForFiles(["report"], pool)
    return classes


def decoded(text: bytes) -> str:
    """Text of a report, which need not be UTF-8, made harmless."""
    found = text.decode("utf-8", "replace")
    return found if found.isprintable() else printable(found)


@cache
def decode_error() -> Any:
    """The exception of bytes that are not a message."""
    from google.protobuf.message import DecodeError

    return DecodeError


def fields_of(data: bytes) -> list[tuple[int, int, int | bytes]] | None:
    """Number, wire type and value of each field of whatever message; ``None`` for other bytes.

    Groups, which a report has none of, are other bytes, too.
    """
    from google.protobuf.empty_pb2 import Empty
    from google.protobuf.unknown_fields import UnknownFieldSet

    try:
        fields = UnknownFieldSet(Empty.FromString(data))
    except decode_error():
        return None
    found = [(field.field_number, field.wire_type, field.data) for field in fields]
    return found if all(wire in _WIRES for _, wire, _ in found) else None


def encoded(number: int, wire: int, value: int | bytes) -> bytes:
    """One field as it lies in a message; numbers are given without a sign, or as their bits."""
    tag = _varint(number << 3 | wire)
    if isinstance(value, bytes):
        return b"".join((tag, _varint(len(value)), value))
    size = _WIRES[wire]
    return tag + (value.to_bytes(size, "little") if size else _varint(value))


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
