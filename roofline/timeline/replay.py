"""What if: a device's timeline played again with other durations, and with less idle time.

The pessimistic end of what a change buys. Host times stay as they were, shifted where the host had
waited for the GPU; streams keep their order; waits across streams are inferred from what ended just
before. Each start is kept as the latest thing it waited for plus what is left over, so a replay
that changes nothing gives exactly what was recorded. The other end is Amdahl's law.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from roofline.timeline.device import DeviceEvents, Groups
from roofline.timeline.events import Calls, Events, Integers, Mask, different
from roofline.timeline.occupancy import COMPUTE
from roofline.timeline.steps import step_ranges

_SOON_NS = 20_000  # what starts so soon after something ended may have waited for it
_EVENTS = 20_000  # replayed for the bounds of kernels: more take longer than they tell
_WORK = 100_000  # events times kernels
_BACK = 32  # events that end before a wait does, looked at for one launched before it
_NEVER = -(1 << 62)  # a host time before all others


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Schedule:
    """Events in order of start, and what each waited for: places of events, -1 for none.

    ``before`` is the one before it in its stream, ``other`` one of another stream, ``host`` when
    the host launched it; ``rest`` is what passed after the last of these. Waits of the host are
    sorted by when they end: from ``wait_from`` to ``wait_to``, for the event ``wait_for``.
    """

    events: Events
    before: Integers
    other: Integers
    host: Integers
    rest: Integers
    wait_from: Integers
    wait_to: Integers
    wait_for: Integers

    @classmethod
    def of(cls, events: Events, calls: Calls, waiting: Mask, is_copy: Mask) -> Self:
        """Infer who waited for what; ``waiting`` says which calls synchronise."""
        start, end, launch = events.start, events.end, events.launch
        before = _before(events)
        ready = np.where(before >= 0, end[before], _NEVER)
        # Launched unseen: it was queued if its stream was busy until then, else the host was late.
        queued = (before >= 0) & (start - ready < _SOON_NS)
        host = np.where(launch >= 0, np.minimum(launch, start), np.where(queued, _NEVER, start))
        by_end = np.argsort(end, kind="stable")
        last = by_end[np.maximum(np.searchsorted(end[by_end], start, side="right") - 1, 0)]
        since = np.maximum(host, ready)
        explains = (end[last] > since) & (end[last] <= start) & (start - end[last] < _SOON_NS)
        other = np.where(explains & (start[last] < start), last, -1)
        since = np.where(other >= 0, end[last], since)
        threads = different(events.thread)
        mine = waiting & np.isin(calls.thread, threads[threads >= 0])
        own = np.flatnonzero((launch >= 0) & (end <= events.launched) & is_copy)
        wait_from = np.concatenate([calls.start[mine], launch[own]])
        wait_to = np.concatenate([calls.end[mine], events.launched[own]])
        wait_for = np.concatenate([_awaited(calls, mine, events.end, host, by_end), own])
        order = np.argsort(wait_to, kind="stable")
        order = order[wait_for[order] >= 0]
        return cls(
            events=events,
            before=before,
            other=other,
            host=host,
            rest=start - since,
            wait_from=wait_from[order],
            wait_to=wait_to[order],
            wait_for=wait_for[order],
        )

    def run(
        self, lasted: Integers, removed: Integers | None = None, late: Integers | None = None
    ) -> tuple[Events, Integers]:
        """The events with other durations, and without the idle time ``removed`` before each.

        ``late`` is what of it the host saves, too: that before a launch which came too late. And
        the host's times, in rows as recorded and as replayed; from one to the next it goes on.
        """
        events = self.events
        none = np.zeros(len(events), dtype=np.int64)
        removed, late = (none if c is None else c for c in (removed, late))
        rest = np.where(removed > 0, np.minimum(self.rest, 0), self.rest).tolist()
        # What moves the host, in order: idle time before a launch is taken out, or a wait ends.
        cuts = [
            (t, False, ns, 0)
            for t, ns in zip(*_lists(self.host[late > 0], late[late > 0]), strict=True)
        ]
        waits = zip(*_lists(self.wait_to, self.wait_from, self.wait_for), strict=True)
        moves = sorted([*cuts, *((end, True, begun, awaited) for end, begun, awaited in waits)])
        at = np.array([m[0] for m in moves], dtype=np.int64)
        moved = np.searchsorted(at, self.host, side="right").tolist()
        old_ends, lengths, host, before, other = _lists(
            events.end, lasted, self.host, self.before, self.other
        )
        ends = [*old_ends, _NEVER]  # the last is of what is waited for by nothing, -1
        shifts = [0]  # of the host, after so many moves

        def upto(count: int) -> int:
            for _, is_wait, amount, awaited in moves[len(shifts) - 1 : count]:
                shift = shifts[-1]
                if is_wait:
                    ready = max(amount + shift, ends[awaited])
                    shifts.append(ready - max(amount, old_ends[awaited]))
                else:
                    shifts.append(shift - amount)
            return shifts[count]

        last, shift = 0, 0
        rows = zip(moved, host, before, other, rest, lengths, strict=True)
        for i, (count, begin, mine, others, more, length) in enumerate(rows):
            if count != last:
                last, shift = count, upto(count)
            begin += shift
            if ends[mine] > begin:
                begin = ends[mine]
            if ends[others] > begin:
                begin = ends[others]
            ends[i] = begin + more + length
        upto(len(moves))
        end = np.array(ends[:-1], dtype=np.int64)
        knots = np.stack([at, np.maximum.accumulate(at + np.array(shifts[1:], dtype=np.int64))])
        return replace(events, start=end - lasted, end=end), knots


def replayed(part: DeviceEvents, groups: Groups) -> tuple[float, dict[int, float]] | None:
    """What part of the time a replay saves: compute kernels at half their time; a group at none.

    Of the largest groups, over a stretch of the steps that count; ``None`` where no host call says
    when it was launched.
    """
    if not (part.events.launch >= 0).any():
        return None
    ranges = step_ranges(part.timeline, part.events) if part.ranged else ()
    first, last = part.kept[0], part.kept[-1]
    # The events of as many steps as can be played in time, and of the one before.
    begun, done = part.windows[max(first - 1, 0)].start, part.windows[first : last + 1]
    low, *highs = np.searchsorted(part.events.start, [begun, *(w.end for w in done)]).tolist()
    last = first + max((i for i, high in enumerate(highs) if high - low <= _EVENTS), default=0)
    high = highs[last - first]
    cut = high - low > _EVENTS or not ranges
    own = slice(low, min(high, low + _EVENTS))
    events, group = part.events.where(own), part.group[own]
    if not len(events):
        return None
    made = Schedule.of(events, part.timeline.calls, part.waiting, part.is_copy[own])
    lasted, compute = events.end - events.start, groups.kind[group] == COMPUTE
    asked = np.where(events.launch >= 0, events.launch, events.start)
    edges = np.array([] if cut else [ranges[first].start, ranges[last].end], dtype=np.int64)

    def took(played: Events, host: Integers) -> int:
        """From where the host's range begins, or earlier work ends, to the same at its end."""
        if cut:
            return int(played.end.max() - played.start.min())
        at = [
            max(time, int(played.end[asked < edge].max(initial=time)))
            for edge, time in zip(edges.tolist(), host.tolist(), strict=True)
        ]
        return int(at[1] - at[0])

    recorded = whole = max(took(events, edges), 1)
    if cut and high - low <= _EVENTS:  # a window begins and ends as asked
        whole = max(recorded, part.occupancy.wall_ns)

    def saved(ns: Integers) -> float:
        played, knots = made.run(ns)
        return max(recorded - took(played, host_times(edges, knots)), 0) / whole

    sums = np.bincount(group[compute], weights=lasted[compute], minlength=len(groups.identities))
    largest = np.argsort(-sums, kind="stable")[: max(_WORK // len(events), 1)]
    alone = {g: saved(np.where(group == g, 0, lasted)) for g in largest[sums[largest] > 0].tolist()}
    return saved(np.where(compute, lasted // 2, lasted)), alone


def host_times(times: Integers, knots: Integers) -> Integers:
    """When the host is where it was at ``times``; unknown ones (-1) stay so."""
    at, then = knots
    if not len(at):
        return times
    place = np.searchsorted(at, times, side="right") - 1
    moved = times + np.where(place >= 0, then[place] - at[place], 0)
    following = np.minimum(place + 1, len(at) - 1)
    moved = np.where(place + 1 < len(at), np.minimum(moved, then[following]), moved)
    return np.where(times >= 0, moved, times)


def _lists(*columns: Integers) -> list[list[int]]:
    return [column.tolist() for column in columns]


def _before(events: Events) -> Integers:
    order = np.lexsort((events.stream, events.process))  # stable: by start within a stream
    own = [column[order] for column in (events.stream, events.process)]
    same = np.flatnonzero(np.all([c[1:] == c[:-1] for c in own], axis=0))
    before = np.full(len(order), -1, dtype=np.int64)
    before[order[same + 1]] = order[same]
    return before


def _awaited(calls: Calls, mine: Mask, end: Integers, host: Integers, by_end: Integers) -> Integers:
    """For each wait the event that ended last before it did, of those launched before it began."""
    found: list[int] = []
    places = np.searchsorted(end[by_end], calls.end[mine], side="right").tolist()
    for begun, place in zip(calls.start[mine].tolist(), places, strict=True):
        looked = by_end[max(place - _BACK, 0) : place][::-1]
        fits = looked[host[looked] < begun]
        found.append(int(fits[0]) if len(fits) else -1)
    return np.array(found, dtype=np.int64)
