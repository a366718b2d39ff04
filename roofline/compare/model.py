"""The values of a comparison: codes and SI floats, no sentences; absent is ``None``.

What people read is made in ``roofline.render.comparison``; a ``Note`` carries the code and the
facts of one sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Literal

from roofline.display import Displayed, short
from roofline.model import Family, Measurement, Note, Result, Unread, Verdict
from roofline.wall_time import Outcome, PairedRatio

# By what the change of a kernel's time was judged.
PairBasis = Literal["time", "equal_clocks", "equal_work"]
PairKind = Literal["one_to_one", "one_to_many", "many_to_one", "many_to_many"]
Judgement = Literal["confirmed", "refuted", "short", "exceeded", "not_testable"]
Severity = Literal["info", "warning", "refusal"]
GateStatus = Literal["passed", "failed", "not_judged", "skipped"]
WorkStatus = Literal["same", "different", "unknown", "gone"]
WorkMeasure = Literal["operations", "dram_bytes", "threads", "units"]
_Changed = Literal["fewer_bytes", "more_bytes", "less_work", "more_work", "busier", "idler"]
_Unchanged = Literal["clock", "same_limiter", "within_noise"]
_Untold = Literal["unexplained", "not_measured", "other_size", "work_gone", "other_gpu"]
CauseCode = Literal[_Changed, "other_precision", _Unchanged, _Untold]


def note(code: str, /, **facts: object) -> Note:
    """What ``roofline.text`` has a sentence for, with its facts."""
    return Note(code=code, facts=facts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """Something that must be alike for two captures to compare; ``code`` is what --allow takes."""

    code: str
    level: Severity
    text: Note


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of a pair: the mean launch of a kernel.

    Where several launch shapes stand for one, ``result`` is their sum, with the verdict of the
    shape that took longest. ``durations_s`` are of each launch, in order.
    """

    result: Result
    launches: int
    shape_count: int
    sources: tuple[str, ...]
    durations_s: tuple[float, ...]
    total_s: float | None
    threads: float | None

    @property
    def measured(self) -> Measurement:
        """What the mean launch did, or the sum."""
        return self.result.measurement

    @property
    def verdict(self) -> Verdict:
        """What limits it."""
        return self.result.verdict

    @property
    def names(self) -> tuple[str, str]:
        """Its name and its demangled name."""
        return self.measured.name, self.measured.demangled

    @property
    def busiest(self) -> str | None:
        """The limiter, or the unit that is nearest to its peak."""
        return self.verdict.limiter or self.verdict.nearest

    @property
    def utilization(self) -> dict[str, float]:
        """Percent of peak by unit."""
        return {u.unit: u.percent for u in self.measured.units if isfinite(u.percent)}

    @property
    def families(self) -> dict[str, Family]:
        """The units of ``utilization`` and their side of the roofline."""
        return {u.unit: u.family for u in self.measured.units if isfinite(u.percent)}

    @property
    def computed(self) -> tuple[str, ...]:
        """The units that no counter measured: their bytes or operations over peak."""
        return tuple(u.unit for u in self.measured.units if u.computed)

    def figure(self, name: str) -> Any:
        """A field of the side, of its measurement or of its verdict."""
        return next(
            getattr(of, name) for of in (self, self.measured, self.verdict) if hasattr(of, name)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeChange:
    """Speed-up of a pair (before / after; above 1 is faster) and how far it can be trusted.

    ``low`` and ``high`` span the spread of the launches and the noise; ``equal_low`` and
    ``equal_high`` are the same with everything that the clocks alone could explain taken out.
    ``speedup_low``/``speedup_high`` are the equal-clock speed-up without noise, ``spread_low`` and
    ``spread_high`` the spread of the launches alone, ``None`` where a side was measured once.
    """

    speedup: float
    low: float
    high: float
    noise: float
    noise_how: str
    sm_clock_ratio: float | None
    dram_clock_ratio: float | None
    clock_used: Literal["sm", "dram"] | None
    speedup_low: float
    speedup_high: float
    equal_low: float
    equal_high: float
    spread_low: float | None
    spread_high: float | None

    @property
    def judged(self) -> tuple[float, float]:
        """What predictions are judged by: at equal clocks where those differ beyond the noise."""
        ends = self.speedup_low, self.speedup_high
        clocks = max(abs(end / self.speedup - 1) for end in ends) > self.noise
        return ends if clocks else (self.speedup, self.speedup)


# An unproved change of size that is no optimisation any more.
_FAR = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkChange:
    """Whether both sides solved the same problem; "gone" is work that one of them does not do.

    ``ratio`` is after / before of ``measure``, ``speedup`` the speed-up per unit of that work
    where the problem's size differs.
    """

    status: WorkStatus
    measure: WorkMeasure | None = None
    ratio: float | None = None
    speedup: float | None = None
    text: Note

    @property
    def differs(self) -> bool:
        """Whether it is another problem size."""
        return self.status == "different"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeCause:
    """What stands behind a change of time, or its absence.

    ``unit`` is the unit it was read from, ``factor`` how many times less (or more) it had to do,
    above 1; ``moved`` are the operation keys from and to which most operations went.
    """

    code: CauseCode
    unit: str | None = None
    factor: float | None = None
    moved: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A quantity on both sides; ``ratio`` is after / before where both are there and before > 0."""

    quantity: str
    unit: str
    before: float | None
    after: float | None
    ratio: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What BEFORE's floors bound or the user expected, and how it came out."""

    by: Literal["floor", "user"]
    claim: Note
    judgement: Judgement
    reason: Note


@dataclass(frozen=True, slots=True, kw_only=True)
class StepGain:
    """What a kernel's change makes of the whole step: a bound by Amdahl's law.

    ``share`` is the kernel's share of the step before (0 to 1), ``gain`` step time before over
    after if nothing else changes. ``share_low`` is the exposed part where overlap leaves a range.
    """

    share: float
    gain: float
    share_low: float | None
    gain_low: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelPair:
    """One kernel before and after, judged; ``how`` says by what the sides were paired."""

    kind: PairKind
    how: Note
    before: Side
    after: Side
    outcome: Outcome
    basis: PairBasis
    timing: TimeChange | None
    work: WorkChange
    cause: ChangeCause
    predictions: tuple[Prediction, ...] = ()
    step: StepGain | None = None
    notes: tuple[Note, ...] = ()

    @property
    def per(self) -> Literal["launch", "total"]:
        """What figures are of: a launch, or the sum where launch shapes are summed."""
        return "launch" if self.kind == "one_to_one" else "total"

    @property
    def changed(self) -> bool:
        """Whether it got faster or slower."""
        return self.outcome in ("faster", "slower")

    @property
    def other_gpu(self) -> bool:
        """Whether its sides ran on different GPUs, whose times tell nothing of a change."""
        one, other = (side.measured.device for side in (self.before, self.after))
        told = ("name", "sm_count", "compute_capability")
        both = ((getattr(one, key), getattr(other, key)) for key in told)
        return any(old is not None and new not in (None, old) for old, new in both)

    @property
    def doubtful(self) -> bool:
        """Whether it is probably another problem size: grid and its unit's work moved alike, far.

        Where only one of them did, it is another algorithm or another way to launch it; where
        nothing but threads tells of the work, the unit's alone decides.
        """
        less = self.cause.code in ("less_work", "fewer_bytes")
        more = self.cause.code in ("more_work", "more_bytes")
        factor, ratio = self.cause.factor or 1.0, self.work.ratio or 1.0
        size = 1 / ratio if less else ratio
        if self.work.text.code == "only_threads_agree":
            size = factor
        return self.work.status == "unknown" and (less or more) and min(size, factor) >= _FAR

    @property
    def doubt(self) -> Note | None:
        """Why its times do not compare, so that nothing follows from them; ``None`` where they do.

        By it the pair, the totals, the predictions, the gates and the steps are judged.
        """
        if self.timing is None:
            return note("no_duration")
        if self.other_gpu:
            return note("other_gpu")
        if self.work.differs:
            return note("size_differs")
        if self.work.status == "gone":
            return self.work.text
        return note("size_probably_differs") if self.doubtful else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpaired:
    """A kernel that only one capture has; ``share`` is of all time profiled there."""

    side: Side
    share: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A kernel that is in no total of pairs: one side has it, or its times do not compare."""

    why: Literal["gone", "new", "not_compared"]
    kernel: str
    total_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """A condition of --fail-on at one kernel, or at none.

    "skipped" is a condition on a pair where there is no baseline yet. ``value`` and ``limit`` are
    in ``unit``; a loss is in percent, below 0 where it is a gain.
    """

    gate: str
    kernel: str | None
    status: GateStatus
    value: float | None = None
    limit: float | None = None
    unit: str | None = None
    text: Note

    @property
    def failing(self) -> bool:
        """Whether it ends in exit code 1: failed, and not judged, as silence is no pass."""
        return self.status in ("failed", "not_judged")


@dataclass(frozen=True, slots=True, kw_only=True)
class Correctness:
    """The user's own check of the results; ``command`` without absolute paths."""

    command: str
    code: int | None
    seconds: float
    passed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramChange:
    """Two timings of the program without a profiler; ``speedup`` of the medians, or of pairs.

    ``whole`` is how the wall time compares, ``figures`` how the program's own do.
    """

    whole: PairedRatio
    before_s: float
    after_s: float
    before_p95_s: float | None
    after_p95_s: float | None
    before_spread: float | None
    after_spread: float | None
    speedup: float
    outcome: Outcome
    text: Note
    figures: tuple[PairedRatio, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureInfo:
    """One side as a whole: its files (last parts), devices, tool and totals.

    ``settings`` is what the files say ncu was told ("clock_control", "replay_mode"), ``unread`` are
    files whose kernels it lacks.
    """

    sources: tuple[str, ...]
    launches: int
    kernels: int
    devices: tuple[str, ...]
    ncu_versions: tuple[str, ...]
    settings: Mapping[str, str]
    total_s: float | None
    unread: tuple[Unread, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Comparison(Displayed):
    """Everything found between two captures; pairs are ordered by time won or lost.

    ``before_paired_s`` and ``after_paired_s`` are the pairs' times, launch for launch of BEFORE.
    """

    before: CaptureInfo
    after: CaptureInfo
    checks: tuple[Mismatch, ...]
    pairs: tuple[KernelPair, ...]
    gone: tuple[Unpaired, ...] = ()
    new: tuple[Unpaired, ...] = ()
    before_paired_s: float | None = None
    after_paired_s: float | None = None
    gates: tuple[GateResult, ...] = ()
    correctness: Correctness | None = None
    program: ProgramChange | None = None
    notes: tuple[Note, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def alone(self) -> bool:
        """Whether AFTER stands alone, as there is no baseline yet."""
        return not self.before.launches

    @property
    def judged(self) -> list[KernelPair]:
        """The pairs whose times compare."""
        return [p for p in self.pairs if p.doubt is None]

    @property
    def sides(self) -> tuple[list[Side], list[Side]]:
        """All kernels of BEFORE and of AFTER, paired or not."""
        before = [*(p.before for p in self.pairs), *(u.side for u in self.gone)]
        return before, [*(p.after for p in self.pairs), *(u.side for u in self.new)]

    @property
    def whole_s(self) -> tuple[float | None, float | None]:
        """The times of all kernels, of their own launches; ``None`` where one has no time."""
        times = ([side.total_s for side in sides] for sides in self.sides)
        before, after = (None if None in took else sum(filter(None, took)) for took in times)
        return before, after

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """The kernels that no total of pairs has, by why and time.

        By it the headline, the walk, the record and the picture say what their totals are of.
        """
        apart = [p.after for p in self.pairs if p.doubt is not None]
        gone, new = ([u.side for u in sides] for sides in (self.gone, self.new))
        whys: dict[Literal["gone", "new", "not_compared"], list[Side]] = {
            "gone": gone,
            "new": new,
            "not_compared": apart,
        }
        return tuple(
            LeftOut(why=why, kernel=side.measured.demangled, total_s=side.total_s)
            for why, sides in whys.items()
            for side in sorted(sides, key=lambda side: -(side.total_s or 0.0))
        )

    @property
    def gain(self) -> tuple[float, float] | None:
        """How many times faster all of them are by the rule of a pair, from the least to the most.

        A pair that did not change counts with its time before, one that did with its speed-up,
        which is at equal clocks where those differ beyond the noise.
        """
        took = [
            (p.before.total_s or 0.0, *(p.timing.judged if p.changed else (1.0, 1.0)))
            for p in self.judged
            if p.timing is not None
        ]
        whole_s = sum(time for time, _, _ in took)
        least_s, most_s = (
            sum(t / least for t, least, _ in took),
            sum(t / most for t, _, most in took),
        )
        return (whole_s / least_s, whole_s / most_s) if whole_s else None

    @property
    def launches(self) -> tuple[int, int]:
        """The launches of those pairs; of sums none was divided, so BEFORE's stand for both."""
        sides = [(p.before, p.after if p.per == "launch" else p.before) for p in self.judged]
        return sum(one.launches for one, _ in sides), sum(other.launches for _, other in sides)

    def __repr__(self) -> str:
        told = {f"len({of})": len(getattr(self, of)) for of in ("pairs", "gone", "new")}
        times = ("before_paired_s", "after_paired_s")
        return short(self, **told, **{name: getattr(self, name) for name in times})
