"""Which operator, module and range of the program launched what ran, and what it had to compute."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from roofline.timeline.events import (
    UNKNOWN,
    Calls,
    Events,
    Integers,
    LaunchSource,
    Mask,
    different,
    distinct,
)
from roofline.timeline.model import From, Useful
from roofline.timeline.operations import TYPES, Operation


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """A named stretch of a thread: an operator, a module's forward, or a range of the user."""

    by: From
    name: str
    operation: Operation | None = None


def with_sources(
    events: Events, scopes: Calls, kinds: Sequence[Scope]
) -> tuple[Integers, tuple[LaunchSource, ...]]:
    """The source of each event, as an index into what is also returned.

    ``scopes.name`` is an index into ``kinds``. Of each kind of scope the innermost counts. The work
    of a call counts once, for the longest kernel that it launched.
    """
    found = []
    fits = [[k.by == by for k in kinds] for by in get_args(From)]
    for which in (*fits, [k.operation is not None for k in kinds]):
        own = np.flatnonzero(np.array(which)[scopes.name])
        if len(own):
            place = _innermost(scopes.start[own], scopes.end[own], scopes.thread[own], events)
            found.append(np.where(place >= 0, own[place], UNKNOWN))
        else:
            found.append(np.broadcast_to(np.int64(UNKNOWN), len(events)))
    called = np.flatnonzero(found[3] >= 0)
    lasted = events.end[called] - events.start[called]
    order = called[np.lexsort((-lasted, found[3][called]))]
    counts = np.zeros(len(events), dtype=np.int64)
    counts[order[np.diff(found[3][order], prepend=UNKNOWN) != 0]] = 1
    columns = [np.where(f >= 0, scopes.name[f], UNKNOWN) if f.flags.owndata else f for f in found]
    rows, index = distinct(*columns, counts)

    def name(number: int) -> str | None:
        return None if number == UNKNOWN else kinds[number].name

    return index, tuple(
        LaunchSource(
            op=name(op),
            module=name(module),
            nvtx=name(nvtx),
            operation=None if work == UNKNOWN else kinds[work].operation,
            counts=bool(counted),
        )
        for op, module, nvtx, work, counted in rows
    )


def _innermost(start: Integers, end: Integers, thread: Integers, events: Events) -> Integers:
    """For each event the place of the innermost interval of its thread around its launch; or -1.

    Intervals of a thread nest, so of each depth the last one begun before the launch is the only
    one that can hold it.
    """
    found = np.full(len(events), UNKNOWN, dtype=np.int64)
    for who in different(events.thread[events.launch >= 0]).tolist():
        mine = np.flatnonzero((events.thread == who) & (events.launch >= 0))
        own = np.flatnonzero(thread == who)
        own = own[np.lexsort((-end[own], start[own]))]
        begun, done, launch = start[own], end[own], events.launch[mine]
        depth = np.arange(len(own)) - np.searchsorted(np.sort(done), begun, side="right")
        for level in np.unique(depth).tolist():
            at = np.flatnonzero(depth == level)
            last = at[np.maximum(np.searchsorted(begun[at], launch, side="right") - 1, 0)]
            inside = (begun[last] <= launch) & (launch < done[last])
            found[mine[inside]] = own[last[inside]]
    return found


def useful(
    source: Integers,
    lasted: Integers,
    sources: Sequence[LaunchSource],
    peaks: Mapping[str, float],
    is_kind: Mapping[str, Mask],
) -> Iterator[Useful]:
    """The work of kernels by kind of operation and type of data, most time first.

    ``source`` and ``lasted`` (ns) are of kernels, ``is_kind`` says which are of a kind by their
    names, ``peaks`` are the GPU's in operations a second.
    """
    parts: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for place in np.unique(source).tolist():
        if found := sources[place].operation:
            parts[found.kind, found.dtype].append(place)
    made = []
    for (kind, dtype), places in parts.items():
        own = np.isin(source, places)
        number = np.bincount(source[own], minlength=len(sources))
        calls = [
            (int(number[i]), o)
            for i in places
            if (o := sources[i].operation) and sources[i].counts and number[i]
        ]
        if not calls:
            continue
        of_kind = is_kind[kind]
        flop, time_s = sum(n * o.flop for n, o in calls), int(lasted[own].sum()) / 1e9
        known = [p for p in TYPES[dtype][1] if p in peaks]
        fits = [p for p in known if peaks[p] * time_s >= flop] or known[-1:]
        made.append(
            Useful(
                kind=kind,
                precision=(fits or TYPES[dtype][1])[0],
                flop=flop,
                compulsory_bytes=sum(n * o.compulsory_bytes for n, o in calls),
                time_s=time_s,
                calls=sum(n for n, _ in calls),
                alike=len({o for _, o in calls}) == 1,
                launches=int((own & of_kind).sum()),
                kind_launches=int(of_kind.sum()),
                kind_time_s=int(lasted[of_kind].sum()) / 1e9,
                peak_flop_per_s=peaks[fits[0]] if fits else None,
            )
        )
    yield from sorted(made, key=lambda u: -u.time_s)
