"""Reports against the registry, and measured ceilings, as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from roofline.render.specs import INTEGER, amount, indented, plain_table
from roofline.specs import Spec
from roofline.specs.ceilings import DRAM, L2, Achieved, Ceiling
from roofline.specs.check import Checked
from roofline.text.console import INDENT, to_text
from roofline.text.notes import note_text
from roofline.text.numbers import percent, si


def checks(devices: Sequence[Checked], *, width: int, color: bool) -> str:
    """What registry and reports disagree on, device by device."""
    parts = [part for device in devices for part in (*_checked(device), Text(""))]
    return to_text(parts[:-1], width=width, color=color)


def _checked(checked: Checked) -> Iterator[RenderableType]:
    key = "not in the registry" if checked.spec is None else checked.spec
    yield Text.assemble((checked.device, "bold"), f" [{key}]")
    found, compared, notes = checked.differences, checked.compared, checked.notes
    for note in notes:
        yield indented(note_text(note))
    if compared:
        differ = "differs" if len(found) == 1 else "differ"
        apart = f"{len(found)} of {compared} quantities {differ} by more than 2 %"
        yield indented(apart if found else f"All {compared} quantities agree within 2 %.")
    if checked.suggestions:
        yield indented(f"Near it are {', '.join(checked.suggestions)}.")
    if not found:
        return
    table = plain_table("quantity", "-registry", "-report", "-difference", "cause")
    for row in found:
        unit = "MiB" if row.quantity == "L2" else row.unit
        table.add_row(
            row.quantity,
            amount(row.registry, unit, 4),
            amount(row.report, unit, 4),
            f"{row.percent:+.1f} %",
            row.explanation or Text("not known: one of the two is wrong", style="bold red"),
        )
    yield Padding(table, (0, 0, 0, INDENT))


def ceilings(achieved: Achieved, spec: Spec | None, *, width: int, color: bool) -> str:
    """Measured ceilings beside what the datasheet says, with clocks and power meanwhile."""
    table = plain_table("ceiling", "-best", "-median", "-of datasheet", "-SM clock", "-power")
    for one in achieved.ceilings:
        sheet = _sheet(one, spec)
        table.add_row(
            one.quantity,
            _per_second(one.quantity, one.per_s),
            _per_second(one.quantity, one.median_per_s),
            percent(None if sheet is None else 100 * one.per_s / sheet),
            si(one.sm_clock_hz, "Hz", digits=4),
            si(one.power_w, "W"),
        )
    heading = f"{achieved.device}, {achieved.date}, {achieved.made_with}"
    return to_text([Text(heading, style="bold"), table], width=width, color=color)


def _sheet(one: Ceiling, spec: Spec | None) -> float | None:
    if spec is None:
        return None
    if one.quantity in DRAM:
        return spec.dram_bytes_per_s
    return spec.peaks().operations_per_s.get(one.quantity)


def _per_second(quantity: str, value: float) -> str:
    if quantity in (*DRAM, *L2):
        return si(value, "B/s", digits=4)
    return si(value, "OP/s" if INTEGER in quantity else "FLOP/s", digits=4)
