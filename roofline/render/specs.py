"""The hardware registry, checks of it, and measured ceilings, as text and JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from roofline.render.documents import text
from roofline.specs import Citation, Spec
from roofline.specs.audit import BANDWIDTH, Checked, PeakRow, figures, peak_rows, used_sources
from roofline.specs.ceilings import DRAM, L2, Achieved, Ceiling
from roofline.specs.spec import quantities
from roofline.text import console
from roofline.text.console import indented, lines, to_text
from roofline.text.names import operation_unit
from roofline.text.notes import note_text
from roofline.text.numbers import ABSENT, deviation, percent, plain, rate, si

SCHEMA = "roofline.specs/1"


def listing(specs: Sequence[Spec], *, width: int, color: bool) -> str:
    """One line a GPU: shape, clock, bandwidth and the peaks that people ask for."""
    table = console.table("key", "name", "cc", "-SMs", "-boost", "-DRAM", "-FP32", "-tensor FP16")
    for spec in specs:
        peaks = spec.peaks()
        table.add_row(
            spec.key,
            spec.name,
            spec.compute_capability,
            ABSENT if spec.sm_count is None else str(spec.sm_count),
            si(spec.boost_clock_hz, "Hz", digits=4),
            si(peaks.dram_bytes_per_s, "B/s"),
            rate(peaks.operations_per_s.get("fp32")),
            rate(peaks.operations_per_s.get("tensor_fp16")),
        )
    count = f"{len(specs)} GPUs. Peaks are dense; tensor FP16 accumulates in FP32."
    return to_text([table, Text(count)], width=width, color=color)


# --- one GPU --------------------------------------------------------------------------------------


def page(spec: Spec, sources: Mapping[str, Citation], *, width: int, color: bool) -> str:
    """Everything about one GPU: parameters, peaks, ridge points, aliases and sources."""
    return to_text(_page(spec, sources), width=width, color=color)


def _page(spec: Spec, sources: Mapping[str, Citation]) -> Iterator[RenderableType]:
    yield Text(spec.name, style="bold")
    yield from lines(*_identity(spec))
    table = console.table("parameter", "-value", "source")
    for field, quantity in quantities(Spec).items():
        if (value := getattr(spec, field)) is not None:
            written = _amount(value, quantity.unit, quantity.digits)
            table.add_row(quantity.label, written, spec.sources.get(field, ""))
    yield from (table, Text(""), *lines(_bandwidth(spec)), Text(""))
    if spec.sm_count is None or spec.boost_clock_hz is None:
        yield from lines("SMs or clock are not known: these are the vendor's figures as they are.")
        table = console.table("operation", "-published", "source")
        for key, figure in spec.published.items():
            table.add_row(key, rate(figure), spec.sources[f"published.{key}"])
        yield table
    else:
        yield _peak_table(peak_rows(spec))
    for what, keys in (("Not on this part", spec.lacks), ("Not known", spec.unknown)):
        if keys:
            yield from lines(f"{what}: {', '.join(keys)}.")
    yield from lines(*(f"{key}: {why}" for key, why in spec.known_differences.items()))
    yield Text("")
    table = console.table("source", "kind", "what, and when it was read")
    for key in used_sources(spec):
        source = sources[key]
        where = f" {source.url}" if source.url else ""
        table.add_row(key, source.kind, f"{source.title}, {source.read}.{where}")
    yield table


def _identity(spec: Spec) -> Iterator[str]:
    part = spec.architecture
    yield f"{spec.key}, in {spec.file}, read {spec.read}"
    others, ids = ", ".join(spec.names[1:]), ", ".join(spec.pci_ids) or "not known"
    yield f"Also known as: {others}; PCI ids: {ids}." if others else f"PCI ids: {ids}."
    what = "laptop part" if spec.laptop else "part"
    memory = f", {spec.memory_type}" if spec.memory_type else ""
    yield f"{part.title} {what}, chip {spec.chip}, capability {spec.compute_capability}{memory}."
    if part.dense.keys() & part.half_rate.keys():
        source = spec.sources.get("accumulate_rate", "no source")
        yield (
            f"Tensor operations that accumulate in FP32 run at {spec.accumulate_rate} rate "
            f"({source})."
        )
    yield from (note for note in (spec.note, part.note) if note)


def _bandwidth(spec: Spec) -> str:
    derived = si(spec.dram_bytes_per_s, "B/s", digits=4)
    if spec.memory_clock_hz is None or spec.memory_bus_bits is None:
        return f"DRAM bandwidth: {derived}, as published."
    clock, bus = f"{spec.memory_clock_hz / 1e6:.0f} MHz", f"{spec.memory_bus_bits} bit"
    text = f"DRAM bandwidth: {derived} = 2 x {clock} x {bus} / 8"
    for figure in figures(spec):
        if figure.key == BANDWIDTH and figure.difference is not None:
            return f"{text}; {deviation(figure.difference)} from the published figure."
    return f"{text}."


def _peak_table(rows: Iterable[PeakRow]) -> Table:
    table = console.table(
        *("operation", "-a clock and SM", "source", "-clock", "-peak", "-ridge"),
        *("-published", "source"),
    )
    for row in rows:
        unit = operation_unit(row.operation)
        printed = rate(row.published, unit)
        if row.published and row.operations_per_s:
            printed += f" ({deviation(row.operations_per_s / row.published - 1)})"
        table.add_row(
            f"{row.operation}, {row.variant}" if row.variant else row.operation,
            _whole(row.per_clock_and_sm, 6),
            row.source or "",
            si(row.clock_hz, "Hz", digits=4),
            rate(row.operations_per_s, unit),
            ABSENT if row.ridge is None else f"{plain(row.ridge)} {unit}/B",
            printed,
            row.published_source or "",
        )
    return table


def document(specs: Sequence[Spec], sources: Mapping[str, Citation]) -> str:
    """The same as JSON: parameters and peaks in SI, each with its source key."""
    used = dict.fromkeys(key for spec in specs for key in used_sources(spec))
    content = {
        "schema": SCHEMA,
        "gpus": [_gpu(spec) for spec in specs],
        "sources": {key: sources[key] for key in used},
    }
    return text(content, indent=2)


def _gpu(spec: Spec) -> dict[str, Any]:
    identity = ("key", "names", "pci_ids", "family", "chip", "compute_capability", "laptop")
    return {
        **{name: getattr(spec, name) for name in (*identity, "memory_type", "read")},
        "parameters": {
            field: {"value": value, "source": spec.sources.get(field, "")}
            for field in quantities(Spec)
            if (value := getattr(spec, field)) is not None
        },
        "dram_bytes_per_s": spec.dram_bytes_per_s,
        "operations": peak_rows(spec),
        "published": {
            key: {"value": value, "source": spec.sources[f"published.{key}"]}
            for key, value in spec.published.items()
        },
        **{name: getattr(spec, name) for name in ("lacks", "unknown", "known_differences", "note")},
    }


# --- reports and measured ceilings ----------------------------------------------------------------


def checks(devices: Sequence[Checked], *, width: int, color: bool) -> str:
    """What registry and reports disagree on, device by device."""
    parts = [part for device in devices for part in (*_checked(device), Text(""))]
    return to_text(parts[:-1], width=width, color=color)


def _checked(checked: Checked) -> Iterator[RenderableType]:
    name, spec = checked.device or "a GPU that the report does not name", checked.found.spec
    yield Text.assemble((name, "bold"), f" [{spec.key if spec else 'not in the registry'}]")
    found, compared = checked.differences, checked.compared
    yield from lines(*(note_text(note) for note in checked.found.notes))
    if compared:
        differ = "differs" if len(found) == 1 else "differ"
        apart = f"{len(found)} of {compared} quantities {differ} by more than 2 %"
        yield from lines(apart if found else f"All {compared} quantities agree within 2 %.")
    if near := checked.found.suggestions:
        yield from lines(f"Near it are {', '.join(near)}.")
    if not found:
        return
    table = console.table("quantity", "-registry", "-report", "-difference", "cause")
    unknown = Text("not known: one of the two is wrong", style="bold red")
    for row in found:
        unit = "MiB" if row.quantity == "L2" else row.unit
        table.add_row(
            row.quantity,
            _amount(row.registry, unit, 4),
            _amount(row.report, unit, 4),
            deviation(row.percent / 100),
            unknown if row.cause is None else note_text(row.cause),
        )
    yield indented(table)


def ceilings(achieved: Achieved, spec: Spec | None, *, width: int, color: bool) -> str:
    """Measured ceilings beside what the datasheet says, with clocks and power meanwhile."""
    table = console.table("ceiling", "-best", "-median", "-of datasheet", "-SM clock", "-power")
    for one in achieved.ceilings:
        unit = "B/s" if one.quantity in (*DRAM, *L2) else f"{operation_unit(one.quantity)}/s"
        sheet = _datasheet(one, spec)
        table.add_row(
            one.quantity,
            si(one.per_s, unit, digits=4),
            si(one.median_per_s, unit, digits=4),
            percent(None if sheet is None else 100 * one.per_s / sheet),
            si(one.sm_clock_hz, "Hz", digits=4),
            si(one.power_w, "W"),
        )
    heading = f"{achieved.device}, {achieved.date}, {achieved.made_with}"
    return to_text([Text(heading, style="bold"), table], width=width, color=color)


def _datasheet(one: Ceiling, spec: Spec | None) -> float | None:
    if spec is None or one.quantity in DRAM:
        return None if spec is None else spec.dram_bytes_per_s
    return spec.peaks().operations_per_s.get(one.quantity)


# --- cells ----------------------------------------------------------------------------------------


def _amount(value: float, unit: str, digits: int) -> str:
    """A value with its unit; counts, bits, MiB and rates a clock in full."""
    if unit == "MiB":
        value /= 2**20
    if unit in ("", "bit", "MiB", "op/clk/SM"):
        return f"{_whole(value, digits)} {unit}".rstrip()
    return si(value, unit, digits=digits)


def _whole(value: float, digits: int) -> str:
    """A number without the zeros that its digits would add: "5120", "1365.33"."""
    return str(int(value)) if float(value).is_integer() else plain(value, digits=digits)
