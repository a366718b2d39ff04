"""From the device of a report to its entry: exact name, PCI id, then shape; never a substring."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from roofline.model import Device, Note
from roofline.registry.names import exact, loose, mig_slice, near
from roofline.registry.spec import Spec

# How far a report's own memory clock, memory size and so on may lie from the entry's.
CLOCK_TOLERANCE = 0.02
MEMORY_TOLERANCE = 0.12  # CUDA sees less than the nameplate: 94.5 GiB of 96 GB, 7.9 of 8
LAPTOP_WORDS = ("Laptop", "Max-Q", "Mobile")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the registry knows of a device.

    ``how`` is "name", "pci id", "shape" (capability, SMs and bus) or "unknown"; with ``spec``
    absent ``notes`` say why and ``suggestions`` name entries that are near.
    """

    spec: Spec | None
    how: str
    notes: tuple[Note, ...] = ()
    suggestions: tuple[str, ...] = ()


def find(device: Device, specs: Sequence[Spec]) -> Found:
    """Look a device up; refuse rather than guess."""
    part = mig_slice(device.name) if device.name else None
    if part is None:
        return _find_whole(device, specs)
    # The slice's SMs, bus and memory are not those of the GPU that it is cut from.
    base = replace(device, name=part.base, sm_count=None, dram_bus_bits=None, memory_bytes=None)
    whole = _find_whole(base, specs, shape=False)
    if whole.spec is None:
        return replace(whole, notes=(*whole.notes, _note("mig_slice", "It is a MIG slice.")))
    return _sliced(whole, device, part.memory_gb)


def find_identified(device: Device, specs: Sequence[Spec]) -> Found | None:
    """Look a device up by name and PCI id alone; ``None`` where ``find`` has to go further.

    ``specs`` need only hold the entries that have that name or id.
    """
    found = find(device, specs)
    return found if found.spec is not None and found.how in ("name", "pci id") else None


def matching(text: str, specs: Sequence[Spec]) -> tuple[Spec, ...]:
    """Entries that a typed name stands for: its exact spelling first, else without the brand."""
    for form in (exact, loose):
        hits = tuple(s for s in specs if form(text) in {form(name) for name in s.names})
        if hits:
            return hits
    return ()


def _find_whole(device: Device, specs: Sequence[Spec], *, shape: bool = True) -> Found:
    by_name = _of_last_layer([s for s in specs if device.name and _has_name(s, device.name)])
    by_pci = _of_last_layer([s for s in specs if _has_pci(s, device.pci_device_id)])
    refused: list[Note] = []
    for how, candidates in (("name", by_name), ("pci id", by_pci)):
        if not candidates:
            continue
        fitting, why_not = _fitting(device, candidates, by_pci)
        if fitting is not None:
            return Found(spec=fitting, how=how, notes=_remarks(device, fitting, how, candidates))
        refused.append(why_not)
        if how == "name" and any(s in candidates for s in by_pci):
            break
    if shape and not by_name:
        by_shape = _of_last_layer([s for s in specs if _has_shape(s, device)])
        fitting = _unanimous(device, by_shape)
        if fitting is not None:
            return Found(
                spec=fitting, how="shape", notes=_remarks(device, fitting, "shape", by_shape)
            )
    return _unknown(device, specs, refused)


def _has_name(spec: Spec, name: str) -> bool:
    return exact(name) in {exact(known) for known in spec.names}


def _has_pci(spec: Spec, pci: str | None) -> bool:
    return pci is not None and pci.upper() in spec.pci_ids


def _has_shape(spec: Spec, device: Device) -> bool:
    known = (device.compute_capability, device.sm_count, device.dram_bus_bits)
    return None not in known and known == (
        spec.compute_capability,
        spec.sm_count,
        spec.memory_bus_bits,
    )


def _of_last_layer(specs: Sequence[Spec]) -> tuple[Spec, ...]:
    """Only the candidates of the folder that was read last: a user's entry hides ours."""
    last = max((s.layer for s in specs), default=0)
    return tuple(s for s in specs if s.layer == last)


def _close(known: float | None, seen: float | None, tolerance: float) -> bool:
    return known is None or seen is None or abs(seen / known - 1) <= tolerance


# What must not contradict: a different value means a different chip under the same name.
_MUST: tuple[tuple[str, Callable[[Spec, Device], bool]], ...] = (
    (
        "compute capability",
        lambda s, d: d.compute_capability in (None, s.compute_capability),
    ),
    ("SM count", lambda s, d: None in (d.sm_count, s.sm_count) or d.sm_count == s.sm_count),
    (
        "bus width",
        lambda s, d: (
            None in (d.dram_bus_bits, s.memory_bus_bits) or d.dram_bus_bits == s.memory_bus_bits
        ),
    ),
)
# What tells variants apart that share a name, a chip and a bus.
_TELLS: tuple[Callable[[Spec, Device], bool], ...] = (
    lambda s, d: _has_pci(s, d.pci_device_id),
    lambda s, d: _close(s.memory_clock_hz, d.dram_clock_max_hz, CLOCK_TOLERANCE),
    lambda s, d: _close(s.memory_bytes, d.memory_bytes, MEMORY_TOLERANCE),
    lambda s, d: _close(s.boost_clock_hz, d.sm_clock_max_hz, CLOCK_TOLERANCE),
)


