"""A selection from sums alone, without a whole timeline: shares of kernel time, no bounds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from roofline.errors import InputError
from roofline.model import Device
from roofline.timeline import handover
from roofline.timeline.events import Identity, Timeline, Total, Work
from roofline.timeline.names import is_communication
from roofline.timeline.selection import Apart, DeviceUse, KernelShare, Selection
from roofline.timeline.wanted import INNER, SHORT_S, Patterns, Wanted


def select_summary(timeline: Timeline, wanted: Wanted, patterns: Patterns) -> Selection:
    """Choose by share of kernel time; rows of the same kernel are added.

    Raises:
        InputError: a device or a window is asked for, which a summary does not know.

    """
    if wanted.device is not None or wanted.window:
        raise InputError(
            f"{timeline.file} is a summary",
            why="it knows neither devices nor times",
            hint="nsys export --type sqlite REPORT.nsys-rep, and select from that",
        )
    device = _summed(timeline.totals, Device(), 0, wanted, patterns)
    return _selection(timeline, "summary", (device,), 0)


def select_truncated(timeline: Timeline, wanted: Wanted, patterns: Patterns) -> Selection:
    """Choose by share of the kernel time that was read.

    Raises:
        InputError: a device that ran no kernels is asked for, or a stretch of time or steps, which
            may lack any of their events.

    """
    if wanted.window or wanted.keep != INNER:
        raise InputError(
            f"{timeline.file} ends in the middle",
            why="any stretch of it may lack events, so none can be looked at by itself",
            hint="copy the trace again or record a new one; or no --from, --to and --keep",
        )
    devices = {
        int(d): _summed(
            _totals(timeline, int(d)),
            timeline.devices.get(int(d), Device(index=int(d))),
            int(d),
            wanted,
            patterns,
        )
        for d in np.unique(timeline.events.device)
    }
    ran = {d: s for d, use in devices.items() if (s := kernel_s(use))}
    if wanted.device is not None and wanted.device not in ran:
        there = ", ".join(map(str, ran))
        raise InputError(
            f"no kernel ran on device {wanted.device}", hint=f"--device with one of: {there}"
        )
    index = max(ran, key=lambda d: (ran[d], -d)) if wanted.device is None else wanted.device
    return _selection(timeline, "recording", tuple(devices[d] for d in ran), index)


def kernel_s(device: DeviceUse) -> float:
    """The sum of all kernels' times, in seconds."""
    return sum(k.total_s for k in (*device.kernels, *device.apart) if k.kernel_share is not None)


def _totals(timeline: Timeline, device: int) -> tuple[Total, ...]:
    """What ran on ``device``, summed by identity."""
    events = timeline.events
    here = events.device == device
    identity, lasted = events.identity[here], (events.end - events.start)[here]
    instances = np.bincount(identity)
    total = np.bincount(identity, weights=lasted)
    return tuple(
        Total(
            identity=timeline.identities[i],
            instances=int(instances[i]),
            total_s=float(total[i]) / 1e9,
        )
        for i in np.flatnonzero(instances).tolist()
    )


def _selection(
    timeline: Timeline, steps: str, devices: tuple[DeviceUse, ...], index: int
) -> Selection:
    chosen = next(d for d in devices if d.index == index).kernels
    return Selection(
        file=timeline.file,
        format=timeline.format,
        steps=steps,
        devices=devices,
        device=index,
        truncated=timeline.truncated,
        requests=handover.blind(tuple(s for s in chosen if s.chosen)),
        notes=timeline.notes,
    )


def _summed(
    totals: Iterable[Total], device: Device, index: int, wanted: Wanted, patterns: Patterns
) -> DeviceUse:
    """The kernels of one device by their sums; those worth it chosen."""
    sums: dict[Identity, tuple[int, float]] = {}
    for total in totals:
        key = total.identity
        if wanted.by_name:
            key = replace(key, grid=None, block=None)
        instances, seconds = sums.get(key, (0, 0.0))
        sums[key] = (instances + total.instances, seconds + total.total_s)
    all_s = sum(s for i, (_, s) in sums.items() if i.work is Work.KERNEL) or 1.0
    shares = [
        replace(_share(identity, *found, all_s, patterns), device=index)
        for identity, found in sums.items()
    ]
    shares.sort(key=lambda s: (-s.total_s, s.name))
    worth = [s for s in shares if s.apart is None and (s.kernel_share or 0) >= wanted.min_share]
    picked = {id(s) for s in worth[: wanted.top]}
    shares = [replace(s, chosen=id(s) in picked) for s in shares]
    return DeviceUse(
        index=index,
        device=device,
        use=None,
        steps=(),
        kernels=tuple(s for s in shares if s.apart is None),
        apart=tuple(s for s in shares if s.apart is not None),
    )


def _share(
    identity: Identity, instances: int, total_s: float, all_s: float, patterns: Patterns
) -> KernelShare:
    kernel = identity.work is Work.KERNEL
    share = KernelShare(
        name=identity.name,
        base_name=identity.base_name,
        grid=identity.grid,
        block=identity.block,
        device=0,
        instances=instances,
        total_s=total_s,
        kernel_share=total_s / all_s if kernel else None,
    )
    if not kernel:
        return replace(share, apart=Apart.COPY)
    if is_communication(identity.name, patterns):
        return replace(share, apart=Apart.COMMUNICATION)
    short = share.mean_s is not None and share.mean_s < SHORT_S
    return replace(share, apart=Apart.SHORT if short else None)
