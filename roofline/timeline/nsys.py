"""Nsight Systems: SQLite exports of schemas 2022.4 to 2026.2, and reports through ``nsys export``.

Nothing but the kernel table and the table of strings is taken for granted. Environment and
command line, which an export holds too, are never asked for.
"""

from __future__ import annotations

import re
import shlex
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from roofline.errors import InputError
from roofline.kernel_names import printable
from roofline.model import Device, Note
from roofline.patterns import compiled
from roofline.process import run_quietly
from roofline.timeline.events import (
    LONG_NS,
    STEP,
    UNKNOWN,
    Calls,
    Events,
    Identity,
    Integers,
    Interner,
    LaunchSource,
    Range,
    Timeline,
    Work,
    different,
    distinct,
    identity,
    no_such_step,
    possible,
    refusal,
)
from roofline.timeline.sources import Scope, with_sources

TIMEOUT_S = 1800.0
SQL_S = 600.0  # a table without the index that nsys makes is searched for each of its rows
_LARGEST_PAGE = 1 << 16  # bytes, of which each row takes some
KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
COPIES = "CUPTI_ACTIVITY_KIND_MEMCPY"
SETS = "CUPTI_ACTIVITY_KIND_MEMSET"
CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"
GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
RANGES = "NVTX_EVENTS"

# What a table that is read under a new name would still have in it.
_NOUNS = {KERNELS: "KERNEL", COPIES: "MEMCPY", SETS: "MEMSET", CALLS: "RUNTIME", RANGES: "NVTX_"}
_COPY_KINDS = {1: "HtoD", 2: "DtoH", 8: "DtoD", 10: "PtoP"}  # CUpti_ActivityMemcpyKind
_PUSH_POP, _START_END, _DOMAIN = 59, 60, 75  # eventType of NVTX_EVENTS
# Times that are integers, between which differences are, too.
_TIMED = " AND ".join(
    f"typeof({c}) = 'integer' AND abs({c} / 2) < {1 << 61}" for c in ("start", "end")
)
_IS_RANGE = f"eventType IN ({_PUSH_POP}, {_START_END})"
_PLAIN = re.compile(r"[\w#.=: -]{1,60}")
_OPERATOR = re.compile(r"\A([A-Za-z_]\w*::\w+)(?=$|, )")
_VERSION = re.compile(r"(?:_v\d+|_ptsz|_ptds){1,4}$")
_FIRST_CORRELATIONS = 1000  # a process counts its CUDA calls from 1
_NEGLIGIBLE_SHARE = 0.01
_ROWS = 1 << 14  # read together: texts that fit a cache of the processor
_THREADS = 2
_IDS = 500  # SQLite takes at least 999 parameters

# Several small columns in one integer, because each column read takes its time. Grid x takes 31
# bits, y and z 16; a block's sides are 1024 at most; a device fits into 8 bits.
_GRID = "(gridX << 32) | (gridY << 16) | gridZ"
_BLOCK = "(blockX << 20) | (blockY << 8) | blockZ"
_LASTED = "((end - start) << 24) | ((streamId & 0xFFFF) << 8) | deviceId"  # below 0: no times
# Correlation ids are counted by each process anew: the process is above 32 bits of correlation.
_KEY = "(((globalPid >> 24) & 0xFFFFFF) << 32) | coalesce(correlationId, 0)"
_WHERE = ("start", _LASTED, _KEY)
_NAMES = [f"(demangledName << 32) | {other}" for other in ("demangledName", "mangledName")]
_CALLED = "(nameId << 32) | min(end - start, 0xFFFFFFFF)"
_CALL = ("start", _CALLED, "globalTid", "nullif(correlationId, 0)")

Read = Callable[[], list[Integers]]
Ran = tuple[list[Identity], list[Integers]]  # and columns that end with the index of the identity


def read_report(path: Path, *, step: str | None = None, nsys: str | None = None) -> Timeline:
    """Export a ``.nsys-rep``, whose format is closed, to a temporary SQLite file and read that."""
    program = nsys or shutil.which("nsys")
    facts = {"path": path, "quoted": shlex.quote(str(path)), "minutes": TIMEOUT_S / 60}
    if program is None:
        raise refusal("no_program", **facts)
    with tempfile.TemporaryDirectory(prefix="roofline-") as folder:
        export = Path(folder) / "export.sqlite"
        argv = [program, "export", "--type", "sqlite", "--output", str(export), str(path)]
        done = run_quietly(argv, timeout_s=TIMEOUT_S)
        if done is None:
            raise refusal("not_run", program=program)
        if done.code == 0 and export.exists():
            return read_sqlite(export, step=step, label=path.name)
    # In our words: what nsys prints names folders and users.
    newer = "newer than your current version" in done.stdout + done.stderr
    code = "newer" if newer else "killed" if done.code == -9 else "not_exported"
    raise refusal(code, ended=done.code, **facts)


