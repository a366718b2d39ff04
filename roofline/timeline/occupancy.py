"""Who had the device when: unions and sole occupancy by one sweep over starts and ends.

Overlap is computed, never added up: every figure here is a length of time, so none exceeds the
length of the windows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from roofline.timeline.events import Integers, Mask
from roofline.timeline.steps import Window

COMPUTE, COMMUNICATION, COPY = 0, 1, 2


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
    """The answer of ``sweep``; columns of ``sole`` and ``union`` are indexed by group.

    ``sole`` is the time in which a group ran and nothing else did, ``union`` in which it ran at
    all, ``total`` the sum over its events. ``gaps`` are (start, end) of idle stretches.
    """

    windows: tuple[Shares, ...]
    sole: Integers
    union: Integers
    total: Integers
    gaps: Integers


def sweep(
    start: Integers, end: Integers, group: Integers, kind: Integers, windows: Sequence[Window]
) -> Occupancy:
    """Measure what ran in ``windows`` (sorted, disjoint).

    Args:
        start: when each event starts, ns.
        end: when it ends.
        group: which kernel (or kind of copy) it is an instance of, from 0.
        kind: COMPUTE, COMMUNICATION or COPY of each event.
        windows: the time that counts.

    """
    clock = _Clock(windows)
    begin, finish = clock.inside(start), clock.inside(end)
    kept = finish > begin
    begin, finish, group, kind = begin[kept], finish[kept], group[kept], kind[kept]
    groups = int(group.max()) + 1 if len(group) else 0
    edges, active, sole_group = _segments(begin, finish, group, kind, clock.edges)
    length = np.diff(edges)
    place = np.searchsorted(clock.edges, edges[:-1], side="right") - 1
    shares = _shares(length, place, active, len(windows))
    only = sole_group >= 0
    return Occupancy(
        windows=shares,
        sole=_sums(sole_group[only], length[only], groups),
        union=_unions(begin, finish, group, groups),
        total=_sums(group, finish - begin, groups),
        gaps=_gaps(edges, active.sum(axis=0) == 0, clock),
    )


class _Clock:
    """Time that stands still outside of the windows."""

    def __init__(self, windows: Sequence[Window]) -> None:
        self.start = np.array([w.start for w in windows], dtype=np.int64)
        self.length = np.array([w.end for w in windows], dtype=np.int64) - self.start
        self.edges = np.concatenate([[0], np.cumsum(self.length)])

    def inside(self, times: Integers) -> Integers:
        """How much window time precedes each time."""
        index = np.maximum(np.searchsorted(self.start, times, side="right") - 1, 0)
        within: Integers = np.clip(times - self.start[index], 0, self.length[index])
        passed: Integers = self.edges[index] + within
        return passed

    def outside(self, times: Integers, *, ends: bool) -> Integers:
        """The real time; at an edge, the end of the one window or the start of the other."""
        index = np.searchsorted(self.edges, times, side="left" if ends else "right") - 1
        index = np.clip(index, 0, len(self.start) - 1)
        real: Integers = self.start[index] + times - self.edges[index]
        return real


def _segments(
    begin: Integers, finish: Integers, group: Integers, kind: Integers, edges: Integers
) -> tuple[Integers, NDArray[np.int32], Integers]:
    """Times at which something changes, how many events of each kind run after each, and who.

    The last answer is the group that runs alone, -1 where none does: with n events, the sum s and
    the sum of squares q of their groups, all are one group if and only if n * q = s * s.
    """
    times = np.concatenate([begin, finish, edges])
    order = np.argsort(times, kind="stable")
    sign = np.concatenate(
        [np.ones(len(begin), np.int64), -np.ones(len(begin), np.int64), np.zeros_like(edges)]
    )[order]
    who = np.concatenate([group, group, np.zeros_like(edges)])[order]
    what = np.concatenate([kind, kind, np.zeros_like(edges)])[order]
    active = np.stack(
        [np.cumsum(sign * (what == k), dtype=np.int32) for k in (COMPUTE, COMMUNICATION, COPY)]
    )
    count = active.sum(axis=0, dtype=np.int64)
    total = np.cumsum(sign * who)
    squares = np.cumsum(sign * who * who)
    alone = (count > 0) & (count * squares == total * total)
    sole = np.where(alone, total // np.maximum(count, 1), -1)
    return times[order], active[:, :-1], sole[:-1]


def _shares(
    length: Integers, place: Integers, active: NDArray[np.int32], windows: int
) -> tuple[Shares, ...]:
    compute, communication, copy = (row > 0 for row in active)

    def of(mask: Mask) -> Integers:
        return _sums(place[mask], length[mask], windows)

    columns = {
        "wall": _sums(place, length, windows),
        "kernel": of(compute | communication),
        "compute": of(compute),
        "communication": of(communication),
        "copy": of(copy),
        "exposed_communication": of(communication & ~compute & ~copy),
        "exposed_copy": of(copy & ~compute & ~communication),
        "busy": of(compute | communication | copy),
    }
    return tuple(
        Shares(**{name: int(column[i]) for name, column in columns.items()}) for i in range(windows)
    )


def _sums(index: Integers, amount: Integers, size: int) -> Integers:
    """Sums by index; below 2 ** 53 ns (104 days) the floats in between are exact."""
    place = np.clip(index, 0, max(size - 1, 0))
    return np.bincount(place, weights=amount, minlength=size).astype(np.int64)


def _unions(begin: Integers, finish: Integers, group: Integers, groups: int) -> Integers:
    order = np.lexsort((begin, group))
    begin, finish = begin[order], finish[order]
    bounds = np.searchsorted(group[order], np.arange(groups + 1))
    pairs = zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
    return np.array([union(begin[a:b], finish[a:b]) for a, b in pairs], dtype=np.int64)


def union(begin: Integers, finish: Integers) -> int:
    """The length of the union of intervals in order of their begin."""
    if not len(begin):
        return 0
    covered = np.maximum.accumulate(finish)
    reached = np.concatenate([begin[:1], covered[:-1]])
    return int(np.maximum(finish - np.maximum(begin, reached), 0).sum())


def _gaps(edges: Integers, idle: Mask, clock: _Clock) -> Integers:
    """Idle stretches in real time; one that spans the edge of two adjoining windows is one."""
    kept = idle & (np.diff(edges) > 0)
    if not kept.any():
        return np.empty((0, 2), dtype=np.int64)
    start = clock.outside(edges[:-1][kept], ends=False)
    end = clock.outside(edges[1:][kept], ends=True)
    joined = np.concatenate([[False], start[1:] == end[:-1]])
    first = np.flatnonzero(~joined)
    last = np.concatenate([first[1:] - 1, [len(start) - 1]])
    return np.stack([start[first], end[last]], axis=1)
