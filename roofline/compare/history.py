"""Changes one after the other, of a record or of captures in a row, and what is left to win."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, prod, sqrt
from typing import Literal

from roofline.compare.change import same
from roofline.compare.model import Comparison, Correctness, LeftOut, Side
from roofline.model import Action, Result
from roofline.units import unit_of_precision
from roofline.wall_time import PairedRatio

# With no more than this to win at the ceilings, nothing but less work helps.
LITTLE = 1.1
# Totals hold only what changed beyond noise: within this they are not worth going back for.
_ALIKE = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Bottleneck:
    """The kernel of a capture with the most time; ``limiter`` is a unit, or a bound."""

    kernel: str
    limiter: str
    percent: float | None = None
    total_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AtCeilings:
    """The time of all kernels of a capture, and what they would take at their nearest ceilings.

    ``measured`` says that a microbenchmark measured some of them on the device. ``worth_s`` is the
    time with only those at their ceilings that are not best left alone. ``without_s`` is the time
    at the ceilings and without the work that is proven waste, ``None`` where none is; ``worth_s``
    leaves that out, too.
    """

    total_s: float
    floor_s: float
    worth_s: float
    measured: bool = False
    without_s: float | None = None

    @property
    def left(self) -> float:
        """How many times faster it could get at most, at the same work."""
        return self.total_s / self.floor_s if self.floor_s else inf

    @property
    def most(self) -> float:
        """The same without proven waste, by which kernels are ranked."""
        least_s = self.floor_s if self.without_s is None else self.without_s
        return self.total_s / least_s if least_s else inf

    @property
    def stop(self) -> bool:
        """Whether so little can be won that nothing but less work helps."""
        return self.total_s <= LITTLE * self.worth_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A prediction of the user's, and how it came out at a kernel or for the step.

    ``late`` is one that was stated with the result.
    """

    claim: str
    judgement: str
    kernel: str | None = None
    late: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A change: an entry of a record, or two captures that follow each other.

    ``problem``, ``hypothesis`` and ``intervention`` are what only the experimenter knows.
    ``predictions`` of an open entry are as typed, "--expect gemm=2x"; ``judged`` are those of a
    closed one, which ``closes`` the entry that ``stated`` them then. ``seal`` is of what an open
    one states; ``edited`` says that it was changed, ``older`` that AFTER's file is. ``digest`` is
    that of BEFORE's files, ``after_digest`` of AFTER's. ``counts`` are kernels by what became of
    their time, noise and clocks accounted for; ``program`` are wall times without a profiler,
    ``figures`` what the program printed of its own.

    ``before_s`` and ``after_s`` are for as many launches as BEFORE had, of the ``launches`` of both
    sides. ``waste`` is what AFTER can go without first. ``gain`` is the time of the pairs before
    over after, ``sure`` what is beyond noise and clocks of it, least and most; ``total`` and
    ``total_sure`` are those of all changes that led to it, ``follows`` the entry where its BEFORE
    was the AFTER. ``warnings`` say in what the captures differ and must not. ``left_out`` are the
    kernels that are in none of these times, ``whole_s`` the times of all kernels of both sides.
    """

    entry: int = 0
    status: Literal["open", "closed"] = "closed"
    recorded: str | None = None
    problem: str | None = None
    hypothesis: str | None = None
    intervention: str | None = None
    closes: int | None = None
    stated: str | None = None
    seal: str | None = None
    edited: bool = False
    older: bool = False
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    digest: str | None = None
    after_digest: str | None = None
    predictions: tuple[str, ...] = ()
    before_s: float | None = None
    after_s: float | None = None
    launches: tuple[int, int] | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    program: tuple[float, float] | None = None
    figures: tuple[PairedRatio, ...] = ()
    correctness: Correctness | None = None
    judged: tuple[Judged, ...] = ()
    evidence: str | None = None
    waste: str | None = None
    first_before: Bottleneck | None = None
    first_after: Bottleneck | None = None
    at_ceilings: AtCeilings | None = None
    warnings: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    whole_s: tuple[float | None, float | None] | None = None
    gain: float | None = None
    sure: tuple[float, float] | None = None
    total: float | None = None
    total_sure: tuple[float, float] | None = None
    follows: int | None = None

    @property
    def failed(self) -> bool:
        """Whether the check of its results failed, so that its time counts for nothing."""
        return self.correctness is not None and not self.correctness.passed

    @property
    def rank(self) -> float:
        """The gain in total by which changes are ranked: the middle of what is sure, 0 unknown."""
        return sqrt(prod(self.total_sure)) if self.total_sure else self.total or 0.0


def seal_of(stage: Stage) -> str:
    """The SHA-256 of what was predicted, of what and when."""
    said = "\n".join((stage.recorded or "", stage.digest or "", *stage.predictions))
    return hashlib.sha256(said.encode()).hexdigest()


def history(stages: Iterable[Stage]) -> tuple[Stage, ...]:
    """The changes of a record, or of captures in a row, each with its gain and that in total.

    A change starts where an earlier one ended if its BEFORE is that one's AFTER: by the digest of
    the files, else by their names. What an entry closes is told there, and whether either says now
    what was not predicted then.
    """
    stages = tuple(stages)
    # Where two records were merged, two entries have one number.
    closed = {(stage.closes, stage.stated) for stage in stages}
    stated = {(stage.entry, stage.recorded): stage for stage in stages if stage.status == "open"}
    ends: dict[object, Stage] = {}
    found = []
    for stage in stages:
        if stage.status == "closed":
            origin = ends.get(stage.digest or stage.before) or ends.get(stage.before)
            gain = stage.before_s / stage.after_s if stage.before_s and stage.after_s else None
            sure = gain and (stage.sure or (gain, gain))
            total, total_sure = gain, sure or None
            if origin is not None and gain and sure:
                total = (origin.total or 1.0) * gain
                least, most = origin.total_sure or (1.0, 1.0)
                total_sure = least * sure[0], most * sure[1]
            follows = None if origin is None else origin.entry
            edited = stage.edited or _edited(stage, stated.get((stage.closes or 0, stage.stated)))
            stage = replace(
                stage,
                gain=gain,
                total=total,
                total_sure=total_sure,
                follows=follows,
                edited=edited,
            )
            ends |= {stage.after_digest or stage.after: stage, stage.after: stage}
        if stage.status == "closed" or (stage.entry, stage.recorded) not in closed:
            found.append(stage)
    return tuple(found)


def _edited(closing: Stage, opening: Stage | None) -> bool:
    """Whether the predictions of an entry, or what the one that closes it says of them, changed."""
    if opening is None:
        return False
    kept = {one.claim for one in closing.judged if not one.late} == set(opening.predictions)
    return opening.seal is not None and (opening.seal != seal_of(opening) or not kept)


def counted(stages: Iterable[Stage]) -> list[Stage]:
    """The changes that were made and whose check did not fail."""
    return [stage for stage in stages if stage.status == "closed" and not stage.failed]


def per_launch(stages: Sequence[Stage]) -> bool:
    """Whether sums do not compare, as captures have different numbers of launches."""
    known = [stage.launches for stage in stages if stage.before_s]
    return None not in known and any(one != other for one, other in filter(None, known))


def led_to(stages: Sequence[Stage]) -> list[Stage]:
    """The last change, before it the one that it follows, and so on, whether counted or not."""
    found: list[Stage] = []
    for stage in reversed(stages):
        # Where two records were merged, two entries have one number.
        met = not found or (
            stage.entry == found[-1].follows
            and (stage.after == found[-1].before or stage.after_digest == (found[-1].digest or ""))
        )
        if stage.status == "closed" and met and (found or not stage.failed):
            found.append(stage)
    return found


def program_of(stages: Sequence[Stage]) -> tuple[float, float] | None:
    """The program's time before the first and after the last of the changes that led to the last.

    ``None`` where one of them was not timed.
    """
    times = [stage.program for stage in led_to(stages)]
    first, last = (times[-1], times[0]) if times else (None, None)
    return (first[0], last[1]) if first and last and None not in times else None


def fastest(stages: Sequence[Stage]) -> Stage | None:
    """The last change, or a faster one of the same start: before kernels got slower, or beside it.

    ``None`` where that is the start. Captures that have other kernels, or do other work, have no
    fastest one: then it is the last.
    """
    led = led_to(stages)
    way = counted(led)
    totals = [*(stage.rank for stage in way), 1.0]
    if not totals[0] or any(stage.left_out for stage in led):
        return way[0] if way else None
    at = totals.index(max(totals))
    slower = any("slower" in stage.counts for stage in way[:at])
    if same(totals[0], totals[at], _ALIKE) or not slower:
        at = 0
    ways = ((stage, led_to(stages[:i])) for i, stage in enumerate(stages, 1) if stage.total)
    beside = (
        stage
        for stage, one in ways
        if stage not in led
        and one
        and one[0] is stage
        and _start(one) == _start(led)
        and not any(each.left_out for each in one)
    )
    top = max(beside, key=lambda stage: stage.rank, default=None)
    if top and top.rank > totals[at] and not same(top.rank, totals[at]):
        return top
    return way[at] if at < len(way) else None


def _start(way: Sequence[Stage]) -> object:
    """The capture that changes began with."""
    return way[-1].digest or way[-1].before


def followed(comparisons: Sequence[Comparison]) -> tuple[tuple[Result, bool], ...]:
    """The kernel with the most time of the first capture, and what it is in each one after it.

    Where it has gone, the path begins again with the kernel that then takes most time: the second
    of a point says whether it is the kernel of the point before.
    """
    side = _most(comparisons[0].sides[0])
    found = [(side.result, False)]
    for comparison in comparisons:
        after = [p.after for p in comparison.pairs if _key(p.before) == _key(side)]
        side = after[0] if after else _most(comparison.sides[1])
        found.append((side.result, bool(after)))
    return tuple(found)


def _key(side: Side) -> tuple[object, ...]:
    return side.measured.demangled, side.measured.grid, side.measured.block


def _most(sides: Iterable[Side]) -> Side:
    return max(sides, key=lambda side: side.total_s or 0.0)


def first_of(sides: Iterable[Side]) -> Bottleneck:
    """What takes most time, and what limits it."""
    side = _most(sides)
    verdict = side.verdict
    return Bottleneck(
        kernel=side.measured.name,
        limiter=verdict.limiter or str(verdict.bound),
        percent=verdict.limiter_percent,
        total_s=side.total_s,
    )


def at_ceilings(sides: Iterable[Side]) -> AtCeilings | None:
    """Kernels of which no ceiling is known count with all of their time."""
    total_s = floor_s = worth_s = without_s = 0.0
    known = measured = wasted = False
    for side in sides:
        took_s = side.measured.duration_s
        if not took_s or side.total_s is None:
            continue
        lowest_s, by = ceiling_s(side.result)
        least_s = side.total_s * min((took_s if lowest_s is None else lowest_s) / took_s, 1.0)
        total_s += side.total_s
        floor_s += least_s
        rid_s = min(least_s, side.total_s - waste_s(side))
        without_s += rid_s
        wasted = wasted or rid_s < least_s
        worth_s += side.total_s if side.verdict.action is Action.LEAVE else rid_s
        known, measured = known or lowest_s is not None, measured or by
    amounts = {"total_s": total_s, "floor_s": floor_s, "worth_s": worth_s}
    if not known:
        return None
    return AtCeilings(**amounts, measured=measured, without_s=without_s if wasted else None)


def waste_s(side: Side) -> float:
    """The time that goes with the work that is proven waste, where kernels are ranked by that."""
    verdict, took_s = side.verdict, side.measured.duration_s
    if verdict.gain_by != "waste" or not verdict.gain or not took_s or side.total_s is None:
        return 0.0
    least_s = verdict.waste_floor_s or took_s / verdict.gain
    return max(0.0, side.total_s * (1 - least_s / took_s))


def ceiling_s(result: Result) -> tuple[float | None, bool]:
    """The time at the nearest ceiling, and whether a microbenchmark measured that one.

    A measured ceiling is below the report's peak, so that the floor is above that of the verdict.
    """
    m, verdict, peaks = result.measurement, result.verdict, result.peaks.achieved
    floor_s, unit = verdict.floor_s, verdict.nearest
    if floor_s is None or peaks is None:
        return floor_s, False
    if unit in ("dram", "l2"):
        work = [(getattr(m, f"{unit}_bytes"), getattr(peaks, f"{unit}_bytes_per_s"))]
    else:
        work = [
            (count, peaks.operations_per_s.get(key))
            for key, count in m.operations.items()
            if count and unit_of_precision(key) == unit
        ]
    if not work or any(amount is None or not rate for amount, rate in work):
        return floor_s, False
    return max(floor_s, sum(amount / rate for amount, rate in work)), True
