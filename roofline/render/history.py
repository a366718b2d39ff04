"""A history for people and for programs: terminal, Markdown, JSON; and whether to go on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from operator import itemgetter
from typing import Annotated

from rich.console import RenderableType
from rich.text import Text

from roofline import __version__
from roofline.compare.history import (
    LITTLE,
    Bottleneck,
    Stage,
    counted,
    fastest,
    led_to,
    per_launch,
    program_of,
)
from roofline.compare.record import NOT_STATED
from roofline.model import PROMISED
from roofline.render.comparison import unpaired, whole
from roofline.render.documents import Number, about
from roofline.render.documents import text as json_text
from roofline.render.markdown import bullets, escaped
from roofline.render.markdown import table as pipes
from roofline.render.table import Cells, laid_out
from roofline.text import names, numbers
from roofline.text.comparison import change, figure, gained, sure_of
from roofline.text.console import NARROWEST, hanging, prose, to_text
from roofline.text.numbers import duration, times

SCHEMA = "roofline.history/1"
DESCRIPTION = "What `roofline history` and `roofline compare` of more than two captures write."
_GAP = 2
_CHANGE, _LEAST = 24, 12  # columns for what was changed: beside its bottleneck, and at least


@dataclass(frozen=True, kw_only=True)
class HistoryDocument:
    """Changes one after the other; times are under ncu, of the kernels that both sides have."""

    schema: str
    version: Annotated[str, about("of roofline")]
    stages: list[Stage]
    total: Annotated[
        Number,
        about("how many times faster by time the last change and those before it; no failed check"),
    ]
    best: Annotated[
        int | None,
        about(
            "the entry of the last change, or of a faster one of its start where no kernel is left "
            "out; null: the start"
        ),
    ]
    left: Annotated[
        Number, about("how many times faster than best at its ceilings, at the same work")
    ]
    without_waste: Annotated[
        Number, about("the same without the work that is proven waste, too; stop is by this")
    ]
    stop: Annotated[bool | None, about("whether that is little; null: no ceiling is known")]


def json(stages: Sequence[Stage]) -> str:
    """``stages`` as JSON text."""
    done, best = counted(stages)[-1:], fastest(stages)
    found = None if best is None else best.at_ceilings
    document = HistoryDocument(
        schema=SCHEMA,
        version=__version__,
        stages=list(stages),
        total=next((stage.total for stage in done), None),
        best=None if best is None else best.entry,
        left=None if found is None else found.left,
        without_waste=None if found is None else found.most,
        stop=None if found is None else found.stop,
    )
    return json_text(document, indent=1) + "\n"


def render(stages: Sequence[Stage], *, width: int, color: bool) -> str:
    """``stages`` as text."""
    width = max(width, NARROWEST)
    return to_text(_parts(stages, width), width=width, color=color)


def _parts(stages: Sequence[Stage], width: int) -> Iterator[RenderableType]:
    yield Text(head(stages), style="bold")
    yield Text()
    titles, *rows = _table(stages)
    columns = {
        title: Cells(title.removeprefix("-"), itemgetter(i), right=title.startswith("-"))
        for i, title in enumerate(titles)
    }

    def room() -> int:
        return width - sum(c.letters(rows) + _GAP for t, c in columns.items() if t != "change")

    below = None
    if room() < _CHANGE:
        del columns[titles[-1]]
        below = lambda row: row[-1] and f"bottleneck: {row[-1]}"  # noqa: E731
        if "recorded" in columns:
            columns["recorded"] = Cells("recorded", lambda row: row[1][:10])  # the day
            if room() < _LEAST:
                del columns["recorded"]
    widest = min(columns["change"].letters(rows), max(room(), _LEAST))
    whole = columns["change"].cell
    shown = _fitting(map(whole, rows), widest)
    columns["change"] = replace(columns["change"], cell=lambda row: shown[whole(row)], width=widest)
    yield from laid_out([*columns.values()], rows, _GAP, width, below)
    yield Text()
    for stage in stages:
        cut = [_name(stage)] if len(_name(stage)) > widest else []
        for i, line in enumerate((*cut, *_told(stage))):
            yield hanging(" " * len(f"{stage.entry}. ") if i else f"{stage.entry}. ", line)
    yield Text()
    yield prose(outlook(stages), style="bold")
    yield Text("Times measured under ncu.", style="dim")


def _fitting(texts: Iterable[str], letters: int) -> dict[str, str]:
    """Each text in so many ``letters``; where some would look the same, without a common start."""
    shown = {text: names.middle(text, letters) for text in texts}
    if len({*shown.values()}) < len(shown):
        same = "".join(c[0] for c in takewhile(lambda c: len({*c}) == 1, zip(*shown, strict=False)))
        start = 1 + max(same.rfind(sign) for sign in "_-. /")
        shown = {text: names.cut(names.ELLIPSIS + text[start:], letters) for text in shown}
    return shown


def markdown(stages: Sequence[Stage]) -> str:
    """``stages`` for GitHub."""
    titles, *rows = _table(stages)
    cells = ([escaped(cell) for cell in row] for row in rows)
    lines = [f"**{escaped(head(stages))}**", "", *pipes(titles, cells)]
    lines += bullets(f"{s.entry}: {line}" for s in stages for line in _told(s))
    lines += ["", f"**{escaped(outlook(stages))}**", "", "<sub>Times measured under ncu.</sub>"]
    return "\n".join(lines) + "\n"


def head(stages: Sequence[Stage]) -> str:
    """How many changes there are, and what they gave in total."""
    done = counted(stages)
    text = numbers.plural(len(done), "change")
    if wrong := sum(stage.failed for stage in stages):
        text += f", {wrong} not counted (check FAILED)"
    if waiting := sum(stage.status == "open" for stage in stages):
        text += f", {numbers.plural(waiting, 'prediction')} open"
    if done and done[-1].total:
        led = led_to(stages)
        apart = [kernel for stage in led for kernel in stage.left_out]
        where = " in total" + (" of the pairs compared" if apart else "")
        text += f"; {gained(done[-1].total, done[-1].total_sure, where)}"
        if per_launch(stages):
            text += ", times per launch"
        elif apart and led[-1].whole_s and led[0].whole_s:
            text += f"; all kernels {numbers.fall(led[-1].whole_s[0], led[0].whole_s[1])}"
    if (program := program_of(stages)) and all(program):
        text += f"; the program {change(program[0] / program[1])} ({numbers.fall(*program)})"
    return text


def _table(stages: Sequence[Stage]) -> list[list[str]]:
    """The titles, and a row a change below the capture that it started from."""
    each = per_launch(stages)
    took_title = "-per launch" if each else "-time"
    rows = [["-entry", "recorded", "change", took_title, "gain", "in total", "first bottleneck"]]
    for stage in stages:
        before, after = map(_bottleneck, (stage.first_before, stage.first_after))
        took = [_took(stage, time_s, each) for time_s in (stage.before_s, stage.after_s)]
        if stage.status == "closed" and stage.follows is None:
            number, files = str(stage.entry - 1), ", ".join(stage.before)
            rows.append([number, "", files, took[0], "", "", before])
        gain, total = (
            (sure_of(by_time, sure) or change(by_time)) if by_time else ""
            for by_time, sure in ((stage.gain, stage.sure), (stage.total, stage.total_sure))
        )
        if stage.counts and not stage.counts.keys() & {"faster", "slower"}:
            gain = "no change" if "no_change" in stage.counts else "not judged"
        total = "check FAILED" if stage.failed else total
        end = "open" if stage.status == "open" else took[1]
        when = (stage.recorded or "").replace("T", " ")[:16]
        rows.append([str(stage.entry), when, _name(stage), end, gain, total, after])
    if any(stage.recorded for stage in stages):
        return [[row[0] if row[1] else "", *row[1:]] for row in rows]
    return [["-#", *rows[0][2:]], *([row[0], *row[2:]] for row in rows[1:])]


def _took(stage: Stage, time_s: float | None, each: bool) -> str:
    """A sum over the launches of BEFORE, or the mean of ``each``."""
    return duration(time_s and time_s / (stage.launches[0] if each and stage.launches else 1))


def _name(stage: Stage) -> str:
    stated = stage.intervention if stage.intervention != NOT_STATED else None
    return names.printable(stated or ", ".join(stage.after) or "the next one")


def _bottleneck(one: Bottleneck | None, letters: int = 30) -> str:
    if one is None:
        return ""
    limiter = names.unit(one.limiter)
    percent = "" if one.percent is None else f" {numbers.percent(one.percent)}"
    return f"{names.short(one.kernel, letters)}: {limiter}{percent}"


def _told(stage: Stage) -> Iterator[str]:
    """Warnings, the predictions with their judgements, the program's time, and the evidence."""
    yield from (f"warning: {text}" for text in stage.warnings)
    if stage.launches and stage.launches[0] != stage.launches[1]:
        one, other = stage.launches
        yield f"{one:,} launches before, {other:,} after: times compare if each does the same work"
    yield from unpaired(stage.left_out, "not_compared")
    if stage.left_out and stage.whole_s:
        yield whole(stage.left_out, stage.whole_s)
    for claim in stage.predictions:
        yield f"{claim}: open"
    seen = dict.fromkeys((q.claim, q.judgement, q.late) for q in stage.judged)
    for claim, judgement, late in seen:
        when = " (stated with the result)" if late else ""
        yield f"{claim}: {names.words(judgement)}{when}"
    yield from doubts(stage)
    if (done := stage.correctness) is not None:
        yield f"the check {'passed' if done.passed else 'FAILED'}: {done.command}"
    if stage.program is not None and stage.program[1]:
        before, after = stage.program
        yield f"the program: {numbers.fall(before, after)} ({change(before / after)})"
    yield from map(figure, stage.figures)
    if stage.evidence:
        yield stage.evidence


