"""Flat tables: CSV, Parquet and data frames of one list of columns, units in their names."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from roofline.errors import UsageError
from roofline.model import FOLDS, PRECISIONS, QUANTITIES, Analysis, Fold, Measurement
from roofline.text import verdict as said
from roofline.text.names import last_part, printable
from roofline.units import UNITS
from roofline.view import Chosen, Row, chosen, missing_of

if TYPE_CHECKING:
    import pandas as pd


Cell = str | int | float | bool | None
Type = Literal["text", "integer", "number", "flag"]

STALLS = 3  # how many stall reasons have columns


@dataclass(frozen=True, slots=True)
class Column:
    """A named column and how a row fills it; ``None`` where nothing was measured."""

    name: str
    type: Type
    cell: Callable[[Row], Cell]


def columns(*, launches: bool) -> tuple[Column, ...]:
    """The columns of a table of launches, or of one of kernels."""
    return (*_IDENTITY, *(_LAUNCH if launches else _GROUP), *_NUMBERS)


def _from(path: str, kind: Type = "number", name: str = "") -> Column:
    """An attribute of a row, named after it; a row without that has an empty cell."""
    get = attrgetter(path)
    return Column(name or path.rpartition(".")[2], kind, lambda row: get(row))


def _measured(name: str, kind: Type = "number", column: str = "") -> Column:
    return _from(f"result.measurement.{name}", kind, column)


def _judged(name: str, kind: Type = "number") -> Column:
    return _from(f"result.verdict.{name}", kind)


def _device(name: str, kind: Type, column: str = "") -> Column:
    return _from(f"result.measurement.device.{name}", kind, column)


def _text(name: str, cell: Callable[[Row], Cell]) -> Column:
    return Column(name, "text", cell)


def _number(name: str, cell: Callable[[Row], Cell]) -> Column:
    return Column(name, "number", cell)


def _of_group(name: str) -> Column:
    return _number(name, lambda row: getattr(row.group, name, None))


def _dim(name: str, axis: int) -> Column:
    def cell(row: Row) -> Cell:
        dim = getattr(row.result.measurement, name)
        return None if dim is None else int(dim[axis])

    return Column(f"{name}_{'xyz'[axis]}", "integer", cell)


def _utilization(unit: str) -> Column:
    def cell(row: Row) -> Cell:
        return next((u.percent for u in row.result.measurement.units if u.unit == unit), None)

    return _number(f"utilization_{unit}_percent", cell)


def _operations(key: str) -> Column:
    return _number(f"operations_{key}", lambda row: row.result.measurement.operations.get(key))


def _stall(place: int) -> tuple[Column, Column]:
    def told(row: Row, what: str) -> Cell:
        stalls = row.result.measurement.stalls
        return getattr(stalls[place], what) if place < len(stalls) else None

    return (
        _text(f"stall_{place + 1}", lambda row: told(row, "reason")),
        _number(f"stall_{place + 1}_share", lambda row: told(row, "share")),
    )


def _peaks(kind: str) -> tuple[Column, Column]:
    def bandwidth(row: Row) -> Cell:
        peaks = getattr(row.result.peaks, kind)
        return None if peaks is None else peaks.dram_bytes_per_s

    def operations(row: Row) -> Cell:
        peaks, dominant = getattr(row.result.peaks, kind), row.result.verdict.dominant
        return None if peaks is None else peaks.operations_per_s.get(dominant or "")

    return (
        _number(f"peak_{kind}_dram_bytes_per_s", bandwidth),
        _number(f"peak_{kind}_dominant_operations_per_s", operations),
    )


def _dominant_roof(row: Row) -> Cell:
    verdict = row.result.verdict
    return verdict.roof_percent.get(verdict.dominant or "")


def _codes(codes: Iterable[str]) -> str:
    return " ".join(dict.fromkeys(codes))


# What of a measurement has columns, in the order of its fields: what can be summed, and the rest.
_TOLD = [n for n in FOLDS[Measurement] if n in QUANTITIES or n == "occupancy_limiter"]
_SUMS = [n for n in _TOLD if FOLDS[Measurement][n] is Fold.SUM and n != "duration_s"]
_STATES = [n for n in _TOLD if FOLDS[Measurement][n] is not Fold.SUM]

_SHARE = _from("share")
_IDENTITY = (
    _text("source", lambda row: last_part(row.result.measurement.source)),
    _measured("range", "integer"),
    _measured("index", "integer"),
    _text("kind", lambda row: str(row.result.measurement.kind)),
    _measured("name", "text"),
    _measured("demangled", "text"),
    *(_dim("grid", axis) for axis in range(3)),
    *(_dim("block", axis) for axis in range(3)),
    _device("name", "text", "device"),
    _device("compute_capability", "text"),
    _device("sm_count", "integer"),
    _device("index", "integer", "device_index"),
    _measured("process", "integer"),
    _text("nvtx", lambda row: " / ".join(row.result.measurement.nvtx)),
)
_LAUNCH = (_measured("duration_s"), _SHARE)
_GROUP = (
    Column("launches", "integer", lambda row: len(row.group.launches) if row.group else None),
    *map(_of_group, ("total_s", "min_s", "max_s")),
    _SHARE,
)
_NUMBERS = (
    _text("bound", lambda row: str(row.result.verdict.bound)),
    *(_judged(name, "text") for name in ("limiter", "nearest", "cause")),
    _judged("limiter_percent"),
    _judged("co_limited", "flag"),
    _text("confidence", lambda row: str(row.result.verdict.confidence)),
    _judged("floor_s"),
    _judged("next_limiter", "text"),
    _judged("next_floor_s"),
    _judged("waste_floor_s"),
    _judged("waste_limiter", "text"),
    _judged("gain"),
    _judged("gain_by", "text"),
    *map(_measured, _SUMS),
    *map(_measured, ("total_operations", "arithmetic_intensity")),
    *map(_measured, ("dram_bytes_per_s", "operations_per_s")),
    _judged("dominant", "text"),
    _number("dominant_roof_percent", _dominant_roof),
    _judged("ridge"),
    _judged("ridge_side", "text"),
    _judged("ceiling_operations_per_s"),
    _judged("ceiling_percent"),
    *(_measured(name, "number" if name in QUANTITIES else "text") for name in _STATES),
    *map(_utilization, UNITS),
    *map(_operations, PRECISIONS),
    *(column for place in range(STALLS) for column in _stall(place)),
    *(column for kind in ("report", "datasheet", "achieved") for column in _peaks(kind)),
    _text("notes", lambda row: _codes(note.code for note in row.result.measurement.notes)),
    _text("missing", lambda row: "; ".join(gap.quantity for gap in missing_of(row.result))),
    _text("hint", lambda row: said.hint(row.result)),
)


# The table for a terminal: what tells a kernel apart, its time, its verdict, what it reached.
_SHORT = (
    _IDENTITY[0],
    _measured("name", "text"),
    Column("launches", "integer", lambda row: len(row.group.launches) if row.group else 1),
    _from("time_s"),
    _number("share_percent", lambda row: None if row.share is None else 100 * row.share),
    _text("bound", lambda row: str(row.result.verdict.bound)),
    _judged("limiter", "text"),
    _judged("limiter_percent"),
    _judged("cause", "text"),
    _from("saved_s"),
    _measured("arithmetic_intensity", column="operations_per_dram_byte"),
    *map(_measured, ("dram_bytes_per_s", "operations_per_s")),
    _text("confidence", lambda row: str(row.result.verdict.confidence)),
)


# --- CSV --------------------------------------------------------------------------------------

_FORMULA = ("=", "+", "-", "@")


def to_csv(view: Analysis | Chosen, *, launches: bool = False) -> str:
    """``view`` as CSV with a header: a line a kernel or launch; not measured is an empty cell."""
    table = columns(launches=launches)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(column.name for column in table)
    for row in chosen(view).rows(launches=launches):
        writer.writerow(_written(column.cell(row)) for column in table)
    return out.getvalue()


def _written(value: Cell) -> str:
    """One line, and nothing that a spreadsheet would run as a formula."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        line = printable(" ".join(value.split()))
        return f"'{line}" if line.startswith(_FORMULA) else line
    return repr(value)


