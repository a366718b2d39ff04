"""Copy a report without what is personal in it; every measured value stays.

What may stay is listed, message by message; other text and messages, those of newer formats
too, are left out. Numbers stay, except where they count what was left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from roofline import scrub
from roofline.errors import InputError, UsageError
from roofline.files import refuse_overwrite, whole_file
from roofline.repfile import Block, Workload, opened, require_whole, walk, wire
from roofline.repfile.problems import damaged
from roofline.repfile.schema import CMDLIST_NAME, RESULTS, Header, Kernel, Session
from roofline.repfile.writer import compressed, sized
from roofline.reports import SUFFIXES

Keep = Callable[[bytes], bytes | None]  # None: leave the field out after all
_BINARY = 4  # the machine code among a source's fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """What was left out: by kind, how often; ``paths`` counts texts that lost a path."""

    results: int
    left_out: Mapping[str, int]
    paths: int


def redact(
    source: Path, target: Path, *, keep_sass: bool = False, force: bool = False
) -> Redaction:
    """Write ``target`` as ``source`` without personal data.

    Args:
        source: a whole ``.ncu-rep`` or ``.ncu-repz``.
        target: where to write; ``.ncu-repz`` is compressed.
        keep_sass: keep the machine code, without debug information.
        force: write over ``target``.

    Raises:
        InputError: ``source`` is not a whole report.
        UsageError: ``target`` exists, cannot be written or is no name for a report.

    """
    if target.suffix not in SUFFIXES and not _takes_anything(target):
        raise UsageError(f"{target} is no name for a report", hint=f"{target}.ncu-rep")
    refuse_overwrite(target, force=force)
    summary = require_whole(source)
    work = _Work(keep_sass=keep_sass)
    try:
        with opened(source) as data, whole_file(target, force=force) as temporary:
            pieces = work.report(data)
            with temporary.open("wb") as file:
                if target.suffix == ".ncu-repz":
                    file.write(compressed(b"".join(pieces)))
                else:
                    file.writelines(pieces)
    except wire.WireError as error:
        problem = damaged(error)
        raise InputError(f"cannot read {source}", why=problem.text, hint=problem.hint) from error
    return Redaction(results=summary.found, left_out=dict(work.left_out), paths=work.paths)


def _takes_anything(target: Path) -> bool:
    """Whether ``target`` is a pipe or a device, which have names of their own."""
    return target.exists() and not target.is_file()


class _Work:
    """One pass over a report, and the count of what it left out."""

    def __init__(self, *, keep_sass: bool) -> None:
        self.keep_sass = keep_sass
        self.left_out: Counter[str] = Counter()
        self.paths = 0
        self.first = True

    def report(self, data: memoryview) -> Iterator[bytes]:
        """The bytes of the new report, piece by piece."""
        for block in walk(data):
            if self.first:
                yield bytes(data[: block.offset])  # magic and file header
                self.first = False
            yield from self.block(block)

    def block(self, block: Block) -> Iterator[bytes]:
        kinds = block.kinds
        entries = [self.source(entry) for entry in block.entries[: block.sources]]
        results = block.entries[block.sources : block.sources + len(kinds)]
        entries += [self.result(kind, entry) for kind, entry in zip(kinds, results, strict=True)]
        if block.graphs:
            self.left_out["graph views"] += block.graphs
        payload = b"".join(sized(entry) for entry in entries)
        yield sized(self.header(block, len(payload)))
        yield payload

    def header(self, block: Block, payload: int) -> bytes:
        kept = self.message(
            block.header,
            {
                Header.SESSION: self.session,
                Header.STRINGS: self.scrubbed,
                Header.PROCESS: self.process,
            },
            "unknown parts of headers",
        )
        numbers = (Header.PAYLOAD, Header.GRAPH_VIEWS)
        rest = b"".join(f.raw for f in wire.fields(kept) if f.number not in numbers)
        return rest + wire.uint(Header.PAYLOAD, payload)

    def session(self, data: bytes) -> bytes:
        system = {1: self.plain, 3: self.plain, 4: self.plain}
        keep: dict[int, Keep] = {
            number: lambda part: self.message(part, system, "host names and addresses")
            for number in (Session.HOST, Session.TARGET)
        }
        for number in (Session.DEVICES, Session.VERSIONS, Session.SETTINGS):
            keep[number] = self.scrubbed
        return self.message(data, keep, "comments, command lines and environments")

    def process(self, data: bytes) -> bytes:
        self.left_out["process and host names"] += len(wire.parts(data, 2) + wire.parts(data, 3))
        number = wire.numbers(data).get(1, 0)
        return wire.uint(1, number) + wire.text(2, "host") + wire.text(3, "app")

    def source(self, data: memoryview | bytes) -> bytes:
        keep: dict[int, Keep] = {}
        if self.keep_sass:
            keep = {_BINARY: scrub.cubin, 9: self.scrubbed}  # 9: symbols of the machine code
        what = "sources" if self.keep_sass else "sources and machine code"
        return self.message(data, keep, what)

    def result(self, kind: Workload, data: memoryview) -> bytes:
        fields = RESULTS[kind]
        keep: dict[int, Keep] = dict.fromkeys(
            (fields.metrics, fields.sections, fields.nvtx, *_ALSO[kind]), self.scrubbed
        )
        keep |= dict.fromkeys((*fields.names, *_NAMES[kind]), self.plain)
        keep[fields.rules] = lambda part: self.message(
            part, dict.fromkeys((1, 2, 3, 4), self.scrubbed), "source markers of rules"
        )
        if kind is Workload.KERNEL:
            keep[Kernel.SOURCE] = self.source
        return self.message(data, keep, "call stacks, notes and unknown parts of results")

    def message(self, data: memoryview | bytes, keep: Mapping[int, Keep], what: str) -> bytes:
        """The fields that may stay; ``what`` is how those left out are counted."""
        out = []
        for field in wire.fields(data):
            if isinstance(field.value, int):
                out.append(bytes(field.raw))
                continue
            kept = keep[field.number](bytes(field.value)) if field.number in keep else None
            if kept is not None:
                out.append(wire.blob(field.number, kept))
            elif len(field.value):
                self.left_out[what] += 1
        return b"".join(out)

    def plain(self, data: bytes) -> bytes:
        done = scrub.text(data)
        self.paths += done != data
        return done

    def scrubbed(self, data: bytes) -> bytes:
        done = scrub.message(data)
        self.paths += done != data
        return done


# What else a result may keep: names, and dimensions, clock and series states, sampled counters.
_NAMES = {
    Workload.KERNEL: (Kernel.MANGLED, Kernel.FUNCTION, Kernel.DEMANGLED, 31, 39),
    Workload.RANGE: (23,),
    Workload.CMDLIST: (CMDLIST_NAME, 27),
    Workload.GRAPH: (26,),
}
_ALSO = {
    Workload.KERNEL: (Kernel.OFFSET, Kernel.GRID, Kernel.BLOCK, 24, 25, 36, 38),
    Workload.RANGE: (12, 15, 22),
    Workload.CMDLIST: (13, 17, 20, 26),
    Workload.GRAPH: (13, 17, 24),
}
