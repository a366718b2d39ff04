"""A selection from sums alone, where there is no timeline: shares of kernel time, no bounds."""

from __future__ import annotations

from dataclasses import replace

from roofline.errors import InputError
from roofline.model import Device
from roofline.timeline import handover
from roofline.timeline.events import Identity, Timeline, Work
from roofline.timeline.names import is_communication
from roofline.timeline.selection import Apart, DeviceUse, KernelShare, Selection
from roofline.timeline.wanted import SHORT_S, Wanted
from roofline.typed import Typed


def select_summary(timeline: Timeline, wanted: Wanted, pattern: Typed) -> Selection:
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
    sums: dict[Identity, tuple[int, float]] = {}
    for total in timeline.totals:
        key = total.identity
        if wanted.by_name:
            key = replace(key, grid=None, block=None)
        instances, seconds = sums.get(key, (0, 0.0))
        sums[key] = (instances + total.instances, seconds + total.total_s)
    all_s = sum(s for i, (_, s) in sums.items() if i.work is Work.KERNEL) or 1.0
    shares = [_share(identity, *found, all_s, pattern) for identity, found in sums.items()]
    shares.sort(key=lambda s: (-s.total_s, s.name))
    worth = [s for s in shares if s.apart is None and (s.kernel_share or 0) >= wanted.min_share]
    picked = {id(s) for s in worth[: wanted.top]}
    shares = [replace(s, chosen=id(s) in picked) for s in shares]
    device = DeviceUse(
        index=0,
        device=Device(),
        use=None,
        steps=(),
        kernels=tuple(s for s in shares if s.apart is None),
        apart=tuple(s for s in shares if s.apart is not None),
    )
    return Selection(
        file=timeline.file,
        format=timeline.format,
        steps="summary",
        devices=(device,),
        device=0,
        requests=handover.blind(tuple(s for s in shares if s.chosen)),
        notes=timeline.notes,
    )


def _share(
    identity: Identity, instances: int, total_s: float, all_s: float, pattern: Typed
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
    if is_communication(identity.name, pattern):
        return replace(share, apart=Apart.COMMUNICATION)
    short = share.mean_s is not None and share.mean_s < SHORT_S
    return replace(share, apart=Apart.SHORT if short else None)
