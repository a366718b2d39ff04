"""One GPU as its vendor describes it, and everything that follows from that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from typing import Any, Literal

from roofline.model import Peaks

FP16_ACCUMULATE = "_fp16acc"
SPARSE = "_sparse"
SourceKind = Literal["vendor", "quoted", "measured", "derived", "unverified"]
AccumulateRate = Literal["full", "half"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """Where a number comes from: "quoted" is somebody quoting the vendor; ``read`` is when."""

    kind: SourceKind
    title: str
    url: str | None = None
    read: date


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecField:
    """A number of an entry: ``key`` in the file, ``si`` what one of the file's units is in SI.

    ``label``, ``unit`` and ``digits`` are for people.
    """

    key: str
    label: str
    unit: str
    si: float
    digits: int


def _quantity(key: str, label: str, unit: str = "", *, si: float = 1, digits: int = 4) -> Any:
    quantity = SpecField(key=key, label=label, unit=unit, si=si, digits=digits)
    return field(default=None, metadata={"quantity": quantity})


def quantities(kind: type) -> dict[str, SpecField]:
    """The numbers that a file may give for ``kind``, by field."""
    return {f.name: f.metadata["quantity"] for f in fields(kind) if "quantity" in f.metadata}


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """What one SM of a compute capability does in a clock; an FMA is two operations.

    ``dense``, ``half_rate`` and ``mma_sync`` are operations a clock and SM, ``sparse`` and
    ``mma_sync_sparse`` factors over those. A key ending in ``_fp16acc`` accumulates in FP16.
    ``sources`` maps "dense.fp64" and the like to source keys.
    """

    compute_capability: str
    title: str
    dense: dict[str, float] = field(default_factory=dict)
    half_rate: dict[str, float] = field(default_factory=dict)
    mma_sync: dict[str, float] = field(default_factory=dict)
    sparse: dict[str, float] = field(default_factory=dict)
    mma_sync_sparse: dict[str, float] = field(default_factory=dict)
    at_boost_clock: tuple[str, ...] = ()
    l1_bytes_per_clock: float | None = _quantity("l1_bytes", "L1 bytes a clock and SM", "B")
    l1_bytes_per_sm: float | None = _quantity("l1_kib_per_sm", "L1", "B", si=1024)
    shared_bytes_per_sm: float | None = _quantity("shared_kib_per_sm", "shared", "B", si=1024)
    note: str | None = None
    sources: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """One GPU of the registry.

    Physical parameters are stored, rates and peaks are derived from them; ``published`` and
    ``published_sparse`` are the vendor's own figures in operations per second, kept to check the
    derived ones and used only where SM count or clock are not known. ``memory_clock_hz`` is
    CUDA's: two transfers a cycle. ``sources`` maps a field ("sm_count", "published.fp64") to a
    source key. ``memory_share`` is below 1 for a MIG slice; ``layer`` orders folders, the user's
    last.
    """

    key: str
    family: str
    names: tuple[str, ...]
    chip: str
    compute_capability: str
    architecture: Architecture
    read: date
    pci_ids: tuple[str, ...] = ()
    laptop_pci_ids: tuple[str, ...] = ()
    laptop: bool = False
    memory_type: str | None = None
    sm_count: int | None = _quantity("sm_count", "SMs", digits=6)
    base_clock_hz: float | None = _quantity("base_clock_mhz", "base clock", "Hz", si=1e6)
    boost_clock_hz: float | None = _quantity("boost_clock_mhz", "boost clock", "Hz", si=1e6)
    tensor_clock_hz: float | None = _quantity("tensor_clock_mhz", "tensor clock", "Hz", si=1e6)
    memory_bytes: float | None = _quantity("memory_gb", "memory", "B", si=1e9)
    memory_clock_hz: float | None = _quantity(
        "memory_clock_mhz", "memory clock", "Hz", si=1e6, digits=5
    )
    memory_bus_bits: int | None = _quantity("memory_bus_bits", "memory bus", "bit", digits=5)
    bandwidth_bytes_per_s: float | None = _quantity(
        "bandwidth_gbs", "DRAM bandwidth, published", "B/s", si=1e9
    )
    l2_bytes: float | None = _quantity("l2_mib", "L2", "MiB", si=2**20)
    power_w: float | None = _quantity("tdp_w", "power", "W")
    mig_memory_slices: int | None = _quantity("mig_memory_slices", "MIG memory slices")
    accumulate_rate: AccumulateRate = "full"
    overrides: dict[str, float] = field(default_factory=dict)
    lacks: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    published: dict[str, float] = field(default_factory=dict)
    published_sparse: dict[str, float] = field(default_factory=dict)
    known_differences: dict[str, str] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    checked_against: tuple[str, ...] = ()
    note: str | None = None
    layer: int = 0
    memory_share: float = 1.0

    @property
    def name(self) -> str:
        """The first name that drivers print for it."""
        return self.names[0]

    @property
    def file(self) -> str:
        """The file that the entry is in: ours in ``specs/``, a user's by its name alone."""
        return f"{self.family}.toml" if self.layer else f"specs/{self.family}.toml"

    @property
    def dram_bytes_per_s(self) -> float | None:
        """Theoretical DRAM bandwidth, the published one where clock or bus are not known."""
        if self.memory_clock_hz is None or self.memory_bus_bits is None:
            whole = self.bandwidth_bytes_per_s
        else:
            whole = 2 * self.memory_clock_hz * self.memory_bus_bits / 8
        return None if whole is None else whole * self.memory_share

    def all_rates(self) -> dict[str, float]:
        """Dense operations a clock and SM, FP16 accumulation under keys of its own."""
        rates = dict(self.architecture.dense)
        if self.accumulate_rate == "half":
            rates |= self.architecture.half_rate
        rates |= self.overrides
        return {k: v for k, v in rates.items() if k not in self.lacks and k not in self.unknown}

    def rates(
        self, accumulate: Mapping[str, str] | None = None, tensor_path: str | None = None
    ) -> dict[str, float]:
        """Operations a clock and SM by operation key.

        ``accumulate`` is tensor key -> "fp32" or "fp16", FP32 where it is silent. The
        ``tensor_path`` "mma_sync" gives what Hopper and Blackwell do without wgmma and tcgen05, as
        far as somebody has stated it.
        """
        everything, part = self.all_rates(), self.architecture
        slow = part.mma_sync if tensor_path == "mma_sync" else {}
        found = {}
        for key, rate in everything.items():
            if key.endswith(FP16_ACCUMULATE):
                continue
            if accumulate and accumulate.get(key) == "fp16":
                rate = everything.get(key + FP16_ACCUMULATE, rate)
            sparse = part.sparse
            if slow and key.startswith("tensor_") and key != "tensor_fp64":
                if key not in slow:
                    continue
                rate, sparse = min(rate, slow[key]), part.mma_sync_sparse
            found[key] = rate
            if key in sparse:
                found[key + SPARSE] = rate * sparse[key]
        return found

    def clock_hz(self, key: str) -> float | None:
        """The clock that the vendor's figure for an operation key goes with.

        The tensor clock for tensor operations where one is given, else boost. FP64 tensor
        operations and those that no longer run on the tensor cores go with boost.
        """
        dense = key.removesuffix(SPARSE).removesuffix(FP16_ACCUMULATE)
        at_boost = dense == "tensor_fp64" or dense in self.architecture.at_boost_clock
        if not dense.startswith("tensor_") or at_boost or self.tensor_clock_hz is None:
            return self.boost_clock_hz
        return self.tensor_clock_hz

    def peaks(
        self,
        accumulate: Mapping[str, str] | None = None,
        tensor_path: str | None = None,
        sm_count: int | None = None,
    ) -> Peaks:
        """The datasheet peaks in SI units: SMs x rate x clock, and memory clock x bus.

        ``sm_count`` is SMs in use instead of all of them; the rest is as for ``rates``.
        """
        sms = self.sm_count if sm_count is None else sm_count
        operations, how, full = {}, {}, self.rates(accumulate)
        for key, rate in self.rates(accumulate, tensor_path).items():
            clock = self.clock_hz(key)
            if sms is not None and clock is not None:
                operations[key] = sms * rate * clock
                if rate < full.get(key, rate):
                    from fractions import Fraction  # only where mma.sync falls short

                    part = Fraction(rate / full[key]).limit_denominator(8)
                    how[key] = f"by mma.sync, {part} of the datasheet"
        l1_rate, l1 = self.architecture.l1_bytes_per_clock, None
        if l1_rate is not None and sms is not None and self.boost_clock_hz is not None:
            l1 = l1_rate * sms * self.boost_clock_hz
        return Peaks(
            kind="datasheet",
            source=f"{self.file} [{self.key}]"
            + (f" at {self._clocks()}" if operations else ", published figures"),
            dram_bytes_per_s=self.dram_bytes_per_s,
            l1_bytes_per_s=l1,
            operations_per_s=operations or dict(self.published),
            how=how,
        )

    def _clocks(self) -> str:
        boost, tensor = self.boost_clock_hz, self.tensor_clock_hz
        text = "an unknown clock" if boost is None else f"{boost / 1e6:.0f} MHz"
        return text if tensor is None else f"{text}, tensor operations {tensor / 1e6:.0f} MHz"
