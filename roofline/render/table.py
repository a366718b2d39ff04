"""The ranked table for the terminal: what limits each kernel, how sure that is, what to try."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from roofline.model import Analysis, Bound, UnitUse
from roofline.render import sentences
from roofline.render.flat import Row, rows
from roofline.render.summary import busiest
from roofline.text import names, numbers
from roofline.text import verdict as said
from roofline.text.console import CONFIDENCE_STYLES, NARROWEST, bar, bound, hanging, to_text
from roofline.view import Chosen, chosen

ROWS = 20  # shown where the caller does not say how many
TIMES = "\N{MULTIPLICATION SIGN}"
HINTS = 3  # kernels that get a hint line
_SENTENCE = 60  # letters of a name in a hint


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """All that depends on the width: letters for names and bars, and which columns there are."""

    rank: int
    kernel: int
    limited: int
    unit: int
    bar: int
    stacks: int  # pairs of units beside each other
    gap: int  # between columns
    sure: bool  # confidence has a column of its own
    rates: bool  # achieved bytes and operations per second
    many_sources: bool
    launches: bool


@dataclass(frozen=True, slots=True)
class _Column:
    """Two lines a row: ``cell`` gives both."""

    title: str
    width: int
    cell: Callable[[_Line, _Layout], Text]
    justify: Literal["left", "right"] = "left"


@dataclass(frozen=True, slots=True)
class _Line:
    """A row with its name, short enough for its column and longer for a sentence."""

    rank: int
    name: str
    full: str
    row: Row


def render(
    view: Analysis | Chosen,
    *,
    launches: bool = False,
    width: int = 120,
    color: bool = False,
    limit: int | None = ROWS,
) -> str:
    """The kernels of ``view`` (or its launches) as a table of at most ``limit`` rows.

    ``limit`` of ``None`` is all of them; hints are given for the first few.
    """
    part = chosen(view)
    width = max(width, NARROWEST)
    all_rows = list(rows(part, launches=launches))
    shown = all_rows[:limit]
    parts = _parts(part, shown, left_out=len(all_rows) - len(shown), width=width, launches=launches)
    return to_text(parts, width=width, color=color)


def _parts(
    part: Chosen, shown: Sequence[Row], *, left_out: int, width: int, launches: bool
) -> Iterator[RenderableType]:
    for i, sentence in enumerate(sentences.head(part)):
        yield Text(sentence, style="bold" if i == 0 else "")
    yield Text()
    if not shown:
        yield Text("Nothing matches.")
        return
    many_sources = len(part.analysis.sources) > 1
    layout = _layout(width, len(shown), many_sources=many_sources, launches=launches)
    called = [row.result.measurement.demangled or row.result.measurement.name for row in shown]
    texts, longer = (names.short_all(called, letters) for letters in (layout.kernel, _SENTENCE))
    lines = [_Line(i + 1, texts[i], longer[i], row) for i, row in enumerate(shown)]
    yield _table(lines, layout)
    if left_out:
        what = "launch" if launches else "kernel"
        yield Text(f"... and {sentences.plural(left_out, what)} more: --top N shows N", style="dim")
    yield from _hints(lines)
    yield from _footnotes(part, shown)


def _table(lines: Sequence[_Line], layout: _Layout) -> Table:
    table = Table(box=None, padding=(0, layout.gap, 0, 0), pad_edge=False, header_style="bold")
    columns = _columns(layout)
    for column in columns:
        table.add_column(
            Text(column.title), width=column.width, justify=column.justify, overflow="ellipsis"
        )
    for line in lines:
        table.add_row(*(column.cell(line, layout) for column in columns))
    return table


# --- columns ----------------------------------------------------------------------------------


def _layout(width: int, rows_shown: int, *, many_sources: bool, launches: bool) -> _Layout:
    """The widest layout that leaves enough for kernel names."""
    wide, broad, narrow = width >= 96, width >= 140, width < 78
    layout = _Layout(
        rank=len(str(rows_shown)) + 1,
        kernel=0,
        # Longer causes take two lines.
        limited=(21 if width >= 110 else 16) if wide else 11 if narrow else 14,
        unit=(12 if broad else 11) if wide else 7 if narrow else 9,
        bar=(8 if width >= 110 else 6) if wide else 0 if narrow else 4,
        stacks=2 if broad else 1,
        gap=1 if narrow else 2,
        sure=wide,
        rates=broad,
        many_sources=many_sources,
        launches=launches,
    )
    others = [c.width for c in _columns(layout) if c.cell is not _kernel]
    kernel = width - sum(others) - layout.gap * len(others)
    return replace(layout, kernel=min(max(kernel, 12), 72))


def _columns(layout: _Layout) -> list[_Column]:
    units_width = layout.unit + layout.bar + 7
    what = "launch" if layout.launches else "kernel"
    second = "index grid / block" if layout.launches else "count grid / block"
    intensity = "FLOP/B" if layout.sure else "FLOP/B\nsure"
    columns = [
        _Column("#", layout.rank, _rank, "right"),
        _Column(f"{what}\n{second}", layout.kernel, _kernel),
        _Column("time\nshare", 8, _time, "right"),
        _Column("limited by", layout.limited, _limited),
        _Column("busiest units\n% of peak", units_width, _first_units),
    ]
    if layout.stacks > 1:
        columns.append(_Column("", units_width, _next_units))
    columns.append(_Column(intensity, 8 if layout.sure else 6, _intensity, "right"))
    if layout.rates:
        columns.append(_Column("DRAM\noperations", 12, _rates, "right"))
    if layout.sure:
        columns.append(_Column("sure", 6, _sure))
    return columns


def _rank(line: _Line, _layout: _Layout) -> Text:
    return Text(str(line.rank))


def _kernel(line: _Line, layout: _Layout) -> Text:
    m = line.row.result.measurement
    count = len(line.row.group.launches) if line.row.group else m.count
    first = f"#{m.index}" if layout.launches else f"{TIMES}{count}"
    second = f"{first}  {sentences.geometry(m)}"
    if len(second) > layout.kernel:
        second = second.replace(" / ", "/")
    if layout.launches and layout.many_sources:
        second += f"  {names.last_part(m.source)}"
    second = names.cut(second, layout.kernel)
    return Text(line.name) + Text(f"\n{second}", style="dim")


def _time(line: _Line, _layout: _Layout) -> Text:
    row = line.row
    time_s = row.group.total_s if row.group else row.result.measurement.duration_s
    return Text(f"{numbers.duration(time_s)}\n{numbers.share(row.share)}")


def _limited(line: _Line, _layout: _Layout) -> Text:
    v = line.row.result.verdict
    second = sentences.limited_by(v)
    if v.co_limited:
        second += " *"
    return bound(v.bound) + Text(f"\n{second}", style="dim" if v.bound is Bound.UNKNOWN else "")


def _first_units(line: _Line, layout: _Layout) -> Text:
    return _units(line, layout, 0)


def _next_units(line: _Line, layout: _Layout) -> Text:
    return _units(line, layout, 2)


def _units(line: _Line, layout: _Layout, first: int) -> Text:
    shown = busiest(line.row.result)[first : first + 2]
    return Text("\n").join(_unit(use, layout) for use in shown)


def _unit(use: UnitUse, layout: _Layout) -> Text:
    name = names.unit(use.unit)
    if len(name) > layout.unit:
        name = names.middle(name.removesuffix(" pipe").removesuffix(" slots"), layout.unit)
    percent = numbers.percent(use.percent)
    return Text.assemble(
        name.ljust(layout.unit + 1), (bar(use.percent, layout.bar), "cyan"), f" {percent:>5}"
    )


def _intensity(line: _Line, layout: _Layout) -> Text:
    intensity = line.row.result.measurement.arithmetic_intensity
    text = numbers.plain(intensity)
    if layout.sure:
        side = line.row.result.verdict.ridge_side if intensity is not None else None
        return Text(text) + Text(f"\n{side or ''}", style="dim")
    return Text(f"{text}\n") + _sure(line, layout)


def _rates(line: _Line, _layout: _Layout) -> Text:
    m, key = line.row.result.measurement, line.row.result.verdict.dominant
    return Text(
        f"{numbers.bandwidth(m.dram_bytes_per_s)}\n"
        f"{numbers.rate(m.operations_per_s, names.operation_unit(key))}"
    )


def _sure(line: _Line, _layout: _Layout) -> Text:
    confidence = line.row.result.verdict.confidence
    return Text(str(confidence), style=CONFIDENCE_STYLES[confidence])


# --- below the table --------------------------------------------------------------------------


def _hints(lines: Sequence[_Line]) -> Iterator[RenderableType]:
    """The hints of the top rows; one that several share is given once."""
    shared: dict[str, list[_Line]] = {}
    for line in lines[:HINTS]:
        shared.setdefault(said.hint(line.row.result), []).append(line)
    if shared:
        yield Text("\nWhere to start", style="bold")
    ranks = {hint: ", ".join(str(line.rank) for line in same) for hint, same in shared.items()}
    lead = max(map(len, ranks.values()), default=0) + 2
    for hint, same in shared.items():
        called = ", ".join(dict.fromkeys(line.full for line in same))
        yield hanging(f"{ranks[hint]:>{lead}}  ", Text(f"{called}: ", style="bold") + Text(hint))
        for line in same:
            most = sentences.bounds(line.row.result)
            which = f"#{line.rank}: " if len(same) > 1 else ""
            if most:
                yield hanging("", Text(f"{which}{most}", style="dim"), indent=lead + 2)


def _footnotes(part: Chosen, shown: Sequence[Row]) -> Iterator[RenderableType]:
    results = [row.result for row in shown]
    yield Text()
    if any(r.verdict.co_limited for r in results):
        yield hanging("* ", "co-limited: memory and compute are about equally near")
    yield Text(sentences.UNDER_PROFILER, style="dim")
    for footnote in sentences.footnotes(part, results):
        yield hanging("- ", footnote)
