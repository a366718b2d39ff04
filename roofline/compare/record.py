"""The experiment record: a YAML head for machines and text for people, one entry a run, kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roofline import __version__
from roofline.compare.model import Comparison, Level, Pair
from roofline.errors import UsageError
from roofline.files import refuse_overwrite, write_text
from roofline.render import compare_words
from roofline.text import names, numbers

SCHEMA = "roofline.experiment/1"
NOT_STATED = "not stated"
KERNELS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What only the experimenter knows; ``when`` is a date and time in UTC (ISO 8601)."""

    when: str
    problem: str | None = None
    hypothesis: str | None = None
    intervention: str | None = None


def check_record(path: Path) -> None:
    """Refuse at once a file that is there and is no record.

    Raises:
        UsageError: ``path`` cannot be written, or holds something else.

    """
    refuse_overwrite(path, force=True)
    if path.is_file() and f'schema: "{SCHEMA}"' not in _text(path):
        raise UsageError(
            f"{path} is no experiment record", hint="another name; a record is only ever added to"
        )


def add_record(path: Path, comparison: Comparison, statement: Statement) -> int:
    """Add an entry to the record at ``path`` and return its number; what is there stays."""
    check_record(path)
    old = _text(path) if path.is_file() else ""
    number = old.count(f'schema: "{SCHEMA}"') + 1
    separator = "\n" if old else ""
    write_text(path, old + separator + entry(comparison, statement, number), force=True)
    return number


def entry(comparison: Comparison, statement: Statement, number: int = 1) -> str:
    """One entry: a YAML document, every value of it JSON, then Markdown."""
    head = [f"{key}: {json.dumps(value, allow_nan=False)}" for key, value in _head(comparison)]
    lines = [
        "---",
        f'schema: "{SCHEMA}"',
        f"entry: {number}",
        f'recorded: "{statement.when}"',
        *(f"{key}: {json.dumps(text)}" for key, text in _stated(comparison, statement)),
        *head,
        "---",
        "",
        *_body(comparison, statement, number),
    ]
    return "\n".join(lines) + "\n"


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot add to {path}", why=str(error)) from error


def _stated(comparison: Comparison, statement: Statement) -> list[tuple[str, str]]:
    """The experimenter's words, or what the captures and expectations say in their place."""
    main = comparison.pairs[0]
    claims = [q.claim for p in comparison.pairs for q in p.predictions if q.by == "user"]
    problem = statement.problem or f"{main.before.name}: {_limited(main)}"
    hypothesis = statement.hypothesis or "; ".join(dict.fromkeys(claims)) or NOT_STATED
    return [
        ("problem", problem),
        ("hypothesis", hypothesis),
        ("intervention", statement.intervention or NOT_STATED),
    ]


def _limited(pair: Pair) -> str:
    took = numbers.duration(pair.before.duration_s)
    limit = compare_words.limit(pair.before)
    return f"{took}, " + (limit if limit == "unknown" else f"limited by {limit}")


def _head(comparison: Comparison) -> Iterator[tuple[str, Any]]:
    yield "before", list(comparison.before.sources)
    yield "after", list(comparison.after.sources)
    yield "devices", list(comparison.after.devices)
    yield "ncu", list(dict.fromkeys(comparison.before.ncu_versions + comparison.after.ncu_versions))
    yield "roofline", __version__
    yield "counts", dict(comparison.counts)
    yield "before_s", comparison.before_paired_s
    yield "after_s", comparison.after_paired_s
    done = comparison.correctness
    checked = None if done is None else {"command": done.command, "passed": done.passed}
    yield "correctness", checked
    yield "kernels", [_kernel(p) for p in comparison.pairs[:KERNELS]]


def _kernel(pair: Pair) -> dict[str, Any]:
    return {
        "before": pair.before.name,
        "after": pair.after.name,
        "outcome": pair.outcome.value,
        "cause": pair.cause,
        "before_s": pair.before.duration_s,
        "after_s": pair.after.duration_s,
        "speedup": None if pair.timing is None else pair.timing.speedup,
        "limiter_before": pair.before.limiter or pair.before.bound.value,
        "limiter_after": pair.after.limiter or pair.after.bound.value,
        "predictions": [
            {"claim": q.claim, "judgement": q.judgement.value} for q in pair.predictions
        ],
    }


def _body(comparison: Comparison, statement: Statement, number: int) -> Iterator[str]:
    said = dict(_stated(comparison, statement))
    main = comparison.pairs[0]
    yield f"# Experiment {number}: {_plain(said['problem'])}"
    yield from _section("Baseline", [compare_words.title(comparison), _limited(main)])
    yield from _section("Hypothesis", [said["hypothesis"]])
    yield from _section("Intervention", [said["intervention"]])
    yield from _section("Correctness", list(_correctness(comparison)))
    yield from _section("Measured change", list(_measured(comparison)))
    yield from _section("Predictions", list(_predictions(comparison)))
    yield from _section("Side effects", list(_effects(comparison)))
    yield from _section("Environment", list(_environment(comparison)))


def _section(title: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield ""
        yield f"## {title}"
        yield ""
        yield from (f"- {_plain(line)}" for line in lines)


def _plain(text: str) -> str:
    """One line that Markdown does not take for HTML."""
    return names.printable(text).replace("<", "\\<")


def _correctness(comparison: Comparison) -> Iterator[str]:
    done = comparison.correctness
    if done is None:
        yield "not checked (--check runs a command)"
    else:
        yield f"{done.command}: {'passed' if done.passed else 'FAILED'} in {done.seconds:.1f} s"


def _measured(comparison: Comparison) -> Iterator[str]:
    yield compare_words.totals(comparison)
    for pair in comparison.pairs[:KERNELS]:
        yield f"{pair.after.name}: {pair.sentence}"
    if comparison.program is not None:
        yield comparison.program.text


def _predictions(comparison: Comparison) -> Iterator[str]:
    for pair in comparison.pairs[:KERNELS]:
        for q in pair.predictions:
            judged = names.words(q.judgement)
            yield f"{pair.after.name}: {q.claim}: {judged} ({q.reason})"


def _effects(comparison: Comparison) -> Iterator[str]:
    for pair in comparison.pairs[:KERNELS]:
        for line in compare_words.side_effects(pair):
            yield f"{pair.after.name}: {line}"
    yield from compare_words.unpaired(comparison)


def _environment(comparison: Comparison) -> Iterator[str]:
    for side, capture in (("before", comparison.before), ("after", comparison.after)):
        told = [f"{key.replace('_', ' ')} {value}" for key, value in capture.settings.items()]
        facts = [*capture.devices, *(f"ncu {v}" for v in capture.ncu_versions), *told]
        yield f"{side}: {', '.join(facts) or 'nothing recorded'}"
    for check in comparison.checks:
        prefix = "" if check.level is Level.INFO else f"{check.level}: "
        yield f"{prefix}{check.text}"
    yield f"roofline {__version__}; times are under the profiler"
