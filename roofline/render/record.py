"""An entry of the experiment record: a YAML head for machines, then Markdown for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from roofline import __version__
from roofline.compare.history import facts_of
from roofline.compare.model import Comparison, KernelPair
from roofline.compare.record import NOT_STATED, SCHEMA, Statement
from roofline.foreign import cleaned
from roofline.model import Analysis
from roofline.render import comparison as words
from roofline.render.markdown import escaped
from roofline.text import names, numbers
from roofline.text import verdict as said
from roofline.text.notes import note_text

KERNELS = 10


def entry(comparison: Comparison, statement: Statement, number: int = 1) -> str:
    """One entry: a YAML document, every value of it JSON, then a section a subject."""
    head: dict[str, Any] = dict(_stated(comparison, statement))
    closing = {"closes": statement.closes, "stated": statement.stated}
    head |= closing if statement.closes else {}
    head |= {"digest": statement.digest, "after_digest": statement.after_digest}
    head |= head_of(comparison)
    return _written(statement, number, head, _sections(comparison, head))


def open_entry(before: Analysis, statement: Statement, number: int = 1) -> str:
    """An entry of predictions before there is anything to judge them by."""
    first = before.groups[0].result
    problem = statement.problem or f"{first.measurement.name}: {said.hint(first)}"
    head: dict[str, Any] = {
        "problem": problem,
        "hypothesis": statement.hypothesis or NOT_STATED,
        "intervention": statement.intervention or NOT_STATED,
        "status": "open",
        "before": [source.path for source in before.sources],
        "digest": statement.digest,
        "predictions": statement.predictions,
        "roofline": __version__,
    }
    sections: dict[str, Iterable[str]] = {
        "Baseline": [
            f"{g.result.measurement.name}: {said.hint(g.result)}" for g in before.groups[:KERNELS]
        ],
        "Hypothesis": [head["hypothesis"]],
        "Predictions, open": statement.predictions,
    }
    return _written(statement, number, head, sections)


def _written(
    statement: Statement, number: int, stated: dict[str, Any], sections: dict[str, Iterable[str]]
) -> str:
    head = {"schema": SCHEMA, "entry": number, "recorded": statement.when, **stated}
    yaml = [f"{key}: {msgspec.json.encode(value).decode()}" for key, value in cleaned(head).items()]
    lines = ["---", *yaml, "---", "", f"# Experiment {number}: {escaped(stated['problem'])}"]
    for title, body in sections.items():
        if told := [f"- {escaped(line)}" for line in body]:
            lines += ["", f"## {title}", "", *told]
    return "\n".join(lines) + "\n"


def _stated(comparison: Comparison, statement: Statement) -> dict[str, str]:
    """The experimenter's words, or what the captures and expectations say in their place."""
    main = comparison.pairs[0]
    claims = [note_text(q.claim) for p in comparison.pairs for q in p.predictions if q.by == "user"]
    return {
        "problem": statement.problem or f"{main.before.measured.name}: {_limited(main)}",
        "hypothesis": statement.hypothesis or "; ".join(dict.fromkeys(claims)) or NOT_STATED,
        "intervention": statement.intervention or NOT_STATED,
    }


def _limited(pair: KernelPair) -> str:
    limit = words.limit(pair.before)
    took = numbers.duration(pair.before.measured.duration_s)
    return f"{took}, " + (limit if limit == "unknown" else f"limited by {limit}")


def head_of(comparison: Comparison) -> dict[str, Any]:
    """What an entry, or a stage of a history, says of a comparison."""
    before, after, done = comparison.before, comparison.after, comparison.correctness
    return {
        "before": before.sources,
        "after": after.sources,
        "devices": after.devices,
        "ncu": tuple(dict.fromkeys(before.ncu_versions + after.ncu_versions)),
        "roofline": __version__,
        "counts": comparison.counts,
        "program": None if (p := comparison.program) is None else [p.before_s, p.after_s],
        "before_s": comparison.before_paired_s,
        "after_s": comparison.after_paired_s,
        "correctness": None if done is None else {"command": done.command, "passed": done.passed},
        "judged": list(_judged(comparison)),
        "evidence": words.sentence(comparison.pairs[0]),
        **facts_of(comparison),
        "kernels": [_kernel(p) for p in comparison.pairs[:KERNELS]],
    }


def _judged(comparison: Comparison) -> Iterator[dict[str, Any]]:
    """What the user expected, of kernels and of the step, and how it came out."""
    for pair in comparison.pairs:
        for q in pair.predictions:
            if q.by == "user":
                claim = {"claim": note_text(q.claim), "judgement": q.judgement}
                yield claim | {"kernel": pair.after.measured.name}
    for said_ in comparison.notes:
        judgement = said_.facts.get("judgement", "not_testable")
        yield {"claim": note_text(said_.facts["claim"]), "judgement": judgement, "kernel": None}


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


def _sections(comparison: Comparison, stated: dict[str, Any]) -> dict[str, Iterable[str]]:
    pairs = comparison.pairs[:KERNELS]
    program = comparison.program
    return {
        "Baseline": [words.title(comparison), _limited(pairs[0])],
        "Hypothesis": [stated["hypothesis"]],
        "Intervention": [stated["intervention"]],
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
            *(
                [f"stated {stated['stated']}, in entry {stated['closes']}"]
                if "closes" in stated
                else []
            ),
        ],
        "Side effects": [
            *(f"{p.after.measured.name}: {line}" for p in pairs for line in words.side_effects(p)),
            *words.unpaired(comparison),
        ],
        "Environment": _environment(comparison),
    }


def _correctness(comparison: Comparison) -> Iterator[str]:
    done = comparison.correctness
    if done is None:
        yield "not checked (--check runs a command)"
    else:
        yield f"{done.command}: {'passed' if done.passed else 'FAILED'} in {done.seconds:.1f} s"


def _environment(comparison: Comparison) -> Iterator[str]:
    for side, info in (("before", comparison.before), ("after", comparison.after)):
        told = [f"{names.words(key)} {value}" for key, value in info.settings.items()]
        facts = [*info.devices, *(f"ncu {v}" for v in info.ncu_versions), *told]
        yield f"{side}: {', '.join(facts) or 'nothing recorded'}"
    for check in comparison.checks:
        prefix = "" if check.level == "info" else f"{check.level}: "
        yield f"{prefix}{note_text(check.text)}"
    yield f"roofline {__version__}; times measured under ncu"
