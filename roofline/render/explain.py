"""All the evidence about one kernel: the claim, its numbers, what would refute it, what to try."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from roofline.model import Bound, Group, Measurement, Result, Verdict
from roofline.render import names, numbers, sentences, summary
from roofline.render.console import NARROWEST, bar, bound, hanging, to_text

_INDENT = 2
_BAR = 10
_STALLS = 6
_SIGNATURE = 400  # letters of a C++ signature; CUTLASS has signatures of 5,000
_ELAPSED = ".avg.pct_of_peak_sustained_elapsed"  # said once, not behind every metric
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


def render(
    group: Group,
    *,
    others: Sequence[Group] = (),
    latency_threshold: float = 60.0,
    balance: float = 10.0,
    width: int = 120,
    color: bool = False,
) -> str:
    """Everything about ``group``; ``others`` are kernels that the same words meant too.

    The thresholds are those that the verdict was made with.
    """
    result = group.result
    rule = _rule(result.verdict, result.measurement, latency_threshold, balance)
    sections: tuple[tuple[str, Iterator[RenderableType]], ...] = (
        ("Claim", _claim(result.verdict)),
        ("Rule", iter([_text(rule)])),
        (f"Utilisation in % of peak ({_ELAPSED})", _units(result.measurement)),
        ("Numbers", _numbers(result.measurement)),
        ("Peaks", _peaks(result)),
        ("Stalled warps", _stalls(result.measurement)),
        ("What would refute this", _lines([result.verdict.refute])),
        ("Try first", _try(result)),
        ("What that could buy", _lines([sentences.bounds(result)])),
        ("Not worth the time", _bullets(result.verdict.avoid)),
        ("How sure", _sure(result.verdict)),
        ("Not measured", _gaps(result)),
        ("Notes", _bullets([n.text for n in result.measurement.notes])),
        ("Matching kernels too", _others(others)),
    )
    parts: list[RenderableType] = list(_title(group))
    for title, body in sections:
        lines = list(body)
        if lines:
            parts += [Text(f"\n{title}", style="bold"), *lines]
    return to_text(parts, width=max(width, NARROWEST), color=color)


def _title(group: Group) -> Iterator[RenderableType]:
    m = group.result.measurement
    yield Text(names.short(m.demangled or m.name, 100), style="bold")
    if m.demangled and m.demangled != m.name:
        yield Text(names.middle(names.printable(m.demangled), _SIGNATURE), style="dim")
    where = m.device.name or "unknown GPU"
    yield Text(
        f"{sentences.plural(len(group.launches), 'launch')}, grid {names.dims(m.grid)}, "
        f"block {names.dims(m.block)}, on {where}"
    )
    spread = (
        f", {numbers.duration(group.min_s)} to {numbers.duration(group.max_s)} each"
        if len(group.launches) > 1
        else ""
    )
    yield Text(
        f"{numbers.duration(group.total_s)} under the profiler{spread}, "
        f"{numbers.share(group.share)} of the time profiled"
    )
    if len(group.launches) > 1:
        counts = ", ".join(f"{bound_} {count}" for bound_, count in group.bounds.items())
        yield Text(f"Numbers below are sums over the launches. Judged one by one: {counts}")


def _claim(v: Verdict) -> Iterator[RenderableType]:
    limited = sentences.limited_by(v)
    head = bound(v.bound) + Text(f": {limited}" if limited else "")
    head += Text(", co-limited" if v.co_limited else "") + Text(f" (confidence {v.confidence})")
    yield _text(head)
    cause = None if v.cause_text is None or v.cause_text in v.claim else v.cause_text
    yield from _lines([v.claim, cause, v.context])


def _rule(v: Verdict, m: Measurement, threshold: float, balance: float) -> str:
    """How the thresholds lead from the percentages to the word."""
    nearest = next((use for use in m.units if use.unit == v.nearest), None)
    if nearest is None:
        return (
            "The busiest unit decides. No unit's utilisation was measured, so nothing is claimed."
        )
    busiest = f"The busiest unit decides: {names.unit(nearest.unit)} at {_percent(nearest.percent)}"
    if v.bound is Bound.LATENCY:
        return f"{busiest} is under {threshold:g} % (--latency-threshold): latency."
    rival = max((u for u in m.units if u.family != nearest.family), key=_use, default=None)
    text = f"{busiest}, not under {threshold:g} % (--latency-threshold), is {nearest.family}"
    if rival is None:
        return f"{text}; nothing of the other family was measured."
    near = "within" if v.co_limited else "not within"
    return (
        f"{text}. The busiest of {rival.family}, {names.unit(rival.unit)} at "
        f"{_percent(rival.percent)}, is {near} {balance:g} points of it (--balance)."
    )


def _units(m: Measurement) -> Iterator[RenderableType]:
    if not m.units:
        return
    table = _grid(5)
    ranked = sorted(m.units, key=_use, reverse=True)
    for use in (u for u in ranked if u.percent >= _IDLE):
        table.add_row(
            names.unit(use.unit),
            Text(bar(use.percent, _BAR), style="cyan"),
            Text(_percent(use.percent), justify="right"),
            str(use.family),
            Text(names.printable(use.metric).removesuffix(_ELAPSED), style="dim"),
        )
    if table.row_count:
        yield _indented(table)
    idle = ", ".join(names.unit(u.unit) for u in ranked if u.percent < _IDLE)
    yield from _lines([f"under {_IDLE} %: {idle}" if idle else None])


def _numbers(m: Measurement) -> Iterator[RenderableType]:
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


def _peaks(result: Result) -> Iterator[RenderableType]:
    kinds = result.peaks.of_kind()
    table = _grid(len(kinds) + 3)
    heads = ("", *(p.kind for p in kinds), "reached", "the report's comes from")
    table.add_row(*(Text(head, style="bold") for head in heads))
    how = result.peaks.report.how
    for level in ("dram", "l2", "l1"):
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
        yield _bullet(f"{peaks.kind}: {names.printable(peaks.source)}")
    v = result.verdict
    if v.ridge is not None and v.dominant:
        side = f"; this kernel is on the {v.ridge_side} side" if v.ridge_side else ""
        unit = names.operation_unit(v.dominant)
        yield _bullet(
            f"ridge for {names.operation(v.dominant)}: {numbers.plain(v.ridge)} {unit}/B{side}"
        )


def _stalls(m: Measurement) -> Iterator[RenderableType]:
    if not m.stalls:
        return
    table = _grid(2)
    for stall in m.stalls[:_STALLS]:
        table.add_row(names.words(stall.reason), Text(numbers.share(stall.share), justify="right"))
    yield _indented(table)


def _try(result: Result) -> Iterator[RenderableType]:
    v = result.verdict
    steps = v.try_first or ((v.hint,) if v.hint else ())
    for place, step in enumerate(steps, 1):
        yield hanging(f"{place}. ", step, indent=_INDENT)


def _sure(v: Verdict) -> Iterator[RenderableType]:
    yield _text(f"{v.confidence}" + (", because" if v.confidence_reasons else ""))
    yield from _bullets(v.confidence_reasons)


def _gaps(result: Result) -> Iterator[RenderableType]:
    for missing in summary.missing_of(result):
        yield _bullet(f"{names.quantity(missing.quantity)}: collect with {missing.flag}")


def _others(others: Sequence[Group]) -> Iterator[RenderableType]:
    for group in others:
        m = group.result.measurement
        yield _bullet(
            f"{names.short(m.demangled or m.name, 70)}  {sentences.geometry(m)}  "
            f"{numbers.duration(group.total_s)}"
        )


# --- pieces -----------------------------------------------------------------------------------


def _use(use: object) -> float:
    return getattr(use, "percent", 0.0)


def _percent(value: float) -> str:
    return numbers.percent(value, places=1)


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
    return Padding(table, (0, 0, 0, _INDENT))


def _text(text: str | Text) -> RenderableType:
    return hanging("", text, indent=_INDENT)


def _lines(texts: Sequence[str | None]) -> Iterator[RenderableType]:
    for text in texts:
        if text:
            yield _text(text)


def _bullet(text: str) -> RenderableType:
    return hanging("- ", text, indent=_INDENT)


def _bullets(texts: Sequence[str]) -> Iterator[RenderableType]:
    for text in texts:
        yield _bullet(names.printable(text))
