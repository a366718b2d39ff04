"""A comparison as Markdown, and the comment for a pull request, within GitHub's limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from roofline.compare.model import Comparison, KernelPair
from roofline.model import Analysis
from roofline.render import comparison as words
from roofline.render import markdown
from roofline.render.markdown import NAME, ROWS, code, escaped
from roofline.text import names
from roofline.text.notes import note_text
from roofline.view import Chosen

# What GitHub takes for one comment, in characters, with room for an edit by hand.
LIMIT = 65_536 - 1_000
_CUT = "\n\n... cut to fit GitHub's limit; the JSON beside this file has all of it\n"
# GitHub chooses by the reader's theme; without it the light one is shown.
_PICTURE = (
    "<picture>",
    '  <source media="(prefers-color-scheme: dark)" srcset="roofline-dark.svg">',
    '  <img alt="Roofline of the kernels in the table" src="roofline.svg" width="900">',
    "</picture>",
)
_TITLES = ("-#", "kernel", "-before", "-after", "change", "-bytes", "limited by before", "after")


def render(comparison: Comparison, *, limit: int | None = ROWS) -> str:
    """``comparison`` with at most ``limit`` kernels in the table."""
    return "\n".join([*_head(comparison), *_body(comparison, limit=limit)]) + "\n"


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
    heading = "\n".join([f"## {escaped(title)}", "", *(_PICTURE if picture else ()), ""])

    def write(rows: int) -> str:
        if comparison is None:
            return f"{heading}\n{markdown.render(view, limit=rows)}"
        return f"{heading}\n{render(comparison, limit=rows)}"

    return _fitting(write, min(top, ROWS))


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


def _head(comparison: Comparison) -> Iterator[str]:
    """What was compared, the totals, and what did not match."""
    yield f"{escaped(words.title(comparison))}  "
    yield f"**{escaped(words.totals(comparison))}**"
    warnings = [c for c in comparison.checks if c.level != "info"]
    if warnings:
        yield ""
        yield from (f"> {escaped(f'{c.level}: {note_text(c.text)}')}  " for c in warnings)
    failed = [g for g in comparison.gates if g.status != "passed"]
    if comparison.gates:
        count = len(comparison.gates)
        said = f"**{len(failed)} of {count} gate checks failed**"
        yield ""
        yield said if failed else f"All {count} gate checks passed"
        yield from markdown.bullets(map(words.gate, failed[:ROWS]))


def _body(comparison: Comparison, *, limit: int | None) -> list[str]:
    """The table, a sentence a kernel, and the details folded away."""
    shown = comparison.pairs[:limit]
    told = words.told_apart(shown)
    lines = ["", *markdown.table(_TITLES, _rows(shown)), ""]
    lines += [f"{n}. {escaped(words.sentence(p))}" for n, p in enumerate(shown, 1) if p in told]
    lines += [f"- {escaped(line)}" for line in words.unchanged(shown)]
    if len(comparison.pairs) > len(shown):
        lines += ["", f"... and {len(comparison.pairs) - len(shown)} more"]
    lines += markdown.bullets([*words.unpaired(comparison), *words.extras(comparison)])
    folded = list(_folded(comparison, shown, told))
    if folded:
        lines += ["", "<details><summary>Details</summary>", "", *folded, "", "</details>"]
    return [*lines, "", f"<sub>{words.foot(comparison)}</sub>"]


def _rows(pairs: Sequence[KernelPair]) -> Iterator[tuple[str, ...]]:
    shorts = names.short_all((p.after.measured.demangled for p in pairs), NAME)
    for rank, (pair, name) in enumerate(zip(pairs, shorts, strict=True), 1):
        one, other = pair.before, pair.after
        yield (
            str(rank),
            code(name),
            words.took(pair, one),
            words.took(pair, other),
            f"**{words.cell(pair)}**",
            words.ratio(one.measured.dram_bytes, other.measured.dram_bytes),
            escaped(words.limit(one)),
            escaped(words.limit(other)),
        )


def _folded(
    comparison: Comparison, pairs: Sequence[KernelPair], told: Sequence[KernelPair]
) -> Iterator[str]:
    for rank, pair in enumerate(pairs, 1):
        said = [] if pair in told else [words.sentence(pair)]
        said += [*words.details(pair, everything=True), *words.side_effects(pair)]
        if said:
            yield f"{rank}. {code(names.short(pair.after.measured.demangled, NAME))}"
            yield from (f"   - {escaped(line)}" for line in said)
    for check in comparison.checks:
        if check.level == "info":
            yield f"- {escaped(note_text(check.text))}"
    for side, info in (("before", comparison.before), ("after", comparison.after)):
        said = [f"ncu {', '.join(info.ncu_versions)}"] if info.ncu_versions else []
        settings = ", ".join(f"{names.words(key)} {v}" for key, v in info.settings.items())
        said += [settings] if settings else []
        if said:
            yield f"- {side}: {escaped('; '.join(said))}"
