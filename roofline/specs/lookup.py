"""From the device of a report to its entry: exact name, PCI id, then shape; never a substring."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from roofline.model import Device, Note
from roofline.specs.spec import Spec

# How far a report's own clocks and memory size may lie from the entry's.
CLOCK_TOLERANCE = 0.02
MEMORY_TOLERANCE = 0.12  # CUDA sees less than the nameplate: 94.5 GiB of 96 GB, 7.6 of 8
LAPTOP_WORDS = ("Laptop", "Max-Q", "Mobile")

# "NVIDIA A100-PCIE-40GB MIG 1g.5gb", "..., MIG 1g.5gb", "NVIDIA-H100-NVL-MIG-1g.12gb".
_MIG = re.compile(
    r"^(?P<base>.+?),?(?<![\s-])[\s-]+MIG[\s-]+(?:\d+c\.)?\d+g\.(?P<memory>\d+)gb\b.*$", re.I
)
_NEAR = 0.6  # of SequenceMatcher's ratio: one or two letters off in a short name
_BRANDS = re.compile(r"\b(nvidia|geforce|tesla|quadro|gpu)\b")
# What is no part of a model's name: its class, and words of drivers; then memory and board form.
_CLASS = re.compile(r"\b([rg]tx(?=\d|\b)|with|design)")
_BOARD = re.compile(r"\b(\d+gb|gddr\w+|hbm\w+|pcie?|sxm\d?|nvl)\b")


# --- names as drivers print them and as people type them ------------------------------------------


def exact(name: str) -> str:
    """The form in which two names of a device are equal.

    Drivers before R470 omit "NVIDIA ", and some tools print dashes for spaces. Case is kept:
    "RTX 2070 SUPER" is a card, "RTX 2070 Super" a laptop.
    """
    spaced = " ".join(re.split(r"[\s-]+", name.strip()))
    return spaced.removeprefix("NVIDIA ")


def loose(text: str) -> str:
    """What is left of a name that a person typed: no brand, no case, no punctuation."""
    return " ".join(_BRANDS.sub(" ", re.sub(r"[\s_-]+", " ", text.casefold())).split())


def pattern(name: str) -> re.Pattern[str]:
    """Finds a name in a text in any spelling that ``exact`` takes for the same."""
    return re.compile(r"[\s-]+".join(re.escape(word) for word in exact(name).split(" ")))


def mig_slice(name: str) -> tuple[str, int] | None:
    """The whole GPU's name and the nominal gigabytes, where a name is that of a MIG instance."""
    match = _MIG.match(name.strip())
    return None if match is None else (match["base"], int(match["memory"]))


def near(text: str, names: Iterable[str], *, limit: int = 5) -> tuple[str, ...]:
    """Names that ``text`` may have been meant for, best first."""
    from difflib import SequenceMatcher  # only needed once something is already wrong

    typed, wanted = text.casefold(), loose(text)
    if not wanted:
        return ()
    scored = []
    for name in names:
        have = loose(name)
        model = " ".join(have.split()[: len(wanted.split())])  # "h100" of "h100 80gb hbm3"
        pairs = ((wanted, have), (wanted, model), (typed, name.casefold()))
        score = max(SequenceMatcher(None, *pair).ratio() for pair in pairs)
        if set(wanted.split()) <= set(have.split()) or have.startswith(wanted):
            score += 1
        if score >= _NEAR:
            scored.append((-score, len(have), name))
    return tuple(dict.fromkeys(name for _, _, name in sorted(scored)))[:limit]


def matching(text: str, specs: Sequence[Spec]) -> tuple[Spec, ...]:
    """Entries that a typed name stands for: its exact spelling first, else without the brand."""
    for form in (exact, loose, lambda name: loose(name).replace(" ", "")):  # "rtx4090"
        hits = tuple(s for s in specs if form(text) in {form(name) for name in s.names})
        if hits:
            return hits
    return ()


