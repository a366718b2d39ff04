"""What a comparison says to people: the sentences of its notes, and words that they share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    """A speed-up or a range of them: "1.42x faster", "1.10x to 1.20x slower"."""
    faster = speedups[0] >= 1
    ends = dict.fromkeys(times(s if faster else 1 / s) for s in speedups)
    return f"{' to '.join(ends)} {'faster' if faster else 'slower'}"


def from_to(quantity: str, before: float | None, after: float | None) -> str:
    """Both values of a quantity: "4.27 MB to 2.13 MB"."""
    unit = QUANTITIES[quantity].unit
    return f"{amount(before, unit)} to {amount(after, unit)}"


def interval(one: Any) -> str:
    """The interval of a ``PairedRatio``, and of how many pairs."""
    if one.low is None or one.high is None:
        return f"no interval from {numbers.plural(one.pairs, 'pair')}"
    return f"{times(one.low)} to {times(one.high)} with 95 %, {numbers.plural(one.pairs, 'pair')}"


def figure(one: Any) -> str:
    """A figure of the program's own: "TTFT: 1.20x better"."""
    words = {"faster": "better", "slower": "worse", "no_change": "no change"}
    span = f" ({interval(one)})" if one.pairs else ""
    said, name = words.get(one.outcome, "not judged"), names.printable(one.name)
    if one.better is None:
        said = f"not judged, as --metric '{name}<=RE' or '{name}>=RE' says which way is better"
    return f"{name}: {said}, {times(one.ratio)}{span}"


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