def made_when(stage: Stage) -> Iterator[str]:
    """When the predictions that a comparison judges were stated, and what speaks against that."""
    if stage.closes is not None:
        when = (stage.stated or "").replace("T", " ")[:16]
        yield f"predictions stated {when} (entry {stage.closes} of the record)"
    yield from doubts(stage)


def doubts(stage: Stage) -> Iterator[str]:
    """Why predictions may not have been made before the result."""
    if stage.older:
        yield f"warning: AFTER's file is older than the predictions of entry {stage.closes}"
    if stage.edited:
        yield f"warning: the predictions of entry {stage.closes} were edited since"


def outlook(stages: Sequence[Stage]) -> str:
    """What is left at the ceilings after the fastest change, and so whether to stop."""
    done, best = counted(stages), fastest(stages)
    if not done:
        before = " ".join(stages[-1].before)
        return f"Next: make the change, then roofline compare {before} AFTER --record RECORD.md"
    if best is None:
        return f"{', '.join(led_to(stages)[-1].before)} is the fastest: go back to it."
    back, go_on, each = "", "Go on", per_launch(stages)
    if best is not done[-1]:
        fast = f"{_took(best, best.after_s, each)}, {times(best.rank)}"
        back, go_on = f"{_name(best)} is the fastest ({fast}): go back to it. ", "From there"
    found = best.at_ceilings
    if found is None:
        return f"{back}What is left is not known: no kernel of it has a ceiling."
    ceilings = "measured ceilings" if found.measured else "nearest ceilings"
    wasted = found.without_s is not None
    if found.most > PROMISED:
        ceilings += " and without proven waste" if wasted else ""
        faster = f"at their {ceilings} its kernels would be more than {PROMISED:g}x faster"
        return f"{back}{go_on}: {faster}."
    fall = numbers.fall(found.total_s, found.floor_s) + (", in sum" if each else "")
    left = f"all kernels at their {ceilings}, same work: at most {times(found.left)} ({fall})"
    if found.without_s is not None:
        fall = numbers.fall(found.total_s, found.without_s) + (", in sum" if each else "")
        most = f"all kernels at their {ceilings} and without proven waste: up to"
        left = f"{most} {times(found.most)} ({fall}), same work: at most {times(found.left)}"
    if found.stop:
        near = "" if found.most <= LITTLE else ", and what takes the time is near its ceiling"
        return f"{back}Stop: {left}{near}. Only less work helps beyond that."
    first = best.waste if wasted and best.waste else _bottleneck(best.first_after, 40)
    return f"{back}{go_on}: {left}." + (f" First: {names.printable(first)}." if first else "")
