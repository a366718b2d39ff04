"""What moves would buy: a replay of the timeline at one end, Amdahl's law at the other."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from roofline.errors import InputError, UsageError
from roofline.kernel_names import family, family_words
from roofline.model import Analysis
from roofline.patterns import compiled
from roofline.timeline.device import DeviceEvents, Groups
from roofline.timeline.events import Calls, Mask, Timeline
from roofline.timeline.idle import IdleClasses, IdleTime, first_of, idle_time, known_classes
from roofline.timeline.join import join
from roofline.timeline.model import (
    Bounds,
    Criteria,
    Move,
    Selection,
    Use,
    WhatIf,
    speedup_bound,
)
from roofline.timeline.occupancy import COMMUNICATION, COMPUTE, COPY, sweep
from roofline.timeline.replay import Edges, Schedule, host_times
from roofline.timeline.selection import DEFAULT, device_events, select
from roofline.timeline.steps import placed

_KINDS = {"kernels": COMPUTE, "comm": COMMUNICATION, "communication": COMMUNICATION, "copies": COPY}


def what_if(
    timeline: Timeline,
    moves: Sequence[Move],
    criteria: Criteria = DEFAULT,
    classes: IdleClasses | None = None,
    analysis: Analysis | None = None,
) -> Selection:
    """What ``select`` answers, with the step before and after ``moves``.

    Args:
        timeline: of one device at least; the one whose kernels are ranked is played again.
        moves: all at once; "floors" takes each kernel of ``analysis`` to its nearest ceiling.
        criteria: as for ``select``; a stretch of time cannot be asked for.
        classes: of idle time.
        analysis: of a report.

    Raises:
        InputError: the timeline has no times to play again.
        UsageError: a move is about nothing that ran.

    """
    before = select(timeline, criteria, classes)
    if before.selected.judged is None or criteria.window:
        raise InputError(
            f"{timeline.file} cannot be played again",
            why="a stretch of it may lack what it waits for"
            if criteria.window
            else "it has no times of a whole step",
            hint="--if without --start and --end, on a whole timeline",
        )
    plain = replace(criteria, by="config", device=before.device, lanes=False)
    groups, part = device_events(timeline, plain, before.device)
    floors: dict[int, float] = {}
    if analysis is not None:
        place = {(i.name, i.grid, i.block): g for g, i in enumerate(groups.identities)}
        for k in join(analysis, select(timeline, plain, classes)).kernels:
            if (floor := k.floor_share) is not None:
                floors[place[k.share.name, k.share.grid, k.share.block]] = floor
        if not floors:
            named = ", ".join(m.text for m in moves if m.report is not None)
            why = f"no kernel of the report that has a floor ran in {timeline.file}"
            hint = "a report of this program: roofline profile --timeline FILE -- PROGRAM"
            raise UsageError(f"--if {named} changes nothing", why=why, hint=hint)
    idle = idle_time(part, classes or known_classes())
    played, at_most = _moved(part, groups, idle, moves, floors)
    idle = idle_time(played, classes or known_classes())
    at = played.step_at(criteria.step_at)
    judged = played.steps()[at]
    host_paced = idle.host_paced(at, judged)
    return replace(
        before,
        what_if=WhatIf(
            moves=tuple(moves),
            before=_mean(part),
            after=_mean(played),
            first_before=before.selected.first,
            first_after=first_of(judged, host_paced=host_paced),
            at_most=at_most,
        ),
    )


def _mean(part: DeviceEvents) -> Use:
    use, steps = part.occupancy.use, len(part.kept)
    return Use(**{name: getattr(use, name) / steps for name in Use.__slots__})


def _moved(
    part: DeviceEvents,
    groups: Groups,
    idle: IdleTime,
    moves: Sequence[Move],
    floors: Mapping[int, float],
) -> tuple[DeviceEvents, Bounds]:
    """The events of one device after ``moves``, and the bounds that Amdahl's law gives.

    ``floors`` is what part of its time each group needs at its ceiling. The bounds are those of
    the time in which a thing runs alone and of all its time.

    Raises:
        UsageError: a move is about nothing that ran.

    """
    events, timeline = part.events, part.timeline
    scale: NDArray[np.float64] = np.ones(len(groups.identities))
    removed, late = np.zeros((2, len(events)), dtype=np.int64)
    gone = np.zeros(len(idle.pieces), dtype=np.bool_)
    for move in moves:
        if move.what == "gaps" or move.what.startswith("gaps:"):
            gone |= _gaps(idle, move)
        elif move.what == "floors":
            for place, floor in floors.items():
                scale[place] *= floor
        else:
            scale[_groups(groups, move)] *= move.factor
    gone &= np.isin(idle.pieces[:, 0], part.kept)
    following = np.searchsorted(events.start, idle.pieces[gone, 2])
    inside = following < len(events)
    following, length = following[inside], idle.length[gone][inside]
    np.add.at(removed, following, length)
    np.add.at(late, following, np.where(idle.late[gone][inside] > 0, length, 0))
    less = np.rint((events.end - events.start) * (1 - scale[part.group])).astype(np.int64)
    first, last = part.kept[0], part.kept[-1]
    edges = Edges.steps(part, first, last) if part.ranged else Edges.whole(events)
    made = Schedule.of(events, timeline.calls, part.waiting, part.is_copy)
    removed, late, changed = (np.where(edges.within(events), c, 0) for c in (removed, late, less))
    ran, knots = made.run(events.end - events.start - changed, removed, late)
    launch, launched = (host_times(c, knots) for c in (events.launch, events.launched))
    launched = np.where(events.launched <= events.start, np.minimum(launched, ran.start), launched)
    ran = replace(ran, launch=launch, launched=launched)
    calls, at = timeline.calls, edges.after(events, ran, knots).tolist()
    begun, done = (host_times(c, knots) for c in (calls.start, calls.end))
    rows = zip(part.windows[first : last + 1], pairwise(at), edges.pauses.tolist(), strict=True)
    windows = tuple(
        replace(window, start=start, end=max(end - pause, start + 1))
        for window, (start, end), pause in rows
    )
    order = np.argsort(ran.start, kind="stable")
    ran, group = ran.where(order), part.group[order]
    after = replace(
        part,
        timeline=replace(timeline, calls=Calls.of(begun, done, calls.thread, calls.name)),
        events=ran,
        group=group,
        is_copy=part.is_copy[order],
        step=placed(ran.start, windows),
        windows=windows,
        occupancy=sweep(ran.start, ran.end, group, groups.kind[group], windows),
    )
    return after, _amdahl(part, idle, scale, gone)


def _amdahl(part: DeviceEvents, idle: IdleTime, scale: NDArray[np.float64], gone: Mask) -> Bounds:
    """The bounds: of the time in which a thing runs alone, and of all its time."""
    found = part.occupancy
    gaps = int(idle.length[gone].sum())
    size = len(found.total)
    alone = float((found.sole * (1 - scale[:size])).sum())
    most = float((found.union * (1 - scale[:size])).sum())
    low, high = ((gaps + ns) / found.wall_ns for ns in (alone, most))
    return speedup_bound(low), speedup_bound(min(high, 1.0))


def _gaps(idle: IdleTime, move: Move) -> Mask:
    if move.factor:
        why = "gaps can be removed, not made faster"
        raise UsageError(f"--if {move.what} cannot be done", why=why, hint=f"{move.what}=0")
    wanted = _letters(move.what.partition(":")[2])
    codes = [
        code
        for code, found in idle.classes.by_code.items()
        if wanted in _letters(code + found.title + "".join(found.names))
    ]
    exact = [c for c in codes if wanted in map(_letters, (c, idle.classes.by_code[c].title))]
    places = [idle.classes.codes.index(code) for code in (exact or codes[: 1 if wanted else None])]
    if not places:
        hint = f"gaps:CAUSE with one of {', '.join(idle.classes.codes)}"
        raise UsageError(f"--if {move.what}: no class of idle time is called so", hint=hint)
    chosen: Mask = np.isin(idle.cause, places)
    if wanted and not chosen.any():
        there = [idle.classes.codes[i] for i in np.unique(idle.cause).tolist()]
        hint = f"gaps:CAUSE with one of {', '.join(there)}" if there else "another move"
        raise UsageError(f"--if {move.what}: no idle time is of that class", hint=hint)
    return chosen


def _letters(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


def _groups(groups: Groups, move: Move) -> Mask:
    if move.what in _KINDS:
        chosen: Mask = groups.kind == _KINDS[move.what]
    else:
        pattern = compiled(move.what, flags=re.IGNORECASE, option="--if")
        words = family_words(move.what)
        fits = [
            family(i.name) in words if words else pattern.search(i.name) is not None
            for i in groups.identities
        ]
        chosen = np.array(fits) & (groups.kind != COPY)
    if not chosen.any():
        hint = "a part of a kernel's name, or kernels, comm, copies, gaps, gaps:CAUSE"
        raise UsageError(f"--if {move.what!r}: nothing of that name ran", hint=hint)
    return chosen
