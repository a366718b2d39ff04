"""What ``select`` answers: values only, without numpy, for renderers and for ``join``.

Times are seconds. ``None`` means that the timeline does not say. A bound is how many times faster
the step gets at most; ``None`` where there is no limit, or no wall time to tell. Names of fields
and properties are those of the JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Literal, get_args

from roofline.arguments import number, share, unless_none, whole, word
from roofline.display import Displayed, short
from roofline.kernel_names import family
from roofline.model import Device, Dim3, Note
from roofline.patterns import select as named_by

Bounds = tuple[float | None, float | None]
Keep = Literal["inner", "all"] | tuple[int, int]
Format = Literal["nsys-sqlite", "nsys-summary", "nsys-gpu-trace", "kineto", "jax"]
Steps = Literal["ranges", "window", "recording", "summary"]  # what figures cover; summary: sums
From = Literal["op", "module", "nvtx"]  # what launched kernels
By = Literal["config", "name", From]  # how kernels are told apart
Span = tuple[float, float, str, float]  # start and end in s, what, the part of it that it took
# Classes of idle time whose short gaps many launches make.
SCATTERED = ("launch_rate", "host_code", "optimizer", "queued", "unknown")
LeftOut = Literal["first", "last", "not_asked"]  # why a step does not count


class Apart(StrEnum):
    """Why ncu cannot help with a kernel."""

    COMMUNICATION = "communication"
    COPY = "copy"
    SHORT = "short"


class First(StrEnum):
    """What is to be looked at first: kernels, unless another part of the step is worth more."""

    GAPS = "gaps"
    KERNELS = "kernels"
    COMMUNICATION = "communication"
    COPIES = "copies"


class Basis(StrEnum):
    """How sure it is that a command profiles the launch that was seen in the timeline."""

    COUNTED = "counted"
    RANGE = "range"
    ESTIMATED = "estimated"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Criteria:
    """What is asked of a selection.

    ``min_share`` is a fraction of the wall time. Of several of ``device`` the one that kernels keep
    busy longest is ranked. ``keep`` says which steps count: "inner" (all
    but the first and the last), "all", or a pair of numbers from 1. ``start`` and ``end`` ask for
    a stretch of time instead, in ns since the timeline's origin. ``communication`` is a regular
    expression for kernels that wait for other ranks, beside those known by name. ``by`` "op",
    "module" and "nvtx" tell apart what launched them, not the kernels. ``warmup_steps`` are
    skipped where it is not known which launch of the process the timeline saw. ``step_at`` is
    the percentile of the step that is judged. ``own_names`` lets names that may be private into
    the answer: for a terminal alone. ``lanes`` are of the judged step, for a picture. ``kernels``
    are what alone may be chosen: expressions, or words of families unless ``letters``; ``cover`` is
    the share of their time after which no more are.

    Raises:
        ArgumentError: a word is not known, or a number is out of range.

    """

    top: int = 5
    min_share: float = 0.01
    device: int | tuple[int, ...] | None = None
    keep: Keep = "inner"
    start: int | None = None
    end: int | None = None
    by: By = "config"
    communication: str | None = None
    warmup_steps: int = 2
    step_at: float = 50.0
    own_names: bool = False
    lanes: bool = False
    kernels: tuple[str, ...] = ()
    letters: bool = False
    cover: float = 1.0

    def __post_init__(self) -> None:
        word(get_args(By), by=self.by)
        share(min_share=self.min_share, cover=self.cover)
        whole(0, top=self.top, warmup_steps=self.warmup_steps)
        whole(0, **unless_none(start=self.start, end=self.end))
        number(0, 100, above=True, hint="50 for the median", step_at=self.step_at)
        if isinstance(self.keep, Sequence) and not isinstance(self.keep, str):
            whole(2, 2, **{"the number of steps to keep": len(self.keep)})
            first, last = self.keep
            whole(1, **{"keep[0]": first})
            whole(first, **{"keep[1]": last})
        else:
            word(("inner", "all"), "or numbers of steps from 1, (2, 5)", keep=self.keep)

    @property
    def source(self) -> From | None:
        """What is told apart where it is not kernels."""
        return self.by if self.by in ("op", "module", "nvtx") else None

    @property
    def window(self) -> bool:
        """Whether a stretch of time is asked for instead of steps."""
        return self.start is not None or self.end is not None

    def matching(self, kernels: Sequence[KernelShare]) -> list[int]:
        """The positions of those that ``self.kernels`` lets be chosen."""
        if not self.kernels:
            return list(range(len(kernels)))
        named = [(k.base_name, k.name) for k in kernels]
        found = (named_by(text, named, letters=self.letters) for text in self.kernels)
        return sorted({i for some in found for i in some})


def speedup_bound(share: float | None) -> float | None:
    """Amdahl's law: 1 / (1 - share); ``None`` where the share is not known, or all of it."""
    return None if share is None or share >= 1 else 1 / (1 - share)


