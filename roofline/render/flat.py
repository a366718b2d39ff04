"""Flat tables: CSV, Parquet and data frames of one list of columns, units in their names."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from roofline.arguments import checked, of_type
from roofline.errors import UsageError
from roofline.model import FOLDS, PRECISIONS, QUANTITIES, Analysis, Fold, Group, Measurement, Result
from roofline.text import verdict as said
from roofline.text.names import last_part, printable
from roofline.units import UNITS
from roofline.view import Chosen, Row, chosen, missing_of

if TYPE_CHECKING:
    import pandas as pd

    from roofline.compare.model import Comparison, KernelPair, Prediction
    from roofline.timeline.model import Selection


Cell = str | int | float | bool | None
Type = Literal["text", "integer", "number", "flag"]

STALLS = 3  # how many stall reasons have columns


@dataclass(frozen=True, slots=True)
class Column:
    """A named column and how a row fills it; ``None`` where nothing was measured."""

    name: str
    type: Type
    cell: Callable[[Any], Cell]


def columns(*, launches: bool) -> tuple[Column, ...]:
    """The columns of a table of launches, or of one of kernels."""
    return (*_IDENTITY, *(_LAUNCH if launches else _GROUP), *_NUMBERS)


_MEASURED, _JUDGED = "result.measurement.", "result.verdict."


def _of(part: str, type_: Type, *names: str) -> Iterator[Column]:
    """Attributes of a part of a row, each named after it: "index" or "index device_index"."""
    for name, *own in map(str.split, names):
        yield Column(own[0] if own else name, type_, attrgetter(f"{part}{name}"))


def _in(part: str, type_: Type, *names: str) -> Iterator[Column]:
    """Attributes of a part that a row may lack, named after both, as keys of the JSON."""
    held = attrgetter(part)
    for name in names:
        get = attrgetter(name)

        def cell(row: Any, get: Callable[[Any], Cell] = get) -> Cell:
            return None if (found := held(row)) is None else get(found)

        yield Column(f"{part}_{name.rpartition('.')[2]}", type_, cell)


def _dim(name: str, axis: int, part: str = _MEASURED) -> Column:
    get = attrgetter(f"{part}{name}")
    return Column(f"{name}_{'xyz'[axis]}", "integer", lambda row: (get(row) or [None] * 3)[axis])


def _utilization(unit: str) -> Column:
    def cell(row: Row) -> Cell:
        return next((u.percent for u in row.result.measurement.units if u.unit == unit), None)

    return Column(f"utilization_{unit}_percent", "number", cell)


def _operations(key: str) -> Column:
    name = f"operations_{key}"
    return Column(name, "number", lambda row: row.result.measurement.operations.get(key))


def _stall(place: int) -> tuple[Column, Column]:
    def told(row: Row, what: str) -> Cell:
        stalls = row.result.measurement.stalls
        return getattr(stalls[place], what) if place < len(stalls) else None

    return (
        Column(f"stall_{place + 1}", "text", lambda row: told(row, "reason")),
        Column(f"stall_{place + 1}_share", "number", lambda row: told(row, "share")),
    )


def _peaks(kind: str) -> tuple[Column, Column]:
    def bandwidth(row: Row) -> Cell:
        peaks = getattr(row.result.peaks, kind)
        return None if peaks is None else peaks.dram_bytes_per_s

    def operations(row: Row) -> Cell:
        peaks, dominant = getattr(row.result.peaks, kind), row.result.verdict.dominant
        return None if peaks is None else peaks.operations_per_s.get(dominant or "")

    return (
        Column(f"peak_{kind}_dram_bytes_per_s", "number", bandwidth),
        Column(f"peak_{kind}_dominant_operations_per_s", "number", operations),
    )


def _dominant_roof(row: Row) -> Cell:
    verdict = row.result.verdict
    return verdict.roof_percent.get(verdict.dominant or "")


# What of a measurement has columns, in the order of its fields: what can be summed, and the rest.
_TOLD = [n for n in FOLDS[Measurement] if n in QUANTITIES or n == "occupancy_limiter"]
_SUMS = [n for n in _TOLD if FOLDS[Measurement][n] is Fold.SUM and n != "duration_s"]
_STATES = [n for n in _TOLD if FOLDS[Measurement][n] is not Fold.SUM]
_RATES = ("arithmetic_intensity", "dram_bytes_per_s", "operations_per_s")

_SOURCE = Column("source", "text", lambda row: last_part(row.result.measurement.source))
_IDENTITY = (
    _SOURCE,
    *_of(_MEASURED, "integer", "range", "index"),
    *_of(_MEASURED, "text", "kind", "name", "demangled"),
    *(_dim(name, axis) for name in ("grid", "block") for axis in range(3)),
    *_of(f"{_MEASURED}device.", "text", "name device", "compute_capability"),
    *_of(f"{_MEASURED}device.", "integer", "sm_count", "index device_index"),
    *_of(_MEASURED, "integer", "process"),
    Column("nvtx", "text", lambda row: " / ".join(row.result.measurement.nvtx)),
)
_LAUNCH = (*_of(_MEASURED, "number", "duration_s"), *_of("", "number", "share"))
_GROUP = (
    Column("launches", "integer", lambda row: len(row.group.launches) if row.group else 1),
    *_of("group.", "number", "total_s", "min_s", "max_s"),
    *_of("", "number", "share"),
)
_NUMBERS = (
    *_of(_JUDGED, "text", "bound", "limiter", "nearest", "cause"),
    *_of(_JUDGED, "number", "limiter_percent"),
    *_of(_JUDGED, "flag", "co_limited"),
    *_of(_JUDGED, "text", "confidence"),
    *_of(_JUDGED, "number", "floor_s"),
    *_of(_JUDGED, "text", "next_limiter"),
    *_of(_JUDGED, "number", "next_floor_s", "waste_floor_s"),
    *_of(_JUDGED, "text", "waste_limiter"),
    *_of(_JUDGED, "number", "gain"),
    *_of(_JUDGED, "text", "gain_by", "action", "action_reason"),
    *_of("", "number", "saved_s"),
    *_of(_MEASURED, "number", *_SUMS, "total_operations", *_RATES),
    *_of(_JUDGED, "text", "dominant"),
    Column("dominant_roof_percent", "number", _dominant_roof),
    *_of(_JUDGED, "number", "ridge"),
    *_of(_JUDGED, "text", "ridge_side"),
    *_of(_JUDGED, "number", "ceiling_operations_per_s", "ceiling_percent"),
    *(c for n in _STATES for c in _of(_MEASURED, "number" if n in QUANTITIES else "text", n)),
    *map(_utilization, UNITS),
    *map(_operations, PRECISIONS),
    *(column for place in range(STALLS) for column in _stall(place)),
    *(column for kind in ("report", "datasheet", "achieved") for column in _peaks(kind)),
    Column(
        "notes", "text", lambda row: " ".join({n.code: n for n in row.result.measurement.notes})
    ),
    Column("missing", "text", lambda row: "; ".join(m.quantity for m in missing_of(row.result))),
    Column("hint", "text", lambda row: said.hint(row.result)),
)

# Those of the table for a terminal: what tells a kernel apart, its time, its verdict, its rates.
_SHORT = (
    *("source", "name", "launches", "total_s", "duration_s", "share"),
    *("bound", "limiter", "limiter_percent", "cause", "action", "saved_s"),
    *(*_RATES, "confidence"),
)


def _stated(pair: KernelPair) -> list[Prediction]:
    return [one for one in pair.predictions if one.by == "user"]


_SIDES = ("before", "after")
_PAIR = (
    *_of("", "text", "outcome", "kind", "basis", "per"),
    *(c for side in _SIDES for c in _in(side, "text", "measured.name", "measured.demangled")),
    *(c for side in _SIDES for c in _in(side, "integer", "launches")),
    *(c for side in _SIDES for c in _in(side, "number", "measured.duration_s", "total_s")),
    *_in("timing", "number", "speedup", "low", "high", "noise"),
    *_in("timing", "number", "sm_clock_ratio", "dram_clock_ratio", "equal_low", "equal_high"),
    *_of("cause.", "text", "code cause", "unit cause_unit"),
    *_of("cause.", "number", "factor cause_factor"),
    *_in("work", "text", "status", "measure"),
    *_in("work", "number", "ratio", "speedup"),
    *_in("step", "number", "share", "gain"),
    Column("stated", "text", lambda pair: "; ".join(p.claim.facts["text"] for p in _stated(pair))),
    Column("judgement", "text", lambda pair: "; ".join(p.judgement for p in _stated(pair))),
    *(
        column
        for side in _SIDES
        for column in (
            *_in(side, "text", "verdict.bound", "verdict.limiter"),
            *_in(side, "number", "verdict.limiter_percent"),
            *_in(side, "text", "verdict.cause"),
            *_in(side, "number", *(f"measured.{n}" for n in ("total_operations", "dram_bytes"))),
        )
    ),
)
_PICK = (
    *_of("", "text", "name", "base_name", "family"),
    *(_dim(name, axis, "") for name in ("grid", "block") for axis in range(3)),
    *_of("", "flag", "chosen"),
    *_of("", "text", "apart", "source"),
    *_of("", "integer", "device", "instances"),
    *_of("", "number", "instances_per_step", "total_s", "kernel_share", "exposed_share"),
    *_of("", "number", "wall_share", "replayed_share"),
    Column("speedup_at_most_low", "number", lambda kernel: kernel.speedup_at_most[0]),
    Column("speedup_at_most_high", "number", lambda kernel: kernel.speedup_at_most[1]),
    *_of("", "number", "sm_coverage"),
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


@checked
def to_frame(
    view: Analysis | Chosen | Group | Result | Comparison | Selection | Sequence[Group | Result],
    *,
    launches: bool = True,
    short: bool = False,
) -> pd.DataFrame:
    """What was found as a data frame: SI units and "percent" in the names, shares 0 to 1.

    Not measured is NaN in a column of floats, else NA. The rows of an analysis are launches in file
    order or kernels, with the columns of the CSV, and a kernel or launch is one row. Those of a
    comparison are its pairs: ``timing_speedup`` is before over after, and ``stated`` what somebody
    predicted, ``judgement`` how each of that came out. Those of a selection are the kernels of the
    ranked device, and what ncu cannot help with: its copies, communication and short kernels, of
    which ``apart`` says so. Columns of both are keys of their JSON, joined by "_".

    Args:
        view: an analysis, a kernel, a launch, a comparison or a selection; several kernels or
            launches, as of ``analysis[:3]``.
        launches: of an analysis a row a launch, else a row a kernel.
        short: of an analysis or kernel those columns alone that the table of ``analyze`` shows.

    Raises:
        ArgumentError: ``view`` is something else.
        UsageError: pandas is not installed.

    """
    try:
        import pandas as pd
    except ImportError as error:
        raise UsageError(
            "data frames need pandas", why=str(error), hint="pip install pandas"
        ) from error
    rows, table = _rows(view, launches=launches)
    if short and table not in (_PAIR, _PICK):
        named = {column.name: column for column in table}
        table = tuple(named[name] for name in _SHORT if name in named)

    def values(column: Column) -> Any:
        absent = math.nan if column.type == "number" else None
        cells = (column.cell(row) for row in rows)
        found = [absent if cell in (None, "") else cell for cell in cells]
        return pd.array(found, dtype=_DTYPES[column.type])

    return pd.DataFrame({column.name: values(column) for column in table})


def _rows(view: Any, *, launches: bool) -> tuple[Sequence[Any], tuple[Column, ...]]:
    """The rows of a frame, and its columns."""
    from roofline.compare.model import Comparison
    from roofline.timeline.model import Selection

    match view:
        case Comparison():
            return view.pairs, _PAIR
        case Selection():
            return (*view.kernels, *view.selected.apart), _PICK
        case Group() | Result():
            return _rows((view,), launches=launches)
        case [Group(), *rest] if all(isinstance(one, Group) for one in rest):
            rows = [Row(result=one.result, share=one.share, group=one) for one in view]
            return rows, columns(launches=False)
        case [Result(), *rest] if all(isinstance(one, Result) for one in rest):
            return [Row(result=one, share=None) for one in view], columns(launches=True)
    hint = "roofline.to_frame(roofline.analyze(REPORT))"
    of_type((Analysis, Chosen), hint, view=view)
    part = chosen(view)
    if isinstance(view, Analysis):  # its results position by position
        part = replace(part, order=tuple(range(len(part.order))))
    return list(part.rows(launches=launches)), columns(launches=launches)


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
