"""The sentence of each note: a note carries a code and facts, what people read is made here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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


Sentence = str | Callable[[Mapping[str, Any]], str]
# Code -> its sentence, with facts in braces, or a function of the facts where words depend on them.
SENTENCES: dict[str, Sentence] = {
    # --- reports
    "unknown_format": "the format is version {version}, not {known}: read by ncu_report",
    # --- counters
    "counters_nan": _counters_nan,
    "part_of_gpu": "it was given {sms} of {of_sms} SMs: the units of the SMs are judged by those",
    "part_unknown": "it ran in a green context of unknown size, and is judged by all SMs",
    "some_fp64": "doubles on a GPU with almost no FP64 units, which are busy 10 % or more: look "
    "for those that nobody meant (literals and math functions without f)",
    "shared_gpu": "other programs could use the GPU at the same time (MPS): times and percentages "
    "may be theirs, too",
    "range_result": _SEVERAL.format("range"),
    "graph_result": _SEVERAL.format("graph"),
    "negative_counter": "{quantity} is negative ({value:.6g}, {how}); not used",
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
    "sparsity_unknown": (
        "the tensor counters do not tell sparse from dense; all are taken as dense"
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
        f"The report's memory clock of {numbers.plain(f['seen_hz'] / 1e6, digits=1)} MHz is not "
        f"the {f['known_hz'] / 1e6:.0f} MHz of {f['spec']}."
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
    "gpu_taken": "{text} is taken for {spec}; others of that name: {others}",
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
    "computed": "{by}",
    "partial": "an error while it was read left only the first {launches:,} launches",
    "mixed_verdicts": lambda f: (
        "its launches differ: "
        + ", ".join(f"{count} {bound}" for bound, count in sorted(f["bounds"].items()))
    ),
    "launches_without_duration": (
        "{launches} of {of} launches have no duration; the sums are without"
    ),
    "launches_measured_less": lambda f: (
        f"measured of {f['launches']} of {f['of']} launches: the others lack "
        + ", ".join(f["quantities"][:4])
        + (" and more" if len(f["quantities"]) > 4 else "")
    ),
    # --- timeline
    "truncated": "The file ends in the middle. Its events are in no order of time, so any step may "
    "lack some: wall time, idle time and bounds are not given.",
    "damaged": lambda facts: f"{_events_are(facts['events'])} not valid JSON and left out.",
    "no_valid_time": "{left_out} of {events} GPU events have no valid time (one is missing, no "
    "number, 0, a day from all others, or the end is before the start) and were left out.",
    "stream_overlap": "{events} records of one stream overlap by more than launches can, by up to "
    "{longest_s:duration}: their times are wrong, and figures about them too.",
    "no_launch_record": "{missing} of {events} GPU events have no launch record (queued before "
    "the recording began, or launched unseen); they are placed by when they ran.",
    "no_wall_time": "A summary has no wall time, no overlap and no steps: shares are of kernel "
    "time, and what a kernel could buy at most is not known.",
    "events_lost": "Nsight Systems warns that not all CUDA events were collected: shares may be "
    "too small.",
    "unknown_tables": "Not read, since Nsight Systems did not write them until now: {tables}.",
    "graphs_left_out": "CUDA graphs recorded as a whole ({share:share} of GPU time) are left out.",
    "no_steps": "No steps are marked, so the whole recording counts, warm-up included: --step "
    "RE names the ranges that are steps, --start and --end cut.",
    "outside_ranges": "{percent:percent} of the time lies outside of the ranges and of what they "
    "launched: each step goes on until the next begins.",
    "pauses": "{percent:percent} of the time lies outside of the ranges and of what they launched; "
    "{pauses:percent} is pauses unlike the others, which belong to no step.",
    "many_steps": "{ranges:exact} ranges are taken for steps, and {empty:exact} of the "
    "{counted:exact} that count launch nothing: --step should match what is around one "
    "iteration, and nothing else.",
    "one_step": "Only one step counts: nothing can be said about the steady state.",
    "not_steady": "Not a steady state: the steps launch different kernels, which averages hide.",
    "shapes_vary": "The steps launch the same kernels, but not at the same grids: --by name adds "
    "up the grids of a kernel.",
    "other_devices": "Kernels also ran on device {devices}; devices are never added up. --device "
    "shows one.",
    "no_common_collective": "The {files} files have no collective in common: they are shown as if "
    "they were jobs of their own, the one with the longest step.",
    "several_processes": "{processes} processes ran on device {device}.",
    "not_kernels": "Most of the time is not in kernels that ncu can help with.",
    "none_chosen": "No kernel takes {min_share:share} of the wall time: --min-share lowers that "
    "bar.",
    "overlap": "Where two bounds are given, the first is that of a replay with the host as it was "
    "(without launches, of the time that the kernel runs alone), the second of all of its time.",
    "instance_estimated": "The launch is an estimate: the recording does not begin with the "
    "process, so {warmup_steps} steps like the one seen are skipped (--warmup-steps). A range of "
    "your own around one step, and --nvtx with its name instead of --launch-skip, is exact.",
    "instance_unknown": "The timeline does not say which launches these are: the first of each "
    "grid and block is taken, which may be warm-up. --nvtx RANGE around a step in your program is "
    "exact.",
    # --- compare
    **comparison.SENTENCES,
    # --- the answer in a sentence
    **outlook.SENTENCES,
    # --- capture
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
