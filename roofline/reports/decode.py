"""Reports to launches, whose metrics are decoded when they are asked for."""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache, partial
from itertools import islice
from math import isfinite
from operator import itemgetter
from pathlib import Path
from re import Pattern
from typing import Any, Literal, TypeVar

from roofline.arguments import checked
from roofline.errors import InputError
from roofline.files import opened
from roofline.model import Dim3, Kind, Launch, Note, RuleResult, is_address
from roofline.reports.code import Code, code_of
from roofline.reports.container import ContainerError, Summary, Walk, parsed, summarize
from roofline.reports.fields import READ, VERSION, Workload, decoded, message
from roofline.reports.find import OnError, OnProgress, files_of, report_or_raise
from roofline.reports.metrics import ByName, Scalar, is_time, renamed, rule_result
from roofline.reports.nvidia import NvidiaMetrics, NvidiaReport

_T = TypeVar("_T")
Reader = Literal["protobuf", "ncu-report"]
OnByte = Callable[[int], None]
_COMPUTED = "computed by "
# What stands before the eight bytes of a metric that is nothing but a name and a double, as most
# are: to take these apart here is four times as quick as a message.
_DOUBLE = b"\x12\x09\x19"
_unpacked = struct.Struct("<d").unpack_from
_DEFAULT = "<default domain>"
_KINDS = {Workload.RANGE: Kind.RANGE, Workload.GRAPH: Kind.GRAPH}


@checked
def read(
    *paths: str | Path,
    reader: Reader = "protobuf",
    on_error: OnError | None = None,
    on_progress: OnProgress | None = None,
) -> Iterator[Launch]:
    """Give the launches of reports, in file order.

    Args:
        paths: files, folders (searched through for reports) and glob patterns.
        reader: what decodes the reports: "protobuf", or "ncu-report", NVIDIA's own package.
        on_error: called with each file that cannot be read; without it the first one raises.
        on_progress: called with (files done, files in all) before each file and at the end.

    Raises:
        InputError: a file cannot be read or holds no kernels, or a pattern matches nothing.
        ArgumentError: ``reader`` is not known, or a path is of another type.

    """
    files = files_of(paths, lambda _, error: report_or_raise(error, on_error))
    tell = on_progress or (lambda done, total: None)
    for done, file in enumerate(files):
        tell(done, len(files))
        try:
            yield from launches(file, reader)
        except InputError as error:
            report_or_raise(error, on_error)
    tell(len(files), len(files))


def launches(
    path: Path, reader: Reader = "protobuf", on_byte: OnByte | None = None
) -> Iterator[Launch]:
    """Give the launches of a report in file order.

    A report whose format is of another version than the known one is read with ncu_report whatever
    ``reader`` says, and its launches have a note of that. ``on_byte`` is called with the place in
    the file after each launch. What is wrong with a report is an ``InputError``.
    """
    index = 0
    with opened(path) as file:
        try:
            summary = summarize(file, path)
            launch = partial(
                Launch,
                source=str(path),
                range=0,
                ncu_version=summary.ncu_version,
                settings=summary.settings,
                # Other comments are somebody's words, and may be personal.
                origin=summary.comment if summary.comment.startswith(_COMPUTED) else None,
            )
            metrics = _by(reader, path, summary)
            for block in Walk(file).blocks(results=True):
                process = block.message.process.id if block.message.HasField("process") else None
                for kind, entry in zip(block.kinds, block.entries, strict=True):
                    found = metrics(kind, entry, index, process or 0)
                    name = found.name or str(kind)
                    yield launch(
                        index=index,
                        kind=_KINDS.get(kind, Kind.KERNEL),
                        name=name,
                        demangled=found.demangled or name,
                        metrics=found,
                        grid=found.dim3("grid"),
                        block=found.dim3("block"),
                        nvtx=tuple(n if d == _DEFAULT else f"{d}@{n}" for d, n in found.nvtx()),
                        process=process,
                    )
                    index += 1
                    if on_byte is not None:
                        on_byte(file.tell())
        except ContainerError as error:
            raise error.of(path, partly=index > 0) from error


def _by(
    reader: Reader, path: Path, summary: Summary
) -> Callable[[Workload, bytes, int, int], _Metrics | NvidiaMetrics]:
    """What makes the metrics of a result from its kind, its bytes, its number and its process."""
    if reader == "protobuf" and summary.version == VERSION:
        return partial(_Metrics, _Table(path, summary.names))
    report = NvidiaReport(path)
    notes: tuple[Note, ...] = ()
    if len(report) != summary.found:
        written = f" (it was written by ncu {summary.ncu_version})" if summary.ncu_version else ""
        raise InputError(
            f"cannot read all of {path}",
            why=f"it holds {summary.found} results, {len(report)} could be loaded",
            hint=f"pip install --upgrade ncu-report, in case the file is newer than it{written}",
        )
    if summary.version != VERSION:
        facts = {"version": summary.version, "known": VERSION}
        notes = (Note(code="unknown_format", facts=facts),)
    return lambda kind, entry, index, process: NvidiaMetrics(report, index, notes)


