"""The container of a report: magic, file header, blocks of a header and length-prefixed entries."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from os import SEEK_END
from pathlib import Path

from roofline.files import refuse_unreadable, unreadable
from roofline.repfile import wire
from roofline.repfile.schema import MAGIC, RESULTS, ZSTD_MAGIC, Header, Workload

_WORD = 4
_COUNTS = tuple((kind, fields.count) for kind, fields in RESULTS.items())


class ContainerError(ValueError):
    """Bytes that are not a whole report.

    ``code`` is "empty", "magic", "cut" or "junk"; ``lost`` counts the results that the broken
    block announces.
    """

    def __init__(self, code: str, text: str, *, lost: int = 0) -> None:
        super().__init__(text)
        self.code, self.lost = code, lost


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One block as it lies in the file, from ``offset`` to ``end``.

    ``header`` is its Protocol Buffers message and ``parts`` the messages in it, ``announced`` the
    counts that it states per workload, ``sources`` and ``graphs`` the counts of the other kinds
    of entries, ``entries`` the bytes of what really follows: sources, then results, then graphs.
    """

    offset: int
    end: int
    header: memoryview
    parts: tuple[wire.Field, ...]
    announced: dict[Workload, int]
    sources: int
    graphs: int
    entries: tuple[memoryview, ...]

    @property
    def kinds(self) -> list[Workload]:
        """The workload of each result of the block, in order."""
        return [kind for kind, count in self.announced.items() for _ in range(count)]


@contextmanager
def opened(path: Path) -> Iterator[memoryview]:
    """Give the bytes of a report, mapped and not loaded; a ``.ncu-repz`` is decompressed.

    Raises:
        InputError: the file cannot be opened.
        ContainerError: the file is empty, or its compression is damaged.

    """
    mapped = _mapped(path)
    view = memoryview(mapped)
    try:
        if view[: len(ZSTD_MAGIC)] == ZSTD_MAGIC:
            yield memoryview(_decompressed(view))
        else:
            yield view
    finally:
        with suppress(BufferError):  # where parts of it live on, the map closes with the last
            view.release()
            mapped.close()


def _mapped(path: Path) -> mmap.mmap:
    refuse_unreadable(path)
    try:
        with path.open("rb") as file:
            if not file.seek(0, SEEK_END):
                raise ContainerError("empty", "the file is empty")
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise unreadable(path, error) from error


def _decompressed(data: memoryview) -> bytearray:
    import zstandard  # only compressed reports need it

    pieces = bytearray()
    engine = zstandard.ZstdDecompressor().decompressobj()
    try:
        pieces += engine.decompress(data)
    except zstandard.ZstdError as error:
        raise ContainerError("cut", f"its compression is damaged ({error})") from error
    if not engine.eof:
        raise ContainerError("cut", "its compression ends too early")
    if engine.unused_data:
        raise ContainerError(
            "junk", f"{len(engine.unused_data)} bytes follow the compressed report"
        )
    return pieces


def version(data: memoryview) -> tuple[int, int]:
    """Give the version in the file header and where the first block begins.

    Raises:
        ContainerError: the magic is missing or the file ends inside its header.

    """
    if data[: len(MAGIC)] != MAGIC:
        raise ContainerError("magic", "it does not begin as a report of Nsight Compute does")
    header, at = _sized(data, len(MAGIC), "the file header")
    try:
        return wire.numbers(header).get(1, 0), at
    except wire.WireError as error:
        raise ContainerError("magic", f"its file header is damaged ({error})") from error


def walk(data: memoryview) -> Iterator[Block]:
    """Walk the blocks of a report, touching headers and lengths only.

    Raises:
        ContainerError: at the first block that is not whole ("cut") or no block at all ("junk").

    """
    _, at = version(data)
    while at < len(data):
        block = _block(data, at)
        at = block.end
        yield block


def _block(data: memoryview, offset: int) -> Block:
    header, at = _sized(data, offset, "a block's header")
    number: dict[int, int] = {}
    parts: list[wire.Field] = []
    try:
        for field in wire.fields(header):
            if isinstance(field.value, int):
                number[field.number] = field.value
            else:
                parts.append(field)
    except wire.WireError as error:
        raise ContainerError("junk", f"no block begins at byte {offset}") from error
    announced = {kind: number.get(count, 0) for kind, count in _COUNTS}
    results = sum(announced.values())
    sources, graphs = number.get(Header.SOURCES, 0), number.get(Header.GRAPH_VIEWS, 0)
    end = at + number.get(Header.PAYLOAD, 0)
    if end > len(data):
        lacking = end - len(data)
        unit = "byte" if lacking == 1 else "bytes"
        lack = f"it ends {lacking} {unit} before the end of the block at byte {offset}"
        raise ContainerError("cut", lack, lost=results)
    entries = tuple(_entries(data[:end], at))
    if len(entries) != sources + results + graphs:
        counts = f"{sources + results + graphs} entries and has {len(entries)}"
        text = f"the block at byte {offset} announces {counts}"
        raise ContainerError("cut", text, lost=results)
    return Block(
        offset=offset,
        end=end,
        header=header,
        parts=tuple(parts),
        announced=announced,
        sources=sources,
        graphs=graphs,
        entries=entries,
    )


def _entries(data: memoryview, at: int) -> Iterator[memoryview]:
    while at < len(data):
        entry, at = _sized(data, at, "an entry")
        yield entry


def _sized(data: memoryview, at: int, what: str) -> tuple[memoryview, int]:
    """What lies behind the length at ``at``, and the position after it."""
    begin = at + _WORD
    end = begin + int.from_bytes(data[at:begin], "little")
    if begin > len(data) or end > len(data):
        raise ContainerError("cut", f"it ends inside {what} that begins at byte {at}")
    return data[begin:end], end
