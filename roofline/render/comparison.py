"""A comparison for people: the sentence of a pair, lines that formats share, and the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Column, Table
from rich.text import Text

from roofline.compare.change import busy_ratio, cause_gone, measured_alike, precisions_gone, same
from roofline.compare.model import (
    Comparison,
    Correctness,
    GateResult,
    KernelPair,
    LeftOut,
    Prediction,
    Side,
    TimeChange,
)
from roofline.compare.predictions import UNCHANGED
from roofline.model import PROMISED, QUANTITIES, Bound, Family
from roofline.render import overview
from roofline.text import console, names, numbers
from roofline.text import verdict as said
from roofline.text.comparison import change, figure, from_to, gained, work
from roofline.text.console import NARROWEST, hanging, to_text
from roofline.text.notes import note_text
from roofline.text.numbers import amount, clock, duration, percent, plain, plural, times
from roofline.units import unit_of_precision

ROWS = 10
NAME = 40  # letters of a kernel's name in a line of text
# Points of occupancy that are worth a word.
_POINTS = 5.0
# Ways of pairing by which the two may be called differently.
_RENAMED = ("by_map", "by_similar_name", "by_similar_name_and_launch", "by_being_alone")
_STYLES = {"faster": "green", "slower": "red", "unknown": "dim"}
_COUNTED = {"no_change": "unchanged", "unknown": "not judged"}
_SEVERITIES = {"refusal": "bold yellow", "warning": "yellow", "info": "dim"}
# Columns besides the name, with their gaps; narrow terminals do without bytes and operations.
_WIDE, _NARROW = 74, 58


# --- the sentence of a pair ---------------------------------------------------------------------


def sentence(pair: KernelPair) -> str:
    """How much faster or slower, at what work, why, and what limits now."""
    before, after, timing = pair.before, pair.after, pair.timing
    if timing is None:
        sides = {"before": before, "after": after}
        where = " and ".join(name for name, side in sides.items() if not side.measured.duration_s)
        return (
            f"not judged: no duration was measured {where} (collect it with --set basic or more)."
        )
    if pair.other_gpu:
        head, why, told = f"on another GPU ({change(timing.speedup)} by time)", "", False
    elif pair.work.differs:
        speedup = pair.work.speedup or 1.0
        how = change(speedup)
        if pair.outcome == "no_change":
            how = f"no change ({times(speedup)})"
        head = (
            f"{plain(pair.work.ratio)}x the {names.quantity(pair.work.measure or '')} in "
            f"{plain(1 / timing.speedup)}x the time, another problem size: {how} per unit of work"
        )
        why, told = "", False
    elif pair.work.status == "gone":
        head, why, told = (
            f"{note_text(pair.work.text)} ({change(timing.speedup)} by time)",
            "",
            False,
        )
    else:
        head = " ".join(filter(None, (_headline(pair, timing.speedup), _amounts(pair))))
        why, told = _why(pair)
    parts = "; ".join(filter(None, (why, _limiter_now(before, after, told=told))))
    return f"{head}: {parts}." if parts else f"{head}."


def _headline(pair: KernelPair, speedup: float) -> str:
    if pair.doubtful:
        return f"probably another problem size ({change(speedup)} by time)"
    if pair.changed and pair.timing is not None:
        told = _told(pair, pair.timing)
        by_time = f" at equal clocks ({times(speedup)} by time)"
        return told if told == change(speedup) else told + by_time
    if pair.cause.code == "clock" or pair.timing is None:
        return f"no change at equal clocks ({times(speedup)} by time)"
    return f"no change ({times(speedup)}, noise {numbers.share(pair.timing.noise)})"


def _told(pair: KernelPair, timing: TimeChange) -> str:
    """The change by time, or at equal clocks where only that goes the way of the outcome."""
    by_time = change(timing.speedup)
    return by_time if pair.outcome in by_time else change(*timing.judged)


def _amounts(pair: KernelPair) -> str:
    """The work in bytes; in operations where a compute unit is the cause or bytes are unknown."""
    before, after, cause = pair.before, pair.after, pair.cause

    def both(quantity: str) -> tuple[float, float] | None:
        one, other = before.figure(quantity), after.figure(quantity)
        return None if one is None or other is None else (one, other)

    bytes_ = both("dram_bytes")
    gone = [key for key in precisions_gone(before, after) if unit_of_precision(key) == cause.unit]
    if gone and cause.code == "less_work":
        counts = (side.measured.operations.get(gone[0], 0.0) for side in (before, after))
        amounts = from_to("total_operations", *counts)
        fell = bytes_ is not None and bytes_[1] < bytes_[0] and not same(*bytes_)
        rest = f" and {_amount('dram_bytes', *bytes_)}" if bytes_ and fell else ""
        return f"without its {names.operation(gone[0])} operations ({amounts}){rest}"
    operations = both("total_operations")
    computes = Family.COMPUTE in (s.families.get(cause.unit or "") for s in (before, after))
    if bytes_ and not (computes and operations and not same(*bytes_)):
        return _amount("dram_bytes", *bytes_)
    return _amount("total_operations", *operations) if operations else ""


def _amount(quantity: str, one: float, other: float) -> str:
    if same(one, other):
        values = dict.fromkeys(amount(n, QUANTITIES[quantity].unit) for n in (one, other))
        if len(values) == 1:
            return f"at the same {' '.join(values)}"
        return f"at about the same {names.quantity(quantity)} ({' to '.join(values)})"
    how = f"{times(max(one / other, other / one))} " if one and other else ""
    noun = f"{'fewer' if other < one else 'more'} {names.quantity(quantity)}"
    return f"with {how}{noun} ({from_to(quantity, one, other)})"


def _why(pair: KernelPair) -> tuple[str, bool]:
    """The clause of cause, and whether it already says what happened to the old limiter."""
    before, after, cause = pair.before, pair.after, pair.cause
    unit = names.the_unit(cause.unit)
    one, other = (s.utilization.get(cause.unit or "") for s in (before, after))
    use = f"{percent(one)} to {percent(other)} busy"
    noun = _counted(before, after, cause.unit)
    less = work(0.0 if cause.factor is None else 1 / cause.factor, noun)
    old, new = before.verdict.limiter, after.verdict.limiter
    role = _role(before, after, cause.unit, gained=cause.code in ("fewer_bytes", "less_work"))
    text = ""
    match cause.code:
        case "fewer_bytes" | "less_work" if cause.unit == old != new:
            return f"no longer limited by {unit} ({less}, {use})", True
        case "fewer_bytes":
            text = f"that relieves {unit}{role}"
        case "less_work":
            text = f"{less} for {unit}{role} ({use})"
        case "more_bytes":
            text = f"that burdens {unit}{role}"
        case "more_work":
            more = f"more {noun}" if cause.factor is None else work(cause.factor, noun)
            text = f"{more} for {unit}{role} ({use})"
        case "busier" | "idler":
            text = _rate(pair, use, noun)
        case "other_precision":
            moved = " to ".join(map(names.operation, cause.moved or ()))
            text = f"its operations moved from {moved}"
        case "clock":
            text = _clocks(pair)
        case "unexplained":
            text = "no cause is named, as its limiter was not measured on both sides"
    return text, False


def _rate(pair: KernelPair, use: str, noun: str) -> str:
    """The clause of a rate, and how much less or more work stands beside it."""
    before, after, cause = pair.before, pair.after, pair.cause
    amount_ = busy_ratio(before, after, cause.unit)
    moved = amount_ is not None and not same(amount_, 1.0, UNCHANGED)
    gained = cause.code == "busier"
    by = f": {times(cause.factor)}" if moved and gained else ""
    where = f"{names.unit(cause.unit)} {use}{by}{_launch(before, after)}"
    text = f"the work is done at a {'higher' if gained else 'lower'} rate ({where})"
    of = names.the_unit(cause.unit)
    if not moved or not amount_:
        return text
    text += f", with {work(amount_, noun)} for {of}"
    whole = (cause.factor or 1.0) / amount_
    if not by or pair.timing is None or same(whole, pair.timing.speedup, _ROUNDED):
        return text
    return f"{text} (at equal clocks {times(whole)})"


# Two factors, each rounded, multiply to the speed-up within this.
_ROUNDED = 0.01


def _counted(before: Side, after: Side, unit: str | None) -> str:
    """What the unit's counter counts, in its own noun, where it is the same on both sides."""
    metrics = {
        u.metric.split(".")[0] for s in (before, after) for u in s.measured.units if u.unit == unit
    }
    noun = metrics.pop().rpartition("_")[2] if len(metrics) == 1 else ""
    return noun if noun in ("wavefronts", "sectors", "requests") else "work"


