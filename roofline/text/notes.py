"""The sentence of each note: a note carries a code and facts, what people read is made here."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from string import Formatter
from typing import Any

from roofline.model import Note
from roofline.text import comparison, names, numbers, outlook

# How a fact is written: "{peak_bytes_per_s:bandwidth}" is numbers.bandwidth of it, "{why:note}"
# the sentence of a note.
_AS: dict[str, Callable[[Any], str]] = {
    **{
        name: getattr(numbers, name)
        for name in (
            *("duration", "size", "bandwidth", "rate", "clock", "plain", "count", "exact"),
            *("percent", "share", "ratio", "times", "waves"),
        )
    },
    **{name: getattr(names, name) for name in ("operation", "quantity", "the_unit", "words")},
    "list": lambda values: ", ".join(map(names.words, values)),
    "work": comparison.work,
    "note": lambda note: note_text(note),
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


def _events_are(number: int) -> str:
    return "1 event is" if number == 1 else f"{number} events are"


_SEVERAL = "a {} of several kernels: no launch geometry, no counts from instructions"


def _dram_clock_low(facts: Mapping[str, Any]) -> str:
    if facts["short"]:
        why = "on kernels this short an artefact of counting, and the DRAM roof at it too low"
    else:
        why = "the GPU ran below its memory clock (idle state, power limit or a lower setting)"
    clock, most = facts["clock_hz"] / 1e6, facts["most_hz"] / 1e6
    return f"the DRAM clock reads {clock:.0f} MHz of {most:.0f}: {why}"


def _counters_nan(facts: Mapping[str, Any]) -> str:
    listed = facts["names"]
    who = "1 counter holds" if len(listed) == 1 else f"{len(listed)} counters hold"
    failed = "profiling of this launch failed"
    why = failed if facts["failed"] else "this ncu, driver and GPU do not fit"
    return f"{who} no number (NaN): {names.few(listed, 3)}; {why}"


TOLD: Mapping[str, Mapping[str, str]] = tomllib.loads(
    Path(__file__).with_name("notes.toml").read_text("utf-8")
)
Sentence = str | Callable[[Mapping[str, Any]], str]
# Code -> its sentence, with facts in braces, or a function of the facts where words depend on them.
SENTENCES: dict[str, Sentence] = {
    **TOLD["notes"],
    "counters_nan": _counters_nan,
    "range_result": _SEVERAL.format("range"),
    "graph_result": _SEVERAL.format("graph"),
    "no_dram_counters": lambda f: (
        "ncu has no DRAM counters for this GPU"
        + (
            ""
            if f.get("missed_l2_bytes") is None
            else f"; {f['missed_l2_bytes'] / 1e6:.4g} MB missed L2, which is near DRAM but not DRAM"
        )
    ),
    "dram_clock_low": _dram_clock_low,
    "dram_peak_implausible": lambda f: (
        f"the report's DRAM peak of {f['peak_bytes_per_s'] / 1e9:.0f} GB/s is above what bus and "
        f"memory clock allow; {f['used_bytes_per_s'] / 1e9:.0f} GB/s is used"
    ),
    "tensor_activity_faint": lambda f: (
        f"the tensor pipe was busy {numbers.percent(f['percent'], places=1)}, which moving "
        "constants also causes; matrix operations, if there were any, are not counted"
    ),
    "tensor_sources_differ": lambda f: (
        f"the opcode mix counts {f['mix']:.6g} tensor operations, sm__ops_path_tensor counts "
        f"{f['counters']:.6g} ({numbers.deviation(f['mix'] / f['counters'] - 1)}); "
        "the opcode mix is used"
    ),
    "tensor_shape_unknown": lambda f: (
        f"{', '.join(f['opcodes'])} state no shape; only sm__ops_path_tensor_* counts them"
    ),
    "found_by_shape": lambda f: (
        f"{f['device'] or 'A device without a name'} is not in the registry; {f['spec']} has its "
        "capability, SMs and bus."
    ),
    "found_by_pci_id": lambda f: (
        f"{f['device'] or 'A device without a name'} is not in the registry; its PCI id is that of "
        f"{f['spec']}."
    ),
    "memory_clock_differs": lambda f: (
        f"The report's memory clock of {numbers.plain(f['seen_hz'] / 1e6, digits=1)} MHz is not "
        f"the {f['known_hz'] / 1e6:.0f} MHz of {f['spec']}."
    ),
    "unknown_device": lambda f: (
        f"{f['device'] or 'The device'} is not in the registry; the report's own peaks are used."
    ),
    "mig_slice": _mig_slice,
    "mixed_verdicts": lambda f: (
        "its launches differ: "
        + ", ".join(f"{count} {bound}" for bound, count in sorted(f["bounds"].items()))
    ),
    "launches_measured_less": lambda f: (
        f"measured of {f['launches']} of {f['of']} launches: the others lack "
        + ", ".join(f["quantities"][:4])
        + (" and more" if len(f["quantities"]) > 4 else "")
    ),
    "damaged": lambda facts: (
        f"{_events_are(facts['events'])} left out: not valid JSON, or in a second list."
    ),
    **comparison.SENTENCES,
    **outlook.SENTENCES,
}


class _Facts(Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec.startswith("of "):  # "{blocks:of block}" is "1 block", "2 blocks"
            return numbers.plural(int(value), format_spec.removeprefix("of "))
        written = _AS.get(format_spec)
        return written(value) if written else str(super().format_field(value, format_spec))


def note_text(note: Note) -> str:
    """What a note says to people."""
    return sentence(SENTENCES[note.code], note.facts)


def noted(notes: Iterable[Note]) -> dict[str, str]:
    """The sentences of notes and the code of each; one that several make is given once."""
    said: dict[str, str] = {}
    for note in notes:
        said.setdefault(note_text(note), note.code)
    return said


def sentence(form: Sentence, facts: Mapping[str, Any]) -> str:
    """A form of a sentence filled with facts."""
    return form(facts) if callable(form) else _Facts().vformat(form, (), facts)
