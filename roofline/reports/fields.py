"""The protobuf fields of a report that are read or written, as messages made when needed."""

from __future__ import annotations

import tomllib
from enum import StrEnum
from functools import cache
from pathlib import Path
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


_TABLES = tomllib.loads(Path(__file__).with_name("fields.toml").read_text("utf-8"))
_FIELDS = {
    name: [words.split() for words in text.split(", ")]
    for name, text in (_TABLES["messages"] | _TABLES["results"]).items()
}
# A result is read as this, and a metric of it when it is asked for: of a thousand most never are.
# What is left out here stays in the result's bytes.
_READ = ("thread", "function", "demangled", "grid", "block", "nvtx", "metrics", "source")
READ = "Read"
for _kind in Workload:
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
