"""NVTX ranges of an Nsight Systems export that are steps."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator

from roofline.kernel_names import printable
from roofline.timeline.events import STEP, UNKNOWN, Range
from roofline.typed import Typed

_PUSH_POP, _START_END, _DOMAIN = 59, 60, 75  # eventType of NVTX_EVENTS
_PLAIN = re.compile(r"[\w#.=: -]{1,60}")


def has_column(db: sqlite3.Connection, table: str, column: str) -> bool:
    """Whether a table has a column: they vary with the version of nsys."""
    return any(row[1] == column for row in db.execute(f"PRAGMA table_info({table})"))


def step_ranges_of(db: sqlite3.Connection, tables: set[str], step: str | None) -> Iterator[Range]:
    """Push/pop and start/end ranges whose name says that they are a step."""
    if "NVTX_EVENTS" not in tables:
        return
    text = _text(db)
    domain = "domainId" if has_column(db, "NVTX_EVENTS", "domainId") else "0"
    narrow = "" if step else "AND name GLOB 'ProfilerStep#*'"
    pattern = Typed(step or STEP, option="--step")
    domains = _domains(db, text, domain)
    query = f"""SELECT start, end, globalTid, {domain}, {text} AS name FROM NVTX_EVENTS
        WHERE eventType IN ({_PUSH_POP}, {_START_END}) AND end IS NOT NULL {narrow}
        ORDER BY start"""  # noqa: S608
    for start, end, thread, where, name in db.execute(query):
        match = None if name is None else pattern.search(name)
        if match is not None:
            yield Range(
                name=printable(name),
                start=start,
                end=end,
                process=(thread or 0) >> 24 & 0xFFFFFF,
                thread=UNKNOWN if thread is None else thread,
                nvtx=_tellable(match, domains.get(where) if where else None),
            )


def names_of_ranges(db: sqlite3.Connection, tables: set[str]) -> set[str]:
    """The names of all push/pop and start/end ranges, to be counted."""
    if "NVTX_EVENTS" not in tables:
        return set()
    query = f"""SELECT DISTINCT {_text(db)} FROM NVTX_EVENTS
        WHERE eventType IN ({_PUSH_POP}, {_START_END})"""  # noqa: S608
    return {row[0] for row in db.execute(query) if row[0]}


def _text(db: sqlite3.Connection) -> str:
    """How the name of a range is asked for."""
    if has_column(db, "NVTX_EVENTS", "textId"):
        return "coalesce(text, (SELECT value FROM StringIds WHERE id = textId))"
    return "text"


def _domains(db: sqlite3.Connection, text: str, domain: str) -> dict[int, str]:
    query = f"SELECT {domain}, {text} FROM NVTX_EVENTS WHERE eventType = {_DOMAIN}"  # noqa: S608
    return {row[0]: row[1] for row in db.execute(query) if row[1]}


def _tellable(match: re.Match[str], domain: str | None) -> str | None:
    """The name of a range for ncu: only what was asked for by its letters can be printed.

    Numbers may surround the match ("iteration" in "iteration 7"); other letters may be private.
    """
    name = match.string
    around = name[: match.start()] + name[match.end() :]
    plain = _PLAIN.fullmatch(name) and not re.search(r"[^\W\d_]", around)
    if not plain or (domain is not None and not _PLAIN.fullmatch(domain)):
        return None
    return name if domain is None else f"{domain}@{name}"
