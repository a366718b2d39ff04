"""The container of a report: magic, file header, then blocks of a header and its entries."""

from __future__ import annotations

import codecs
import io
import os
import re
import shlex
import tomllib
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from roofline.errors import InputError
from roofline.files import too_large, unpacked_limit, whole_file
from roofline.reports.fields import MAGIC, Workload, decode_error, decoded, message, numbers

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_WORD = 4
_PIECE = 1 << 16
_PACKED = 1 << 9  # compressed bytes at a time: of zeros they are 16 MB
_SAID = ("session", "strings", "process")  # of which each block has one, or else entries
# How ncu's pages begin, as text and as CSV.
_PRINTED = re.compile(rb"""\[\d+\] .+@|==(PROF|ERROR|WARNING)==|"?ID"?[,;]"?Process ID""")
_HINTS = {
    "cut": "copy it again, or capture again and let ncu end by itself",
    "junk": "copy it again: something was appended to it, or it is damaged",
    "empty": "capture again",
    "no results": "capture again; roofline doctor says whether this machine can",
}
_TARGETS = ("Nsight Compute Target", "Nsight Compute Host")


class ContainerError(ValueError):
    """Why bytes are not a whole report, and what to do.

    ``code`` is "empty", "magic" (not a report), "cut", "junk" (whole, with something behind it, or
    damaged), "renamed" (compressed or not against its ending) or "no results".
    """

    def __init__(self, code: str, text: str, hint: str | None = None) -> None:
        super().__init__(text)
        self.code, self.hint = code, hint or _HINTS[code]

    def of(self, path: Path, *, partly: bool = False) -> InputError:
        """The error of the file at ``path``, of which some may have been read."""
        what = f"cannot read all of {path}" if partly else f"cannot read {path}"
        hint = self.hint.replace("FILE", shlex.quote(str(path)))
        return InputError(what, why=str(self), hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A block: its header as bytes and as message, the kinds of its results, the entries read.

    ``entries`` are sources, then results, then views of graphs, or what was wanted of these.
    """

    header: bytes
    message: Any
    kinds: tuple[Workload, ...]
    entries: tuple[bytes, ...] = ()


def _recognized(begin: bytes) -> tuple[str, str]:
    """What a file is that begins with these bytes and is no report, and what to do with it."""
    others = tomllib.loads(Path(__file__).with_name("others.toml").read_text("utf-8"))
    if begin.startswith(b"\x1f\x8b"):
        with suppress(zlib.error):
            inside = zlib.decompressobj(31).decompress(begin, len(begin))
            if inside.lstrip()[:1] in (b"{", b"["):
                return "it is JSON in gzip, as a timeline is", others["{"][1]
            if inside.startswith(MAGIC):
                return "it is a report compressed with gzip", "gunzip it first"
    if begin.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        begin = begin[: len(begin) & ~1].decode("utf-16", "replace").encode("utf-8", "replace")
    begin = begin.removeprefix(codecs.BOM_UTF8).lstrip()
    if _PRINTED.match(begin):
        return "it is ncu's text, not its report", "export the report with ncu -o NAME"
    text = begin.decode("latin-1")
    return next((is_, to_do) for known, (is_, to_do) in others.items() if text.startswith(known))


class Walk:
    """One way through an open report from its start, which holds a block at a time.

    ``head`` are the bytes before the first block, ``version`` is the format's; compressed reports
    are unpacked on the way. Like ``blocks`` it raises ``ContainerError`` where bytes are wrong.
    """

    def __init__(self, file: io.BufferedReader) -> None:
        try:
            file.seek(0)
            begin = file.read(_WORD << 10)
            file.seek(0)
        except OSError as error:
            why = f"its beginning cannot be read ({error.strerror})"
            raise ContainerError("cut", why) from error
        if not begin:
            raise ContainerError("empty", "it is empty")
        self.compressed = begin.startswith(ZSTD_MAGIC)
        self._file = io.BufferedReader(_Unpacked(file), _PIECE) if self.compressed else file
        self._path, size = Path(file.name), os.fstat(file.fileno()).st_size
        # How large what is compressed is shows when it is read.
        self._size = unpacked_limit(size) if self.compressed else size
        self._at = 0
        if not self._file.peek(len(MAGIC)).startswith(MAGIC):
            raise ContainerError("magic", *_recognized(begin))
        self.head = self._read(len(MAGIC), "the file header")
        header = self._sized("the file header")
        self.head += sized(header)
        self.version: int = parsed(message("FileHeader"), header, "the file header").version

    def blocks(self, *, results: bool = False, others: bool = False) -> Iterator[Block]:
        """Give the blocks with those entries that are wanted: results, or sources and views."""
        while self._file.peek(1):
            place = f"the block that begins at byte {self._at}"
            if self._file.peek(len(MAGIC)).startswith(MAGIC):
                raise ContainerError("junk", f"another report begins at byte {self._at}")
            header = self._sized(place)
            found = parsed(message("BlockHeader"), header, place)
            counts = [found.sources, found.views, *(getattr(found, kind) for kind in Workload)]
            if not any(map(found.HasField, _SAID)) and not any(counts):
                raise ContainerError("junk", f"{place} holds nothing")
            self._fits(found.payload, place)
            if sum(counts) * _WORD > found.payload:
                raise ContainerError("junk", f"{place} has no room for {sum(counts)} entries")
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

    def _fits(self, count: int, place: str) -> None:
        """Refuse more bytes than there can be, before anything of their size is made."""
        if count > self._size - self._at:
            if self.compressed:
                raise too_large(self._path, self._size)
            raise ContainerError("cut", f"it ends inside {place}")

    def _read(self, count: int, place: str) -> bytes:
        self._fits(count, place)
        try:
            data = self._file.read(count)
        except OSError as error:
            raise ContainerError("cut", f"{place} cannot be read ({error.strerror})") from error
        if len(data) < count:
            raise ContainerError("cut", f"it ends inside {place}")
        self._at += count
        return data

    def _skip(self, count: int, place: str) -> None:
        self._fits(count, place)
        if self.compressed:
            while count > 0:
                count -= len(self._read(min(count, _PIECE), place))
        else:
            self._file.seek(count, os.SEEK_CUR)
            self._at += count


@dataclass(slots=True, kw_only=True)
class Summary:
    """A report without its values.

    ``found`` counts the results. ``versions`` maps providers ("Nsight Compute Target", "CUDA
    Version", ...) to versions, ``settings`` what the capture was told ("clock_control",
    "replay_mode", "sections", "activity"). ``names`` are those of the metrics in the order of their
    numbers; ``comment`` is what whoever made the file wrote into it.
    """

    version: int
    found: int = 0
    versions: dict[str, str] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    comment: str = ""

    @property
    def ncu_version(self) -> str | None:
        """The Nsight Compute that captured, "2024.1.1.0"; ``None`` where it is not stated."""
        words = next((w for name in _TARGETS if (w := self.versions.get(name, "").split())), None)
        return words[0] if words else None


def summarize(file: io.BufferedReader, path: Path) -> Summary:
    """Walk over an open report.

    ``ContainerError`` where it is not whole, holds no results, or its ending hides them from
    ncu_report.
    """
    walk = Walk(file)
    summary = Summary(version=walk.version)
    for block in walk.blocks():
        summary.found += len(block.kinds)
        summary.names += map(_name, block.message.strings.text)
        if not block.message.HasField("session"):
            continue
        session = block.message.session
        summary.comment = summary.comment or decoded(session.comment)
        summary.versions |= {decoded(v.name): decoded(v.value) for v in session.versions}
        for settings in session.settings:
            said = {name: decoded(getattr(settings, name)) for name in numbers("Settings")}
            summary.settings |= {name: text for name, text in said.items() if text}
    if walk.compressed != (path.suffix == ".ncu-repz"):
        state = "compressed" if walk.compressed else "not compressed"
        text = f"it is {state}, which its ending {path.suffix or '(none)'} does not say"
        better = path.with_suffix(".ncu-repz" if walk.compressed else ".ncu-rep")
        raise ContainerError("renamed", text, f"mv {path} {better}")
    if not summary.found:
        raise ContainerError("no results", "it is whole, but no kernel was profiled into it")
    return summary


_name = lru_cache(1 << 14)(decoded)  # files repeat a few thousand names of metrics


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
    """The bytes as a message of that class; ``ContainerError`` where they are none."""
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
        self._made = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            while not self._rest and not self._engine.eof:
                packed = self._file.read(_PACKED)
                if not packed:
                    raise ContainerError("cut", "its compression ends too early")
                self._rest = memoryview(self._engine.decompress(packed))
                self._made += len(self._rest)
                if self._made > (limit := unpacked_limit(self._file.tell())):
                    raise too_large(Path(self._file.name), limit)
        except self._error as error:
            if "memory" in str(error):
                raise MemoryError from error
            raise ContainerError("cut", f"its compression is damaged ({error})") from error
        if self._engine.eof and (self._engine.unused_data or self._file.peek(1)):
            raise ContainerError("junk", "bytes follow the compressed report")
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count
