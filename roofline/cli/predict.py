"""``roofline predict``: what a change should do, written down before anybody makes it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path

from roofline.cli import options as opt
from roofline.cli.compare import analyze_side, now
from roofline.cli.errors import say
from roofline.cli.options import File, Judging
from roofline.compare.history import Stage, seal_of
from roofline.compare.predictions import Expectation, excludes, parse_claim, parse_expect
from roofline.compare.record import add_record, check_record, digest_of
from roofline.errors import InputError, UsageError
from roofline.patterns import select

_SHOWN = 3  # kernels whose bound is said


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictOptions:
    """``roofline predict``."""

    report: Path = opt.argument("BEFORE", type=File())
    expect: tuple[Expectation, ...] = opt.judged("--expect KERNEL=VALUE...", type=parse_expect)
    because: tuple[Expectation, ...] = opt.judged("--because [KERNEL=]CAUSE...", type=parse_claim)
    judging: Judging = opt.shared(Judging)
    record: Path = opt.written("--record FILE.md", required=True)
    problem: str | None = opt.written("--problem TEXT")
    hypothesis: str | None = opt.written("--hypothesis TEXT")
    intervention: str | None = opt.written("--intervention TEXT")


@opt.typed_command(PredictOptions, "predict")
def command(options: PredictOptions) -> int:
    """Write down what a change should give, before it is made."""
    if not options.expect and not options.because:
        raise UsageError("nothing is predicted", hint="--expect gemm=1.3x..1.5x")
    check_record(options.record)
    before = analyze_side(options.report, options.judging)
    digest = digest_of(before)
    if digest is None:
        raise UsageError("a prediction is about a capture", hint="an .ncu-rep file as BEFORE")
    measured = [group.result.measurement for group in before.groups]
    names = [(m.name, m.demangled) for m in measured]
    meant: dict[int, None] = {}
    told = []
    for item in (*options.expect, *options.because):
        places = range(len(names)) if item.pattern is None else select(item.pattern, names)
        meant |= dict.fromkeys(places)
        verdicts = [before.groups[i].result.verdict for i in places]
        if (code := item.proven_cause) and code not in {c.code for v in verdicts for c in v.causes}:
            refuted = all(excludes(verdict, code) for verdict in verdicts)
            then = "no cause of BEFORE, so compare would refute it"
            lacks = "BEFORE lacks what tells it, so compare could not test it"
            told.append(f"{item.text}: {then if refuted else lacks}")
        if item.pattern is not None and not places:
            raise UsageError(
                f"no kernel of BEFORE is named {item.pattern!r}",
                hint=f"one of {', '.join(dict.fromkeys(m.name for m in measured[:5]))}",
            )
    from roofline.render.record import bound, open_entry

    statement = Stage(
        recorded=now(),
        problem=options.problem,
        hypothesis=options.hypothesis,
        intervention=options.intervention,
        predictions=(
            *(f"--expect {item.text}" for item in options.expect),
            *(f"--because {item.text}" for item in options.because),
        ),
        digest=digest,
    )
    statement = replace(statement, seal=seal_of(statement))
    number = add_record(options.record, lambda n: open_entry(before, statement, n))
    for line in (*told, *(bound(before.groups[i]) for i in [*meant][:_SHOWN])):
        say(line)
    then = shlex.join(["compare", str(options.report), "AFTER", "--record", str(options.record)])
    say(f"entry {number} of {options.record}: open; after the change: roofline {then}")
    return InputError.exit_code if before.unread else 0
