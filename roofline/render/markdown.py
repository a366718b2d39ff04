"""Markdown for GitHub: a short table for a pull request, of kernels and numbers only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from roofline.model import Analysis, Result
from roofline.render import sentences
from roofline.render.flat import Row, rows
from roofline.render.summary import busiest
from roofline.text import names, numbers
from roofline.text import verdict as said
from roofline.view import Chosen, chosen

ROWS = 10  # more than that nobody reads in a pull request
_HEADER = ("#", "kernel", "count", "time", "share", "limited by", "busiest units", "FLOP/B", "sure")
_ALIGN = ("--:", "---", "--:", "--:", "--:", "---", "---", "--:", "---")
_SPECIAL = str.maketrans({c: f"\\{c}" for c in "\\`*_{}[]<>|#"})


def render(
    view: Analysis | Chosen, *, launches: bool = False, limit: int | None = ROWS, hints: int = 3
) -> str:
    """The kernels of ``view`` (or its launches) as Markdown, at most ``limit`` rows."""
    part = chosen(view)
    all_rows = list(rows(part, launches=launches))
    shown = all_rows[:limit]
    noun = "launch" if launches else "kernel"
    lines = [f"{escaped(line)}  " for line in sentences.head(part)]
    lines += ["", *table(shown)] if shown else ["", "Nothing matches."]
    if len(all_rows) > len(shown):
        lines += ["", f"... and {sentences.plural(len(all_rows) - len(shown), noun)} more"]
    lines += _hints(shown[:hints])
    lines += ["", f"<sub>{sentences.UNDER_PROFILER}</sub>"]
    footnotes = list(sentences.footnotes(part, [row.result for row in shown]))
    lines += ["", *(f"- {escaped(line)}" for line in footnotes)] if footnotes else []
    return "\n".join(lines) + "\n"


def table(shown: Sequence[Row]) -> Iterator[str]:
    """The lines of a pipe table."""
    yield _line(_HEADER)
    yield _line(_ALIGN)
    texts = names.short_all(
        [r.result.measurement.demangled or r.result.measurement.name for r in shown], 60
    )
    for rank, (row, name) in enumerate(zip(shown, texts, strict=True), 1):
        yield _line(_cells(rank, name, row))


def escaped(text: str) -> str:
    """``text`` without anything that Markdown or HTML would act on."""
    return names.printable(text).translate(_SPECIAL)


def code(text: str) -> str:
    """``text`` in backticks, fit for a table cell."""
    return "`" + names.printable(text).replace("`", "'").replace("|", "\\|") + "`"


def _cells(rank: int, name: str, row: Row) -> tuple[str, ...]:
    m, v = row.result.measurement, row.result.verdict
    limited = sentences.limited_by(v)
    near = ", co-limited" if v.co_limited else ""
    return (
        str(rank),
        code(name),
        str(len(row.group.launches)) if row.group else f"\\#{m.index}",
        numbers.duration(row.group.total_s if row.group else m.duration_s),
        numbers.share(row.share),
        f"**{v.bound}**" + (f": {escaped(limited)}" if limited else "") + near,
        _units(row.result),
        numbers.plain(m.arithmetic_intensity),
        str(v.confidence),
    )


def _units(result: Result) -> str:
    shown = busiest(result)[:3]
    return ", ".join(f"{names.unit(use.unit)} {numbers.percent(use.percent)}" for use in shown)


def _hints(shown: Sequence[Row]) -> Iterator[str]:
    if shown:
        yield ""
    for rank, row in enumerate(shown, 1):
        hint, most = said.hint(row.result), sentences.bounds(row.result)
        yield f"{rank}. {escaped(hint)}" + (f" ({escaped(most)})" if most else "")


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
