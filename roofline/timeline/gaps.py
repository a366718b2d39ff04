"""Idle time: how much of it is the host's, and what the launching thread did meanwhile."""

from __future__ import annotations

import numpy as np

from roofline.timeline.events import Events, Integers, Mask, Timeline
from roofline.timeline.model import IdleGap

LARGEST = 5
_MOST = 0.5  # of a gap: what took more of it is said to have filled it


def host_late_s(events: Events, gaps: Integers) -> float | None:
    """The idle time that ended only because the host had not launched yet."""
    late, known = _late(events, gaps)
    return int(late[known].sum()) / 1e9 if known.any() else None


def largest_gaps(timeline: Timeline, events: Events, gaps: Integers) -> tuple[IdleGap, ...]:
    """The longest idle stretches, longest first."""
    gaps = gaps[np.argsort(gaps[:, 0] - gaps[:, 1], kind="stable")[:LARGEST]]
    late, known = _late(events, gaps)
    threads = events.thread[_next(events, gaps[:, 1])].tolist()
    found = []
    for i, (start, end) in enumerate(gaps.tolist()):
        doing, doing_ns = _doing(timeline, threads[i], start, end)
        found.append(
            IdleGap(
                start_s=(start - timeline.origin) / 1e9,
                duration_s=(end - start) / 1e9,
                host_late_s=int(late[i]) / 1e9 if known[i] else None,
                doing=doing,
                doing_s=doing_ns / 1e9,
            )
        )
    return tuple(found)


def _next(events: Events, times: Integers) -> Integers:
    """The first event that starts at or after each time."""
    return np.minimum(np.searchsorted(events.start, times), len(events) - 1)


def _late(events: Events, gaps: Integers) -> tuple[Integers, Mask]:
    """How much of each gap passed before the launch of what runs next returned, and if known.

    A call can take longer than the gap: it loads the kernel's code, or copies to staging memory.
    """
    following = _next(events, gaps[:, 1])
    launch, done = events.launch[following], events.launched[following]
    known = (launch >= 0) & (events.start[following] >= gaps[:, 1])
    # The first kernel of a CUDA graph ran, so the others had been launched by the same call.
    runs = (following > 0) & (events.launch[following - 1] == launch)
    done = np.where(runs, launch, done)
    return np.clip(done, gaps[:, 0], gaps[:, 1]) - gaps[:, 0], known


def _doing(timeline: Timeline, thread: int, start: int, end: int) -> tuple[str | None, int]:
    """The innermost named call that takes most of the stretch, else the one that takes longest."""
    calls = timeline.calls
    there = (calls.thread == thread) & (calls.start < end) & (calls.end > start)
    shared = np.minimum(calls.end[there], end) - np.maximum(calls.start[there], start)
    names: dict[str, int] = {}
    for key, amount in zip(calls.name[there].tolist(), shared.tolist(), strict=True):
        if name := timeline.call_names.get(key, ""):
            names[name] = names.get(name, 0) + amount
    if not names:
        return None, 0
    filling = [name for name, amount in names.items() if amount > _MOST * (end - start)]
    # Calls are in order of start, so the last that fills the gap is the innermost.
    name = filling[-1] if filling else max(names, key=lambda n: names[n])
    return name, min(names[name], end - start)
