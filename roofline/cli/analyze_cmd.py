"""``roofline analyze``: saved reports to a ranked answer."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from roofline.choose import Choice
from roofline.cli import options
from roofline.cli.answer import Request, answer, check
from roofline.cli.progress import reading
from roofline.errors import InputError


@click.command("analyze")
@options.reports
@options.all_of(
    options.output_format,
    options.output,
    options.plot,
    options.force,
    options.launches,
    options.explain,
    *options.CHOOSING,
    *options.JUDGING,
)
@click.pass_context
def command(ctx: click.Context, /, reports: tuple[Path, ...], **given: Any) -> None:
    """Rank the kernels of saved reports and name what limits each.

    REPORT is an .ncu-rep file, a folder (searched through) or a glob pattern. Launches of the
    same kernel, grid, block and GPU are one row; times are under the profiler. A file that cannot
    be read is named on stderr, the others are shown, and the exit code is 3.

    \b
    Examples:
      roofline analyze report.ncu-rep
      roofline analyze runs/ --kernel gemm --top 5
      roofline analyze report.ncu-rep --explain sgemm
      roofline analyze report.ncu-rep --format json --output analysis.json
      roofline analyze report.ncu-rep --launches --format csv > launches.csv
      roofline analyze report.ncu-rep --plot roofline.png
    """
    request = _request(given)
    check(request)
    failures = _analyze_and_answer(reports, request, given["specs"], given["peaks"])
    if failures:
        ctx.exit(InputError.exit_code)


def _analyze_and_answer(
    reports: tuple[Path, ...], request: Request, specs: Path | None, peaks: Path | None
) -> int:
    """Show what could be read and say what could not; the number of failures."""
    from roofline.achieved import load_achieved
    from roofline.analysis import analyze

    achieved = None if peaks is None else load_achieved(peaks)
    failures: list[InputError] = []
    try:
        with reading() as tell:
            analysis = analyze(
                *reports,
                specs=specs,
                achieved=achieved,
                latency_threshold=request.latency_threshold,
                balance=request.balance,
                on_error=failures.append,
                on_progress=tell,
            )
    except InputError as error:  # nothing could be read; the failures say why, if there are any
        failures = failures or [error]
        analysis = None
    for failure in failures:
        click.echo(f"roofline: {failure}", err=True)
    if analysis is not None:
        answer(analysis, request)
    return len(failures)


def _request(given: dict[str, Any]) -> Request:
    pattern: re.Pattern[str] | None = given["kernel"]
    share: float | None = given["min_share"]
    return Request(
        choice=Choice(
            kernel=pattern,
            device=given["device"],
            min_share=None if share is None else share / 100,
            top=given["top"],
            sort=given["sort"],
            launches=given["launches"],
        ),
        output_format=given["output_format"],
        output=given["output"],
        plot=given["plot"],
        force=given["force"],
        explain=given["explain"],
        latency_threshold=given["latency_threshold"],
        balance=given["balance"],
    )
