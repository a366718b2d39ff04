"""How values look in a notebook: tables, cards, pictures and pages, of what renders elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from html import escape, unescape
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roofline.compare.model import Comparison
from roofline.display import Displayed, short
from roofline.files import write_text
from roofline.model import Analysis, Group, Result
from roofline.timeline.model import Selection
from roofline.view import Choice, Chosen, Row, choose, gain_s, matching, no_kernel

if TYPE_CHECKING:
    from roofline.plot import Picture

ROWS = 10  # of a table
MOST = 60_000  # bytes of HTML: a notebook keeps them, and a review shows them
_HEIGHT = 760  # pixels of a page
_RIGHT, _LEFT = "text-align:right;white-space:nowrap", "text-align:left"
_TITLES = ("#", "kernel", "launches", "time", "share", "limited by", "", "confidence", "can save")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Page:
    """A whole HTML page. In a notebook its scripts run in a frame that can reach nothing else."""

    title: str
    html: str

    def __repr__(self) -> str:
        return short(self, title=self.title, letters=len(self.html))

    def _repr_html_(self) -> str:
        frame = f'sandbox="allow-scripts" title="{escape(self.title)}" width="100%"'
        return (
            f'<iframe {frame} height="{_HEIGHT}" style="border:0" '
            f'srcdoc="{escape(self.html)}"></iframe>'
        )

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write it to a file, whole or not at all; ``force`` overwrites one that exists."""
        write_text(Path(path), self.html, force=force)


def kernel(analysis: Analysis, wanted: str) -> Group:
    """The kernel with most time that ``wanted`` means, else a ``UsageError``."""
    for found in matching(analysis, wanted):
        return found
    raise no_kernel(analysis, wanted)


def plot(value: Displayed | Chosen, view: str | tuple[str, ...] = (), **options: Any) -> Picture:
    """Draw a value: see ``Displayed.plot``."""
    from roofline.plot import Options, picture

    return picture(_drawable(value), Options(views=_views(view), **options))


def page(value: Displayed | Chosen, view: str | tuple[str, ...] = (), **options: Any) -> Page:
    """A page about a value: see ``Displayed.page``; a timeline's is its picture over a table."""
    from roofline.plot import Options, picture
    from roofline.plot import page as explored
    from roofline.plot.save import html

    drawn, wanted = _drawable(value), Options(views=_views(view), **options)
    theme = options.get("theme")
    if isinstance(drawn, Selection):
        made = html(picture(drawn, wanted), both_themes=theme is None)
    else:
        made = explored(drawn, wanted, theme=theme)
    title = re.search(r"<title>(.*?)</title>", made, re.DOTALL)
    return Page(title=unescape(title[1]) if title else "", html=made)


def _views(view: str | tuple[str, ...]) -> tuple[str, ...]:
    return (view,) if isinstance(view, str) else tuple(view)


def bundle(value: Displayed) -> dict[str, str]:
    """Text, and HTML without script: of an analysis the first kernels in a table and a roofline."""
    text = _text(value)
    if not isinstance(value, Analysis):
        pre = f'<pre style="line-height:1.25;overflow-x:auto">{escape(text)}</pre>'
        return {"text/plain": text, "text/html": pre}
    part = replace(choose(value, Choice(top=ROWS)), filters=())
    told = _table(part)
    return {"text/plain": text, "text/html": told + _image(part, MOST - len(told.encode()))}


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

        return comparison.render(value, limit=ROWS)
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
    from roofline.render import overview
    from roofline.text import names

    rows = list(part.rows(launches=False))
    called = names.short_all((row.name for row in rows), 48)
    ranked = enumerate(zip(called, rows, strict=True), 1)
    body = "".join(f"<tr>{''.join(_cells(rank, name, row))}</tr>\n" for rank, (name, row) in ranked)
    head = "".join(f'<th style="{_LEFT}">{title}</th>' for title in _TITLES)
    above = [f"<b>{escape(overview.answer(part))}</b>", *map(escape, overview.head(part))]
    left = part.total_groups - len(part.analysis.groups)
    below = f"... and {left} more; <code>.page()</code> has all.<br>" if left else ""
    return (
        f"<p>{'<br>'.join(above)}</p>\n<table>\n<thead><tr>{head}</tr></thead>\n"
        f"<tbody>{body}</tbody>\n</table>\n"
        f"<p>{below}<small>{escape(overview.under_profiler(part))}</small></p>\n"
    )


def _cells(rank: int, name: str, row: Row) -> Iterator[str]:
    from roofline.plot.style import THEMES
    from roofline.text import numbers
    from roofline.text import verdict as said

    v = row.result.verdict
    colored = f'<b style="color:{THEMES["light"][v.bound]}">{v.bound}</b>'
    told = (
        (str(rank), _RIGHT),
        (f"<code>{escape(name)}</code>", _LEFT),
        (f"{len(row.group.launches) if row.group else 1:,}", _RIGHT),
        (numbers.duration(row.time_s), _RIGHT),
        (numbers.share(row.share), _RIGHT),
        (f"{colored} {escape(said.limited_by(v))}", _LEFT),
        (numbers.percent(v.limiter_percent), _RIGHT),
        (str(v.confidence), _LEFT),
        (numbers.duration(gain_s(row.result)), _RIGHT),
    )
    return (f'<td style="{style}">{cell}</td>' for cell, style in told)


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
