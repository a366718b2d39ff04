"""The first screen in a terminal: what limits each kernel, why, what to try, what it can save."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from rich.console import RenderableType
from rich.text import Text

from roofline.model import Action, Analysis, Bound, Confidence
from roofline.render import overview
from roofline.text import console, names, numbers
from roofline.text import verdict as said
from roofline.text.console import BOUND_STYLES, NARROWEST, hanging
from roofline.view import Chosen, Row, beyond, chosen, less_work, promise

ROWS = 20  # shown where the caller does not say how many
TRIED = 3  # rows that get why, try and gain
_BESIDE = 56  # columns for name and cause, below which the cause has a line of its own
BROAD = 140  # columns from which more is shown
_READ = 120  # columns beyond which nobody reads sentences
_NAME = 48  # letters of a name in the table, and
_SENTENCE = 60  # below it
_LEAST = 20  # letters of a kernel, before those of files and GPUs, and then gaps, get fewer:
_ROOMS = ((2, 24), (2, 16), (2, 10), (1, 10))
_LARGE = 0.05  # of the time: what waits, and nobody knows what for, is worth a word

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ranked:
    """A row with its name, short enough for its column and longer for a sentence."""

    name: str
    full: str
    row: Row

    @property
    def rank(self) -> int:
        """The number of its kernel, which --explain takes."""
        return self.row.rank


@dataclass(frozen=True, slots=True)
class Cells(Generic[T]):
    """A column of rows: its title, and the text of a row; as wide as its longest cell, or that."""

    title: str
    cell: Callable[[T], str]
    right: bool = False
    style: Callable[[T], str] = lambda _: ""
    width: int | None = None

    def letters(self, rows: Sequence[T]) -> int:
        """How wide it is."""
        return self.width or max(len(self.title), *(len(self.cell(row)) for row in rows))


def render(
    view: Analysis | Chosen,
    *,
    launches: bool = False,
    width: int = 120,
    color: bool = False,
    limit: int | None = ROWS,
) -> str:
    """The kernels of ``view`` (or its launches) as a table of at most ``limit`` rows.

    ``limit`` of ``None`` is all of them; below it the first that can be saved of are told of.
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
    yield from map(console.prose, (*overview.head(part), *overview.next_command(part)))
    yield Text()
    if sentences := list(overview.answers(part)):
        yield from (console.prose(sentence, style="bold") for sentence in sentences)
        yield Text()
    if not shown:
        yield Text("Nothing matches.")
        return
    lines = lines_of(shown, _SENTENCE)
    yield from _table(part, lines, width, launches=launches)
    if left_out:
        more = numbers.plural(left_out, "launch" if launches else "kernel")
        yield Text(f"... and {more} more: --top N shows N", style="dim")
    told = tried(lines)
    if told:
        yield Text("\nTry", style="bold")
        lead = max(len(str(line.rank)) for line in lines)
        for same in told:
            yield from _try(same, lead, min(width, _READ))
    yield Text()
    rank = told[0][0].rank if told else lines[0].rank
    yield Text(f"Evidence: --explain {rank}   picture: --plot roofline.png", style="dim")
    if launches:
        what = "#: the kernel's number, for --explain; launch: its place in the file"
        yield Text(what, style="dim")
    if any(reached(line.row).endswith("?") for line in lines):
        yield Text("? after the per cent: confidence low, --explain says why", style="dim")
    yield Text(overview.under_profiler(part), style="dim")
    for footnote in overview.footnotes(part, [row.result for row in shown]):
        yield hanging("- ", footnote)


def lines_of(shown: Sequence[Row], letters: int) -> list[Ranked]:
    """Rows with their names; those that would look alike show where they differ."""
    called = [row.name for row in shown]
    forms = (names.short_all(called, width) for width in (letters, _SENTENCE))
    return [Ranked(*named) for named in zip(*forms, shown, strict=True)]


# --- the table --------------------------------------------------------------------------------


