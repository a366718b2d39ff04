"""A history for people and for programs: terminal, Markdown, JSON; and whether to go on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from rich.console import RenderableType
from rich.text import Text

from roofline import __version__
from roofline.compare.history import LITTLE, Bottleneck, Stage
from roofline.compare.record import NOT_STATED
from roofline.render.documents import Number, about
from roofline.render.documents import text as json_text
from roofline.render.markdown import bullets, escaped
from roofline.render.markdown import table as pipes
from roofline.text import console, names, numbers
from roofline.text.comparison import change
from roofline.text.console import hanging, to_text
from roofline.text.numbers import duration, times

SCHEMA = "roofline.history/1"
DESCRIPTION = "What `roofline history` and `roofline compare` of more than two captures write."
_MOST = 10.0  # more times than that are no promise
_TITLES = ("-#", "recorded", "change", "-time", "-gain", "-in total", "first bottleneck")


@dataclass(frozen=True, kw_only=True)
class HistoryDocument:
    """Changes one after the other; times are under ncu, of the kernels that both sides have."""

    schema: str
    version: Annotated[str, about("of roofline")]
    stages: list[Stage]
    total: Annotated[Number, about("how many times faster the last change and those before it are")]
    left: Annotated[Number, about("how many times faster at the ceilings, at the same work")]
    stop: Annotated[bool | None, about("whether that is little; null: no ceiling is known")]


def json(stages: Sequence[Stage]) -> str:
    """``stages`` as JSON text."""
    done = [stage for stage in stages if stage.status == "closed"][-1:]
    found = next((stage.at_ceilings for stage in done), None)
    document = HistoryDocument(
        schema=SCHEMA,
        version=__version__,
        stages=list(stages),
        total=next((stage.total for stage in done), None),
        left=None if found is None else found.left,
        stop=None if found is None else found.stop,
    )
    return json_text(document, indent=1) + "\n"


def render(stages: Sequence[Stage], *, width: int, color: bool) -> str:
    """``stages`` as text."""
    return to_text(_parts(stages), width=width, color=color)


def _parts(stages: Sequence[Stage]) -> Iterator[RenderableType]:
    yield Text(head(stages), style="bold")
    yield Text()
    titles = [t for t in _TITLES if t != "recorded" or any(s.recorded for s in stages)]
    made = console.table(*("+" * (t == "first bottleneck") + t for t in titles))
    for row in _rows(stages, len(titles)):
        made.add_row(*row)
    yield made
    yield Text()
    for stage in stages:
        for i, line in enumerate(_told(stage)):
            yield hanging(" " * len(f"{stage.entry}. ") if i else f"{stage.entry}. ", Text(line))
    yield Text()
    yield Text(outlook(stages), style="bold")
    yield Text("Times measured under ncu.", style="dim")


def markdown(stages: Sequence[Stage]) -> str:
    """``stages`` for GitHub."""
    titles = [t for t in _TITLES if t != "recorded" or any(s.recorded for s in stages)]
    rows = ([escaped(cell) for cell in row] for row in _rows(stages, len(titles)))
    lines = [f"**{escaped(head(stages))}**", "", *pipes(titles, rows)]
    lines += bullets(f"{s.entry}: {line}" for s in stages for line in _told(s))
    lines += ["", f"**{escaped(outlook(stages))}**", "", "<sub>Times measured under ncu.</sub>"]
    return "\n".join(lines) + "\n"


def head(stages: Sequence[Stage]) -> str:
    """How many changes there are, and what they gave in total."""
    done = [stage for stage in stages if stage.status == "closed"]
    text = numbers.plural(len(done), "change")
    if waiting := len(stages) - len(done):
        text += f", {numbers.plural(waiting, 'prediction')} open"
    if done and done[-1].total:
        text += f"; {change(done[-1].total)} in total"
    return text


def _rows(stages: Sequence[Stage], columns: int) -> Iterator[list[str]]:
    for stage in stages:
        if stage.status == "closed" and stage.follows is None:
            number = "" if stage.recorded else str(stage.entry - 1)
            row = [number, "", ", ".join(stage.before), duration(stage.before_s), "", ""]
            yield _fitting([*row, _bottleneck(stage.first_before)], columns)
        when = (stage.recorded or "").replace("T", " ")[:16]
        what = stage.intervention if stage.intervention != NOT_STATED else None
        name = what or ", ".join(stage.after)
        if stage.status == "open":
            row = [name or "the next one", "open", "", "", _bottleneck(stage.first_before)]
        else:
            gain, total = (change(g) if g else numbers.ABSENT for g in (stage.gain, stage.total))
            if stage.counts and not stage.counts.keys() & {"faster", "slower"}:
                gain = "no change"
            row = [name, duration(stage.after_s), gain, total]
            row += [_bottleneck(stage.first_after)]
        yield _fitting([str(stage.entry), when, *row], columns)


def _fitting(row: list[str], columns: int) -> list[str]:
    """Without the date where no stage has one."""
    return row if len(row) == columns else [row[0], *row[2:]]


def _bottleneck(one: Bottleneck | None) -> str:
    if one is None:
        return numbers.ABSENT
    limiter = names.unit(one.limiter)
    percent = "" if one.percent is None else f" {numbers.percent(one.percent)}"
    return f"{names.short(one.kernel, 30)}: {limiter}{percent}"


def _told(stage: Stage) -> Iterator[str]:
    """The predictions with their judgements, the program's time, and the evidence."""
    for claim in stage.predictions:
        yield f"{claim}: open"
    seen = dict.fromkeys((q.claim, q.judgement) for q in stage.judged)
    for claim, judgement in seen:
        yield f"{claim}: {names.words(judgement)}"
    if stage.program is not None and stage.program[1]:
        before, after = stage.program
        yield f"the program: {numbers.fall(before, after)} ({times(before / after)})"
    if stage.evidence:
        yield stage.evidence


def outlook(stages: Sequence[Stage]) -> str:
    """What is left at the ceilings after the last change, and so whether to stop."""
    last = next((stage for stage in reversed(stages) if stage.status == "closed"), None)
    found = None if last is None else last.at_ceilings
    if last is None or found is None:
        return "What is left is not known: no kernel of the last change has a ceiling."
    ceilings = "measured ceilings" if found.measured else "nearest ceilings"
    if found.left > _MOST:
        return f"Go on: at their {ceilings} its kernels would be more than {_MOST:g}x faster."
    fall = numbers.fall(found.total_s, found.floor_s)
    left = f"all kernels at their {ceilings}, same work: at most {times(found.left)} ({fall})"
    if found.stop:
        near = "" if found.left <= LITTLE else ", and what takes the time is near its ceiling"
        return f"Stop: {left}{near}. Only less work helps beyond that."
    first = last.first_after
    return f"Go on: {left}." + (f" First: {_bottleneck(first)}." if first else "")
