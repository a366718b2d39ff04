"""What ``select`` answers: values only, without numpy, for renderers and for ``join``.

Times are seconds. ``None`` means that the timeline does not say. A bound is how many times faster
the step gets at most; ``None`` where there is no limit, or no wall time to tell.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from roofline.kernel_names import base_name as base_of
from roofline.model import Device, Dim3, Note
from roofline.timeline.names import comparable


class Apart(StrEnum):
    """Why something is not chosen for ncu."""

    COMMUNICATION = "communication"
    COPY = "copy"
    SHORT = "short"


class First(StrEnum):
    """What takes most of the wall time, and so is to be looked at first."""

    GAPS = "gaps"
    KERNELS = "kernels"
    COMMUNICATION = "communication"
    COPIES = "copies"


class Basis(StrEnum):
    """How sure it is that a command meets the launch that was seen in the timeline."""

    COUNTED = "counted"
    RANGE = "range"
    ESTIMATED = "estimated"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelShare:
    """One kernel (name, grid, block) on one device, summed over the steps that count.

    ``exposed_share`` is the part of the wall time in which it ran and nothing else did,
    ``wall_share`` in which it ran at all: the bounds follow from these two, and differ where it
    overlaps other work. ``kernel_share`` is of the sum of all kernels' times.
    """

    name: str
    base_name: str
    grid: Dim3 | None
    block: Dim3 | None
    device: int
    instances: int
    total_s: float
    kernel_share: float | None
    mangled: str | None = None
    instances_per_step: float | None = None
    exposed_share: float | None = None
    wall_share: float | None = None
    apart: Apart | None = None
    chosen: bool = False

    @property
    def mean_s(self) -> float | None:
        """The average duration of one instance."""
        return self.total_s / self.instances if self.instances else None

    @property
    def speedup_low(self) -> float | None:
        """What the step gains at most if only the time that nothing else covers is gained."""
        return speedup_bound(self.exposed_share)

    @property
    def speedup_high(self) -> float | None:
        """What the step gains at most if all of the kernel's time is gained."""
        return speedup_bound(self.wall_share)