def _role(before: Side, after: Side, unit: str | None, *, gained: bool) -> str:
    """What the unit was to the slower side: its limiter or its busiest; "now" where it was not."""
    slow = before if gained else after
    what = "its limiter" if unit == slow.verdict.limiter else "its busiest unit"
    new = not gained and unit != before.busiest
    return f", {'now ' if new else ''}{what}"


def _launch(before: Side, after: Side) -> str:
    """Occupancy and waves where they moved: what usually stands behind a change of rate."""
    said = ""
    one, other = before.measured.occupancy_percent, after.measured.occupancy_percent
    if one is not None and other is not None and abs(other - one) > _POINTS:
        said = f", occupancy {percent(one)} to {percent(other)}"
    old, new = before.measured.waves, after.measured.waves
    if old and new and min(old, new) < 1 and not same(old, new):
        said += f", waves {plain(old)} to {plain(new)}"
    return said


def _clocks(pair: KernelPair) -> str:
    said = [
        f"the {names.quantity(key)} went from {clock(one)} to {clock(other)}"
        for key in ("sm_clock_hz", "dram_clock_hz")
        if (one := pair.before.figure(key))
        and (other := pair.after.figure(key))
        and not same(one, other)
    ]
    return f"{' and '.join(said) or 'the clocks differ a little'}, which can explain it alone"


