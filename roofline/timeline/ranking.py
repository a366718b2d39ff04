"""The kernels of a device: what each took, ranked by exposed share; and what is not for ncu."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from roofline.timeline.device import Part, seconds
from roofline.timeline.occupancy import COMMUNICATION, COPY
from roofline.timeline.selection import Apart, KernelShare
from roofline.timeline.wanted import SHORT_S


def rank(part: Part, *, top: int, min_share: float) -> tuple[KernelShare, ...]:
    """All kernels and copies of ``part``, the largest exposed share first.

    Those that are not for ncu say so in ``apart``; the first ``top`` of the others that take at
    least ``min_share`` of the wall time are ``chosen``.
    """
    shares = sorted(_shares(part), key=order)
    worth = [s for s in shares if s.apart is None and (s.wall_share or 0) >= min_share]
    chosen = {id(s) for s in worth[:top]}
    return tuple(replace(s, chosen=True) if id(s) in chosen else s for s in shares)


def order(share: KernelShare) -> tuple[float, float, str]:
    """Sorts by exposed share, then by all time, then by name."""
    return -(share.exposed_share or 0), -(share.wall_share or 0), share.name


def _shares(part: Part) -> list[KernelShare]:
    swept = part.swept
    size = len(swept.total)
    instances = np.bincount(part.group[part.counted], minlength=size)
    kind = np.zeros(max(size, len(part.groups)), dtype=np.int8)
    kind[part.group] = part.kind
    kernels_ns = int(swept.total[kind[:size] != COPY].sum())
    wall_ns = sum(w.wall for w in part.shares)
    return [
        _share(part, g, int(kind[g]), int(instances[g]), kernels_ns, wall_ns)
        for g in np.flatnonzero(swept.total).tolist()
    ]


def _share(
    part: Part, group: int, kind: int, instances: int, kernels_ns: int, wall_ns: int
) -> KernelShare:
    identity, total_ns = part.groups[group], int(part.swept.total[group])
    share = KernelShare(
        name=identity.name,
        base_name=identity.base_name,
        mangled=identity.mangled,
        grid=identity.grid,
        block=identity.block,
        device=part.index,
        instances=instances,
        instances_per_step=instances / len(part.kept) if part.ranged else None,
        total_s=seconds(total_ns),
        kernel_share=None if kind == COPY else total_ns / kernels_ns,
        exposed_share=int(part.swept.sole[group]) / wall_ns,
        wall_share=int(part.swept.union[group]) / wall_ns,
    )
    return replace(share, apart=_apart(share, kind))


def _apart(share: KernelShare, kind: int) -> Apart | None:
    if kind == COPY:
        return Apart.COPY
    if kind == COMMUNICATION:
        return Apart.COMMUNICATION
    return Apart.SHORT if share.mean_s is not None and share.mean_s < SHORT_S else None
