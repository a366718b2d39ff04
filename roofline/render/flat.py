"""Flat tables: CSV, Parquet and data frames of one list of columns, units in their names."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from roofline.errors import UsageError
from roofline.model import PRECISIONS, Analysis, Group, Peaks, Result
from roofline.text import verdict as said
from roofline.text.names import last_part
from roofline.units import UNITS
from roofline.view import Chosen, chosen, whole

if TYPE_CHECKING:
    import pandas as pd


Cell = str | int | float | bool | None
Type = Literal["text", "integer", "number", "flag"]

STALLS = 3  # how many stall reasons have columns


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of a flat table: a launch, or a kernel with its ``group``."""

    result: Result
    share: float | None
    group: Group | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A named column and how a row fills it; ``None`` where nothing was measured."""

    name: str
    type: Type
    cell: Callable[[Row], Cell]


def rows(part: Chosen, *, launches: bool) -> Iterator[Row]:
    """The launches of ``part`` in its order, or its kernels."""
    if launches:
        for position in part.order:
            yield Row(result=part.analysis.results[position], share=part.shares[position])
    else:
        for group in part.analysis.groups:
            yield Row(result=group.result, share=group.share, group=group)


def columns(*, launches: bool) -> tuple[Column, ...]:
    """The columns of a table of launches, or of one of kernels."""
    return (*IDENTITY, *(LAUNCH if launches else GROUP), *NUMBERS)


def _measured(name: str, kind: Type = "number", attribute: str | None = None) -> Column:
    get = attrgetter(attribute or name)
    return Column(name, kind, lambda row: get(row.result.measurement))


def _judged(name: str, kind: Type = "number") -> Column:
    get = attrgetter(name)
    return Column(name, kind, lambda row: get(row.result.verdict))


def _dim(name: str, axis: int) -> Column:
    def cell(row: Row) -> Cell:
        dim = getattr(row.result.measurement, name)
        return None if dim is None else int(dim[axis])

    return Column(f"{name}_{'xyz'[axis]}", "integer", cell)


def _grouped(name: str) -> Column:
    return Column(name, "number", lambda row: getattr(row.group, name, None))


def _utilization(unit: str) -> Column:
    def cell(row: Row) -> Cell:
        return next((u.percent for u in row.result.measurement.units if u.unit == unit), None)

    return Column(f"utilization_{unit}_percent", "number", cell)


def _operations(key: str) -> Column:
    return Column(
        f"operations_{key}", "number", lambda row: row.result.measurement.operations.get(key)
    )


def _peak(kind: str, name: str, value: Callable[[Peaks, Row], float | None]) -> Column:
    def cell(row: Row) -> Cell:
        peaks: Peaks | None = getattr(row.result.peaks, kind)
        return None if peaks is None else value(peaks, row)

    return Column(f"peak_{kind}_{name}", "number", cell)


def _dominant_peak(peaks: Peaks, row: Row) -> float | None:
    return peaks.operations_per_s.get(row.result.verdict.dominant or "")


def _stall(place: int) -> tuple[Column, Column]:
    def reason(row: Row) -> Cell:
        stalls = row.result.measurement.stalls
        return stalls[place].reason if place < len(stalls) else None

    def share(row: Row) -> Cell:
        stalls = row.result.measurement.stalls
        return stalls[place].share if place < len(stalls) else None

    return (
        Column(f"stall_{place + 1}", "text", reason),
        Column(f"stall_{place + 1}_share", "number", share),
    )


def _dominant_roof(row: Row) -> Cell:
    verdict = row.result.verdict
    return verdict.roof_percent.get(verdict.dominant or "")


def _codes(row: Row) -> str:
    return " ".join(dict.fromkeys(note.code for note in row.result.measurement.notes))


def _gaps(row: Row) -> str:
    both = (*row.result.measurement.missing, *row.result.verdict.missing)
    return "; ".join(dict.fromkeys(missing.quantity for missing in both))


IDENTITY = (
    Column("source", "text", lambda row: last_part(row.result.measurement.source)),
    _measured("range", "integer"),
    _measured("index", "integer"),
    Column("kind", "text", lambda row: str(row.result.measurement.kind)),
    _measured("name", "text"),
    _measured("demangled", "text"),
    *(_dim("grid", axis) for axis in range(3)),
    *(_dim("block", axis) for axis in range(3)),
    _measured("device", "text", "device.name"),
    _measured("compute_capability", "text", "device.compute_capability"),
    _measured("sm_count", "integer", "device.sm_count"),
    _measured("device_index", "integer", "device.index"),
    _measured("process", "integer"),
    Column("nvtx", "text", lambda row: " / ".join(row.result.measurement.nvtx)),
)
LAUNCH = (_measured("duration_s"), Column("share", "number", lambda row: row.share))
GROUP = (
    Column("launches", "integer", lambda row: len(row.group.launches) if row.group else None),
    *(_grouped(name) for name in ("total_s", "min_s", "max_s")),
    Column("share", "number", lambda row: row.share),
)
NUMBERS = (
    Column("bound", "text", lambda row: str(row.result.verdict.bound)),
    *(_judged(name, "text") for name in ("limiter", "nearest", "cause")),
    _judged("limiter_percent"),
    _judged("co_limited", "flag"),
    Column("confidence", "text", lambda row: str(row.result.verdict.confidence)),
    _judged("floor_s"),
    _judged("next_limiter", "text"),
    _judged("next_floor_s"),
    *(_measured(f"{name}_bytes") for name in ("dram", "dram_read", "dram_write", "l2", "l1")),
    _measured("total_operations"),
    *(_measured(name) for name in ("arithmetic_intensity", "dram_bytes_per_s")),
    _measured("operations_per_s"),
    _judged("dominant", "text"),
    Column("dominant_roof_percent", "number", _dominant_roof),
    _judged("ridge"),
    _judged("ridge_side", "text"),
    *(_measured(name) for name in ("sm_clock_hz", "dram_clock_hz", "waves")),
    *(_measured(name) for name in ("occupancy_percent", "theoretical_occupancy_percent")),
    _measured("occupancy_limiter", "text"),
    *(_measured(name) for name in ("registers_per_thread", "shared_memory_bytes")),
    *(_measured(name) for name in ("sm_active_percent", "passes")),
    *(_utilization(key) for key in UNITS),
    *(_operations(key) for key in PRECISIONS),
    *(column for place in range(STALLS) for column in _stall(place)),
    *(
        column
        for kind in ("report", "datasheet", "achieved")
        for column in (
            _peak(kind, "dram_bytes_per_s", lambda peaks, _: peaks.dram_bytes_per_s),
            _peak(kind, "dominant_operations_per_s", _dominant_peak),
        )
    ),
    Column("notes", "text", _codes),
    Column("missing", "text", _gaps),
    Column("hint", "text", lambda row: said.hint(row.result)),
)


# --- CSV --------------------------------------------------------------------------------------

_FORMULA = ("=", "+", "-", "@")


def to_csv(view: Analysis | Chosen, *, launches: bool = False) -> str:
    """``view`` as CSV with a header: a line a kernel or launch; not measured is an empty cell."""
    table = columns(launches=launches)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(column.name for column in table)
    for row in rows(chosen(view), launches=launches):
        writer.writerow(_text(column.cell(row)) for column in table)
    return out.getvalue()


def _text(value: Cell) -> str:
    """One line, and nothing that a spreadsheet would run as a formula."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        line = " ".join(value.split())
        return f"'{line}" if line.startswith(_FORMULA) else line
    return repr(value)


