"""The ranked table for the terminal: what limits each kernel, how certainly, and what to try."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rich.console import RenderableType
from rich.table import Column
from rich.text import Text

from roofline.model import Analysis, Bound
from roofline.render import overview
from roofline.text import console, names, numbers
from roofline.text import verdict as said
from roofline.text.console import CONFIDENCE_STYLES, NARROWEST, hanging
from roofline.view import Chosen, Row, chosen

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
    confidence: int  # its column; 0 where it stands below the intensity
    rates: bool  # achieved bytes and operations per second
    part: Chosen
    launches: bool


@dataclass(frozen=True, slots=True)
class _Line:
    """A row with its name, short enough for its column and longer for a sentence."""

    rank: int
    name: str
    full: str
    row: Row


@dataclass(frozen=True, slots=True)
class _Column:
    """Two lines a row: ``cell`` gives both."""

    title: str
    width: int
    cell: Callable[[_Line], Text]
    justify: Literal["left", "right"] = "left"


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
    rows = list(part.rows(launches=launches))
    shown = rows[:limit]
    parts = _parts(part, shown, left_out=len(rows) - len(shown), width=width, launches=launches)
    return console.to_text(parts, width=width, color=color)


def _parts(
    part: Chosen, shown: Sequence[Row], *, left_out: int, width: int, launches: bool
) -> Iterator[RenderableType]:
    for i, sentence in enumerate(overview.head(part)):
        yield Text(sentence, style="bold" if i == 0 else "")
    yield Text()
    if answer := overview.answer(part):
        yield Text(answer, style="bold")
        yield Text()
    if not shown:
        yield Text("Nothing matches.")
        return
    layout = _layout(width, len(shown), part, launches=launches)
    called = [row.name for row in shown]
    texts, longer = (names.short_all(called, letters) for letters in (layout.kernel, _SENTENCE))
    lines = [_Line(i + 1, texts[i], longer[i], row) for i, row in enumerate(shown)]
    columns = _columns(layout)
    table = console.table(
        *(Column(Text(c.title), width=c.width, justify=c.justify) for c in columns),
        gap=layout.gap,
    )
    for line in lines:
        table.add_row(*(column.cell(line) for column in columns))
    yield table
    if left_out:
        more = numbers.plural(left_out, "launch" if launches else "kernel")
        yield Text(f"... and {more} more: --top N shows N", style="dim")
    yield from _hints(lines[:HINTS])
    yield Text()
    if any(row.result.verdict.co_limited for row in shown):
        yield hanging("* ", "co-limited: a second unit is about as near")
    yield Text(overview.under_profiler(part), style="dim")
    for footnote in overview.footnotes(part, [row.result for row in shown]):
        yield hanging("- ", footnote)


# --- columns ----------------------------------------------------------------------------------


def _layout(width: int, rows_shown: int, part: Chosen, *, launches: bool) -> _Layout:
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
        confidence=(10 if width >= 110 else 6) if wide else 0,
        rates=broad,
        part=part,
        launches=launches,
    )
    columns = _columns(layout)  # of which the one for the name takes nothing yet
    kernel = width - sum(c.width for c in columns) - layout.gap * (len(columns) - 1)
    return replace(layout, kernel=min(max(kernel, 12), 72))


def _columns(layout: _Layout) -> list[_Column]:
    head = "launch\nindex" if layout.launches else "kernel\ncount"
    titles = ("busiest units\n% of peak", *[""] * (layout.stacks - 1))
    columns = [
        _Column("#", layout.rank, lambda line: Text(str(line.rank)), "right"),
        _Column(f"{head} grid / block", layout.kernel, lambda line: _kernel(line, layout)),
        _Column("time\nshare", 8, _time, "right"),
        _Column("limited by", layout.limited, _limited),
        *(
            _Column(title, layout.unit + layout.bar + 7, _units(layout, 2 * i))
            for i, title in enumerate(titles)
        ),
    ]
    if layout.confidence:
        columns.append(_Column("AI\nFLOP/B", 8, _intensity, "right"))
    else:
        columns.append(_Column("FLOP/B\nconf.", 6, _intensity_and_confidence, "right"))
    if layout.rates:
        columns.append(_Column("DRAM\noperations", 12, _rates, "right"))
    if layout.confidence:
        title = "confidence" if layout.confidence >= 10 else "conf."
        columns.append(_Column(title, layout.confidence, _confidence))
    return columns


def _kernel(line: _Line, layout: _Layout) -> Text:
    m, group = line.row.result.measurement, line.row.group
    count = len(group.launches) if group else m.count
    second = f"#{m.index}" if layout.launches else f"{TIMES}{count}"
    second += f"  {names.geometry(m)}"
    if len(second) > layout.kernel:
        second = second.replace(" / ", "/")
    if layout.part.many_gpus and m.device.index is not None:
        second += f"  GPU {m.device.index}"
    if layout.part.many_files or (layout.launches and len(layout.part.analysis.sources) > 1):
        second += f"  {names.last_part(m.source)}"
    return Text(line.name) + Text(f"\n{names.cut(second, layout.kernel)}", style="dim")


def _time(line: _Line) -> Text:
    return Text(f"{numbers.duration(line.row.time_s)}\n{numbers.share(line.row.share)}")


def _limited(line: _Line) -> Text:
    v = line.row.result.verdict
    second = said.limited_by(v) + (" *" if v.co_limited else "")
    style = "dim" if v.bound is Bound.UNKNOWN else ""
    return console.bound(v.bound) + Text(f"\n{second}", style=style)


def _units(layout: _Layout, first: int) -> Callable[[_Line], Text]:
    """Two of the units from the busiest on, below each other, with bars."""

    def cell(line: _Line) -> Text:
        texts = []
        for use in line.row.busiest[first : first + 2]:
            name = names.unit(use.unit)
            if len(name) > layout.unit:
                name = name.removesuffix(" pipe").removesuffix(" slots")
                name = names.middle(name, layout.unit)
            bar = (console.bar(use.percent, layout.bar), "cyan")
            percent = f" {numbers.percent(use.percent):>5}"
            texts.append(Text.assemble(name.ljust(layout.unit + 1), bar, percent))
        return Text("\n").join(texts)

    return cell


def _intensity(line: _Line) -> Text:
    intensity = line.row.result.measurement.arithmetic_intensity
    side = line.row.result.verdict.ridge_side if intensity is not None else None
    return Text(numbers.plain(intensity)) + Text(f"\n{side or ''}", style="dim")


def _intensity_and_confidence(line: _Line) -> Text:
    intensity = line.row.result.measurement.arithmetic_intensity
    return Text(f"{numbers.plain(intensity)}\n") + _confidence(line)


def _rates(line: _Line) -> Text:
    m, key = line.row.result.measurement, line.row.result.verdict.dominant
    rate = numbers.rate(m.operations_per_s, names.operation_unit(key))
    if (integers := m.integers_per_s()) and line.row.result.verdict.bound is not Bound.BANDWIDTH:
        rate = numbers.rate(integers, "OP")
    return Text(f"{numbers.bandwidth(m.dram_bytes_per_s)}\n{rate}")


def _confidence(line: _Line) -> Text:
    confidence = line.row.result.verdict.confidence
    return Text(str(confidence), style=CONFIDENCE_STYLES[confidence])


# --- below the table --------------------------------------------------------------------------


def _hints(lines: Sequence[_Line]) -> Iterator[RenderableType]:
    """The hints of rows; one that several share is given once."""
    shared: dict[str, list[_Line]] = {}
    for line in lines:
        shared.setdefault(said.hint(line.row.result), []).append(line)
    yield Text("\nWhere to start", style="bold")
    ranks = {hint: ", ".join(str(line.rank) for line in same) for hint, same in shared.items()}
    lead = max(map(len, ranks.values())) + 2
    for hint, same in shared.items():
        called = ", ".join(dict.fromkeys(line.full for line in same))
        yield hanging(f"{ranks[hint]:>{lead}}  ", Text(f"{called}: ", style="bold") + Text(hint))
        for line in same:
            which = f"#{line.rank}: " if len(same) > 1 else ""
            if most := said.bounds(line.row.result):
                yield hanging("", Text(f"{which}{most}", style="dim"), indent=lead + 2)
