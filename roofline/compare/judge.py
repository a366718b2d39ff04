"""Two analyses become a comparison: pair, check, judge each pair, order by time won or lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

from roofline.compare.change import find_cause, step_gain, time_change, work_change
from roofline.compare.comparable import SETTINGS, check
from roofline.compare.model import (
    CaptureInfo,
    ChangeCause,
    Comparison,
    KernelPair,
    PairBasis,
    ProgramChange,
    Side,
    StepGain,
    TimeChange,
    Unpaired,
    WorkChange,
    note,
)
from roofline.compare.pairing import PLAIN, Match, pair
from roofline.compare.predictions import Expectation, bounds_held, expected, judge_change
from roofline.errors import UsageError
from roofline.fold import fold
from roofline.kernel_names import first_difference
from roofline.model import FOLDS, Analysis, Fold, Group, Measurement, Note, Result
from roofline.text.names import few, last_part
from roofline.wall_time import (
    Better,
    Outcome,
    PairedRatio,
    ProgramTimes,
    TimeSummary,
    outcome_of,
    ratio_of,
)

_Shares = Mapping[int, tuple[float, float]]

_CLOCK_SAID = 0.03
_FLOORS = ("floor_s", "next_floor_s", "waste_floor_s")
# The spread of few runs can be 0 by chance; timings of processes scatter by this at least.
LEAST_SPREAD = 0.01


def compare(
    before: Analysis,
    after: Analysis,
    *,
    maps: Sequence[tuple[str, str]] = (),
    allow: Collection[str] = (),
    noise: float | None = None,
    expectations: Sequence[Expectation] = (),
    shares: _Shares | None = None,
) -> Comparison:
    """Everything that changed between two captures.

    ``noise`` (0.03 is 3 %) replaces the assumed one; ``shares`` maps a position in BEFORE's groups
    to its (exposed, total) share of the step, 0 to 1.

    Captures that do not compare (see ``comparable.REFUSALS``) are a UsageError, as are kernels of
    which none pairs or that a map names and are not there.
    """
    checks = check(before, after, allow)
    matches = pair(before, after, maps=maps)
    gone = _unpaired(before, {p for m in matches for p in m.before})
    new = _unpaired(after, {p for m in matches for p in m.after})
    if not matches:
        raise UsageError(
            "no kernel of BEFORE is one of AFTER",
            why="; ".join(
                f"{side}: {few(dict.fromkeys(u.side.measured.name for u in kernels), 5)}"
                for side, kernels in (("before", gone), ("after", new))
            ),
            hint="--map OLD=NEW names what became what",
        )
    judged = [_pair(before, after, match, noise, shares or {}) for match in matches]
    said = expected(judged, expectations)
    if any(item.code == "same_capture" for item in checks):
        why = note("one_capture")
        of_none = {i: every for i, every in said.items() if i < 0}
        said = {
            i: [replace(one, judgement="not_testable", reason=why) for one in every]
            for i, every in said.items()
        } | of_none
    pairs = [
        replace(p, predictions=(*bounds_held(p), *said.get(i, ())), notes=tuple(_notes(p)))
        for i, p in enumerate(judged)
    ]
    # Time of all judged pairs, the launches of BEFORE on both sides.
    times = [
        (p.before.total_s or 0.0, p.timing.speedup)
        for p in pairs
        if p.timing is not None and p.doubt is None
    ]
    return Comparison(
        before=_info(before),
        after=_info(after),
        checks=checks,
        pairs=tuple(sorted(pairs, key=_rank, reverse=True)),
        gone=gone,
        new=new,
        before_paired_s=sum(time for time, _ in times) if times else None,
        after_paired_s=sum(time / speedup for time, speedup in times) if times else None,
        notes=tuple(note("expectation", claim=p.claim, reason=p.reason) for p in said.get(-1, ())),
        counts=Counter[str](p.outcome for p in pairs),
    )


def alone(after: Analysis, expectations: Sequence[Expectation] = ()) -> Comparison:
    """AFTER where there is no baseline yet: all of it is new, and nothing expected is judged."""
    nothing = CaptureInfo(
        sources=(), launches=0, kernels=0, devices=(), ncu_versions=(), settings={}, total_s=None
    )
    return Comparison(
        before=nothing,
        after=_info(after),
        checks=(),
        pairs=(),
        new=_unpaired(after, set()),
        notes=tuple(
            note("expectation", claim=one.claim, reason=note("no_baseline")) for one in expectations
        ),
    )


def judge_program(before: ProgramTimes | None, after: ProgramTimes) -> ProgramChange:
    """The change of the median; one within the wider of the two spreads is none.

    Without ``before`` that of the pairs of runs that ``after`` holds, by its interval.

    Raises:
        UsageError: a profiler measured inside of the runs, or a side is missing.

    """
    paired = () if before is not None else after.paired
    before = before or after.against
    if before is None:
        raise UsageError(
            "one timing has nothing to compare with",
            hint="--time-before F --time-after F, or a timing with --against",
        )
    for times in (before, after):
        if times.instrumented:
            raise UsageError(
                f"the times of {times.program or 'a program'} were measured inside of a profiler",
                why=", ".join(times.instrumented),
                hint="roofline time without it",
            )
    one, other = before.wall_s, after.wall_s
    named = {metric.name: metric for metric in after.metrics}
    both = [(m, named[m.name]) for m in before.metrics if m.name in named]
    runs = min(before.repeats, after.repeats)
    apart = [_apart("wall time", "lower", one, other, runs)]
    apart += [
        _apart(m.name, m.better, m, n, min(len(m.values), len(n.values)))
        for m, n in both
        if m.median > 0 and n.median > 0
    ]
    whole, *figures = paired or apart
    facts = {"speedup": whole.ratio, "noise": whole.noise, "outcome": whole.outcome}
    return ProgramChange(
        whole=whole,
        figures=tuple(figures),
        before_s=one.median,
        after_s=other.median,
        before_p95_s=one.p95,
        after_p95_s=other.p95,
        before_spread=one.spread,
        after_spread=other.spread,
        speedup=whole.ratio,
        outcome=whole.outcome,
        text=note("program", **facts, paired=paired[:1], before=before, after=after),
    )


def _apart(
    name: str, better: Better | None, one: TimeSummary, other: TimeSummary, count: int
) -> PairedRatio:
    """Two timings that were taken apart: a change within the wider of their spreads is none."""
    ratio = one.median / other.median if better == "lower" else other.median / one.median
    noise = max(one.spread or 0.0, other.spread or 0.0, LEAST_SPREAD)
    # One run has no spread.
    span = (ratio / (1 + noise), ratio * (1 + noise)) if count > 1 else None
    return ratio_of(name, better, ratio, span, pairs=0)


def judge_steps(wanted: Sequence[Expectation], program: ProgramChange | None) -> tuple[Note, ...]:
    """What was expected of the step, by the program's time without a profiler."""
    if program is None or program.outcome == "unknown":
        return judge_step(wanted, None)
    return judge_step(wanted, (program.before_s, program.after_s, program.text.facts["noise"]))


