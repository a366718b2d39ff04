"""An analysis as a pandas data frame, with the columns of the CSV."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roofline.columns import Cell, Type, columns, rows
from roofline.errors import UsageError
from roofline.model import Analysis
from roofline.view import Chosen, whole

if TYPE_CHECKING:
    import pandas as pd

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
                [_cell(column.cell(line), column.type) for line in lines],
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


def _cell(value: Cell, kind: Type) -> Any:
    if value is None:
        return float("nan") if kind == "number" else None
    return value
