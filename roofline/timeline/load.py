"""Tells what a file is by its first bytes and has the right reader read it."""

from __future__ import annotations

import re
import shlex
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from os.path import realpath
from pathlib import Path

from roofline.errors import InputError, about
from roofline.files import keep_inputs, opened, refuse_unreadable
from roofline.kernel_names import printable
from roofline.patterns import compiled
from roofline.timeline.chrome import read_chrome
from roofline.timeline.events import Timeline, no_such_step, refusal, table
from roofline.timeline.nsys_csv import looks_like_csv, read_csv

ENDINGS = (".sqlite", ".nsys-rep", ".qdrep", ".json.gz", ".json", ".csv")
_HEAD = 1 << 16
_GZIP, _SQLITE = b"\x1f\x8b", b"SQLite format 3\0"
_ACCEPTED = (
    "an nsys SQLite export, an .nsys-rep, an nsys stats CSV, or a PyTorch or JAX trace "
    "(.json, .json.gz)"
)


def timeline_files(paths: Iterable[Path]) -> list[Path]:
    """The files named, and those in folders whose names end as timelines do.

    A recording and what was exported from it are one: of one stem the first of ``ENDINGS`` counts.
    A file counts once, however it is spelled.

    Raises:
        InputError: a folder holds none.

    """
    found: dict[str, Path] = {}
    for path in paths:
        if not path.is_dir():
            found.setdefault(realpath(path), path)
            continue
        by_stem: dict[Path, Path] = {}
        for ending in ENDINGS:
            for file in sorted(path.rglob(f"*{ending}")):
                by_stem.setdefault(file.with_name(file.name.removesuffix(ending)), file)
        if not by_stem:
            why = f"no {', '.join(ENDINGS)} file in it"
            raise InputError(f"no timelines in {path}", why=why, hint=f"name the file: {_ACCEPTED}")
        for file in sorted(by_stem.values()):
            found.setdefault(realpath(file), file)
    keep_inputs(found.values())
    return list(found.values())


def names_apart(files: Sequence[Path]) -> list[str]:
    """The name of each file, with as many of its folders as tell it from the others."""

    def name(path: Path) -> str:
        last: tuple[str, ...] = ()
        for depth in range(1, len(path.parts) + 1):
            last = path.parts[-depth:]
            if sum(other.parts[-depth:] == last for other in files) == 1:
                break
        return printable("/".join(last))

    return [name(path) for path in files]


def is_timeline(path: Path) -> bool:
    """Whether a file is meant as a timeline: by its ending, and JSON by not being one of ours.

    A folder is, of the ranks of a job, if it holds some and no report.
    """
    if path.is_dir():
        return not any(path.rglob("*.ncu-rep")) and any(
            is_timeline(file) for file in path.rglob("*") if not file.is_dir()
        )
    name = path.name.lower()
    ours = name.endswith(".json") and path.is_file() and b'"roofline.' in _head(path)
    return name.endswith(ENDINGS) and not ours


def load_timeline(
    path: str | Path, *, step: str | None = None, stream: bool = False, nsys: str | None = None
) -> Timeline:
    """Read a timeline of any format that is known.

    Args:
        path: the file.
        step: regular expression for the names of ranges that are steps; by default those of
            PyTorch's profiler.
        stream: read JSON in small pieces and without the host's operators, to save memory.
        nsys: the nsys program for ``.nsys-rep``; found on PATH where not given.

    Raises:
        InputError: unreadable, of another kind, or without NVIDIA kernels; says what to record.
        UsageError: ``step`` is not a regular expression, or matches no range.

    """
    path = Path(path)
    if step is not None:
        compiled(step, option="--step")  # refused before the work
    refuse_unreadable(path)
    with about(path):
        found = _read(path, step=step, stream=stream, nsys=nsys)
        found = replace(found, file=printable(found.file))
    if not found.totals and not found.is_kernel[found.events.identity].any():
        raise refusal("untimed", file=path.name)
    return found


def _read(path: Path, *, step: str | None, stream: bool, nsys: str | None) -> Timeline:
    is_report = path.suffix in (".nsys-rep", ".qdrep")
    head = b"" if is_report else _head(path)
    facts = {"path": path, "quoted": shlex.quote(str(path)), "accepted": _ACCEPTED}
    csv = looks_like_csv(head.decode("utf-8", "replace"))
    if csv or head.startswith(_SQLITE):
        with path.open("rb") as file:
            if file.read(2) == _GZIP:
                raise refusal("packed", **facts)
    if is_report or head.startswith(_SQLITE):
        from roofline.timeline.nsys import read_report, read_sqlite  # sqlite3 is slow to import

        if is_report:
            return read_report(path, step=step, nsys=nsys)
        return read_sqlite(path, step=step)
    for code, row in table("refusals").items():
        if "pattern" in row and re.search(row["pattern"].encode(), head):
            raise refusal(code, **facts)
    if csv:
        if step is not None:
            raise no_such_step(path.name, step, ())
        return read_csv(path)
    if head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        return read_chrome(path, step=step, stream=stream)
    raise refusal("unknown", **facts)


def _head(path: Path) -> bytes:
    with opened(path) as file:
        head = file.read(_HEAD)
    if not head:
        raise InputError(f"cannot read {path}", why="it is empty", hint=_ACCEPTED)
    if head[:2] != _GZIP:
        return head
    try:
        return zlib.decompressobj(31).decompress(head, _HEAD)
    except zlib.error:
        return b""