def _parts(name: str) -> tuple[str, set[str]]:
    """The number of a model with its suffixes ("4070tisuper"), and words of memory and board."""
    text = re.sub(r"\b(\d+) ?gi?b?\b", r"\1gb", _CLASS.sub(" ", loose(name)))
    return "".join(_BOARD.sub("", text).split()), set(_BOARD.findall(text))


def same_model(text: str, specs: Iterable[Spec]) -> tuple[Spec, ...]:
    """Entries of the model that is typed, and of the memory and board, where these are typed.

    "3060" is RTX 3060 of 12 GB and of 8 GB, "h100 pcie" one of the H100s; a GTX 1660 is no
    GTX 1660 SUPER.
    """
    model, board = _parts(text)
    found = []
    for spec in specs if re.search(r"\d", model) else ():
        called = [_parts(name) for name in (spec.key, *spec.names)]
        has = {(spec.memory_type or "").casefold(), f"{(spec.memory_bytes or 0) / 1e9:.0f}gb"}
        has = has.union(*(words for _, words in called))
        has |= {word.rstrip("0123456789") for word in has}  # "sxm" is "sxm5"
        if model in (name for name, _ in called) and board <= has:
            found.append(spec)
    return tuple(found)


# --- devices ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the registry knows of a device.

    ``how`` is "key", "name", "pci id", "shape" (capability, SMs and bus) or "unknown"; with
    ``spec`` absent ``notes`` say why and ``suggestions`` name entries that are near.
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
    base = replace(device, name=part[0], sm_count=None, dram_bus_bits=None, memory_bytes=None)
    return _sliced(_find_whole(base, specs, by_shape=False), device, part[1])


def _find_whole(device: Device, specs: Sequence[Spec], *, by_shape: bool = True) -> Found:
    named = [s for s in specs if device.name and exact(device.name) in map(exact, s.names)]
    refusals: list[Note] = []
    for how, candidates in (("name", named), ("pci id", [s for s in specs if _has_pci(s, device)])):
        answer = _fitting(device, _last_layer(candidates)) if candidates else None
        if isinstance(answer, Spec):
            return Found(spec=answer, how=how, notes=_remarks(device, answer, how))
        if answer is not None:
            refusals.append(answer)
    if by_shape and not refusals:
        spec = _unanimous(device, _last_layer([s for s in specs if _has_shape(s, device)]))
        if spec is not None:
            return Found(spec=spec, how="shape", notes=_remarks(device, spec, "shape"))
    return Found(
        spec=None,
        how="unknown",
        notes=(*refusals, Note(code="unknown_device", facts={"device": device.name})),
        suggestions=near(device.name or "", (name for spec in specs for name in spec.names)),
    )


def _last_layer(specs: Sequence[Spec]) -> list[Spec]:
    """Only the candidates of the folder that was read last: a user's entry hides ours."""
    last = max((s.layer for s in specs), default=0)
    return [s for s in specs if s.layer == last]


def _remarks(device: Device, spec: Spec, how: str) -> tuple[Note, ...]:
    """What a reader should know about a successful look-up."""
    notes = []
    if how != "name":
        facts = {"device": device.name, "spec": spec.name}
        notes.append(Note(code=f"found_by_{how.replace(' ', '_')}", facts=facts))
    if not _has_memory_clock(spec, device):
        clocks = {"seen_hz": device.dram_clock_max_hz, "known_hz": spec.memory_clock_hz}
        notes.append(Note(code="memory_clock_differs", facts={"spec": spec.key, **clocks}))
    return tuple(notes)