def _table(
    part: Chosen, lines: list[Ranked], width: int, *, launches: bool
) -> Iterator[RenderableType]:
    """A line a row; where it is narrow the cause goes below it, dim."""
    before: list[Cells[Ranked]] = [Cells("#", lambda line: str(line.rank), right=True)]
    saved = Cells("can save", _saved, right=True, style=lambda _: "bold green")
    # Where names of kernels lack room, files and GPUs get fewer letters.
    for gap, letters in _ROOMS if width >= 78 else _ROOMS[-1:]:
        places = (Cells(title, _of(cell)) for title, cell in where(part, letters))
        after = [*places, *_figures(lines, width, launches=launches)]
        room = width - sum(c.letters(lines) + gap for c in (*before, *after, saved))
        if room >= _LEAST:
            break
    beside = room >= _BESIDE
    share = room * 2 // 5 if beside else room
    share = max(share, 12 if width >= 78 else 8)
    all_ = [line.row.name for line in lines]
    called = names.short_all(all_, min(share, _NAME))
    counts = [_times(line.row) for line in lines]
    letters = max(map(len, map("".join, zip(called, counts, strict=True))))
    letters = max(min(letters, share), len("kernel"))
    lines = [
        replace(line, name=names.short_all(all_, max(letters - len(count), 8))[i] + count)
        for i, (line, count) in enumerate(zip(lines, counts, strict=True))
    ]
    before.append(Cells("kernel", lambda line: line.name, width=letters))
    if beside:
        rest = room - letters - gap
        after.append(Cells("why", lambda line: said.why(line.row.result), width=rest))
    columns = [*before, *after, saved]
    below = None if beside else lambda line: said.why(line.row.result)
    yield from laid_out(columns, lines, gap, width, below)


def laid_out(
    columns: Sequence[Cells[T]],
    rows: Sequence[T],
    gap: int,
    width: int,
    below: Callable[[T], str] | None = None,
) -> Iterator[Text]:
    """A line a row under bold titles; what goes ``below`` it is dim."""
    widths = [c.letters(rows) for c in columns]
    yield _row(((c.title, "bold") for c in columns), columns, widths, gap)
    for row in rows:
        yield _row(((c.cell(row), c.style(row)) for c in columns), columns, widths, gap)
        if below is not None and (what := below(row)):
            text = Text(" " * (widths[0] + gap) + what, style="dim")
            text.truncate(width, overflow="ellipsis")
            yield text


def _of(cell: Callable[[Row], str]) -> Callable[[Ranked], str]:
    return lambda line: cell(line.row)


def _row(
    cells: Iterator[tuple[str, str]],
    columns: Sequence[Cells[Any]],
    widths: list[int],
    gap: int,
) -> Text:
    parts = []
    for (cell, style), column, width in zip(cells, columns, widths, strict=True):
        text = Text(names.printable(cell), style=style)
        text.truncate(width, overflow="ellipsis")
        text.align("right" if column.right else "left", width)
        parts.append(text)
    return Text(" " * gap).join(parts)


def where(part: Chosen, letters: int = 24) -> Iterator[tuple[str, Callable[[Row], str]]]:
    """The file and the GPU of a row, where there are several, each in so many letters."""
    if part.many_files:
        short = overview.short_files([s.path for s in part.analysis.sources], letters)
        yield "file", lambda row: short[row.result.measurement.source]
    if part.many_gpus:
        gpu = overview.gpu_name(part)
        yield "GPU", lambda row: names.middle(gpu(row.result).removeprefix("GPU "), letters)


def _figures(lines: list[Ranked], width: int, *, launches: bool) -> Iterator[Cells[Ranked]]:
    if launches:
        yield Cells("launch", lambda line: f"#{line.row.result.measurement.index}", right=True)
    if width >= BROAD and any(line.row.result.measurement.grid for line in lines):
        yield Cells("grid / block", lambda line: names.geometry(line.row.result.measurement))
    yield Cells("time", lambda line: numbers.duration(line.row.time_s), right=True)
    yield Cells("share", lambda line: share(line.row), right=True)
    yield Cells("limited by", lambda line: limiter(line.row), style=_colour)
    yield Cells("", lambda line: reached(line.row), right=True)
    if width >= BROAD:
        if any(line.row.result.verdict.ceiling_percent for line in lines):
            yield Cells("of roof", lambda line: _of_roof(line.row), right=True)
        yield Cells("second unit", lambda line: _second(line.row))


