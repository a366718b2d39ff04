"""Which launches to profile, so that the chosen kernels are met in steady state.

ncu counts the launches that match its filter from the start of the process, in order of launch. A
timeline that saw them all is counted; one that saw a few steps is extrapolated, and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from roofline.model import Note
from roofline.timeline.device import Part
from roofline.timeline.events import Integers, Mask, Work
from roofline.timeline.handover import blind
from roofline.timeline.selection import Basis, KernelShare, ProfileRequest
from roofline.timeline.steps import Window

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

    part: Part
    identity: Integers
    allowed: Mask
    basis: Basis
    repeats: int = 0
    nvtx: str | None = None
    notes: tuple[Note, ...] = ()


def plan(
    part: Part, chosen: tuple[KernelShare, ...], *, warmup_steps: int
) -> tuple[ProfileRequest, ...]:
    """Runs that capture ``chosen``: as few as profile few launches that are not wanted.

    ``warmup_steps`` are skipped where the steps before the recording are not known.
    """
    scope = _scope(part, warmup_steps) if chosen else None
    if scope is None:
        return blind(chosen)
    requests: list[ProfileRequest] = []
    missed: list[KernelShare] = []
    for kernel in chosen:
        alone = _request(scope, (kernel,))
        if alone is None:
            missed.append(kernel)
        else:
            _add(scope, requests, alone)
    return (*requests, *blind(tuple(missed)))


def _add(scope: _Scope, requests: list[ProfileRequest], alone: ProfileRequest) -> None:
    """Put a kernel into the first run that stays short with it, else give it its own."""
    for i, request in enumerate(requests):
        joined = _request(scope, (*request.kernels, *alone.kernels))
        if joined is not None and joined.launch_count <= _LAUNCHES_PER_KERNEL * len(joined.kernels):
            requests[i] = joined
            return
    requests.append(alone)


def _scope(part: Part, warmup_steps: int) -> _Scope | None:
    if _several_devices(part):
        return None  # ncu counts the launches on all of them
    order = np.argsort(_launch_times(part), kind="stable")
    order = order[_is_kernel(part)[order]]
    identity = part.events.identity[order]
    if part.ranged:
        return _in_step(part, order, identity, warmup_steps)
    if part.timeline.from_start:
        allowed = part.counted[order]
        return _Scope(part=part, identity=identity, allowed=allowed, basis=Basis.COUNTED)
    return None


def _in_step(part: Part, order: Integers, identity: Integers, warmup_steps: int) -> _Scope:
    """The launches of a typical step, by its NVTX range where that names it alone.

    A range whose name may be private cannot be named: launches are counted from the start of the
    process where all of them were recorded.
    """
    place = _typical(part)
    window = part.windows[place]
    step = part.step[order]
    inside = identity[step == place]
    everything = np.ones(len(inside), dtype=bool)
    same = [i for i, w in enumerate(part.windows) if w.nvtx == window.nvtx]
    if window.nvtx is None and part.timeline.from_start:
        return _Scope(part=part, identity=identity, allowed=step == place, basis=Basis.COUNTED)
    if window.nvtx is None:
        return _Scope(
            part=part,
            identity=inside,
            allowed=everything,
            basis=Basis.ESTIMATED,
            repeats=warmup_steps,
            notes=(_estimate(warmup_steps),),
        )
    if len(same) == 1:
        return _Scope(
            part=part, identity=inside, allowed=everything, basis=Basis.RANGE, nvtx=window.nvtx
        )
    if part.timeline.from_start:
        within = np.isin(step, same)
        return _Scope(
            part=part,
            identity=identity[within],
            allowed=step[within] == place,
            basis=Basis.RANGE,
            nvtx=window.nvtx,
        )
    return _Scope(
        part=part,
        identity=inside,
        allowed=everything,
        basis=Basis.ESTIMATED,
        repeats=warmup_steps,
        nvtx=window.nvtx,
        notes=(_estimate(warmup_steps),),
    )


def _estimate(warmup_steps: int) -> Note:
    text = (
        f"The launch is an estimate: the recording does not begin with the process, so "
        f"{warmup_steps} steps like the one seen are skipped (--warmup-steps). A range of your "
        "own around one step, and --nvtx with its name instead of --launch-skip, is exact."
    )
    return Note(code="instance_estimated", text=text)


def _request(scope: _Scope, kernels: Sequence[KernelShare]) -> ProfileRequest | None:
    """One run; ``None`` where the launches looked at do not hold all of ``kernels``."""
    part = scope.part
    names = tuple(dict.fromkeys(k.base_name for k in kernels))
    matching = np.array([i.base_name in names for i in part.timeline.identities])
    which = _which(part, kernels)
    hits = matching[scope.identity]
    sequence = which[scope.identity[hits]]
    sequence = np.where(scope.allowed[hits], sequence, _BARRED)
    found = _middle(sequence, len(kernels))
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


def _which(part: Part, kernels: Sequence[KernelShare]) -> Integers:
    """For each identity the place of its kernel among ``kernels``, -1 for none."""
    sizes = {(k.name, k.grid, k.block): i for i, k in enumerate(kernels)}
    places = [
        sizes.get((i.name, i.grid, i.block), sizes.get((i.name, None, None), _OTHER))
        if i.work is Work.KERNEL
        else _OTHER
        for i in part.timeline.identities
    ]
    return np.array(places, dtype=np.int64)


def _middle(sequence: Integers, kinds: int) -> tuple[int, int] | None:
    """``_shortest`` in the middle of what may be profiled, or where that fails in all of it."""
    allowed = np.flatnonzero(sequence != _BARRED)
    if len(allowed) > _LOOK:
        begin = int(allowed[(len(allowed) - _LOOK) // 2])
        found = _shortest(sequence[begin : begin + _LOOK].tolist(), kinds)
        if found is not None:
            return begin + found[0], found[1]
    return _shortest(sequence.tolist(), kinds)


def _shortest(sequence: Sequence[int], kinds: int) -> tuple[int, int] | None:
    """The shortest stretch that holds each of 0 .. kinds - 1: (first, length).

    Of several the middle one: the first launches of a process are the least like the others.
    Other launches are _OTHER or _BARRED.
    """
    best: list[tuple[int, int]] = []
    last_seen = [-1] * kinds
    barrier = -1
    for position, kind in enumerate(sequence):
        if kind == -2:
            barrier = position
        if kind < 0:
            continue
        last_seen[kind] = position
        first = min(last_seen)
        length = position - first + 1
        if first > barrier and (not best or length <= best[0][1]):
            if best and length < best[0][1]:
                best.clear()
            best.append((first, length))
    return best[len(best) // 2] if best else None


def _typical(part: Part) -> int:
    """The place of the counted step of median length."""
    by_length = sorted(part.kept, key=lambda i: _length(part.windows[i]))
    return by_length[(len(by_length) - 1) // 2]


def _length(window: Window) -> int:
    return window.end - window.start


def _launch_times(part: Part) -> Integers:
    return np.where(part.events.launch >= 0, part.events.launch, part.events.start)


def _is_kernel(part: Part) -> Mask:
    kernel = np.array([i.work is Work.KERNEL for i in part.timeline.identities])
    return kernel[part.events.identity]


def _several_devices(part: Part) -> bool:
    """Whether a process of this device runs kernels on another one, too."""
    every = part.timeline.events
    own = np.unique(part.events.process)
    own = own[own >= 0]
    return bool((np.isin(every.process, own) & (every.device != part.index)).any())
