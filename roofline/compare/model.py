"""The values of a comparison: what crosses from judging to rendering. SI floats, absent is None."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from roofline.model import Bound, Dim3, Family, Note, Result


class Outcome(StrEnum):
    """What happened to the time of a kernel, with clocks, work and noise accounted for."""

    FASTER = "faster"
    SLOWER = "slower"
    NO_CHANGE = "no_change"
    UNKNOWN = "unknown"


class Basis(StrEnum):
    """What an outcome was judged by."""

    TIME = "time"
    CLOCK = "equal_clocks"
    WORK = "equal_work"


class Judgement(StrEnum):
    """How a prediction stands against the result."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    NOT_TESTABLE = "not_testable"


class Level(StrEnum):
    """How much a difference between two captures matters."""

    INFO = "info"
    WARNING = "warning"
    REFUSAL = "refusal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that must be alike for two captures to compare; ``code`` is what --allow takes."""

    code: str
    level: Level
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of a pair: a kernel's launches, per launch (or in total, see ``Pair.per``).

    ``durations_s`` are the launches' own, in order. ``utilization`` maps unit keys to percent of
    peak, ``families`` the same keys to their side of the roofline, and ``computed`` are those that
    no counter measured (bytes or operations over peak). ``shape_count`` is the number
    of launch shapes summed here; ``grid``, ``block`` and ``result`` are those of the longest.
    """

    name: str
    demangled: str
    grid: Dim3 | None
    block: Dim3 | None
    launches: int
    shape_count: int
    result: Result
    sources: tuple[str, ...]
    device: str | None
    duration_s: float | None
    durations_s: tuple[float, ...]
    total_s: float | None
    dram_bytes: float | None
    operations: Mapping[str, float]
    unmeasured: tuple[str, ...]
    utilization: Mapping[str, float]
    families: Mapping[str, Family]
    computed: tuple[str, ...]
    bound: Bound
    limiter: str | None
    limiter_percent: float | None
    nearest: str | None
    co_limited: bool
    cause: str | None
    cause_text: str | None
    floor_s: float | None
    next_limiter: str | None
    next_floor_s: float | None
    sm_clock_hz: float | None
    dram_clock_hz: float | None
    threads: float | None
    waves: float | None
    occupancy_percent: float | None
    registers_per_thread: float | None
    shared_memory_bytes: float | None

    @property
    def total_operations(self) -> float | None:
        """All operations of all precisions; ``None`` where some that ran were not counted."""
        return sum(self.operations.values()) if self.operations and not self.unmeasured else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
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
    clock_used: str | None
    speedup_low: float
    speedup_high: float
    equal_low: float
    equal_high: float
    spread_low: float | None = None
    spread_high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Whether both sides solved the same problem.

    ``status`` is "same", "different" or "unknown"; ``ratio`` is after / before of ``measure``
    ("operations", "dram_bytes", "threads"); ``speedup`` the speed-up per unit of that work.
    """

    status: str
    measure: str | None = None
    ratio: float | None = None
    speedup: float | None = None
    text: str = ""


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
    """What was promised or expected, and how it came out; ``by`` is "floor" or "user"."""

    by: str
    claim: str
    judgement: Judgement
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepGain:
    """What a kernel's change makes of the whole step: a bound by Amdahl's law.

    ``share`` is the kernel's share of the step before (0 to 1), ``gain`` step time before over
    after if nothing else changes. ``share_low`` is the exposed part where overlap leaves a range.
    """

    share: float
    gain: float
    share_low: float | None = None
    gain_low: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One kernel before and after, judged.

    ``kind`` is "one_to_one", "one_to_many", "many_to_one" or "many_to_many"; ``how`` says by what
    the sides were paired; ``per`` is "launch", or "total" where launch shapes are summed.
    """

    kind: str
    how: str
    per: str
    before: Side
    after: Side
    outcome: Outcome
    basis: Basis
    timing: Timing | None
    work: Work
    changes: tuple[Change, ...]
    cause: str
    sentence: str
    predictions: tuple[Prediction, ...] = ()
    step: StepGain | None = None
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """A condition of --fail-on at one kernel (or at none): "passed", "failed" or "not_judged"."""

    gate: str
    kernel: str | None
    status: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Correctness:
    """The user's own check of the results; ``command`` without absolute paths."""

    command: str
    code: int | None
    seconds: float
    passed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramTime:
    """Two timings of the program without a profiler; ``speedup`` of the medians."""

    before_s: float
    after_s: float
    before_p95_s: float | None
    after_p95_s: float | None
    before_spread: float | None
    after_spread: float | None
    speedup: float
    outcome: Outcome
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """One side as a whole: its files (last parts), device, tool and totals.

    ``settings`` is what the files say ncu was told ("clock_control", "replay_mode").
    """

    sources: tuple[str, ...]
    launches: int
    kernels: int
    devices: tuple[str, ...]
    ncu_versions: tuple[str, ...]
    settings: Mapping[str, str]
    total_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lone:
    """A kernel that only one side has; ``side`` is what was measured of it, per launch."""

    name: str
    launches: int
    total_s: float | None
    share: float | None
    side: Side | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Everything found between two captures; pairs are ordered by time won or lost.

    ``before_paired_s`` and ``after_paired_s`` are the pairs' times, launch for launch of BEFORE.
    """

    before: Capture
    after: Capture
    checks: tuple[Check, ...]
    pairs: tuple[Pair, ...]
    gone: tuple[Lone, ...] = ()
    new: tuple[Lone, ...] = ()
    before_paired_s: float | None = None
    after_paired_s: float | None = None
    gates: tuple[GateResult, ...] = ()
    correctness: Correctness | None = None
    program: ProgramTime | None = None
    notes: tuple[Note, ...] = field(default_factory=tuple)
    counts: Mapping[str, int] = field(default_factory=dict)