def _limiter_now(before: Side, after: Side, *, told: bool) -> str:
    """What limits now and what is left; ``told`` where the old limiter has been spoken of.

    What was not measured on both sides is of one of them, and no change.
    """
    old, new = before.verdict, after.verdict
    gone = ""
    if old.bound is Bound.UNKNOWN or new.bound is Bound.UNKNOWN:
        return "; ".join(_of_one_side(before, after))
    if old.limiter and old.limiter != new.limiter and not told:
        unit, use = names.the_unit(old.limiter), percent(old.limiter_percent)
        gone = f"limited by {unit} before ({use}), not measured after"
        if measured_alike(before, after, old.limiter):
            to = percent(after.utilization[old.limiter])
            gone = f"no longer limited by {unit} ({use} to {to})"
    elif old.bound is Bound.LATENCY and new.limiter:
        gone = "no longer latency-bound"
    if new.limiter is None:
        text = _latency_now(before, after)
    else:
        known = measured_alike(before, after, new.limiter)
        how = "still" if old.limiter == new.limiter else "now" if known else "after it"
        text = f"{how} limited by {names.the_unit(new.limiter)} at {percent(new.limiter_percent)}"
        text += "" if known else ", not measured before"
        if new.co_limiter:
            near = percent(after.utilization.get(new.co_limiter))
            text += f" (co-limited: {names.unit(new.co_limiter)} {near})"
        if after.verdict.floor_s and after.measured.duration_s:
            text += f", {times(after.measured.duration_s / after.verdict.floor_s)} headroom left"
    return "; ".join(filter(None, (gone, text)))


def _latency_now(before: Side, after: Side) -> str:
    reason = (said.cause(after.result) or "").rstrip(".")
    when = "still" if before.verdict.bound is Bound.LATENCY else "now"
    return f"{when} latency-bound" + (f" ({reason})" if reason else "")


