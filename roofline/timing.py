"""Timing a program without a profiler: many runs, and what is true of all of them."""

from __future__ import annotations

import os
import platform
import re
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from roofline import __version__
from roofline.errors import ProgramError, UsageError
from roofline.process import Completed
from roofline.text.numbers import duration
from roofline.typed import Typed

SCHEMA = "roofline.time/1"
_NUMBER = re.compile(r"[-+]?(?:\d[\d_,]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_LAST_LINES = 3

Run = Callable[[Sequence[str]], Completed | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Statistics of repeated values, in their own unit.

    ``p95`` interpolates between neighbours; ``spread`` is the distance between the quartiles
    over the median, which one slow run does not move; ``None`` for a single value.
    """

    values: tuple[float, ...]
    median: float
    p95: float
    minimum: float
    maximum: float
    mean: float
    spread: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """What repeated runs of a program gave: wall time in seconds, and its own figure if asked."""

    program: str
    repeats: int
    warmup: int
    wall_s: Summary
    metric: Summary | None = None
    metric_pattern: str | None = None


def time_program(
    program: Sequence[str],
    run: Run,
    *,
    repeats: int,
    warmup: int,
    metric: re.Pattern[str] | None = None,
    clock: Callable[[], float] = time.perf_counter,
    tell: Callable[[int, int], None] = lambda _done, _total: None,
) -> Timing:
    """Run ``program`` ``warmup`` times for nothing and ``repeats`` times for the record.

    ``metric`` finds the program's own figure in what it prints: its first group, or the first
    number in the match; the last match counts.

    Raises:
        UsageError: the program prints no such figure.
        ProgramError: it cannot be started, or it failed: in which run, and what those before took.

    """
    walls: list[float] = []
    figures: list[float] = []
    total = warmup + repeats
    for number in range(total):
        tell(number, total)
        began = clock()
        done = run(program)
        wall = clock() - began
        _refuse_failure(program, done, number - warmup, repeats, walls)
        assert done is not None
        figure = None if metric is None else find_figure(metric, done.stdout + done.stderr)
        if number >= warmup:
            walls.append(wall)
            if figure is not None:
                figures.append(figure)
    tell(total, total)
    return Timing(
        program=PurePath(program[0]).name,
        repeats=repeats,
        warmup=warmup,
        wall_s=summarize(walls),
        metric=summarize(figures) if figures else None,
        metric_pattern=None if metric is None else metric.pattern,
    )


def _refuse_failure(
    program: Sequence[str],
    done: Completed | None,
    number: int,
    repeats: int,
    walls: Sequence[float],
) -> None:
    """``number`` is that of the run, from 0; below 0 it is one for warming up."""
    name = PurePath(program[0]).name
    if done is None:
        raise ProgramError(
            f"{program[0]} cannot be started",
            hint="the path of an executable (./app for one in this folder)",
        )
    if done.code != 0:
        words = [line for line in done.stderr.splitlines() if line.strip()][-_LAST_LINES:]
        how = f"signal {-done.code}" if done.code < 0 else f"exit code {done.code}"
        run = "a warm-up run" if number < 0 else f"run {number + 1} of {repeats}"
        before = f"the runs before it took {', '.join(map(duration, walls))}"
        raise ProgramError(
            f"{name} failed with {how} in {run}",
            why="; ".join(words) or None,
            details=[before] if walls else (),
        )


def find_figure(pattern: re.Pattern[str], text: str) -> float:
    """The program's own figure in its output.

    Raises:
        UsageError: the pattern matches nothing, or no number.

    """
    match = Typed(pattern, option="--metric").last(text)
    if match is None:
        raise UsageError(f"--metric {pattern.pattern!r} matches nothing that the program printed")
    said = match[1] if pattern.groups and match[1] is not None else match[0]
    number = _NUMBER.search(said)
    if number is None:
        raise UsageError(f"--metric {pattern.pattern!r} found {said!r}, which is no number")
    return float(number[0].replace(",", "").replace("_", ""))


def summarize(values: Sequence[float]) -> Summary:
    """Statistics of at least one value."""
    ordered = sorted(values)
    median = statistics.median(ordered)
    quartiles = quantile(ordered, 0.75) - quantile(ordered, 0.25)
    return Summary(
        values=tuple(values),
        median=median,
        p95=quantile(ordered, 0.95),
        minimum=ordered[0],
        maximum=ordered[-1],
        mean=statistics.fmean(ordered),
        spread=quartiles / median if median and len(ordered) > 1 else None,
    )


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value below which ``share`` of ``ordered`` lies, linear between neighbours."""
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def environment(gpus: Sequence[str], driver: str | None) -> dict[str, Any]:
    """What the figures depend on, without names of hosts, users or paths."""
    return {
        "gpus": list(gpus),
        "driver": driver,
        "system": platform.system(),
        "machine": platform.machine(),
        "cpu_count": os.cpu_count(),
        "python": platform.python_version(),
        "visible_devices": os.environ.get("CUDA_VISIBLE_DEVICES"),
    }


def to_json(timing: Timing, around: dict[str, Any]) -> dict[str, Any]:
    """The document that ``roofline time --json`` prints."""
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "version": __version__,
        "program": timing.program,
        "repeats": timing.repeats,
        "warmup": timing.warmup,
        "wall_s": _summary(timing.wall_s),
        "metric": None,
        "environment": around,
    }
    if timing.metric is not None:
        document["metric"] = {"pattern": timing.metric_pattern} | _summary(timing.metric)
    return document


def _summary(summary: Summary) -> dict[str, Any]:
    return {
        "median": summary.median,
        "p95": summary.p95,
        "min": summary.minimum,
        "max": summary.maximum,
        "mean": summary.mean,
        "spread": summary.spread,
        "values": list(summary.values),
    }


def table(timing: Timing, around: dict[str, Any]) -> str:
    """The same for a person."""
    gpus = ", ".join(dict.fromkeys(around["gpus"])) or "no GPU"
    counted = "1 run" if timing.repeats == 1 else f"{timing.repeats} runs"
    runs = f"{counted} after {timing.warmup} for warming up"
    lines = [
        f"{timing.program}: {runs}, without a profiler; {gpus}",
        f"{'':12} {'median':>12} {'p95':>12} {'min':>12} {'max':>12} {'spread':>8}",
        _row("wall time", timing.wall_s, duration),
    ]
    if timing.metric is not None:
        lines.append(_row("own figure", timing.metric, lambda value: f"{value:.6g}"))
    if timing.repeats == 1:
        lines.append("One run has no spread: whether another would differ is not known.")
    return "\n".join(lines) + "\n"


def _row(label: str, summary: Summary, show: Callable[[float], str]) -> str:
    values = (summary.median, summary.p95, summary.minimum, summary.maximum)
    spread = "-" if summary.spread is None else f"{100 * summary.spread:.1f} %"
    return f"{label:12} " + " ".join(f"{show(value):>12}" for value in values) + f" {spread:>8}"
