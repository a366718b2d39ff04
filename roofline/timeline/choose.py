"""From a timeline to a selection: which kernels deserve ncu, and what each could buy at most."""

from __future__ import annotations

import re

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
from roofline.timeline.events import Identity, Integers, Timeline, Work
from roofline.timeline.gaps import host_late, largest_gaps
from roofline.timeline.names import is_communication
from roofline.timeline.notes import notes_on
from roofline.timeline.occupancy import COMMUNICATION, COMPUTE, COPY
from roofline.timeline.plan import plan
from roofline.timeline.ranking import rank
from roofline.timeline.selection import DeviceUse, Selection
from roofline.timeline.summary import select_summary
from roofline.timeline.wanted import Wanted

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
    pattern = wanted.communicates()
    if timeline.totals:
        return select_summary(timeline, wanted, pattern)
    kind = np.array([_kind(i, pattern) for i in timeline.identities], dtype=np.int64)
    sums = _kernel_time(timeline, kind)
    index = _device(sums, wanted.device)
    parts = {d: cut(timeline, kind, d, wanted) for d in sums}
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


def _kind(identity: Identity, pattern: re.Pattern[str]) -> int:
    if identity.work is not Work.KERNEL:
        return COPY
    talks = identity.collective or is_communication(identity.name, pattern)
    return COMMUNICATION if talks else COMPUTE


def _kernel_time(timeline: Timeline, kind: Integers) -> dict[int, int]:
    """Devices that ran kernels, with the sum of their durations."""
    events = timeline.events
    kernels = kind[events.identity] != COPY
    length, device = (events.end - events.start)[kernels], events.device[kernels]
    return {int(d): int(length[device == d].sum()) for d in np.unique(device)}


def _device(sums: dict[int, int], asked: int | None) -> int:
    """The one asked for, else the one with most kernel time."""
    if asked is None:
        return max(sums, key=lambda d: (sums[d], -d))
    if asked not in sums:
        there = ", ".join(str(d) for d in sums)
        raise InputError(f"no kernel ran on device {asked}", hint=f"--device with one of: {there}")
    return asked


def _use(part: Part, wanted: Wanted) -> DeviceUse:
    """All figures of one device."""
    total = use_of(part.swept.windows)
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
