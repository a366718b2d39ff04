"""How values look in a notebook: tables, cards, pictures and pages, of what renders elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from html import escape, unescape
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roofline.arguments import checked, several, word
from roofline.compare.model import Comparison
from roofline.display import Displayed, short
from roofline.errors import UsageError, in_python
from roofline.files import write_text
from roofline.model import Analysis, Group, Result
from roofline.timeline.model import Selection
from roofline.view import Choice, Chosen, choose, matching, no_kernel

if TYPE_CHECKING:
    from roofline.plot import Options, Picture

ROWS = 10  # of a table
MOST = 60_000  # bytes of HTML: a notebook keeps them, and a review shows them
_HEIGHT = 760  # pixels of a page
_LEFT = "text-align:left"
_WORD, _RIGHT = f"{_LEFT};white-space:nowrap", "text-align:right;white-space:nowrap"
_NAME = 48  # letters of a kernel's name


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Page:
    """A whole HTML page. In a notebook its scripts run in a frame that can reach nothing else."""

    title: str
    html: str

    def __repr__(self) -> str:
        return short(self, title=self.title, **{"len(html)": len(self.html)})

    def _repr_html_(self) -> str:
        frame = f'sandbox="allow-scripts" title="{escape(self.title)}" width="100%"'
        return (
            f'<iframe {frame} height="{_HEIGHT}" style="border:0" '
            f'srcdoc="{escape(self.html)}"></iframe>'
        )

    @checked
    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write it to an .html, whole or not at all; ``force`` overwrites one that exists."""
        file = Path(path)
        if file.suffix.lower() not in (".html", ".htm"):
            what, why = f"cannot write {file}", "a page is a file that ends in .html"
            hint = f"{file.with_suffix('.html')}; .plot() gives a picture"
            raise UsageError(what, why=why, hint=hint)
        write_text(file, self.html, force=force)


def kernel(analysis: Analysis, wanted: str | re.Pattern[str]) -> Group:
    """The kernel with most time that ``wanted`` means, else a ``UsageError``."""
    for found in matching(analysis, wanted) if wanted else ():
        return found
    raise no_kernel(analysis, wanted if isinstance(wanted, str) else wanted.pattern)


@checked
def plot(value: Displayed | Chosen, view: str | Sequence[str] = (), **options: Any) -> Picture:
    """Draw a value: see ``Displayed.plot``."""
    from roofline.plot import picture

    return picture(_drawable(value), _options(view, options))


@checked
def page(value: Displayed | Chosen, view: str | Sequence[str] = (), **options: Any) -> Page:
    """A page about a value: see ``Displayed.page``; a timeline's is its picture over a table."""
    from roofline.plot import page as explored
    from roofline.plot import picture
    from roofline.plot.save import html

    drawn, wanted = _drawable(value), _options(view, options)
    theme = options.get("theme")
    if isinstance(drawn, Selection):
        made = html(picture(drawn, wanted), both_themes=theme is None)
    else:
        made = explored(drawn, wanted, theme=theme)
    title = re.search(r"<title>(.*?)</title>", made, re.DOTALL)
    return Page(title=unescape(title[1]) if title else "", html=made)


def _options(view: str | Sequence[str], given: dict[str, Any]) -> Options:
    """The options of a picture, of arguments in Python."""
    from roofline.plot import Options

    known = [one.name for one in fields(Options) if one.name != "views"]
    for name in given:
        word(known, **{"the option": name})
    levels = several(given.get("levels", ()))
    return Options(**{**given, "views": several(view), "levels": levels})


def bundle(value: Displayed) -> dict[str, str]:
    """Text, and HTML without script: of an analysis the first kernels in a table and a roofline."""
    text = _text(value)
    if not isinstance(value, Analysis):
        style = "font-family:monospace;line-height:1.25;overflow-x:auto"
        pre = f'<pre style="{style}">{escape(text)}</pre>'
        return {"text/plain": text, "text/html": pre}
    told = _table(choose(value, Choice()))
    image = _image(choose(value, Choice(top=ROWS)), MOST - len(told.encode()))
    return {"text/plain": text, "text/html": told + image}