def share(row: Row) -> str:
    """The share of its file and GPU, as short as it can be: "40 %", "7.9 %"."""
    if row.share is not None and 0 < row.share < 0.0995:
        return numbers.share(row.share)
    return numbers.percent(None if row.share is None else 100 * row.share)


def limiter(row: Row) -> str:
    """The unit that limits, else that nothing does or is known to."""
    v = row.result.verdict
    if v.two_roofs:
        return said.limited_by(v)
    return names.unit(v.limiter) if v.limiter else str(v.bound)


def reached(row: Row) -> str:
    """How busy the busiest unit was, with a mark where confidence is low."""
    v = row.result.verdict
    doubt = "?" if v.confidence is Confidence.LOW and v.bound is not Bound.UNKNOWN else ""
    return f"{numbers.percent(v.limiter_percent)}{doubt}"


def _of_roof(row: Row) -> str:
    """The rate of operations, of what the roof allows at the kernel's intensity."""
    return numbers.percent(row.result.verdict.ceiling_percent)


def _colour(line: Ranked) -> str:
    return f"bold {BOUND_STYLES[line.row.result.verdict.bound]}"


def _second(row: Row) -> str:
    uses = row.busiest[1:2]
    return f"{names.unit(uses[0].unit)} {numbers.percent(uses[0].percent)}" if uses else "-"


def _times(row: Row) -> str:
    count = len(row.group.launches) if row.group else 1
    return f" ({count:,}x)" if count > 1 else ""


def _saved(line: Ranked) -> str:
    return numbers.duration(line.row.saved_s)


# --- below the table --------------------------------------------------------------------------


def tried(lines: Sequence[Ranked]) -> list[list[Ranked]]:
    """The rows of which most can be saved; those with the same advice are told of together."""
    most = max((line.row.saved_s or 0.0 for line in lines), default=0.0)

    def worth(row: Row) -> bool:
        if row.saved_s is not None:
            return row.saved_s >= max(0.01 * (row.time_s or 0.0), 0.1 * most)
        open_ = row.result.verdict.action is not Action.LEAVE or less_work(row.result) is not None
        open_ = open_ and bool(said.step(row.result))
        return open_ and (row.share is None or row.share >= _LARGE)

    told: dict[tuple[str, str], list[Ranked]] = {}
    for line in sorted(lines, key=lambda line: promise(line.row.result, line.row.share)):
        if worth(line.row):
            told.setdefault((line.row.name, said.step(line.row.result)), []).append(line)
    return list(told.values())[:TRIED]


def ranks(same: Sequence[Ranked]) -> str:
    """The ranks of rows that are told of together: "1, 4", or "1, 4 and 16 more"."""
    own = [*dict.fromkeys(str(line.rank) for line in same)]  # launches of a kernel share one
    more = f" and {len(own) - 4} more" if len(own) > 4 else ""
    return ", ".join(own[:4]) + more


def saving(row: Row) -> str:
    """What it can save: "saves up to 2.3 ms"; empty where nothing or not known."""
    amount = row.saved_s and numbers.duration(row.saved_s)
    return f"saves {numbers.at_most(amount, beyond=beyond(row.result))}" if amount else ""


def advice(row: Row) -> Iterator[tuple[str, str]]:
    """Why, what to try and what that could give, in a line each."""
    result = row.result
    yield "why", said.why(result)
    yield "try", said.step(result)
    yield "gain", said.gain(result)


def _try(same: Sequence[Ranked], lead: int, width: int) -> Iterator[RenderableType]:
    first = same[0]
    head = Text.assemble((f"{ranks(same):>{lead}}  {first.full}", "bold"))
    if saves := saving(first.row):
        gap = max(width - len(head) - len(saves), 2)
        head.append(" " * gap).append(saves, style="bold green")
    yield head
    for word, text in advice(first.row):
        yield hanging(f"{word:<5} ", text, indent=lead + 2, width=width)
