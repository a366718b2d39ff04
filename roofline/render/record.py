"""An entry of the experiment record: a YAML head for machines, then Markdown for people."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Any

import msgspec

from roofline import __version__
from roofline.compare.history import Judged, Stage, at_ceilings, first_of, waste_s
from roofline.compare.model import Comparison, KernelPair
from roofline.compare.record import NOT_STATED, SCHEMA
from roofline.foreign import cleaned
from roofline.model import Analysis, Group
from roofline.render import comparison as words
from roofline.render.history import doubts
from roofline.render.markdown import escaped
from roofline.text import names, numbers
from roofline.text import verdict as said
from roofline.text.comparison import figure
from roofline.text.notes import note_text

KERNELS = 10


def entry(comparison: Comparison, statement: Stage, number: int = 1) -> str:
    """One entry: a YAML document, every value of it JSON, then a section a subject."""
    main = comparison.pairs[0]
    claims = [note_text(q.claim) for p in comparison.pairs for q in p.predictions if q.by == "user"]
    stage = replace(
        stage_of(comparison, statement),
        entry=number,
        problem=statement.problem or f"{main.before.measured.name}: {_limited(main)}",
        hypothesis=statement.hypothesis or "; ".join(dict.fromkeys(claims)) or NOT_STATED,
        intervention=statement.intervention or NOT_STATED,
    )
    before, after = comparison.before, comparison.after
    more = {
        "devices": after.devices,
        "ncu": tuple(dict.fromkeys(before.ncu_versions + after.ncu_versions)),
        "kernels": [_kernel(p) for p in comparison.pairs[:KERNELS]],
    }
    return _written(stage, more, _sections(comparison, stage))


def open_entry(before: Analysis, statement: Stage, number: int = 1) -> str:
    """An entry of predictions before there is anything to judge them by."""
    told = [f"{g.result.measurement.name}: {said.hint(g.result)}" for g in before.groups[:KERNELS]]
    stage = replace(
        statement,
        entry=number,
        status="open",
        problem=statement.problem or told[0],
        before=tuple(source.path for source in before.sources),
    )
    sections: dict[str, Iterable[str]] = {
        "Baseline": [*told, *map(bound, before.groups[:KERNELS])],
        "Hypothesis": [stage.hypothesis or NOT_STATED],
        "Predictions, open": stage.predictions,
    }
    return _written(stage, {}, sections)


def bound(group: Group) -> str:
    """What a kernel could gain, as its report says it."""
    return f"{group.result.measurement.name}: {said.gain(group.result)}"


def _written(stage: Stage, more: dict[str, Any], sections: dict[str, Iterable[str]]) -> str:
    head: dict[str, Any] = {"schema": SCHEMA, "roofline": __version__}
    head |= {key: value for key, value in msgspec.to_builtins(stage).items() if value} | more
    yaml = [f"{key}: {msgspec.json.encode(value).decode()}" for key, value in cleaned(head).items()]
    lines = ["---", *yaml, "---", "", f"# Experiment {stage.entry}: {escaped(stage.problem or '')}"]
    for title, body in sections.items():
        if told := [f"- {escaped(line)}" for line in body]:
            lines += ["", f"## {title}", "", *told]
    return "\n".join(lines) + "\n"


def _limited(pair: KernelPair) -> str:
    limit = words.limit(pair.before)
    took = numbers.duration(pair.before.measured.duration_s)
    return f"{took}, " + (limit if limit == "unknown" else f"limited by {limit}")


def stage_of(comparison: Comparison, statement: Stage) -> Stage:
    """What was stated of a change, with what came of it."""
    pairs, program = comparison.pairs, comparison.program
    before, after = comparison.sides
    differ = (check.text for check in comparison.checks if check.level == "warning")
    doubtful = [
        f"{pair.after.measured.name}: {note_text(one)}"
        for pair in pairs
        for one in pair.notes
        if one.code == "work_unknown"
    ]
    most = max(after, key=waste_s)
    waste = " and ".join(said.wasted_kinds(most.result)) if waste_s(most) else None
    return replace(
        statement,
        status="closed",
        before=comparison.before.sources,
        after=comparison.after.sources,
        launches=comparison.launches if comparison.judged else None,
        counts=comparison.counts,
        program=None if program is None else (program.before_s, program.after_s),
        figures=() if program is None else program.figures,
        correctness=comparison.correctness,
        before_s=comparison.before_paired_s,
        after_s=comparison.after_paired_s,
        sure=comparison.gain,
        left_out=comparison.left_out,
        whole_s=comparison.whole_s,
        warnings=(*words.unread(comparison), *map(note_text, differ), *doubtful[:KERNELS]),
        judged=tuple(_judged(comparison, statement.predictions)),
        predictions=(),
        evidence=f"{pairs[0].after.measured.name}: {words.sentence(pairs[0])}",
        waste=waste and f"{most.measured.name} without {waste}",
        first_before=first_of(before),
        first_after=first_of(after),
        at_ceilings=at_ceilings(after),
    )


def _judged(comparison: Comparison, before: Collection[str]) -> Iterator[Judged]:
    """What the user expected, of kernels and of the step, ``before`` or now, and what came."""
    for pair in comparison.pairs:
        for q in pair.predictions:
            if q.by == "user":
                claim, kernel = note_text(q.claim), pair.after.measured.name
                late = claim not in before
                yield Judged(claim=claim, judgement=q.judgement, kernel=kernel, late=late)
    for told in comparison.notes:
        judgement = told.facts.get("judgement", "not_testable")
        claim = note_text(told.facts["claim"])
        yield Judged(claim=claim, judgement=judgement, late=claim not in before)


def _kernel(pair: KernelPair) -> dict[str, Any]:
    before, after = pair.before, pair.after
    return {
        "before": before.measured.name,
        "after": after.measured.name,
        "outcome": pair.outcome,
        "cause": pair.cause.code,
        "before_s": before.measured.duration_s,
        "after_s": after.measured.duration_s,
        "speedup": None if pair.timing is None else pair.timing.speedup,
        "limiter_before": before.verdict.limiter or before.verdict.bound,
        "limiter_after": after.verdict.limiter or after.verdict.bound,
        "predictions": [
            {"claim": note_text(q.claim), "judgement": q.judgement} for q in pair.predictions
        ],
    }


def _sections(comparison: Comparison, stage: Stage) -> dict[str, Iterable[str]]:
    pairs = comparison.pairs[:KERNELS]
    program = comparison.program
    return {
        "Baseline": [words.title(comparison), _limited(pairs[0])],
        "Hypothesis": [stage.hypothesis or ""],
        "Intervention": [stage.intervention or ""],
        "Correctness": _correctness(comparison),
        "Measured change": [
            words.totals(comparison),
            *(f"{p.after.measured.name}: {words.sentence(p)}" for p in pairs),
            *([] if program is None else [note_text(program.text)]),
        ],
        "Predictions": [
            *(
                f"{p.after.measured.name}: {words.prediction(q)}"
                for p in pairs
                for q in p.predictions
            ),
            *map(note_text, comparison.notes),
            *_stated(stage),
        ],
        "Side effects": [
            *(f"{p.after.measured.name}: {line}" for p in pairs for line in words.side_effects(p)),
            *words.unpaired(comparison.left_out),
            *([] if program is None else map(figure, program.figures)),
            f"looked at: {words.LOOKED_AT}",
        ],
        "Environment": _environment(comparison),
    }


def _stated(stage: Stage) -> Iterator[str]:
    """Which predictions were written down when, and what speaks against that."""
    for late in (False, True):
        claims = "; ".join(dict.fromkeys(one.claim for one in stage.judged if one.late is late))
        when = "now, with the result" if late else f"{stage.stated}, in entry {stage.closes}"
        if claims:
            yield f"stated {when}: {claims}"
    yield from doubts(stage)


def _correctness(comparison: Comparison) -> Iterator[str]:
    done = comparison.correctness
    if done is None:
        yield "not checked (--check runs a command)"
    else:
        how = "passed" if done.passed else f"FAILED ({words.check_failed(done)})"
        yield f"{done.command}: {how} in {done.seconds:.1f} s"


def _environment(comparison: Comparison) -> Iterator[str]:
    for side, info in (("before", comparison.before), ("after", comparison.after)):
        told = [f"{names.words(key)} {value}" for key, value in info.settings.items()]
        facts = [*info.devices, *(f"ncu {v}" for v in info.ncu_versions), *told]
        yield f"{side}: {', '.join(facts) or 'nothing recorded'}"
    for check in comparison.checks:
        prefix = "" if check.level == "info" else f"{check.level}: "
        yield f"{prefix}{note_text(check.text)}"
    yield f"roofline {__version__}; times measured under ncu"