def _of_one_side(before: Side, after: Side) -> Iterator[str]:
    """What limited the side of which that is known."""
    sides = (("before", before), ("after", after))
    for (when, side), (then, other) in (sides, sides[::-1]):
        verdict = side.verdict
        if verdict.bound is not Bound.UNKNOWN:
            unit, use = names.the_unit(verdict.limiter), percent(verdict.limiter_percent)
            yield (
                f"limited by {unit} at {use} {when}" if verdict.limiter else f"latency-bound {when}"
            )
            how = "is not known" if other.utilization else "was not measured"
            yield f"what limited it {then} {how}"


# --- lines --------------------------------------------------------------------------------------


def title(comparison: Comparison) -> str:
    """What was compared: "before.ncu-rep -> after.ncu-rep on NVIDIA A100"."""
    before, after = (
        names.printable(side.sources[0])
        if len(side.sources) == 1
        else plural(len(side.sources), "file")
        for side in (comparison.before, comparison.after)
    )
    where = names.printable(", ".join(comparison.after.devices)) or "an unknown GPU"
    return f"{after if comparison.alone else f'{before} -> {after}'} on {where}"


def totals(comparison: Comparison) -> str:
    """How many pairs got faster or slower, and the time of all of them."""
    order = ("faster", "slower", "no_change", "unknown")
    said = [
        f"{count} {_COUNTED.get(o, o)}" for o in order if (count := comparison.counts.get(o, 0))
    ]
    if comparison.alone:
        return "nothing to compare with: there is no baseline yet"
    alone = [pair.how.code for pair in comparison.pairs] == ["by_being_alone"]
    how = " (the only one of each side, under another name)" if alone else ""
    text = f"{plural(len(comparison.pairs), 'kernel')} paired{how}: {', '.join(said)}"
    if others := sum(pair.cause.code == "other_gpu" for pair in comparison.pairs):
        text += f" ({others} on another GPU)"
    if gone := sum(pair.work.status == "gone" for pair in comparison.pairs):
        text += f" ({gone} without the work)"
    if doubtful := sum(pair.doubtful for pair in comparison.pairs):
        text += f" ({doubtful} probably of another problem size)"
    before, after = comparison.before_paired_s, comparison.after_paired_s
    if before and after:
        one, other = comparison.launches
        gain = gained(before / after, comparison.gain)
        left_out = comparison.left_out
        of = "of the pairs compared" if left_out else "in all"
        if one == other:
            text += f"; {duration(before)} to {duration(after)} {of} ({gain})"
        else:
            took_s = sum(p.after.total_s or 0.0 for p in comparison.judged)
            text += f"; {duration(before / one)} to {duration(after / one)} per launch ({gain}); "
            text += f"in sum {duration(before)} of {plural(one, 'launch')} to "
            text += f"{duration(took_s)} of {other:,} ({change(before / took_s)})"
        if left_out:
            text += f"; {whole(left_out, comparison.whole_s)}"
    return text


def unread(comparison: Comparison) -> Iterator[str]:
    """The files whose kernels are in neither table nor gates."""
    for side, info in (("BEFORE: ", comparison.before), ("AFTER: ", comparison.after)):
        yield from overview.unread(info.unread, side)


def foot(comparison: Comparison) -> str:
    """What the figures are, and what counts as no change where some did not."""
    repeated = any(s.launches > 1 for p in comparison.pairs for s in (p.before, p.after))
    text = f"Times{' per launch' if repeated else ''} measured under ncu."
    if comparison.counts.get("no_change"):
        text += " A change within the noise, or that the clocks explain, is no change."
    return text


def cell(pair: KernelPair) -> str:
    """The outcome in a cell: "1.42x faster", "no change"."""
    if pair.timing is None or pair.outcome == "unknown":
        return "not judged"
    if pair.outcome == "no_change":
        return "no change"
    if pair.work.differs and pair.work.speedup:
        return f"{change(pair.work.speedup)} per work"
    return _told(pair, pair.timing)