def judge_step(
    wanted: Sequence[Expectation], times: tuple[float, float, float] | None
) -> tuple[Note, ...]:
    """What was expected of the step, by its times before and after, and their noise."""
    said = []
    for item in (one for one in wanted if one.what == "step"):
        claim = item.claim
        if times is None:
            said.append(note("expectation", claim=claim, reason=note("no_step_time")))
        else:
            judged, reason = judge_change(item, *times)
            facts = {"claim": claim, "judgement": judged, "reason": reason}
            said.append(note("expectation_judged", **facts))
    return tuple(said)


# --- sides --------------------------------------------------------------------------------------


def _side(analysis: Analysis, groups: Sequence[Group], *, summed: bool) -> Side:
    """What ``groups`` (one, or several that together stand for one) did, per launch or in sum."""
    main = max(groups, key=lambda g: g.total_s or 0.0).result
    whole = fold([g.result.measurement for g in groups])
    launches = [
        analysis.results[p].measurement for p in sorted(p for g in groups for p in g.launches)
    ]
    shapes = [
        prod(m.grid) * prod(m.block) * (len(g.launches) if summed else 1)
        for g in groups
        for m in [g.result.measurement]
        if m.grid is not None and m.block is not None
    ]
    return Side(
        result=_scaled(main, whole, 1 if summed else whole.count),
        launches=len(launches),
        shape_count=len(groups),
        sources=_distinct(last_part(m.source) for m in launches),
        durations_s=tuple(m.duration_s for m in launches if m.duration_s is not None),
        total_s=whole.duration_s,
        threads=float(sum(shapes)) if len(shapes) == len(groups) else None,
    )


def _scaled(main: Result, whole: Measurement, count: int) -> Result:
    """``whole`` over ``count``, with the verdict of ``main``, its floors scaled alike."""

    def over(amount: Any, by: float = count) -> Any:
        if isinstance(amount, Mapping):
            return {key: over(value) for key, value in amount.items()}
        return None if amount is None else amount / by

    sums = {n: over(getattr(whole, n)) for n, how in FOLDS[Measurement].items() if how is Fold.SUM}
    share = (main.measurement.duration_s or 1.0) / (whole.duration_s or 1.0) * count
    floors = {n: over(getattr(main.verdict, n), share) for n in _FLOORS}
    measured = replace(whole, **(sums | {"count": 1}))
    return replace(main, measurement=measured, verdict=replace(main.verdict, **floors))


def _info(analysis: Analysis) -> CaptureInfo:
    measured = [r.measurement for r in analysis.results]
    durations = [m.duration_s for m in measured if m.duration_s is not None]
    told = {key: _distinct(m.settings.get(key) for m in measured) for key in SETTINGS}
    return CaptureInfo(
        sources=tuple(last_part(s.path) for s in analysis.sources),
        launches=len(measured),
        kernels=len(analysis.groups),
        devices=_distinct(m.device.name for m in measured),
        ncu_versions=_distinct(m.ncu_version for m in measured),
        settings={key: ", ".join(values) for key, values in told.items() if values},
        total_s=sum(durations) if durations else None,
        unread=analysis.unread,
    )


