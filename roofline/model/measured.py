"""What a launch did, on which device, under which peaks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from roofline.model.words import Dim3, Family, Kind

NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something a reader of the result must know; ``code`` is stable, ``text`` is for people."""

    code: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A quantity that was not measured, and the ncu flag that would collect it."""

    quantity: str
    flag: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """The GPU of a launch as the report describes it.

    ``dram_clock_max_hz`` is CUDA's memory clock: two transfers a cycle, so the bandwidth is
    ``2 * dram_clock_max_hz * dram_bus_bits / 8``. ``pci_device_id`` is four hex digits, "2331".
    """

    name: str | None = None
    compute_capability: str | None = None
    sm_count: int | None = None
    index: int | None = None
    pci_device_id: str | None = None
    sm_clock_max_hz: float | None = None
    dram_clock_max_hz: float | None = None
    dram_bus_bits: int | None = None
    l2_bytes: int | None = None
    memory_bytes: int | None = None
    max_warps_per_sm: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitUse:
    """How busy one hardware unit was.

    ``unit`` is a key of the JSON's ``utilization`` ("dram", "l1", "issue", ...), ``percent`` is
    of peak over elapsed time, ``metric`` says what it was read from.
    """

    unit: str
    family: Family
    percent: float
    metric: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stall:
    """A warp-stall reason and its share of all stalled warp-cycles or samples (0 to 1)."""

    reason: str
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Peaks:
    """What a device can do, of one kind: "report", "datasheet" or "achieved".

    ``operations_per_s`` has the operation keys of ``PRECISIONS``; ``source`` says where the
    numbers come from, ``how`` says it for single values ("dram", "l2", "l1", "fp32", ...).
    """

    kind: str
    source: str
    dram_bytes_per_s: float | None = None
    l2_bytes_per_s: float | None = None
    l1_bytes_per_s: float | None = None
    operations_per_s: Mapping[str, float] = field(default_factory=lambda: NOTHING)
    how: Mapping[str, str] = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """What one launch did (or several of one kernel, summed). Nothing past it knows a counter.

    ``operations`` maps operation keys to counts; empty means not measured. ``accumulate`` maps a
    tensor key to the accumulator of most of its operations ("fp32", "fp16"), ``tensor_path`` to
    "mma_sync" or "wgmma" where the opcodes tell. ``unmeasured`` names operations that did run but
    were not counted ("tensor", "fp16"): then no total exists. ``stalls`` are largest first;
    ``provenance`` says for each quantity how it was read. ``ncu_version`` is of the ncu that
    captured, ``settings`` what it was told ("clock_control", "cache_control", "replay_mode", ...)
    where the file says so.
    """

    source: str
    range: int
    index: int
    kind: Kind
    name: str
    demangled: str
    grid: Dim3 | None = None
    block: Dim3 | None = None
    device: Device = field(default_factory=Device)
    count: int = 1
    duration_s: float | None = None
    dram_bytes: float | None = None
    dram_read_bytes: float | None = None
    dram_write_bytes: float | None = None
    l2_bytes: float | None = None
    l1_bytes: float | None = None
    operations: Mapping[str, float] = field(default_factory=lambda: NOTHING)
    accumulate: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    tensor_path: str | None = None
    unmeasured: tuple[str, ...] = ()
    sm_clock_hz: float | None = None
    dram_clock_hz: float | None = None
    units: tuple[UnitUse, ...] = ()
    waves: float | None = None
    occupancy_percent: float | None = None
    theoretical_occupancy_percent: float | None = None
    occupancy_limiter: str | None = None
    registers_per_thread: float | None = None
    shared_memory_bytes: float | None = None
    sm_active_percent: float | None = None
    stalls: tuple[Stall, ...] = ()
    passes: float | None = None
    nvtx: tuple[str, ...] = ()
    process: int | None = None
    ncu_version: str | None = None
    settings: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    peaks: Peaks = field(default_factory=lambda: Peaks(kind="report", source="none"))
    provenance: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    missing: tuple[Missing, ...] = ()
    notes: tuple[Note, ...] = ()

    @property
    def total_operations(self) -> float | None:
        """All operations of all precisions; ``None`` where some that ran were not counted."""
        if not self.operations or self.unmeasured:
            return None
        return sum(self.operations.values())

    @property
    def arithmetic_intensity(self) -> float | None:
        """Operations per DRAM byte; ``None`` where either is missing or the bytes are 0."""
        if self.total_operations is None or not self.dram_bytes:
            return None
        return self.total_operations / self.dram_bytes

    @property
    def dram_bytes_per_s(self) -> float | None:
        """Achieved DRAM bandwidth."""
        return _rate(self.dram_bytes, self.duration_s)

    @property
    def operations_per_s(self) -> float | None:
        """Achieved rate of all operations."""
        return _rate(self.total_operations, self.duration_s)


def _rate(amount: float | None, duration_s: float | None) -> float | None:
    return None if amount is None or not duration_s else amount / duration_s
