"""Joins what was profiled to what a timeline says: every kernel's floor as a gain for the step.

Durations under the profiler (its clocks, cold caches) are not those of the timeline. So only the
ratio of floor to duration is taken from the report, and the share of the step from the timeline.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from roofline.kernel_names import base_name as base_of
from roofline.kernel_names import comparable
from roofline.model import Analysis, Group, Measurement
from roofline.timeline.model import Bounds, KernelShare, Selection, speedup_bound


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedKernel:
    """A profiled kernel and its place in the step.

    What it saves is ``None`` where the report has no floor or the timeline no wall time. A floor
    above the duration (a unit over 100 %) saves nothing.
    """

    group: Group
    share: KernelShare

    @property
    def floor_share(self) -> float | None:
        """What part of its time the kernel needs at its nearest ceiling, 1 at most."""
        duration, floor = (
            self.group.result.measurement.duration_s,
            self.group.result.verdict.floor_s,
        )
        return None if not duration or floor is None else min(floor / duration, 1.0)

    @property
    def saved_at_most(self) -> Bounds:
        """The part of the step's time (0 to 1) that reaching the nearest ceiling would save.

        By the replay of the timeline (what it saves at no cost, in proportion, is a lower bound),
        and of all the time that the kernel takes.
        """
        floor, low, high = self.floor_share, self.share.low_share, self.share.wall_share
        if floor is None:
            return None, None
        part = 1 - floor
        return None if low is None else part * low, None if high is None else part * high

    @property
    def step_speedup_at_most(self) -> Bounds:
        """How many times faster the step gets, by the replay and by all its time."""
        low, high = self.saved_at_most
        return speedup_bound(low), speedup_bound(high)

    @property
    def executed_of_useful(self) -> float | None:
        """Operations counted over those of the mathematics: padding, masks, things done twice.

        ``None`` where either is not known, or launches of one shape ask for different work.
        """
        work = self.share.useful
        asked = None if work is None else work.flop
        return self._of(self.group.result.measurement.total_operations, asked)

    @property
    def moved_of_compulsory(self) -> float | None:
        """DRAM bytes over arguments and results once; below 1 what L2 still held."""
        work = self.share.useful
        asked = None if work is None else work.compulsory_bytes
        return self._of(self.group.result.measurement.dram_bytes, asked)

    def _of(self, measured: float | None, asked: float | None) -> float | None:
        """Of one launch each."""
        work = self.share.useful
        if measured is None or work is None or not work.alike or not asked:
            return None
        return (measured / len(self.group.launches)) / (asked / work.calls)


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """What kernels stand for, of all that match the ``words`` that were asked for, if any were.

    ``time_share`` is of those kernels' time, ``wall_share`` of the wall time.
    """

    words: tuple[str, ...]
    kernels: int
    of_kernels: int
    time_share: float | None
    wall_share: float | None


def coverage(selection: Selection, kernels: Iterable[KernelShare]) -> Coverage:
    """What ``kernels`` stand for; those that were not asked for do not count."""
    of = [selection.kernels[i] for i in selection.asked.matching(selection.kernels)]
    there = frozenset(kernels)
    found = [k for k in of if k in there]
    all_s, walls = sum(k.total_s for k in of), [k.wall_share for k in found]
    return Coverage(
        words=selection.asked.kernels,
        kernels=len(found),
        of_kernels=len(of),
        time_share=sum(k.total_s for k in found) / all_s if all_s else None,
        wall_share=None if None in walls else sum(filter(None, walls)),
    )


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
    def coverage(self) -> Coverage:
        """What was profiled stands for."""
        return coverage(self.selection, (k.share for k in self.kernels))


def join(analysis: Analysis, selection: Selection) -> Joined:
    """Join the kernels of ``analysis`` to those of ``selection`` by name, grid and block."""
    kernels: list[JoinedKernel] = []
    unmatched: list[Group] = []
    ambiguous: list[Group] = []
    for group in analysis.groups:
        found = candidates(selection, group.result.measurement)
        if len(found) == 1:
            kernels.append(JoinedKernel(group=group, share=found[0]))
        else:
            (ambiguous if found else unmatched).append(group)
    kernels.sort(key=lambda k: tuple(-(part or 0) for part in k.saved_at_most))
    # Frozen values compare by content, and a timeline has each kernel once.
    profiled = {k.share for k in kernels}
    return Joined(
        selection=selection,
        kernels=tuple(kernels),
        unprofiled=tuple(k for k in selection.kernels if k not in profiled),
        unmatched=tuple(unmatched),
        ambiguous=tuple(ambiguous),
    )


def share_of(selection: Selection, profiled: Measurement) -> KernelShare | None:
    """The kernel of which a profiled launch is an instance, ``None`` where none or several fit.

    Several: instantiations of one template at one grid and block whose names tell nothing.
    """
    found = candidates(selection, profiled)
    return found[0] if len(found) == 1 else None


def candidates(selection: Selection, profiled: Measurement) -> list[KernelShare]:
    """All kernels of the timeline that could be meant; see ``share_of``.

    Those of the same name in any spelling, unless none is: then those of the same function.
    """
    device, name = selection.selected, profiled.demangled
    alike = [
        k
        for k in (*device.kernels, *device.apart)
        if k.base_name in (profiled.name, base_of(name))
        and all(
            None in sizes or sizes[0] == sizes[1]  # sizes that a timeline does not say fit any
            for sizes in ((k.grid, profiled.grid), (k.block, profiled.block))
        )
    ]
    for spelled in (str, comparable):
        if exact := [k for k in alike if spelled(k.name) == spelled(name)]:
            return exact
    return alike
