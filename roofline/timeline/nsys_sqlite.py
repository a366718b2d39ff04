"""Nsight Systems SQLite exports, schemas of 2022.4 to 2026.2.

Nothing but the kernel table and the table of strings is taken for granted. Environment and
command line, which an export holds too, are never asked for.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import quote

import numpy as np

from roofline.errors import InputError
from roofline.kernel_names import base_name, printable
from roofline.model import Dim3
from roofline.timeline.events import (
    UNKNOWN,
    Calls,
    Events,
    Identity,
    Integers,
    Timeline,
    Work,
    harmless,
    join_launches,
    make_calls,
    make_events,
    no_launch_record,
    no_valid_time,
    nothing,
)
from roofline.timeline.nsys_about import about_capture, devices_of, physical_device
from roofline.timeline.nsys_ranges import has_column, names_of_ranges, step_ranges_of
from roofline.timeline.nsys_refusal import graph_notes, refuse_no_kernels
from roofline.timeline.step_refusal import no_such_step

KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
COPIES = "CUPTI_ACTIVITY_KIND_MEMCPY"
SETS = "CUPTI_ACTIVITY_KIND_MEMSET"
CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"

_COPY_KINDS = {1: "HtoD", 2: "DtoH", 8: "DtoD", 10: "PtoP"}  # CUpti_ActivityMemcpyKind
_VERSION = re.compile(r"(_v\d+|_ptsz|_ptds)+$")
_ROWS = 1 << 17
_THREADS = 2
_IDS = 500  # SQLite takes at least 999 parameters
_ODD = 0x9E3779B97F4A7C15 - (1 << 64)  # spreads its multiples over 64 bits

# Several small columns in one integer, because each column read takes its time. Grid x takes 31
# bits, y and z 16; a block's sides are 1024 at most; a device fits into 8 bits.
_GRID = "(gridX << 32) | (gridY << 16) | gridZ"
_BLOCK = "(blockX << 20) | (blockY << 8) | blockZ"
_LASTED = "((end - start) << 8) | deviceId"  # below 0 where the times cannot be
# Correlation ids are counted by each process anew: the process is above 32 bits of correlation.
_KEY = "((({process} >> 24) & 0xFFFFFF) << 32) | coalesce(correlationId, 0)"
_WHERE = ("start", _LASTED, _KEY.format(process="globalPid"))


def read_sqlite(path: Path, *, step: str | None = None, label: str | None = None) -> Timeline:
    """Read an export of ``nsys export --type sqlite``.

    Args:
        path: the export; it is opened read-only and nothing is written beside it.
        step: regular expression for the NVTX ranges that are steps.
        label: the file's name in messages, where ``path`` is a temporary export.

    Raises:
        InputError: not such an export, no kernels in it, or only whole CUDA graphs.
        UsageError: ``step`` matches no range.

    """
    name = label or path.name
    uri = f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"
    connect = partial(sqlite3.connect, uri, uri=True)
    try:
        with closing(connect()) as db:
            tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master")}
            return _Export(db=db, connect=connect, name=name, tables=tables).timeline(step)
    except sqlite3.DatabaseError as error:
        raise InputError(
            f"{name} cannot be read",
            why=f"SQLite says: {printable(str(error))}",
            hint="nsys export --type sqlite REPORT.nsys-rep",
        ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class _Export:
    db: sqlite3.Connection
    connect: Callable[[], sqlite3.Connection]
    name: str
    tables: set[str]

    def timeline(self, step: str | None) -> Timeline:
        if not self._has_rows(KERNELS):
            refuse_no_kernels(self.db, self.name, self.tables)
        graphs = graph_notes(self.db, self.name, self.tables)
        ranges = tuple(step_ranges_of(self.db, self.tables, step))
        if step is not None and not ranges:
            raise no_such_step(self.name, step, names_of_ranges(self.db, self.tables))
        calls, keys = self._calls()
        identities, events, untimed = self._events(calls, keys)
        from_start, notes = about_capture(self.db, self.tables, keys)
        return Timeline(
            file=self.name,
            format="nsys-sqlite",
            identities=identities,
            events=events,
            calls=calls,
            call_names=self._call_names(calls),
            ranges=ranges,
            devices=devices_of(self.db, self.tables),
            from_start=from_start,
            notes=(
                *graphs,
                *notes,
                *no_valid_time(untimed, len(events)),
                *no_launch_record(events),
            ),
        )

    def _has_rows(self, table: str) -> bool:
        if table not in self.tables:
            return False
        return self.db.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() is not None  # noqa: S608

    def _columns(self, table: str, columns: Sequence[str]) -> list[Integers]:
        """Whole integer columns.

        SQLite joins each column to text and numpy parses it: three times faster than a Python
        tuple for each row, and in batches it needs little memory. SQLite works outside of
        Python's lock, so two threads help.
        """
        low, high = self.db.execute(f"SELECT min(rowid), max(rowid) FROM {table}").fetchone()  # noqa: S608
        if low is None:
            return nothing(len(columns))
        listed = ", ".join(f"group_concat(coalesce({c}, -1))" for c in columns)
        query = f"SELECT count(*), {listed} FROM {table} WHERE rowid >= ? AND rowid < ?"  # noqa: S608
        # Rows are numbered without holes unless some were deleted; memory that is not written to
        # costs nothing.
        found = [np.empty(high - low + 1, dtype=np.int64) for _ in columns]

        def batch(first: int) -> slice:
            with closing(self.connect()) as db:
                texts = db.execute(query, (first, first + _ROWS)).fetchone()
            place = slice(first - low, first - low + texts[0])
            for column, text in zip(found, texts[1:], strict=True):
                column[place] = _integers(text or "", texts[0])
            return place

        with ThreadPoolExecutor(_THREADS) as pool:
            filled = list(pool.map(batch, range(low, high + 1, _ROWS)))
        if sum(f.stop - f.start for f in filled) == high - low + 1:
            return found
        return [np.concatenate([column[f] for f in filled]) for column in found]

    def _calls(self) -> tuple[Calls, Integers]:
        """CUDA calls of the host, and for each its process and correlation id in one number."""
        if not self._has_rows(CALLS):
            return make_calls(nothing(4)), nothing(1)[0]
        start, lasted, thread, correlation = self._columns(
            CALLS,
            (
                "start",
                "(nameId << 32) | min(end - start, 0xFFFFFFFF)",
                "globalTid",
                "nullif(correlationId, 0)",
            ),
        )
        order = np.argsort(start, kind="stable")
        keys = np.where(correlation > 0, _pid(thread) << 32 | correlation, UNKNOWN)[order]
        name = lasted >> 32
        lasted &= 0xFFFFFFFF
        lasted += start
        return make_calls([start, lasted, thread, name], order), keys

    def _events(self, calls: Calls, keys: Integers) -> tuple[tuple[Identity, ...], Events, int]:
        """What ran, and how many events were left out because their times cannot be."""
        parts: list[list[Integers]] = []
        identities: list[Identity] = []
        for found, columns in self._work():
            parts.append([*columns[:3], columns[3] + len(identities)])
            identities += found
        start, lasted, key, identity = (
            np.concatenate([part.pop(0) for part in parts]) for _ in range(4)
        )
        timed = lasted >= 0
        if not timed.all():
            start, lasted, key, identity = (c[timed] for c in (start, lasted, key, identity))
        launches = join_launches(np.where(key & 0xFFFFFFFF, key, UNKNOWN), calls, keys)
        key >>= 32  # the process; in place, for a column more is memory
        device = physical_device(self.db, self.tables, lasted & 0xFF, key)
        lasted >>= 8
        lasted += start
        events = make_events([start, lasted, device, identity, *launches, key])
        return tuple(identities), events, int((~timed).sum())

    def _work(self) -> Iterator[tuple[list[Identity], list[Integers]]]:
        """For kernels, copies and sets: identities, and columns that end with their index."""
        has_mangled = has_column(self.db, KERNELS, "mangledName")
        mangled = "mangledName" if has_mangled else "demangledName"
        names = f"(demangledName << 32) | {mangled}"
        *columns, name, grid, block = self._columns(KERNELS, (*_WHERE, names, _GRID, _BLOCK))
        keys, index = _distinct(name, grid, block)
        yield self._kernels(keys, has_mangled=has_mangled), [*columns, index]
        if self._has_rows(COPIES):
            *columns, kind = self._columns(COPIES, (*_WHERE, "copyKind"))
            keys, index = _distinct(kind)
            yield (
                [_copy(Work.COPY, _COPY_KINDS.get(k[0], "other")) for k in keys],
                [*columns, index],
            )
        if self._has_rows(SETS):
            columns = self._columns(SETS, _WHERE)
            yield [_copy(Work.SET, "memset")], [*columns, columns[0] * 0]

    def _kernels(self, keys: Sequence[tuple[int, ...]], *, has_mangled: bool) -> list[Identity]:
        texts = self._strings({part for names, *_ in keys for part in _both(names)})
        found = []
        for names, grid, block in keys:
            demangled, mangled = _both(names)
            name = printable(texts.get(demangled) or "(no name)")
            found.append(
                Identity(
                    work=Work.KERNEL,
                    name=name,
                    base_name=base_name(name),
                    mangled=texts.get(mangled) if has_mangled else None,
                    grid=_grid(grid),
                    block=_block(block),
                )
            )
        return found

    def _strings(self, keys: Iterable[int]) -> dict[int, str]:
        """Texts by id; the table may have no index, so it is not searched for each."""
        wanted = sorted(keys)
        found: dict[int, str] = {}
        for first in range(0, len(wanted), _IDS):
            part = wanted[first : first + _IDS]
            marks = ",".join("?" * len(part))
            query = f"SELECT id, value FROM StringIds WHERE id IN ({marks})"  # noqa: S608
            found.update(self.db.execute(query, part))
        return found

    def _call_names(self, calls: Calls) -> dict[int, str]:
        found = self._strings(np.unique(calls.name).tolist())
        return {i: harmless(_VERSION.sub("", name or "")) for i, name in found.items()}


def _integers(text: str, number: int) -> Integers:
    """The numbers of a list, refused where they are not what the schema has."""
    try:
        values = np.fromstring(text, dtype=np.int64, sep=",")
    except (ValueError, DeprecationWarning):
        values = np.empty(0, dtype=np.int64)
    if len(values) != number:
        raise sqlite3.DatabaseError("a column that should hold integers holds something else")
    return values


def _pid(process_or_thread: Integers) -> Integers:
    return process_or_thread >> 24 & 0xFFFFFF


def _both(names: int) -> tuple[int, int]:
    """Ids of the demangled and of the mangled name."""
    return names >> 32, names & 0xFFFFFFFF


def _distinct(*columns: Integers) -> tuple[list[tuple[int, ...]], Integers]:
    """The different rows, and for each row the place of its like among them.

    Rows are told apart by a mix of their columns, and it is checked that no two share one.
    """
    code = columns[0].copy()
    for column in columns[1:]:
        code = code * _ODD + column  # wraps around
    _, first, index = np.unique(code, return_index=True, return_inverse=True)
    if not all((c[first][index] == c).all() for c in columns):
        rows, index = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
        return [tuple(row) for row in rows.tolist()], index.reshape(-1)
    return [tuple(int(c[i]) for c in columns) for i in first], index


def _copy(work: Work, kind: str) -> Identity:
    name = "memset" if work is Work.SET else f"memcpy {kind}"
    return Identity(work=work, name=name, base_name=name)


def _grid(packed: int) -> Dim3:
    return packed >> 32, packed >> 16 & 0xFFFF, packed & 0xFFFF


def _block(packed: int) -> Dim3:
    return packed >> 20, packed >> 8 & 0xFFF, packed & 0xFF
