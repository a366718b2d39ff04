"""From the device of a report to its entry: exact name, PCI id, then shape; never a substring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from roofline.model import Device, Note
from roofline.specs.fit import fitting, has_memory_clock, has_pci, has_shape, unanimous
from roofline.specs.names import exact, loose, mig_slice, near, squeezed
from roofline.specs.spec import Spec


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
    return _sliced(_find_whole(base, specs, by_shape=False), device, part.memory_gb)


def find_identified(device: Device, specs: Sequence[Spec]) -> Found | None:
    """Look a device up by name and PCI id alone; ``None`` where ``find`` has to go further.

    ``specs`` need only hold the entries that have that name or id.
    """
    found = find(device, specs)
    return found if found.spec is not None and found.how in ("name", "pci id") else None


def matching(text: str, specs: Sequence[Spec]) -> tuple[Spec, ...]:
    """Entries that a typed name stands for: its exact spelling first, else without the brand."""
    for form in (exact, loose, squeezed):
        hits = tuple(s for s in specs if form(text) in {form(name) for name in s.names})
        if hits:
            return hits
    return ()


def _find_whole(device: Device, specs: Sequence[Spec], *, by_shape: bool = True) -> Found:
    named = _last_layer([s for s in specs if device.name and _has_name(s, device.name)])
    by_pci = _last_layer([s for s in specs if has_pci(s, device)])
    refusals: list[Note] = []
    for how, candidates in (("name", named), ("pci id", by_pci)):
        answer = fitting(device, candidates) if candidates else None
        if isinstance(answer, Spec):
            return Found(spec=answer, how=how, notes=_remarks(device, answer, how))
        if answer is not None:
            refusals.append(answer)
    if by_shape and not refusals:
        spec = unanimous(device, _last_layer([s for s in specs if has_shape(s, device)]))
        if spec is not None:
            return Found(spec=spec, how="shape", notes=_remarks(device, spec, "shape"))
    return _unknown(device, specs, refusals)


def _has_name(spec: Spec, name: str) -> bool:
    return exact(name) in {exact(known) for known in spec.names}


def _last_layer(specs: Sequence[Spec]) -> list[Spec]:
    """Only the candidates of the folder that was read last: a user's entry hides ours."""
    last = max((s.layer for s in specs), default=0)
    return [s for s in specs if s.layer == last]


def _remarks(device: Device, spec: Spec, how: str) -> tuple[Note, ...]:
    """What a reader should know about a successful look-up."""
    notes = []
    name = device.name or "A device without a name"
    if how == "shape":
        text = f"{name} is not in the registry; {spec.name} has its capability, SMs and bus."
        notes.append(Note(code="found_by_shape", text=text))
    if how == "pci id":
        text = f"{name} is not in the registry; its PCI id is that of {spec.name}."
        notes.append(Note(code="found_by_pci_id", text=text))
    if not has_memory_clock(spec, device):
        seen, known = device.dram_clock_max_hz or 0, spec.memory_clock_hz or 0
        text = (
            f"The report's memory clock of {seen / 1e6:.0f} MHz is not the {known / 1e6:.0f} MHz "
            f"of {spec.key}."
        )
        notes.append(Note(code="memory_clock_differs", text=text))
    return tuple(notes)


def _sliced(whole: Found, device: Device, memory_gb: int) -> Found:
    """The entry of a whole GPU cut down to a MIG slice, or a refusal."""
    spec = whole.spec
    if spec is None:
        note = Note(code="mig_slice", text="It is a MIG slice.")
        return replace(whole, notes=(*whole.notes, note))
    slices, memory = spec.mig_memory_slices, spec.memory_bytes
    if device.sm_count is None or slices is None or memory is None:
        text = f"It is a MIG slice of {spec.name} of a size that cannot be told."
        note = Note(code="mig_slice", text=text)
        return Found(spec=None, how="unknown", notes=(*whole.notes, note))
    taken = min(slices, max(1, round(memory_gb * 1e9 / (memory / slices))))
    text = (
        f"A MIG slice of {spec.name}: {device.sm_count} of {spec.sm_count} SMs and {taken} of "
        f"{slices} memory slices; peaks are those of the slice."
    )
    cut = replace(
        spec,
        sm_count=device.sm_count,
        memory_share=taken / slices,
        l2_bytes=None if spec.l2_bytes is None else spec.l2_bytes * taken / slices,
        memory_bytes=memory * taken / slices,
        published={},
        published_sparse={},
    )
    return replace(whole, spec=cut, notes=(*whole.notes, Note(code="mig_slice", text=text)))


def _unknown(device: Device, specs: Sequence[Spec], refusals: Sequence[Note]) -> Found:
    text = f"{device.name or 'The device'} is not in the registry; the report's own peaks are used."
    names = (name for spec in specs for name in spec.names)
    return Found(
        spec=None,
        how="unknown",
        notes=(*refusals, Note(code="unknown_device", text=text)),
        suggestions=near(device.name, names) if device.name else (),
    )
