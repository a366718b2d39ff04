"""Machine code by address."""

from __future__ import annotations

import random
import struct
from contextlib import suppress
from pathlib import Path

import pytest

from roofline.counters.evidence import _onto_itself
from roofline.counters.measure import measure
from roofline.errors import InputError
from roofline.reports import read
from roofline.reports.code import Code, code_of
from roofline.reports.container import sized
from roofline.reports.fields import MAGIC, numbers
from tests import wire
from tests.shared import REPORTS
from tests.test_fuzz import damaged

# As Volta and later have them: MOV R5, R5; @P0 MOV R4, R4; MOV R2, R3; MOV RZ, RZ.
MOVES = (0x202, 5, 5, 7), (0x202, 4, 4, 0), (0x202, 2, 3, 7), (0x202, 255, 255, 7)
BITS = b"".join(
    struct.pack("<HBBIQ", number | predicate << 12, to, 0, register, 0)
    for number, to, register, predicate in MOVES
)
FIRST = 0x7F00_0000_1000


def elf(code: bytes, name: bytes = b".text._Z1kv") -> bytes:
    """An ELF file of three sections: nothing, the names, and code."""
    names = b"\0.shstrtab\0" + name + b"\0"
    parts = [(0, 0, 0, 0), (1, 3, 0x40, len(names)), (11, 1, 0x40 + len(names), len(code))]
    table = b"".join(
        struct.pack("<IIQQQQQQQ", at, kind, 0, 0, start, size, 0, 0, 0)
        for at, kind, start, size in parts
    )
    place = 0x40 + len(names) + len(code)
    head = b"\x7fELF\x02\x01".ljust(0x28, b"\0") + struct.pack("<Q", place)
    head = head.ljust(0x3A, b"\0") + struct.pack("<3H", 0x40, len(parts), 1)
    return head.ljust(0x40, b"\0") + names + code + table


def written(path: Path, binary: bytes) -> Path:
    """A report of a kernel whose code is in one source and whose address is in another."""
    process = wire.message(6, [wire.uint(1, 7), wire.text(2, "host")])
    loaded = wire.message(1, [wire.text(1, "_Z1kv"), wire.uint(2, FIRST), wire.uint(3, 2)])
    sources = [
        wire.uint(1, 9) + wire.blob(4, b"another"),
        wire.uint(1, 3) + wire.blob(4, binary),
        wire.uint(1, 3) + wire.message(9, [loaded]),
    ]
    kernel = numbers("kernel")
    result = b"".join(
        (
            *(wire.uint(number, 1) for number in (1, 2, 3, 4)),
            wire.text(kernel["function"], "k"),
            wire.message(kernel["source"], [wire.uint(1, 3)]),
        )
    )
    path.write_bytes(
        MAGIC
        + sized(wire.uint(1, 7))
        + wire.block([process, wire.uint(1, len(sources))], sources)
        + wire.block([process, wire.uint(2, 1)], [result])
    )
    return path


def test_instructions_are_found_by_the_address_at_which_they_ran(tmp_path: Path):
    (launch,) = read(written(tmp_path / "a.ncu-rep", elf(BITS)))
    at = [str(FIRST + 16 * place) for place in range(-1, 5)]

    found = [launch.metrics.machine_code(address) for address in at]
    assert found == [None, *(BITS[i : i + 16] for i in range(0, 64, 16)), None]
    assert [_onto_itself(launch.metrics, address) for address in at[1:5]] == [
        True,
        True,
        False,
        False,
    ]
    assert launch.metrics.machine_code("no address") is None


@pytest.mark.parametrize("cut", [0, 5, 0x20, 0x39, 0x60, 0x90, 0x100])
def test_damaged_code_is_no_code(cut: int, tmp_path: Path):
    path = written(tmp_path / "a.ncu-rep", elf(BITS)[:cut])
    assert code_of(path, 7, 3).at(FIRST) is None
    assert code_of(path, 8, 3).at(FIRST) is None  # of another process


def test_whatever_is_damaged_in_a_source_the_code_is_there_or_not(tmp_path: Path):
    path = written(tmp_path / "a.ncu-rep", elf(BITS))
    whole = path.read_bytes()
    found = set()
    for seed in range(300):
        path.write_bytes(damaged(whole, random.Random(seed)))
        with suppress(InputError):
            for launch in read(path):
                found.add(launch.metrics.machine_code(str(FIRST)))
    assert {None, BITS[:16]} < found


def test_a_table_of_endless_names_is_no_code():
    damaged = bytearray(elf(BITS, b"n" * (1 << 20)))
    with pytest.raises(ValueError, match="not found"):
        Code(bytes(damaged), [(FIRST, b"_Z1kv")])


@pytest.mark.parametrize(
    "path", [p for p in REPORTS if p.stat().st_size], ids=lambda p: p.name[:60]
)
def test_bits_say_what_the_text_of_nvidia_says(path: Path):
    for ours, theirs in zip(read(path), read(path, reader="ncu-report"), strict=True):
        measure(ours)
        assert "_nvidia" not in vars(ours.metrics), "ncu_report was loaded to measure"
        for address in list(ours.metrics.instances("inst_executed"))[:200]:
            assert _onto_itself(ours.metrics, address) == _onto_itself(theirs.metrics, address)
