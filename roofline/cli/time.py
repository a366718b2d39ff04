"""``roofline time``: what a program takes when nothing measures inside it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from roofline import wall_time
from roofline.capture.machine import look
from roofline.cli import options as opt
from roofline.cli.errors import say
from roofline.cli.options import PROGRAM
from roofline.cli.output import Output, answer_in, progress
from roofline.process import run_quietly

FORMATS = ("table", "json")


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeOptions:
    """``roofline time``."""

    repeats: int = opt.amount("--repeats N", "Measured runs.", default=20)
    warmup: int = opt.amount("--warmup COUNT", "Runs before them, not measured.", default=3)
    timeout: float = opt.amount(
        "--timeout SECONDS", "End a run that takes longer, as a failure.", default=3600.0
    )
    metric: re.Pattern[str] | None = opt.written(
        "--metric RE",
        "The program's own number in its output: the first group, or the first number in "
        "the match. The last match counts.",
    )
    output: Output = answer_in(*FORMATS)
    program: tuple[str, ...] = opt.argument("[--] PROGRAM [ARGS]...", **PROGRAM)


@opt.typed_command(TimeOptions, "time", allow_interspersed_args=False)
def command(options: TimeOptions) -> None:
    """Measure a program without a profiler.

    \b
    Examples:
      roofline time python bench.py
      roofline time --repeats 50 --metric 'tokens/s: ([0-9.]+)' -- python bench.py --batch 8
      roofline time -o before.json ./app

    Under ncu, clocks are locked, caches are flushed and kernels run several times. This command
    runs the program several times without ncu, hides its output, and prints median, 95th
    percentile and spread of the wall time. It needs no GPU.
    """
    output = options.output
    output.check(FORMATS)
    machine = look()  # before the runs, so that what it loads is not timed
    with progress("runs", verb="Timing") as tell:
        times = wall_time.time_program(
            options.program,
            lambda argv: run_quietly(argv, timeout_s=options.timeout),
            repeats=options.repeats,
            warmup=options.warmup,
            metric=options.metric,
            tell=tell,
        )
    around = wall_time.environment([gpu.name for gpu in machine.gpus], machine.driver)
    times = replace(times, environment=around)
    table = wall_time.table(times)
    output.write(wall_time.to_json(times) if output.format == "json" else table)
    if output.file is not None:
        say(f"{table}Wrote {output.file}", prefix="")