# --- data frames ------------------------------------------------------------------------------

_DTYPES: dict[Type, Any] = {
    "text": "string",
    "integer": "Int64",
    "number": "float64",
    "flag": "boolean",
}


def to_frame(view: Analysis | Chosen, *, launches: bool = True) -> pd.DataFrame:
    """``view`` as a data frame: a row a launch in file order, or a row a kernel.

    Columns are those of the CSV, SI units in their names; not measured is NA.

    Raises:
        UsageError: pandas is not installed.

    """
    try:
        import pandas as pd
    except ImportError as error:
        raise UsageError(
            "data frames need pandas", why=str(error), hint="pip install pandas"
        ) from error
    table = columns(launches=launches)
    lines = list(rows(_part(view), launches=launches))
    return pd.DataFrame(
        {
            column.name: pd.array(
                [_na(column.cell(line), column.type) for line in lines],
                dtype=_DTYPES[column.type],
            )
            for column in table
        }
    )


def write_parquet(view: Analysis | Chosen, path: Path, *, launches: bool) -> None:
    """Write ``to_frame`` to ``path``.

    Raises:
        UsageError: pandas or pyarrow is not installed.

    """
    frame = to_frame(view, launches=launches)
    try:
        frame.to_parquet(path, index=False)
    except ImportError as error:
        raise UsageError(
            "Parquet needs pyarrow",
            why="it is not installed",
            hint="pip install pandas pyarrow",
        ) from error


def _part(view: Analysis | Chosen) -> Chosen:
    """An analysis in file order: a frame's rows are ``Analysis.results``, position by position."""
    if isinstance(view, Chosen):
        return view
    part = whole(view)
    return replace(part, order=tuple(range(len(part.order))))


def _na(value: Cell, kind: Type) -> Any:
    if value is None:
        return float("nan") if kind == "number" else None
    return value
