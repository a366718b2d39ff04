"""``roofline time``: what a program takes when nobody measures inside it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import click

from roofline.cli import options
from roofline.cli.progress import reading


@click.command("time", context_settings={"allow_interspersed_args": False})
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Runs that count.",
)
@click.option(
    "--warmup",
    type=click.IntRange(min=0),
    default=3,
    show_default=True,
    help="Runs before them that do not.",
)
@click.option(
    "--metric",
    metavar="REGEX",
    type=options.Regex(),
    help="The program's own figure in what it prints: the first group, or the first number in "
    "the match. The last match counts.",
)
@click.option(
    "--limit",
    "limit_s",
    metavar="SECONDS",
    type=options.Number(min=0, min_open=True),
    default=3600.0,
    show_default=True,
    help="End a run that takes longer; it counts as failed.",
)
@click.option("--json", "as_json", is_flag=True, help="A JSON document instead of a table.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=options.File(),
    help="Write the JSON document there too.",
)
@options.force
@click.argument(
    "program", metavar="PROGRAM [ARGS]...", nargs=-1, required=True, type=click.UNPROCESSED
)
def command(
    repeats: int,
    warmup: int,
    metric: re.Pattern[str] | None,
    limit_s: float,
    as_json: bool,
    output: Path | None,
    force: bool,
    program: tuple[str, ...],
) -> None:
    """Measure a program without a profiler.

    Times under ncu are not the program's: clocks are locked, caches are flushed and kernels run
    again and again. This runs it as it is, several times, with its output kept back, and gives
    median, 95th percentile and spread of the wall time. A GPU is not needed.

    \b
    Examples:
      roofline time python bench.py
      roofline time --repeats 50 --metric 'tokens/s: ([0-9.]+)' -- python bench.py --batch 8
      roofline time --json ./app > before.json
    """
    from roofline import timing
    from roofline.capture.machine import look
    from roofline.files import refuse_overwrite, write_text
    from roofline.process import run_quietly

    if output is not None:
        refuse_overwrite(output, force=force)
    with reading("runs", verb="Timing") as tell:
        times = timing.time_program(
            program,
            lambda argv: run_quietly(argv, timeout_s=limit_s),
            repeats=repeats,
            warmup=warmup,
            metric=metric,
            tell=tell,
        )
    machine = look()
    around = timing.environment([gpu.name for gpu in machine.gpus], machine.driver)
    times = replace(times, environment=around)
    text = timing.to_json(times)
    if output is not None:
        write_text(output, text, force=force)
    click.echo(text if as_json else timing.table(times), nl=False)