SENTENCES: dict[str, str | Callable[[Mapping[str, Any]], str]] = {
    "wait_moved": lambda f: (
        f"{names.words(names.printable(f['wait']))}: {numbers.share(f['before'])} of the samples "
        f"({numbers.duration(f['before_s'])}) before, {numbers.share(f['after'])} "
        f"({numbers.duration(f['after_s'])}) after"
    ),
    # --- compare: by what kernels were paired
    "by_map": "--map",
    "by_name_and_launch": "name, grid and block",
    "by_name": "name; grid or block differ",
    "by_base_name_and_launch": "base name, grid and block",
    "by_base_name": "base name; grid or block differ",
    "by_base_name_split": "base name, several launch shapes",
    "by_similar_name_and_launch": "similar name ({alike:.2f}) and equal grid and block",
    "by_similar_name": "similar name ({alike:.2f})",
    "by_being_alone": "being the only kernel on each side",
    # --- compare: in what captures differ
    "differs": "different {what:quantity}: {before:list} before, {after:list} after",
    "sets_differ": "the captures cover different sets by {what:quantity}: {before:list}, "
    "{after:list}",
    "gpu_not_recorded": "the GPU is not recorded on both sides: that it is the same one is assumed",
    "kind_differs": "different replay: {before:list} results before, {after:list} results after "
    "(kernel replay against range or graph replay)",
    "clock_not_measured": "the {clock:quantity} is not measured on both sides: it cannot be taken "
    "out",
    "clock_differs": "the {clock:quantity} differs by {change:share}: {before_hz:clock} before, "
    "{after_hz:clock} after; what the clock alone explains is not counted as a change",
    "clock_control_differs": "clock control probably differs: the SMs ran at {before:percent} of "
    "their maximum before and {after:percent} after (ncu locks to base by default)",
    "ncu_differs": "different ncu: {before:list} before, {after:list} after; formulas and peaks "
    "of some percentages changed between versions, times did not",
    "metric_set_differs": lambda facts: (
        "different metric sets: "
        + "; ".join(
            f"{side} lacks {', '.join(map(names.words, facts[f'{side}_lacks']))}"
            for side in ("before", "after")
            if facts[f"{side}_lacks"]
        )
        + "; only what both have is compared"
    ),
    "not_recorded": "not recorded on both sides, so taken to be alike: {settings:list}",
    "rule_differs": "judged by different rules (latency threshold/balance): {before} before, "
    "{after} after",
    "allowed": "{what:note} (allowed)",
    # --- compare: whether both sides solved the same problem
    "same_work": "same number of {measure}",
    "same_bytes": "same DRAM bytes",
    "other_size": "another problem size: {ratio:plain}x the {measure:quantity}",
    "operations_changed": "{ratio:plain}x the operations on the same number of threads or bytes",
    "operations_disagree": "{ratio:plain}x the operations, and bytes and threads do not agree "
    "with that: another algorithm or another problem size",
    "bytes_on_another_grid": "{ratio:plain}x the DRAM bytes on another grid, and operations were "
    "not measured",
    "only_the_grid_differs": "the grid or block differs and neither operations nor bytes were "
    "measured on both sides: another launch configuration cannot be told from another problem size",
    "every_unit_changed": "every unit has {ratio:plain}x the work: perhaps another problem size "
    "(operations were not measured)",
    "work_not_measured": "",
    "work_of_sums": "several kernels or launch shapes stand for one: the same work is assumed",
    # --- compare: what a pair's reader must know
    **{
        kind: f"{names.words(kind)}: {{before_shapes}} before, {{after_shapes}} after; "
        "times are totals of {before} and {after} launches"
        for kind in ("one_to_many", "many_to_one", "many_to_many")
    },
    "launch_count": "launched {after} times instead of {before}: figures per launch",
    "paired_by": "paired by {how:note}; --map corrects it",
    "work_unknown": "{why:note}",
    "equal_clocks": lambda facts: f"at equal clocks {change(facts['low'], facts['high'])}",
    "busier_but_slower": "a busier unit is not a faster kernel: {unit:the_unit} {before:percent} "
    "to {after:percent}",
    "expectation": "{claim:note}: {reason:note}",
    "program": _program,
    # --- compare: predictions
    "bound_at_same_work": "at most {most:times} at the same work for {unit:the_unit}",
    "bound_relieved": "at most {most:times} with {unit:the_unit} relieved, then limited by "
    "{then:the_unit}",
    "bound_without_waste": "at most {most:times} without the {counted}, then limited by "
    "{then:the_unit}",
    "bound_with_more_warps": "at most {most:times} with the warps that came",
    "count_not_measured": "the {counted} were not measured on both sides",
    "count_did_not_fall": "the {counted} did not fall: {before:count} to {after:count}",
    "count_fell": "{counted} {before:count} to {after:count}, reached {speedup:times} of "
    "{most:times} predicted",
    "count_fell_beyond": "{counted} {before:count} to {after:count}, but reached {speedup:times}, "
    "beyond that bound",
    "count_fell_beyond_with_less_work": "{counted} {before:count} to {after:count}, and other work "
    "fell, too: reached {speedup:times}",
    "count_fell_not_neared": "{counted} {before:count} to {after:count}, but only {speedup:times} "
    "of {most:times} was reached",
    "warps_beyond": "occupancy {before:percent} to {after:percent}, but reached {speedup:times}, "
    "beyond that bound",
    "warps_beyond_with_less_work": "occupancy {before:percent} to {after:percent}, and work fell, "
    "too: reached {speedup:times}",
    "warps_not_neared": "occupancy {before:percent} to {after:percent}, but only {speedup:times} "
    "of {most:times} was reached",
    "stated": "{option} {text}",
    "unit_not_measured": "{unit:the_unit}: not measured on both sides",
    "unit_not_measured_before": "{unit:the_unit}: not measured before",
    "unit_not_measured_after": "{unit:the_unit}: not measured after",
    "units_not_measured": "its units were not measured on both sides",
    "work_changed": "{work:work} for {unit:the_unit}",
    "work_did_not_fall": "the work of {unit:the_unit} did not fall",
    "bound_exceeded_at_same_work": "reached {speedup:times}, beyond that bound, at the same work",
    "bound_exceeded": "reached {speedup:times}, beyond that bound",
    "bound_reached": "reached {speedup:times} of {most:times} predicted",
    "bound_not_neared": "held, but only {speedup:times} of {most:times} was reached",
    "next_work_fell_too": "also {next_work:work} for {then:the_unit}",
    "next_work_fell_and_another_is_nearest": "also {next_work:work} for {then:the_unit}; the "
    "nearest ceiling now is {now:the_unit}",
    "nearest_but_not_near": "reached {speedup:times}; {then:the_unit} is nearest, but nothing is "
    "near its peak",
    "still_nearest": "the nearest ceiling is still {unit:the_unit}",
    "another_is_nearest": "the nearest ceiling now is {now:the_unit}",
    "no_pair_named": "no paired kernel has that name",
    "nothing_faster": "nothing got faster",
    "no_duration": "no duration was measured on both sides",
    "size_differs": "the problem size differs",
    "reached": "reached {speedup:times}",
    "no_step_time": "not testable: no time of the program on both sides (--time-before and "
    "--time-after, with several runs)",
    "left_open": "{what:note}; noise and clocks leave it open",
    "beyond_expected": "{what:note}, more than was expected: the hypothesis does not explain it",
    "expectation_judged": "{claim:note}: {judgement:words} ({reason:note})",
    "within_the_noise": "that is within the noise of {noise:share}; reached {speedup:times}",
    "outcome": "{speedup:times}, {outcome:words}",
    "no_speedup": "there is no speed-up to explain ({outcome:words})",
    "other_reason": "{speedup:times} faster, but not for that reason: {why:note}",
    # --- compare: claimed causes
    "and": "{what:note}, {why:note}",
    "but": "{what:note}, but {why:note}",
    "with": "{what:note}, with {why:note}",
    "limit_unknown": "what limited it before is not known",
    "limit_was": "the limit was {limiter:the_unit}, with {unit:the_unit} at {percent:percent}",
    "limit_was_and": "and the limit was {limiter:the_unit}",
    "was_limited_by": "it was limited by {limiter:the_unit}",
    "was_busy": "{unit:the_unit} was {percent:percent} busy",
    "latency_before": "latency-bound before; cause found: {cause:words}",
    "precisions_not_measured": "operations by precision were not measured on both sides",
    "operations_moved": "operations moved from {old:operation} to {new:operation}",
    "precision_gone": lambda facts: (
        f"{names.operation(facts['precision'])} operations "
        f"{from_to('total_operations', facts['before'], facts['after'])}"
    ),
    "no_precision_changed": "no precision changed",
    "amount_not_measured": "{measure:quantity}: not measured on both sides",
    "amount_changed": lambda facts: (
        f"{names.quantity(facts['measure'])} "
        f"{from_to(facts['measure'], facts['before'], facts['after'])}"
    ),
    "family_not_measured": "no unit of {family} was measured before",
    "unit_has_less_work": "{unit:the_unit} {before:percent} to {after:percent} busy, {work:work}",
    "unit_is_busier": "{unit:the_unit} {before:percent} to {after:percent} busy at the same work",
    "unit_has_as_much_work": "{unit:the_unit} {before:percent} to {after:percent} busy, "
    "{work:plain}x the work",
    # --- compare: gates
    "gate_figure": lambda facts: (
        f"{amount(facts['value'], facts['unit'])} (limit {amount(facts['limit'], facts['unit'])})"
    ),
    "gate_within_spread": lambda facts: (
        f"{amount(facts['value'], facts['unit'])}, within the spread of its launches"
    ),
    "gate_slower": "{loss:share} slower (limit {limit:share})",
    "gate_verdict": "{what} is {found}",
    "gate_not_measured": "{what} was not measured",
    "limit_unknown_now": "what limits it is not known",
    "gate_new_kernel": "{what:note}; new in AFTER",
    "gate_no_kernel": "no kernel of AFTER is named {pattern!r}",
    "gate_no_pair": "no paired kernel is named {pattern!r}",
    "gate_nothing_before": "{kernel} is new in AFTER, so there is nothing to compare it with",
    "gate_gone": "not in AFTER",
    "gate_figure_unjudged": "not judged: several runs, and --metric '{what}<=RE' or '{what}>=RE', "
    "which says which way is better",
    "gate_none_gone": "no kernel is gone",
}
