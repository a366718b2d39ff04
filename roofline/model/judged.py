"""What was concluded: verdicts, results, groups of launches, a whole analysis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from roofline.model.measured import NOTHING, Measurement, Missing, Note, Peaks
from roofline.model.words import Bound, Confidence


@dataclass(frozen=True, slots=True, kw_only=True)
class PeakSet:
    """The three kinds of peaks of one launch, never mixed.

    ``spec`` is the key of the registry entry that ``datasheet`` comes from.
    """

    report: Peaks
    datasheet: Peaks | None = None
    achieved: Peaks | None = None
    spec: str | None = None

    def of_kind(self) -> tuple[Peaks, ...]:
        """All kinds that are known, the report's own first."""
        return tuple(p for p in (self.report, self.datasheet, self.achieved) if p is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What limits a kernel, how sure that is, and what relieving it could buy at most.

    ``limiter`` is a unit key for bandwidth and compute, else ``None``; ``nearest`` is the
    busiest unit whatever the bound. ``floor_s`` is the duration at the nearest ceiling,
    ``next_floor_s`` what the unit that limits next would leave. All times are under the profiler.
    ``roof_percent`` is the share of the peak rate reached per operation key, ``ridge`` in
    operations per byte for ``dominant``, the operation key that takes most time at peak.
    """

    bound: Bound
    limiter: str | None = None
    limiter_percent: float | None = None
    nearest: str | None = None
    co_limited: bool = False
    cause: str | None = None
    cause_text: str | None = None
    confidence: Confidence = Confidence.LOW
    confidence_reasons: tuple[str, ...] = ()
    floor_s: float | None = None
    next_limiter: str | None = None
    next_floor_s: float | None = None
    dominant: str | None = None
    ridge: float | None = None
    ridge_side: str | None = None
    roof_percent: Mapping[str, float] = field(default_factory=lambda: NOTHING)
    context: str | None = None
    claim: str = ""
    hint: str = ""
    refute: str = ""
    try_first: tuple[str, ...] = ()
    avoid: tuple[str, ...] = ()
    missing: tuple[Missing, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One launch, measured and judged: all that a renderer gets."""

    measurement: Measurement
    peaks: PeakSet
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The launches of one kernel: same name, grid, block and device.

    ``result`` is computed from sums over the launches that have a duration, ``launches`` are the
    positions of all in ``Analysis.results``, ``share`` is of all profiled time, ``bounds`` counts
    the launches' own verdicts.
    """

    result: Result
    launches: tuple[int, ...]
    total_s: float | None
    min_s: float | None
    max_s: float | None
    share: float | None
    bounds: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file that was read; ``path`` is its last part."""

    path: str
    launches: int
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """Everything that was found in one set of reports; ``results`` are in file order."""

    sources: tuple[Source, ...]
    results: tuple[Result, ...]
    groups: tuple[Group, ...]