def _sliced(whole: Found, device: Device, memory_gb: int) -> Found:
    """The entry of a whole GPU cut down to a MIG slice, or a refusal."""
    spec = whole.spec
    if spec is None:
        return replace(whole, notes=(*whole.notes, Note(code="mig_slice")))
    slices, memory = spec.mig_memory_slices, spec.memory_bytes
    if device.sm_count is None or slices is None or memory is None:
        note = Note(code="mig_slice", facts={"spec": spec.name})
        return Found(spec=None, how="unknown", notes=(*whole.notes, note))
    taken = min(slices, max(1, round(memory_gb * 1e9 / (memory / slices))))
    cut = replace(
        spec,
        sm_count=device.sm_count,
        memory_share=taken / slices,
        l2_bytes=None if spec.l2_bytes is None else spec.l2_bytes * taken / slices,
        memory_bytes=memory * taken / slices,
        published={},
        published_sparse={},
    )
    facts = {"spec": spec.name, "sms": device.sm_count, "of_sms": spec.sm_count}
    note = Note(code="mig_slice", facts={**facts, "slices": taken, "of_slices": slices})
    return replace(whole, spec=cut, notes=(*whole.notes, note))


# --- which of several entries a device is ---------------------------------------------------------

_Rule = Callable[[Spec, Device], bool]


def _has_pci(spec: Spec, device: Device) -> bool:
    return device.pci_device_id is not None and device.pci_device_id.upper() in spec.pci_ids


def _has_shape(spec: Spec, device: Device) -> bool:
    shape = (device.compute_capability, device.sm_count, device.dram_bus_bits)
    known = (spec.compute_capability, spec.sm_count, spec.memory_bus_bits)
    return None not in shape and shape == known


def _close(known: float | None, seen: float | None, tolerance: float) -> bool:
    """Whether two values agree, or one of them is not known."""
    return known is None or seen is None or abs(seen / known - 1) <= tolerance


def _has_memory_clock(spec: Spec, device: Device) -> bool:
    return _close(spec.memory_clock_hz, device.dram_clock_max_hz, CLOCK_TOLERANCE)


# A different value means a different chip under the same name.
_MUST: tuple[tuple[str, _Rule], ...] = (
    ("compute capability", lambda s, d: d.compute_capability in (None, s.compute_capability)),
    ("SM count", lambda s, d: _close(s.sm_count, d.sm_count, 0)),
    ("bus width", lambda s, d: _close(s.memory_bus_bits, d.dram_bus_bits, 0)),
)
# Best evidence first. A rule that no candidate keeps says nothing: partner boards and laptops
# have clocks of their own.
_TELLS: tuple[_Rule, ...] = (
    _has_pci,
    _has_memory_clock,
    lambda s, d: _close(s.memory_bytes, d.memory_bytes, MEMORY_TOLERANCE),
    lambda s, d: _close(s.boost_clock_hz, d.sm_clock_max_hz, CLOCK_TOLERANCE),
)


def _fitting(device: Device, candidates: Sequence[Spec]) -> Spec | Note:
    """The one candidate that fits the device, or why none does."""
    keys = ", ".join(s.key for s in candidates)
    for what, agrees in _MUST:
        candidates = [s for s in candidates if agrees(s, device)]
        if not candidates:
            return Note(code="different_chip", facts={"specs": keys, "differs": what})
    for tells in _TELLS:
        candidates = [s for s in candidates if tells(s, device)] or candidates
    pci = device.pci_device_id
    if pci is not None and any(pci.upper() in s.laptop_pci_ids for s in candidates):
        return Note(code="laptop_same_name", facts={"pci_id": pci})
    if _same_peaks(candidates):
        return candidates[0]
    return Note(code="ambiguous", facts={"specs": ", ".join(s.key for s in candidates)})


def _unanimous(device: Device, candidates: Sequence[Spec]) -> Spec | None:
    """A candidate by shape, where all candidates of the device's class have the same peaks."""
    candidates = [s for s in candidates if _has_memory_clock(s, device)]
    if device.name is not None:
        laptop = any(word in device.name for word in LAPTOP_WORDS)
        candidates = [s for s in candidates if s.laptop == laptop]
    return candidates[0] if candidates and _same_peaks(candidates) else None


def _same_peaks(specs: Sequence[Spec]) -> bool:
    """Whether it makes no difference which of the entries is taken."""
    first, *others = ((p.operations_per_s, p.dram_bytes_per_s) for p in (s.peaks() for s in specs))
    return all(other == first for other in others)
