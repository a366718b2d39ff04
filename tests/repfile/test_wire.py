from __future__ import annotations

import math
import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.repfile import wire

numbers = st.integers(min_value=0, max_value=2**64 - 1)
field_numbers = st.integers(min_value=1, max_value=2**29 - 1)


def one(data: bytes) -> wire.Field:
    (field,) = wire.fields(data)
    return field


def test_a_number_as_the_protocol_buffers_documentation_shows_it():
    # Field 1 holding 150: tag 0x08, then 150 = 0b1_0010110 as 0x96 0x01.
    assert wire.uint(1, 150) == b"\x08\x96\x01"
    assert one(b"\x08\x96\x01")[:3] == (1, wire.VARINT, 150)


def test_a_string_as_the_protocol_buffers_documentation_shows_it():
    # Field 2 holding "testing": tag 0x12, length 7.
    assert wire.text(2, "testing") == b"\x12\x07testing"


@given(field_numbers, numbers)
def test_numbers_come_back(number: int, value: int):
    field = one(wire.uint(number, value))
    assert (field.number, field.value) == (number, value)


@given(field_numbers, st.binary(max_size=300))
def test_bytes_come_back(number: int, value: bytes):
    field = one(wire.blob(number, value))
    assert (field.number, field.value) == (number, value)


@given(st.floats())
def test_doubles_come_back_to_the_bit(value: float):
    bits = one(wire.double(3, value)).value
    assert isinstance(bits, int)
    (back,) = struct.unpack("<d", bits.to_bytes(8, "little"))
    assert back == value or (math.isnan(back) and math.isnan(value))


@given(st.lists(st.tuples(field_numbers, numbers), max_size=20))
def test_the_raw_fields_are_the_message(pairs: list[tuple[int, int]]):
    message = b"".join(wire.uint(number, value) for number, value in pairs)
    assert b"".join(field.raw for field in wire.fields(message)) == message


@given(st.binary(max_size=200))
def test_any_bytes_are_fields_or_a_wire_error(data: bytes):
    with suppress(wire.WireError):
        list(wire.fields(data))


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\x12\x07test", "inside a field"),  # 4 of 7 bytes
        (b"\x08\x96", "inside a number"),
        (b"\x08" + b"\xff" * 11, "more than 10 bytes"),
        (b"\x0b", "wire type 3"),  # a group
        (b"\x00\x01", "field number 0"),
        (b"\x09\x00", "inside a field"),  # a double of one byte
    ],
)
def test_what_is_no_message_is_said(data: bytes, says: str):
    with pytest.raises(wire.WireError, match=says):
        list(wire.fields(data))
