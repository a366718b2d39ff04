"""Why an Nsight Systems export cannot be used, and what to record instead."""

from __future__ import annotations

import sqlite3
from typing import NoReturn

from roofline.errors import InputError
from roofline.model import Note

_GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
_NEGLIGIBLE_SHARE = 0.01
_BY_NODE = "nsys profile --trace=cuda,nvtx --cuda-graph-trace=node -o FILE PROGRAM"
_NO_RECORDS = (
    "CUDA calls were recorded but no kernel records (lost, trimmed or dropped from the export, or "
    "another profiler held CUPTI)"
)
_RECORD_AGAIN = (
    "record again with nothing else attached: nsys profile --trace=cuda,nvtx -o FILE PROGRAM; "
    "then nsys export --type sqlite without --tables or --times"
)


def refuse_no_kernels(db: sqlite3.Connection, name: str, tables: set[str]) -> NoReturn:
    """Raise ``InputError`` for an export without kernel records, with the likeliest reason."""
    if "StringIds" not in tables and not any(t.startswith("CUPTI_") for t in tables):
        raise InputError(
            f"{name} cannot be used",
            why="it is an SQLite file, but not an Nsight Systems export",
            hint="nsys export --type sqlite REPORT.nsys-rep",
        )
    why, hint = _reason(db, tables)
    raise InputError(f"{name} holds no kernels", why=why, hint=hint)


def _reason(db: sqlite3.Connection, tables: set[str]) -> tuple[str, str]:
    if _total(db, tables, _GRAPHS):
        return "CUDA graphs were recorded as a whole, without the kernels in them", _BY_NODE
    if any(t.startswith("CUPTI_ACTIVITY_KIND_") for t in tables):
        return _NO_RECORDS, _RECORD_AGAIN
    return "CUDA was not traced", "nsys profile --trace=cuda,nvtx -o FILE PROGRAM"


def graph_notes(db: sqlite3.Connection, name: str, tables: set[str]) -> tuple[Note, ...]:
    """A note on CUDA graphs recorded as a whole.

    Raises:
        InputError: they take more than a hundredth of the time, so no share would be true.

    """
    graphs = _total(db, tables, _GRAPHS)
    if not graphs:
        return ()
    share = graphs / (graphs + _total(db, tables, "CUPTI_ACTIVITY_KIND_KERNEL"))
    if share > _NEGLIGIBLE_SHARE:
        raise InputError(
            f"{name} cannot be used",
            why=f"CUDA graphs, recorded as a whole, take {share:.0%} of the GPU's time: the "
            "kernels in them are not known",
            hint=_BY_NODE,
        )
    text = f"CUDA graphs recorded as a whole ({share:.1%} of GPU time) are left out."
    return (Note(code="graphs_left_out", text=text),)


def _total(db: sqlite3.Connection, tables: set[str], table: str) -> int:
    if table not in tables:
        return 0
    return int(db.execute(f"SELECT total(end - start) FROM {table}").fetchone()[0])  # noqa: S608