def _drawable(value: Displayed | Chosen) -> Any:
    """A kernel or launch as an analysis of it alone; everything else can be drawn as it is."""
    if not isinstance(value, Group | Result):
        return value
    group = value if isinstance(value, Group) else _alone(value)
    count = len(group.launches)
    whole = Analysis(
        sources=(),
        results=(group.result,) * count,
        groups=(replace(group, launches=tuple(range(count))),),
        rule=group.result.verdict.rule,
    )
    return replace(choose(whole, Choice()), total_s=group.total_s)


def _alone(result: Result) -> Group:
    spent = result.measurement.duration_s
    return Group(
        result=result,
        launches=(0,),
        total_s=spent,
        min_s=spent,
        max_s=spent,
        share=None,
        bounds={result.verdict.bound.value: 1},
    )


def _text(value: Displayed) -> str:
    # Renderers are imported where one is needed.
    if isinstance(value, Comparison):
        from roofline.render import comparison

        lines = comparison.render(value, limit=ROWS).splitlines(keepends=True)
        return "".join(map(in_python, lines))
    if isinstance(value, Selection):
        from roofline.render import selection

        return selection.render(value)
    if isinstance(value, Analysis):
        from roofline.render import table

        return table.render(value, limit=ROWS)
    from roofline.render import explain

    assert isinstance(value, Group | Result)
    return explain.render(value if isinstance(value, Group) else _alone(value))


# --- HTML of an analysis ----------------------------------------------------------------------


def _table(part: Chosen) -> str:
    """The columns of the table for a terminal, under what stands above it."""
    from roofline.plot.style import THEMES
    from roofline.render import overview, table
    from roofline.text import numbers
    from roofline.text import verdict as said

    places = dict(table.where(part))

    def cells(line: table.Ranked) -> Iterator[tuple[str, str]]:
        row = line.row
        yield str(line.rank), _RIGHT
        yield f"<code>{escape(line.name)}</code>", _LEFT
        yield from ((escape(at(row)), _WORD) for at in places.values())
        yield f"{len(row.group.launches) if row.group else 1:,}", _RIGHT
        yield numbers.duration(row.time_s), _RIGHT
        yield table.share(row), _RIGHT
        color = THEMES["light"][row.result.verdict.bound]
        yield f'<b style="color:{color}">{escape(table.limiter(row))}</b>', _WORD
        yield table.reached(row), _RIGHT
        yield escape(said.why(row.result)), f"{_LEFT};min-width:18em"
        yield f"<b>{numbers.duration(row.saved_s)}</b>", _RIGHT

    titles = (*("#", "kernel"), *places, *("launches", "time", "share", "limited by", "", "why"),
              "can save")  # fmt: skip
    rows = list(part.rows(launches=False))
    head = "".join(f'<th style="{_LEFT}">{title}</th>' for title in titles)
    body = ""
    for line in table.lines_of(rows[:ROWS], _NAME):
        told = (f'<td style="{style}">{cell}</td>' for cell, style in cells(line))
        body += f"<tr>{''.join(told)}</tr>\n"
    above = [*map(escape, overview.head(part))]
    above += [f"<b>{escape(answer)}</b>" for answer in overview.answers(part) if answer]
    left = len(rows[ROWS:])
    below = f"... and {left} more; <code>.page()</code> has all.<br>" if left else ""
    return (
        f"<p>{'<br>'.join(above)}</p>\n<table style='font-size:13px'>\n"
        f"<thead><tr>{head}</tr></thead>\n"
        f"<tbody>{body}</tbody>\n</table>\n"
        f"<p>{below}<small>{escape(overview.under_profiler(part))}</small></p>\n"
    )


def _image(part: Chosen, room: int) -> str:
    """The roofline, with its own letters where ``room`` bytes allow; where not, how to draw it."""
    if find_spec("matplotlib") is None:
        return "<p><small>With matplotlib the roofline is drawn here.</small></p>"
    from roofline.plot import Options, picture
    from roofline.plot.save import compact, svg

    drawn = compact(svg(picture(part, Options(views=("roofline",), key=False))))
    for form in (drawn, re.sub(r"<style id=.*?</style>", "", drawn)):
        # In an image it shares neither names nor letters with what else the notebook shows.
        data = form.replace("%", "%25").replace("#", "%23")
        image = f'<img alt="roofline" src="data:image/svg+xml,{escape(data)}">'
        if len(image.encode()) <= room:
            return image
    return "<p><small>The roofline is too large for here: <code>.plot()</code></small></p>"
