"""A comparison as Markdown for a pull request: a short table, sentences, details folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from roofline.compare.model import Comparison, Level, Pair
from roofline.render import compare_words
from roofline.render.markdown import ROWS, code, escaped
from roofline.text import names, numbers

_HEADER = ("#", "kernel", "before", "after", "change", "bytes", "limited by before", "after")
_ALIGN = ("--:", "---", "--:", "--:", "---", "--:", "---", "---")


def render(comparison: Comparison, *, limit: int | None = ROWS) -> str:
    """``comparison`` with at most ``limit`` kernels in the table."""
    return "\n".join([*head(comparison), *body(comparison, limit=limit)]) + "\n"


def head(comparison: Comparison) -> list[str]:
    """What was compared, the totals, and what did not match."""
    lines = [f"{escaped(compare_words.title(comparison))}  "]
    lines.append(f"**{escaped(compare_words.totals(comparison))}**")
    warnings = [c for c in comparison.checks if c.level is not Level.INFO]
    if warnings:
        lines += ["", *(f"> {escaped(f'{c.level}: {c.text}')}  " for c in warnings)]
    failed = [g for g in comparison.gates if g.status != "passed"]
    if comparison.gates:
        count = len(comparison.gates)
        said = f"**{len(failed)} of {count} gate checks failed**"
        lines += ["", said if failed else f"All {count} gate checks passed"]
        lines += [f"- {escaped(compare_words.gate(g))}" for g in failed[:ROWS]]
    return lines


def body(comparison: Comparison, *, limit: int | None = ROWS) -> list[str]:
    """The table, a sentence a kernel, and the details folded away."""
    shown = comparison.pairs[:limit]
    lines = ["", *_table(shown), ""]
    lines += [f"{rank}. {escaped(p.sentence)}" for rank, p in enumerate(shown, 1)]
    more = len(comparison.pairs) - len(shown)
    if more:
        lines += ["", f"... and {more} more"]
    rest = [*compare_words.unpaired(comparison), *compare_words.extras(comparison)]
    lines += ["", *(f"- {escaped(line)}" for line in rest)] if rest else []
    folded = list(_folded(comparison, shown))
    if folded:
        lines += ["", "<details><summary>Details</summary>", "", *folded, "", "</details>"]
    return [*lines, "", f"<sub>{compare_words.FOOT}</sub>"]


def _table(pairs: Sequence[Pair]) -> Iterator[str]:
    yield _line(_HEADER)
    yield _line(_ALIGN)
    shorts = names.short_all((p.after.demangled for p in pairs), 60)
    for rank, (pair, name) in enumerate(zip(pairs, shorts, strict=True), 1):
        one, other = pair.before, pair.after
        yield _line(
            (
                str(rank),
                code(name),
                numbers.duration(one.duration_s),
                numbers.duration(other.duration_s),
                f"**{compare_words.change(pair)}**",
                compare_words.ratio(one.dram_bytes, other.dram_bytes),
                escaped(compare_words.limit(one)),
                escaped(compare_words.limit(other)),
            )
        )


def _folded(comparison: Comparison, pairs: Sequence[Pair]) -> Iterator[str]:
    for rank, pair in enumerate(pairs, 1):
        said = [*compare_words.details(pair), *compare_words.side_effects(pair)]
        if said:
            yield f"{rank}. {code(names.short(pair.after.demangled, 60))}"
            yield from (f"   - {escaped(line)}" for line in said)
    for check in comparison.checks:
        if check.level is Level.INFO:
            yield f"- {escaped(check.text)}"
    for side, capture in (("before", comparison.before), ("after", comparison.after)):
        versions = ", ".join(capture.ncu_versions)
        told = ", ".join(f"{key.replace('_', ' ')} {v}" for key, v in capture.settings.items())
        said = [text for text in (f"ncu {versions}" if versions else "", told) if text]
        if said:
            yield f"- {side}: {escaped('; '.join(said))}"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
