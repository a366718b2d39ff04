"""Protocol Buffers wire format: just enough to walk, rewrite and write the messages of a report."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_LONGEST_VARINT = 10


class WireError(ValueError):
    """Bytes that are not a Protocol Buffers message."""


class Field(NamedTuple):
    """One field as it lies in a message.

    ``value`` is an unsigned integer for the three number types (the raw bits of a float), else a
    view of the bytes; ``raw`` is the whole field with its tag, as it would be copied.
    """

    number: int
    kind: int
    value: int | memoryview
    raw: memoryview


def fields(data: bytes | memoryview) -> Iterator[Field]:
    """Walk the fields of one message.

    Raises:
        WireError: the bytes end inside a field, or hold a group or an unknown wire type.

    """
    view = memoryview(data)
    at = 0
    while at < len(view):
        start = at
        tag, at = read_varint(view, at)
        number, kind = tag >> 3, tag & 7
        value: int | memoryview
        if kind == VARINT:
            value, at = read_varint(view, at)
        elif kind == BYTES:
            size, at = read_varint(view, at)
            value, at = _take(view, at, size), at + size
        elif kind in (FIXED32, FIXED64):
            size = 4 if kind == FIXED32 else 8
            value, at = int.from_bytes(_take(view, at, size), "little"), at + size
        else:
            raise WireError(f"wire type {kind} at byte {start}")
        if number == 0:
            raise WireError(f"field number 0 at byte {start}")
        yield Field(number, kind, value, view[start:at])


def read_varint(view: memoryview, at: int) -> tuple[int, int]:
    """Give the varint that begins at ``at`` and the position after it."""
    value = 0
    if at < len(view) and view[at] < 0x80:  # nearly all of them
        return view[at], at + 1
    for n in range(_LONGEST_VARINT):
        if at + n >= len(view):
            raise WireError(f"the message ends inside a number at byte {at}")
        byte = view[at + n]
        value |= (byte & 0x7F) << (7 * n)
        if byte < 0x80:
            return value, at + n + 1
    raise WireError(f"a number of more than {_LONGEST_VARINT} bytes at byte {at}")


def _take(view: memoryview, at: int, size: int) -> memoryview:
    if at + size > len(view):
        raise WireError(f"the message ends inside a field at byte {at}")
    return view[at : at + size]


def numbers(data: bytes | memoryview) -> dict[int, int]:
    """The last value of every number field of a message."""
    return {f.number: f.value for f in fields(data) if isinstance(f.value, int)}


def parts(data: bytes | memoryview, number: int) -> list[memoryview]:
    """The bytes of every length-delimited field ``number`` of a message."""
    return [f.value for f in fields(data) if f.number == number and not isinstance(f.value, int)]


def varint(value: int) -> bytes:
    """Encode an unsigned number (below 2**64)."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def uint(number: int, value: int) -> bytes:
    """Encode a varint field."""
    return varint(number << 3 | VARINT) + varint(value)


def double(number: int, value: float) -> bytes:
    """Encode a double field."""
    return varint(number << 3 | FIXED64) + struct.pack("<d", value)


def float32(number: int, value: float) -> bytes:
    """Encode a float field."""
    return varint(number << 3 | FIXED32) + struct.pack("<f", value)


def blob(number: int, value: bytes | memoryview) -> bytes:
    """Encode a bytes field or a message field."""
    return b"".join((varint(number << 3 | BYTES), varint(len(value)), value))


def text(number: int, value: str) -> bytes:
    """Encode a string field; an unpaired surrogate is replaced, as the format wants UTF-8."""
    return blob(number, value.encode("utf-8", "replace"))


def message(number: int, pieces: Iterable[bytes | memoryview]) -> bytes:
    """Encode a message field from the encoded fields inside it."""
    return blob(number, b"".join(pieces))
