"""The hardware registry as text and JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from roofline.specs import Source, Spec
from roofline.specs.table import PeakRow, bandwidth, parameters, peak_rows, used_sources
from roofline.text.console import INDENT, to_text
from roofline.text.numbers import ABSENT, plain, rate, si

# Field of an entry -> what people call it, unit, digits.
FIELDS = {
    "sm_count": ("SMs", "", 6),
    "base_clock_hz": ("base clock", "Hz", 4),
    "boost_clock_hz": ("boost clock", "Hz", 4),
    "tensor_clock_hz": ("tensor clock", "Hz", 4),
    "memory_bytes": ("memory", "B", 4),
    "memory_clock_hz": ("memory clock", "Hz", 5),
    "memory_bus_bits": ("memory bus", "bit", 5),
    "bandwidth_bytes_per_s": ("DRAM bandwidth, published", "B/s", 4),
    "l2_bytes": ("L2", "MiB", 4),
    "power_w": ("power", "W", 4),
    "mig_memory_slices": ("MIG memory slices", "", 4),
}
INTEGER = "_int"  # what the keys of integer operations hold


def listing(specs: Sequence[Spec], *, width: int, color: bool) -> str:
    """One line a GPU: shape, clock, bandwidth and the peaks that people ask for."""
    table = plain_table("key", "name", "cc", "-SMs", "-boost", "-DRAM", "-FP32", "-tensor FP16")
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


def page(spec: Spec, sources: Mapping[str, Source], *, width: int, color: bool) -> str:
    """Everything about one GPU: parameters, peaks, ridge points, aliases and sources."""
    return to_text(_page(spec, sources), width=width, color=color)


def _page(spec: Spec, sources: Mapping[str, Source]) -> Iterator[RenderableType]:
    yield Text(spec.name, style="bold")
    yield from (indented(line) for line in _identity(spec))
    table = plain_table("parameter", "-value", "source")
    for row in parameters(spec):
        name, unit, digits = FIELDS[row.field]
        table.add_row(name, amount(row.value, unit, digits), row.source)
    yield table
    yield Text("")
    yield indented(_bandwidth(spec))
    yield Text("")
    if spec.sm_count is None or spec.boost_clock_hz is None:
        yield indented("SMs or clock are not known: these are the vendor's figures as they are.")
        yield _published_table(spec)
    else:
        yield _peak_table(peak_rows(spec))
    for what, keys in (("Not on this part", spec.lacks), ("Not known", spec.unknown)):
        if keys:
            yield indented(f"{what}: {', '.join(keys)}.")
    for key, reason in spec.known_differences.items():
        yield indented(f"{key}: {reason}")
    yield Text("")
    yield _source_table(used_sources(spec), sources)


def _identity(spec: Spec) -> Iterator[str]:
    part = spec.architecture
    yield f"{spec.key}, in {spec.file}, read {spec.read}"
    others = ", ".join(spec.names[1:])
    ids = ", ".join(spec.pci_ids) or "not known"
    yield f"Also known as: {others}; PCI ids: {ids}." if others else f"PCI ids: {ids}."
    what = "laptop part" if spec.laptop else "part"
    memory = f", {spec.memory_type}" if spec.memory_type else ""
    yield f"{part.title} {what}, chip {spec.chip}, capability {spec.compute_capability}{memory}."
    if spec.architecture.dense.keys() & spec.architecture.half_rate.keys():
        source = spec.sources.get("accumulate_rate", "no source")
        if spec.accumulate_rate == "half":
            yield f"Tensor operations that accumulate in FP32 run at half rate ({source})."
        else:
            yield f"Tensor operations that accumulate in FP32 run at full rate ({source})."
    if spec.note:
        yield spec.note
    if part.note:
        yield part.note


def _bandwidth(spec: Spec) -> str:
    derived = si(spec.dram_bytes_per_s, "B/s", digits=4)
    if spec.memory_clock_hz is None or spec.memory_bus_bits is None:
        return f"DRAM bandwidth: {derived}, as published."
    text = (
        f"DRAM bandwidth: {derived} = 2 x {spec.memory_clock_hz / 1e6:.0f} MHz x "
        f"{spec.memory_bus_bits} bit / 8"
    )
    row = bandwidth(spec)
    if row is None or row.difference is None:
        return f"{text}."
    return f"{text}; {100 * row.difference:+.1f} % from the published figure."


def _peak_table(rows: Iterable[PeakRow]) -> Table:
    table = plain_table(
        "operation",
        "-a clock and SM",
        "source",
        "-clock",
        "-peak",
        "-ridge",
        "-published",
        "source",
    )
    for row in rows:
        unit = "OP" if INTEGER in row.key else "FLOP"
        printed, by = ABSENT, ""
        if row.published is not None:
            printed, by = rate(row.published.published, unit), row.published.source
            if row.published.difference is not None:
                printed += f" ({100 * row.published.difference:+.1f} %)"
        table.add_row(
            f"{row.key}, {row.variant}" if row.variant else row.key,
            _whole(row.per_clock, 6),
            row.source or "",
            si(row.clock_hz, "Hz", digits=4),
            rate(row.peak, unit),
            ABSENT if row.ridge is None else f"{plain(row.ridge)} {unit}/B",
            printed,
            by,
        )
    return table


def _published_table(spec: Spec) -> Table:
    table = plain_table("operation", "-published", "source")
    for key, value in spec.published.items():
        table.add_row(key, rate(value), spec.sources[f"published.{key}"])
    return table


def _source_table(keys: Iterable[str], sources: Mapping[str, Source]) -> Table:
    table = plain_table("source", "kind", "what, and when it was read")
    for key in keys:
        source = sources[key]
        where = f" {source.url}" if source.url else ""
        table.add_row(key, source.kind, f"{source.title}, {source.read}.{where}")
    return table


def amount(value: float, unit: str, digits: int) -> str:
    """A value with its unit; counts, bits, MiB and rates a clock in full."""
    if unit == "MiB":
        value /= 2**20
    if unit in ("", "bit", "MiB", "op/clk/SM"):
        return f"{_whole(value, digits)} {unit}".rstrip()
    return si(value, unit, digits=digits)


def _whole(value: float, digits: int) -> str:
    """A number without the zeros that its digits would add: "5120", "1365.33"."""
    return str(int(value)) if float(value).is_integer() else plain(value, digits=digits)


def indented(text: str) -> Padding:
    """A line under a heading."""
    return Padding(Text(text), (0, 0, 0, INDENT))


def plain_table(*columns: str) -> Table:
    """A plain table; a column whose title begins with "-" is aligned right."""
    table = Table(box=None, padding=(0, INDENT, 0, 0), header_style="bold", pad_edge=False)
    for title in columns:
        right = title.startswith("-")
        table.add_column(title.removeprefix("-"), justify="right" if right else "left")
    return table
