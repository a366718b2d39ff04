"""One step as lanes: what host and GPU did when, as fine as a picture can show."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from roofline.timeline.device import WAITS
from roofline.timeline.events import Integers
from roofline.timeline.model import Lane, Span
from roofline.timeline.occupancy import COMMUNICATION, COMPUTE, COPY, Clock, Kinds
from roofline.timeline.pace import IdleTime

_BINS = 960  # of a step: about a pixel each
_LEVELS = 10  # of how much of a bin something took


def step_lanes(idle: IdleTime, window: int, kind: Kinds) -> tuple[Lane, ...]:
    """The lanes of one window; ``kind`` is that of each group.

    The host's lane is of the threads that launched.
    """
    part = idle.part
    step, events, calls = part.windows[window], part.events, part.timeline.calls

    edges = np.linspace(step.start, step.end, _BINS + 1).astype(np.int64)

    def spans(start: Integers, end: Integers, what: str) -> Iterator[Span]:
        own = (start < step.end) & (end > step.start)
        if not own.any():
            return
        order = np.argsort(start[own], kind="stable")
        clock = Clock.union(start[own][order], end[own][order])
        share = np.diff(clock.inside(edges)) / np.maximum(np.diff(edges), 1)
        level = np.ceil(share * _LEVELS)
        first = np.flatnonzero(np.diff(level, prepend=-1))
        for i, j in pairwise([*first.tolist(), _BINS]):
            if level[i]:
                begun, done = ((int(edges[k]) - step.start) / 1e9 for k in (i, j))
                yield begun, done, what, float(level[i]) / _LEVELS

    inside = (events.start < step.end) & (events.end > step.start)
    host = np.isin(calls.thread, np.unique(events.thread[inside]))
    names = part.timeline.call_names
    cuda = np.isin(calls.name, [k for k, name in names.items() if name.startswith("cu")])
    waits = np.isin(calls.name, [k for k, name in names.items() if WAITS.match(name)])
    groups = (("operator", host & ~cuda), ("cuda", host & cuda & ~waits), ("wait", host & waits))
    pieces = idle.pieces[idle.pieces[:, 0] == window]
    causes = idle.cause[idle.pieces[:, 0] == window]
    lanes = [
        Lane(
            name="host",
            spans=tuple(s for what, m in groups for s in spans(calls.start[m], calls.end[m], what)),
        ),
        Lane(
            name="idle",
            spans=tuple(
                s
                for place, code in enumerate(idle.classes.codes)
                for s in spans(pieces[causes == place, 1], pieces[causes == place, 2], code)
            ),
        ),
    ]
    for name, which in (("copies", COPY), ("compute", COMPUTE), ("communication", COMMUNICATION)):
        own = kind[part.group] == which
        lanes.append(Lane(name=name, spans=tuple(spans(events.start[own], events.end[own], name))))
    return tuple(lane for lane in lanes if lane.spans)
