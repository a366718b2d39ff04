"""One GPU as its vendor describes it, and everything that follows from that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date

from roofline.model import NOTHING, Peaks

FP16_ACCUMULATE = "_fp16acc"
SPARSE = "_sparse"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a number comes from.

    ``kind`` is "vendor", "quoted" (somebody quoting the vendor), "measured", "derived" or
    "unverified"; ``read`` is the day on which the source was read.
    """

    key: str
    kind: str
    title: str
    url: str | None
    read: date


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """What one SM of a compute capability does in a clock; an FMA is two operations.

    ``dense``, ``half_rate`` and ``mma_sync`` are operations a clock and SM, ``sparse`` and
    ``mma_sync_sparse`` factors over those. A key ending in ``_fp16acc`` accumulates in FP16.
    ``sources`` maps "dense.fp64" and the like to source keys.
    """

    compute_capability: str
    title: str
    dense: Mapping[str, float]
    half_rate: Mapping[str, float] = field(default_factory=lambda: NOTHING)
    mma_sync: Mapping[str, float] = field(default_factory=lambda: NOTHING)
    sparse: Mapping[str, float] = field(default_factory=lambda: NOTHING)
    mma_sync_sparse: Mapping[str, float] = field(default_factory=lambda: NOTHING)
    at_boost_clock: tuple[str, ...] = ()
    l1_bytes_per_clock: float | None = None
    l1_bytes_per_sm: float | None = None
    shared_bytes_per_sm: float | None = None
    note: str | None = None
    sources: Mapping[str, str] = field(default_factory=lambda: NOTHING)


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
    mig_memory_slices: int | None = None
    sm_count: int | None = None
    base_clock_hz: float | None = None
    boost_clock_hz: float | None = None
    tensor_clock_hz: float | None = None
    memory_bytes: float | None = None
    memory_clock_hz: float | None = None
    memory_bus_bits: int | None = None
    bandwidth_bytes_per_s: float | None = None
    l2_bytes: float | None = None
    power_w: float | None = None
    accumulate_rate: str = "full"
    overrides: Mapping[str, float] = field(default_factory=lambda: NOTHING)
    lacks: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    published: Mapping[str, float] = field(default_factory=lambda: NOTHING)
    published_sparse: Mapping[str, float] = field(default_factory=lambda: NOTHING)
    known_differences: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    sources: Mapping[str, str] = field(default_factory=lambda: NOTHING)
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
        """Theoretical DRAM bandwidth: two transfers a memory clock over the bus.

        The published figure where clock or bus are not known.
        """
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
        self, accumulate: Mapping[str, str] = NOTHING, tensor_path: str | None = None
    ) -> Mapping[str, float]:
        """Operations a clock and SM by operation key.

        Args:
            accumulate: tensor key -> "fp32" or "fp16"; FP32 where it is silent.
            tensor_path: "mma_sync" gives what Hopper and Blackwell do without wgmma and tcgen05;
                rates that nobody has stated for that path are left out.

        """
        return dict(self._rates(accumulate, tensor_path))

    def _rates(
        self, accumulate: Mapping[str, str], tensor_path: str | None
    ) -> Iterator[tuple[str, float]]:
        everything, part = self.all_rates(), self.architecture
        slow = part.mma_sync if tensor_path == "mma_sync" else NOTHING
        for key, rate in everything.items():
            if key.endswith(FP16_ACCUMULATE):
                continue
            if accumulate.get(key) == "fp16":
                rate = everything.get(key + FP16_ACCUMULATE, rate)
            sparse = part.sparse
            if slow and key.startswith("tensor_") and key != "tensor_fp64":
                if key not in slow:
                    continue
                rate, sparse = min(rate, slow[key]), part.mma_sync_sparse
            yield key, rate
            if key in sparse:
                yield key + SPARSE, rate * sparse[key]

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
        accumulate: Mapping[str, str] = NOTHING,
        tensor_path: str | None = None,
        sm_count: int | None = None,
    ) -> Peaks:
        """The datasheet peaks in SI units: SMs x rate x clock, and memory clock x bus.

        Args:
            accumulate: as for ``rates``.
            tensor_path: as for ``rates``.
            sm_count: SMs in use instead of all of them.

        """
        sms = self.sm_count if sm_count is None else sm_count
        operations = {}
        for key, rate in self._rates(accumulate, tensor_path):
            clock = self.clock_hz(key)
            if sms is not None and clock is not None:
                operations[key] = sms * rate * clock
        l1_rate = self.architecture.l1_bytes_per_clock
        known = l1_rate is not None and sms is not None and self.boost_clock_hz is not None
        return Peaks(
            kind="datasheet",
            source=self._describe(published=not operations),
            dram_bytes_per_s=self.dram_bytes_per_s,
            l1_bytes_per_s=l1_rate * sms * self.boost_clock_hz if known else None,  # type: ignore[operator]
            operations_per_s=operations or dict(self.published),
        )

    def _describe(self, *, published: bool) -> str:
        if published:
            return f"{self.file} [{self.key}], published figures"
        clocks = _megahertz(self.boost_clock_hz)
        if self.tensor_clock_hz is not None:
            clocks += f", tensor operations {_megahertz(self.tensor_clock_hz)}"
        return f"{self.file} [{self.key}] at {clocks}"


def _megahertz(clock_hz: float | None) -> str:
    return "an unknown clock" if clock_hz is None else f"{clock_hz / 1e6:.0f} MHz"
