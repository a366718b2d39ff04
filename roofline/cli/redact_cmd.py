"""``roofline redact``: a report that one may attach to a pull request."""

from __future__ import annotations

from pathlib import Path

import click

from roofline.cli import options
from roofline.reports.redact import Redaction, redact


@click.command("redact")
@click.argument("report", type=options.File(), metavar="REPORT")
@click.option(
    "-o",
    "--output",
    type=options.File(),
    required=True,
    help="File to write; an ending of .ncu-repz compresses it.",
)
@click.option(
    "--keep-sass",
    is_flag=True,
    help="Keep the machine code, without its debug information. Old reports need it to count "
    "tensor operations.",
)
@click.option("--force", is_flag=True, help="Write over a file that exists.")
def command(report: Path, output: Path, *, keep_sass: bool, force: bool) -> None:
    """Copy a report without anything personal in it.

    Host, user, addresses, paths, command line, environment, comments, call stacks, source text
    and machine code are left out. Every measured value, kernel name and NVTX range stays.

    \b
    Examples:
      roofline redact profile.ncu-rep -o share.ncu-rep
      roofline redact profile.ncu-rep -o share.ncu-repz --keep-sass
    """
    click.echo(_said(output, redact(report, output, keep_sass=keep_sass, force=force)), err=True)


def _said(output: Path, done: Redaction) -> str:
    results = "1 result" if done.results == 1 else f"{done.results} results"
    left_out = sorted(what for what, count in done.left_out.items() if count)
    if done.paths:
        left_out.append(f"paths in {done.paths} texts, down to their last part")
    lines = [f"{output}: {results} with all metrics", "Left out:"]
    lines += [f"  {what}" for what in left_out or ["nothing: there was nothing personal to find"]]
    lines.append("Kernel names and NVTX ranges are still in it: read them before you share.")
    return "\n".join(lines)
