"""``roofline compare``: two captures to what changed, why, and whether CI may pass."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from roofline.cli import comparing, comparing_options, options
from roofline.cli.answer import Request, color, width, write
from roofline.cli.reports import judging
from roofline.errors import GateError, InputError, UsageError
from roofline.files import refuse_overwrite, write_text
from roofline.model import Analysis

if TYPE_CHECKING:
    from roofline.compare.gates import Gate
    from roofline.compare.model import Comparison
    from roofline.compare.record import Statement


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sides:
    """Both sides read; ``unreadable`` counts files that were not, ``baseline`` is its place."""

    before: Analysis | None
    after: Analysis
    unreadable: int
    baseline: Path | None


@click.command("compare")
@click.argument("reports", metavar="BEFORE AFTER", nargs=-1, type=comparing_options.FILE)
@options.all_of(
    *comparing_options.COMPARING,
    *comparing_options.GATES,
    *comparing_options.RECORD,
    *comparing_options.TIMES,
    comparing_options.output_format,
    comparing_options.top,
    options.output,
    options.plot,
    options.force,
    *options.JUDGING,
)
@click.pass_context
def command(ctx: click.Context, /, reports: tuple[Path, ...], **given: Any) -> None:
    """Say what changed between two captures, and whether the prediction held.

    BEFORE and AFTER are .ncu-rep files, folders, quoted glob patterns or baselines (.json); with
    --baseline only AFTER is named. Kernels are paired across renames, times compared at equal
    clocks and within the noise, and captures that do not compare are refused (exit code 2). Exit
    code 1: a gate or the check failed. Exit code 3: a file could not be read.

    \b
    Examples:
      roofline compare before.ncu-rep after.ncu-rep
      roofline compare before.ncu-rep after.ncu-rep --expect gemm=1.4x --because bandwidth
      roofline compare before.ncu-rep after.ncu-rep --fail-on regression=5% --junit gates.xml
      roofline compare --baseline perf/ after.ncu-rep --fail-on 'gemm: time>120us'
      roofline compare v1.ncu-rep v2.ncu-rep --record log.md --check 'pytest -q tests/test_gemm.py'
    """
    request = Request(
        output_format=given["output_format"] if _typed(ctx, "output_format") else None,
        output=given["output"],
        plot=given["plot"],
        force=given["force"],
    )
    gates = _check_options(given, request)
    sides = _read(reports, given)
    if sides.before is None:
        _update_baseline(sides)
        return
    comparison = _compare(sides.before, sides.after, given, gates)
    _answer(comparison, request, given)
    _report_gates(comparison)
    if given["update_baseline"]:
        _update_baseline(sides)
    if sides.unreadable:
        ctx.exit(InputError.exit_code)


def _typed(ctx: click.Context, name: str) -> bool:
    return ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def _check_options(given: dict[str, Any], request: Request) -> tuple[Gate, ...]:
    """Refuse at once what would fail after long work; the gates, parsed."""
    from roofline.compare.gates import parse_gate
    from roofline.compare.record import check_record

    if request.format not in ("table", "json", "markdown"):
        raise UsageError(
            f"a comparison cannot be written as {request.format}", hint="--format json"
        )
    for path in (request.file, given["plot"], given["junit"]):
        if path is not None:
            refuse_overwrite(path, force=given["force"])
    if given["plot"] is not None:
        from roofline.plot import check_path

        check_path(given["plot"], force=given["force"], option="--plot")
    if given["record"] is not None:
        check_record(given["record"])
    if given["update_baseline"] and given["baseline"] is None:
        raise UsageError("--update-baseline needs a folder", hint="--baseline DIR")
    if (given["time_before"] is None) != (given["time_after"] is None):
        raise UsageError("one timing compares with nothing", hint="--time-before F --time-after F")
    comparing.parse_maps(given["maps"])
    comparing.parse_expectations(given)
    return tuple(map(parse_gate, given["fail_on"]))


def _read(reports: Sequence[Path], given: dict[str, Any]) -> _Sides:
    how = judging(given)
    wanted = 2 if given["baseline"] is None else 1
    if len(reports) != wanted:
        names = "BEFORE and AFTER" if wanted == 2 else "AFTER alone, as BEFORE is the baseline"
        raise UsageError(
            f"{len(reports)} captures were named",
            why=f"compare takes {names}",
            hint="a folder or a quoted glob pattern holds several reports of one side",
        )
    if given["baseline"] is None:
        before, missed = comparing.analyze_side(reports[0], how)
        after, more = comparing.analyze_side(reports[1], how)
        return _Sides(before=before, after=after, unreadable=missed + more, baseline=None)
    from roofline.compare.baseline import baseline_path, load_baseline

    after, missed = comparing.analyze_side(reports[0], how)
    place = baseline_path(given["baseline"], after)
    first = given["update_baseline"] and not place.exists()
    before_ = None if first else load_baseline(place)
    return _Sides(before=before_, after=after, unreadable=missed, baseline=place)


def _compare(
    before: Analysis, after: Analysis, given: dict[str, Any], gates: Sequence[Gate]
) -> Comparison:
    """The comparison with everything that options add to it."""
    from roofline.compare.gates import judge
    from roofline.compare.judge import compare, judge_program

    comparison = compare(before, after, comparing.compare_options(given, before))
    if given["time_before"] is not None:
        from roofline.timing import read_times

        timed = (read_times(given[name]) for name in ("time_before", "time_after"))
        comparison = replace(comparison, program=judge_program(*timed))
    if given["check"] is not None:
        from roofline.compare.record import run_check

        outcome, printed = run_check(given["check"])
        if not outcome.passed:
            click.echo(printed[-4000:], err=True)
        comparison = replace(comparison, correctness=outcome)
    return replace(comparison, gates=judge(comparison, gates))


def _answer(comparison: Comparison, request: Request, given: dict[str, Any]) -> None:
    """Everything that is written: the answer, the picture, the record, what CI reads."""
    write([_text(comparison, request, given["top"])], request)
    if request.plot is not None:
        comparing.draw(comparison, {request.plot: "light"}, force=request.force)
    if given["junit"] is not None:
        from roofline.render.ci import junit

        write_text(given["junit"], junit(comparison), force=given["force"])
    if given["record"] is not None:
        from roofline.compare.record import add_record
        from roofline.render.record import entry

        statement = _statement(given)
        number = add_record(given["record"], lambda n: entry(comparison, statement, n))
        click.echo(f"roofline: entry {number} of {given['record']}", err=True)
    _for_github(comparison)


def _text(comparison: Comparison, request: Request, top: int) -> str:
    if request.format == "json":
        from roofline.render import comparison_json

        return comparison_json.render(comparison)
    if request.format == "markdown":
        from roofline.render import pull_request

        return pull_request.render(comparison, limit=top)
    from roofline.render import comparison as table

    return table.render(comparison, width=width(request), color=color(request), limit=top)


def _statement(given: dict[str, Any]) -> Statement:
    from datetime import UTC, datetime

    from roofline.compare.record import Statement

    return Statement(
        when=datetime.now(UTC).isoformat(timespec="seconds"),
        problem=given["problem"],
        hypothesis=given["hypothesis"],
        intervention=given["intervention"],
    )


def _for_github(comparison: Comparison) -> None:
    """Annotations and the step's summary, where GitHub Actions runs this."""
    if os.environ.get("GITHUB_ACTIONS") == "true":
        from roofline.render.ci import github

        for line in github(comparison):
            click.echo(line, err=True)
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        from roofline.render import pull_request

        try:
            with Path(summary).open("a", encoding="utf-8") as file:
                file.write(pull_request.render(comparison))
        except OSError as error:
            click.echo(f"roofline: no step summary: {error.strerror}", err=True)


def _report_gates(comparison: Comparison) -> None:
    """Raise where something must not pass.

    Raises:
        GateError: a gate failed or was not judged, or the check failed.

    """
    from roofline.compare.gates import failed
    from roofline.render.comparison import gate

    bad = failed(comparison.gates)
    said = [f"{len(bad)} of {len(comparison.gates)} gate checks failed"] if bad else []
    if comparison.correctness is not None and not comparison.correctness.passed:
        said.append(f"the check failed: {comparison.correctness.command}")
    if said:
        raise GateError("; ".join(said), details=[gate(g) for g in bad[:20]])


def _update_baseline(sides: _Sides) -> None:
    from roofline.compare.baseline import save_baseline

    assert sides.baseline is not None
    made = "new" if sides.before is None else "updated"
    save_baseline(sides.baseline, sides.after)
    click.echo(f"roofline: {made} baseline {sides.baseline}", err=True)
