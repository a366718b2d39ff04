"""From a timeline to a selection: which kernels deserve ncu, and what each could buy at most."""

from __future__ import annotations

import numpy as np

from roofline.errors import InputError
from roofline.model import Device
from roofline.timeline.device import (
    Part,
    cut,
    first_of,
    gap_of,
    is_steady,
    seconds,
    span_of,
    steps_of,
    use_of,
)
from roofline.timeline.events import Identity, Timeline, Work
from roofline.timeline.gaps import host_late, largest_gaps
from roofline.timeline.names import is_communication
from roofline.timeline.notes import notes_on
from roofline.timeline.occupancy import COMMUNICATION, COMPUTE, COPY, Kinds
from roofline.timeline.plan import plan
from roofline.timeline.ranking import rank
from roofline.timeline.selection import DeviceUse, Selection
from roofline.timeline.summary import select_summary, select_truncated
from roofline.timeline.wanted import Patterns, Wanted

DEFAULT = Wanted()


def select(timeline: Timeline, wanted: Wanted = DEFAULT) -> Selection:
    """Choose the kernels of ``timeline`` that deserve ncu.

    Args:
        timeline: what ``load_timeline`` gives.
        wanted: thresholds, device, steps.

    Raises:
        InputError: nothing ran on the device or in the window asked for.
        UsageError: no step is left, or an expression is wrong.

    """
    patterns = wanted.communicates()
    if timeline.totals:
        return select_summary(timeline, wanted, patterns)
    if timeline.truncated:
        return select_truncated(timeline, wanted, patterns)
    kind = np.array([_kind(i, patterns) for i in timeline.identities], dtype=np.int8)
    parts = _parts(timeline, kind, wanted)
    index = _device(parts, wanted.device)
    devices = {d: _use(part, wanted) for d, part in parts.items()}
    chosen = tuple(k for k in devices[index].kernels if k.chosen)
    return Selection(
        file=timeline.file,
        format=timeline.format,
        steps=_steps_are(parts[index], wanted),
        devices=tuple(devices.values()),
        device=index,
        requests=plan(parts[index], chosen, warmup_steps=wanted.warmup_steps),
        notes=(*timeline.notes, *notes_on(parts[index], devices, wanted)),
    )


def _kind(identity: Identity, patterns: Patterns) -> int:
    if identity.work is not Work.KERNEL:
        return COPY
    talks = identity.collective or is_communication(identity.name, patterns)
    return COMMUNICATION if talks else COMPUTE


def _parts(timeline: Timeline, kind: Kinds, wanted: Wanted) -> dict[int, Part]:
    """Every device that ran kernels in the time that counts."""
    events = timeline.events
    there = np.unique(events.device[kind[events.identity] != COPY]).tolist()
    parts: dict[int, Part] = {}
    for device in there:
        try:
            parts[device] = cut(timeline, kind, device, wanted)
        except InputError:  # nothing ran on it in the window: others may be what is asked for
            if len(there) == 1 or (not parts and device == there[-1]):
                raise
    return parts


def _device(parts: dict[int, Part], asked: int | None) -> int:
    """The one asked for, else the one that kernels kept busy longest."""
    if asked is None:
        busy = {d: sum(w.kernel for w in part.shares) for d, part in parts.items()}
        return max(parts, key=lambda d: (busy[d], -d))
    if asked not in parts:
        there = ", ".join(str(d) for d in parts)
        raise InputError(f"no kernel ran on device {asked}", hint=f"--device with one of: {there}")
    return asked


def _use(part: Part, wanted: Wanted) -> DeviceUse:
    """All figures of one device."""
    total = use_of(part.shares)
    ranked = rank(part, top=wanted.top, min_share=wanted.min_share)
    span, span_idle = span_of(part)
    gaps = part.swept.gaps
    late = host_late(part.events, gaps)
    return DeviceUse(
        index=part.index,
        device=part.timeline.devices.get(part.index, Device(index=part.index)),
        use=total,
        steps=steps_of(part),
        kernels=tuple(k for k in ranked if k.apart is None),
        apart=tuple(k for k in ranked if k.apart is not None),
        gaps=tuple(
            gap_of(g, part.timeline.origin) for g in largest_gaps(part.timeline, part.events, gaps)
        ),
        span_s=seconds(span),
        span_idle_s=seconds(span_idle),
        host_late_s=None if late is None else seconds(late),
        steady=is_steady(part),
        first=first_of(total),
    )


def _steps_are(part: Part, wanted: Wanted) -> str:
    if part.ranged:
        return "ranges"
    return "window" if wanted.window else "recording"
