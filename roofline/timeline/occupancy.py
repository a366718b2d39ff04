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
from roofline.timeline.steps import Window

COMPUTE, COMMUNICATION, COPY = KINDS = (0, 1, 2)
Kinds = NDArray[np.int8]
_STATES = 1 << len(KINDS)
_BLOCK = 1 << 17  # stretches looked at together: more need memory, fewer take time


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """How one window was used, in ns. "Exposed": while nothing else ran."""

    wall: int
    kernel: int
    compute: int
    communication: int
    copy: int
    exposed_communication: int
    exposed_copy: int
    busy: int

    @property
    def idle(self) -> int:
        """Time in which nothing ran."""
        return self.wall - self.busy


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupancy:
    """The answer of ``sweep``: ``windows`` covers all of them, the rest those not left out.

    Columns are indexed by group: ``sole`` is the time in which a group ran and nothing else did,
    ``union`` in which it ran at all, ``total`` the sum over its events. ``gaps`` are (start, end)
    of idle stretches.
    """

    windows: tuple[Shares, ...]
    sole: Integers
    union: Integers
    total: Integers
    gaps: Integers


def sweep(
    start: Integers, end: Integers, group: Integers, kind: Kinds, windows: Sequence[Window]
) -> Occupancy:
    """Measure what ran in ``windows`` (sorted, disjoint).

    Args:
        start: when each event starts, ns.
        end: when it ends.
        group: which kernel (or kind of copy) it is an instance of, from 0.
        kind: COMPUTE, COMMUNICATION or COPY of each event.
        windows: the time to look at.

    """
    groups = int(group.max()) + 1 if len(group) else 0
    kept = [w for w in windows if w.left_out is None]
    union_, total = _by_group(start, end, group, groups, _Clock(kept))
    clock = _Clock(windows)
    counts = np.array([w.left_out is None for w in windows])
    sums = _Sums(clock=clock, counts=counts, groups=groups)
    for block in _blocks(start, end, group, kind, clock):
        sums.add(block)
    return Occupancy(
        windows=sums.shares(), sole=sums.sole, union=union_, total=total, gaps=sums.gaps()
    )


class _Clock:
    """Time that stands still outside of the windows."""

    def __init__(self, windows: Sequence[Window]) -> None:
        self.start = np.array([w.start for w in windows], dtype=np.int64)
        self.length = np.array([w.end for w in windows], dtype=np.int64) - self.start
        self.edges = np.concatenate([[0], np.cumsum(self.length)])

    def inside(self, times: Integers) -> Integers:
        """How much window time precedes each time."""
        if len(self.start) == 1:
            only: Integers = np.clip(times - self.start[0], 0, self.length[0])
            return only
        index = np.maximum(np.searchsorted(self.start, times, side="right") - 1, 0)
        within: Integers = np.clip(times - self.start[index], 0, self.length[index])
        within += self.edges[index]
        return within

    def outside(self, times: Integers, *, ends: bool) -> Integers:
        """The real time; at an edge, the end of the one window or the start of the other."""
        index = np.searchsorted(self.edges, times, side="left" if ends else "right") - 1
        index = np.clip(index, 0, len(self.start) - 1)
        real: Integers = self.start[index] + times - self.edges[index]
        return real


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    """Consecutive stretches in which nothing changes.

    ``active`` counts the running events of each kind, ``sole`` is the group that runs alone, -1
    where none does.
    """

    edges: Integers
    active: Integers
    sole: Integers


