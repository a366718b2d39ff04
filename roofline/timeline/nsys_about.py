"""What an Nsight Systems export says about the GPUs and about how it was recorded.

The table of the capture also holds the environment: it is only asked for keys known by name.
"""

from __future__ import annotations

import sqlite3

from roofline.kernel_names import printable
from roofline.model import Device, Note
from roofline.timeline.events import Integers

_FIRST_CORRELATIONS = 1000  # a process counts its CUDA calls from 1


def devices_of(db: sqlite3.Connection, tables: set[str]) -> dict[int, Device]:
    """The GPUs by index, where the export kept their table."""
    if "TARGET_INFO_GPU" not in tables:
        return {}
    query = "SELECT id, name, computeMajor, computeMinor, smCount, totalMemory FROM TARGET_INFO_GPU"
    return {
        index: Device(
            index=index,
            name=printable(name) if name else None,
            compute_capability=None if major is None else f"{major}.{minor}",
            sm_count=sms,
            memory_bytes=memory,
        )
        for index, name, major, minor, sms, memory in db.execute(query)
    }


def physical_device(
    db: sqlite3.Connection, tables: set[str], device: Integers, pid: Integers
) -> Integers:
    """GPU indices for CUDA ordinals, which each process may count in its own way."""
    if "TARGET_INFO_CUDA_DEVICE" not in tables:
        return device
    rows = db.execute("SELECT pid, cudaId, gpuId FROM TARGET_INFO_CUDA_DEVICE").fetchall()
    found = device.copy()
    for process, ordinal, index in rows:
        found[(device == ordinal) & (pid == process)] = index
    return found


def about_capture(
    db: sqlite3.Connection, tables: set[str], keys: Integers
) -> tuple[bool, tuple[Note, ...]]:
    """Whether launches were recorded from the start of the process, and what was lost.

    ``keys`` hold the correlation id of each CUDA call in their lower 32 bits.
    """
    from_start = bool(len(keys)) and int((keys & 0xFFFFFFFF).min()) < _FIRST_CORRELATIONS
    filtered = _value(db, tables, "EXPORT", "EXPORT_PARAM_TIMES_TO_EXPORT")
    derived = _value(db, tables, "EXPORT", "DERIVED_WINDOW_NS")
    trigger = _value(db, tables, "CAPTURE", "START_TRIGGER")
    delayed = trigger is not None and "immediate" not in trigger.lower()
    return from_start and not (filtered or derived or delayed), _lost(db, tables)


def _value(db: sqlite3.Connection, tables: set[str], kind: str, key: str) -> str | None:
    for table in (f"META_DATA_{kind}", f"{kind}_META_DATA"):
        if table in tables:
            query = f"SELECT value FROM {table} WHERE name = ? OR name LIKE ?"  # noqa: S608
            row = db.execute(query, (key, f"PROCESS\\_%:{key}")).fetchone()
            return None if row is None else str(row[0] or "")
    return None


def _lost(db: sqlite3.Connection, tables: set[str]) -> tuple[Note, ...]:
    if "DIAGNOSTIC_EVENT" not in tables:
        return ()
    query = "SELECT 1 FROM DIAGNOSTIC_EVENT WHERE text LIKE 'Not all CUDA events%' LIMIT 1"
    if db.execute(query).fetchone() is None:
        return ()
    text = "Nsight Systems warns that not all CUDA events were collected: shares may be too small."
    return (Note(code="events_lost", text=text),)
