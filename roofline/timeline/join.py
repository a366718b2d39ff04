"""Joins what was profiled to what a timeline says: every kernel's floor as a gain for the step.

Durations under the profiler (its clocks, cold caches) are not those of the timeline. So only the
ratio of floor to duration is taken from the report, and the share of the step from the timeline.
"""

from __future__ import annotations

from dataclasses import dataclass

from roofline.model import Analysis, Group, Result
from roofline.timeline.selection import KernelShare, Selection, candidates, speedup_bound


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedKernel:
    """A profiled kernel and its place in the step.

    ``saved_low`` and ``saved_high`` are the part of the step's time (0 to 1) that reaching the
    nearest ceiling would save: from the time that the kernel runs alone, and from all of its
    time. ``None`` where the report has no floor or the timeline no wall time. A floor above the
    duration (a unit over 100 %) saves nothing.
    """

    group: Group
    share: KernelShare
    saved_low: float | None
    saved_high: float | None

    @property
    def speedup_low(self) -> float | None:
        """How many times faster the step gets at most, for the time that it runs alone."""
        return speedup_bound(self.saved_low)

    @property
    def speedup_high(self) -> float | None:
        """How many times faster the step gets at most, for all of its time."""
        return speedup_bound(self.saved_high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """Profiled kernels ranked by what the step gains, and what could not be joined.

    ``unprofiled`` are kernels of the timeline without a profiled launch, ``unmatched`` profiled
    ones that the timeline does not know, ``ambiguous`` those that several of its kernels could be.
    """

    selection: Selection
    kernels: tuple[JoinedKernel, ...]
    unprofiled: tuple[KernelShare, ...]
    unmatched: tuple[Group, ...]
    ambiguous: tuple[Group, ...]

    @property
    def not_found(self) -> tuple[KernelShare, ...]:
        """Kernels that were chosen for ncu and are not in the report."""
        return tuple(k for k in self.unprofiled if k.chosen)


def join(analysis: Analysis, selection: Selection) -> Joined:
    """Join the kernels of ``analysis`` to those of ``selection`` by name, grid and block."""
    kernels: list[JoinedKernel] = []
    unmatched: list[Group] = []
    ambiguous: list[Group] = []
    for group in analysis.groups:
        m = group.result.measurement
        found = candidates(selection, m.demangled, m.name, m.grid, m.block)
        if len(found) == 1:
            kernels.append(_joined(group, found[0]))
        else:
            (ambiguous if found else unmatched).append(group)
    kernels.sort(key=lambda k: (-(k.saved_low or 0), -(k.saved_high or 0)))
    # Frozen values compare by content, and a timeline has each kernel once.
    profiled = {k.share for k in kernels}
    return Joined(
        selection=selection,
        kernels=tuple(kernels),
        unprofiled=tuple(k for k in selection.kernels if k not in profiled),
        unmatched=tuple(unmatched),
        ambiguous=tuple(ambiguous),
    )


def _joined(group: Group, share: KernelShare) -> JoinedKernel:
    part = _saved_part(group.result)
    return JoinedKernel(
        group=group,
        share=share,
        saved_low=None
        if part is None or share.exposed_share is None
        else part * share.exposed_share,
        saved_high=None if part is None or share.wall_share is None else part * share.wall_share,
    )


def _saved_part(result: Result) -> float | None:
    """The part of a kernel's time that its nearest ceiling would save: 0 to 1."""
    duration, floor = result.measurement.duration_s, result.verdict.floor_s
    if not duration or floor is None:
        return None
    return max(1 - floor / duration, 0.0)
