"""``roofline time``: what a program takes when nothing measures inside it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Event, Thread
from typing import TYPE_CHECKING

from roofline import wall_time
from roofline.capture.machine import look
from roofline.cli import options as opt
from roofline.cli.errors import say
from roofline.cli.options import PROGRAM
from roofline.cli.output import Output, answer_in, progress
from roofline.errors import UsageError, one_line
from roofline.patterns import command_words
from roofline.process import run_quietly

if TYPE_CHECKING:
    from roofline.compare.gates import Gate
    from roofline.compare.model import GateResult

FORMATS = ("table", "json")


def _gate(text: str) -> Gate:
    """A condition on the program's time."""
    from roofline.compare.gates import parse_gate

    gate = parse_gate(text)
    if gate.what != "program":
        hint = "roofline compare BEFORE AFTER --fail-on; here: program=5%, 'NAME: program=5%'"
        raise UsageError(f"--fail-on {text!r} is not of the program's time", hint=hint)
    return gate


# To the first look at clocks and power, and between two: often would slow down what is timed.
_FIRST_S, _EACH_S = 0.5, 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeOptions:
    """``roofline time``."""

    repeats: int = opt.amount("--repeats N", default=20)
    warmup: int = opt.amount("--warmup COUNT", default=3)
    timeout: float = opt.amount("--timeout SECONDS", default=3600.0)
    metrics: tuple[wall_time.Metric, ...] = opt.written(
        "--metric [NAME=]RE...", type=wall_time.parse_metric
    )
    against: str | None = opt.judged("--against COMMAND")
    gates: tuple[Gate, ...] = opt.judged("--fail-on CONDITION...", type=_gate)
    output: Output = answer_in(*FORMATS)
    program: tuple[str, ...] = opt.argument("[--] PROGRAM [ARGS]...", **PROGRAM)


@opt.typed_command(TimeOptions, "time", allow_interspersed_args=False)
def command(options: TimeOptions) -> None:
    """Measure a program without a profiler."""
    output = options.output
    output.check(FORMATS)
    against = command_words(options.against or "", "--against")
    if options.against is not None and not against:
        raise UsageError("--against names no program", hint="--against 'python old.py'")
    _check_gates(options)
    machine = look()  # before the runs, so that what it loads is not timed
    with progress("runs", verb="Timing") as tell, _watched(bool(machine.gpus)) as samples:
        times = wall_time.time_program(
            options.program,
            lambda argv: run_quietly(argv, timeout_s=options.timeout),
            repeats=options.repeats,
            warmup=options.warmup,
            metrics=options.metrics,
            against=against,
            tell=tell,
        )
    around = replace(
        wall_time.environment([gpu.name for gpu in machine.gpus], machine.driver),
        sm_clock_hz=_span(samples, "sm_clock_hz"),
        power_w=_span(samples, "power_w"),
    )
    inside = wall_time.instrumentation(os.environ, tuple(wall_time.ancestors()))
    times = replace(times, environment=around, instrumented=inside)
    from roofline.render.times import render, to_json

    judged: tuple[GateResult, ...] = ()
    if options.gates:
        from roofline.compare.gates import judge
        from roofline.compare.judge import judge_program

        judged = judge(judge_program(None, times), options.gates)
    table = render(times, judged)
    output.write(to_json(times, judged) if output.format == "json" else table)
    if output.file is not None:
        say(f"{table}Wrote {one_line(str(output.file))}", prefix="")
    if judged:
        from roofline.cli.compare import for_github, report_gates
        from roofline.render.ci import gate_errors

        for_github(gate_errors(judged), lambda: f"```\n{table}```\n")
        report_gates(judged)


def _check_gates(options: TimeOptions) -> None:
    """Refuse before the runs what could not be judged after them."""
    if options.gates and not options.against:
        hint = "--against 'python old.py'; or two timings to roofline compare --fail-on"
        raise UsageError("--fail-on has nothing to compare with", hint=hint)
    judged = {"wall time", *(metric.name for metric in options.metrics if metric.better)}
    for gate in options.gates:
        if gate.pattern is not None and gate.pattern not in judged:
            what = f"--fail-on {gate.text!r}: no --metric of this name says which way is better"
            raise UsageError(what, hint=f"--metric '{gate.pattern}<=RE' or '{gate.pattern}>=RE'")


@contextmanager
def _watched(gpu: bool) -> Iterator[list[dict[str, float]]]:
    """Clocks and power now and then while the block runs, of the GPU that is busiest."""
    samples: list[dict[str, float]] = []
    ended = Event()

    def watch() -> None:
        from roofline.specs.measure import QUERY, parse_smi

        argv = ("nvidia-smi", QUERY, "--format=csv,noheader,nounits")
        wait_s = _FIRST_S
        while not ended.wait(wait_s):
            wait_s = _EACH_S
            done = run_quietly(argv, timeout_s=20)
            if done is not None and done.code == 0:
                each = [parse_smi(line) for line in done.stdout.splitlines() if line.strip()]
                samples.extend(sorted(each, key=lambda one: one.get("power_w", 0.0))[-1:])

    thread = Thread(target=watch, daemon=True)
    if gpu:
        thread.start()
    try:
        yield samples
    finally:
        ended.set()
        if gpu:
            thread.join()


def _span(samples: Sequence[Mapping[str, float]], name: str) -> tuple[float, float] | None:
    values = [one[name] for one in samples if name in one]
    return (min(values), max(values)) if values else None