# --- data frames ------------------------------------------------------------------------------

_DTYPES: dict[Type, Any] = {
    "text": "string",
    "integer": "Int64",
    "number": "float64",
    "flag": "boolean",
}


def to_frame(
    view: Analysis | Chosen, *, launches: bool = True, short: bool = False
) -> pd.DataFrame:
    """``view`` as a data frame: a row a launch in file order, or a row a kernel.

    Columns are those of the CSV, SI units in their names; not measured is NA. ``short`` leaves
    those of the table that ``analyze`` prints, with what they count in their names.

    Raises:
        UsageError: pandas is not installed.

    """
    try:
        import pandas as pd
    except ImportError as error:
        raise UsageError(
            "data frames need pandas", why=str(error), hint="pip install pandas"
        ) from error
    part = chosen(view)
    if isinstance(view, Analysis):  # its results position by position
        part = replace(part, order=tuple(range(len(part.order))))
    rows = list(part.rows(launches=launches))

    def values(column: Column) -> Any:
        absent = math.nan if column.type == "number" else None
        cells = (column.cell(row) for row in rows)
        found = [absent if cell is None else cell for cell in cells]
        return pd.array(found, dtype=_DTYPES[column.type])

    wanted = _SHORT if short else columns(launches=launches)
    return pd.DataFrame({column.name: values(column) for column in wanted})


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
            "Parquet needs pyarrow", why="it is not installed", hint="pip install pyarrow"
        ) from error
