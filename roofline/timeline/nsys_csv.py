"""``nsys stats`` CSV: the kernel summary of both layouts, and the GPU trace."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from roofline.kernel_names import printable
from roofline.model import Device, Dim3, Note
from roofline.timeline.events import (
    UNKNOWN,
    Events,
    Identity,
    Interner,
    Timeline,
    Total,
    Work,
    identity,
    possible,
    refusal,
)

_LARGEST = 2.0**61  # so that sums are integers of 64 bits
_NS = {"n": 1, "u": 1e3, "μ": 1e3, "m": 1e6, "s": 1e9}  # by the first letter of the unit
_SUMMARY, _TRACE = ("Total Time", "Instances", "Name"), ("Start", "Duration", "GrdX", "Name")
_COPY = re.compile(r"\[CUDA (memcpy|memset)[^\[\]]*\]|Memcpy|Memset")
_THOUSANDS = re.compile(r"\d{1,3}(?:\.\d{3})+")
_SEPARATORS = ",;\t"
_EMPTY = "does not contain CUDA kernel data"


class _Cells(dict[str, tuple[str, str]]):
    """One row: column -> (text, unit of the header); a column that is not there is empty.

    ``separator`` is between cells: where it is no comma, a comma may be in a number.
    """

    separator = ","

    def __missing__(self, column: str) -> tuple[str, str]:
        return "", ""

    def number(self, column: str) -> float:
        """In ns where the unit is one of time; what is no number, or none that can be, is 0."""
        text, unit = self[column]
        text = re.sub(r"[\s'\u2019]", "", text)
        if self.separator == ",":  # some locales write thousands with commas
            text = text.replace(",", "")
        elif "," in text or _THOUSANDS.fullmatch(text):
            text = text.replace(".", "").replace(",", ".")
        try:
            number = float(text or 0) * _NS.get(unit[:1], 1)
        except ValueError:
            return 0.0
        return number if 0 <= number < _LARGEST else 0.0

    def identity(self, grid: Sequence[str], block: Sequence[str]) -> Identity:
        """What the row is about; ``grid`` and ``block`` are the columns of their sizes."""
        name = self["Name"][0]
        if match := _COPY.search(name):
            return identity(Work.SET if "set" in match[0].lower() else Work.COPY, name)
        return identity(Work.KERNEL, name, grid=self._sizes(grid), block=self._sizes(block))

    def _sizes(self, columns: Sequence[str]) -> Dim3 | None:
        digits = re.findall(r"\d+", " ".join(self[c][0] for c in columns))
        return (int(digits[0]), int(digits[1]), int(digits[2])) if len(digits) == 3 else None


def looks_like_csv(head: str) -> bool:
    """Whether the beginning of a file is an ``nsys stats`` report."""
    return _EMPTY in head or any(
        all(w in line for w in wanted)
        for line in head.splitlines()
        for wanted in (_SUMMARY, _TRACE)
    )


def read_csv(path: Path) -> Timeline:
    """Read a kernel summary (sums only, no wall time) or a GPU trace."""
    lines = path.read_text("utf-8-sig", errors="replace").splitlines()
    for wanted, build in ((_TRACE, _trace), (_SUMMARY, _summary)):
        for separator in _SEPARATORS:
            if rows := list(_table(lines, wanted, separator)):
                return build(path.name, rows)
    empty = any(_EMPTY in line for line in lines)
    raise refusal("no_csv_data" if empty else "no_csv_report", file=path.name)


def _table(lines: Sequence[str], wanted: Sequence[str], separator: str) -> Iterator[_Cells]:
    """Rows under the first header that has the columns ``wanted``."""
    header: list[tuple[str, str]] = []
    csv.field_size_limit(1 << 30)  # names may be long
    for cells in csv.reader((line.replace("\0", "") for line in lines), delimiter=separator):
        if header:
            if len(cells) != len(header):  # a blank line or the banner of the next report
                return
            pairs = zip(header, cells, strict=True)
            row = _Cells({name: (text, unit) for (name, unit), text in pairs})
            row.separator = separator
            yield row
        else:
            columns = [c.partition("(") for c in cells]  # name (unit)
            if set(wanted) <= {name.strip() for name, *_ in columns}:
                header = [(name.strip(), unit) for name, _, unit in columns]


def _summary(file: str, rows: Sequence[_Cells]) -> Timeline:
    totals = tuple(
        Total(
            identity=row.identity(["GridXYZ"], ["BlockXYZ"]),
            instances=round(row.number("Instances")),
            total_ns=row.number("Total Time"),
        )
        for row in rows
    )
    return Timeline(
        file=file,
        format="nsys-summary",
        identities=tuple(t.identity for t in totals),
        totals=totals,
        notes=(Note(code="no_wall_time"),),
    )


def _trace(file: str, rows: Sequence[_Cells]) -> Timeline:
    identities, unnumbered = Interner(), Interner()
    columns: list[tuple[int, ...]] = []
    devices: dict[int, Device] = {}
    for row in rows:
        start, lasted = round(row.number("Start")), round(row.number("Duration"))
        # "NVIDIA A100 (0)" is device 0; a name without a number gets one.
        name = printable(row["Device"][0].strip())
        match = re.fullmatch(r"(.*)\((\d{1,9})\)", name)
        index, name = (int(match[2]), match[1].rstrip()) if match else (unnumbered[name], name)
        devices.setdefault(index, Device(index=index, name=name or None))
        text = row.get("Strm", ("", ""))[0]
        stream = int(text) if re.fullmatch(r"\d{1,9}", text) else UNKNOWN
        which = identities[row.identity(("GrdX", "GrdY", "GrdZ"), ("BlkX", "BlkY", "BlkZ"))]
        columns.append((start, start + lasted, index, which, *[UNKNOWN] * 4, stream, UNKNOWN))
    if not any(i.work is Work.KERNEL for i in identities):
        raise refusal("csv_copies", file=file)
    table = np.array(columns, dtype=np.int64).T
    timed = possible(*table[:2])
    events = Events.of(*table[:, timed])
    notes = [*events.notes(untimed=int((~timed).sum()))]
    return Timeline(
        file=file,
        format="nsys-gpu-trace",
        identities=tuple(identities),
        events=events,
        devices=devices,
        notes=tuple(n for n in notes if n.code != "no_launch_record"),  # it never has them
    )
