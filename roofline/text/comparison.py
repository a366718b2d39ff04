"""What a comparison says to people: the sentences of its notes, and words that they share."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import isclose
from pathlib import Path
from typing import Any

from roofline.model import QUANTITIES
from roofline.text import names, numbers
from roofline.text.numbers import amount, times


def work(ratio: float, noun: str = "work") -> str:
    """A unit's work, after / before: "2.40x less work", "1.20x more sectors"."""
    if ratio <= 0:
        return f"no {noun} left"
    if ratio >= 1:
        return f"{times(ratio)} more {noun}"
    return f"{times(1 / ratio)} {'less' if noun == 'work' else 'fewer'} {noun}"


def change(*speedups: float) -> str:
    """A speed-up or a range of them: "1.42x faster", "1.10x to 1.20x slower", "1.00x"."""
    if min(speedups) < 1 < max(speedups) and len({*map(times, speedups)}) > 1:
        return " to ".join(map(change, speedups))
    faster = speedups[0] >= 1
    ends = dict.fromkeys(times(s if faster else 1 / s) for s in speedups)
    if [*ends] == [times(1.0)]:
        return times(1.0)
    return f"{' to '.join(ends)} {'faster' if faster else 'slower'}"


# So far from a gain by time what is left of it without noise and clocks is worth a word.
_APART = 0.03


def sure_of(by_time: float, sure: Sequence[float] | None) -> str | None:
    """What is ``sure`` of a gain by time by the rule of a pair, where that is another."""
    if not sure or {*map(times, sure)} == {times(by_time)}:
        return None
    if all(isclose(end, 1.0) for end in sure):
        return "no change"
    far = any(abs(end / by_time - 1) > _APART for end in sure)
    return change(*sure) if far else None


def gained(by_time: float, sure: Sequence[float] | None, where: str = "") -> str:
    """A gain by time, and what is ``sure`` of it where that is another."""
    other = sure_of(by_time, sure)
    if other is None:
        return f"{change(by_time)}{where}"
    if other == "no change":
        return f"no change beyond noise and clocks{where}, {times(by_time)} by time"
    return f"{change(by_time)}{where} by time, {other} beyond noise and clocks"


def from_to(quantity: str, before: float | None, after: float | None) -> str:
    """Both values of a quantity: "4.27 MB to 2.13 MB"."""
    unit = QUANTITIES[quantity].unit
    return f"{amount(before, unit)} to {amount(after, unit)}"


def interval(one: Any) -> str:
    """The interval of a ``PairedRatio``, and of how many pairs."""
    if one.low is None or one.high is None:
        return f"no interval from {numbers.plural(one.pairs, 'pair')}"
    low, high = one.low, one.high
    if one.outcome == "slower":  # said as what came, in one direction
        low, high = 1 / high, 1 / low
    return f"{times(low)} to {times(high)} with 95 %, {numbers.plural(one.pairs, 'pair')}"


def figure(one: Any) -> str:
    """A figure of the program's own: "TTFT: 1.20x better"."""
    span = f" ({interval(one)})" if one.pairs else ""
    name, ratio = names.printable(one.name), times(one.ratio)
    if one.better is None:
        why = f"as --metric '{name}<=RE' or '{name}>=RE' says which way is better"
        return f"{name}: not judged, {why}, {ratio}{span}"
    if one.outcome in ("faster", "slower"):
        said = change(one.ratio).replace("faster", "better").replace("slower", "worse")
    else:
        said = f"{'no change' if one.outcome == 'no_change' else 'not judged'}, {ratio}"
    return f"{name}: {said}{span}"