def _fitting(
    device: Device, candidates: Sequence[Spec], by_pci: Sequence[Spec]
) -> tuple[Spec | None, Note]:
    """The one candidate that nothing contradicts, or why there is none."""
    for what, agrees in _MUST:
        left = [s for s in candidates if agrees(s, device)]
        if not left:
            keys = ", ".join(s.key for s in candidates)
            text = f"The name or PCI id is that of {keys}, but the {what} differs."
            return None, _note("different_chip", text)
        candidates = left
    for tells in _TELLS:
        left = [s for s in candidates if tells(s, device)]
        candidates = left or candidates
    laptop = device.pci_device_id is not None and any(
        device.pci_device_id.upper() in s.laptop_pci_ids for s in candidates
    )
    if laptop and not any(s in by_pci for s in candidates):
        text = (
            f"The PCI id {device.pci_device_id} is a laptop part with the name of a desktop card."
        )
        return None, _note("laptop_same_name", text)
    if len(candidates) == 1 or _same_peaks(candidates):
        return candidates[0], _note("", "")
    keys = ", ".join(s.key for s in candidates)
    return None, _note("ambiguous", f"It could be any of {keys}; the report does not tell which.")


def _unanimous(device: Device, candidates: Sequence[Spec]) -> Spec | None:
    """A candidate by shape, where every candidate has the same peaks and is of the same class."""
    if device.name is not None:
        laptop = any(word in device.name for word in LAPTOP_WORDS)
        candidates = [s for s in candidates if s.laptop == laptop]
    candidates = [
        s
        for s in candidates
        if _close(s.memory_clock_hz, device.dram_clock_max_hz, CLOCK_TOLERANCE)
    ]
    return candidates[0] if candidates and _same_peaks(candidates) else None


def _same_peaks(specs: Sequence[Spec]) -> bool:
    first, *others = (s.peaks() for s in specs)
    return all(
        p.operations_per_s == first.operations_per_s
        and p.dram_bytes_per_s == first.dram_bytes_per_s
        for p in others
    )


def _remarks(device: Device, spec: Spec, how: str, candidates: Sequence[Spec]) -> tuple[Note, ...]:
    """What a reader should know about a successful look-up."""
    notes = []
    if how == "shape":
        name = device.name or "a device without a name"
        text = f"{name} is not in the registry; {spec.name} has its capability, SMs and bus."
        notes.append(_note("found_by_shape", text))
    if how == "pci id":
        text = f"{device.name} is not in the registry; its PCI id is that of {spec.name}."
        notes.append(_note("found_by_pci_id", text))
    if how == "name" and len(candidates) > 1:
        others = ", ".join(s.key for s in candidates if s is not spec)
        notes.append(_note("same_name", f"{spec.key} shares its name with {others}."))
    if not _close(spec.memory_clock_hz, device.dram_clock_max_hz, CLOCK_TOLERANCE):
        text = (
            f"The report's memory clock of {(device.dram_clock_max_hz or 0) / 1e6:.0f} MHz is not "
            f"the {(spec.memory_clock_hz or 0) / 1e6:.0f} MHz of {spec.key}."
        )
        notes.append(_note("memory_clock_differs", text))
    return tuple(notes)


def _sliced(whole: Found, device: Device, memory_gb: int) -> Found:
    """The entry of a whole GPU cut down to a MIG slice, or a refusal."""
    spec = whole.spec
    assert spec is not None
    slices, total = spec.mig_memory_slices, spec.memory_bytes
    if device.sm_count is None or slices is None or total is None:
        text = f"It is a MIG slice of {spec.name} of a size that cannot be told."
        return Found(spec=None, how="unknown", notes=(*whole.notes, _note("mig_slice", text)))
    taken = min(slices, max(1, round(memory_gb * 1e9 / (total / slices))))
    text = (
        f"A MIG slice of {spec.name}: {device.sm_count} of {spec.sm_count} SMs and {taken} of "
        f"{slices} memory slices; peaks are those of the slice."
    )
    cut = replace(
        spec,
        sm_count=device.sm_count,
        memory_share=taken / slices,
        l2_bytes=None if spec.l2_bytes is None else spec.l2_bytes * taken / slices,
        memory_bytes=total * taken / slices,
        published={},
        published_sparse={},
    )
    return replace(whole, spec=cut, notes=(*whole.notes, _note("mig_slice", text)))


def _unknown(device: Device, specs: Sequence[Spec], refused: Sequence[Note]) -> Found:
    name = device.name or "The device"
    text = f"{name} is not in the registry; only the report's own peaks are used."
    notes = (*refused, _note("unknown_device", text))
    names = (n for s in specs for n in s.names)
    return Found(
        spec=None,
        how="unknown",
        notes=notes,
        suggestions=near(device.name, names) if device.name else (),
    )


def _note(code: str, text: str) -> Note:
    return Note(code=code, text=text)
