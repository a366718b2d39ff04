"""What if: a device's timeline played again with other durations, and with less idle time.

The pessimistic end of what a change buys. Host times stay as they were, shifted where the host had
waited for the GPU; streams keep their order. What else waited for what is not known, so all of it
is assumed: what began after something had ended, on any stream, does so again, and so does a host
that had waited for any of it. Each start is the latest of what it may have waited for plus what
had passed since, so a replay that changes nothing gives exactly what was recorded, and less work
never takes longer. The other end is Amdahl's law.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from roofline.timeline.device import DeviceEvents, Groups
from roofline.timeline.events import Calls, Events, Integers, Mask, different
from roofline.timeline.occupancy import COMPUTE
from roofline.timeline.steps import step_ranges

_SOON_NS = 20_000  # a launch, or the end of what was waited for, has its effect within this
_EVENTS = 20_000  # replayed for the bounds of kernels: more take longer than they tell
_WORK = 100_000  # events times kernels
_NEVER = -(1 << 62)  # a time before all others


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Schedule:
    """Events in order of start, and what each may have waited for.

    That is the ``host``, when it launched it; ``before``, the place of the one before it in its
    stream (-1: none); and as many as had ``ended`` of those ``by_end``. The rows of ``lags`` are
    what passed since each of the three. Waits of the host, in order of end, are from ``wait_from``
    to ``wait_to``; they have two lags: since they began, and since as many as ``wait_ended``.
    """

    events: Events
    host: Integers
    before: Integers
    ended: Integers
    by_end: Integers
    lags: Integers
    wait_from: Integers
    wait_to: Integers
    wait_ended: Integers
    wait_lags: Integers

    @classmethod
    def of(cls, events: Events, calls: Calls, waiting: Mask, is_copy: Mask) -> Self:
        """Infer who may have waited for what; ``waiting`` says which calls synchronise."""
        start, end, launch = events.start, events.end, events.launch
        before = _before(events)
        ready = np.where(before >= 0, end[before], _NEVER)
        # Launched unseen: it was queued if its stream was busy until then, else the host was late.
        queued = (before >= 0) & (start - ready < _SOON_NS)
        host = np.where(launch >= 0, np.minimum(launch, start), np.where(queued, _NEVER, start))
        # Of events at one time the first has ended before the next begins, but none before itself.
        places = np.tile(np.arange(len(start)), 2)
        order = np.lexsort((places, np.concatenate([start, end])))
        is_end = order >= len(start)
        by_end, ended = places[order[is_end]], np.zeros(len(start), dtype=np.int64)
        ended[order[~is_end]] = np.cumsum(is_end)[~is_end]
        ends = np.concatenate([[_NEVER], end[by_end]])
        threads = different(events.thread)
        mine = waiting & np.isin(calls.thread, threads[threads >= 0])
        own = np.flatnonzero((launch >= 0) & (end <= events.launched) & is_copy)
        wait_from = np.concatenate([calls.start[mine], launch[own]])
        wait_to = np.concatenate([calls.end[mine], events.launched[own]])
        order = np.argsort(wait_to, kind="stable")
        wait_from, wait_to = wait_from[order], wait_to[order]
        wait_ended = np.searchsorted(ends[1:], wait_to, side="right")
        return cls(
            events=events,
            host=host,
            before=before,
            ended=ended,
            by_end=by_end,
            lags=_lags(start, host, ready, ends[ended]),
            wait_from=wait_from,
            wait_to=wait_to,
            wait_ended=wait_ended,
            wait_lags=_lags(wait_to, wait_from, ends[wait_ended]),
        )

    def run(
        self, lasted: Integers, removed: Integers | None = None, late: Integers | None = None
    ) -> tuple[Events, Integers]:
        """The events with other durations, and without the idle time ``removed`` before each.

        ``late`` is what of it the host saves, too: that before a launch which came too late. And
        the host's times, in rows as recorded and as replayed; from one to the next it goes on.
        """
        events = self.events
        removed, late = (lasted * 0 if c is None else c for c in (removed, late))
        lags = np.where(removed > 0, np.minimum(self.lags, 0), self.lags)
        # What moves the host, in order: a wait ends, or idle time that a launch ended is taken out.
        cut = np.flatnonzero(late)
        asked, taken = self.host[cut], late[cut]
        waited = np.concatenate([[_NEVER], self.wait_to])
        since = waited[np.searchsorted(self.wait_to, asked, side="right")]
        when = np.clip(events.start[cut] - removed[cut], since, asked)
        waits = (self.wait_to, self.wait_from, self.wait_ended, *self.wait_lags)
        rows = [np.concatenate([c, when]) for c in waits]
        rows.append(np.concatenate([np.zeros_like(self.wait_to), taken]))
        order = np.argsort(rows[0], kind="stable")
        at, begun, *told = (c[order] for c in rows)
        prior = np.minimum(np.searchsorted(at, begun, side="right"), np.arange(len(at)))
        moves = [*zip(*_lists(at, begun, prior, *told), strict=True)]
        by_end = self.by_end.tolist()
        ends = [*events.end.tolist(), _NEVER]  # the last is of what has none before it, -1
        latest = [_NEVER]  # the end of the last of so many, in the order of ``by_end``
        shifts = [0]  # of the host, after so many moves

        def until(number: int) -> int:
            most = latest[-1]
            for place in by_end[len(latest) - 1 : number]:
                if ends[place] > most:
                    most = ends[place]
                latest.append(most)
            return latest[number]

        def upto(count: int) -> int:
            for time, begin, before, number, since, after, cut_ns in moves[len(shifts) - 1 : count]:
                shift = shifts[-1] - cut_ns
                if not cut_ns:
                    shift = max(begin + shifts[before] + since, until(number) + after) - time
                shifts.append(shift)
            return shifts[count]

        last, shift, before, done = 0, 0, 0, _NEVER
        moved = np.searchsorted(at, self.host, side="right")
        columns = _lists(moved, self.host, self.before, self.ended, *lags, lasted)
        for i, (count, launch, mine, number, asked, queued, free, length) in enumerate(
            zip(*columns, strict=True)
        ):
            if count != last:
                last, shift = count, upto(count)
            if number != before:
                before, done = number, until(number)
            begin = max(launch + shift + asked, ends[mine] + queued, done + free)
            ends[i] = begin + length
        upto(len(moves))
        end = np.array(ends[:-1], dtype=np.int64)
        knots = np.stack([at, np.maximum.accumulate(at + np.array(shifts[1:], dtype=np.int64))])
        return replace(events, start=end - lasted, end=end), knots


def _lags(at: Integers, *since: Integers) -> Integers:
    """What passed since each of what may have been waited for; of the last of these all of it.

    Of what came earlier it is no more than is usual for its like, or than it is of the last. Usual
    is the median where the like came last, else the least that passed.
    """
    passed = at - np.array(since)
    rest, last = np.maximum(passed, 0).min(axis=0), passed.argmin(axis=0)
    usual = []
    for i, own in enumerate(passed):
        known = rest[(last == i) & (rest < _SOON_NS)]
        least = int(own[own >= 0].min(initial=_SOON_NS))
        usual.append(int(np.median(known)) if len(known) else min(least, _SOON_NS))
    lags: Integers = np.minimum(passed, np.maximum(rest, np.array(usual)[:, None]))
    return lags


@dataclass(frozen=True, slots=True, kw_only=True)
class Edges:
    """Where steps meet on a device, in ns, and when the host began each: ``at`` and ``asked``.

    Without steps these are the first start and the last end of all, and not ``asked``. ``pauses``
    are what lies between a step and the next one, ``begun`` when the host went on with the first
    after a wait for earlier work.
    """

    at: Integers
    pauses: Integers
    asked: Integers | None = None
    begun: int = 0

    @classmethod
    def whole(cls, events: Events) -> Self:
        """Those of events that no range cuts into steps."""
        at = np.array([events.start.min(), events.end.max()])
        return cls(at=at, pauses=at[1:] * 0)

    @classmethod
    def steps(cls, part: DeviceEvents, first: int, last: int) -> Self:
        """Those of some windows, which are steps, one after the other."""
        windows = part.windows[first : last + 1]
        ranges = step_ranges(part.timeline, part.events)[first : last + 1]
        at = np.array([*(w.start for w in windows), windows[-1].end])
        asked = np.array([*(r.start for r in ranges), ranges[-1].end])
        begin, end = part.host_waits()
        begun = int(end[(begin < at[0]) & (end >= at[0])].max(initial=asked[0]))
        pauses = at[1:] - np.array([w.end for w in windows])
        return cls(at=at, pauses=pauses, asked=asked, begun=begun)

    def within(self, events: Events) -> Mask:
        """What was launched since the first edge: only that is changed, so that none moves it."""
        found: Mask = events.placed >= (_NEVER if self.asked is None else self.asked[0])
        return found

    def after(self, events: Events, played: Events, knots: Integers) -> Integers:
        """Where they are after a replay of ``events``.

        What was launched before an edge and ended after it does so by no more; and steps take at
        least as long as the host does for them, for what it was ahead is used up some day.
        """
        first = int(self.at[0])
        if self.asked is None:
            return np.array([first, played.end.max()])
        asked, found = events.placed, [first]
        rows = zip(*_lists(self.at, self.asked, host_times(self.asked, knots)), strict=True)
        for at, host, then in [*rows][1:]:
            own = asked < host
            over = np.maximum(events.end[own] - at, 0)
            done = int((played.end[own] - over).max(initial=first))
            ahead = min(then - self.begun, at - first)
            found.append(max(done, first + ahead, found[-1]))
        return np.array(found)


def replayed(part: DeviceEvents, groups: Groups) -> tuple[float, dict[int, float]] | None:
    """What part of the time a replay saves: compute kernels at half their time; a group at none.

    Of the largest groups, over a stretch of the steps that count; ``None`` where no host call says
    when it was launched.
    """
    if not (part.events.launch >= 0).any():
        return None
    first, last = part.kept[0], part.kept[-1]
    # The events of as many steps as can be played in time, and of the one before.
    begun, done = part.windows[max(first - 1, 0)].start, part.windows[first : last + 1]
    low, *highs = np.searchsorted(part.events.start, [begun, *(w.end for w in done)]).tolist()
    last = first + max((i for i, high in enumerate(highs) if high - low <= _EVENTS), default=0)
    fits = highs[last - first] - low <= _EVENTS
    own = slice(low, min(highs[last - first], low + _EVENTS))
    events, group = part.events.where(own), part.group[own]
    if not len(events):
        return None
    made = Schedule.of(events, part.timeline.calls, part.waiting, part.is_copy[own])
    edges = Edges.steps(part, first, last) if fits and part.ranged else Edges.whole(events)
    whole = int(edges.at[-1] - edges.at[0] - edges.pauses.sum())
    if fits and not part.ranged:  # a window begins and ends as asked
        whole = max(whole, part.occupancy.wall_ns)
    lasted, compute = events.end - events.start, groups.kind[group] == COMPUTE
    within = edges.within(events)

    def saved(chosen: Mask, ns: Integers) -> float:
        after = edges.after(events, *made.run(np.where(chosen & within, ns, lasted)))
        return int(edges.at[-1] - after[-1]) / max(whole, 1)

    sums = np.bincount(group[compute], weights=lasted[compute], minlength=len(groups.identities))
    largest = np.argsort(-sums, kind="stable")[: max(_WORK // len(events), 1)]
    alone = {g: saved(group == g, lasted * 0) for g in largest[sums[largest] > 0].tolist()}
    return saved(compute, lasted // 2), alone


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
