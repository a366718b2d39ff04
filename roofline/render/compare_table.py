"""A comparison for the terminal: a line a kernel, then a sentence of cause for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from roofline.compare.model import Comparison, Level, Outcome, Pair
from roofline.render import compare_words
from roofline.text import names, numbers
from roofline.text.console import NARROWEST, hanging, to_text

ROWS = 10
_STYLES = {Outcome.FASTER: "bright_blue", Outcome.SLOWER: "yellow", Outcome.UNKNOWN: "dim"}
_LEVELS = {Level.REFUSAL: "bold yellow", Level.WARNING: "yellow", Level.INFO: "dim"}
# Columns besides the name, with their gaps; narrow terminals do without bytes and operations.
_WIDE, _NARROW = 74, 58


def render(
    comparison: Comparison, *, width: int = 120, color: bool = False, limit: int | None = ROWS
) -> str:
    """``comparison`` as text of at most ``width`` columns and ``limit`` pairs."""
    width = max(width, NARROWEST)
    return to_text(_parts(comparison, width, limit), width=width, color=color)


def _parts(comparison: Comparison, width: int, limit: int | None) -> Iterator[RenderableType]:
    yield Text(compare_words.title(comparison), style="bold")
    yield Text(compare_words.totals(comparison))
    for check in comparison.checks:
        yield hanging(f"{check.level}: ", Text(check.text, style=_LEVELS[check.level]))
    yield Text()
    shown = comparison.pairs[:limit]
    yield _table(shown, width)
    yield Text()
    for rank, pair in enumerate(shown, 1):
        yield from _explained(rank, pair)
    if len(comparison.pairs) > len(shown):
        yield Text(f"... and {len(comparison.pairs) - len(shown)} more: --top N shows N")
    for line in (*compare_words.unpaired(comparison), *compare_words.extras(comparison)):
        yield hanging("", line)
    for gate in comparison.gates:
        style = "" if gate.status == "passed" else "bold yellow"
        yield hanging("gate: ", Text(compare_words.gate(gate), style=style))
    yield Text(compare_words.FOOT, style="dim")


def _table(pairs: Sequence[Pair], width: int) -> Table:
    wide = width >= 100
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    room = max(width - (_WIDE if wide else _NARROW) - 4, 12)
    table.add_column("#", justify="right")
    table.add_column("kernel", width=room, overflow="ellipsis", no_wrap=True)
    for title in ("before", "after"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("change", no_wrap=True)
    if wide:
        table.add_column("bytes", justify="right")
        table.add_column("ops", justify="right")
    table.add_column("limited by", overflow="fold")
    shorts = names.short_all((p.after.demangled for p in pairs), room)
    for rank, (pair, name) in enumerate(zip(pairs, shorts, strict=True), 1):
        table.add_row(*_row(rank, name, pair, wide=wide))
    return table


def _row(rank: int, name: str, pair: Pair, *, wide: bool) -> list[str | Text]:
    one, other = pair.before, pair.after
    old, new = compare_words.limit(one), compare_words.limit(other)
    cells: list[str | Text] = [
        str(rank),
        Text(name),
        numbers.duration(one.duration_s),
        numbers.duration(other.duration_s),
        Text(compare_words.change(pair), style=_STYLES.get(pair.outcome, "")),
    ]
    if wide:
        cells += [
            compare_words.ratio(one.dram_bytes, other.dram_bytes),
            compare_words.ratio(one.total_operations, other.total_operations),
        ]
    return [*cells, Text(old if old == new else f"{old} -> {new}")]


def _explained(rank: int, pair: Pair) -> Iterator[RenderableType]:
    yield hanging(f"{rank}. ", Text(pair.sentence))
    for line in compare_words.details(pair):
        yield hanging("- ", Text(line, style="dim"), indent=3)
