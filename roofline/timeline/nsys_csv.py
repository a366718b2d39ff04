"""``nsys stats`` CSV: the kernel summary of both layouts, and the GPU trace."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from roofline.errors import InputError
from roofline.kernel_names import printable
from roofline.model import Device, Dim3, Note
from roofline.timeline.events import (
    UNKNOWN,
    Identity,
    Interner,
    Timeline,
    Total,
    Work,
    identity,
    make_calls,
    make_events,
    nothing,
)

_NS = {"n": 1, "u": 1e3, "μ": 1e3, "m": 1e6, "s": 1e9}  # by the first letter of the unit
_UNIT = re.compile(r"\(([^()]*)\)$")
_SUMMARY, _TRACE = ("Total Time", "Instances", "Name"), ("Start", "Duration", "GrdX", "Name")
_COPY = re.compile(r"\[CUDA (memcpy|memset)[^\[\]]*\]|Memcpy|Memset")
_EMPTY = "does not contain CUDA kernel data"


class _Row(dict[str, tuple[str, str]]):
    """One row: column -> (text, unit of the header); a column that is not there is empty."""

    def text(self, column: str) -> str:
        return self.get(column, ("", ""))[0]

    def number(self, column: str) -> float:
        """Some locales write thousands with commas; what is no number is 0."""
        try:
            return float(self.text(column).replace(",", "") or 0)
        except ValueError:
            return 0.0

    def nanoseconds(self, column: str) -> float:
        return self.number(column) * _NS.get(self[column][1][:1], 1)

    def sizes(self, *columns: str) -> Dim3 | None:
        digits = re.findall(r"\d+", " ".join(map(self.text, columns)))
        return (int(digits[0]), int(digits[1]), int(digits[2])) if len(digits) == 3 else None


def looks_like_csv(head: str) -> bool:
    """Whether the beginning of a file is an ``nsys stats`` report."""
    return _EMPTY in head or any(
        all(w in line for w in wanted)
        for line in head.splitlines()
        for wanted in (_SUMMARY, _TRACE)
    )


def read_csv(path: Path) -> Timeline:
    """Read a kernel summary (sums only, no wall time) or a GPU trace.

    Raises:
        InputError: no such table in it, or no kernels.

    """
    lines = path.read_text("utf-8-sig", errors="replace").splitlines()
    for wanted, build in ((_TRACE, _trace), (_SUMMARY, _summary)):
        if rows := list(_table(lines, wanted)):
            return build(path.name, rows)
    raise InputError(
        f"{path.name} holds no kernels",
        why="nsys stats found no CUDA kernel data in the recording"
        if any(_EMPTY in line for line in lines)
        else "it has no kernel summary and no GPU trace of nsys stats",
        hint="nsys export --type sqlite REPORT.nsys-rep, and select from that",
    )


def _table(lines: Sequence[str], wanted: Sequence[str]) -> Iterator[_Row]:
    """Rows under the first header that has the columns ``wanted``."""
    header: list[tuple[str, str]] | None = None
    for cells in csv.reader(lines):
        if header is None:
            columns = [_split(c) for c in cells]
            if set(wanted) <= {name for name, _ in columns}:
                header = columns
        elif len(cells) != len(header):  # a blank line or the banner of the next report
            return
        else:
            yield _Row({n: (text, unit) for (n, unit), text in zip(header, cells, strict=True)})


def _split(column: str) -> tuple[str, str]:
    text = column.strip()
    match = _UNIT.search(text)
    return (text[: match.start()].rstrip(), match[1]) if match else (text, "")


def _summary(file: str, rows: Sequence[_Row]) -> Timeline:
    totals = tuple(
        Total(
            identity=_identity(row.text("Name"), row.sizes("GridXYZ"), row.sizes("BlockXYZ")),
            instances=round(row.number("Instances")),
            total_ns=row.nanoseconds("Total Time"),
        )
        for row in rows
    )
    return Timeline(
        file=file,
        format="nsys-summary",
        identities=tuple(t.identity for t in totals),
        events=make_events(nothing(8)),
        calls=make_calls(nothing(4)),
        totals=totals,
        notes=(Note(code="no_wall_time"),),
    )


def _trace(file: str, rows: Sequence[_Row]) -> Timeline:
    identities, unnumbered = Interner(), Interner()
    columns: list[tuple[int, ...]] = []
    devices: dict[int, Device] = {}
    for row in rows:
        start, lasted = round(row.nanoseconds("Start")), round(row.nanoseconds("Duration"))
        device = _device(row.text("Device"), unnumbered)
        devices.setdefault(device.index or 0, device)
        grid = row.sizes("GrdX", "GrdY", "GrdZ")
        which = identities[_identity(row.text("Name"), grid, row.sizes("BlkX", "BlkY", "BlkZ"))]
        columns.append((start, start + lasted, device.index or 0, which, *[UNKNOWN] * 4))
    if not any(i.work is Work.KERNEL for i in identities):
        raise InputError(f"{file} holds no kernels", why="the GPU trace lists copies only")
    return Timeline(
        file=file,
        format="nsys-gpu-trace",
        identities=tuple(identities),
        events=make_events(list(np.array(columns, dtype=np.int64).T)),
        calls=make_calls(nothing(4)),
        devices=devices,
    )


def _identity(name: str, grid: Dim3 | None, block: Dim3 | None) -> Identity:
    if match := _COPY.search(name):
        return identity(Work.SET if "set" in match[0].lower() else Work.COPY, name)
    return identity(Work.KERNEL, name, grid=grid, block=block)


def _device(text: str, unnumbered: Interner) -> Device:
    """Index 0 and the name for "NVIDIA A100 (0)"; a name without a number gets one."""
    text = printable(text.strip())
    match = re.fullmatch(r"(.*)\((\d+)\)", text)
    if match is None:
        return Device(index=unnumbered[text], name=text or None)
    return Device(index=int(match[2]), name=match[1].rstrip() or None)
