"""Two steps compared, for people and for programs: terminal, Markdown, JSON."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from roofline import __version__
from roofline.render.documents import filled, note_documents
from roofline.render.documents import text as json_text
from roofline.render.job import missing
from roofline.render.markdown import NAME, code, escaped
from roofline.render.markdown import table as pipes
from roofline.render.selection import FIRST, PARTS
from roofline.render.selection_json import document_of
from roofline.text import console, names, numbers
from roofline.text.console import NARROWEST, to_text
from roofline.text.notes import note_text
from roofline.timeline.change import StepChange
from roofline.timeline.model import Job

SCHEMA = "roofline.step-change/1"
DESCRIPTION = "What changed between the steps of two timelines."
_TITLES = ("-before", "-after", "-change")
_ALIKE = 0.5  # of the kernel time, below which the two look like different programs
_CLOCK_S = 0.5e-9  # recordings have no finer times
_FIGURES = 40  # columns that times take
_RANKS = 8
_MUCH = 0.05  # of the step: work that gave way to idle time, or took its place
_Row = tuple[str, ...]


_SIDES = {"schema": str, "version": str, "before": str, "after": str}
StepChangeDocument = document_of("StepChangeDocument", StepChange, **_SIDES)


def json(change: StepChange) -> str:
    """``change`` as JSON text."""
    own = {"schema": SCHEMA, "version": __version__}
    own |= {"before": change.before.file, "after": change.after.file}
    made = filled(StepChangeDocument, change, **own, notes=note_documents(change.notes))
    return json_text(made, indent=1) + "\n"


def render(change: StepChange, *, width: int, color: bool, limit: int) -> str:
    """``change`` as text, with the first ``limit`` kernels."""
    width = max(width, NARROWEST)
    return to_text(_shown(change, max(width - _FIGURES, 20), limit), width=width, color=color)


def _shown(change: StepChange, room: int, limit: int) -> Iterator[RenderableType]:
    for i, line in enumerate(head(change)):
        yield Text(line, style="" if i else "bold")
    for title, rows in _tables(change, limit, room):
        made = console.table(f"+{title}", *_TITLES)
        for row in rows:
            made.add_row(*row)
        yield from (Text(), made)


def markdown(change: StepChange, *, limit: int) -> str:
    """``change`` for GitHub."""
    lines = [f"{escaped(line)}  " for line in head(change)]
    for title, rows in _tables(change, limit, NAME):
        shown = code if title.startswith("kernels") else escaped
        made = ((shown(name), *map(escaped, cells)) for name, *cells in rows)
        lines += ["", *pipes((title, *_TITLES), made)]
    return "\n".join(lines) + "\n"


def _tables(change: StepChange, limit: int, room: int) -> Iterator[tuple[str, list[_Row]]]:
    """Titles and rows: the parts of the step, the ranks of jobs, and kernels."""
    yield "where the step goes", [*_parts(change)]
    if (jobs := change.jobs) is not None:
        each = "in all" if None in [job.steps for job in jobs] else "a step"
        yield f"ranks, {each}", [*_skew(jobs)]
    yield "kernels, a step", [*_kernels(change, limit, room)]


def head(change: StepChange) -> Iterator[str]:
    """Faster or slower, by how much and beyond what; what is first before and after."""
    factor = change.speedup
    word, exact = "faster" if factor >= 1 else "slower", max(factor, 1 / factor)
    answer = f"{exact:.2f}x {word}"
    if change.within_spread:
        by = "" if f"{exact:.3f}" == "1.000" else f" ({word} by a factor of {exact:.3f})"
        answer = f"no change beyond the spread of the steps{by}"
    elif f"{exact:.3f}" == "1.000":
        answer = "the same"
    gpus = dict.fromkeys(names.printable(gpu or "unknown GPU") for gpu in change.gpus)
    if change.alike < _ALIKE:
        share = f"{numbers.share(change.alike)} of the kernel time is in kernels"
        yield f"These look like different programs: {share} that both launch as often."
    if len(gpus) > 1 and all(change.gpus):
        yield f"The GPUs differ, so the change is not of the program alone: {' -> '.join(gpus)}."
    yield f"Step {numbers.fall(change.before_s, change.after_s)}: {answer}"
    files = " -> ".join(names.printable(side.file) for side in (change.before, change.after))
    known = "one step counts on a side, so its spread is not known"
    if change.spread is not None:
        spread = numbers.share(change.spread)
        by = f"less than ±{spread[1:]}" if spread.startswith("<") else f"±{spread}"
        known = f"steps of a side differ by {by}"
    yield f"{files}, {' -> '.join(gpus)}; {known}"
    less_s, idle_s = change.into_idle_s
    few_s, many_s = sorted((abs(less_s), abs(idle_s)))
    if less_s * idle_s > 0 and few_s > max(_MUCH * change.before_s, many_s / 2):
        work, idle = numbers.duration(abs(less_s)), numbers.duration(abs(idle_s))
        if idle_s > 0:
            paced = ": the CPU sets the pace" if change.after.selected.host_paced else ""
            yield f"A step has {work} less work and {idle} more idle time{paced}."
        else:
            yield f"A step has {work} more work, beside {idle} less idle time."
    yield from _ranks(change)
    for when, side in (("Before", change.before), ("After", change.after)):
        yield from (f"{when}: {line}" for line in (missing(side.job) if side.job else ()))
    firsts = [FIRST[f] for f in (change.before_first, change.after_first) if f is not None]
    if len(firsts) == 2:
        yield f"Before: {firsts[0].lower()}. After: {firsts[1].lower()}."
    yield from (names.printable(note_text(n)) for n in change.notes)


def _ranks(change: StepChange) -> Iterator[str]:
    """Of two jobs, whose step that is, and the mean step of each rank."""
    if (jobs := change.jobs) is None:
        return
    noun = _noun(jobs)
    judged = dict.fromkeys(f"{noun} {job.latest.number}" for job in jobs)
    yield f"The step is that of the {noun} that the others wait for most: {' -> '.join(judged)}."
    before, after = ({rank.number: rank.step_s for rank in job.ranks} for job in jobs)
    both = [n for n, s in before.items() if s is not None and after.get(n) is not None]
    said = (f"{number}: {numbers.fall(before[number], after[number])}" for number in both)
    if both:
        yield f"Mean step of {noun} {names.few([*said], _RANKS)}"


def _noun(jobs: tuple[Job, Job]) -> str:
    return "device" if all(job.one_clock for job in jobs) else "rank"


def _skew(jobs: tuple[Job, Job]) -> Iterator[_Row]:
    """The slowest rank against the fastest, skew against transfer, and who waits for others."""
    noun = _noun(jobs)
    steps = [job.steps for job in jobs]
    parts = [1 if None in steps else number or 1 for number in steps]
    for word, pick in (("slowest", max), ("fastest", min)):
        found = [[r for r in job.ranks if r.step_s is not None] for job in jobs]
        if all(found):
            ranks = [pick(known, key=lambda r: r.step_s or 0.0) for known in found]
            who = " -> ".join(dict.fromkeys(str(r.number) for r in ranks))
            yield f"step of the {word} {noun} ({who})", *_times(*(r.step_s for r in ranks))
    for title, sums in (("skew", "skew_s"), ("transfer", "transfer_s")):
        yield title, *_times(*(getattr(job, sums) / n for job, n in zip(jobs, parts, strict=True)))
    waits = [{r.number: r.waited_s / n for r in j.ranks} for j, n in zip(jobs, parts, strict=True)]
    for number in [*dict.fromkeys([*waits[0], *waits[1]])][:_RANKS]:
        yield f"{noun} {number} waits for others", *_times(*(w.get(number) for w in waits))


def _parts(change: StepChange) -> Iterator[_Row]:
    for p in change.parts:
        title = f"  idle: {p.title}" if p.cause else PARTS.get(p.part, "idle")
        yield names.printable(title), *_times(p.before_s, p.after_s)
    yield "step", *_times(change.before_s, change.after_s)


def _kernels(change: StepChange, limit: int, room: int) -> Iterator[_Row]:
    shown = change.kernels[:limit]
    called = names.short_all((k.name for k in shown), room)
    sizes = [
        f", {names.dims(k.grid)} / {names.dims(k.block)}" if called.count(name) > 1 else ""
        for k, name in zip(shown, called, strict=True)
    ]
    called = names.short_all((k.name for k in shown), room - max(map(len, sizes), default=0))
    for k, name, size in zip(shown, called, sizes, strict=True):
        yield name + size, *_times(k.before_s, k.after_s)


def _times(before_s: float | None, after_s: float | None) -> tuple[str, str, str]:
    """Both times and their difference; "gone" and "new" where a side has none."""
    times = numbers.duration(before_s), numbers.duration(after_s)
    if before_s is None or after_s is None:
        return *times, "new" if before_s is None else "gone"
    moved = after_s - before_s
    sign = "-" if moved < 0 else "+"
    return *times, f"{sign}{numbers.duration(abs(moved))}" if abs(moved) > _CLOCK_S else "same"
