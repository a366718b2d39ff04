"""The values that cross the stages: one frozen type an arrow, SI floats, units in the names.

Absent is ``None`` (or a key that is not there), never 0. Percentages are of peak over elapsed
time, may exceed 100 and are never clamped.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields, make_dataclass
from enum import StrEnum
from math import isclose
from re import Pattern
from typing import Annotated, Any, Protocol, TypeVar, get_type_hints, overload

from roofline.arguments import number, of_type
from roofline.display import Displayed, short
from roofline.errors import ArgumentError, NoKernelError

Dim3 = tuple[int, int, int]
LONGEST_S = 2.0**63 / 1e9  # what a signed count of nanoseconds can hold
_T = TypeVar("_T")


def thawed(kind: type) -> Any:
    """The type with fields that can be set: to build many frozen values in half the time.

    What is built is a value once its ``__class__`` is ``kind``.
    """
    rows = [(one.name, one.type, one) for one in fields(kind)]
    return make_dataclass(kind.__name__, rows, kw_only=True, slots=True, eq=False, repr=False)


def exceeds(value: float, limit: float) -> bool:
    """Whether ``value`` is over ``limit``, and not by the rounding of floats alone.

    Gates, noise and expectations ask this: 105/100 is not over 1.05.
    """
    return value > limit and not isclose(value, limit, rel_tol=1e-12)


class Bound(StrEnum):
    """What kind of ceiling a kernel runs against."""

    BANDWIDTH = "bandwidth"
    COMPUTE = "compute"
    LATENCY = "latency"
    UNKNOWN = "unknown"


class Family(StrEnum):
    """The side of the roofline that a hardware unit belongs to."""

    BANDWIDTH = "bandwidth"
    COMPUTE = "compute"


class Confidence(StrEnum):
    """How far a verdict may be leant on."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Action(StrEnum):
    """Whose work helps a kernel."""

    FIX = "fix"  # that of who wrote it
    CALLER = "caller"  # that of who calls it: it is a library's
    LEAVE = "leave"  # nobody's


class Kind(StrEnum):
    """What one result of a report covers."""

    KERNEL = "kernel"
    RANGE = "range"
    GRAPH = "graph"
    FIGURES = "figures"  # operations, bytes and time that somebody states


# Operation keys. An FMA is two operations. "_sparse" is appended for 2:4 structured sparsity.
PLAIN_PRECISIONS = ("fp64", "fp32", "fp16", "bf16")
TENSOR_PRECISIONS = tuple(
    f"tensor_{name}" for name in "fp64 tf32 bf16 fp16 fp8 fp6 fp4 int8 int4 int1".split()
)
PRECISIONS = (
    PLAIN_PRECISIONS + TENSOR_PRECISIONS + tuple(f"{name}_sparse" for name in TENSOR_PRECISIONS)
)


