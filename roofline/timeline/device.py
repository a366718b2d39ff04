"""One device of a timeline: cut into windows, measured, and told in seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from roofline.timeline.events import Events, Identity, Integers, Mask, Timeline, Work
from roofline.timeline.gaps import Gap
from roofline.timeline.occupancy import COMPUTE, Kinds, Occupancy, Shares, sweep
from roofline.timeline.selection import First, IdleGap, StepUse, Use
from roofline.timeline.steps import (
    Window,
    leave_out,
    step_of,
    step_ranges,
    step_windows,
    whole_window,
)
from roofline.timeline.wanted import Wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The events of one device and the windows that count.

    ``kind`` is COMPUTE, COMMUNICATION or COPY of each event, ``step`` its place in ``windows``
    (-1: none), ``group`` its place in ``groups``, the kernels that are told apart. ``ranged``
    says that the windows are steps.
    """

    timeline: Timeline
    index: int
    events: Events
    kind: Kinds
    step: Integers
    windows: tuple[Window, ...]
    ranged: bool
    groups: tuple[Identity, ...]
    group: Integers
    swept: Occupancy

    @property
    def counted(self) -> Mask:
        """Which events belong to a step that counts, as a mask."""
        return np.isin(self.step, self.kept)

    @property
    def shares(self) -> tuple[Shares, ...]:
        """How the windows that count were used."""
        return tuple(self.swept.windows[i] for i in self.kept)

    @property
    def kept(self) -> tuple[int, ...]:
        """The places of the windows that count."""
        return tuple(i for i, w in enumerate(self.windows) if w.left_out is None)


def cut(timeline: Timeline, kind: Kinds, index: int, wanted: Wanted) -> Part:
    """The events of device ``index``; ``kind`` is that of each identity.

    Raises:
        InputError: nothing ran in the window asked for.
        UsageError: no step is left.

    """
    here = timeline.events.device == index
    events = timeline.events if here.all() else _only(timeline.events, here)
    kind_of = kind[events.identity]
    ranges = () if wanted.window else step_ranges(timeline, events)
    if ranges:
        windows = leave_out(step_windows(events, ranges, kind_of == COMPUTE), wanted.keep)
    else:
        start, end = (
            None if t is None else t + timeline.origin for t in (wanted.start, wanted.end)
        )
        windows = [whole_window(events, start, end)]
    groups, group = tuple(timeline.identities), events.identity
    if wanted.by_name:
        groups, group_of = _by_name(groups)
        group = group_of[events.identity]
    return Part(
        timeline=timeline,
        index=index,
        events=events,
        kind=kind_of,
        step=step_of(events, ranges, windows),
        windows=tuple(windows),
        ranged=bool(ranges),
        groups=groups,
        group=group,
        swept=sweep(events.start, events.end, group, kind_of, windows),
    )


def _only(events: Events, here: Mask) -> Events:
    return Events(**{name: getattr(events, name)[here] for name in Events.__slots__})


def steps_of(part: Part) -> tuple[StepUse, ...]:
    """Every window, those that do not count too."""
    launches = np.bincount(part.step[part.step >= 0], minlength=len(part.windows))
    return tuple(
        StepUse(
            number=window.number,
            start_s=seconds(window.start - part.timeline.origin),
            use=use_of([shares]),
            left_out=window.left_out,
            launches=int(number),
        )
        for window, shares, number in zip(part.windows, part.swept.windows, launches, strict=True)
    )


def span_of(part: Part) -> tuple[int, int]:
    """From the first event of the counted steps to their last, and the idle time within, in ns."""
    counted = part.counted
    if not counted.any():
        return 0, 0
    start, end = int(part.events.start[counted].min()), int(part.events.end[counted].max())
    between = [w for w in part.windows if w.left_out]
    skipped = sum(max(min(w.end, end) - max(w.start, start), 0) for w in between)
    gaps = np.clip(part.swept.gaps, start, end)
    return end - start - skipped, int((gaps[:, 1] - gaps[:, 0]).sum())


def is_steady(part: Part) -> bool | None:
    """Whether all counted steps launched the same kernels equally often; ``None``: too few.

    Grids may differ from step to step where the shape of the data does: see ``same_grids``.
    """
    names: dict[str, int] = {}
    name_of = [names.setdefault(i.name, len(names)) for i in part.timeline.identities]
    return _equal_steps(part, np.array(name_of, dtype=np.int64)[part.events.identity])


def same_grids(part: Part) -> bool | None:
    """Whether all counted steps launched the same kernels at the same grids and blocks."""
    return _equal_steps(part, part.events.identity)


def _equal_steps(part: Part, what: Integers) -> bool | None:
    if len(part.kept) < 2 or not part.ranged:
        return None
    size = len(part.timeline.identities)
    counts = [np.bincount(what[part.step == i], minlength=size) for i in part.kept]
    return all(bool((c == counts[0]).all()) for c in counts)


def _by_name(identities: Sequence[Identity]) -> tuple[tuple[Identity, ...], Integers]:
    """The kernels by name alone, and for each of ``identities`` its place among them."""
    places: dict[tuple[Work, str], int] = {}
    index = [places.setdefault((i.work, i.name), len(places)) for i in identities]
    groups: list[Identity] = []
    for identity, place in zip(identities, index, strict=True):
        if place == len(groups):
            groups.append(identity)
        elif (identity.grid, identity.block) != (groups[place].grid, groups[place].block):
            groups[place] = replace(groups[place], grid=None, block=None)
    return tuple(groups), np.array(index, dtype=np.int64)


def use_of(windows: Sequence[Shares]) -> Use:
    """The sum of windows, in seconds."""

    def total(name: str) -> float:
        return seconds(sum(getattr(w, name) for w in windows))

    return Use(
        wall_s=total("wall"),
        kernel_s=total("kernel"),
        compute_s=total("compute"),
        communication_s=total("communication"),
        exposed_communication_s=total("exposed_communication"),
        copy_s=total("copy"),
        exposed_copy_s=total("exposed_copy"),
        busy_s=total("busy"),
    )


def first_of(use: Use) -> First:
    """What to look at first: what takes most of the wall time, of kernels those ncu can help."""
    amounts = {
        First.KERNELS: use.compute_s,
        First.GAPS: use.idle_s,
        First.COMMUNICATION: use.exposed_communication_s,
        First.COPIES: use.exposed_copy_s,
    }
    return max(amounts, key=lambda first: amounts[first])


def gap_of(gap: Gap, origin: int) -> IdleGap:
    """A gap in seconds since the timeline's origin."""
    return IdleGap(
        start_s=seconds(gap.start - origin),
        duration_s=seconds(gap.length),
        host_late_s=None if gap.late is None else seconds(gap.late),
        doing=gap.doing,
        doing_s=seconds(gap.doing_ns),
    )


def seconds(nanoseconds: int) -> float:
    """Nanoseconds as seconds."""
    return nanoseconds / 1e9
