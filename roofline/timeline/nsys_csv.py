"""``nsys stats`` CSV: the kernel summary of both layouts, and the GPU trace."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from roofline.errors import InputError
from roofline.kernel_names import base_name, printable
from roofline.model import Device, Dim3, Note
from roofline.timeline.events import (
    UNKNOWN,
    Identity,
    Interner,
    Timeline,
    Total,
    Work,
    make_calls,
    make_events,
    nothing,
)

if TYPE_CHECKING:
    from typing import Any

_UNITS_NS = {
    "ns": 1,
    "us": 1e3,
    "μs": 1e3,
    "usec": 1e3,
    "ms": 1e6,
    "msec": 1e6,
    "s": 1e9,
    "sec": 1e9,
}
_COLUMN = re.compile(r"^(?P<name>.*?)\s*(?:\((?P<unit>[^)]*)\))?$")
_SUMMARY, _TRACE = ("Total Time", "Instances", "Name"), ("Start", "Duration", "GrdX", "Name")
_COPY = re.compile(r"\[CUDA (memcpy|memset)[^\]]*\]|Memcpy|Memset")


def looks_like_csv(head: str) -> bool:
    """Whether the beginning of a file is an ``nsys stats`` report."""
    return (
        any(
            all(w in line for w in wanted)
            for line in head.splitlines()
            for wanted in (_SUMMARY, _TRACE)
        )
        or "does not contain CUDA kernel data" in head
    )


def read_csv(path: Path) -> Timeline:
    """Read a kernel summary (sums only, no wall time) or a GPU trace.

    Raises:
        InputError: no such table in it, or no kernels.

    """
    lines = path.read_text("utf-8-sig", errors="replace").splitlines()
    for wanted, build in ((_TRACE, _trace), (_SUMMARY, _summary)):
        rows = list(_table(lines, wanted))
        if rows:
            return build(path.name, rows)
    raise InputError(
        f"{path.name} holds no kernels",
        why="nsys stats found no CUDA kernel data in the recording"
        if any("does not contain CUDA kernel data" in line for line in lines)
        else "it has no kernel summary and no GPU trace of nsys stats",
        hint="nsys export --type sqlite REPORT.nsys-rep, and select from that",
    )


def _table(lines: Sequence[str], wanted: Sequence[str]) -> Iterator[dict[str, tuple[str, str]]]:
    """Rows under the first header that has ``wanted``: column -> (text, unit of the header)."""
    header: list[tuple[str, str]] | None = None
    for cells in csv.reader(lines):
        if header is None:
            columns = [_split(c) for c in cells]
            if set(wanted) <= {name for name, _ in columns}:
                header = columns
        elif len(cells) != len(header):  # a blank line or the banner of the next report
            return
        else:
            yield {n: (text, unit) for (n, unit), text in zip(header, cells, strict=True)}


def _split(column: str) -> tuple[str, str]:
    match = _COLUMN.match(column.strip())
    return (match["name"], match["unit"] or "") if match else (column, "")


def _summary(file: str, rows: list[dict[str, tuple[str, str]]]) -> Timeline:
    totals = tuple(
        Total(
            identity=_identity(row["Name"][0], _sizes(row, "GridXYZ"), _sizes(row, "BlockXYZ")),
            instances=round(_number(row["Instances"][0])),
            total_s=_nanoseconds(row["Total Time"]) / 1e9,
        )
        for row in rows
    )
    text = (
        "A summary has no wall time, no overlap and no steps: shares are of kernel time, and "
        "what a kernel could buy at most is not known."
    )
    return Timeline(
        file=file,
        format="nsys-summary",
        identities=tuple(t.identity for t in totals),
        events=make_events(nothing(8)),
        calls=make_calls(nothing(4)),
        totals=totals,
        notes=(Note(code="no_wall_time", text=text),),
    )


def _trace(file: str, rows: list[dict[str, tuple[str, str]]]) -> Timeline:
    identities, devices = Interner(), Interner()
    columns: list[tuple[int, ...]] = []
    named: dict[int, Device] = {}
    for row in rows:
        start = round(_nanoseconds(row["Start"]))
        device, name = _device(row, devices)
        named.setdefault(device, Device(index=device, name=name))
        columns.append(
            (
                start,
                start + round(_nanoseconds(row["Duration"])),
                device,
                identities[_identity(row["Name"][0], _three(row, "Grd"), _three(row, "Blk"))],
                *[UNKNOWN] * 4,
            )
        )
    table = np.array(columns, dtype=np.int64)
    found: list[Any] = list(identities)
    if not any(i.work is Work.KERNEL for i in found):
        raise InputError(f"{file} holds no kernels", why="the GPU trace lists copies only")
    return Timeline(
        file=file,
        format="nsys-gpu-trace",
        identities=tuple(found),
        events=make_events(list(table.T)),
        calls=make_calls(nothing(4)),
        devices=named,
    )


def _identity(name: str, grid: Dim3 | None, block: Dim3 | None) -> Identity:
    text = printable(name)
    if match := _COPY.search(text):
        work = Work.SET if "set" in match[0].lower() else Work.COPY
        return Identity(work=work, name=text, base_name=text)
    return Identity(work=Work.KERNEL, name=text, base_name=base_name(text), grid=grid, block=block)


def _device(row: dict[str, tuple[str, str]], devices: Interner) -> tuple[int, str | None]:
    """0 and the name for "NVIDIA A100 (0)"; a name without a number gets one."""
    text = printable(row.get("Device", ("", ""))[0].strip())
    match = re.fullmatch(r"(.*?)\s*\((\d+)\)", text)
    if match is None:
        return devices[text], text or None
    return int(match[2]), match[1] or None


def _sizes(row: dict[str, tuple[str, str]], column: str) -> Dim3 | None:
    digits = re.findall(r"\d+", row.get(column, ("", ""))[0])
    return (int(digits[0]), int(digits[1]), int(digits[2])) if len(digits) == 3 else None


def _three(row: dict[str, tuple[str, str]], prefix: str) -> Dim3 | None:
    texts = [row.get(f"{prefix}{axis}", ("", ""))[0] for axis in "XYZ"]
    return (int(texts[0]), int(texts[1]), int(texts[2])) if all(map(str.isdigit, texts)) else None


def _nanoseconds(cell: tuple[str, str]) -> float:
    text, unit = cell
    return _number(text) * _UNITS_NS.get(unit, 1)


def _number(text: str) -> float:
    """Some locales write thousands with commas."""
    try:
        return float(text.replace(",", "") or 0)
    except ValueError:
        return 0.0
