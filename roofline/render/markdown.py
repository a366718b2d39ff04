"""Markdown for GitHub: a short table for a pull request, of kernels and numbers only."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from roofline.foreign import shown
from roofline.model import Analysis
from roofline.render import overview
from roofline.render import table as screen
from roofline.text import names, numbers
from roofline.text import verdict as said
from roofline.view import Chosen, Row, chosen

ROWS = 10  # more than that nobody reads in a pull request
NAME = 60  # letters of a kernel's name
_SPECIAL = str.maketrans({c: f"\\{c}" for c in "\\`*_{}[]<>|#~&"} | {"$": "<span>$</span>"})
# What GitHub makes links of (mentions, numbers, addresses), and marks at a line's beginning.
_LINKS = re.compile(r"@(?=\w)|#(?=\d)|(?i:\bGH-|\bwww(?=\.)|:(?=//)|\bmailto:|\bxmpp:)")
_MARKS = re.compile(r"^(\d+(?=[.)](?:\s|$))|(?=[-+]\s|(?:--+|=+)\s*$))")
_TITLES = ("-launches", "-time", "-share", "limited by", "why", "-can save")


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


def render(view: Analysis | Chosen, *, launches: bool = False, limit: int | None = ROWS) -> str:
    """The kernels of ``view`` (or its launches) as Markdown, at most ``limit`` rows."""
    part = chosen(view)
    rows = list(part.rows(launches=launches))
    shown = rows[:limit]
    told = screen.lines_of(shown, NAME)
    places = list(screen.where(part))
    titles = ("-#", "kernel", *(title for title, _ in places), *_TITLES)
    cells = (
        (str(x.rank), code(x.name), *(escaped(cell(x.row)) for _, cell in places), *_cells(x.row))
        for x in told
    )
    lines = [
        line for text in overview.answers(part) if text for line in (f"**{escaped(text)}**", "")
    ]
    lines += [f"{escaped(line)}  " for line in overview.head(part)]
    lines += ["", *(table(titles, cells) if shown else ["Nothing matches."])]
    if left_out := len(rows) - len(shown):
        more = numbers.plural(left_out, "launch" if launches else "kernel")
        lines += ["", f"... and {more} more"]
    if tries := screen.tried(told):
        lines += ["", "**Try**", ""]
    for same in tries:
        first = same[0]
        saves = screen.saving(first.row)
        lines += [f"- **{screen.ranks(same)}** {code(first.full)}{saves and f': {saves}'}"]
        lines += [f"  - {word}: {escaped(text)}" for word, text in screen.advice(first.row)]
    lines += ["", f"<sub>{overview.under_profiler(part)}</sub>"]
    lines += bullets(overview.footnotes(part, [row.result for row in shown]))
    return "\n".join(lines) + "\n"


def _cells(row: Row) -> tuple[str, ...]:
    return (
        str(len(row.group.launches)) if row.group else f"\\#{row.result.measurement.index}",
        numbers.duration(row.time_s),
        screen.share(row),
        f"**{escaped(screen.limiter(row))}** {screen.reached(row)}",
        escaped(said.why(row.result)),
        f"**{numbers.duration(row.saved_s)}**" if row.saved_s else "-",
    )
