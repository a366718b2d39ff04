"""The sentence of each note: a note carries a code and facts, what people read is made here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from string import Formatter
from typing import Any

from roofline.model import Note
from roofline.text import numbers

# How a fact is written: "{peak_bytes_per_s:bandwidth}" is numbers.bandwidth of it.
_AS = {
    name: getattr(numbers, name)
    for name in (
        *("duration", "size", "bandwidth", "rate", "clock", "plain", "exact", "percent", "share"),
        "ratio",
    )
}


def _mig_slice(facts: Mapping[str, Any]) -> str:
    if "slices" in facts:
        return (
            "A MIG slice of {spec}: {sms} of {of_sms} SMs and {slices} of {of_slices} memory "
            "slices; peaks are those of the slice."
        ).format_map(facts)
    if "spec" in facts:
        return f"It is a MIG slice of {facts['spec']} of a size that cannot be told."
    return "It is a MIG slice."


Sentence = str | Callable[[Mapping[str, Any]], str]
# Code -> its sentence, with facts in braces, or a function of the facts where words depend on them.
SENTENCES: dict[str, Sentence] = {
    # --- reports
    # --- counters
    # --- specs
    "found_by_shape": lambda f: (
        f"{f['device'] or 'A device without a name'} is not in the registry; {f['spec']} has its "
        "capability, SMs and bus."
    ),
    "found_by_pci_id": lambda f: (
        f"{f['device'] or 'A device without a name'} is not in the registry; its PCI id is that of "
        f"{f['spec']}."
    ),
    "memory_clock_differs": lambda f: (
        f"The report's memory clock of {f['seen_hz'] / 1e6:.0f} MHz is not the "
        f"{f['known_hz'] / 1e6:.0f} MHz of {f['spec']}."
    ),
    "unknown_device": lambda f: (
        f"{f['device'] or 'The device'} is not in the registry; the report's own peaks are used."
    ),
    "different_chip": "The name or PCI id is that of {specs}, but the {differs} differs.",
    "laptop_same_name": "PCI id {pci_id} is a laptop part with the name of a desktop card.",
    "ambiguous": "It could be any of {specs}; the report does not tell which.",
    "mig_slice": _mig_slice,
    "achieved_other_device": (
        "the measured ceilings are of other GPUs, and are not used for this one"
    ),
    # Why a report may differ from the registry.
    "of_mig_slice": "a MIG slice",
    "bandwidth_of_whole": "a MIG slice: the report's bandwidth may be that of the whole GPU",
    "laptop_clock": "a laptop: its maker sets the boost clock",
    "partner_board": "a partner board with a boost clock of its own",
    "held_base_clock": "ncu held the base clock",
    "below_boost": "it ran at {percent:.0f} % of boost: ncu's clock control, or power",
    "below_memory_clock": "the memory clock ran at {percent:.0f} % of its maximum",
    "l2_differs": "cards of one name differ in L2",
    # What is wrong with the registry.
    "figure_apart": (
        "{spec}: {key} is published as {published:.4g} ({source}) but {derived:.4g} follows from "
        "the entry; correct it or list the reason under [{spec}.known_differences]."
    ),
    "needless_reason": "{spec}: known_differences lists {key}, which does not differ.",
    "no_such_rate": "{spec}: {key} is not a rate of {capability}.",
    "same_device": "{spec} and {other} are both {name} and nothing differs.",
    # --- analysis
    # --- timeline
    # --- compare
    # --- capture
}


class _Facts(Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        written = _AS.get(format_spec)
        return written(value) if written else str(super().format_field(value, format_spec))


def note_text(note: Note) -> str:
    """What a note says to people."""
    if note.text:
        return note.text
    sentence = SENTENCES[note.code]
    return (
        sentence(note.facts) if callable(sentence) else _Facts().vformat(sentence, (), note.facts)
    )
