"""A comparison as Markdown, and the comment for a pull request, within GitHub's limits."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Sequence

from roofline.compare.model import Comparison, KernelPair
from roofline.model import Analysis
from roofline.render import comparison as words
from roofline.render import markdown
from roofline.render import table as screen
from roofline.render.markdown import NAME, ROWS, code, escaped
from roofline.text import names, numbers
from roofline.text.console import bar
from roofline.text.notes import note_text
from roofline.view import Chosen, chosen

# What GitHub takes for one comment, in characters, with room for an edit by hand.
LIMIT = 65_536 - 1_000
_CUT = "\n\n... cut to fit GitHub's limit; the JSON beside this file has all of it\n"
# The first line of every comment: by it a later run finds the comment that it replaces.
MARK = "<!-- roofline -->"
_BAR = 24  # letters of the longest bar
_TITLES = ("-#", "kernel", "-before", "-after", "change")


def render(comparison: Comparison, *, limit: int | None = ROWS) -> str:
    """``comparison`` with at most ``limit`` kernels in the table."""
    return "\n".join([*_head(comparison), *_body(comparison, limit=limit)]) + "\n"


def comment(
    view: Analysis | Chosen,
    comparison: Comparison | None,
    *,
    title: str,
    picture: bool = True,
    image_base: str | None = None,
    top: int = ROWS,
    remarks: Sequence[str] = (),
) -> str:
    """Markdown of at most ``LIMIT`` characters with a table of at most ``ROWS`` rows.

    ``view`` is the side after; without a ``comparison`` it is all there is to say. The picture is
    the PNG below the address ``image_base``, else the SVG beside the comment, which a comment
    cannot show: then bars in letters say the same. ``remarks`` are of the predictions.
    """
    heading = [MARK, f"## {escaped(title)}", ""]
    if picture:
        heading += [*_picture(image_base), ""]

    def write(rows: int) -> str:
        text = [*heading]
        if not picture or image_base is None:
            text += _bars(view, comparison, rows)
        if comparison is None:
            return "\n".join([*text, markdown.render(view, limit=rows)])
        text += [*markdown.bullets(remarks), *[""][: len(remarks)]]
        return "\n".join([*text, render(comparison, limit=rows)])

    return _fitting(write, min(top, ROWS))


def _picture(base: str | None) -> Iterator[str]:
    """The picture: GitHub chooses by the reader's theme; without it the light one is shown."""
    light, dark = "roofline.svg", "roofline-dark.svg"
    if base is not None:
        root = html.escape(base.rstrip("/"))
        light, dark = f"{root}/roofline.png", f"{root}/roofline-dark.png"
    yield "<picture>"
    yield f'  <source media="(prefers-color-scheme: dark)" srcset="{dark}">'
    yield f'  <img alt="What limits the kernels in the table" src="{light}" width="900">'
    yield "</picture>"


def _bars(view: Analysis | Chosen, comparison: Comparison | None, limit: int) -> Iterator[str]:
    """The times of the table as bars in a block of code."""
    rows: list[tuple[str, float | None, str]] = []
    if comparison is None:
        kernels = list(chosen(view).rows(launches=False))[:limit]
        called = names.short_all((row.name for row in kernels), _BAR)
        for row, name in zip(kernels, called, strict=True):
            busy = f"{screen.limiter(row)} {screen.reached(row)}"
            rows.append((name, row.time_s, busy))
    else:
        pairs = words.told_apart(comparison.pairs)[:limit]
        for pair, (name, *new) in zip(pairs, words.named(pairs, _BAR), strict=True):
            one, other = pair.before.measured.duration_s, pair.after.measured.duration_s
            rows += [(name, one, words.limit(pair.before))]
            rows += [("".join(new), other, f"{words.limit(pair.after)}, {words.cell(pair)}")]
    most = max((time for _, time, _ in rows if time), default=None)
    if most is None:
        return
    yield "```text"
    for name, time, text in rows:
        drawn = bar(100 * (time or 0.0) / most, _BAR)
        shown = names.printable(name).replace("`", "'")
        yield f"{shown:<{_BAR}} {numbers.duration(time):>8} {drawn} {text}".rstrip()
    yield from ("```", "")


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
    doubts = [f"error: {line}" for line in words.unread(comparison)]
    doubts += [f"{c.level}: {note_text(c.text)}" for c in comparison.checks if c.level != "info"]
    if doubts:
        yield ""
        yield from (f"> {escaped(text)}  " for text in doubts)
    failed = [g for g in comparison.gates if g.failing]
    if comparison.gates:
        count = len(comparison.gates)
        said = f"**{len(failed)} of {count} gate checks failed**"
        yield ""
        skipped = [g for g in comparison.gates if g.status == "skipped"]
        of = " for what was read" * any(words.unread(comparison))
        yield said if failed else f"{count - len(skipped)} of {count} gate checks passed{of}"
        yield from markdown.bullets(map(words.gate, [*failed, *skipped][:ROWS]))


def _body(comparison: Comparison, *, limit: int | None) -> list[str]:
    """The table of what changed, a sentence a kernel, and the details folded away."""
    told = words.told_apart(comparison.pairs)
    shown = told[:limit]
    lines = ["", *_table(shown), ""] if shown else [""]
    lines += [f"{n}. {escaped(words.sentence(p))}" for n, p in enumerate(shown, 1)]
    if len(told) > len(shown):
        lines += ["", f"... and {len(told) - len(shown)} more"]
    lines += markdown.bullets(words.unchanged(comparison.pairs, named=True))
    lines += markdown.bullets([*words.unpaired(comparison.left_out), *words.extras(comparison)])
    folded = list(_folded(comparison, shown))
    if folded:
        lines += ["", "<details><summary>Details</summary>", "", *folded, "", "</details>"]
    return [*lines, "", f"<sub>{words.foot(comparison)}</sub>"]


def _table(pairs: Sequence[KernelPair]) -> Iterator[str]:
    """A row a pair, with its operations where those of one changed."""
    bytes_, operations = (
        [words.ratio(p.before.figure(what), p.after.figure(what)) for p in pairs]
        for what in ("dram_bytes", "total_operations")
    )
    amounts = {"-bytes": bytes_}
    if {*operations} - {"same", numbers.ABSENT}:
        amounts["-operations"] = operations
    rows = [
        (
            str(rank),
            " -\\> ".join(map(code, both)),
            words.took(pair, pair.before),
            words.took(pair, pair.after),
            f"**{words.cell(pair)}**",
            *changed,
            escaped(words.limits(pair.before, pair.after)),
        )
        for rank, (pair, both, *changed) in enumerate(
            zip(pairs, words.named(pairs, NAME), *amounts.values(), strict=True), 1
        )
    ]
    return iter(markdown.table((*_TITLES, *amounts, "limited by"), rows))


def _folded(comparison: Comparison, pairs: Sequence[KernelPair]) -> Iterator[str]:
    for rank, pair in enumerate(pairs, 1):
        told = [*words.details(pair), *words.side_effects(pair)]
        if told:
            yield f"{rank}. {code(names.short(pair.after.measured.demangled, NAME))}"
            yield from (f"   - {escaped(line)}" for line in told)
    for check in comparison.checks:
        if check.level == "info":
            yield f"- {escaped(note_text(check.text))}"
    for side, info in (("before", comparison.before), ("after", comparison.after)):
        told = [f"ncu {', '.join(info.ncu_versions)}"] if info.ncu_versions else []
        settings = ", ".join(f"{names.words(key)} {v}" for key, v in info.settings.items())
        told += [settings] if settings else []
        if told:
            yield f"- {side}: {escaped('; '.join(told))}"
