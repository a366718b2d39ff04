"""Choosing and ordering what is shown of an ``Analysis``; shares still refer to all of it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from roofline.arguments import share, unless_none, whole, word
from roofline.errors import NoKernelError
from roofline.fold import kernel_of, place_of, shares
from roofline.kernel_names import comparable, family, family_words
from roofline.model import (
    PROMISED,
    Action,
    Analysis,
    Bound,
    Device,
    Group,
    Measurement,
    Missing,
    Result,
    UnitUse,
    exceeds,
)
from roofline.patterns import select
from roofline.units import GENERIC, UNITS

SMALL = 0.01  # of the time: a kernel or a saving of less does not matter


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What the user wants to see.

    ``kernels`` are searched in a kernel's names, ``kernel_names`` are whole ones; ``devices`` are
    indices or parts of names. Of each, one has to fit. A word such as "gemm" is a family of kernels
    without ``exact_regex``. ``min_share`` is a fraction of the profiled
    time (0 to 1). ``sort`` is one of ``SORT_KEYS``. With ``launches`` single launches are chosen
    and ordered, without it kernels.

    Raises:
        ArgumentError: ``sort`` is not known, or a number is out of range.

    """

    kernels: tuple[re.Pattern[str], ...] = ()
    exact_regex: bool = False
    kernel_names: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    min_share: float | None = None
    top: int | None = None
    sort: str = "time"
    launches: bool = False

    def __post_init__(self) -> None:
        word(SORT_KEYS, sort=self.sort)
        share(**unless_none(min_share=self.min_share))
        whole(1, **unless_none(top=self.top))


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A part of an analysis, and what it is a part of.

    ``analysis.results`` stay in file order; ``order`` lists their positions in the order asked
    for; ``shares`` (0 to 1, of all that was profiled) is aligned with them. ``filters`` are the
    conditions as they are typed, empty where nothing was left out. A kernel in two files or on two
    GPUs is two groups, and one of ``total_kernels``.
    """

    analysis: Analysis
    order: tuple[int, ...]
    shares: tuple[float | None, ...]
    total_launches: int
    total_groups: int
    total_kernels: int
    total_s: float | None
    devices: tuple[DeviceClocks, ...] = ()
    filters: tuple[str, ...] = ()

    @property
    def many_files(self) -> bool:
        """Whether kernels of several files stand beside each other."""
        return len(self.analysis.sources) > 1 and not self.analysis.merged

    @property
    def many_gpus(self) -> bool:
        """Whether they ran on several GPUs."""
        devices = (r.measurement.device for r in self.analysis.results)
        return len({(d.name, d.index) for d in devices}) > 1

    def rows(self, *, launches: bool) -> Iterator[Row]:
        """The launches in the order asked for, or the kernels."""
        if launches:
            ranks = {p: i for i, g in enumerate(self.analysis.groups, 1) for p in g.launches}
            for at in self.order:
                yield Row(
                    result=self.analysis.results[at], share=self.shares[at], rank=ranks.get(at, 0)
                )
        else:
            for rank, group in enumerate(self.analysis.groups, 1):
                yield Row(result=group.result, share=group.share, group=group, rank=rank)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A launch, or a kernel with its ``group``; ``rank`` is the kernel's, by which it is named."""

    result: Result
    share: float | None
    group: Group | None = None
    rank: int = 0

    @property
    def name(self) -> str:
        """The signature, else the name."""
        return self.result.measurement.demangled or self.result.measurement.name

    @property
    def time_s(self) -> float | None:
        """Its duration, or that of all launches of the kernel."""
        return self.group.total_s if self.group else self.result.measurement.duration_s

    @property
    def saved_s(self) -> float | None:
        """What could be saved of it at most, in seconds; ``None`` where it is best left alone."""
        return saved_s(self.result)

    @property
    def busiest(self) -> list[UnitUse]:
        """The nearest unit, then the others as near as they are, those that stand for many last."""
        nearest = self.result.verdict.nearest
        return sorted(
            self.result.measurement.units,
            key=lambda use: (use.unit != nearest, use.unit in GENERIC, -use.near),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceClocks:
    """One GPU with the clocks (lowest, highest, in Hz) that its launches ran at."""

    device: Device
    launches: int
    sm_clock_hz: tuple[float, float] | None
    dram_clock_hz: tuple[float, float] | None
    indices: frozenset[int] = frozenset()


def chosen(view: Analysis | Chosen) -> Chosen:
    """``view`` as something chosen, so that a renderer takes either; all of an analysis."""
    return view if isinstance(view, Chosen) else choose(view, Choice())


def choose(analysis: Analysis, choice: Choice) -> Chosen:
    """The launches and kernels of ``analysis`` that ``choice`` asks for, in its order.

    A kernel is kept whole: with ``launches`` its numbers still cover all of its launches.
    """
    results = analysis.results
    durations = [r.measurement.duration_s for r in results]
    known = [d for d in durations if d is not None]
    total_s = sum(known) if known else None
    parts = shares([r.measurement for r in results], durations, merged=analysis.merged)

    def enough(share: float | None) -> bool:
        return not choice.min_share or (share is not None and not exceeds(choice.min_share, share))

    key = SORT_KEYS[choice.sort]
    groups = [g for g in analysis.groups if _matches(g.result.measurement, choice)]
    groups.sort(key=lambda g: key(g.result, g.share, g.total_s, len(g.launches)))
    positions = sorted(p for g in groups for p in g.launches)
    positions.sort(key=lambda p: key(results[p], parts[p], durations[p], 1))
    if choice.launches:
        positions = [p for p in positions if enough(parts[p])][: choice.top]
        wanted = set(positions)
        groups = [g for g in groups if wanted.intersection(g.launches)]
    else:
        groups = [g for g in groups if enough(g.share)][: choice.top]
        wanted = {p for g in groups for p in g.launches}
        positions = [p for p in positions if p in wanted]
    kept = sorted(wanted)
    moved = {old: new for new, old in enumerate(kept)}
    return Chosen(
        analysis=replace(
            analysis,
            results=tuple(results[p] for p in kept),
            groups=tuple(
                replace(g, launches=tuple(moved[p] for p in g.launches if p in moved))
                for g in groups
            ),
        ),
        order=tuple(moved[p] for p in positions),
        shares=tuple(parts[p] for p in kept),
        total_launches=len(results),
        total_groups=len(analysis.groups),
        total_kernels=len({kernel_of(g.result.measurement) for g in analysis.groups}),
        total_s=total_s,
        devices=devices(results),
        filters=_filters(choice) if len(kept) < len(results) else (),
    )


def by_place(part: Chosen) -> list[Chosen]:
    """The kernels of each file and GPU apart, each with the time of all that was profiled there."""
    places: dict[object, list[Group]] = {}
    for group in part.analysis.groups:
        place = place_of(group.result.measurement, merged=part.analysis.merged)
        places.setdefault(place, []).append(group)
    return [
        replace(
            part,
            analysis=replace(part.analysis, groups=tuple(groups)),
            total_s=next((g.total_s / g.share for g in groups if g.total_s and g.share), None),
        )
        for groups in places.values()
    ]


def gain_s(result: Result) -> float | None:
    """What the verdict's bound would save at most, in seconds under the profiler."""
    duration, gain = result.measurement.duration_s, result.verdict.gain
    return None if duration is None or gain is None else duration * (1 - 1 / gain)


def saved_s(result: Result) -> float | None:
    """``gain_s`` of what is not best left alone."""
    return None if result.verdict.action is Action.LEAVE else gain_s(result)


def beyond(result: Result) -> bool:
    """Whether its bound is further away than what is promised."""
    return (result.verdict.gain or 0.0) >= PROMISED


def unbounded(result: Result) -> bool:
    """Whether work can go, of a kernel not left alone, and no counter says what that saves."""
    v = result.verdict
    return v.gain_by == "unbounded" and v.action is not Action.LEAVE


def less_work(result: Result) -> float | None:
    """The part of its time that less work for the limiter could save, where that is no headroom.

    Of a full unit only where its work can be lowered, and never of a library's kernel.
    """
    v, took_s = result.verdict, result.measurement.duration_s
    unit = UNITS.get(v.nearest or "")
    limited = v.bound is not Bound.LATENCY and v.gain_by == "headroom" and v.waste_floor_s is None
    own = v.action is Action.FIX or (
        v.action_reason == "near_ceiling" and not v.callers and unit is not None and unit.lowerable
    )
    if not (limited and own and took_s) or v.next_floor_s is None:
        return None
    return 1 - max(v.next_floor_s / took_s, 1 / PROMISED)


def promise(result: Result, share: float | None) -> tuple[object, ...]:
    """A sort key by what can be saved, the largest first: what is proven comes before headroom.

    What counters prove came to 86 % of its bound (median) in later versions of public kernels; room
    under a ceiling often stays. ``share`` is the kernel's, of the time: 1 % of it must be saved.
    What has no bound counts as all of its time.
    """
    took = result.measurement.duration_s
    saved = took if unbounded(result) else saved_s(result)
    part = saved / took * (1.0 if share is None else share) if saved and took else 0.0
    proven = result.verdict.gain_by not in (None, "headroom") and part >= SMALL
    return (not proven, *_largest(saved), *_largest(gain_s(result)))


def missing_of(result: Result) -> tuple[Missing, ...]:
    """What was not measured and what the verdict lacked, each quantity once."""
    both = (*result.measurement.missing, *result.verdict.missing)
    return tuple({m.quantity: m for m in reversed(both)}.values())[::-1]


def devices(results: Sequence[Result]) -> tuple[DeviceClocks, ...]:
    """The GPUs of launches, in the order of their first one.

    Those that nobody could tell apart by name, capability and SMs are one: reports of one model
    differ in what else they say of it.
    """
    found: dict[tuple[object, ...], list[Result]] = {}
    for result in results:
        device = result.measurement.device
        key = (device.name, device.compute_capability, device.sm_count)
        found.setdefault(key, []).append(result)
    return tuple(
        DeviceClocks(
            device=same[0].measurement.device,
            launches=len(same),
            sm_clock_hz=_span(r.measurement.sm_clock_hz for r in same),
            dram_clock_hz=_span(r.measurement.dram_clock_hz for r in same),
            indices=frozenset(i for r in same if (i := r.measurement.device.index) is not None),
        )
        for same in found.values()
    )


def _span(values: Iterable[float | None]) -> tuple[float, float] | None:
    known = [v for v in values if v is not None]
    return (min(known), max(known)) if known else None


def matching(analysis: Analysis, text: str | re.Pattern[str]) -> tuple[Group, ...]:
    """The kernels that ``text`` means, longest first.

    Those with exactly this name where there are any, else ``text`` is a regular expression.

    Raises:
        UsageError: it is neither a name nor a regular expression.

    """
    ranked = chosen(analysis).analysis.groups
    measured = (g.result.measurement for g in ranked)
    return tuple(ranked[i] for i in select(text, ((m.name, m.demangled) for m in measured)))


def no_kernel(analysis: Analysis, wanted: str, option: str = "") -> NoKernelError:
    """The error for a kernel that is not there, with the names that look most like it."""
    names = list(dict.fromkeys(g.result.measurement.name for g in analysis.groups))
    close = difflib.get_close_matches(re.sub(r"\W+", "", wanted), names, n=3, cutoff=0.4)
    close = close or names[:3]
    others = f", or one of {', '.join(close[1:])}" if len(close) > 1 else ""
    more = f" ({len(names)} names in all)" if len(names) > len(close) else ""
    hint = f"{option} {close[0]}{others}{more}".lstrip()
    return NoKernelError(f"no kernel matches {wanted!r}", hint=hint)


def _largest(value: float | None) -> tuple[bool, float]:
    """A sort key that puts the largest first and what is not known last."""
    return (True, 0.0) if value is None else (False, -value)


# Each gets a result, its share of the time (0 to 1), its time in seconds and how many launches it
# stands for. Ties stay in the order of the analysis.
_Key = Callable[[Result, float | None, float | None, int], tuple[object, ...]]
SORT_KEYS: dict[str, _Key] = {
    "time": lambda _r, _s, time_s, _n: _largest(time_s),
    "gain": lambda r, share, _t, _n: promise(r, share),
    "utilization": lambda r, *_: _largest(r.verdict.limiter_percent),
    "intensity": lambda r, *_: _largest(r.measurement.arithmetic_intensity),
    "count": lambda _r, _s, time_s, count: (*_largest(count), *_largest(time_s)),
    "name": lambda r, *_: (r.measurement.name.lower(), r.measurement.demangled),
}


def _matches(m: Measurement, choice: Choice) -> bool:
    named = (
        any(_finds(kernel, m, letters=choice.exact_regex) for kernel in choice.kernels)
        or any(is_named(m, name) for name in choice.kernel_names)
        or not (choice.kernels or choice.kernel_names)
    )
    return named and (not choice.devices or any(_on(m.device, one) for one in choice.devices))


def _finds(kernel: re.Pattern[str], m: Measurement, *, letters: bool) -> bool:
    if not letters and (words := family_words(kernel.pattern)):
        return family(m.demangled or m.name) in words
    return any(kernel.search(name) for name in (m.name, m.demangled))


def is_named(measurement: Measurement, name: str) -> bool:
    """Whether ``name`` is the kernel's function, or its signature in any demangler's spelling."""
    return name == measurement.name or comparable(name) == comparable(measurement.demangled)


def _on(device: Device, wanted: str) -> bool:
    if wanted.isdecimal() and device.index is not None:
        return device.index == int(wanted)
    return device.name is not None and wanted.lower() in device.name.lower()


def _filters(choice: Choice) -> tuple[str, ...]:
    said: list[tuple[str, object]] = [
        *(("--kernel", pattern.pattern) for pattern in choice.kernels),
        *(("--kernel-name", name) for name in choice.kernel_names),
        *(("--device", device) for device in choice.devices),
        ("--min-share", f"{choice.min_share * 100:g}" if choice.min_share else None),
        ("--top", choice.top),
    ]
    return tuple(f"{option} {value}" for option, value in said if value is not None)