def _program(facts: Mapping[str, Any]) -> str:
    """The program's own time, and why a change of it may be none of the program's."""
    speedup, before, after = facts["speedup"], facts["before"], facts["after"]
    unchanged = {"unknown": "not judged", "no_change": "no change"}.get(facts["outcome"])
    one, other = before.wall_s, after.wall_s
    noise = "not known from one run" if facts["noise"] is None else numbers.share(facts["noise"])
    said: tuple[str, ...] = (
        f"{unchanged} ({times(speedup)})" if unchanged else change(speedup),
        f"median {numbers.duration(one.median)} to {numbers.duration(other.median)}",
        f"p95 {numbers.duration(one.p95)} to {numbers.duration(other.p95)}",
        f"spread {noise}",
        f"{before.repeats} and {after.repeats} runs",
    )
    if paired := facts.get("paired"):
        said = (*said[:3], f"in turns: {interval(paired[0])}")
    parts = [f"the program without a profiler: {', '.join(said)}"]
    for what, get in (
        ("programs", lambda side: side.program),
        ("GPUs", lambda side: ", ".join(side.environment.gpus)),
    ):
        old, new = (names.printable(get(side)) for side in (before, after))
        if old and new and old != new and not paired:
            parts.append(f"different {what}: {old} and {new}")
    if not unchanged and not paired:
        parts.append(
            "the spread is within each file, and a machine drifts between two: only a change "
            "that stays when both are timed again, in turns, is the program's"
        )
    return "; ".join(parts)


def _metric_sets(facts: Mapping[str, Any]) -> str:
    lacks = {side: facts[f"{side}_lacks"] for side in ("before", "after")}
    told = [
        f"{side} lacks {', '.join(map(names.words, what))}" for side, what in lacks.items() if what
    ]
    return f"different metric sets: {'; '.join(told)}; only what both have is compared"


def _against(facts: Mapping[str, Any], words: str = "", *, places: int = 0) -> str:
    """What a gate found beside its limit: "8.0 % slower (limit 5.0 %)"."""
    said, limit = numbers.against(facts["value"], facts["limit"], facts["unit"], places=places)
    return f"{said}{words} (limit {limit})"


def _not_named(facts: Mapping[str, Any], whose: str) -> str:
    near = f"; did you mean {facts['near']}?" if facts["near"] else ""
    return f"{whose} is named {facts['pattern']!r}{near}"


_BY = {
    "gate_slower_equal_clocks": " at equal clocks",
    "gate_slower_equal_work": " for the same work",
}
# Those that no template of the data file can say.
SENTENCES: dict[str, str | Callable[[Mapping[str, Any]], str]] = {
    **tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")),
    "wait_moved": lambda f: (
        f"{names.words(names.printable(f['wait']))}: {numbers.share(f['before'])} of the samples "
        f"({numbers.duration(f['before_s'])}) before, {numbers.share(f['after'])} "
        f"({numbers.duration(f['after_s'])}) after"
    ),
    "metric_set_differs": _metric_sets,
    "equal_clocks": lambda f: (
        f"at equal clocks {change(f['low'], f['high'])}"
        f"{' per unit of work' if f.get('per_work') else ''}"
    ),
    "program": _program,
    "precision_gone": lambda f: (
        f"{names.operation(f['precision'])} operations "
        f"{from_to('total_operations', f['before'], f['after'])}"
    ),
    "work_gone": lambda f: (
        f"{from_to('total_operations', f['before'], f['after'])}: "
        f"{'AFTER' if f['after'] < f['before'] else 'BEFORE'} does not do this work, "
        "or not by instructions that are counted; check its results"
    ),
    "amount_changed": lambda f: (
        f"{names.quantity(f['measure'])} {from_to(f['measure'], f['before'], f['after'])}"
    ),
    "gate_figure": _against,
    **{
        f"gate_{code}": partial(_against, words=words, places=1)
        for code, words in {
            "slower": " slower",
            "worse": " worse",
            **{code.removeprefix("gate_"): f" slower{by}" for code, by in _BY.items()},
        }.items()
    },
    **{
        f"gate_{code}": partial(_not_named, whose=whose)
        for code, whose in {
            "no_kernel": "no kernel of AFTER",
            "no_pair": "no paired kernel",
            "none_before": "no kernel of BEFORE",
        }.items()
    },
    "gate_gain": lambda f: (
        f"{numbers.times(f['speedup'])}, {names.words(f['outcome'])}{_BY.get(f['by'], '')}"
    ),
    "gate_noise_hides": lambda f: (
        f"{numbers.times(f['speedup'])}, within the noise ({numbers.share(f['noise'])}), which "
        f"would hide a loss of {numbers.exact(f['limit'])} %"
    ),
    "gate_left_open": lambda f: (
        f"at equal clocks {change(f['low'], f['high'])}: clocks and noise "
        f"({numbers.share(f['noise'])}) leave open whether it changed"
    ),
    "gate_within_spread": lambda f: (
        f"{amount(f['value'], f['unit'])}, within the spread of its launches"
    ),
}
