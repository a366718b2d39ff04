"""What a report holds by its container alone: cheap enough to ask before every load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from roofline.errors import InputError
from roofline.files import refuse_unreadable, unreadable
from roofline.repfile import wire
from roofline.repfile.container import Block, ContainerError, opened, version, walk
from roofline.repfile.problems import Problem, broken, contradiction, damaged
from roofline.repfile.schema import SETTINGS, VERSION, ZSTD_MAGIC, Header, Session, Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One result in file order, which is the order in which ncu_report gives the actions."""

    workload: Workload
    process: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A report without its values.

    ``size_bytes`` is of the file, ``result_bytes`` of each result with what was written for it,
    before compression. ``announced`` and ``found`` count results; they differ only in a broken
    file, where ``found`` are those before the break. ``versions`` maps providers ("Nsight Compute
    Target", "CUDA Version", ...) to versions, ``settings`` what the capture was told
    ("clock_control", "replay_mode", "sections", "activity"), ``processes`` ids to names.
    ``strings`` is the table of metric names; any result may lack some. ``created_s`` is Unix time,
    ``comment`` what whoever made the file wrote into it.
    """

    size_bytes: int
    result_bytes: tuple[int, ...] = ()
    version: int | None = None
    announced: int = 0
    found: int = 0
    results: tuple[Found, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    processes: Mapping[int, str] = field(default_factory=dict)
    strings: frozenset[str] = frozenset()
    created_s: int | None = None
    comment: str = ""
    compressed: bool = False
    problem: Problem | None = None

    @property
    def truncated(self) -> bool:
        """Whether the file ends too early."""
        return self.problem is not None and self.problem.code == "cut"

    @property
    def newer(self) -> bool:
        """Whether the container's version is above the one that is known here."""
        return self.version is not None and self.version > VERSION

    @property
    def ncu_version(self) -> str | None:
        """The Nsight Compute that captured, "2024.1.1.0"; ``None`` where it is not stated."""
        for provider in ("Nsight Compute Target", "Nsight Compute Host"):
            if words := self.versions.get(provider, "").split():
                return words[0]
        return None


def summarize(path: Path) -> Summary:
    """Look at a file's container; what is wrong with it is said, not raised.

    Raises:
        InputError: the file cannot be opened (missing, a folder, no permission), or it is
            compressed and cannot be decompressed here.

    """
    refuse_unreadable(path)
    seen = _Seen()
    try:
        head = _head(path)
        with opened(path) as data:
            seen.read(data)
        problem = contradiction(path, head) or seen.nothing()
    except ContainerError as error:
        problem = broken(error, head)
        seen.lost = error.lost
    except wire.WireError as error:
        problem = damaged(error)
    compressed = head.startswith(ZSTD_MAGIC)
    return seen.summary(path.stat().st_size, compressed=compressed, problem=problem)


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(64)
    except OSError as error:
        raise unreadable(path, error) from error


def require_whole(path: Path) -> Summary:
    """Give the summary of a report that is whole and holds results.

    Raises:
        InputError: it is not; the message says what it is instead and what to do.

    """
    summary = summarize(path)
    if (problem := summary.problem) is not None:
        raise InputError(f"cannot read {path}", why=problem.text, hint=problem.hint)
    return summary


class _Seen:
    """What was met while walking, kept even when the walk ends in an error."""

    def __init__(self) -> None:
        self.version: int | None = None
        self.lost = self.counted = 0
        self.result_bytes: list[int] = []
        self.results: list[Found] = []
        self.same: dict[Found, Found] = {}
        self.ids: dict[bytes, int | None] = {}
        self.versions: dict[str, str] = {}
        self.settings: dict[str, str] = {}
        self.processes: dict[int, str] = {}
        self.strings: set[str] = set()
        self.created_s: int | None = None
        self.comment = ""

    def read(self, data: memoryview) -> None:
        self.version, _ = version(data)
        for block in walk(data):
            self.add(block)

    def add(self, block: Block) -> None:
        process = None
        for part in block.parts:
            assert isinstance(part.value, memoryview)
            if part.number == Header.PROCESS:
                process = self._process(bytes(part.value))
            elif part.number == Header.SESSION:
                self._session(part.value)
            elif part.number == Header.STRINGS:
                self.strings.update(_texts(part.value, 1))
        self._count(block)
        for kind in block.kinds:
            found = Found(workload=kind, process=process)
            self.results.append(self.same.setdefault(found, found))

    def _count(self, block: Block) -> None:
        """Share what lies around the results of a block, and blocks before it, among them."""
        kinds = len(block.kinds)
        if kinds:
            own = [len(entry) for entry in block.entries[block.sources :][:kinds]]
            around = (block.end - self.counted - sum(own)) // kinds
            self.result_bytes += [size + around for size in own]
            self.counted = block.end

    def _process(self, message: bytes) -> int | None:
        """Blocks of one process repeat it to the byte: it is taken apart once."""
        if message not in self.ids:
            number = wire.numbers(message).get(1)
            self.ids[message] = number
            if number is not None:
                self.processes.setdefault(number, _text(memoryview(message), 3))
        return self.ids[message]

    def _session(self, message: memoryview) -> None:
        self.comment = self.comment or _text(message, Session.COMMENT)
        self.created_s = self.created_s or wire.numbers(message).get(Session.CREATED)
        for entry in wire.parts(message, Session.VERSIONS):
            self.versions[_text(entry, 1)] = _text(entry, 2)
        for entry in wire.parts(message, Session.SETTINGS):
            for name, number in SETTINGS.items():
                if text := _text(entry, number):
                    self.settings[name] = text

    def nothing(self) -> Problem | None:
        if self.results:
            return None
        return Problem(
            code="no results",
            text="it is whole, but no kernel was profiled into it",
            hint="capture again; roofline doctor says whether this machine can",
        )

    def summary(self, size: int, *, compressed: bool, problem: Problem | None) -> Summary:
        return Summary(
            size_bytes=size,
            result_bytes=tuple(self.result_bytes),
            version=self.version,
            announced=len(self.results) + self.lost,
            found=len(self.results),
            results=tuple(self.results),
            versions=self.versions,
            settings=self.settings,
            processes=self.processes,
            strings=frozenset(self.strings),
            created_s=self.created_s,
            comment=self.comment,
            compressed=compressed,
            problem=problem,
        )


def _texts(message: memoryview, number: int) -> list[str]:
    return [str(part, "utf-8", "replace") for part in wire.parts(message, number)]


def _text(message: memoryview, number: int) -> str:
    found = wire.parts(message, number)
    return str(found[-1], "utf-8", "replace") if found else ""