class _Table:
    """What the results of a file share: its table of names, and how ncu_report reads it."""

    def __init__(self, path: Path, names: list[str]) -> None:
        self.path, self.names, self.nvidia = path, names, NvidiaReport(path)
        self.kinds = _name_table(tuple(names))
        self.metric = message("Metric")
        self.alike: dict[tuple[str, bytes | str], Any] = {}  # by how read, and the metric's bytes
        self._codes: dict[tuple[int, int], Code] = {}

    def __reduce__(self) -> tuple[type[_Table], tuple[Path, list[str]]]:
        return _Table, (self.path, self.names)

    def code(self, process: int, source: int) -> Code:
        """The machine code of a source, read when it is first asked for."""
        if (process, source) not in self._codes:
            self._codes[process, source] = code_of(self.path, process, source)
        return self._codes[process, source]


class _NameTable:
    """The names of metrics in their order, and the kinds of results that files with these have."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._numbers = {name: number for number, name in enumerate(renamed(names))}
        # A metric begins with the number of its name: a tag and a varint.
        self._begin = itemgetter(slice(3 if len(names) <= 1 << 14 else 5))
        self._known: dict[bytes, _Alike] = {}

    def of(self, metrics: list[bytes]) -> _Alike:
        """The kind of a result with these metrics."""
        begins = b"".join(map(self._begin, metrics))
        found = self._known.get(begins)
        if found is None:
            at = {_number(raw): place for place, raw in enumerate(metrics)}
            places = {name: at[n] for name, n in self._numbers.items() if n in at}
            found = self._known[begins] = _Alike(places)
        return found


# Files of one tool repeat the same names, and what follows from these.
_name_table = lru_cache(maxsize=32)(_NameTable)


def _number(metric: bytes) -> int:
    """The number of a metric's name, in one byte, in two, or as it rarely is in more."""
    two = int.from_bytes(metric[1:3], "little")
    if not two & 1 << 7:
        return two & 127
    if not two & 1 << 15:
        return two & 127 | two >> 1 & 127 << 7
    found: int = message("Metric").FromString(metric).name
    return found


class _Alike:
    """What results with the same metrics share: what follows from these, and the numbers asked for.

    ``places`` are those of the metrics in a result, by name.
    """

    def __init__(self, places: dict[str, int]) -> None:
        self.places = places
        self.memo: dict[int, Any] = {}
        self._asked: dict[str, bytes] = {}  # by name what stands before the number
        self._sets: dict[frozenset[str], bool] = {}
        self._matching: dict[Pattern[str], tuple[str, ...]] = {}

    def ask(self, name: str, begin: bytes) -> None:
        """Decode a plain number together with the others that are asked for."""
        self._asked[name] = begin
        self.__dict__.pop("_layout", None)

    @cached_property
    def _layout(self) -> tuple[list[int], struct.Struct, tuple[bytes, ...], list[str], list[str]]:
        asked = dict(self._asked)  # at once, as other threads may read such files, too
        form = struct.Struct("<" + "".join(f"{len(begin)}sd" for begin in asked.values()))
        places, times = [self.places[name] for name in asked], list(filter(is_time, asked))
        return places, form, tuple(asked.values()), list(asked), times

    def numbers(self, metrics: list[bytes]) -> dict[str, float]:
        """The numbers asked for that are finite; none where one is written in another way."""
        places, form, begins, names, times = self._layout
        data = b"".join([metrics[place] for place in places])
        if len(data) != form.size or (parts := form.unpack(data))[::2] != begins:
            return {}
        found = dict(zip(names, parts[1::2], strict=True))
        for name in times:
            found[name] /= 1e9
        if not isfinite(sum(found.values())):
            return {name: value for name, value in found.items() if isfinite(value)}
        return found

    def any_of(self, names: frozenset[str]) -> bool:
        if names not in self._sets:
            self._sets[names] = not names.isdisjoint(self.places)
        return self._sets[names]

    def matching(self, pattern: Pattern[str]) -> tuple[str, ...]:
        if pattern not in self._matching:
            self._matching[pattern] = tuple(filter(pattern.match, self.places))
        return self._matching[pattern]


