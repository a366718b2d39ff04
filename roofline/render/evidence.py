"""The tables of evidence about one kernel: busy units, quantities and peaks, with their origins."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from roofline.model import Measurement, Result
from roofline.text import names, numbers
from roofline.text.console import INDENT, bar, bullet, lines
from roofline.units import LEVELS

ELAPSED = ".avg.pct_of_peak_sustained_elapsed"  # said once, not behind every metric
_BAR = 10
_STALLS = 6
_IDLE = 0.1  # units less busy than this are listed in one line

# Attribute of a Measurement -> its key in the provenance, and how its value is shown.
_QUANTITIES: dict[str, tuple[str, Callable[[float | None], str]]] = {
    "duration_s": ("duration", numbers.duration),
    "dram_read_bytes": ("dram_read_bytes", numbers.size),
    "dram_write_bytes": ("dram_write_bytes", numbers.size),
    "dram_bytes": ("dram_bytes", numbers.size),
    "dram_bytes_per_s": ("", numbers.bandwidth),
    "l2_bytes": ("l2_bytes", numbers.size),
    "l1_bytes": ("l1_bytes", numbers.size),
    "arithmetic_intensity": ("", numbers.plain),
    "sm_clock_hz": ("sm_clock", numbers.clock),
    "dram_clock_hz": ("dram_clock", numbers.clock),
    "waves": ("waves", numbers.plain),
    "occupancy_percent": ("occupancy", numbers.percent),
    "theoretical_occupancy_percent": ("theoretical_occupancy", numbers.percent),
    "registers_per_thread": ("registers", numbers.exact),
    "shared_memory_bytes": ("shared_memory", numbers.size),
    "sm_active_percent": ("sm_active", numbers.percent),
    "passes": ("passes", numbers.exact),
}


def units_table(m: Measurement) -> Iterator[RenderableType]:
    """How busy each unit was, and by which metric."""
    if not m.units:
        return
    table = _grid(5)
    ranked = sorted(m.units, key=lambda use: use.percent, reverse=True)
    for use in (u for u in ranked if u.percent >= _IDLE):
        table.add_row(
            names.unit(use.unit),
            Text(bar(use.percent, _BAR), style="cyan"),
            Text(numbers.percent(use.percent, places=1), justify="right"),
            str(use.family),
            Text(names.printable(use.metric).removesuffix(ELAPSED), style="dim"),
        )
    if table.row_count:
        yield _indented(table)
    idle = ", ".join(names.unit(u.unit) for u in ranked if u.percent < _IDLE)
    yield from lines([f"under {_IDLE} %: {idle}" if idle else None])


def numbers_table(m: Measurement) -> Iterator[RenderableType]:
    """Every quantity that was measured, and how it was read."""
    table = _grid(3)
    for name, (key, show) in _QUANTITIES.items():
        value = getattr(m, name)
        if value is not None:
            table.add_row(names.quantity(name), show(value), _origin(m, key))
    for key, count in m.operations.items():
        kept = f" into {m.accumulate[key].upper()}" if key in m.accumulate else ""
        general = "operations.tensor" if key.startswith("tensor") else ""
        table.add_row(
            f"{names.operation(key)} operations{kept}",
            numbers.exact(count),
            _origin(m, f"operations.{key}", general),
        )
    for ran in m.unmeasured:
        table.add_row(f"{names.operation(ran)} operations", "ran, not counted", "")
    if m.occupancy_limiter:
        table.add_row(
            names.quantity("occupancy_limiter"),
            names.words(m.occupancy_limiter),
            _origin(m, "occupancy_limiter"),
        )
    if table.row_count:
        yield _indented(table)


def peaks_table(result: Result) -> Iterator[RenderableType]:
    """The peaks of each kind, where they come from, and how much of them was reached."""
    kinds = result.peaks.of_kind()
    table = _grid(len(kinds) + 3)
    heads = ("", *(p.kind for p in kinds), "reached", "the report's comes from")
    table.add_row(*(Text(head, style="bold") for head in heads))
    how = result.peaks.report.how
    for level in LEVELS:
        name = f"{level}_bytes_per_s"
        values = [getattr(p, name) for p in kinds]
        if any(value is not None for value in values):
            reached = numbers.bandwidth(getattr(result.measurement, name, None))
            shown = map(numbers.bandwidth, values)
            table.add_row(names.quantity(name), *shown, reached, _dim(how.get(level, "")))
    roofs = result.verdict.roof_percent
    keys = [k for k in result.measurement.operations if any(k in p.operations_per_s for p in kinds)]
    for key in keys:
        unit = names.operation_unit(key)
        values = [p.operations_per_s.get(key) for p in kinds]
        cells = (numbers.rate(value, unit) for value in values)
        reached = numbers.percent(roofs.get(key))
        table.add_row(names.operation(key), *cells, reached, _dim(how.get(key, "")))
    if table.row_count > 1:
        yield _indented(table)
    for peaks in kinds:
        yield bullet(f"{peaks.kind}: {names.printable(peaks.source)}")
    v = result.verdict
    if v.ridge is not None and v.dominant:
        side = f"; this kernel is on the {v.ridge_side} side" if v.ridge_side else ""
        unit = names.operation_unit(v.dominant)
        yield bullet(
            f"ridge for {names.operation(v.dominant)}: {numbers.plain(v.ridge)} {unit}/B{side}"
        )


def stalls_table(m: Measurement) -> Iterator[RenderableType]:
    """What warps waited for, as shares of all that they waited."""
    if not m.stalls:
        return
    table = _grid(2)
    for stall in m.stalls[:_STALLS]:
        table.add_row(names.words(stall.reason), Text(numbers.share(stall.share), justify="right"))
    yield _indented(table)


def _origin(m: Measurement, *keys: str) -> Text:
    """How a quantity was read: the first of ``keys`` that the provenance knows."""
    found = next((m.provenance[key] for key in keys if key in m.provenance), "")
    return _dim(found)


def _dim(text: str) -> Text:
    return Text(names.printable(text), style="dim")


def _grid(columns: int) -> Table:
    """A table without heads; the last column, the longest, is folded, never cut."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    for place in range(columns):
        table.add_column(no_wrap=place < columns - 1, overflow="fold")
    return table


def _indented(table: Table) -> RenderableType:
    return Padding(table, (0, 0, 0, INDENT))
