"""``roofline analyze``: saved reports to a ranked answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from roofline.cli import options
from roofline.cli.answer import answer, check, request_of
from roofline.cli.reports import analyze_reports, judging
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
    options.timeline,
    options.step,
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
      roofline analyze report.ncu-rep --explain 1
      roofline analyze report.ncu-rep --explain sgemm
      roofline analyze report.ncu-rep --format json --output analysis.json
      roofline analyze report.ncu-rep --launches --format csv > launches.csv
      roofline analyze report.ncu-rep --plot roofline.png
      roofline analyze report.ncu-rep --timeline trace.json.gz
    """
    request = replace(request_of(given), choice=options.choice(given), output=given["output"])
    check(request)
    analysis, failures = analyze_reports(reports, judging(given))
    if analysis is not None:
        answer(analysis, request)
    if failures:
        ctx.exit(InputError.exit_code)
