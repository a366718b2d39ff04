"""The wall time of a program without a profiler: many runs, and what is true of all of them."""

from __future__ import annotations

import math
import os
import platform
import re
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePath
from typing import Literal

from roofline import __version__
from roofline.errors import InputError, ProgramError, UsageError
from roofline.files import read_text
from roofline.foreign import cleaned, printable
from roofline.process import Completed
from roofline.text.numbers import duration, plural, share

SCHEMA: Literal["roofline.time/1"] = "roofline.time/1"
_NUMBER = re.compile(r"[-+]?(?:\d[\d_,]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSummary:
    """Statistics of repeated values, in their own unit.

    ``p95`` interpolates between neighbours; ``spread`` is the distance between the quartiles
    over the median, which one slow run does not move; ``None`` for a single value.
    """

    median: float
    p95: float | None = None
    min: float | None = None
    max: float | None = None
    mean: float | None = None
    spread: float | None = None
    values: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureSummary(TimeSummary):
    """The program's own figure, found by ``pattern`` in what it prints."""

    pattern: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """What the figures depend on, without names of hosts, users or paths."""

    gpus: tuple[str, ...] = ()
    driver: str | None = None
    system: str | None = None
    machine: str | None = None
    cpu_count: int | None = None
    python: str | None = None
    visible_devices: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramTimes:
    """What repeated runs of a program gave, as ``roofline time --json`` writes it."""

    schema: Literal["roofline.time/1"]
    version: str = __version__
    program: str = ""
    repeats: int = 1
    warmup: int = 0
    wall_s: TimeSummary
    metric: FigureSummary | None = None
    environment: Environment = field(default_factory=Environment)


def time_program(
    program: Sequence[str],
    run: Callable[[Sequence[str]], Completed | None],
    *,
    repeats: int,
    warmup: int,
    metric: re.Pattern[str] | None = None,
    clock: Callable[[], float] = time.perf_counter,
    tell: Callable[[int, int], None] = lambda _done, _total: None,
) -> ProgramTimes:
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
        if done is None:
            raise ProgramError(
                f"{program[0]} cannot be started",
                hint="the path of an executable (./app for one in this folder)",
            )
        if done.code != 0:
            count = number - warmup
            where = "a warm-up run" if count < 0 else f"run {count + 1} of {repeats}"
            raise _failure(PurePath(program[0]).name, done, where, walls)
        figure = None if metric is None else find_figure(metric, done.stdout + done.stderr)
        if number >= warmup:
            walls.append(wall)
            if figure is not None:
                figures.append(figure)
    tell(total, total)
    own = None
    if metric is not None:
        own = FigureSummary(pattern=printable(metric.pattern), **asdict(summarize(figures)))
    return ProgramTimes(
        schema=SCHEMA,
        program=printable(PurePath(program[0]).name),
        repeats=repeats,
        warmup=warmup,
        wall_s=summarize(walls),
        metric=own,
    )


def _failure(program: str, done: Completed, where: str, walls: Sequence[float]) -> ProgramError:
    last = [line for line in done.stderr.splitlines() if line.strip()][-3:]
    how = f"signal {-done.code}" if done.code < 0 else f"exit code {done.code}"
    before = f"the runs before it took {', '.join(map(duration, walls))}"
    return ProgramError(
        f"{program} failed with {how} in {where}",
        why="; ".join(last) or None,
        details=[before] if walls else (),
    )


def find_figure(pattern: re.Pattern[str], text: str) -> float:
    """The program's own figure in its output, or a ``UsageError`` where there is none."""
    found = list(pattern.finditer(text))
    if not found:
        raise UsageError(f"--metric {pattern.pattern!r} matches nothing that the program printed")
    match = found[-1]
    said = match[1] if pattern.groups and match[1] is not None else match[0]
    number = _NUMBER.search(said)
    if number is None:
        raise UsageError(f"--metric {pattern.pattern!r} found {said!r}, which is not a number")
    return float(number[0].replace(",", "").replace("_", ""))


def summarize(values: Sequence[float]) -> TimeSummary:
    """Statistics of at least one value."""
    ordered = sorted(values)
    median = statistics.median(ordered)
    quartiles = quantile(ordered, 0.75) - quantile(ordered, 0.25)
    return TimeSummary(
        median=median,
        p95=quantile(ordered, 0.95),
        min=ordered[0],
        max=ordered[-1],
        mean=statistics.fmean(ordered),
        spread=quartiles / median if median and len(ordered) > 1 else None,
        values=tuple(values),
    )


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value below which ``share`` of ``ordered`` lies, linear between neighbours."""
    place = share * (len(ordered) - 1)
    low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
    return low + place % 1 * (high - low)


def environment(gpus: Sequence[str], driver: str | None) -> Environment:
    """Describe this machine."""
    return Environment(
        gpus=tuple(gpus),
        driver=driver,
        system=platform.system(),
        machine=platform.machine(),
        cpu_count=os.cpu_count(),
        python=platform.python_version(),
        visible_devices=cleaned(os.environ.get("CUDA_VISIBLE_DEVICES")),
    )


def to_json(times: ProgramTimes) -> str:
    """The document that ``roofline time --json`` prints."""
    import msgspec  # here, as help needs it not

    return msgspec.json.format(msgspec.json.encode(times), indent=1).decode() + "\n"


def read_times(path: Path) -> ProgramTimes:
    """Read what ``roofline time --json`` wrote; anything else is an ``InputError``."""
    hint = f"roofline time --json PROGRAM > {path.name}"
    import msgspec

    try:
        found = cleaned(msgspec.json.decode(read_text(path)))
        times = msgspec.convert(found, ProgramTimes, str_keys=True)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InputError(f"{path} is not a timing", why=str(error)[:200], hint=hint) from error
    if not times.wall_s.median > 0:
        raise InputError(f"{path} holds no wall time", hint=hint)
    return times


def table(times: ProgramTimes) -> str:
    """The same for a person."""
    gpus = ", ".join(dict.fromkeys(times.environment.gpus)) or "no GPU"
    runs = f"{plural(times.repeats, 'run')} after {times.warmup} for warming up"
    lines = [
        f"{times.program}: {runs}, without a profiler; {gpus}",
        f"{'':12} {'median':>12} {'p95':>12} {'min':>12} {'max':>12} {'spread':>8}",
    ]
    rows = (("wall time", times.wall_s, duration), ("own figure", times.metric, "{:.6g}".format))
    for label, s, show in rows:
        if s is not None:
            values = ("-" if v is None else show(v) for v in (s.median, s.p95, s.min, s.max))
            cells = " ".join(f"{value:>12}" for value in values)
            lines.append(f"{label:12} {cells} {share(s.spread):>8}")
    if times.repeats == 1:
        lines.append("One run has no spread: whether another would differ is not known.")
    return "\n".join(lines) + "\n"