def named(pairs: Sequence[KernelPair], letters: int) -> Iterator[list[str]]:
    """The kernel of each pair, after the one before where that is another one by name."""
    olds = names.short_all((p.before.measured.demangled for p in pairs), letters - len(" ->"))
    news = names.short_all((p.after.measured.demangled for p in pairs), letters)
    for pair, *both in zip(pairs, olds, news, strict=True):
        renamed = pair.kind == "one_to_one" and pair.how.code in _RENAMED
        yield [*dict.fromkeys(both)] if renamed else both[1:]


def took(pair: KernelPair, side: Side) -> str:
    """The time in a cell, of a launch or of a sum."""
    return duration(side.measured.duration_s) + (" (sum)" if pair.per == "total" else "")


def limit(side: Side) -> str:
    """The limiter in a cell: "DRAM 89 %", "latency"."""
    verdict = side.verdict
    if verdict.limiter is None:
        return "unknown" if verdict.bound is Bound.UNKNOWN else str(verdict.bound)
    return f"{names.unit(verdict.limiter)} {percent(verdict.limiter_percent)}"


def limits(before: Side, after: Side) -> str:
    """Both limiters in a cell: "DRAM 90 -> 82 %", "L1/shared 92 % -> DRAM 89 %"."""
    one, other = limit(before), limit(after)
    if one != other and before.verdict.limiter and before.verdict.limiter == after.verdict.limiter:
        one = one.removesuffix(" %")
        other = other.removeprefix(f"{names.unit(after.verdict.limiter)} ")
    return " -> ".join(dict.fromkeys((one, other)))


def ratio(before: float | None, after: float | None) -> str:
    """A change in a cell: "same", "0.75x", "-" where a side is missing."""
    if before is None or after is None or (not before and after):
        return numbers.ABSENT
    return "same" if not before or abs(after / before - 1) <= 0.03 else times(after / before)


def told_apart(pairs: Sequence[KernelPair]) -> list[KernelPair]:
    """The pairs that get a sentence: unchanged ones are counted where there are several."""

    def asked(pair: KernelPair) -> bool:
        return pair.step is not None or any(p.by == "user" for p in pair.predictions)

    same_ = {id(p) for p in pairs if p.outcome == "no_change" and not asked(p)}
    return [p for p in pairs if len(same_) < 2 or id(p) not in same_]


def unchanged(pairs: Sequence[KernelPair], *, named: bool = False) -> Iterator[str]:
    """One line for the pairs that get no sentence, by why nothing changed.

    By their rank, or ``named``, where no row shows them.
    """
    told = set(map(id, told_apart(pairs)))
    for at, clocks in (("within the noise", False), ("beyond clocks and noise", True)):
        kept = [
            (names.short(p.after.measured.demangled, NAME) if named else f"#{rank}")
            + (f" ({change(p.timing.speedup)} by time)" if clocks and p.timing else "")
            for rank, p in enumerate(pairs, 1)
            if id(p) not in told and (p.cause.code == "clock") is clocks
        ]
        if kept:
            more = f" and {len(kept) - ROWS} more" if named and len(kept) > ROWS else ""
            count = f" ({plural(len(kept), 'kernel')})" if named else ""
            yield f"no change {at}{count}: {', '.join(kept[:ROWS] if named else kept)}{more}"


# Bounds that were passed, or after which another unit is nearest: not tested, but they teach most.
_SURPRISES = (
    *("bound_passed_within_noise", "count_fell_beyond_with_less_work", "next_work_fell_too"),
    *("next_work_fell_and_another_is_nearest", "warps_beyond_with_less_work"),
)


