"""Cuts a device's time into steps by what was launched in them.

GPU work runs later than the host's range that launched it. So a step begins on a device when its
range begins on the host or, where the device is still busy with earlier steps, when that work
ends; it ends where the next one begins. Such windows tile the recording without overlap. Only a
pause that is unlike the others (an evaluation, a checkpoint) belongs to no step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from roofline.errors import InputError, UsageError
from roofline.timeline.events import UNKNOWN, Events, Integers, Range, Timeline, different
from roofline.timeline.model import Keep, LeftOut

_INSIDE = 10  # a range that ends later than another by less than this part of it is within it
_USUAL = 1.5  # times the usual distance of two steps: what is farther apart has a pause between


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A stretch of a device's time: a step, or what was asked for. Times in ns.

    ``number`` counts steps from 1 in order of time, ``name`` is that of its range, which may be
    private; ``left_out`` says why it is not used. The range's own end is ``range_end``; ``outside``
    is the time after it and the work that it launched until the next step, ``pause`` what of that
    belongs to neither.
    """

    number: int
    start: int
    end: int
    name: str = ""
    nvtx: str | None = None
    left_out: LeftOut | None = None
    range_end: int = 0
    outside: int = 0
    pause: int = 0


def step_ranges(timeline: Timeline, events: Events) -> tuple[Range, ...]:
    """The ranges that cut the work of one device: of its process, of one thread, outermost.

    Where several threads have such ranges, that of the thread which launches most counts. Each
    goes on until the next but for a pause: half of its own length, where steps do not usually
    begin that far apart. A range that overlaps the one before, and is not within it, ends it.
    """
    if not timeline.ranges:
        return ()
    processes = set(different(events.process).tolist())
    own = [r for r in timeline.ranges if r.process in processes] or timeline.ranges
    launches = Counter(dict(zip(*np.unique(events.thread, return_counts=True), strict=True)))
    ranges_of = Counter(r.thread for r in own)
    thread = max(ranges_of, key=lambda t: (launches[t], ranges_of[t]))
    outermost: list[Range] = []
    for found in sorted((r for r in own if r.thread == thread), key=lambda r: (r.start, -r.end)):
        over = outermost[-1].end if outermost else found.start
        if found.start < over < found.end - (found.end - found.start) // _INSIDE:
            outermost[-1] = replace(outermost[-1], end=found.start)
            over = found.start
        if found.start >= over and found.end > found.start:
            outermost.append(found)
    periods = [b.start - a.start for a, b in pairwise(outermost)]
    usual = sorted(periods)[(len(periods) - 1) // 2] if len(periods) > 1 else 0
    for i, period in enumerate(periods):
        found, length = outermost[i], outermost[i].end - outermost[i].start
        if period - length < length // 2 or period < _USUAL * usual:
            outermost[i] = replace(found, end=found.start + period, own_end=found.end)
    return tuple(outermost)


def step_of(events: Events, ranges: Sequence[Range], windows: Sequence[Window]) -> Integers:
    """For each event the place in ``windows`` where it was launched or, unknown, started; or -1."""
    started = placed(events.start, windows)
    if not ranges:
        return started
    asked = events.asked
    return np.where(asked != UNKNOWN, placed(asked, ranges), started)


def step_windows(events: Events, ranges: Sequence[Range], compute: Integers) -> list[Window]:
    """One window for each range; ``compute`` says which events are compute kernels.

    Copies and collectives of the next step may run ahead on streams of their own, so compute
    kernels decide where steps meet, if there are any.
    """
    asked = events.asked
    step, known = placed(asked, ranges), asked != UNKNOWN
    range_ends = np.array([r.end if r.own_end is None else r.own_end for r in ranges])
    within = np.where(asked < range_ends[step], step, -1)
    within = np.where(known, within, placed(events.start, ranges))
    _, own_ends = _extent(events, within, len(ranges))
    _, ends = _extent(events, step, len(ranges))
    if (compute & (step >= 0)).any():
        step, known = np.where(compute, step, -1), known & compute
    first, _ = _extent(events, step, len(ranges))
    starts, asked = np.array([r.start for r in ranges]), asked[known]
    order = np.argsort(asked, kind="stable")
    done = np.maximum.accumulate(np.concatenate([[0], events.end[known][order]]))
    before = done[np.searchsorted(asked[order], starts)]
    # A step begins when what was launched before it is done, but not after its own first work.
    edges = np.minimum(np.maximum(starts, before), first).tolist()
    windows = []
    for i, (found, range_end) in enumerate(zip(ranges, range_ends.tolist(), strict=True)):
        end = max(found.end, int(ends[i]))
        outside = pause = 0
        if i + 1 < len(ranges):
            end = edges[i + 1] if found.own_end is not None else min(end, edges[i + 1])
            outside = max(edges[i + 1] - max(range_end, int(own_ends[i])), 0)
            pause = edges[i + 1] - end
        windows.append(
            Window(
                number=i + 1,
                start=edges[i],
                end=max(end, edges[i] + 1),
                name=found.name,
                nvtx=found.nvtx,
                range_end=range_end,
                outside=outside,
                pause=pause,
            )
        )
    return windows


def _extent(events: Events, step: Integers, steps: int) -> tuple[Integers, Integers]:
    first = np.full(steps, np.iinfo(np.int64).max)
    last = np.zeros(steps, dtype=np.int64)
    known = step >= 0
    np.minimum.at(first, step[known], events.start[known])
    np.maximum.at(last, step[known], events.end[known])
    return first, last


def whole_window(events: Events, start: int | None, end: int | None, origin: int) -> Window:
    """From the first event to the last, or what was asked for; refused where nothing ran in it."""
    there = int(events.start.min()), int(events.end.max())
    first, last = there[0] if start is None else start, there[1] if end is None else end
    if not ((events.end > first) & (events.start < last)).any():
        begun, done = (f"{(t - origin) / 1e9:.9g}" for t in there)
        hint = f"--start {begun}s --end {done}s, or a part of that"
        asked = {"--start": start, "--end": end}
        moved = {k: t + there[0] - origin for k, t in asked.items() if t is not None}
        if moved.get("--start", there[0]) < there[1] and moved.get("--end", there[1]) > there[0]:
            same = " ".join(f"{k} {(t - origin) / 1e9:.9g}s" for k, t in moved.items())
            hint = f"{same} if you count from where its work begins"
        raise InputError(
            "nothing ran on the GPU in the window",
            why=f"its work lies from {begun} s to {done} s, counted from the recording's beginning",
            hint=hint,
        )
    return Window(number=1, start=first, end=last)


def leave_out(windows: Sequence[Window], keep: Keep) -> list[Window]:
    """Mark what is not used, by default the first and last of three or more; refuse none left."""
    last = len(windows)
    why: dict[int, LeftOut] = {}
    if isinstance(keep, tuple):
        why = {n: "not_asked" for n in range(1, last + 1) if not keep[0] <= n <= keep[1]}
    elif keep == "inner" and last >= 3:
        why = {1: "first", last: "last"}
    if len(why) == last:
        raise UsageError(f"no step is left: there are {last}", hint="--keep all")
    return [replace(w, left_out=why.get(w.number)) for w in windows]


def placed(times: Integers, intervals: Sequence[Range] | Sequence[Window]) -> Integers:
    """For each time the interval that holds it, -1 for none; intervals are sorted, disjoint."""
    if not intervals:
        return np.full(len(times), -1, dtype=np.int64)
    index = np.searchsorted(np.array([i.start for i in intervals]), times, side="right") - 1
    inside = (index >= 0) & (times < np.array([i.end for i in intervals])[index])
    return np.where(inside, index, -1)