@dataclass(frozen=True, slots=True, kw_only=True)
class Useful:
    """What the mathematics of operators asks for, by their shapes, and the kernels they launched.

    ``precision`` is the peak that ``peak_flop_per_s`` is the datasheet's of, ``None`` where the
    GPU is not known. ``compulsory_bytes`` are arguments and results once. ``time_s`` sums kernels.
    ``alike``: all ``calls`` ask for the same. Not every call has its shapes recorded: all kernels
    of this ``kind`` by their names are ``kind_launches`` in ``kind_time_s``, of which calls with
    shapes made ``launches``.
    """

    kind: str
    precision: str
    flop: float
    compulsory_bytes: float
    time_s: float
    calls: int
    alike: bool
    launches: int = 0
    kind_launches: int = 0
    kind_time_s: float = 0.0
    peak_flop_per_s: float | None = None

    @property
    def flop_per_s(self) -> float:
        """Useful operations over the time of the kernels."""
        return self.flop / self.time_s

    @property
    def peak_share(self) -> float | None:
        """Of the datasheet's dense peak; may exceed 1."""
        return self.peak_flop_per_s and self.flop_per_s / self.peak_flop_per_s


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelShare:
    """One kernel (name, grid, block) on one device, summed over the steps that count.

    Bounds follow from ``exposed_share`` and ``wall_share``, which differ where it overlaps other
    work, or from ``replayed_share``, which is less where the host sets the pace. What every field
    is says ``render/selection_json.toml``.
    """

    name: str
    base_name: str
    grid: Dim3 | None
    block: Dim3 | None
    device: int
    instances: int
    total_s: float
    kernel_share: float | None
    mangled: str | None = None
    instances_per_step: float | None = None
    sm_coverage: float | None = None
    exposed_share: float | None = None
    wall_share: float | None = None
    replayed_share: float | None = None
    apart: Apart | None = None
    chosen: bool = False
    source: str | None = None
    useful: Useful | None = None

    @property
    def family(self) -> str | None:
        """The kind of work that the name tells: gemm, attention, norm and so on."""
        return family(self.name)

    @property
    def low_share(self) -> float | None:
        """What it saves at least if it costs nothing: by the replay, else of the time alone."""
        return self.exposed_share if self.replayed_share is None else self.replayed_share

    @property
    def speedup_at_most(self) -> Bounds:
        """Bounds for the step: by ``low_share``, and by all of its time."""
        return speedup_bound(self.low_share), speedup_bound(self.wall_share)


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """How a device spent a stretch of time. Unions, never sums.

    Communication is exposed where no compute kernel runs, a copy where no kernel does, so that both
    add up with ``compute_s`` and ``idle_s``.
    """

    wall_s: float
    kernel_s: float
    compute_s: float
    communication_s: float
    exposed_communication_s: float
    copy_s: float
    exposed_copy_s: float
    busy_s: float

    @property
    def idle_s(self) -> float:
        """Time in which nothing ran."""
        return self.wall_s - self.busy_s

    @property
    def busy_share(self) -> float:
        """Part of the wall time in which anything ran."""
        return self.busy_s / self.wall_s

    @property
    def kernel_share(self) -> float:
        """Part of the wall time in which kernels ran."""
        return self.kernel_s / self.wall_s

    @property
    def parts(self) -> dict[First, float]:
        """Seconds that add up to the wall time."""
        return {
            First.KERNELS: self.compute_s,
            First.COMMUNICATION: self.exposed_communication_s,
            First.COPIES: self.exposed_copy_s,
            First.GAPS: self.idle_s,
        }

    def break_even(self, part: First = First.GAPS) -> float | None:
        """How many times faster compute kernels must run to save as much as ``part`` takes.

        ``None`` where not even kernels that cost nothing would.
        """
        taken = self.parts[part]
        return self.compute_s / (self.compute_s - taken) if taken < self.compute_s else None

    @property
    def without_gaps_at_most(self) -> float | None:
        """Bound: all gaps removed."""
        return 1 / self.busy_share if self.busy_s else None

    @property
    def without_kernels_at_most(self) -> float | None:
        """Bound: all kernels free, communication included."""
        return speedup_bound(self.kernel_share)

    @property
    def without_compute_at_most(self) -> float | None:
        """Bound: all kernels free but communication, which ncu cannot help with."""
        return speedup_bound(self.compute_s / self.wall_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepUse(Use):
    """One step: its place in order of time from 1, when it began, why it is left out if it is.

    ``name`` is that of its range, unless that may be private.
    """

    number: int
    name: str | None = None
    start_s: float
    left_out: LeftOut | None = None
    launches: int = 0
    host_wait_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleGap:
    """An idle stretch: when, how long, and how much of it came before the host launched.

    ``doing`` is the innermost CUDA call or operator that the launching thread was in for most of
    it, ``inside`` the outermost range around it that also takes most of it.
    """

    start_s: float
    duration_s: float
    host_late_s: float | None = None
    doing: str | None = None
    doing_s: float = 0.0
    inside: str | None = None
    inside_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleClass:
    """One class of idle time: patterns of ``names``, and what people read.

    ``hypothesis`` is what may be the reason, ``check`` what would confirm it, ``color`` that of the
    picture.
    """

    title: str
    hypothesis: str = ""
    check: str = ""
    remedy: str = ""
    color: str = "#a0a7ae"
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleCause(IdleClass):
    """Idle time of the class ``code`` in the step that is judged; ``share`` is of its time."""

    code: str
    total_s: float
    share: float
    gaps: int
    longest: IdleGap

    @property
    def without_at_most(self) -> float | None:
        """Bound: all idle time of this class removed."""
        return speedup_bound(self.share)


@dataclass(frozen=True, slots=True, kw_only=True)
class GapBand:
    """Idle stretches of the counted steps from one length (included) to another (``None``: any)."""

    from_s: float
    to_s: float | None
    gaps: int
    total_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """What one resource did in the judged step, as fine as a picture can show."""

    name: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSpread:
    """Lengths of the steps that count, by nearest rank."""

    p50_s: float
    p95_s: float
    p99_s: float
    max_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StepExcess:
    """What ``steps`` have more of than the step of median length, on average: s a step.

    Both are of what ran in the window of a step, whichever step launched it. ``split`` are (part
    of the step, s), which add up to ``more_s``. ``parts`` are (kind, name, s), the largest first:
    "kernel" with its name, "idle" with the title of its class; kernels can overlap, and short ones
    are not listed, so these need not add up. ``launches`` are of each of ``parts``: in the step of
    median length, in ``steps``, and those of the latter that were launched elsewhere.
    """

    steps: tuple[int, ...]
    more_s: float
    parts: tuple[tuple[str, str, float], ...]
    split: tuple[tuple[First, float], ...] = ()
    launches: tuple[tuple[float, float, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineDevice:
    """One device of a timeline and how it was used.

    ``use`` sums the steps that count; ``judged`` is the one of median length, or the one asked for:
    ``first``, ``idle`` and ``launch_bound`` are of it. ``cold`` and ``slow`` say what the first
    step, left out, and the slowest of those that count have more of than the median one. What every
    field is says ``render/selection_json.toml``.
    """

    index: int
    device: Device
    use: Use | None = None
    steps: tuple[StepUse, ...] = ()
    kernels: tuple[KernelShare, ...]
    apart: tuple[KernelShare, ...]
    gaps: tuple[IdleGap, ...] = ()
    span_s: float | None = None
    span_idle_s: float | None = None
    host_late_s: float | None = None
    host_wait_s: float | None = None
    steady: bool | None = None
    first: First | None = None
    judged: StepUse | None = None
    host_paced: bool | None = None
    launch_bound: bool | None = None
    launch_gap_share: float | None = None
    idle: tuple[IdleCause, ...] = ()
    gap_bands: tuple[GapBand, ...] = ()
    sm_coverage: float | None = None
    small_grid_share: float | None = None
    useful: tuple[Useful, ...] = ()
    lanes: tuple[Lane, ...] = ()
    twice_saves: Bounds | None = None
    spread: StepSpread | None = None
    cold: StepExcess | None = None
    slow: StepExcess | None = None

    @property
    def counted(self) -> int:
        """How many steps (or windows) the figures cover."""
        return sum(s.left_out is None for s in self.steps)

    @property
    def kernel_s(self) -> float:
        """The sum of all kernels' times."""
        ran = (*self.kernels, *self.apart)
        return sum(k.total_s for k in ran if k.apart is not Apart.COPY)

    @property
    def chosen(self) -> tuple[KernelShare, ...]:
        """The kernels that deserve ncu."""
        return tuple(k for k in self.kernels if k.chosen)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRequest:
    """One run of ``roofline profile`` that captures ``kernels`` in steady state.

    ``names`` are whole names of ``name_base``. ``launch_skip`` counts launches of these names,
    within ``nvtx`` where that is set.
    """

    kernels: tuple[KernelShare, ...]
    names: tuple[str, ...]
    name_base: Literal["function", "mangled"]
    basis: Basis
    launch_count: int
    launch_skip: int | None = None
    per_config: bool = False
    nvtx: str | None = None
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """One rank of a job: a device of a file; of one file's devices ``number`` is the index.

    ``last`` counts the collectives that began here last, ``caused_s`` sums their skew;
    ``waited_s`` is the time in collectives before the last of the others came. Of
    ``communication_s``, in the steps that count, ``exposed_s`` ran beside no compute kernel.
    """

    number: int
    file: str
    device: int
    step_s: float | None
    last: int = 0
    caused_s: float = 0.0
    waited_s: float = 0.0
    communication_s: float = 0.0
    exposed_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Collective:
    """All collectives of one kind and process group, matched over ranks.

    ``skew_s`` sums last start - first start, ``transfer_s`` the part in which all were inside.
    ``last`` is the rank that began last most often. ``bus_bytes_per_s`` is what NCCL's tests call
    bus bandwidth, over the transfer; ``None`` where sizes were not recorded.
    """

    name: str
    group: str | None
    ranks: tuple[int, ...]
    count: int
    skew_s: float
    transfer_s: float
    last: int
    last_count: int
    bus_bytes_per_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Ranks of one job and their collectives, in the steps that count.

    ``steps`` is how many; ``None`` where none are marked. ``matched_by`` is "name" where the
    recording names every process group. ``one_clock`` says that starts are comparable; else
    collectives are taken to end together, and transfer is the least duration. ``unmatched`` counts
    those without a counterpart. ``world_size`` is how many ranks the job has, as far as they tell.
    """

    ranks: tuple[Rank, ...]
    collectives: tuple[Collective, ...]
    steps: int | None
    matched_by: Literal["name", "order"]
    one_clock: bool
    unmatched: int
    world_size: int | None = None

    @property
    def hidden_share(self) -> float | None:
        """Part of the communication of all ranks that ran beside compute kernels."""
        ran_s = sum(r.communication_s for r in self.ranks)
        return 1 - sum(r.exposed_s for r in self.ranks) / ran_s if ran_s else None

    @property
    def count(self) -> int:
        """How many collectives were matched."""
        return sum(c.count for c in self.collectives)

    @property
    def skew_s(self) -> float:
        """Time from the first start to the last, over all collectives."""
        return sum(c.skew_s for c in self.collectives)

    @property
    def transfer_s(self) -> float:
        """Time in which all ranks were inside."""
        return sum(c.transfer_s for c in self.collectives)

    @property
    def latest(self) -> Rank:
        """The rank that is waited for longest."""
        return max(self.ranks, key=lambda r: r.caused_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One change that is tried: ``what`` takes ``factor`` of its time.

    ``what`` is "kernels", "comm", "copies", "gaps", "gaps:CAUSE", "floors" (of the ``report``), or
    a regular expression for names of kernels.
    """

    what: str
    factor: float
    report: Path | None = None

    @property
    def text(self) -> str:
        """As it is typed, without folders."""
        if self.report is not None:
            return f"{self.what}={self.report.name}"
        return f"{self.what}={f'{1 / self.factor:g}x' if self.factor else 0}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """A step on average as recorded, and as a replay has it after ``moves``.

    ``at_most`` are the bounds by Amdahl's law: of the time that things run alone, and of all.
    """

    moves: tuple[Move, ...]
    before: Use
    after: Use
    first_before: First | None
    first_after: First | None
    at_most: Bounds

    @property
    def speedup(self) -> float:
        """How many times faster the step is in the replay."""
        return self.before.wall_s / max(self.after.wall_s, 1e-9)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Selection(Displayed):
    """The answer about one timeline and what was ``asked``; ``device``'s kernels are ranked.

    ``truncated`` says that the recording lacks events, so that no device has a ``use``. ``job`` is
    set where several devices or files took part in the same collectives; ``rank`` is that of the
    recording in it, where it tells. ``driven`` are the devices of a recording of several that have
    a process each, in order; none where that is not known of all.
    """

    file: str
    format: Format
    steps: Steps
    devices: tuple[TimelineDevice, ...]
    device: int
    truncated: bool = False
    requests: tuple[ProfileRequest, ...] = ()
    what_if: WhatIf | None = None
    job: Job | None = None
    rank: int | None = None
    driven: tuple[int, ...] = ()
    notes: tuple[Note, ...] = ()
    asked: Criteria = Criteria()

    def __repr__(self) -> str:
        told = {f"len({of})": len(getattr(self, of)) for of in ("kernels", "requests")}
        return short(self, file=self.file, device=self.device, **told)

    def rank_of(self, device: int) -> int | None:
        """The rank that drives ``device``: recorded, or assumed to be its place in ``driven``."""
        if self.rank is not None:
            return self.rank if any(d.index == device for d in self.devices) else None
        return self.driven.index(device) if device in self.driven else None

    @property
    def selected(self) -> TimelineDevice:
        """The device whose kernels are ranked."""
        return next(d for d in self.devices if d.index == self.device)

    @property
    def kernels(self) -> tuple[KernelShare, ...]:
        """The kernels of that device, the largest exposed share first."""
        return self.selected.kernels

    @property
    def chosen(self) -> tuple[KernelShare, ...]:
        """Those that deserve ncu."""
        return self.selected.chosen
