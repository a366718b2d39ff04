"""The pull-request comment: Markdown within GitHub's limits, pictures for light and dark."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from roofline.compare.model import Comparison
from roofline.model import Analysis
from roofline.render import compare_markdown, markdown
from roofline.view import Chosen

# What GitHub takes for one comment, in characters, with room for an edit by hand.
LIMIT = 65_536 - 1_000
ROWS = 10
_CUT = "\n\n... cut to fit GitHub's limit; the JSON beside this file has all of it\n"


def comment(
    view: Analysis | Chosen,
    comparison: Comparison | None,
    *,
    title: str,
    picture: bool = True,
    top: int = ROWS,
) -> str:
    """Markdown of at most ``LIMIT`` characters with a table of at most ``ROWS`` rows.

    ``view`` is the side after; without a ``comparison`` it is all there is to say.
    """
    heading = [f"## {markdown.escaped(title)}", "", *(_picture() if picture else ()), ""]

    def compared(rows: int) -> str:
        assert comparison is not None
        lines = [*compare_markdown.head(comparison), *compare_markdown.body(comparison, limit=rows)]
        return "\n".join([*heading, *lines]) + "\n"

    def analysed(rows: int) -> str:
        return "\n".join(heading) + "\n" + markdown.render(view, limit=rows)

    return _fitting(analysed if comparison is None else compared, min(top, ROWS))


def _picture() -> Sequence[str]:
    """GitHub chooses by the reader's theme; without it the light one is shown."""
    return (
        "<picture>",
        '  <source media="(prefers-color-scheme: dark)" srcset="roofline-dark.svg">',
        '  <img alt="Roofline of the kernels in the table" src="roofline.svg" width="900">',
        "</picture>",
    )


def _fitting(write: Callable[[int], str], rows: int) -> str:
    """Fewer rows, and so fewer details, until it fits; cut at a line's end as the last resort."""
    while rows > 1 and len(write(rows)) > LIMIT:
        rows -= 1
    text = write(rows)
    if len(text) <= LIMIT:
        return text
    kept = text[: LIMIT - len(_CUT) - len("\n</details>")]
    kept = kept[: kept.rfind("\n")]
    closing = "\n</details>" if kept.count("<details>") > kept.count("</details>") else ""
    return kept + closing + _CUT
