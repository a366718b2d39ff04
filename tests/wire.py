"""Protobuf messages and blocks of reports field by field, for tests."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

from roofline.reports.container import sized
from roofline.reports.fields import BYTES, FIXED64, VARINT, encoded


def uint(number: int, value: int) -> bytes:
    return encoded(number, VARINT, value)


def double(number: int, value: float) -> bytes:
    return encoded(number, FIXED64, int.from_bytes(struct.pack("<d", value), "little"))


def blob(number: int, value: bytes) -> bytes:
    return encoded(number, BYTES, value)


def text(number: int, value: str) -> bytes:
    return blob(number, value.encode())


def message(number: int, pieces: Iterable[bytes]) -> bytes:
    return blob(number, b"".join(pieces))


def block(header: Iterable[bytes], entries: Sequence[bytes] = ()) -> bytes:
    """A block from the fields of its header, without the payload's size, and its entries."""
    payload = b"".join(map(sized, entries))
    return sized(b"".join((*header, uint(5, len(payload))))) + payload