def _distinct(values: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(v for v in values if v))


def _unpaired(analysis: Analysis, used: set[int]) -> tuple[Unpaired, ...]:
    return tuple(
        Unpaired(side=_side(analysis, [group], summed=False), share=group.share)
        for position, group in enumerate(analysis.groups)
        if position not in used
    )


# --- a pair -------------------------------------------------------------------------------------


def _pair(
    before: Analysis, after: Analysis, match: Match, noise: float | None, shares: _Shares
) -> KernelPair:
    summed = match.kind != "one_to_one"
    left = _side(before, [before.groups[i] for i in match.before], summed=summed)
    right = _side(after, [after.groups[i] for i in match.after], summed=summed)
    timing = time_change(left, right, summed=summed, noise=noise)
    work = work_change(left, right, timing, summed=summed)
    outcome, basis = _outcome(timing, work)
    if timing is None:
        cause = ChangeCause(code="not_measured")
    elif work.differs:
        cause = ChangeCause(code="other_size")
    elif work.status == "gone":
        cause = ChangeCause(code="work_gone")
    else:
        cause = find_cause(left, right, timing, outcome)
    found = KernelPair(
        kind=match.kind,
        how=match.how,
        before=left,
        after=right,
        outcome=outcome,
        basis=basis,
        timing=timing,
        work=work,
        cause=cause,
    )
    if found.other_gpu and timing is not None:
        return replace(found, outcome="unknown", cause=ChangeCause(code="other_gpu"))
    if found.doubt is None:
        step = _step([shares[i] for i in match.before if i in shares], timing)
        return replace(found, step=step)
    return found if work.differs else replace(found, outcome="unknown")


def _outcome(timing: TimeChange | None, work: WorkChange) -> tuple[Outcome, PairBasis]:
    if timing is None:
        return "unknown", "time"
    low, high = timing.equal_low, timing.equal_high
    if work.differs and work.ratio:
        return outcome_of(low * work.ratio, high * work.ratio), "equal_work"
    clocks = (timing.sm_clock_ratio, timing.dram_clock_ratio)
    differ = any(c is not None and abs(c - 1) > _CLOCK_SAID for c in clocks)
    return outcome_of(low, high), "equal_clocks" if differ else "time"


def _step(found: Sequence[tuple[float, float]], timing: TimeChange | None) -> StepGain | None:
    """The step gain of kernels with these shares."""
    if timing is None or not found:
        return None
    exposed, whole = sum(s[0] for s in found), min(sum(s[1] for s in found), 1.0)
    hidden = exposed < whole
    return StepGain(
        share=whole,
        gain=step_gain(whole, timing.speedup),
        share_low=exposed if hidden else None,
        gain_low=step_gain(exposed, timing.speedup) if hidden else None,
    )


def _notes(pair_: KernelPair) -> Iterable[Note]:
    """What a reader must know besides the sentence."""
    before, after, timing = pair_.before, pair_.after, pair_.timing
    launches = {"before": before.launches, "after": after.launches}
    if pair_.kind != "one_to_one":
        shapes = {"before_shapes": before.shape_count, "after_shapes": after.shape_count}
        yield note(pair_.kind, **shapes, **launches)
    elif before.launches != after.launches:
        yield note("launch_count", **launches)
    if pair_.how.code not in PLAIN:
        yield _paired_by(pair_)
    if pair_.work.status == "unknown" and pair_.work.text.code != "work_not_measured":
        yield note("work_unknown", why=pair_.work.text)
    if timing is not None and pair_.changed:
        ends = (timing.speedup_low, timing.speedup_high)
        if max(abs(end / timing.speedup - 1) for end in ends) > _CLOCK_SAID:
            sized = pair_.work.differs
            low, high = (end * (pair_.work.ratio or 1.0) if sized else end for end in ends)
            yield note("equal_clocks", low=low, high=high, per_work=sized)
    # Slower with a busier limiter: the trap of judging by utilisation.
    unit = after.busiest
    if pair_.outcome == "slower" and unit is not None and unit == before.busiest:
        one, other = before.utilization.get(unit), after.utilization.get(unit)
        if one is not None and other is not None and other > one:
            yield note("busier_but_slower", unit=unit, before=one, after=other)


def _paired_by(pair_: KernelPair) -> Note:
    """By what a pair was found, with the first template arguments that differ."""
    words = first_difference(pair_.before.measured.demangled, pair_.after.measured.demangled)
    if words is None or pair_.kind != "one_to_one":
        return note("paired_by", how=pair_.how)
    return note("paired_by_part", how=pair_.how, before=words[0], after=words[1])


def _rank(pair_: KernelPair) -> tuple[bool, float]:
    """What changed first, by time won or lost; then the rest, by time."""
    if pair_.timing is None or pair_.before.total_s is None:
        return pair_.changed, 0.0
    told = pair_.changed or pair_.doubt is not None
    moved = abs(1 - 1 / pair_.timing.speedup) if told else 1.0
    return told, pair_.before.total_s * moved
