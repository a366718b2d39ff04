"""Markdown for GitHub: a short table for a pull request, of kernels and numbers only."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from roofline.foreign import shown
from roofline.model import Analysis
from roofline.render import overview
from roofline.text import names, numbers
from roofline.text import verdict as said
from roofline.view import Chosen, Row, chosen

ROWS = 10  # more than that nobody reads in a pull request
NAME = 60  # letters of a kernel's name
_SPECIAL = str.maketrans({c: f"\\{c}" for c in "\\`*_{}[]<>|#~&"} | {"$": "<span>$</span>"})
# What GitHub makes links of (mentions, numbers, addresses), and marks at a line's beginning.
_LINKS = re.compile(r"@(?=\w)|#(?=\d)|(?i:\bGH-|\bwww(?=\.)|:(?=//)|\bmailto:|\bxmpp:)")
_MARKS = re.compile(r"^(\d+(?=[.)](?:\s|$))|(?=[-+]\s|(?:--+|=+)\s*$))")
_TITLES = (
    *("-#", "kernel", "-count", "-time", "-share", "limited by", "busiest units"),
    *("-AI (FLOP/B)", "confidence"),
)


def escaped(text: str) -> str:
    """``text`` without anything that Markdown or HTML would act on."""
    safe = _LINKS.sub(r"\g<0><!-- -->", shown(names.printable(text)).translate(_SPECIAL))
    return _MARKS.sub(r"\1\\", safe)


def code(text: str) -> str:
    """``text`` in backticks, fit for a table cell."""
    plain = shown(names.printable(text)).strip() or "-"
    return "`" + plain.replace("`", "'").replace("|", "\\|") + "`"


def table(titles: Iterable[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of a pipe table; a column whose title begins with "-" is aligned right."""
    titles = list(titles)
    aligned = ["--:" if title.startswith("-") else "---" for title in titles]
    for cells in ([title.removeprefix("-") for title in titles], aligned, *rows):
        yield f"| {' | '.join(cells)} |"


def bullets(texts: Iterable[str]) -> list[str]:
    """The lines of a list, after an empty one; nothing where there are no texts."""
    listed = [f"- {escaped(text)}" for text in texts]
    return ["", *listed] if listed else []


def render(
    view: Analysis | Chosen, *, launches: bool = False, limit: int | None = ROWS, hints: int = 3
) -> str:
    """The kernels of ``view`` (or its launches) as Markdown, at most ``limit`` rows."""
    part = chosen(view)
    rows = list(part.rows(launches=launches))
    shown = rows[:limit]
    called = names.short_all((row.name for row in shown), NAME)
    cells = map(_cells, range(1, len(shown) + 1), called, shown)
    answer = overview.answer(part)
    lines = [f"**{escaped(answer)}**", ""] if answer else []
    lines += [f"{escaped(line)}  " for line in overview.head(part)]
    lines += ["", *(table(_TITLES, cells) if shown else ["Nothing matches."])]
    if left_out := len(rows) - len(shown):
        more = numbers.plural(left_out, "launch" if launches else "kernel")
        lines += ["", f"... and {more} more"]
    lines += ["", *_hints(shown[:hints])] if shown else []
    lines += ["", f"<sub>{overview.under_profiler(part)}</sub>"]
    lines += bullets(overview.footnotes(part, [row.result for row in shown]))
    return "\n".join(lines) + "\n"


def _cells(rank: int, name: str, row: Row) -> tuple[str, ...]:
    m, v = row.result.measurement, row.result.verdict
    limited = said.limited_by(v)
    busiest = (f"{names.unit(use.unit)} {numbers.percent(use.percent)}" for use in row.busiest[:3])
    return (
        str(rank),
        code(name),
        str(len(row.group.launches)) if row.group else f"\\#{m.index}",
        numbers.duration(row.time_s),
        numbers.share(row.share),
        f"**{v.bound}**"
        + (f": {escaped(limited)}" if limited else "")
        + (", co-limited" if v.co_limited else ""),
        ", ".join(busiest),
        numbers.plain(m.arithmetic_intensity),
        str(v.confidence),
    )


def _hints(shown: Sequence[Row]) -> Iterator[str]:
    for rank, row in enumerate(shown, 1):
        hint, most = said.hint(row.result), said.bounds(row.result)
        yield f"{rank}. {escaped(hint)}" + (f" ({escaped(most)})" if most else "")
