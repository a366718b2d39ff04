"""Machine code in a report, by the address at which it ran."""

from __future__ import annotations

import struct
from bisect import bisect
from collections.abc import Iterable, Iterator
from pathlib import Path

from roofline.files import opened
from roofline.reports.container import Walk, parsed
from roofline.reports.fields import message

INSTRUCTION_BYTES = 16  # since Volta
_LONGEST_NAME = 1 << 14


class Code:
    """The functions of a source, by the address at which each was loaded."""

    def __init__(self, binary: bytes = b"", functions: Iterable[tuple[int, bytes]] = ()) -> None:
        self._binary = binary
        held = {name: (start, start + size) for name, start, size in sections(binary)}
        named = ((address, b".text." + name) for address, name in functions)
        self._functions = sorted((at, *held[name]) for at, name in named if name in held)

    def at(self, address: int) -> bytes | None:
        """The instruction at an address; ``None`` where the report does not hold it."""
        number = bisect(self._functions, address, key=lambda one: one[0]) - 1
        if number < 0:
            return None
        loaded, start, end = self._functions[number]
        place = start + address - loaded
        found = self._binary[place : min(place + INSTRUCTION_BYTES, end)]
        return found if len(found) == INSTRUCTION_BYTES else None


def code_of(path: Path, process: int, number: int) -> Code:
    """The source of that number in that process; an empty one where its bytes are damaged."""
    binary, functions = b"", []
    try:
        with opened(path) as file:
            for block in Walk(file).blocks(others=True):
                for entry in block.entries[: block.message.sources]:
                    source = parsed(message("Source"), entry, "a source")
                    if (block.message.process.id, source.id) == (process, number):
                        binary = source.code or binary  # which only one of several holds
                        functions += [(one.address, one.name) for one in source.loaded.functions]
        return Code(binary, functions)
    except (struct.error, ValueError):
        return Code()


def sections(binary: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Name, offset and size of each section that lies in an ELF file of 64 bits.

    ``struct.error`` and ``ValueError`` are of damaged ones.
    """
    if not binary.startswith(b"\x7fELF\x02"):
        return
    (table,) = struct.unpack_from("<Q", binary, 0x28)
    each, count, names = struct.unpack_from("<3H", binary, 0x3A)
    (strings,) = struct.unpack_from("<Q", binary, table + names * each + 0x18)
    for header in range(table, table + count * each, each):
        name, kind = struct.unpack_from("<II", binary, header)
        offset, size = struct.unpack_from("<QQ", binary, header + 0x18)
        no_bits = kind == 8  # it takes no room in the file
        if not no_bits and offset + size <= len(binary):
            start = strings + name
            yield binary[start : binary.index(b"\0", start, start + _LONGEST_NAME)], offset, size