def speedup_bound(share: float | None) -> float | None:
    """Amdahl's law: 1 / (1 - share); ``None`` where the share is not known, or all of it."""
    return None if share is None or share >= 1 else 1 / (1 - share)


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """How a device spent a stretch of time. Unions, never sums; "exposed": nothing else ran."""

    wall_s: float
    kernel_s: float
    compute_s: float
    communication_s: float
    exposed_communication_s: float
    copy_s: float
    exposed_copy_s: float
    busy_s: float

    @property
    def idle_s(self) -> float:
        """Time in which nothing ran."""
        return self.wall_s - self.busy_s

    @property
    def busy_share(self) -> float:
        """Part of the wall time in which anything ran."""
        return self.busy_s / self.wall_s

    @property
    def kernel_share(self) -> float:
        """Part of the wall time in which kernels ran."""
        return self.kernel_s / self.wall_s

    @property
    def without_gaps(self) -> float | None:
        """Bound: all gaps removed."""
        return 1 / self.busy_share if self.busy_s else None

    @property
    def without_kernels(self) -> float | None:
        """Bound: all kernels free, communication included."""
        return speedup_bound(self.kernel_share)

    @property
    def without_compute(self) -> float | None:
        """Bound: all kernels free but communication, which ncu cannot help with."""
        return speedup_bound(self.compute_s / self.wall_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepUse:
    """One step: its place in order of time from 1, when it began, why it is left out if it is."""

    number: int
    start_s: float
    use: Use
    left_out: str | None = None
    launches: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleGap:
    """An idle stretch: when, how long, and how much of it came before the host launched.

    ``doing`` is the CUDA call or operator that the launching thread was in for most of it.
    """

    start_s: float
    duration_s: float
    host_late_s: float | None = None
    doing: str | None = None
    doing_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceUse:
    """How one device was used.

    ``use`` sums the steps that count; ``span_s`` is from their first event to their last, as
    Holistic Trace Analysis counts, and ``span_idle_s`` the idle time within. ``steady`` says
    whether every counted step launched the same kernels; ``None`` where fewer than two were
    counted. ``host_late_s`` is the idle time before a launch that came too late.
    """

    index: int
    device: Device
    use: Use | None
    steps: tuple[StepUse, ...]
    kernels: tuple[KernelShare, ...]
    apart: tuple[KernelShare, ...]
    gaps: tuple[IdleGap, ...] = ()
    span_s: float | None = None
    span_idle_s: float | None = None
    host_late_s: float | None = None
    steady: bool | None = None
    first: First | None = None

    @property
    def counted(self) -> int:
        """How many steps (or windows) the figures cover."""
        return sum(s.left_out is None for s in self.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRequest:
    """One run of ``roofline profile`` that captures ``kernels`` in steady state.

    ``names`` are whole names of ``name_base`` ("function" or "mangled"). ``launch_skip`` counts
    launches of these names, within ``nvtx`` where that is set.
    """

    kernels: tuple[KernelShare, ...]
    names: tuple[str, ...]
    name_base: str
    basis: Basis
    launch_count: int
    launch_skip: int | None = None
    per_config: bool = False
    nvtx: str | None = None
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The answer about one timeline. ``device`` is the one whose kernels are ranked.

    ``steps`` says what the steps are: "ranges" (by name), "window" (asked for), "recording" (all
    of it) or "summary" (no timeline). ``truncated`` says that the recording lacks events, so that
    no device has a ``use``.
    """

    file: str
    format: str
    steps: str
    devices: tuple[DeviceUse, ...]
    device: int
    truncated: bool = False
    requests: tuple[ProfileRequest, ...] = ()
    notes: tuple[Note, ...] = field(default=())

    @property
    def selected(self) -> DeviceUse:
        """The device whose kernels are ranked."""
        return next(d for d in self.devices if d.index == self.device)

    @property
    def kernels(self) -> tuple[KernelShare, ...]:
        """The kernels of that device, the largest exposed share first."""
        return self.selected.kernels

    @property
    def chosen(self) -> tuple[KernelShare, ...]:
        """Those that are handed over to ncu."""
        return tuple(k for k in self.kernels if k.chosen)


def share_of(
    selection: Selection, name: str, base_name: str, grid: Dim3 | None, block: Dim3 | None
) -> KernelShare | None:
    """The kernel of a timeline that a profiled launch is an instance of.

    Args:
        selection: what was chosen from the timeline.
        name: the demangled name as ncu has it.
        base_name: the function's name as ncu has it.
        grid: the launch's grid.
        block: the launch's block.

    Returns:
        ``None`` where there is none, or where several could be meant (instantiations of one
        template with the same grid and block whose names cannot be told apart).

    """
    found = candidates(selection, name, base_name, grid, block)
    return found[0] if len(found) == 1 else None


def candidates(
    selection: Selection, name: str, base_name: str, grid: Dim3 | None, block: Dim3 | None
) -> tuple[KernelShare, ...]:
    """All kernels of the timeline that could be meant; see ``share_of``."""
    device = selection.selected
    alike = [
        k
        for k in (*device.kernels, *device.apart)
        if k.base_name in (base_name, base_of(name))
        and _same(k.grid, grid)
        and _same(k.block, block)
    ]
    return tuple(_narrowed(alike, name))


def _narrowed(alike: list[KernelShare], name: str) -> Iterable[KernelShare]:
    """Those of the same name in any spelling, unless none is."""
    for spelled in (str, comparable):
        exact = [k for k in alike if spelled(k.name) == spelled(name)]
        if exact:
            return exact
    return alike


def _same(one: Dim3 | None, other: Dim3 | None) -> bool:
    """Sizes that a timeline does not say fit any."""
    return one is None or other is None or one == other
