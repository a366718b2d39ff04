"""CSV for spreadsheets and scripts: a line for each kernel or launch, the same columns always."""

from __future__ import annotations

import csv
import io
import math

from roofline.columns import Cell, columns, rows
from roofline.model import Analysis
from roofline.view import Chosen, chosen

_FORMULA = ("=", "+", "-", "@")


def render(view: Analysis | Chosen, *, launches: bool = False) -> str:
    """``view`` as CSV with a header; not measured is an empty cell."""
    table = columns(launches=launches)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(column.name for column in table)
    for row in rows(chosen(view), launches=launches):
        writer.writerow(_cell(column.cell(row)) for column in table)
    return out.getvalue()


def _cell(value: Cell) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    return repr(value)


def _text(value: str) -> str:
    """One line, and nothing that a spreadsheet would run as a formula."""
    line = " ".join(value.split())
    return f"'{line}" if line.startswith(_FORMULA) else line