class Fold(StrEnum):
    """How a field of several launches of one kernel becomes one (``roofline.fold``)."""

    KEY = "key"  # the same in all: it is a part of what a kernel is
    FIRST = "first"  # the first launch's
    SUM = "sum"  # none where one launch lacks it; of mappings the keys that all have
    OVER_TIME = "over time"  # weighted by time, else as SUM
    SAME = "same"  # none, or empty, where they differ; of mappings the items that are the same
    UNION = "union"  # all, each once
    FIELDS = "fields"  # each field by its own policy
    OWN = "own"  # by a function of its own


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number about a launch: what people call it, and its unit.

    ``unit`` is in SI ("s", "B", "B/s", "Hz", "%") or a noun ("waves"); ``origin`` is the key of
    ``Measurement.provenance`` that says how it was read, "" where it follows from others.
    """

    label: str
    unit: str
    origin: str = ""


# Numbers that may not have been measured, by how they fold.
Amount = Annotated[float | None, Fold.SUM]
Mean = Annotated[float | None, Fold.OVER_TIME]
Same = Annotated[float | None, Fold.SAME]


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something a reader of the result must know; ``code`` is stable.

    ``facts`` are the numbers and names that its sentence tells: ``roofline.text.notes`` has the
    sentence of each code.
    """

    code: str
    facts: dict[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A quantity that was not measured, and the ncu flag that would collect it."""

    quantity: str
    flag: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """The GPU of a launch as the report describes it.

    ``dram_clock_max_hz`` is CUDA's memory clock: two transfers a cycle, so the bandwidth is
    ``2 * dram_clock_max_hz * dram_bus_bits / 8``. ``pci_device_id`` is four hex digits, "2331".
    """

    name: str | None = None
    compute_capability: str | None = None
    sm_count: int | None = None
    index: int | None = None
    pci_device_id: str | None = None
    sm_clock_max_hz: float | None = None
    dram_clock_max_hz: float | None = None
    dram_bus_bits: int | None = None
    l2_bytes: int | None = None
    memory_bytes: int | None = None
    max_warps_per_sm: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitUse:
    """How busy one hardware unit was.

    ``unit`` is a key of the JSON's ``utilization`` ("dram", "l1", "issue", ...), ``percent`` is
    of peak over elapsed time, ``metric`` says what it was read from or ``computed`` from,
    ``part`` which part of the unit it is, a key of ``units.PARTS``, where that is known.
    ``full_at`` is the percentage that the counter shows of a full unit, ``near`` is how near to
    it the unit was: all that says which unit limits first goes by that.
    """

    unit: str
    family: Family
    percent: float
    metric: str
    computed: bool = False
    part: str | None = None
    full_at: float = 100.0

    @property
    def near(self) -> float:
        """Percent of what the unit reaches."""
        return self.percent if self.full_at == 100.0 else 100.0 * self.percent / self.full_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Stall:
    """A warp-stall reason and its share of all stalled warp-cycles or samples (0 to 1)."""

    reason: str
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Peaks:
    """What a device can do, of one kind: "report", "datasheet" or "achieved".

    ``operations_per_s`` has the operation keys of ``PRECISIONS``; ``source`` says where the
    numbers come from, ``how`` says it for single values ("dram", "l2", "l1", "fp32", ...).
    """

    kind: Annotated[str, Fold.FIRST]
    source: Annotated[str, Fold.FIRST]
    dram_bytes_per_s: Annotated[Mean, Quantity("DRAM bandwidth", "B/s")] = None
    l2_bytes_per_s: Annotated[Mean, Quantity("L2 bandwidth", "B/s")] = None
    l1_bytes_per_s: Annotated[Mean, Quantity("L1 bandwidth", "B/s")] = None
    operations_per_s: Annotated[Mapping[str, float], Fold.OVER_TIME] = field(default_factory=dict)
    how: Annotated[Mapping[str, str], Fold.SAME] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """What one launch did (or several of one kernel, summed). Nothing past it knows a counter.

    ``spec`` is the key of the registry's entry where somebody chose it; else ``device`` is looked
    up. ``sm_count`` is what the launch was given where that is not all of the device.
    ``operations`` maps operation keys to counts; empty means not measured. Integer operations of
    threads are apart, as they are no FLOPs. ``rates`` has operations and "dram_bytes" per second
    where the report has no time. ``accumulate`` maps a tensor key to the accumulator of most of
    its operations ("fp32", "fp16"), ``tensor_path`` to "mma_sync" or "wgmma" where the opcodes
    tell. ``unmeasured`` names operations that did run but were not counted ("tensor", "fp16"):
    then no total exists. ``stalls`` are largest first; ``provenance`` says for each quantity how
    it was read. ``ncu_version`` is of the ncu that captured, ``settings`` what it was told
    ("clock_control", "cache_control", "replay_mode", ...) where the file says so.
    """

    source: Annotated[str, Fold.FIRST]
    range: Annotated[int, Fold.FIRST]
    index: Annotated[int, Fold.FIRST]
    kind: Annotated[Kind, Fold.KEY]
    name: Annotated[str, Fold.KEY]
    demangled: Annotated[str, Fold.KEY]
    grid: Annotated[Dim3 | None, Fold.KEY] = None
    block: Annotated[Dim3 | None, Fold.KEY] = None
    device: Annotated[Device, Fold.KEY] = field(default_factory=Device)
    spec: Annotated[str | None, Fold.SAME] = None
    sm_count: Annotated[int | None, Fold.SAME] = None
    count: Annotated[int, Fold.SUM] = 1
    duration_s: Annotated[Amount, Quantity("duration", "s", "duration")] = None
    dram_bytes: Annotated[Amount, Quantity("DRAM bytes", "B", "dram_bytes")] = None
    dram_read_bytes: Annotated[Amount, Quantity("DRAM bytes read", "B", "dram_read_bytes")] = None
    dram_write_bytes: Annotated[Amount, Quantity("DRAM bytes written", "B", "dram_write_bytes")] = (
        None
    )
    l2_bytes: Annotated[Amount, Quantity("L2 bytes", "B", "l2_bytes")] = None
    l1_bytes: Annotated[Amount, Quantity("L1 bytes", "B", "l1_bytes")] = None
    operations: Annotated[Mapping[str, float], Fold.SUM] = field(default_factory=dict)
    rates: Annotated[Mapping[str, float], Fold.OVER_TIME] = field(default_factory=dict)
    integer_operations: Annotated[
        Amount, Quantity("integer operations", "operations", "integer_operations")
    ] = None
    accumulate: Annotated[Mapping[str, str], Fold.SAME] = field(default_factory=dict)
    tensor_path: Annotated[str | None, Fold.SAME] = None
    unmeasured: Annotated[tuple[str, ...], Fold.OWN] = ()
    sm_clock_hz: Annotated[Mean, Quantity("SM clock", "Hz", "sm_clock")] = None
    dram_clock_hz: Annotated[Mean, Quantity("DRAM clock", "Hz", "dram_clock")] = None
    units: Annotated[tuple[UnitUse, ...], Fold.OWN] = ()
    waves: Annotated[Mean, Quantity("waves", "waves", "waves")] = None
    occupancy_percent: Annotated[Mean, Quantity("achieved occupancy", "%", "occupancy")] = None
    theoretical_occupancy_percent: Annotated[
        Mean, Quantity("theoretical occupancy", "%", "theoretical_occupancy")
    ] = None
    occupancy_limiter: Annotated[str | None, Fold.SAME] = None
    registers_per_thread: Annotated[
        Same, Quantity("registers per thread", "registers", "registers")
    ] = None
    shared_memory_bytes: Annotated[
        Same, Quantity("shared memory per block", "B", "shared_memory")
    ] = None
    sm_active_percent: Annotated[Mean, Quantity("SMs active", "%", "sm_active")] = None
    stalls: Annotated[tuple[Stall, ...], Fold.OWN] = ()
    counts: Annotated[Mapping[str, float], Fold.SUM] = field(default_factory=dict)
    ratios: Annotated[Mapping[str, float], Fold.OVER_TIME] = field(default_factory=dict)
    passes: Annotated[Same, Quantity("passes", "passes", "passes")] = None
    nvtx: Annotated[tuple[str, ...], Fold.SAME] = ()
    process: Annotated[int | None, Fold.SAME] = None
    ncu_version: Annotated[str | None, Fold.SAME] = None
    settings: Annotated[Mapping[str, str], Fold.SAME] = field(default_factory=dict)
    peaks: Annotated[Peaks, Fold.FIELDS] = field(
        default_factory=lambda: Peaks(kind="report", source="none")
    )
    provenance: Annotated[Mapping[str, str], Fold.SAME] = field(default_factory=dict)
    missing: Annotated[tuple[Missing, ...], Fold.UNION] = ()
    notes: Annotated[tuple[Note, ...], Fold.UNION] = ()

    @property
    def total_operations(self) -> float | None:
        """All operations of all precisions; ``None`` where some that ran were not counted."""
        if not self.operations or self.unmeasured:
            return None
        return sum(self.operations.values())

    @property
    def arithmetic_intensity(self) -> float | None:
        """Operations per DRAM byte; ``None`` where either is missing or the bytes are 0."""
        if self.total_operations is not None and self.dram_bytes is not None:
            return self.total_operations / self.dram_bytes if self.dram_bytes else None
        operations, bytes_ = self.operations_per_s, self.dram_bytes_per_s
        return operations / bytes_ if operations is not None and bytes_ else None

    @property
    def dram_bytes_per_s(self) -> float | None:
        """Achieved DRAM bandwidth."""
        rate = _rate(self.dram_bytes, self.duration_s)
        return self.rates.get("dram_bytes") if rate is None else rate

    def operation_rates(self) -> Mapping[str, float]:
        """Achieved rates by operation key; empty where there is no time, nor any rate."""
        if self.duration_s:
            return {key: count / self.duration_s for key, count in self.operations.items()}
        return {key: rate for key, rate in self.rates.items() if key != "dram_bytes"}

    def integers_per_s(self) -> float | None:
        """Rate of integer operations where they dominate: ten times all others."""
        most = self.integer_operations or 0.0
        dominate = most and most >= 10.0 * sum(self.operations.values()) and not self.unmeasured
        return _rate(most, self.duration_s) if dominate else None

    @property
    def operations_per_s(self) -> float | None:
        """Achieved rate of all operations."""
        rate = _rate(self.total_operations, self.duration_s)
        rates = self.operation_rates()
        return rate if rate is not None or self.unmeasured or not rates else sum(rates.values())


def _rate(amount: float | None, duration_s: float | None) -> float | None:
    return None if amount is None or not duration_s else amount / duration_s


def _told(kind: type, of: type[_T]) -> dict[str, _T]:
    """What is said beside the fields of a class, of one type."""
    hints = get_type_hints(kind, include_extras=True).items()
    told = {name: getattr(hint, "__metadata__", ()) for name, hint in hints}
    return {name: x for name, said in told.items() for x in said if isinstance(x, of)}


# How each field folds, by class.
FOLDS = {kind: _told(kind, Fold) for kind in (Measurement, Peaks)}
# Every number about a launch by its name in Python, JSON and columns, those that follow last.
QUANTITIES = {
    **_told(Measurement, Quantity),
    **_told(Peaks, Quantity),
    "total_operations": Quantity("operations", "operations"),
    "operations_per_s": Quantity("operation rate", "FLOP/s"),
    "arithmetic_intensity": Quantity("arithmetic intensity", "FLOP/B"),
}


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


# No bound of more times than that is a promise.
PROMISED = 10.0
# A cause that gives less is not named.
MATTERS = 1.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """The numbers of the named-limiter rule, by default NVIDIA's own.

    They are those of SpeedOfLight.py of Nsight Compute, so that nobody sees two truths. ``latency``
    is the percent of peak under which the busiest unit limits nothing, ``balance`` are the points
    within which a second unit is said to limit, too, under so many ``waves`` a grid is too small.

    Raises:
        ArgumentError: one is out of range.

    """

    latency: float = 60.0
    balance: float = 10.0
    waves: float = 1.0

    def __post_init__(self) -> None:
        for name, most in (("latency", 100), ("balance", 100), ("waves", float("inf"))):
            hint = "latency=60, balance=10, waves=1"
            number(0, most, hint=hint, **{f"the rule's {name}": getattr(self, name)})
        if 0 < self.latency < 1:
            what, percent = f"the rule's latency is {self.latency}", f"{100 * self.latency:g}"
            raise ArgumentError(what, why="it is a percentage", hint=f"{percent} for {percent} %")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Why a unit is busy or a kernel waits: an entry "cause.CODE" of the knowledge base.

    A code of "stall_" and a reason is one of its "stall" entries. ``promise`` is the entry's kind;
    ``gain`` is how many times faster the kernel gets at most without it, at least 1, ``None`` where
    nothing predicts that.
    """

    code: str
    promise: str = "plain"
    gain: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What limits a kernel, how sure that is, and what relieving it could buy at most.

    Codes and numbers: ``roofline.text.verdict`` says them in sentences.

    ``limiter`` is a unit key for bandwidth and compute, else ``None``; ``nearest`` is the
    busiest unit whatever the bound, ``co_limiter`` the second unit where it is as near.
    ``floor_s`` is the duration at the nearest ceiling, ``next_floor_s`` that with less work for
    the nearest unit, until the next one limits that is not relieved with it.
    ``causes`` are those that the evidence proves and that matter, what gives most first; ``cause``
    is the first one's code.
    ``waste_floor_s`` is what is left without the work that can go (``None`` where none is named),
    ``waste_limiter`` the unit that limits then. ``gain`` is the bound by which kernels are ranked,
    ten times at most, ``gain_by`` what it rests on: "waste", "work" inside of the busiest unit,
    "occupancy", "idle" or "headroom" of that unit, or "unbounded": work can go, and no counter says
    what that gains; ``None`` where nothing predicts it.
    ``evidence`` is what conditions of the knowledge base read, of the mean launch. All times are
    under the profiler.
    ``roof_percent`` is the share of the peak rate reached per operation key, ``ridge`` in
    operations per byte for ``dominant``, the operation key that takes most time at peak.
    ``ceiling_operations_per_s`` is the lower of both roofs at the kernel's intensity and
    ``ceiling_percent`` how much of it was reached: at the report's peaks, or at the datasheet's
    where the report has none.
    ``action`` is whose work helps, ``action_reason`` why it is not the author's: "near_ceiling",
    "library", "initialisation". ``doubts`` are the reasons not to be sure, ``context`` is where the
    classic roofline would say something else, ``advice`` the entry of the knowledge base,
    ``rule`` what it was judged by.
    """

    bound: Bound
    limiter: str | None = None
    limiter_percent: float | None = None
    nearest: str | None = None
    co_limiter: str | None = None
    cause: str | None = None
    causes: tuple[Cause, ...] = ()
    confidence: Confidence = Confidence.LOW
    doubts: tuple[Note, ...] = ()
    floor_s: float | None = None
    next_limiter: str | None = None
    next_floor_s: float | None = None
    waste_floor_s: float | None = None
    waste_limiter: str | None = None
    gain: float | None = None
    gain_by: str | None = None
    dominant: str | None = None
    ridge: float | None = None
    ridge_side: str | None = None
    ceiling_operations_per_s: float | None = None
    ceiling_percent: float | None = None
    roof_percent: Mapping[str, float] = field(default_factory=dict)
    context: Note | None = None
    advice: str | None = None
    action: Action = Action.FIX
    action_reason: str = ""
    evidence: Mapping[str, float] = field(default_factory=dict)
    missing: tuple[Missing, ...] = ()
    rule: Rule = field(default_factory=Rule)

    @property
    def two_roofs(self) -> bool:
        """Whether only stated figures are known, which say what does not limit: the two roofs."""
        return self.advice == "cause.two_roofs"

    @property
    def held_back(self) -> bool:
        """Whether something comes before all advice on the code, as of a debug build."""
        return any(cause.promise == "first" for cause in self.causes)

    @property
    def callers(self) -> bool:
        """Whether it is a library's kernel: what its author could do helps nobody here."""
        return (self.advice or "").startswith("caller.")

    @property
    def co_limited(self) -> bool:
        """Whether a second unit limits as well."""
        return self.co_limiter is not None


class _Judged(Displayed):
    """What a launch and a kernel have in common: a name and a verdict."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The function's, without arguments."""
        return _result(self).measurement.name

    @property
    def bound(self) -> Bound:
        """What kind of ceiling limits it."""
        return _result(self).verdict.bound

    @property
    def limiter(self) -> str | None:
        """The unit that limits it; ``None`` where none does."""
        return _result(self).verdict.limiter

    @property
    def limiter_percent(self) -> float | None:
        """How busy the busiest unit is, in percent of its peak."""
        return _result(self).verdict.limiter_percent

    def __repr__(self) -> str:
        told: dict[str, object] = {"name": self.name}
        if isinstance(self, Group):
            told |= {"len(launches)": len(self.launches), "total_s": self.total_s}
        else:
            told["duration_s"] = _result(self).measurement.duration_s
        judged = ("bound", "limiter", "limiter_percent")
        return short(self, **told, **{name: getattr(self, name) for name in judged})


def _result(judged: _Judged) -> Result:
    found = judged.result if isinstance(judged, Group) else judged
    assert isinstance(found, Result)
    return found


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Result(_Judged):
    """One launch, measured and judged: all that a renderer gets."""

    measurement: Measurement
    peaks: PeakSet
    verdict: Verdict

    @property
    def duration_s(self) -> float | None:
        """What it took under the profiler."""
        return self.measurement.duration_s


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Group(_Judged):
    """The launches of one kernel: same file, name, grid, block and device.

    ``result`` is computed from sums over the launches of which most was measured, ``launches`` are
    the positions of all in ``Analysis.results``, ``share`` is of the profiled time of its file and
    device, ``bounds`` counts the launches' own verdicts.
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
    """A file that was read; ``path`` is its last part, for people, ``file`` where it lies."""

    path: str
    launches: int
    notes: tuple[Note, ...] = ()
    file: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A file that could not be read, or of which only the first ``launches`` could; ``why``."""

    path: str
    launches: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Analysis(Displayed):
    """Everything that was found in one set of reports; ``results`` are in file order.

    ``rule`` is what the verdicts were made by. Where files are ``merged``, a kernel is summed over
    all of them, and shares are of the time of a device in all. ``unread`` is what it lacks.
    """

    sources: tuple[Source, ...]
    results: tuple[Result, ...]
    groups: tuple[Group, ...]
    rule: Rule = field(default_factory=Rule)
    merged: bool = False
    unread: tuple[Unread, ...] = ()

    @property
    def stated(self) -> bool:
        """Whether nothing in it was measured, but all stated."""
        return all(result.measurement.kind is Kind.FIGURES for result in self.results)

    @overload
    def __getitem__(self, kernel: int | str | Pattern[str]) -> Group: ...
    @overload
    def __getitem__(self, kernel: slice) -> tuple[Group, ...]: ...
    def __getitem__(self, kernel: int | str | Pattern[str] | slice) -> Group | tuple[Group, ...]:
        """The kernel that is meant, as ``--explain`` finds it; of several the one with most time.

        A text is a name, a family ("gemm") or a regular expression; integers and slices are places
        in ``groups``, which ``len`` counts, and which are what an analysis is iterated over.

        Raises:
            NoKernelError: no kernel matches, or there is no such place.
            UsageError: the text is no regular expression.

        """
        if isinstance(kernel, slice):
            return self.groups[kernel]
        hint = 'a name, or a place: analysis["gemm"], analysis[0]'
        of_type((int, str, Pattern), hint, kernel=kernel)
        if isinstance(kernel, str | Pattern):
            found: Group = self.ask("kernel", kernel)
            return found
        try:
            return self.groups[kernel]
        except IndexError:
            hint = f"0 to {len(self) - 1}"
            raise NoKernelError(f"there is no kernel {kernel}", hint=hint) from None

    def __len__(self) -> int:
        return len(self.groups)

    def __iter__(self) -> Iterator[Group]:
        return iter(self.groups)

    def __contains__(self, kernel: object) -> bool:
        """Whether it is one of the kernels, or a text that means one."""
        if not isinstance(kernel, str | Pattern):
            return kernel in self.groups
        try:
            return self[kernel] in self.groups
        except NoKernelError:
            return False

    def __repr__(self) -> str:
        counts = {f"len({of})": len(getattr(self, of)) for of in ("results", "groups")}
        return short(self, sources=", ".join(s.path for s in self.sources), **counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleResult:
    """What a rule of NVIDIA's says of a launch, in NVIDIA's words.

    ``gain_percent`` is its estimated speedup, ``whole`` whether that is of the whole kernel
    ("global") or only of the part that the rule looks at ("local").
    """

    identifier: str
    title: str
    text: str
    gain_percent: float | None = None
    whole: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """One machine instruction and what a launch lost at it.

    ``share`` is of all samples of the launch, ``reason`` what most of its samples waited for and
    ``reason_share`` how many of them (0 to 1). ``producer`` is the load (or other slow
    instruction) whose result it waits for, ``for_warps`` is said of what waits for other warps.
    ``sectors`` are the L2 sectors of its accesses beyond those that its bytes need,
    ``wavefronts`` those of shared memory that repeat.
    """

    address: int
    sass: str | None
    file: str | None = None
    line: int | None = None
    source: str | None = None
    samples: float = 0.0
    share: float = 0.0
    reason: str | None = None
    reason_share: float | None = None
    producer: Instruction | None = None
    for_warps: bool = False
    sectors: float | None = None
    wavefronts: float | None = None


SAMPLES_NEEDED = 1000  # to name an instruction: what fewer say is noise


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """What a launch's report says instruction by instruction, and NVIDIA's own rules.

    ``sampled`` are the instructions with most samples, ``lines`` the source lines with most of
    them ("a.cu:41" and a share of 0 to 1), ``waits`` the share of each opcode with what it waits
    for ("DADD for LDG.E.64", "STG.E, lg_throttle"), ``executed`` the opcodes that ran most, as
    shares of all executed instructions, ``wasting`` those instructions with most excess
    sectors and repeated wavefronts, of which ``sectors`` and ``wavefronts`` are the launch's
    totals. ``warps_share`` is the part of the samples that waits for other warps.
    """

    index: int
    samples: float | None = None
    sampled: tuple[Instruction, ...] = ()
    lines: Mapping[str, float] = field(default_factory=dict)
    waits: Mapping[str, float] = field(default_factory=dict)
    executed: Mapping[str, float] = field(default_factory=dict)
    warps_share: float = 0.0
    sectors: float | None = None
    wavefronts: float | None = None
    wasting: tuple[Instruction, ...] = ()
    rules: tuple[RuleResult, ...] = ()


def is_address(key: str) -> bool:
    """Whether instances of that key are of an address: a whole number of 64 bits."""
    return key.isascii() and key.isdigit() and len(key) <= 20 and int(key) < 1 << 64


class Metrics(Protocol):
    """The metrics of a launch by name, numbers in SI units (percentages stay percentages)."""

    @property
    def memo(self) -> dict[int, Any] | None:
        """What follows from which metrics there are, kept for all launches with the same ones."""

    def number(self, name: str) -> float | None:
        """The value, or ``None`` where it is absent, NaN, infinite, or not a number."""

    def text(self, name: str) -> str | None:
        """The value of a string metric, or ``None``."""

    def has(self, name: str) -> bool:
        """Whether the report holds ``name`` at all, be its value NaN."""

    def any_of(self, names: frozenset[str]) -> bool:
        """Whether the report holds any of ``names``: one question instead of many."""

    def matching(self, pattern: Pattern[str]) -> Collection[str]:
        """The names that a pattern fits from their beginning; some may be of other results."""

    def instances(self, name: str) -> Mapping[str, float]:
        """Instance values by correlation id (an opcode, an address); empty where there are none."""

    def sass(self, address: str) -> str | None:
        """The instruction at an address of ``instances``, where the report holds the code."""

    def machine_code(self, address: str) -> bytes | None:
        """The 16 bytes of that instruction, where they can be had without disassembly."""

    def line(self, address: str) -> tuple[str, int] | None:
        """The source file and line of that instruction, where the report has a line table."""

    def source(self, file: str) -> str:
        """The text of a source file; empty where the report does not hold it."""

    @property
    def rules(self) -> tuple[RuleResult, ...]:
        """NVIDIA's own stored verdicts."""

    def names(self) -> Collection[str]:
        """All metric names."""

    def notes(self) -> tuple[Note, ...]:
        """What was found wrong while reading so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A kernel launch, range or graph of a report.

    ``source`` is the file as the user named it, ``origin`` what the file says of itself where it
    was computed and not captured; ``grid`` and ``block`` are what the file says beside its metrics.
    """

    source: str
    range: int
    index: int
    kind: Kind
    name: str
    demangled: str
    metrics: Metrics
    grid: Dim3 | None = None
    block: Dim3 | None = None
    nvtx: tuple[str, ...] = ()
    process: int | None = None
    ncu_version: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    origin: str | None = None