class _Metrics(ByName):
    """The metrics of one result, each decoded when it is asked for.

    The plain numbers that a result with the same metrics was asked for are decoded at once.
    """

    def __init__(
        self, table: _Table, kind: Workload, entry: bytes, index: int, process: int
    ) -> None:
        super().__init__()
        self._table, self._kind, self._entry, self._index = table, kind, entry, index
        self._process = process
        self._result = parsed(message(kind + READ), entry, f"result {index + 1}")
        self._metrics: list[bytes] = self._result.metrics[:]
        self._alike = table.kinds.of(self._metrics)
        self._places, self.memo = self._alike.places, self._alike.memo
        self._plain = self._alike.numbers(self._metrics)

    def __reduce__(self) -> tuple[type[_Metrics], tuple[_Table, Workload, bytes, int, int]]:
        return _Metrics, (self._table, self._kind, self._entry, self._index, self._process)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Metrics):
            return NotImplemented
        return self._entry == other._entry and self._table.names == other._table.names

    @property
    def name(self) -> str:
        return decoded(getattr(self._result, "function", b""))

    @property
    def demangled(self) -> str:
        return decoded(getattr(self._result, "demangled", b""))

    def dim3(self, what: str) -> Dim3 | None:
        if self._kind is not Workload.KERNEL or not self._result.HasField(what):
            return None
        dim = getattr(self._result, what)
        return (dim.x, dim.y, dim.z) if dim.x and dim.y and dim.z else None

    def nvtx(self) -> Iterable[tuple[str, str]]:
        state = self._result.nvtx
        stacks = next((t.stacks for t in state.threads if t.id == self._result.thread), ())
        for domain in state.domains:
            started = (one.ranges for one in state.started if one.domain == domain.id)
            pushed = (one.ranges for one in stacks if one.domain == domain.id)
            for ranges in (*started, *islice(pushed, 1)):
                for one in ranges:
                    yield decoded(domain.name), decoded(one.name)

    def _metric(self, name: str) -> Any:
        place = self._places.get(name)
        if place is None:
            return None
        return self._parsed(self._table.metric, self._metrics[place], f"{name} of result")

    def _parsed(self, kind: Any, data: bytes, what: str) -> Any:
        try:
            return parsed(kind, data, f"{what} {self._index + 1}")
        except ContainerError as error:
            raise error.of(self._table.path, partly=True) from error

    def number(self, name: str) -> float | None:
        if (known := self._plain.get(name)) is not None:
            return known
        place = self._places.get(name)
        if place is None:
            return None
        raw = self._metrics[place]
        if raw[-11:-8] == _DOUBLE and len(raw) < 15:
            self._alike.ask(name, raw[:-8])
            return self._si(name, _unpacked(raw, len(raw) - 8)[0])
        if name.startswith(("launch__", "device__")):  # whole, and alike in many
            return self._as_before(name, super().number)
        return super().number(name)

    def _value(self, name: str) -> Scalar | None:
        metric = self._metric(name)
        return None if metric is None else _scalar(metric.value)

    def text(self, name: str) -> str | None:
        return self._as_before(name, super().text)

    def _rows(self, name: str) -> Iterable[tuple[Scalar | None, Scalar | None]]:
        metric = self._metric(name)
        for one in () if metric is None else metric.instances:
            yield _scalar(one.id), _scalar(one.value)

    def instances(self, name: str) -> Mapping[str, float]:
        if name.startswith("launch__"):  # of the launch itself
            return self._as_before(name, super().instances)
        return super().instances(name)

    def _as_before(self, name: str, read: Callable[[str], _T]) -> _T:
        """What most launches of a kernel have alike, read once."""
        place = self._places.get(name)
        key = read.__name__, name if place is None else self._metrics[place]
        if key not in self._table.alike:
            self._table.alike[key] = read(name)
        found: _T = self._table.alike[key]
        return found

    def has(self, name: str) -> bool:
        return name in self._places

    def any_of(self, names: frozenset[str]) -> bool:
        return self._alike.any_of(names)

    def matching(self, pattern: Pattern[str]) -> Collection[str]:
        return self._alike.matching(pattern)

    def names(self) -> Collection[str]:
        return self._places.keys()

    def machine_code(self, address: str) -> bytes | None:
        if self._kind is not Workload.KERNEL or not is_address(address):
            return None
        return self._table.code(self._process, self._result.source.id).at(int(address))

    def sass(self, address: str) -> str | None:
        return self._asked(lambda nvidia: nvidia.sass(address))

    def _asked(self, question: Callable[[NvidiaMetrics], _T]) -> _T | None:
        """What only ncu_report knows; ``None`` where it cannot open the file."""
        try:
            return question(self._nvidia)
        except InputError:
            return None

    @cached_property
    def _nvidia(self) -> NvidiaMetrics:
        return NvidiaMetrics(self._table.nvidia, self._index)

    def line(self, address: str) -> tuple[str, int] | None:
        return self._asked(lambda nvidia: nvidia.line(address))

    def source(self, file: str) -> str:
        return self._asked(lambda nvidia: nvidia.source(file)) or ""

    @property
    def rules(self) -> tuple[RuleResult, ...]:
        found = []
        for rule in self._parsed(message(self._kind), self._entry, "result").rules:
            for item in rule.body.items:
                said, gain = item.message, item.speedup
                words = decoded(rule.name), decoded(said.title), decoded(said.text)
                told = (gain.kind, gain.percent) if item.HasField("speedup") else (None, None)
                found.append(rule_result(decoded(rule.identifier), *words, *told))
        return tuple(rule for rule in found if rule is not None)


def _scalar(value: Any) -> Scalar | None:
    """What a value holds."""
    kind = value.WhichOneof("kind")
    if kind is None:
        return None
    found = getattr(value, kind)
    return _text(found) if kind == "text" else found


_text = lru_cache(1 << 12)(decoded)  # opcodes recur from launch to launch
