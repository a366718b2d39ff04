"""The events of one device, cut into windows and measured; its idle time, and the host's part."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any, Self

import numpy as np

from roofline.errors import UsageError
from roofline.timeline.events import (
    Events,
    Identity,
    Integers,
    Interner,
    LaunchSource,
    Mask,
    Timeline,
    Work,
    different,
    harmless,
)
from roofline.timeline.model import Criteria, From, IdleGap, StepUse, Use
from roofline.timeline.occupancy import (
    COMMUNICATION,
    COMPUTE,
    COPY,
    KINDS,
    Clock,
    Kinds,
    Occupancy,
    sweep,
)
from roofline.timeline.steps import (
    Window,
    leave_out,
    step_of,
    step_ranges,
    step_windows,
    whole_window,
)

_LARGEST = 5
_NOT_KNOWN = "(not known)"
_MOST = 0.5  # of a gap: what took more of it is said to have filled it
WAITS = re.compile(r"cu(?:da)?(?:(?:Stream|Device|Event|Ctx)Synchronize|Memcpy(?:DtoH)?)\b(?!A)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """What is told apart: kernels by name, grid and block, or by name alone; or what launched them.

    ``kind`` is COMPUTE, COMMUNICATION or COPY of each. The group of an event is ``of`` its
    identity, and further by the ``text`` of its source where those are told apart.
    """

    identities: tuple[Identity, ...]
    kind: Kinds
    of: Integers
    text: Integers | None = None

    @classmethod
    def make(cls, identities: Sequence[Identity], kind: Kinds, *, by_name: bool) -> Groups:
        """Equal identities, or those of one name, are one group; ``kind`` is that of each."""
        places = Interner()
        of = [places[(i.work, i.name) if by_name else i] for i in identities]
        groups: list[Identity] = []
        for identity, place in zip(identities, of, strict=True):
            if place == len(groups):
                groups.append(identity)
            elif (identity.grid, identity.block) != (groups[place].grid, groups[place].block):
                groups[place] = replace(groups[place], grid=None, block=None)
        kind_of = np.zeros(len(groups), dtype=np.int8)
        kind_of[of] = kind
        return cls(identities=tuple(groups), kind=kind_of, of=np.array(of, dtype=np.int64))

    @classmethod
    def by_source(
        cls, sources: Sequence[LaunchSource], kind: Kinds, by: From, *, own: bool
    ) -> Self:
        """By ``by`` of the source; what communicates or copies stays apart from compute kernels.

        Names that may be private are numbered, unless they are the user's ``own`` to see.
        """
        texts, numbered = Interner(), Interner()
        names = [getattr(s, by) or _NOT_KNOWN for s in sources or (LaunchSource(),)]
        if not own:
            names = [
                n if n == _NOT_KNOWN else harmless(n) or f"(own name {numbered[n] + 1})"
                for n in names
            ]
        text = np.array([texts[name] for name in names], dtype=np.int64)
        identities = [
            Identity(work=work, name=t, base_name=t, collective=k == COMMUNICATION)
            for k, work in zip(KINDS, (Work.KERNEL, Work.KERNEL, Work.COPY), strict=True)
            for t in texts
        ]
        return cls(
            identities=tuple(identities),
            kind=np.repeat(np.array(KINDS, dtype=np.int8), len(texts)),
            of=kind.astype(np.int64) * len(texts),
            text=text,
        )

    def place(self, events: Events) -> Integers:
        """The group of each event; no column more where identities are groups."""
        if self.text is not None:
            return self.of[events.identity] + self.text[events.source]
        own = len(self.identities) == len(self.of)
        return events.identity if own else self.of[events.identity]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretches:
    """Idle stretches as columns: when, and how much passed before the launch of what runs next.

    ``late`` is that time in ns, ``known`` whether there is such a launch, ``thread`` who made it;
    ``graph`` says that the same call launched what ran before, as a CUDA graph; ``tail`` that
    nothing ran after it.
    """

    start: Integers
    end: Integers
    late: Integers
    known: Mask
    thread: Integers
    graph: Mask
    tail: Mask


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceEvents:
    """The events of device ``index`` and the windows that count.

    ``step`` is the place of each event in ``windows`` (-1: none), ``group`` in the groups of
    ``occupancy``. ``ranged`` says that the windows are steps.
    """

    timeline: Timeline
    index: int
    events: Events
    step: Integers
    windows: tuple[Window, ...]
    ranged: bool
    group: Integers
    is_copy: Mask
    occupancy: Occupancy
    own_names: bool = False

    @property
    def kept(self) -> tuple[int, ...]:
        """The places of the windows that count."""
        return tuple(i for i, w in enumerate(self.windows) if w.left_out is None)

    def step_at(self, percentile: float) -> int:
        """The place of the counted window at a percentile of their lengths (nearest rank)."""
        by_length = sorted(self.kept, key=lambda i: self.windows[i].end - self.windows[i].start)
        return by_length[max(math.ceil(percentile / 100 * len(by_length)) - 1, 0)]

    @property
    def counted(self) -> Mask:
        """Which events belong to a step that counts, as a mask."""
        return np.isin(self.step, self.kept)

    @property
    def shares_process(self) -> bool:
        """Whether a process of this device runs kernels on another one, too."""
        every = self.timeline.events
        own = different(self.events.process)
        return bool((np.isin(every.process, own[own >= 0]) & (every.device != self.index)).any())

    @property
    def steady(self) -> bool | None:
        """Whether all counted steps launched the same kernels equally often; ``None``: too few.

        Grids may differ from step to step where the shape of the data does: see ``same_grids``.
        """
        names = Interner()
        name_of = np.array([names[i.name] for i in self.timeline.identities])
        return self._equal_steps(name_of[self.events.identity])

    @property
    def same_grids(self) -> bool | None:
        """Whether all counted steps launched the same kernels at the same grids and blocks."""
        return self._equal_steps(self.events.identity)

    def _equal_steps(self, what: Integers) -> bool | None:
        if len(self.kept) < 2 or not self.ranged:
            return None
        order = np.argsort(self.step, kind="stable")
        edges = np.searchsorted(self.step[order], np.arange(len(self.windows) + 1))
        size = len(self.timeline.identities)
        steps = (what[order[edges[i] : edges[i + 1]]] for i in self.kept)
        first, *others = (np.bincount(step, minlength=size) for step in steps)
        return all(bool((other == first).all()) for other in others)

    def steps(self) -> tuple[StepUse, ...]:
        """Every window, those that do not count too."""
        launches = np.bincount(self.step[self.step >= 0], minlength=len(self.windows))
        waits = self.host_waits_s() or repeat(None)
        rows = zip(self.windows, self.occupancy.windows, launches.tolist(), waits, strict=False)
        return tuple(
            StepUse(
                number=window.number,
                name=(window.name if self.own_names or window.nvtx else harmless(window.name))
                or None,
                start_s=(window.start - self.timeline.origin) / 1e9,
                left_out=window.left_out,
                launches=number,
                host_wait_s=wait_s,
                **{name: getattr(use, name) for name in Use.__slots__},
            )
            for window, use, number, wait_s in rows
        )

    def span_s(self) -> tuple[float, float]:
        """From the first event of the counted steps to their last, and the idle time within."""
        counted = self.counted
        if not counted.any():
            return 0.0, 0.0
        start, end = int(self.events.start[counted].min()), int(self.events.end[counted].max())
        between = [w for w in self.windows if w.left_out]
        skipped = sum(max(min(w.end, end) - max(w.start, start), 0) for w in between)
        gaps = np.clip(self.occupancy.gaps, start, end)
        return (end - start - skipped) / 1e9, int((gaps[:, 1] - gaps[:, 0]).sum()) / 1e9

    def host_late_s(self) -> float | None:
        """The idle time that ended only because the host had not launched yet."""
        gaps = self.stretches(self.occupancy.gaps)
        return int(gaps.late[gaps.known].sum()) / 1e9 if gaps.known.any() else None

    @property
    def waiting(self) -> Mask:
        """Which host calls synchronise with the GPU."""
        names = self.timeline.call_names.items()
        return np.isin(self.timeline.calls.name, [k for k, name in names if WAITS.match(name)])

    def host_waits_s(self) -> list[float] | None:
        """How long launching threads were in synchronising calls and blocking copies, by window.

        ``None`` where no CUDA call was recorded.
        """
        calls, events = self.timeline.calls, self.events
        if not len(calls.name) or not (events.launch >= 0).any():
            return None
        start, end = self.host_waits()
        if not len(start):
            return [0.0] * len(self.windows)
        edges = np.array([(w.start, w.end) for w in self.windows])
        inside = Clock.union(start, end).inside(edges)
        found: list[float] = (np.diff(inside)[:, 0] / 1e9).tolist()
        return found

    def host_waits(self) -> tuple[Integers, Integers]:
        """When these calls and copies began, in order, and ended."""
        calls, events = self.timeline.calls, self.events
        own = self.waiting & np.isin(calls.thread, different(events.thread))
        # A call that copies to or from pageable memory does not return before the copy has run; one
        # that copies to the host has waited for all that was to run before.
        held = (events.launch >= 0) & (events.start < events.launched) & self.is_copy
        to_host = np.array(["DtoH" in i.name for i in self.timeline.identities])
        since = np.where(to_host[events.identity], events.launch, events.start)
        start = np.concatenate([calls.start[own], since[held]])
        end = np.concatenate([calls.end[own], events.launched[held]])
        order = np.argsort(start, kind="stable")
        return start[order], end[order]

    def largest_gaps(self) -> tuple[IdleGap, ...]:
        """The longest idle stretches, longest first."""
        gaps = self.occupancy.gaps
        return self.named(gaps[np.argsort(gaps[:, 0] - gaps[:, 1], kind="stable")[:_LARGEST]])

    def named(self, gaps: Integers) -> tuple[IdleGap, ...]:
        """Rows of start and end, with what the host did in each."""
        found = self.stretches(gaps)
        columns = (
            c.tolist() for c in (found.start, found.end, found.late, found.known, found.thread)
        )
        named = []
        for start, end, late, known, thread in zip(*columns, strict=True):
            gap = IdleGap(
                start_s=(start - self.timeline.origin) / 1e9,
                duration_s=(end - start) / 1e9,
                host_late_s=late / 1e9 if known else None,
                **_doing(self.timeline, thread, start, end, own_names=self.own_names),
            )
            named.append(gap)
        return tuple(named)

    def stretches(self, gaps: Integers) -> Stretches:
        """Idle stretches (start, end): how much passed before the launch of what runs next.

        A call can take longer than the gap: it loads the kernel's code, or copies to staging
        memory. So a launch is what returned.
        """
        events, end = self.events, gaps[:, 1]
        place = np.searchsorted(events.start, end)
        tail, following = place == len(events), np.minimum(place, len(events) - 1)
        launch, done = events.launch[following], events.launched[following]
        known = (launch >= 0) & ~tail
        # The first kernel of a CUDA graph ran, so the others had been launched by the same call.
        runs = (following > 0) & (events.launch[following - 1] == launch)
        late = np.clip(np.where(runs, launch, done), gaps[:, 0], end) - gaps[:, 0]
        thread = events.thread[following]
        return Stretches(
            start=gaps[:, 0],
            end=end,
            late=late,
            known=known,
            thread=thread,
            graph=known & runs,
            tail=tail,
        )


def _doing(
    timeline: Timeline, thread: int, start: int, end: int, *, own_names: bool
) -> dict[str, Any]:
    """Of an ``IdleGap`` what the host did in it; the longest call where none takes most of it.

    Names that may be private are passed over, unless ``own_names``.
    """
    calls = timeline.calls
    there = (calls.thread == thread) & (calls.start < end) & (calls.end > start)
    shared = np.minimum(calls.end[there], end) - np.maximum(calls.start[there], start)
    took: Counter[str] = Counter()
    for key, amount in zip(calls.name[there].tolist(), shared.tolist(), strict=True):
        name = timeline.call_names.get(key, "")
        if name := name if own_names else harmless(name):
            took[name] += amount
    if not took:
        return {}
    # Calls are in order of start: the first that fills the gap is the outermost.
    filling = [name for name, amount in took.items() if amount > _MOST * (end - start)]
    names = {"doing": filling[-1] if filling else max(took, key=lambda n: took[n])}
    if len(filling) > 1:
        names["inside"] = filling[0]
    times = {f"{key}_s": min(took[name], end - start) / 1e9 for key, name in names.items()}
    return names | times


def cut(timeline: Timeline, groups: Groups, index: int, criteria: Criteria) -> DeviceEvents:
    """The events of device ``index``; refused where no step is left or nothing ran in a window."""
    here = timeline.events.device == index
    events = timeline.events if here.all() else timeline.events.where(here)
    group = groups.place(events)
    kind = groups.kind[group]
    ranges = () if criteria.window else step_ranges(timeline, events)
    if ranges:
        windows = leave_out(step_windows(events, ranges, kind == COMPUTE), criteria.keep)
    else:
        start, end = criteria.start, criteria.end
        if start is not None and end is not None and end <= start:
            why = f"--end {end / 1e9:g}s is not after --start {start / 1e9:g}s"
            raise UsageError("the window is empty", why=why, hint="a later --end")
        start, end = (None if t is None else t + timeline.origin for t in (start, end))
        windows = [whole_window(events, start, end, timeline.origin)]
    return DeviceEvents(
        timeline=timeline,
        index=index,
        events=events,
        step=step_of(events, ranges, windows),
        windows=tuple(windows),
        ranged=bool(ranges),
        group=group,
        is_copy=kind == COPY,
        own_names=criteria.own_names,
        occupancy=sweep(events.start, events.end, group, kind, windows),
    )