def read_sqlite(path: Path, *, step: str | None = None, label: str | None = None) -> Timeline:
    """Read an export of ``nsys export --type sqlite``; nothing is written beside it.

    ``label`` is the file's name in messages, where ``path`` is a temporary export.
    """
    name = label or path.name
    uri = f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"
    deadline = time.monotonic() + SQL_S

    def connect() -> sqlite3.Connection:
        db = sqlite3.connect(uri, uri=True)
        db.text_factory = lambda raw: printable(raw.decode("utf-8", "replace"))
        db.set_progress_handler(lambda: time.monotonic() > deadline, 1_000_000)
        return db

    try:
        with closing(connect()) as db, ThreadPoolExecutor(_THREADS) as pool:
            # Views and virtual tables could run for ever.
            own = "type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
            rows = db.execute(f"SELECT name FROM sqlite_master WHERE {own}")  # noqa: S608
            tables = {row[0] for row in rows}
            export = _Export(db=db, connect=connect, pool=pool, name=name, tables=tables)
            return export.timeline(step)
    except (sqlite3.DatabaseError, UnicodeDecodeError, OverflowError) as error:
        known = isinstance(error, sqlite3.DatabaseError)
        code = "no_export" if not known else "slow" if time.monotonic() > deadline else "sql"
        facts = {"error": printable(str(error)), "minutes": SQL_S / 60}
        raise refusal(code, file=name, **facts) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class _Export:
    db: sqlite3.Connection
    connect: Callable[[], sqlite3.Connection]
    pool: ThreadPoolExecutor
    name: str
    tables: set[str]

    def timeline(self, step: str | None) -> Timeline:
        if not self._has_rows(KERNELS):
            raise self._no_kernels()
        graphs = self._graphs()
        ranges = tuple(self._ranges(step))
        if step is not None and not ranges:
            found = self._ask(RANGES, f"DISTINCT {self._text}", f"WHERE {_IS_RANGE}")
            names = {name for (name,) in found if name}
            raise no_such_step(self.name, step, names, self._renamed(RANGES))
        mangled = self._has_column(KERNELS, "mangledName")
        kernels = self._columns(KERNELS, (*_WHERE, _NAMES[mangled], _GRID, _BLOCK))
        called = self._columns(CALLS, _CALL)  # read while the kernels are looked at
        work = self._work(kernels, mangled=mangled)
        identities, events, untimed, calls, keys = self._events(work, called)
        texts = self._strings(different(calls.name).tolist())
        call_names = {i: printable(_VERSION.sub("", name or "")) for i, name in texts.items()}
        named = list(self._named({(r.start, r.end) for r in ranges}))
        calls = calls.and_ranges((r for r in named if r[1] - r[0] >= LONG_NS), call_names)
        sources: tuple[LaunchSource, ...] = ()
        if named:
            scopes = Interner()
            rows = np.array([(*r[:3], scopes[r[3]]) for r in named], dtype=np.int64)
            source, sources = with_sources(events, Calls.of(*rows.T), [*map(_scope, scopes)])
            events = replace(events, source=source)
        said = self._ask("DIAGNOSTIC_EVENT", "1", "WHERE text LIKE 'Not all CUDA events%' LIMIT 1")
        lost = [Note(code="events_lost") for _ in said]
        if unknown := ", ".join(t for table in _NOUNS for t in self._renamed(table)):
            lost.append(Note(code="unknown_tables", facts={"tables": unknown}))
        return Timeline(
            file=self.name,
            format="nsys-sqlite",
            identities=identities,
            events=events,
            calls=calls,
            call_names=call_names,
            ranges=ranges,
            sources=sources,
            devices=self._devices(),
            from_start=self._from_start(keys),
            notes=(*graphs, *lost, *events.notes(untimed=untimed)),
        )

    # --- tables and columns, which vary with the version of nsys

    def _ask(self, table: str, what: str, more: str = "", values: Sequence[Any] = ()) -> Any:
        if table not in self.tables:
            return iter(())
        return self.db.execute(f"SELECT {what} FROM {table} {more}", values)  # noqa: S608

    def _renamed(self, table: str) -> list[str]:
        """Tables that may be ``table`` under a new name, where there is none of that name."""
        fits = re.compile(rf"(?!ENUM_|NVTX_(?:PAYLOAD|SCOPE))\w*{_NOUNS[table]}\w*").fullmatch
        return [] if table in self.tables else sorted(filter(fits, self.tables))

    def _has_rows(self, table: str) -> bool:
        return next(self._ask(table, "1", "LIMIT 1"), None) is not None

    def _has_column(self, table: str, column: str) -> bool:
        return any(row[1] == column for row in self.db.execute(f"PRAGMA table_info({table})"))

    def _columns(self, table: str, columns: Sequence[str]) -> Read:
        """Whole integer columns, which are read from now on; they are there when called for.

        SQLite joins each column to text and numpy parses it: three times faster than a Python
        tuple for each row, and in batches it needs little memory. SQLite works outside of
        Python's lock, so two threads help.
        """
        # One by one: asked for both, SQLite reads every row.
        ends: list[Any] = [next(self._ask(table, f"{f}(rowid)"), (None,)) for f in ("min", "max")]
        low, high = (0, -1) if (None,) in ends else (end[0] for end in ends)
        if high - low > _LARGEST_PAGE * next(self.db.execute("PRAGMA page_count"))[0]:
            raise sqlite3.DatabaseError("rows have numbers that no export gives them")
        listed = ", ".join(f"group_concat(coalesce({c}, -1))" for c in columns)
        query = f"SELECT count(*), {listed} FROM {table} WHERE rowid >= ? AND rowid < ?"  # noqa: S608
        # Rows are numbered without holes unless some were deleted; memory that is not written to
        # costs nothing.
        found = [np.empty(high - low + 1, dtype=np.int64) for _ in columns]

        def batch(first: int) -> slice:
            with closing(self.connect()) as db:
                db.text_factory = bytes  # digits, which need no look at each letter
                texts = db.execute(query, (first, first + _ROWS)).fetchone()
            place = slice(first - low, first - low + texts[0])
            for column, text in zip(found, texts[1:], strict=True):
                column[place] = _integers(text or b"", texts[0])
            return place

        batches = self.pool.map(batch, range(low, high + 1, _ROWS))

        def whole() -> list[Integers]:
            filled = list(batches)
            if sum(f.stop - f.start for f in filled) == high - low + 1:
                return [found.pop(0) for _ in columns]  # nothing else holds them
            return [np.concatenate([column[f] for f in filled]) for column in found]

        return whole

    def _strings(self, keys: Iterable[int]) -> dict[int, str]:
        """Texts by id; the table may have no index, so it is not searched for each."""
        wanted = sorted(keys)
        found: dict[int, str] = {}
        for first in range(0, len(wanted), _IDS):
            part = wanted[first : first + _IDS]
            marks = ",".join("?" * len(part))
            query = f"SELECT id, CAST(value AS TEXT) FROM StringIds WHERE id IN ({marks})"  # noqa: S608
            found.update(self.db.execute(query, part))
        return found

    # --- what ran

    def _calls(self, read: Read) -> tuple[Calls, Integers]:
        """CUDA calls of the host, and for each its process and correlation id in one number."""
        start, lasted, thread, correlation = read()
        unsorted = (start[1:] < start[:-1]).any()
        order = np.argsort(start, kind="stable") if unsorted else slice(None)
        keys = (thread >> 24 & 0xFFFFFF) << 32 | correlation
        keys = np.where(correlation > 0, keys, UNKNOWN)[order]
        name = lasted >> 32
        lasted &= 0xFFFFFFFF
        lasted += start
        return Calls.of(start, lasted, thread, name, order=order), keys

    def _events(
        self, work: Iterator[Ran], called: Read
    ) -> tuple[tuple[Identity, ...], Events, int, Calls, Integers]:
        """What ran, how many events were left out because their times cannot be, and ``_calls``."""
        parts: list[list[Integers]] = []
        identities: list[Identity] = []
        for found, columns in work:
            parts.append([*columns[:3], columns[3] + len(identities)])
            identities += found
        start, lasted, key, which = (
            np.concatenate([part.pop(0) for part in parts]) for _ in range(4)
        )
        timed = lasted >= 0
        timed &= possible(start, start + (lasted >> 24))
        if not timed.all():
            start, lasted, key, which = (c[timed] for c in (start, lasted, key, which))
        calls, keys = self._calls(called)
        *launches, since = calls.launches(np.where(key & 0xFFFFFFFF, key, UNKNOWN), keys)
        key >>= 32  # the process; in place, for a column more is memory
        device = lasted & 0xFF  # an ordinal, which each process may count in its own way
        for row in self._ask("TARGET_INFO_CUDA_DEVICE", "pid, cudaId, gpuId"):
            if all(isinstance(value, int) for value in row):
                pid, ordinal, index = row
                device[(lasted & 0xFF == ordinal) & (key == pid)] = index
        stream = lasted >> 8 & 0xFFFF
        lasted >>= 24
        lasted += start
        events = Events.of(start, lasted, device, which, *launches, key, stream, since)
        return tuple(identities), events, int((~timed).sum()), calls, keys

    def _work(self, read: Read, *, mangled: bool) -> Iterator[Ran]:
        """For kernels, copies and sets: identities, and columns that end with their index."""
        *columns, name, grid, block = read()
        keys, index = distinct(name, grid, block)
        texts = self._strings({i for names, *_ in keys for i in (names >> 32, names & 0xFFFFFFFF)})
        kernels = [
            identity(
                Work.KERNEL,
                texts.get(names >> 32) or "(no name)",
                mangled=texts.get(names & 0xFFFFFFFF) if mangled else None,
                grid=(g >> 32, g >> 16 & 0xFFFF, g & 0xFFFF),
                block=(b >> 20, b >> 8 & 0xFFF, b & 0xFF),
            )
            for names, g, b in keys
        ]
        yield kernels, [*columns, index]
        *columns, kind = self._columns(COPIES, (*_WHERE, "copyKind"))()
        keys, index = distinct(kind)
        names_of = (f"memcpy {_COPY_KINDS.get(k[0], 'other')}" for k in keys)
        yield [identity(Work.COPY, n) for n in names_of], [*columns, index]
        if self._has_rows(SETS):
            columns = self._columns(SETS, _WHERE)()
            yield [identity(Work.SET, "memset")], [*columns, columns[0] * 0]

    # --- ranges

    def _ranges(self, step: str | None) -> Iterator[Range]:
        """Push/pop and start/end ranges whose name says that they are a step."""
        if step is None:
            more = f"{_IS_RANGE} AND {_TIMED} AND name GLOB 'ProfilerStep#*' ORDER BY start"
        else:
            more = f"{_IS_RANGE} AND {_TIMED} ORDER BY start"
        domain = "domainId" if self._has_column(RANGES, "domainId") else "0"
        marks = self._ask(RANGES, f"{domain}, {self._text}", f"WHERE eventType = {_DOMAIN}")
        domains = {number: name for number, name in marks if name}
        pattern = compiled(step or STEP, option="--step")
        what = f"start, end, CAST(globalTid AS INTEGER), {domain}, {self._text} AS name"
        for start, end, thread, where, name in self._ask(RANGES, what, f"WHERE {more}"):
            match = None if name is None else pattern.search(name)
            if match is not None:
                yield Range(
                    name=printable(name),
                    start=start,
                    end=end,
                    process=(thread or 0) >> 24 & 0xFFFFFF,
                    thread=UNKNOWN if thread is None else thread,
                    nvtx=_name_for_ncu(match, domains.get(where) if where else None),
                )

    def _named(self, steps: set[tuple[int, int]]) -> Iterator[tuple[int, int, int, str]]:
        what = f"start, end, CAST(globalTid AS INTEGER), {self._text} AS name"
        more = f"WHERE {_IS_RANGE} AND {_TIMED} AND end >= start AND name IS NOT NULL"
        for start, end, thread, name in self._ask(RANGES, what, more):
            if (start, end) not in steps:
                yield start, end, thread or 0, printable(name)

    @property
    def _text(self) -> str:
        if self._has_column(RANGES, "textId"):
            held = "(SELECT value FROM StringIds WHERE id = textId)"
            return f"CAST(coalesce(text, {held}) AS TEXT)"
        return "CAST(text AS TEXT)"

    # --- the GPUs, and how it was recorded

    def _devices(self) -> dict[int, Device]:
        whole = "CAST({} AS INTEGER)".format
        numbers = map(whole, ("computeMajor", "computeMinor", "smCount", "totalMemory"))
        columns = f"{whole('id')}, CAST(name AS TEXT), {', '.join(numbers)}"
        return {
            index: Device(
                index=index,
                name=printable(name) if name else None,
                compute_capability=None if major is None else f"{major}.{minor}",
                sm_count=sms,
                memory_bytes=memory,
            )
            for index, name, major, minor, sms, memory in self._ask("TARGET_INFO_GPU", columns)
        }

    def _from_start(self, keys: Integers) -> bool:
        """Whether launches were recorded from the start of the process.

        ``keys`` hold the correlation id of each CUDA call in their lower 32 bits.
        """
        trigger = self._setting("CAPTURE", "START_TRIGGER")
        return (
            bool(len(keys))
            and int((keys & 0xFFFFFFFF).min()) < _FIRST_CORRELATIONS
            and not self._setting("EXPORT", "EXPORT_PARAM_TIMES_TO_EXPORT")
            and not self._setting("EXPORT", "DERIVED_WINDOW_NS")
            and (trigger is None or "immediate" in trigger.lower())
        )

    def _setting(self, kind: str, key: str) -> str | None:
        """One value of a table that also holds the environment: asked for by its name alone."""
        for table in (f"META_DATA_{kind}", f"{kind}_META_DATA"):
            if table in self.tables:
                named = (key, f"PROCESS\\_%:{key}")
                row = next(self._ask(table, "value", "WHERE name = ? OR name LIKE ?", named), None)
                return None if row is None else str(row[0] or "")
        return None

    # --- what cannot be used, and what to record instead

    def _graphs(self) -> tuple[Note, ...]:
        """A note on CUDA graphs recorded as a whole; where they are not few, no share is true."""
        graphs = self._time(GRAPHS)
        if not graphs:
            return ()
        share = graphs / (graphs + self._time(KERNELS))
        if share > _NEGLIGIBLE_SHARE:
            raise refusal("graphs", file=self.name, share=share)
        return (Note(code="graphs_left_out", facts={"share": share}),)

    def _no_kernels(self) -> InputError:
        """The error for an export without kernel records, with the likeliest reason."""
        code, unknown = "not_traced", self._renamed(KERNELS)
        if "StringIds" not in self.tables and not any(t.startswith("CUPTI_") for t in self.tables):
            code = "not_nsys"
        elif self._time(GRAPHS):
            code = "graphs_alone"
        elif unknown:
            code = "renamed"
        elif self._has_rows(CALLS) and not self._launched():
            code = "no_launch"
        elif any(t.startswith("CUPTI_ACTIVITY_KIND_") for t in self.tables):
            code = "no_records"
        return refusal(code, file=self.name, tables=", ".join(unknown))

    def _launched(self) -> bool:
        named = "nameId IN (SELECT id FROM StringIds WHERE value LIKE '%Launch%')"
        return next(self._ask(CALLS, "1", f"WHERE {named} LIMIT 1"), None) is not None

    def _time(self, table: str) -> int:
        return int(next(self._ask(table, "total(end - start)"), (0,))[0])


def _name_for_ncu(match: re.Match[str], domain: str | None) -> str | None:
    """The name of a range for ncu: only what was asked for by its letters can be printed.

    Numbers may surround the match ("iteration" in "iteration 7"); other letters may be private.
    """
    name = match.string
    around = name[: match.start()] + name[match.end() :]
    plain = _PLAIN.fullmatch(name) and not re.search(r"[^\W\d_]", around)
    if not plain or (domain is not None and not _PLAIN.fullmatch(domain)):
        return None
    return name if domain is None else f"{domain}@{name}"


def _scope(name: str) -> Scope:
    """An operator where it is called as PyTorch's emit_nvtx does: "aten::mm, seq = 7"."""
    operator = _OPERATOR.match(name)
    return Scope(by="op", name=operator[1]) if operator else Scope(by="nvtx", name=name)


def _integers(text: bytes, number: int) -> Integers:
    """The numbers of a list, refused where they are not what the schema has."""
    try:
        values = np.fromstring(text, dtype=np.int64, sep=",")
    except (ValueError, DeprecationWarning):
        values = np.empty(0, dtype=np.int64)
    if len(values) != number:
        raise sqlite3.DatabaseError("a column that should hold integers holds something else")
    return values