def details(pair: KernelPair) -> Iterator[str]:
    """All about a pair but its sentence, and bounds that held untested."""
    timing, step = pair.timing, pair.step
    if timing is not None and timing.spread_low is not None and timing.spread_high is not None:
        count = pair.before.launches
        launches = f"{count} launches" if count == pair.after.launches else "the launches"
        yield f"before / after is {_span(timing.spread_low, timing.spread_high)} over {launches}"
    yield from map(note_text, pair.notes)
    if new := _causes_new(pair):
        yield f"new after the change: {'; '.join(new)}"
    for item in pair.predictions:
        told = item.by == "user" or item.judgement != "not_testable"
        most = item.claim.facts.get("most", 0.0)
        if (told or item.reason.code in _SURPRISES) and most <= PROMISED:
            yield prediction(item, who=True)
    if step is not None:
        low = step.gain if step.gain_low is None else step.gain_low
        share = numbers.share(step.share)
        yield f"the step: at {share} of it, {_span(low, step.gain)} if nothing else changes"


def _causes_new(pair: KernelPair) -> list[str]:
    """The causes that only AFTER has, where it changed and its sentence does not tell them."""
    told, result = sentence(pair), pair.after.result
    new = [
        said.cause_text(result, cause)
        for cause in result.verdict.causes
        if cause_gone(cause, pair.after, pair.before)
    ]
    return [text for text in new if pair.changed and text.rstrip(".") not in told]


def prediction(item: Prediction, *, who: bool = False) -> str:
    """A claim, its judgement and why."""
    by = {"floor": "predicted: ", "user": "expected: "}[item.by] if who else ""
    judged, facts = names.words(item.judgement), item.reason.facts
    reason = note_text(item.reason)
    if "measured" in facts:
        measured = times(facts["measured"])
        reason += f"; {times(facts['speedup'])} is at equal clocks, {measured} measured"
    return f"{by}{note_text(item.claim)}: {judged} ({reason})"


def _span(low: float, high: float) -> str:
    """A range of speed-ups: "0.98x to 1.02x", or one where both read alike."""
    return " to ".join(dict.fromkeys((times(low), times(high))))


_EFFECTS = (
    *("registers_per_thread", "shared_memory_bytes", "occupancy_percent", "waves"),
    *("dram_bytes", "l2_bytes", "l1_bytes", "total_operations"),
)
LOOKED_AT = ", ".join(map(names.quantity, _EFFECTS)) + ", grid, block, figures of the program"


def side_effects(pair: KernelPair) -> Iterator[str]:
    """What else moved of what was looked at."""
    one, other = pair.before.measured, pair.after.measured
    for key in _EFFECTS:
        old, new = getattr(one, key), getattr(other, key)
        if old is not None and new is not None and ratio(old, new) != "same":
            yield f"{names.quantity(key)}: {from_to(key, old, new)}"
    for what in ("grid", "block"):
        shape, new_shape = getattr(one, what), getattr(other, what)
        if shape and new_shape and shape != new_shape:
            yield f"{what}: {names.dims(shape)} to {names.dims(new_shape)}"


def unpaired(left_out: Sequence[LeftOut], *more: str) -> Iterator[str]:
    """The kernels that only one side has, and those left out for ``more`` reasons."""
    for why in ("gone", "new", *more):
        kernels = [kernel for kernel in left_out if kernel.why == why]
        called = names.short_all((kernel.kernel for kernel in kernels), NAME)
        shown = [f"{n} ({duration(k.total_s)})" for n, k in zip(called, kernels, strict=True)]
        if shown:
            yield f"{names.words(why)}: {names.few(shown, 10)}"
    if {"gone", "new"} <= {kernel.why for kernel in left_out}:
        yield "kernels gone and new: --map OLD=NEW pairs what is one under another name"


def whole(left_out: Sequence[LeftOut], whole_s: tuple[float | None, float | None]) -> str:
    """The times of all kernels beside those of the pairs: "all kernels, 1 new: 1 s to 2 s".

    They have no ratio: fewer kernels are no gain unless they do the work of all.
    """
    counted = Counter(kernel.why for kernel in left_out)
    which = ", ".join(f"{count} {names.words(why)}" for why, count in counted.items())
    return f"all kernels, {which}: {' to '.join(map(duration, whole_s))}"


