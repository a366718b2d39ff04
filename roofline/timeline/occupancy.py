"""Who had the device when: unions and sole occupancy by one sweep over starts and ends.

Overlap is computed, never added up: every figure here is a length of time, so none exceeds the
length of the windows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from roofline.timeline.events import Integers, Mask
from roofline.timeline.model import Use
from roofline.timeline.steps import Window

COMPUTE, COMMUNICATION, COPY = KINDS = (0, 1, 2)
Kinds = NDArray[np.int8]
_STATES = 1 << len(KINDS)  # bit k of a state is set while events of kind k run
_BLOCK = 1 << 15  # stretches looked at together: more need memory, fewer take time


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupancy:
    """How windows were used: ``windows`` each of them, the rest those that are not left out.

    Columns are indexed by group, in ns: ``sole`` is the time in which a group ran and nothing else
    did, ``union`` in which it ran at all, ``total`` the sum over its events. ``gaps`` are
    (start, end) of idle stretches, ``idle`` the same of all windows and cut where these meet:
    (window, start, end). ``wall_ns`` is the length of the windows.
    """

    windows: tuple[Use, ...]
    use: Use
    wall_ns: int
    sole: Integers
    union: Integers
    total: Integers
    gaps: Integers
    idle: Integers


def sweep(
    start: Integers, end: Integers, group: Integers, kind: Kinds, windows: Sequence[Window]
) -> Occupancy:
    """Measure what ran in ``windows`` (sorted, disjoint).

    ``group`` is which kernel (or kind of copy) each event is an instance of, from 0; ``kind`` is
    COMPUTE, COMMUNICATION or COPY.
    """
    groups = int(group.max()) + 1 if len(group) else 0
    kept = np.array([w.left_out is None for w in windows])
    clock = Clock.of(windows)
    # An event outside of the windows has no length in their time, and so no part in any stretch.
    moments = np.concatenate([clock.inside(start), clock.inside(end), clock.edges])
    counting = Clock.union(clock.edges[:-1][kept], clock.edges[1:][kept])
    unions, totals = _by_group(moments, group, groups, counting)
    sole = np.zeros(groups, dtype=np.int64)
    times = np.zeros((len(windows), _STATES), dtype=np.int64)
    idle = [np.empty((0, 3), dtype=np.int64)]
    for edges, active, alone in _stretches(moments, group, kind):
        length = np.diff(edges)
        place = np.searchsorted(clock.edges, edges[:-1], side="right") - 1
        place = np.minimum(place, len(windows) - 1)
        state = sum((active[k] > 0).astype(np.int64) << k for k in KINDS)
        times += _sums(place * _STATES + state, length, times.size).reshape(times.shape)
        counted = kept[place]
        mine = counted & (alone >= 0)
        sole += _sums(alone[mine], length[mine], groups)
        free = (state == 0) & (length > 0)
        at = place[free]
        later = (clock.start - clock.edges[:-1])[at]
        idle.append(np.stack([at, edges[:-1][free] + later, edges[1:][free] + later], axis=1))
    del moments  # with a million gaps each copy counts
    pieces = np.concatenate(idle)
    del idle
    pieces = _joined(pieces)
    return Occupancy(
        windows=tuple(_use(row) for row in times.tolist()),
        use=_use(times[kept].sum(axis=0).tolist()),
        wall_ns=int(times[kept].sum()),
        sole=sole,
        union=unions,
        total=totals,
        gaps=_joined(pieces[kept[pieces[:, 0]], 1:]),
        idle=pieces,
    )


class Clock:
    """Time that stands still outside of intervals, which are sorted and disjoint."""

    def __init__(self, start: Integers, end: Integers) -> None:
        self.start, self.length = start, end - start
        self.edges = np.concatenate([[0], np.cumsum(self.length)])

    @classmethod
    def of(cls, windows: Sequence[Window]) -> Clock:
        """A clock of windows."""
        edges = np.array([(w.start, w.end) for w in windows], dtype=np.int64).reshape(-1, 2)
        return cls(edges[:, 0], edges[:, 1])

    @classmethod
    def union(cls, start: Integers, end: Integers) -> Clock:
        """A clock of intervals that may overlap, in order of start."""
        both = _joined(np.stack([start, np.maximum.accumulate(end)], axis=1), overlap=True)
        return cls(both[:, 0], both[:, 1])

    def covers(self, times: Integers) -> Mask:
        """Of each time whether it is within an interval, after its start."""
        index = np.searchsorted(self.start, times, side="left") - 1
        found: Mask = (index >= 0) & (times <= self.start[index] + self.length[index])
        return found

    def inside(self, times: Integers) -> Integers:
        """How much window time precedes each time."""
        if len(self.start) == 1:
            only: Integers = np.clip(times - self.start[0], 0, self.length[0])
            return only
        index = np.maximum(np.searchsorted(self.start, times, side="right") - 1, 0)
        within: Integers = np.clip(times - self.start[index], 0, self.length[index])
        within += self.edges[index]
        return within


def _joined(rows: Integers, *, overlap: bool = False) -> Integers:
    """Rows that end with start and end; those of one kind that meet (or overlap) are one."""
    if not len(rows):
        return rows
    start, end, kind = rows[:, -2], rows[:, -1], rows[:, :-2]
    apart = start[1:] > end[:-1] if overlap else start[1:] != end[:-1]
    apart |= (kind[1:] != kind[:-1]).any(axis=1)
    first = np.flatnonzero(np.concatenate([[True], apart]))
    if len(first) == len(rows):
        return rows
    last = np.concatenate([first[1:] - 1, [len(rows) - 1]])
    return np.concatenate([rows[first, :-1], rows[last, -1:]], axis=1)


def _stretches(
    times: Integers, group: Integers, kind: Kinds
) -> Iterator[tuple[Integers, Integers, Integers]]:
    """All stretches in which nothing changes, a block at a time: edges, active, alone.

    ``times`` are all starts, all ends and the edges of windows, which are sorted here.
    ``active`` counts the running events of each kind; ``alone`` is the group that runs by itself,
    -1 where none does. With n events running, the sum s and the sum of squares q of their groups,
    all are of one group if and only if n * q = s * s.
    """
    events = len(group)
    order = np.argsort(times, kind="stable")
    times.sort(kind="stable")
    before = np.zeros(5, dtype=np.int64)  # n by kind, s, q
    for first in range(0, len(times) - 1, _BLOCK):
        part = order[first : first + _BLOCK]
        event = np.where(part < 2 * events, part % max(events, 1), 0)
        sign = np.where(part < events, 1, np.where(part < 2 * events, -1, 0))
        who = group[event] if events else np.zeros_like(event)
        what = kind[event] if events else np.zeros_like(event)
        changes = [sign * (what == k) for k in KINDS] + [sign * who, sign * who * who]
        running = before[:, None] + np.cumsum(np.stack(changes), axis=1)
        before = running[:, -1].copy()
        edges = times[first : first + _BLOCK + 1]
        running = running[:, : len(edges) - 1]
        count, total, squares = running[:3].sum(axis=0), running[3], running[4]
        alone = (count > 0) & (count * squares == total * total)
        yield edges, running[:3], np.where(alone, total // np.maximum(count, 1), -1)


def _use(row: Sequence[int]) -> Use:
    """The time of each state, in ns, as a ``Use``."""

    def total(*kinds: int) -> float:
        return sum(row[s] for s in range(_STATES) if any(s >> k & 1 for k in kinds)) / 1e9

    return Use(
        wall_s=sum(row) / 1e9,
        kernel_s=total(COMPUTE, COMMUNICATION),
        compute_s=total(COMPUTE),
        communication_s=total(COMMUNICATION),
        exposed_communication_s=sum(
            row[s] for s in range(_STATES) if s >> COMMUNICATION & 1 and not s >> COMPUTE & 1
        )
        / 1e9,
        copy_s=total(COPY),
        exposed_copy_s=row[1 << COPY] / 1e9,
        busy_s=total(*KINDS),
    )


def _sums(index: Integers, amount: Integers, size: int) -> Integers:
    """Sums by index; below 2 ** 53 ns (104 days) the floats in between are exact."""
    return np.bincount(index, weights=amount, minlength=size).astype(np.int64)


def _by_group(
    times: Integers, group: Integers, groups: int, clock: Clock
) -> tuple[Integers, Integers]:
    start, end = times[: len(group)], times[len(group) : 2 * len(group)]
    order = np.argsort(start, kind="stable")  # quick: readers give events in order of start
    key = group.astype(np.uint16) if groups <= 1 << 16 else group  # 16 bits: in linear time
    order = order[np.argsort(key[order], kind="stable")]
    bounds = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=groups))]).tolist()
    unions, totals = np.zeros(groups, dtype=np.int64), np.zeros(groups, dtype=np.int64)
    for g in range(groups):
        own = order[bounds[g] : bounds[g + 1]]
        begin, finish = clock.inside(start[own]), clock.inside(end[own])
        unions[g], totals[g] = union(begin, finish), (finish - begin).sum()
    return unions, totals


def union(begin: Integers, finish: Integers) -> int:
    """The length of the union of intervals in order of their begin."""
    if not len(begin):
        return 0
    covered = np.maximum.accumulate(finish)
    reached = np.concatenate([begin[:1], covered[:-1]])
    return int(np.maximum(finish - np.maximum(begin, reached), 0).sum())
