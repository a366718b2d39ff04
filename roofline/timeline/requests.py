"""Which launches to profile, so that the chosen kernels are met in steady state.

ncu counts the launches that match its filter from the start of the process, in order of launch. A
timeline that saw them all is counted; one that saw a few steps is extrapolated, and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from roofline.model import Note
from roofline.timeline.device import DeviceEvents
from roofline.timeline.events import Integers, Mask
from roofline.timeline.model import Basis, KernelShare, ProfileRequest

_LAUNCHES_PER_KERNEL = 8  # more than that, and a kernel is better met in a run of its own
_LOOK = 20_000  # launches looked at first

# In a sequence of launches: one that is not wanted, and one that must not be profiled.
_OTHER, _BARRED = -1, -2


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scope:
    """The launches among which an instance is looked for, in order of launch.

    ``identity`` is each launch's kernel, ``allowed`` says which may be profiled. ``repeats`` is
    how often the process launched the same before the first of them.
    """

    part: DeviceEvents
    identity: Integers
    allowed: Mask
    basis: Basis
    repeats: int = 0
    nvtx: str | None = None
    notes: tuple[Note, ...] = ()


def profile_requests(
    part: DeviceEvents | None, chosen: tuple[KernelShare, ...], warmup_steps: int
) -> tuple[ProfileRequest, ...]:
    """Runs that capture ``chosen``: as few as profile few launches that are not wanted.

    ``part`` is ``None`` where nothing is known about the order of launches. ``warmup_steps`` are
    skipped where the steps before the recording are not known.
    """
    scope = _scope(part, warmup_steps) if chosen and part is not None else None
    if scope is None:
        return _first_of_each(chosen)
    requests: list[ProfileRequest] = []
    missed: list[KernelShare] = []
    for kernel in chosen:
        for i, request in enumerate(requests):  # the first run that stays short with it
            joined = _request(scope, (*request.kernels, kernel))
            if joined and joined.launch_count <= _LAUNCHES_PER_KERNEL * len(joined.kernels):
                requests[i] = joined
                break
        else:
            if alone := _request(scope, (kernel,)):
                requests.append(alone)
            else:
                missed.append(kernel)
    return (*requests, *_first_of_each(tuple(missed)))


def _first_of_each(chosen: tuple[KernelShare, ...]) -> tuple[ProfileRequest, ...]:
    if not chosen:
        return ()
    # Several kernels of a library can share a function's name; the mangled name is exact.
    mangled = [k.mangled for k in chosen if k.mangled is not None]
    exact = len(mangled) == len(chosen)
    names = mangled if exact else [k.base_name for k in chosen]
    return (
        ProfileRequest(
            kernels=chosen,
            names=tuple(dict.fromkeys(names)),
            name_base="mangled" if exact else "function",
            basis=Basis.UNKNOWN,
            launch_count=1,
            per_config=True,
            notes=(Note(code="instance_unknown"),),
        ),
    )


def _scope(part: DeviceEvents, warmup_steps: int) -> _Scope | None:
    if part.shares_process:
        return None  # ncu counts the launches on all devices
    events = part.events
    order = np.argsort(events.placed, kind="stable")
    order = order[part.timeline.is_kernel[events.identity][order]]
    identity = events.identity[order]
    if part.ranged:
        return _in_step(part, identity, part.step[order], events.asked[order], warmup_steps)
    if part.timeline.from_start:
        allowed = part.counted[order]
        return _Scope(part=part, identity=identity, allowed=allowed, basis=Basis.COUNTED)
    return None


def _in_step(
    part: DeviceEvents, identity: Integers, step: Integers, asked: Integers, warmup_steps: int
) -> _Scope:
    """The launches of the counted step of median length, by its NVTX range where that is unique.

    A range whose name may be private cannot be named: launches are counted from the start of the
    process where all of them were recorded.
    """
    place = part.step_at(50)
    nvtx = part.windows[place].nvtx
    same = [i for i, window in enumerate(part.windows) if window.nvtx == nvtx]
    exact = nvtx is not None and len(same) == 1
    range_end = np.array([w.range_end for w in part.windows])
    inside = (step >= 0) & (asked < range_end[step])  # of the range itself
    within = (step == place) & inside if exact else step == place
    basis, repeats = Basis.RANGE, 0
    notes: tuple[Note, ...] = ()
    if not exact and part.timeline.from_start:
        within = np.isin(step, same) & inside if nvtx is not None else np.ones_like(within)
        basis = Basis.COUNTED if nvtx is None else Basis.RANGE
    elif not exact:
        basis, repeats = Basis.ESTIMATED, warmup_steps
        notes = (Note(code="instance_estimated", facts={"warmup_steps": warmup_steps}),)
    return _Scope(
        part=part,
        identity=identity[within],
        allowed=step[within] == place,
        basis=basis,
        repeats=repeats,
        nvtx=nvtx,
        notes=notes,
    )


def _request(scope: _Scope, kernels: Sequence[KernelShare]) -> ProfileRequest | None:
    """One run; ``None`` where the launches looked at do not hold all of ``kernels``."""
    identities = scope.part.timeline.identities
    names = tuple(dict.fromkeys(k.base_name for k in kernels))
    place = {(k.name, k.grid, k.block): i for i, k in enumerate(kernels)}
    # Launches are of kernels, so a copy of the same name does not matter.
    which = [
        place.get((i.name, i.grid, i.block), place.get((i.name, None, None), _OTHER))
        for i in identities
    ]
    hits = np.array([i.base_name in names for i in identities])[scope.identity]
    sequence = np.array(which, dtype=np.int64)[scope.identity[hits]]
    found = _middle(np.where(scope.allowed[hits], sequence, _BARRED), len(kernels))
    if found is None:
        return None
    first, count = found
    return ProfileRequest(
        kernels=tuple(kernels),
        names=names,
        name_base="function",
        basis=scope.basis,
        launch_skip=scope.repeats * len(sequence) + first,
        launch_count=count,
        nvtx=scope.nvtx,
        notes=scope.notes,
    )


def _middle(sequence: Integers, kinds: int) -> tuple[int, int] | None:
    """``_shortest`` in the middle of what may be profiled, or where that fails in all of it."""
    allowed = np.flatnonzero(sequence != _BARRED)
    if len(allowed) > _LOOK:
        begin = int(allowed[(len(allowed) - _LOOK) // 2])
        found = _shortest(sequence[begin : begin + _LOOK], kinds)
        if found is not None:
            return begin + found[0], found[1]
    return _shortest(sequence, kinds)


def _shortest(sequence: Integers, kinds: int) -> tuple[int, int] | None:
    """The shortest stretch that holds each of 0 .. kinds - 1: (first, length).

    Of several the middle one: the first launches of a process are the least like the others.
    Other launches are _OTHER or _BARRED.
    """
    place = np.arange(len(sequence))
    barrier, *seen = (
        np.maximum.accumulate(np.where(sequence == kind, place, -1))
        for kind in (_BARRED, *range(kinds))
    )
    first = np.minimum.reduce(seen)
    ends = np.flatnonzero((sequence >= 0) & (first > barrier))
    if not len(ends):
        return None
    length = ends - first[ends] + 1
    best = ends[length == length.min()]
    return int(first[best[len(best) // 2]]), int(length.min())
