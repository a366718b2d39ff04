"""The wall time of a program without a profiler: many runs, and what is true of all of them."""

from __future__ import annotations

import math
import os
import platform
import re
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path, PurePath
from shlex import quote
from typing import Literal

from roofline import __version__
from roofline.errors import InputError, ProgramError, UsageError, why_unparsed
from roofline.files import read_text
from roofline.foreign import cleaned, printable
from roofline.model import exceeds
from roofline.patterns import compiled
from roofline.process import Completed
from roofline.text.numbers import duration

SCHEMA: Literal["roofline.time/1"] = "roofline.time/1"
# What puts a profiler into every CUDA program that is started, and profilers that start programs.
_INJECTIONS = {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "CUDA_INJECTION32_PATH"}
_PROFILERS = {"ncu", "nsys", "nsys-launcher", "nv-nsight-cu-cli", "nvprof", "compute-sanitizer"}
_ALLOCATOR = re.compile("^$|jemalloc|tcmalloc|mimalloc")
Better = Literal["lower", "higher"]  # which values of a figure
Outcome = Literal["faster", "slower", "no_change", "unknown"]
_NUMBER = re.compile(r"[-+]?(?:\d[\d_,]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def outcome_of(low: float, high: float) -> Outcome:
    """A speed-up interval as an outcome: what includes 1 is no change."""
    if exceeds(low, 1):
        return "faster"
    return "slower" if exceeds(1, high) else "no_change"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSummary:
    """Statistics of repeated values, in their own unit.

    ``p95`` and ``p99`` interpolate between neighbours; ``spread`` is the distance between the
    quartiles over the median, which one slow run does not move; ``None`` for a single value.
    """

    median: float
    p95: float | None = None
    p99: float | None = None
    min: float | None = None
    max: float | None = None
    mean: float | None = None
    spread: float | None = None
    values: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureSummary(TimeSummary):
    """A figure of the program's own, found by ``pattern`` in what it prints.

    ``values`` are those of all runs, ``runs`` the median of each; ``better`` is "lower" or "higher"
    where that was said.
    """

    pattern: str
    name: str = "own figure"
    better: Better | None = None
    runs: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedRatio:
    """How many times better a program is than the one that took turns with it.

    ``ratio`` is the median over pairs of runs, ``low`` and ``high`` its interval of at least 95 %,
    without any assumption on how runs scatter; ``None`` for fewer than six pairs. Where nobody said
    which value is ``better``, it is B over A, and not judged.
    """

    name: str
    ratio: float
    low: float | None
    high: float | None
    pairs: int
    outcome: Outcome
    better: Better | None = None

    @property
    def noise(self) -> float | None:
        """How far the ratio may be off: to the farther end of its interval."""
        if self.low is None or self.high is None:
            return None
        return max(self.ratio / self.low, self.high / self.ratio) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A figure that a program prints: its name, where it is, and which way is better."""

    name: str
    pattern: re.Pattern[str]
    better: Better | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """What the figures depend on, without names of hosts, users or paths.

    ``sm_clock_hz`` and ``power_w`` are the lowest and the highest that nvidia-smi said meanwhile.
    """

    gpus: tuple[str, ...] = ()
    driver: str | None = None
    system: str | None = None
    machine: str | None = None
    cpu_count: int | None = None
    python: str | None = None
    visible_devices: str | None = None
    sm_clock_hz: tuple[float, float] | None = None
    power_w: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramTimes:
    """What repeated runs of a program gave, as ``roofline time --json`` writes it.

    ``metric`` is the first of ``metrics``. ``instrumented`` names what measured inside of the runs,
    which then are no times to compare. ``against`` is the program that took turns with it,
    ``paired`` how the two compare.
    """

    schema: Literal["roofline.time/1"]
    version: str = __version__
    program: str = ""
    repeats: int = 1
    warmup: int = 0
    wall_s: TimeSummary
    metric: FigureSummary | None = None
    metrics: tuple[FigureSummary, ...] = ()
    instrumented: tuple[str, ...] = ()
    against: ProgramTimes | None = None
    paired: tuple[PairedRatio, ...] = ()
    environment: Environment = field(default_factory=Environment)


def time_program(
    program: Sequence[str],
    run: Callable[[Sequence[str]], Completed | None],
    *,
    repeats: int,
    warmup: int,
    metrics: Sequence[Metric] = (),
    against: Sequence[str] = (),
    clock: Callable[[], float] = time.perf_counter,
    tell: Callable[[int, int], None] = lambda _done, _total: None,
) -> ProgramTimes:
    """Run ``program`` ``warmup`` times for nothing and ``repeats`` times for the record.

    ``metrics`` are found in what it prints, every match is a value. With ``against`` that program
    runs in turns with it, the first of each pair in turns, too: what drifts meets both alike.

    Raises:
        UsageError: the program prints no such figure.
        ProgramError: one cannot be started, or failed: in which run, and what those before took.

    """
    programs = [against, program] if against else [program]
    names = [printable(PurePath(argv[0]).name) for argv in programs]
    marks = (" (A, --against)", " (B)") if against else ("",)
    runs: list[list[tuple[float, list[list[float]]]]] = [[] for _ in programs]
    total = warmup + repeats
    for number in range(total):
        tell(number, total)
        for place in sorted(range(len(programs)), reverse=number % 2 == 1):
            argv, so_far = programs[place], runs[place]
            called = names[place] + marks[place]
            began = clock()
            done = run(argv)
            wall_s = clock() - began
            if done is None:
                hint = "the path of an executable (./app for one in this folder)"
                raise ProgramError(f"{quote(argv[0])} cannot be started", hint=hint)
            if done.code != 0:
                count = number - warmup
                where = "a warm-up run" if count < 0 else f"run {count + 1} of {repeats}"
                raise _failure(called, done, where, [wall for wall, _ in so_far])
            found = [find_figures(one, done.stdout + done.stderr, called) for one in metrics]
            if number >= warmup:
                so_far.append((wall_s, found))
    tell(total, total)
    timed = []
    for name, each in zip(names, runs, strict=True):
        own = tuple(_figure(m, [run[1][i] for run in each]) for i, m in enumerate(metrics))
        timed.append(
            ProgramTimes(
                schema=SCHEMA,
                program=name,
                repeats=repeats,
                warmup=warmup,
                wall_s=summarize([run[0] for run in each]),
                metric=own[0] if own else None,
                metrics=own,
            )
        )
    if not against:
        return timed[0]
    before, after = timed
    pairs = [_paired("wall time", "lower", before.wall_s.values, after.wall_s.values)]
    for one, other in zip(before.metrics, after.metrics, strict=True):
        pairs.append(_paired(one.name, one.better, one.runs, other.runs))
    return replace(after, against=before, paired=tuple(pairs))


def _figure(metric: Metric, runs: Sequence[Sequence[float]]) -> FigureSummary:
    summary = summarize([value for run in runs for value in run])
    return FigureSummary(
        name=printable(metric.name),
        pattern=printable(metric.pattern.pattern),
        better=metric.better,
        runs=tuple(statistics.median(run) for run in runs),
        **asdict(summary),
    )


def _paired(
    name: str,
    better: Better | None,
    before: Sequence[float],
    after: Sequence[float],
) -> PairedRatio:
    """How many times better by pairs of runs; pairs with a value of 0 say nothing."""
    pairs = zip(before, after, strict=True)
    ratios = sorted(b / a if better == "lower" else a / b for b, a in pairs if a > 0 and b > 0)
    if not ratios:
        raise UsageError(
            f"{name} is never above 0", why="there is no ratio of it", hint="another --metric"
        )
    middle, span = statistics.median(ratios), median_interval(ratios)
    return ratio_of(name, better, middle, span, pairs=len(ratios))


def ratio_of(
    name: str,
    better: Better | None,
    ratio: float,
    span: tuple[float, float] | None,
    *,
    pairs: int,
) -> PairedRatio:
    """A ratio with what it says: nothing without an interval, or where no way is better."""
    low, high = span or (None, None)
    return PairedRatio(
        name=name,
        ratio=ratio,
        low=low,
        high=high,
        pairs=pairs,
        outcome=outcome_of(*span) if span and better else "unknown",
        better=better,
    )


def median_interval(ordered: Sequence[float]) -> tuple[float, float] | None:
    """The narrowest interval of order statistics that holds the median with 95 % or more."""
    count, tail, place = len(ordered), 0.0, 0
    while tail + math.comb(count, place) / 2**count <= 0.025:
        tail += math.comb(count, place) / 2**count
        place += 1
    return (ordered[place - 1], ordered[-place]) if place else None


def instrumentation(environ: Mapping[str, str], ancestors: Sequence[str]) -> tuple[str, ...]:
    """What measures inside of programs started here, by their environment and our ancestors."""
    found = [
        name
        for name in sorted(environ)
        if environ[name] and (name in _INJECTIONS or name.startswith(("NSYS_", "NV_NSIGHT_")))
    ]
    if any(not _ALLOCATOR.search(part) for part in re.split("[: ]", environ.get("LD_PRELOAD", ""))):
        found.append("LD_PRELOAD")
    return (*found, *(f"run by {name}" for name in ancestors if name in _PROFILERS))


def ancestors() -> Iterator[str]:
    """The names of the processes that this one was started by, where the system tells."""
    process = os.getppid()
    with suppress(OSError, ValueError, IndexError):
        while process > 1:
            name, _, rest = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")
            yield name.partition("(")[2]
            process = int(rest.split()[1])


def parse_metric(text: str) -> Metric:
    """Read "NAME=RE", "NAME<=RE" (lower is better), "NAME>=RE" or a regular expression alone."""
    named = re.match(r"([A-Za-z][\w /.%-]*?)\s*([<>]?)=", text)
    pattern = compiled(text[named.end() :] if named else text, option="--metric")
    if named is None:
        return Metric(name="own figure", pattern=pattern)
    better: dict[str, Better] = {"<": "lower", ">": "higher"}
    return Metric(name=named[1], pattern=pattern, better=better.get(named[2]))


def _failure(program: str, done: Completed, where: str, walls: Sequence[float]) -> ProgramError:
    last = [line for line in done.stderr.splitlines() if line.strip()][-3:]
    how = f"signal {-done.code}" if done.code < 0 else f"exit code {done.code}"
    before = f"the runs before it took {', '.join(map(duration, walls))}"
    return ProgramError(
        f"{program} failed with {how} in {where}",
        why="; ".join(last) or None,
        details=[before] if walls else (),
        hint="run it by itself, and mend what it says",
    )


def find_figures(metric: Metric, text: str, program: str) -> list[float]:
    """The own figures of ``program`` in its output: of each match the first group or number.

    Raises:
        UsageError: there is none, or one is not a number.

    """
    pattern, values = metric.pattern, []
    for match in pattern.finditer(text):
        said = match[1] if pattern.groups and match[1] is not None else match[0]
        number = _NUMBER.search(said)
        value = math.inf if number is None else float(re.sub("[,_]", "", number[0]))
        if math.isinf(value):
            what = f"--metric {pattern.pattern!r}: {program} printed {said!r}, not a number"
            raise UsageError(what, hint="put the number into ( )")
        values.append(value)
    if not values:
        what = f"--metric {pattern.pattern!r} matches nothing that {program} printed"
        raise UsageError(what, hint="run the program by itself to see what it prints")
    return values


def summarize(values: Sequence[float]) -> TimeSummary:
    """Statistics of at least one value."""
    ordered = sorted(values)
    median = statistics.median(ordered)
    quartiles = quantile(ordered, 0.75) - quantile(ordered, 0.25)
    return TimeSummary(
        median=median,
        p95=quantile(ordered, 0.95),
        p99=quantile(ordered, 0.99),
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


def read_times(path: Path) -> ProgramTimes:
    """Read what ``roofline time --json`` wrote; anything else is an ``InputError``."""
    hint = f"roofline time --json PROGRAM > {path.name}"
    import msgspec  # here, as help needs it not

    try:
        found = cleaned(msgspec.json.decode(read_text(path)))
        times = msgspec.convert(found, ProgramTimes, str_keys=True)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InputError(
            f"{path} is not a timing", why=why_unparsed(error)[:200], hint=hint
        ) from error
    if not times.wall_s.median > 0:
        raise InputError(f"{path} holds no wall time", hint=hint)
    return times