def _blocks(
    start: Integers, end: Integers, group: Integers, kind: Kinds, clock: _Clock
) -> Iterator[_Block]:
    """All stretches between starts, ends and edges of windows, a part at a time.

    With n events running, the sum s and the sum of squares q of their groups, all are of one
    group if and only if n * q = s * s.
    """
    events = len(start)
    # An event outside of the windows has no length in their time, and so no part in any stretch.
    times = np.concatenate([clock.inside(start), clock.inside(end), clock.edges])
    order = np.argsort(times, kind="stable")
    times.sort(kind="stable")
    before = np.zeros(5, dtype=np.int64)  # n by kind, s, q
    for first in range(0, len(times) - 1, _BLOCK):
        part = order[first : first + _BLOCK]
        event = np.where(part < 2 * events, part % max(events, 1), 0)
        sign = np.where(part < events, 1, np.where(part < 2 * events, -1, 0))
        who = group[event] if events else np.zeros_like(event)
        what = kind[event] if events else np.zeros_like(event)
        steps = [sign * (what == k) for k in KINDS] + [sign * who, sign * who * who]
        running = before[:, None] + np.cumsum(np.stack(steps), axis=1)
        before = running[:, -1].copy()
        bounds = times[first : first + _BLOCK + 1]
        running = running[:, : len(bounds) - 1]
        count, total, squares = running[:3].sum(axis=0), running[3], running[4]
        alone = (count > 0) & (count * squares == total * total)
        sole = np.where(alone, total // np.maximum(count, 1), -1)
        yield _Block(edges=bounds, active=running[:3], sole=sole)


class _Sums:
    """Adds up blocks: by window, by group, and the gaps.

    ``times`` is the time of each window in each state: bit k is set while events of kind k run.
    """

    def __init__(self, *, clock: _Clock, counts: Mask, groups: int) -> None:
        self.clock, self.counts = clock, counts
        self.sole = np.zeros(groups, dtype=np.int64)
        self.times = np.zeros((len(counts), _STATES), dtype=np.int64)
        self.idle: list[Integers] = []

    def add(self, block: _Block) -> None:
        """Count one block in."""
        length = np.diff(block.edges)
        place = np.searchsorted(self.clock.edges, block.edges[:-1], side="right") - 1
        place = np.minimum(place, len(self.counts) - 1)
        state = sum((block.active[k] > 0).astype(np.int64) << k for k in KINDS)
        found = _sums(place * _STATES + state, length, self.times.size)
        self.times += found.reshape(self.times.shape)
        counted = self.counts[place]
        alone = counted & (block.sole >= 0)
        self.sole += _sums(block.sole[alone], length[alone], len(self.sole))
        idle = counted & (state == 0) & (length > 0)
        self.idle.append(np.stack([block.edges[:-1][idle], block.edges[1:][idle]], axis=1))

    def shares(self) -> tuple[Shares, ...]:
        """One answer for each window."""

        def of(row: list[int], *states: int) -> int:
            return sum(row[s] for s in states)

        def having(*kinds: int) -> list[int]:
            return [s for s in range(_STATES) if any(s >> k & 1 for k in kinds)]

        return tuple(
            Shares(
                wall=sum(row),
                kernel=of(row, *having(COMPUTE, COMMUNICATION)),
                compute=of(row, *having(COMPUTE)),
                communication=of(row, *having(COMMUNICATION)),
                copy=of(row, *having(COPY)),
                exposed_communication=of(row, 1 << COMMUNICATION),
                exposed_copy=of(row, 1 << COPY),
                busy=of(row, *having(*KINDS)),
            )
            for row in self.times.tolist()
        )

    def gaps(self) -> Integers:
        """Idle stretches in real time; one that spans the edge of adjoining windows is one."""
        idle = np.concatenate([np.empty((0, 2), dtype=np.int64), *self.idle])
        if not len(idle):
            return idle
        start = self.clock.outside(idle[:, 0], ends=False)
        end = self.clock.outside(idle[:, 1], ends=True)
        joined = np.concatenate([[False], start[1:] == end[:-1]])
        first = np.flatnonzero(~joined)
        last = np.concatenate([first[1:] - 1, [len(start) - 1]])
        return np.stack([start[first], end[last]], axis=1)


def _sums(index: Integers, amount: Integers, size: int) -> Integers:
    """Sums by index; below 2 ** 53 ns (104 days) the floats in between are exact."""
    place = np.clip(index, 0, max(size - 1, 0))
    return np.bincount(place, weights=amount, minlength=size).astype(np.int64)


def _by_group(
    start: Integers, end: Integers, group: Integers, groups: int, clock: _Clock
) -> tuple[Integers, Integers]:
    """The union and the sum of each group's events."""
    order = np.argsort(start, kind="stable")  # quick: readers give events in order of start
    order = order[np.argsort(group[order], kind="stable")]
    bounds = np.searchsorted(group[order], np.arange(groups + 1)).tolist()
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
