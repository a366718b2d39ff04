"""Copy a report without what is personal in it; every measured value stays.

What may stay is listed, message by message; other text and messages, those of newer formats
too, are left out. Numbers stay, except where they count what was left out.
"""

from __future__ import annotations

import hashlib
import re
import struct
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from roofline.errors import UsageError
from roofline.files import inputs_kept, opened, refuse_overwrite
from roofline.reports.code import sections
from roofline.reports.container import ContainerError, Walk, save, sized, summarize
from roofline.reports.fields import BYTES, VARINT, Workload, encoded, fields_of, numbers
from roofline.reports.find import SUFFIXES

Keep = Callable[[bytes], bytes | None]  # None: leave the field out after all
_HEADER, _SESSION = numbers("BlockHeader"), numbers("Session")
_SYSTEMS = (3, 4)  # the host and the target in a session; of each: system, release, machine
_MACHINE_CODE, _SYMBOLS = 4, 9  # of a source
_NOBODY = encoded(2, BYTES, b"host") + encoded(3, BYTES, b"app")  # of a process
_TABLES = tomllib.loads(Path(__file__).with_name("redact.toml").read_text("utf-8"))


def _any_of(table: Mapping[str, Any]) -> re.Pattern[bytes]:
    text = "|".join(table["patterns"])
    for word, pattern in _TABLES["words"].items():
        text = text.replace(word.upper(), pattern)
    # Read as Latin-1, "\\x80" is that byte.
    return re.compile(text.encode("latin-1"))


PATHS = _any_of(_TABLES["paths"])
_TOLD = _any_of(_TABLES["told"])
_FREE = {kind: _any_of(table) for kind, table in _TABLES["free"].items()}
_FILE = re.compile(rb".\.%b" % _TABLES["words"]["file"].encode())
_NOBODYS = frozenset(_TABLES["told"]["nobody"].encode().split())
_RUN = re.compile(rb"[\t -~\x80-\xff]{5,}")  # of bytes, what could be text
_PERSONAL = re.compile(rb"[/\\@]|[\w~]{2}")  # what nothing personal is without
_ESCAPE = re.compile(rb"\x1b\[[\d;]*[A-Za-z]")  # of a terminal: its last letter ends no word
_PRINTED = re.compile(rb"[\t-\r -~]")
_DEEPEST = 64  # messages within messages; ncu's are far fewer
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """What was left out: by kind, how often; ``paths`` counts texts that lost a path."""

    results: int
    left_out: Mapping[str, int]
    paths: int


def redact(
    source: Path,
    target: Path,
    *,
    keep_sass: bool = False,
    keep_names: bool = True,
    force: bool = False,
) -> Redaction:
    """Write ``target`` as ``source`` without personal data.

    Args:
        source: a whole ``.ncu-rep`` or ``.ncu-repz``.
        target: where to write; ``.ncu-repz`` is compressed.
        keep_sass: keep the machine code, without debug information.
        keep_names: keep the names of kernels; else each becomes the same hash everywhere.
        force: write over ``target``.

    Raises:
        InputError: ``source`` is not a whole report.
        UsageError: ``target`` exists, cannot be written or is no name for a report; or code is kept
            and names are not.

    """
    if target.suffix not in SUFFIXES:
        raise UsageError(f"{target} is no name for a report", hint=f"{target}.ncu-rep")
    if keep_sass and not keep_names:
        raise UsageError("machine code holds the names of kernels", hint="one of the two options")
    with inputs_kept(source):
        refuse_overwrite(target, force=force)
    with opened(source) as file:
        try:
            summary = summarize(file, source)
            counted = {w.lower() for name in summary.names for w in re.split(r"\W|_", name)}
            people, kernels = _named(Walk(file), counted)
            work = _Work(people, None if keep_names else kernels, keep_sass=keep_sass)
            save(target, work.report(Walk(file)), force=force)
        except ContainerError as error:
            raise error.of(source) from error
    return Redaction(results=summary.found, left_out=dict(work.left_out), paths=work.paths)


