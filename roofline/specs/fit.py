"""Which of several entries a device is: what must not contradict, and what tells variants apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from roofline.model import Device, Note
from roofline.specs.spec import Spec

# How far a report's own clocks and memory size may lie from the entry's.
CLOCK_TOLERANCE = 0.02
MEMORY_TOLERANCE = 0.12  # CUDA sees less than the nameplate: 94.5 GiB of 96 GB, 7.6 of 8
LAPTOP_WORDS = ("Laptop", "Max-Q", "Mobile")

_Rule = Callable[[Spec, Device], bool]


def has_pci(spec: Spec, device: Device) -> bool:
    """Whether the device's PCI id is one of the entry's."""
    return device.pci_device_id is not None and device.pci_device_id.upper() in spec.pci_ids


def has_shape(spec: Spec, device: Device) -> bool:
    """Whether capability, SMs and bus are all known and the same."""
    shape = (device.compute_capability, device.sm_count, device.dram_bus_bits)
    known = (spec.compute_capability, spec.sm_count, spec.memory_bus_bits)
    return None not in shape and shape == known


def close(known: float | None, seen: float | None, tolerance: float) -> bool:
    """Whether two values agree, or one of them is not known."""
    return known is None or seen is None or abs(seen / known - 1) <= tolerance


def has_memory_clock(spec: Spec, device: Device) -> bool:
    """Whether the memory clock is the entry's, or not known."""
    return close(spec.memory_clock_hz, device.dram_clock_max_hz, CLOCK_TOLERANCE)


# A different value means a different chip under the same name.
_MUST: tuple[tuple[str, _Rule], ...] = (
    ("compute capability", lambda s, d: d.compute_capability in (None, s.compute_capability)),
    ("SM count", lambda s, d: close(s.sm_count, d.sm_count, 0)),
    ("bus width", lambda s, d: close(s.memory_bus_bits, d.dram_bus_bits, 0)),
)
# Best evidence first. A rule that no candidate keeps says nothing: partner boards and laptops
# have clocks of their own.
_TELLS: tuple[_Rule, ...] = (
    has_pci,
    has_memory_clock,
    lambda s, d: close(s.memory_bytes, d.memory_bytes, MEMORY_TOLERANCE),
    lambda s, d: close(s.boost_clock_hz, d.sm_clock_max_hz, CLOCK_TOLERANCE),
)


def fitting(device: Device, candidates: Sequence[Spec]) -> Spec | Note:
    """The one candidate that fits the device, or why none does."""
    keys = ", ".join(s.key for s in candidates)
    for what, agrees in _MUST:
        candidates = [s for s in candidates if agrees(s, device)]
        if not candidates:
            text = f"The name or PCI id is that of {keys}, but the {what} differs."
            return Note(code="different_chip", text=text)
    for tells in _TELLS:
        candidates = [s for s in candidates if tells(s, device)] or candidates
    if any(_is_laptop_of(s, device) for s in candidates):
        text = f"PCI id {device.pci_device_id} is a laptop part with the name of a desktop card."
        return Note(code="laptop_same_name", text=text)
    if same_peaks(candidates):
        return candidates[0]
    keys = ", ".join(s.key for s in candidates)
    return Note(
        code="ambiguous", text=f"It could be any of {keys}; the report does not tell which."
    )


def unanimous(device: Device, candidates: Sequence[Spec]) -> Spec | None:
    """A candidate by shape, where all candidates of the device's class have the same peaks."""
    candidates = [s for s in candidates if has_memory_clock(s, device)]
    if device.name is not None:
        laptop = any(word in device.name for word in LAPTOP_WORDS)
        candidates = [s for s in candidates if s.laptop == laptop]
    return candidates[0] if candidates and same_peaks(candidates) else None


def same_peaks(specs: Sequence[Spec]) -> bool:
    """Whether it makes no difference which of the entries is taken."""
    first, *others = (s.peaks() for s in specs)
    return all(
        p.operations_per_s == first.operations_per_s
        and p.dram_bytes_per_s == first.dram_bytes_per_s
        for p in others
    )


def _is_laptop_of(spec: Spec, device: Device) -> bool:
    pci = device.pci_device_id
    return pci is not None and pci.upper() in spec.laptop_pci_ids