def extras(comparison: Comparison) -> Iterator[str]:
    """The check of correctness, the program's own time, expectations without a kernel."""
    done = comparison.correctness
    if done is not None:
        result = "passed" if done.passed else f"failed ({check_failed(done)})"
        yield f"correctness: {names.printable(done.command)}: {result}, {done.seconds:.1f} s"
    if comparison.program is not None:
        yield note_text(comparison.program.text)
        yield from map(figure, comparison.program.figures)
    yield from map(note_text, comparison.notes)


def check_failed(done: Correctness) -> str:
    """Why a check did not pass."""
    if done.code is None:
        return "it could not be started"
    return "killed or out of time" if done.code < 0 else f"exit code {done.code}"


def gate(result: GateResult) -> str:
    """One gate at one kernel: "FAILED regression=5% at gemm: 7.0 % slower (limit 5.0 %)"."""
    status = names.words(result.status)
    where = f" at {names.short(result.kernel, 60)}" if result.kernel else ""
    shown = status if result.status == "passed" else status.upper()
    return f"{shown} {result.gate}{where}: {note_text(result.text)}"


# --- the table ----------------------------------------------------------------------------------


def render(
    comparison: Comparison, *, width: int = 120, color: bool = False, limit: int | None = ROWS
) -> str:
    """``comparison`` as text of at most ``width`` columns and ``limit`` pairs."""
    width = max(width, NARROWEST)
    return to_text(_parts(comparison, width, limit), width=width, color=color)


def _parts(comparison: Comparison, width: int, limit: int | None) -> Iterator[RenderableType]:
    yield Text(title(comparison), style="bold")
    yield Text(totals(comparison))
    for line in unread(comparison):
        yield hanging("error: ", Text(line, style="bold yellow"))
    for item in comparison.checks:
        if item.code != "not_recorded":
            text = Text(note_text(item.text), style=_SEVERITIES[item.level])
            yield hanging(f"{item.level}: ", text)
    yield Text()
    shown = comparison.pairs[:limit]
    if shown:
        yield _table(shown, width)
        yield Text()
    told = told_apart(shown)
    for rank, pair in enumerate(shown, 1):
        if pair in told:
            yield hanging(f"{rank}. ", Text(sentence(pair)))
            for line in details(pair):
                yield hanging("- ", Text(line, style="dim"), indent=3)
    yield from map(Text, unchanged(shown))
    if len(comparison.pairs) > len(shown):
        yield Text(f"... and {len(comparison.pairs) - len(shown)} more: --top N shows N")
    yield from map(Text, (*unpaired(comparison.left_out), *extras(comparison)))
    for result in comparison.gates:
        style = "bold yellow" if result.failing else ""
        yield hanging("gate: ", Text(gate(result), style=style))
    yield Text(foot(comparison), style="dim")


def _table(pairs: Sequence[KernelPair], width: int) -> Table:
    wide = width >= 100
    called = list(named(pairs, max(width - (_WIDE if wide else _NARROW) - 4, 12)))
    table = console.table(
        "-#",
        Column("kernel", no_wrap=True),
        Column("before", justify="right", no_wrap=True),
        Column("after", justify="right", no_wrap=True),
        Column("change", no_wrap=True),
        *(("-bytes", "-ops") if wide else ()),
        "+limited by",
    )
    for rank, (pair, both) in enumerate(zip(pairs, called, strict=True), 1):
        one, other = pair.before, pair.after
        amounts = (
            ratio(one.measured.dram_bytes, other.measured.dram_bytes),
            ratio(one.measured.total_operations, other.measured.total_operations),
        )
        table.add_row(
            str(rank),
            Text(" ->\n".join(both)),
            took(pair, one),
            took(pair, other),
            Text(cell(pair), style=_STYLES.get(pair.outcome, "")),
            *(amounts if wide else ()),
            limits(one, other),
        )
    return table
