"""The container of a report: magic, file header, then blocks of a header and its entries."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roofline.files import refuse_unreadable, unreadable, whole_file
from roofline.reports.fields import MAGIC, Workload, decode_error, message

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_WORD = 4
_PIECE = 1 << 16
_ANY = 1 << 62  # how large what is compressed is shows when it is read


class ContainerError(ValueError):
    """Bytes that are not a whole report.

    ``code`` is "empty", "magic", "cut" or "junk".
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A block: its header as bytes and as message, the kinds of its results, the entries read.

    ``entries`` are sources, then results, then views of graphs, or what was wanted of these.
    """

    header: bytes
    message: Any
    kinds: tuple[Workload, ...]
    entries: tuple[bytes, ...] = ()


@contextmanager
def opened(path: Path) -> Iterator[io.BufferedReader]:
    """Open a report; each ``Walk`` begins at its start.

    Raises:
        InputError: it is no file, or it cannot be opened.

    """
    refuse_unreadable(path)
    try:
        file = path.open("rb")
    except OSError as error:
        raise unreadable(path, error) from error
    with file:
        yield file


class Walk:
    """One way through an open report, which holds a block at a time.

    ``head`` are the bytes before the first block, ``version`` is the format's; compressed reports
    are unpacked on the way.

    Raises:
        ContainerError: this is no whole report; so does ``blocks``.

    """

    def __init__(self, file: io.BufferedReader) -> None:
        file.seek(0)
        begin = file.read(len(MAGIC))
        file.seek(0)
        if not begin:
            raise ContainerError("empty", "the file is empty")
        self.compressed = begin == ZSTD_MAGIC
        self._file = io.BufferedReader(_Unpacked(file), _PIECE) if self.compressed else file
        self._size = _ANY if self.compressed else os.fstat(file.fileno()).st_size
        self._at = 0
        if self._file.peek(len(MAGIC))[: len(MAGIC)] != MAGIC:
            raise ContainerError("magic", "it does not begin as a report of Nsight Compute does")
        self.head = self._read(len(MAGIC), "the file header")
        header = self._sized("the file header")
        self.head += sized(header)
        self.version: int = parsed(message("FileHeader"), header, "the file header").version

    def blocks(self, *, results: bool = False, others: bool = False) -> Iterator[Block]:
        """Give the blocks with those entries that are wanted: results, or sources and views."""
        while self._file.peek(1):
            place = f"the block that begins at byte {self._at}"
            header = self._sized(place)
            found = parsed(message("BlockHeader"), header, place)
            kinds = tuple(kind for kind in Workload for _ in range(getattr(found, kind)))
            wanted = [others] * found.sources + [results] * len(kinds) + [others] * found.views
            entries = self._entries(wanted, found.payload, place)
            yield Block(header=header, message=found, kinds=kinds, entries=entries)

    def _entries(self, wanted: list[bool], payload: int, place: str) -> tuple[bytes, ...]:
        """Read the entries that are wanted and pass over the others."""
        if not any(wanted):
            self._skip(payload, place)
            return ()
        end, entries = self._at + payload, []
        for keep in wanted:
            if keep:
                entries.append(self._sized(place))
            else:
                self._skip(int.from_bytes(self._read(_WORD, place), "little"), place)
        if self._at != end:
            raise ContainerError("cut", f"{place} has other entries than it announces")
        return tuple(entries)

    def _sized(self, place: str) -> bytes:
        """The bytes behind their length."""
        return self._read(int.from_bytes(self._read(_WORD, place), "little"), place)

    def _read(self, count: int, place: str) -> bytes:
        try:
            data = self._file.read(count) if count <= self._size - self._at else b""
        except OSError as error:
            raise ContainerError("cut", f"{place} cannot be read ({error.strerror})") from error
        if len(data) < count:
            raise ContainerError("cut", f"it ends inside {place}")
        self._at += count
        return data

    def _skip(self, count: int, place: str) -> None:
        if self.compressed:
            while count > 0:
                count -= len(self._read(min(count, _PIECE), place))
        elif count > self._size - self._at:
            raise ContainerError("cut", f"it ends inside {place}")
        else:
            self._file.seek(count, os.SEEK_CUR)
            self._at += count


def sized(entry: bytes) -> bytes:
    """Put the length in front, as the container wants it."""
    return len(entry).to_bytes(_WORD, "little") + entry


def save(path: Path, pieces: Iterable[bytes], *, force: bool) -> None:
    """Write the bytes of a report, which a ``.ncu-repz`` holds compressed."""
    with whole_file(path, force=force) as temporary, temporary.open("wb") as file:
        file.writelines(compressed(pieces) if path.suffix == ".ncu-repz" else pieces)


def compressed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Give the bytes of a report as the one zstd frame that a ``.ncu-repz`` is."""
    import zstandard  # only compressed reports need it

    engine = zstandard.ZstdCompressor().compressobj()
    yield from map(engine.compress, pieces)
    yield engine.flush()


def parsed(kind: Any, data: bytes, place: str) -> Any:
    """The bytes as a message of that class.

    Raises:
        ContainerError: they are none.

    """
    try:
        return kind.FromString(data)
    except decode_error() as error:
        raise ContainerError("junk", f"bytes of {place} are damaged") from error


class _Unpacked(io.RawIOBase):
    """The bytes of a file that is one zstd frame."""

    def __init__(self, file: io.BufferedReader) -> None:
        import zstandard  # only compressed reports need it

        self._file, self._engine = file, zstandard.ZstdDecompressor().decompressobj()
        self._error, self._rest = zstandard.ZstdError, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest and not self._engine.eof:
            self._rest = memoryview(self._next())
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count

    def _next(self) -> bytes:
        packed = self._file.read(_PIECE >> 2)
        if not packed:
            raise ContainerError("cut", "its compression ends too early")
        try:
            data: bytes = self._engine.decompress(packed)
        except self._error as error:
            raise ContainerError("cut", f"its compression is damaged ({error})") from error
        if self._engine.eof and (self._engine.unused_data or self._file.peek(1)):
            raise ContainerError("junk", "bytes follow the compressed report")
        return data
