"""Two files of ``roofline time``: what the program as a whole gained, measured and not bounded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roofline.compare.model import Outcome, ProgramTime
from roofline.compare.timing import outcome_of
from roofline.compare.words import times
from roofline.errors import InputError, one_line
from roofline.files import read_text
from roofline.text.numbers import duration, percent

SCHEMA = "roofline.time/1"
# The spread of few runs can be 0 by chance; timings of processes scatter by this at least.
LEAST_SPREAD = 0.01
# One run has no spread.
_ENOUGH = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """Wall times of a program: median, 95th percentile and quartile distance over median.

    ``program`` and ``gpus`` are what was run, and where; empty where the file does not say.
    """

    median_s: float
    p95_s: float | None
    spread: float | None
    repeats: int
    program: str = ""
    gpus: tuple[str, ...] = ()


def read_time(path: Path) -> Timed:
    """Read what ``roofline time --json`` wrote.

    Raises:
        InputError: it cannot be read or is something else.

    """
    try:
        data = json.loads(read_text(path))
    except ValueError as error:
        raise InputError(f"{path} is not JSON", why=str(error)[:200], hint=_hint(path)) from error
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise InputError(
            f"{path} is no timing", why=f"its schema is not {SCHEMA}", hint=_hint(path)
        )
    wall = data.get("wall_s")
    median = _number(wall, "median")
    if median is None or median <= 0:
        raise InputError(f"{path} holds no wall time", hint=_hint(path))
    return Timed(
        median_s=median,
        p95_s=_number(wall, "p95"),
        spread=_number(wall, "spread"),
        repeats=int(data.get("repeats") or 1),
        program=one_line(str(data.get("program") or "")),
        gpus=_gpus(data.get("environment")),
    )


def _hint(path: Path) -> str:
    return f"roofline time --json PROGRAM > {path.name}"


def _gpus(environment: Any) -> tuple[str, ...]:
    names = environment.get("gpus") if isinstance(environment, dict) else None
    return tuple(one_line(str(name)) for name in names) if isinstance(names, list) else ()


def _number(data: Any, key: str) -> float | None:
    value = data.get(key) if isinstance(data, dict) else None
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if number and value is not None else None


def program_time(before: Path, after: Path) -> ProgramTime:
    """Compare two timings; a change of the median within their spreads is no change."""
    return judge_time(read_time(before), read_time(after))


def judge_time(before: Timed, after: Timed) -> ProgramTime:
    """The change of the median, against the wider of the two spreads."""
    speedup = before.median_s / after.median_s
    noise = max(before.spread or 0.0, after.spread or 0.0, LEAST_SPREAD)
    outcome = outcome_of(speedup / (1 + noise), speedup * (1 + noise))
    spread = f"spread {percent(noise * 100, places=1)}"
    if min(before.repeats, after.repeats) < _ENOUGH:
        outcome, spread = Outcome.UNKNOWN, "spread not known from one run"
    change = {
        Outcome.FASTER: f"{times(speedup)} faster",
        Outcome.SLOWER: f"{times(1 / speedup)} slower",
        Outcome.UNKNOWN: f"not judged ({times(speedup)})",
    }.get(outcome, f"no change ({times(speedup)})")
    text = (
        f"the program without a profiler: {change}, median {duration(before.median_s)} to "
        f"{duration(after.median_s)}, p95 {duration(before.p95_s)} to {duration(after.p95_s)}, "
        f"{spread}, {before.repeats} and {after.repeats} runs"
        f"{''.join(_doubts(before, after, outcome))}"
    )
    return ProgramTime(
        before_s=before.median_s,
        after_s=after.median_s,
        before_p95_s=before.p95_s,
        after_p95_s=after.p95_s,
        before_spread=before.spread,
        after_spread=after.spread,
        speedup=speedup,
        outcome=outcome,
        text=text,
    )


def _doubts(before: Timed, after: Timed, outcome: Outcome) -> Iterator[str]:
    """Why a change may be none of the program's."""
    if before.program and after.program and before.program != after.program:
        yield f"; different programs: {before.program} and {after.program}"
    if before.gpus and after.gpus and before.gpus != after.gpus:
        yield f"; different GPUs: {', '.join(before.gpus)} and {', '.join(after.gpus)}"
    if outcome in (Outcome.FASTER, Outcome.SLOWER):
        yield (
            "; the spread is within each file, and a machine drifts between two: only a change "
            "that stays when both are timed again, in turns, is the program's"
        )
