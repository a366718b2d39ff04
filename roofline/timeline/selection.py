"""From a timeline to a selection: which kernels deserve ncu, and what each could buy at most."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roofline.errors import InputError
from roofline.kernel_names import family, is_collective, qualified_name
from roofline.model import Device, Note, exceeds
from roofline.patterns import compiled
from roofline.specs import load
from roofline.timeline.device import DeviceEvents, Groups, cut
from roofline.timeline.events import (
    Identity,
    Integers,
    Interner,
    Timeline,
    Work,
    different,
    harmless,
    refusal,
)
from roofline.timeline.idle import (
    IdleClasses,
    distribution,
    first_of,
    idle_time,
    known_classes,
    step_lanes,
)
from roofline.timeline.model import (
    Apart,
    Criteria,
    First,
    KernelShare,
    Selection,
    Steps,
    TimelineDevice,
    Useful,
)
from roofline.timeline.occupancy import COMMUNICATION, COMPUTE, COPY, Clock, Kinds
from roofline.timeline.operations import FAMILIES
from roofline.timeline.ranks import Track, job, track
from roofline.timeline.replay import replayed
from roofline.timeline.requests import profile_requests
from roofline.timeline.sources import useful

_APART = {COPY: Apart.COPY, COMMUNICATION: Apart.COMMUNICATION}
_SHORT_NS = 2000  # such kernels are over before a change in them could be seen
_MANY = 1000  # steps: so many ranges are more likely operators
_OUTSIDE = 0.02  # of the time: between ranges that are steps
_WIDE = 0.02  # of wall time: between what a kernel ran and what it ran alone
DEFAULT = Criteria()
_Launched = tuple[str | None, Useful | None]  # by which operator, and the work of its calls


def select(
    timeline: Timeline, criteria: Criteria = DEFAULT, classes: IdleClasses | None = None
) -> Selection:
    """Choose the kernels of ``timeline`` that deserve ncu.

    Args:
        timeline: what ``load_timeline`` gives.
        criteria: thresholds, device, steps.
        classes: of idle time; those known by default.

    Raises:
        InputError: nothing ran on the device or in the window asked for.
        UsageError: no step is left, or an expression is wrong.

    """
    return select_ranks([timeline], criteria, classes)


def select_ranks(
    timelines: Iterable[Timeline],
    criteria: Criteria = DEFAULT,
    classes: IdleClasses | None = None,
) -> Selection:
    """The same for the ranks of one job, each read when the one before it is done with.

    The kernels are those of the rank that the others wait for longest; without collectives in
    common, of the one with the longest steps. A recording that is truncated has none: it counts
    only where all are, and else a note names it.
    """
    classes = classes or known_classes()
    found = [_select(t, criteria, classes, source) for source, t in enumerate(timelines)]
    if len(found) == 1:
        return found[0][0]
    tracks = [t for _, own in found for t in own]
    made = job(tracks) if tracks else None
    selections = [s for s, _ in found]
    whole = [s for s in selections if not s.truncated]
    if made is None:
        selection = max(whole or selections, key=_spent_s)
    else:
        selection = selections[tracks[made.ranks.index(made.latest)].source]
    notes = selection.notes
    if made is None and len(whole) > 1:
        notes = (*notes, Note(code="no_common_collective", facts={"files": len(whole)}))
    left_out = (s.file for s in selections if s.truncated and s is not selection)
    notes += tuple(Note(code="truncated_rank", facts={"file": file}) for file in left_out)
    return replace(selection, job=made, notes=notes)


def _spent_s(selection: Selection) -> float:
    device = selection.selected
    return device.kernel_s if device.use is None else device.use.wall_s / device.counted


def _select(
    timeline: Timeline, criteria: Criteria, classes: IdleClasses, source: int
) -> tuple[Selection, list[Track]]:
    groups = _groups(timeline, criteria)
    parts: dict[int, DeviceEvents] = {}
    if timeline.totals or timeline.truncated:
        devices = {d.index: d for d in _sums(timeline, groups, criteria)}
    else:
        parts = _parts(timeline, groups, criteria)
        devices = {i: _measured(part, groups, criteria, classes) for i, part in parts.items()}
    tracks = [track(part, groups.kind, source) for part in parts.values()]
    made = job(tracks) if len(tracks) > 1 else None
    index = _device(devices, criteria.device)
    if criteria.device is None and made is not None:
        index = made.latest.device
    part = parts.get(index)
    steps: Steps = "window" if criteria.window else "recording"
    if timeline.totals:
        steps = "summary"
    elif part is not None and part.ranged:
        steps = "ranges"
    notes = () if part is None else _notes(part, devices, criteria)
    # ncu finds kernels, not operators.
    chosen = () if criteria.source else devices[index].chosen
    selection = Selection(
        file=timeline.file,
        format=timeline.format,
        steps=steps,
        devices=tuple(devices.values()),
        device=index,
        truncated=timeline.truncated,
        job=made,
        rank=timeline.rank,
        driven=_driven(timeline) if parts else (),
        requests=profile_requests(part, chosen, criteria.warmup_steps),
        notes=(*timeline.notes, *notes),
        asked=criteria,
    )
    return selection, tracks


def device_events(
    timeline: Timeline, criteria: Criteria, device: int
) -> tuple[Groups, DeviceEvents]:
    """What ran on one device, as ``select`` cuts it, and the groups that it tells apart."""
    groups = _groups(timeline, criteria)
    return groups, cut(timeline, groups, device, criteria)


def _groups(timeline: Timeline, criteria: Criteria) -> Groups:
    """What is told apart: kernels, or what launched them."""
    added = None
    if criteria.communication is not None:
        added = compiled(criteria.communication, flags=re.IGNORECASE, option="--communication")
    kind: Kinds = np.array([kind_of(i, added) for i in timeline.identities], dtype=np.int8)
    if (by := criteria.source) is not None:
        if not timeline.totals and not any(getattr(s, by) for s in timeline.sources):
            raise refusal(f"no_{by}", file=timeline.file)
        return Groups.by_source(timeline.sources, kind, by, own=criteria.own_names)
    return Groups.make(timeline.identities, kind, by_name=criteria.by == "name")


def kind_of(identity: Identity, added: re.Pattern[str] | None = None) -> int:
    """COMPUTE, COMMUNICATION or COPY; ``added`` are more kernels that wait for other GPUs."""
    if identity.work is not Work.KERNEL:
        return COPY
    waits = (
        identity.collective
        or is_collective(identity.name)
        or (added is not None and added.search(qualified_name(identity.name)) is not None)
    )
    return COMMUNICATION if waits else COMPUTE


def _parts(timeline: Timeline, groups: Groups, criteria: Criteria) -> dict[int, DeviceEvents]:
    """Every device that ran kernels in the time that counts."""
    events = timeline.events
    there = np.unique(events.device[timeline.is_kernel[events.identity]]).tolist()
    parts: dict[int, DeviceEvents] = {}
    for device in there:
        try:
            parts[device] = cut(timeline, groups, device, criteria)
        except InputError:  # nothing ran on it in the window: others may be what is asked for
            if not parts and device == there[-1]:
                raise
    return parts


def _device(devices: dict[int, TimelineDevice], asked: int | tuple[int, ...] | None) -> int:
    """The device that kernels kept busy longest, of those asked for."""
    wanted = devices.keys() if asked is None else np.atleast_1d(asked).tolist()
    busy = {i: (devices[i].use or devices[i]).kernel_s for i in wanted if i in devices}
    if not busy:
        there = ", ".join(map(str, devices))
        what = f"no kernel ran on device {', '.join(map(str, wanted))}"
        raise InputError(what, hint=f"--device with one of: {there}")
    return max(busy, key=lambda i: (busy[i], -i))


def _driven(timeline: Timeline) -> tuple[int, ...]:
    """Devices with a process each, in order; none where one is shared, or that is not known."""
    events = timeline.events
    known = timeline.is_kernel[events.identity] & (events.process >= 0)
    used = {
        device: different(events.process[known & (events.device == device)]).tolist()
        for device in different(events.device[timeline.is_kernel[events.identity]]).tolist()
    }
    alone = all(len(own) == 1 for own in used.values())
    processes = {process for own in used.values() for process in own}
    return tuple(used) if alone and len(processes) == len(used) > 1 else ()


def _measured(
    part: DeviceEvents, groups: Groups, criteria: Criteria, classes: IdleClasses
) -> TimelineDevice:
    found = part.occupancy
    steps = part.steps()
    idle = idle_time(part, classes)
    at = part.step_at(criteria.step_at)
    judged = steps[at]
    waits = [s.host_wait_s for s in steps if s.left_out is None and s.host_wait_s is not None]
    host_paced = idle.host_paced(at, judged)
    launch_bound, launch_gap_share = idle.launch_bound(at, judged)
    instances = np.bincount(part.group[part.counted], minlength=len(found.total))
    saved, alone = replayed(part, groups) or (None, {})
    half = found.use.compute_s / found.use.wall_s / 2
    work, by_group = _work(part, groups)
    kernels, apart = _shares(
        part.index,
        groups,
        criteria,
        instances,
        found.total,
        part=part,
        launched=by_group,
        replays=alone,
    )
    span_s, span_idle_s = part.span_s()
    return TimelineDevice(
        index=part.index,
        device=part.timeline.devices.get(part.index, Device(index=part.index)),
        use=found.use,
        steps=steps,
        kernels=kernels,
        apart=apart,
        gaps=part.largest_gaps(),
        span_s=span_s,
        span_idle_s=span_idle_s,
        host_late_s=part.host_late_s(),
        steady=part.steady,
        host_wait_s=math.fsum(waits) if waits else None,
        first=first_of(judged, host_paced=host_paced),
        judged=judged,
        host_paced=host_paced,
        launch_bound=launch_bound,
        launch_gap_share=launch_gap_share,
        idle=idle.causes(at, judged.wall_s),
        gap_bands=idle.bands(),
        useful=work,
        lanes=step_lanes(idle, at, groups.kind) if criteria.lanes else (),
        twice_saves=None if saved is None else (min(saved, half), half),
        **distribution(part, groups, idle),
        **_coverage(part, groups),
    )


def _coverage(part: DeviceEvents, groups: Groups) -> dict[str, Any]:
    """What of the GPU compute kernels can use at most, where all their grids are known."""
    events, known = part.events, part.timeline.devices.get(part.index)
    total = part.occupancy.total
    if part.group is not events.identity:
        clock = Clock.of([part.windows[i] for i in part.kept])
        total = np.bincount(events.identity, clock.inside(events.end) - clock.inside(events.start))
    compute = np.flatnonzero((groups.kind[groups.of[: len(total)]] == COMPUTE) & (total > 0))
    sm_count = None if known is None else known.sm_count
    parts = [_sm_coverage(part.timeline.identities[i], sm_count) for i in compute.tolist()]
    ns, used = total[compute], np.array([p for p in parts if p is not None])
    if not len(used) or len(used) < len(parts):
        return {}
    whole = ns.sum()
    return {
        "sm_coverage": float((ns * used).sum() / whole),
        "small_grid_share": float(ns[used < 1].sum() / whole),
    }


def _work(part: DeviceEvents, groups: Groups) -> tuple[tuple[Useful, ...], dict[int, _Launched]]:
    """Useful work by kind, and of each group the operator that launched it most and its work."""
    sources, events = part.timeline.sources, part.events
    told = np.array([s.op is not None for s in sources], dtype=np.bool_)
    if not told.any():
        return (), {}
    own = np.flatnonzero(part.counted & (groups.kind[part.group] == COMPUTE))
    own = own[np.argsort(part.group[own], kind="stable")]
    source, lasted, group = events.source[own], (events.end - events.start)[own], part.group[own]
    known = np.array([s.operation is not None for s in sources])
    peaks: Mapping[str, float] = {}
    device = part.timeline.devices.get(part.index)
    if known[source].any() and device is not None:
        spec = load().find(device).spec
        peaks = {} if spec is None else spec.peaks().operations_per_s
    ops = Interner()
    op_of = np.array([ops[s.op] for s in sources])
    families = [family(i.name) for i in part.timeline.identities]
    named = events.identity[own]
    is_kind = {k: np.array([f == word for f in families])[named] for k, word in FAMILIES.items()}
    edges = np.flatnonzero(np.diff(group, prepend=-1)).tolist()
    by_group = {}
    for first, last in pairwise([*edges, len(own)]):
        mine = first + np.flatnonzero(told[source[first:last]])
        if len(which := source[mine]):
            often = np.bincount(op_of[which])[op_of[which]]
            op = sources[which[often.argmax()]].op or ""  # the first of those most often seen
            own_kind = {kind: mask[mine] for kind, mask in is_kind.items()}
            whole = known[which].all()
            work = [*useful(which, lasted[mine], sources, peaks, own_kind)] if whole else []
            by_group[int(group[first])] = (
                harmless(op) or None,
                work[0] if len(work) == 1 else None,
            )
    return tuple(useful(source, lasted, sources, peaks, is_kind)), by_group


def _shares(
    device: int,
    groups: Groups,
    criteria: Criteria,
    instances: Integers,
    total: NDArray[Any],
    *,
    part: DeviceEvents | None = None,
    launched: Mapping[int, _Launched] = MappingProxyType({}),
    replays: Mapping[int, float] = MappingProxyType({}),
) -> tuple[tuple[KernelShare, ...], tuple[KernelShare, ...]]:
    """Kernels, and what ncu cannot help with: the largest exposed share first, the best chosen.

    ``instances`` and ``total`` (ns) are indexed by group. Without a ``part`` there are only sums:
    kernels are ranked by those, and chosen by their share of kernel time.
    """
    known = None if part is None else part.timeline.devices.get(device)
    sm_count = None if known is None else known.sm_count
    kernels_ns = total[groups.kind[: len(total)] != COPY].sum().item() or 1
    steps = len(part.kept) if part is not None and part.ranged else None
    shares = []
    for g in np.flatnonzero(instances if part is None else total).tolist():
        identity, number, total_ns = groups.identities[g], int(instances[g]), total[g].item()
        apart = _APART.get(groups.kind[g])
        if apart is None and number and total_ns / number < _SHORT_NS:
            apart = Apart.SHORT
        exposed = wall = None
        if part is not None:
            found = part.occupancy
            exposed, wall = (c[g].item() / found.wall_ns for c in (found.sole, found.union))
        source, work = launched.get(g, (None, None))
        shares.append(
            KernelShare(
                name=identity.name,
                base_name=identity.base_name,
                mangled=identity.mangled,
                grid=identity.grid,
                block=identity.block,
                device=device,
                instances=number,
                instances_per_step=None if steps is None else number / steps,
                total_s=total_ns / 1e9,
                sm_coverage=_sm_coverage(identity, sm_count),
                kernel_share=None if groups.kind[g] == COPY else total_ns / kernels_ns,
                exposed_share=exposed,
                wall_share=wall,
                replayed_share=None if g not in replays else min(replays[g], wall or 0.0),
                apart=apart,
                source=source,
                useful=work,
            )
        )
    shares.sort(key=lambda s: (-(s.exposed_share or 0), -(s.wall_share or 0), -s.total_s, s.name))
    kernels, left = [s for s in shares if s.apart is None], criteria.top
    wanted = criteria.matching(kernels)
    wanted_s, covered_s = criteria.cover * sum(kernels[i].total_s for i in wanted), 0.0
    for i in wanted:
        share = kernels[i]
        size = share.kernel_share if share.wall_share is None else share.wall_share
        enough = not exceeds(criteria.min_share, size or 0) and exceeds(wanted_s, covered_s)
        if left > 0 and enough:
            kernels[i] = replace(share, chosen=True)
            left, covered_s = left - 1, covered_s + share.total_s
    return tuple(kernels), tuple(s for s in shares if s.apart is not None)


def _sm_coverage(identity: Identity, sm_count: int | None) -> float | None:
    if identity.work is not Work.KERNEL or identity.grid is None or not sm_count:
        return None
    return min(math.prod(identity.grid) / sm_count, 1.0)


def _sums(timeline: Timeline, groups: Groups, criteria: Criteria) -> Iterator[TimelineDevice]:
    """Every device that ran kernels, by the sums of their times: a summary or a truncated trace.

    Nothing is known of the wall time, so kernels are chosen by their share of kernel time, and no
    stretch of it can be asked for.
    """
    asked = criteria.device is not None or criteria.window or criteria.source is not None
    if timeline.totals and asked:
        raise refusal("summary", file=timeline.file)
    if timeline.truncated and (criteria.window or criteria.keep != "inner"):
        raise refusal("ends_early", file=timeline.file)
    parts: list[tuple[int, Integers, Any, Any]] = []  # device, groups, instances, times in ns
    if totals := timeline.totals:
        numbers = [t.instances for t in totals], [t.total_ns for t in totals]
        parts.append((0, groups.of, *numbers))
    for index in np.unique(timeline.events.device).tolist():
        events = timeline.events.where(timeline.events.device == index)
        parts.append((index, groups.place(events), None, events.end - events.start))
    for index, group, instances, total_ns in parts:
        sums = np.bincount(group, instances), np.bincount(group, total_ns)
        kernels, apart = _shares(index, groups, criteria, *sums)
        if any(s.kernel_share is not None for s in (*kernels, *apart)):
            device = timeline.devices.get(index, Device(index=index))
            yield TimelineDevice(index=index, device=device, kernels=kernels, apart=apart)


def _notes(
    part: DeviceEvents, devices: dict[int, TimelineDevice], criteria: Criteria
) -> Iterator[Note]:
    """What must be known about the steps, the device of ``part`` and its bounds."""
    device = devices[part.index]
    if part.ranged:
        yield from _notes_on_steps(part, device)
        if isinstance(criteria.keep, tuple) and criteria.keep[1] > len(part.windows):
            facts = {"asked": criteria.keep[1], "steps": len(part.windows)}
            yield Note(code="keep_beyond", facts=facts)
    elif not criteria.window:
        yield Note(code="no_steps")
    if others := [d for d in devices if d != part.index]:
        yield Note(code="other_devices", facts={"devices": ", ".join(map(str, others))})
    processes = np.unique(part.events.process)
    if (number := int((processes >= 0).sum())) > 1:
        facts = {"processes": number, "device": part.index}
        yield Note(code="several_processes", facts=facts)
    if device.first in (First.COMMUNICATION, First.COPIES):
        yield Note(code="not_kernels")
    if not device.kernels:
        yield Note(code="none_to_profile")
    elif not device.chosen:
        yield Note(code="none_chosen", facts={"min_share": criteria.min_share})
    if any((k.wall_share or 0) - (k.low_share or 0) > _WIDE for k in device.chosen):
        yield Note(code="overlap")


def _notes_on_steps(part: DeviceEvents, device: TimelineDevice) -> Iterator[Note]:
    kept = [w for w in part.windows if w.left_out is None]
    outside, pauses = sum(w.outside for w in kept), sum(w.pause for w in kept)
    if outside > _OUTSIDE * (whole := part.occupancy.wall_ns + pauses):
        facts = {"percent": 100 * outside / whole, "pauses": 100 * pauses / whole}
        yield Note(code="pauses" if pauses else "outside_ranges", facts=facts)
    empty = sum(not device.steps[i].launches for i in part.kept)
    if len(part.windows) > _MANY or 2 * empty > len(part.kept):
        facts = {"ranges": len(part.windows), "empty": empty, "counted": len(part.kept)}
        yield Note(code="many_steps", facts=facts)
    if device.steady is None:
        yield Note(code="one_step")
    elif not device.steady:
        yield Note(code="not_steady")
    elif not part.same_grids:
        yield Note(code="shapes_vary")