class _Work:
    """One pass over a report, and the count of what it left out."""

    def __init__(self, people: set[bytes], kernels: set[bytes] | None, *, keep_sass: bool) -> None:
        """``kernels`` are the names that are replaced; ``None`` where all are kept."""
        self.left_out: Counter[str] = Counter()
        self.paths = 0
        self.unchanged: set[bytes] = set()
        self.people, self.kernels = _words(people), _words(kernels or set())
        part, each = self.part, dict.fromkeys
        plain = self.cut(without_paths)
        deep: Keep = partial(scrubbed, self.free)
        process = part("process and host names", {})
        system = part("host names and addresses", each((1, 3, 4), deep))
        said: dict[int, Keep] = dict.fromkeys(_SYSTEMS, system)
        said |= each((_SESSION[name] for name in ("devices", "versions", "settings")), deep)
        session = part("comments, command lines and environments", said)
        known = {"session": session, "strings": deep, "process": lambda x: process(x) + _NOBODY}
        fields = {_HEADER[name]: keep for name, keep in known.items()}
        self.header = part(
            "unknown parts of headers", fields, without=(_HEADER["payload"], _HEADER["views"])
        )
        self.source = part("sources and machine code", {})
        if keep_sass:
            self.source = part("sources", {_MACHINE_CODE: machine_code, _SYMBOLS: deep})
        self.result, rules = {}, part("source markers of rules", each((1, 2, 3, 4), deep))
        for kind, has in zip(Workload, map(numbers, Workload), strict=True):
            states = *(has[n] for n in ("metrics", "sections", "nvtx")), *_TABLES["states"][kind]
            stay: dict[int, Keep] = each(states, deep)
            stay |= each(_TABLES["names"][kind], plain) | {has["rules"]: rules}
            if kernels is not None:
                stay |= each((has[name] for name in _NAMED if name in has), self.hashed)
            if "source" in has:
                stay[has["source"]] = self.source
            self.result[kind] = part("call stacks, notes and unknown parts of results", stay)

    def report(self, walk: Walk) -> Iterator[bytes]:
        """The bytes of the new report, piece by piece."""
        yield walk.head
        for block in walk.blocks(results=True, others=True):
            sources, views = block.message.sources, block.message.views
            entries = [self.source(entry) for entry in block.entries[:sources]]
            for kind, entry in zip(block.kinds, block.entries[sources:], strict=False):
                entries.append(self.result[kind](entry))
            if views:
                self.left_out["graph views"] += views
            payload = b"".join(map(sized, entries))
            size = encoded(_HEADER["payload"], VARINT, len(payload))
            yield sized(self.header(block.header) + size)
            yield payload

    def part(
        self, what: str, keep: Mapping[int, Keep], without: tuple[int, ...] = ()
    ) -> Callable[[bytes], bytes]:
        """What leaves the fields of a message that may stay; others are counted as ``what``."""

        def kept_of(data: bytes) -> bytes:
            fields = fields_of(data)
            if fields is None:
                raise ContainerError("junk", "bytes in it are damaged")
            out = []
            for number, wire, value in fields:
                if number in without:
                    continue
                kept: int | bytes | None = value
                if isinstance(value, bytes):
                    kept = keep[number](value) if number in keep else None
                if kept is not None:
                    out.append(encoded(number, wire, kept))
                elif value:
                    self.left_out[what] += 1
            return b"".join(out)

        return kept_of

    def free(self, text: bytes) -> bytes:
        """Free text without what is personal, which is counted by its kind."""
        if text in self.unchanged:  # most texts recur
            return text
        done = self.cleaned(text)
        if done == text and len(text) < 200 and len(self.unchanged) < 10_000:
            self.unchanged.add(text)
        return done

    def cleaned(self, text: bytes) -> bytes:
        """The same for a text that is new."""
        done = _ESCAPE.sub(b"", text)

        for kind, pattern in _FREE.items():
            if kind == "paths":
                done = self.cut(partial(without_paths, also=pattern))(done)
                continue
            done, count = pattern.subn(b"(%b)" % kind.encode(), done)
            self.left_out[_TABLES["free"][kind]["what"]] += count
        if self.people:
            done, count = self.people.subn(b"(name)", done)
            self.left_out["names of users and hosts in kept texts"] += count
        return self.kernels.sub(lambda name: self.hashed(name[0]), done) if self.kernels else done

    def hashed(self, name: bytes) -> bytes:
        """A name that is the same for the same kernel in all files, and says nothing of it."""
        self.left_out["names of kernels, for which hashes stand"] += bool(name)
        return b"kernel_" + hashlib.sha256(name).hexdigest()[:12].encode() if name else name

    def cut(self, how: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
        """The same, counted where it cuts a path."""

        def counted(data: bytes) -> bytes:
            done = how(data)
            self.paths += done != data
            return done

        return counted


# --- names and paths ------------------------------------------------------------------------------

_NAMED = ("mangled", "function", "demangled")


def _named(walk: Walk, counted: set[str]) -> tuple[set[bytes], set[bytes]]:
    """Names of people and hosts, and of kernels, that a report shows to be some.

    ``counted`` are words of its metrics, which are nobody's.
    """
    people: set[bytes] = set()
    kernels: set[bytes] = set()
    for block in walk.blocks(results=True, others=True):
        people.add(block.message.process.host)
        for text in (block.header, *block.entries):
            said = b"\n".join(_RUN.findall(text))
            people |= {word for found in _TOLD.findall(said) for word in found}
        for session in _texts(block.header, {_HEADER["session"]}):
            for system in _texts(session, set(_SYSTEMS)):
                people |= _texts(system, {5})
        for kind, entry in zip(block.kinds, block.entries[block.message.sources :], strict=False):
            kernels |= _texts(entry, {n for name, n in numbers(kind).items() if name in _NAMED})
    people |= {word.partition(b".")[0] for word in people}
    known = _NOBODYS | {word.encode() for word in counted}
    return {w for w in people if len(w) > 2 and w.lower() not in known}, {
        w for w in kernels if len(w) > 3
    }


def _texts(data: bytes, wanted: set[int]) -> set[bytes]:
    """The fields of a message that are texts or messages, of those numbers."""
    return {v for n, _, v in fields_of(data) or () if n in wanted and isinstance(v, bytes)}


def _words(words: set[bytes]) -> re.Pattern[bytes] | None:
    """Any of the words, the longest first; ``None`` for none."""
    listed = b"|".join(map(re.escape, sorted(words, key=len, reverse=True)))
    return re.compile(rb"(?<![A-Za-z0-9_])(?:%b)(?![A-Za-z0-9_])" % listed) if listed else None


def without_paths(data: bytes, also: re.Pattern[bytes] = PATHS) -> bytes:
    """The text with ``/home/ann/src/a.cu`` cut down to ``a.cu``, to ``~`` where no file ends it."""
    return also.sub(_last_part, PATHS.sub(_last_part, data))


def _last_part(path: re.Match[bytes]) -> bytes:
    last = re.split(rb"[\\/]", path[0])[-1]
    return last if _FILE.search(last) else b"~"


def blank(data: bytes) -> bytes:
    """Binary data with every such path overwritten, so that nothing moves."""
    return PATHS.sub(lambda match: b"x" * len(match.group()), data)


def scrubbed(clean: Callable[[bytes], bytes], data: bytes, depth: int = 0) -> bytes:
    """A message with ``clean`` done to every text in it, at whatever depth.

    What a field is, its bytes tell: a message if they are one to the last byte and hold a control
    character or nothing but texts, else text if nothing in them is a control character or three
    of four are letters of text, else binary data, in which nothing moves.
    """
    if _PERSONAL.search(data) is None:
        return data
    fields = fields_of(data)
    if fields and (not _looks_like_text(data) or all(wire == BYTES for _, wire, _ in fields)):
        if depth == _DEEPEST:
            raise ContainerError("junk", "messages in it are nested too deep")
        inner = partial(scrubbed, clean, depth=depth + 1)
        done = b"".join(
            encoded(number, wire, inner(value) if isinstance(value, bytes) else value)
            for number, wire, value in fields
        )
        if PATHS.search(done) is None:
            return done
    textual = len(_PRINTED.findall(data)) * 4 > len(data) * 3
    return clean(data) if textual or _looks_like_text(data.lstrip(b"\n")) else blank(data)


def _looks_like_text(data: bytes) -> bool:
    """A message that has no control character begins with a line feed, its first tag."""
    try:
        words = data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return not words.startswith("\n") and _CONTROL.search(words) is None


# --- machine code ---------------------------------------------------------------------------------


def machine_code(data: bytes) -> bytes | None:
    """Machine code without debug information; ``None`` where it is not an ELF file of 64 bits.

    Sections keep their size and place, so that addresses in the report still fit.
    """
    if data[:5] != b"\x7fELF\x02":
        return None
    out = bytearray(blank(data))
    try:
        for name, start, size in sections(data):
            if name.startswith((b".debug", b".nv_debug")):
                out[start : start + size] = bytes(size)
    except (struct.error, ValueError):
        return None
    return bytes(out)
