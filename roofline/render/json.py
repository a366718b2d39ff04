"""The JSON ``roofline.analysis/1``: its documents, from which its schema is made, and its text."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, get_type_hints

from msgspec import UNSET, Struct, UnsetType, defstruct

from roofline import __version__
from roofline.model import (
    Analysis,
    Cause,
    Details,
    Device,
    Group,
    Measurement,
    Missing,
    PeakSet,
    Result,
    Verdict,
)
from roofline.outlook import outlook
from roofline.playbook import entry_of, play
from roofline.render.documents import (
    NoteDocument,
    Number,
    Text,
    about,
    note_documents,
    text,
)
from roofline.render.selection_json import JoinedDocument, joined_document
from roofline.text import verdict as said
from roofline.text.names import last_part
from roofline.timeline.join import Joined
from roofline.units import PARTS, UNITS
from roofline.view import Chosen, chosen, missing_of

SCHEMA = "roofline.analysis/1"
DESCRIPTION = (
    "What `roofline analyze --format json` writes. SI units, in the names; null is not measured; "
    "percentages may exceed 100. Within /1 keys are added, never renamed or removed."
)
# How the capture was told to work; other settings could say more about a person than is needed.
_SETTINGS = ("clock_control", "cache_control", "replay_mode")
# The instructions of the longest launch of a kernel, where they were read.
_DETAILS = Annotated[
    Details | UnsetType,
    about("with --explain: instructions of the longest launch, and NVIDIA's own rule results"),
]
_RATES = ("dram_bytes_per_s", "l2_bytes_per_s", "l1_bytes_per_s")

ByKind = Annotated[dict[str, float], about("kind of peak -> value; the kinds are never mixed")]


class SourceDocument(Struct, kw_only=True):
    """A file that was read."""

    path: Annotated[str, about("file name, without folders")]
    launches: int
    notes: list[NoteDocument]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceDocument(Device):
    """The GPU with the clocks that were measured."""

    sm_clock_hz: Annotated[Number, about("measured")]
    dram_clock_hz: Annotated[Number, about("measured")]


class PeaksDocument(Struct, kw_only=True):
    """What the device can do, by kind."""

    dram_bytes_per_s: ByKind
    l2_bytes_per_s: ByKind
    l1_bytes_per_s: ByKind
    operations_per_s: dict[str, ByKind]


class CauseDocument(Struct, kw_only=True):
    """Why a unit is busy or a kernel waits."""

    code: str
    promise: Annotated[str, about("first, waste, occupancy or idle; wait or plain promise nothing")]
    gain: Annotated[Number, about("times faster without it at most; null where nothing tells")]
    count: Annotated[Text, about("key of evidence that must fall if the fix is one")]
    text: str


# What a launch has in the JSON beside fields of its measurement and its verdict: of which type, and
# how it is made.
_MADE: dict[str, tuple[Any, Callable[[Result], Any]]] = {
    "source": (str, lambda r: last_part(r.measurement.source)),
    "device": (DeviceDocument, lambda r: _device(r.measurement)),
    "settings": (dict[str, str], lambda r: _settings(r.measurement.settings)),
    "arithmetic_intensity": (Number, attrgetter("measurement.arithmetic_intensity")),
    "dram_bytes_per_s": (Number, attrgetter("measurement.dram_bytes_per_s")),
    "operations_per_s": (Number, attrgetter("measurement.operations_per_s")),
    "utilization": (dict[str, float], lambda r: {u.unit: u.percent for u in r.measurement.units}),
    "utilization_parts": (
        dict[str, str],
        lambda r: {use.unit: use.part for use in r.measurement.units if use.part},
    ),
    "provenance": (
        dict[str, str],
        lambda r: (
            dict(r.measurement.provenance)
            | {f"utilization.{use.unit}": use.metric for use in r.measurement.units}
        ),
    ),
    "notes": (list[NoteDocument], lambda r: note_documents(r.measurement.notes)),
    "cause_text": (Text, said.cause),
    "confidence_reasons": (tuple[str, ...], said.confidence_reasons),
    "causes": (list[CauseDocument], lambda r: [_cause(r, one) for one in r.verdict.causes]),
    "context": (Text, said.context),
    "claim": (str, said.claim),
    "hint": (str, said.hint),
    "refute": (str, said.refute),
    "try_first": (tuple[str, ...], said.try_first),
    "avoid": (tuple[str, ...], said.avoid),
    "peaks": (PeaksDocument, lambda r: _peaks(r.peaks)),
    "peak_sources": (dict[str, str], lambda r: {p.kind: p.source for p in r.peaks.of_kind()}),
    "spec": (Text, attrgetter("peaks.spec")),
    "missing": (tuple[Missing, ...], missing_of),
}


def _fields(part: str, *kinds: type) -> list[tuple[str, Any]]:
    """The keys of a part of ``result.toml``, with their types and what the schema says of them."""
    hints = {name: hint for kind in kinds for name, hint in get_type_hints(kind).items()}
    hints |= {key: hint for key, (hint, _) in _MADE.items()}
    named = {"units": " ".join(UNITS), "parts": " ".join(PARTS), "settings": ", ".join(_SETTINGS)}
    described = ((key, hints[key], text.format(**named)) for key, text in _TABLE[part].items())
    return [(key, Annotated[hint, about(text)] if text else hint) for key, hint, text in described]


_TABLE = tomllib.loads(Path(__file__).with_name("result.toml").read_text("utf-8"))
_RESULT = _fields("result", Measurement, Verdict, Group)
LaunchDocument = defstruct("LaunchDocument", _RESULT, namespace={"__doc__": "One launch."})
GroupDocument = defstruct(
    "GroupDocument",
    [*_RESULT, *_fields("group", Group), ("details", _DETAILS, UNSET)],
    namespace={"__doc__": "The launches of one kernel together, from sums, and their spread."},
)


class ProfiledDocument(Struct, kw_only=True):
    """How much was read."""

    launches: int
    groups: int
    duration_s: Number


class AnalysisDocument(Struct, kw_only=True):
    """All of an analysis."""

    schema: str
    version: Annotated[str, about("of roofline")]
    profiled: Annotated[
        ProfiledDocument,
        about("all that was read, before any filter"),
    ]
    merged: Annotated[bool, about("whether kernels are summed over files")]
    filters: Annotated[tuple[str, ...], about("options that left something out, as they are typed")]
    sources: list[SourceDocument]
    answer: Annotated[
        list[NoteDocument],
        about("the answer in a sentence or two: where the time is, what to gain"),
    ]
    timeline: Annotated[
        JoinedDocument | UnsetType,
        about(
            "with --timeline: profiled kernels by what the step gains, and what could not be joined"
        ),
    ] = UNSET
    launches: Annotated[list[LaunchDocument], about("in file order")]  # type: ignore[valid-type]
    groups: Annotated[
        list[GroupDocument],  # type: ignore[valid-type]
        about(
            "launches of one kernel (same file, name, grid, block, device) summed, in the order "
            "asked for; where files are merged, of all files"
        ),
    ]


def render(view: Analysis | Chosen) -> str:
    """All of ``view`` as JSON text: launches in file order, kernels in the order chosen."""
    return "".join(chunks(view))


def chunks(
    view: Analysis | Chosen,
    joined: Joined | None = None,
    details: Mapping[int, Details] | None = None,
) -> Iterator[str]:
    """The text of ``render`` piece by piece, so that a large one is never held whole.

    ``joined`` is the analysis with a timeline, where there is one; ``details`` are those of
    kernels, by their places in the analysis. Each launch and each kernel is
    on a line of its own.
    """
    part = chosen(view)
    head = AnalysisDocument(
        schema=SCHEMA,
        version=__version__,
        profiled=ProfiledDocument(
            launches=part.total_launches, groups=part.total_groups, duration_s=part.total_s
        ),
        merged=part.analysis.merged,
        filters=part.filters,
        sources=[
            SourceDocument(
                path=last_part(s.path),
                launches=s.launches,
                notes=note_documents(s.notes),
            )
            for s in part.analysis.sources
        ],
        answer=note_documents(outlook(part)),
        timeline=UNSET if joined is None else joined_document(joined),
        launches=[],
        groups=[],
    )
    pairs = zip(part.analysis.results, part.shares, strict=True)
    rows = {
        "launches": (_document(LaunchDocument, r, share) for r, share in pairs),
        "groups": (
            _group(g, UNSET if details is None else details.get(place, UNSET))
            for place, g in enumerate(part.analysis.groups)
        ),
    }
    separator = "{"
    for key in AnalysisDocument.__struct_fields__:
        value = getattr(head, key)
        if value is UNSET:
            continue
        yield f'{separator}"{key}": '
        separator = ",\n"
        if key in rows:
            yield from _array(rows[key])
        else:
            yield text(value)
    yield "}\n"


def _getter(key: str) -> Callable[[Result], Any]:
    if key in _MADE:
        return _MADE[key][1]
    return attrgetter(f"{'measurement' if hasattr(Measurement, key) else 'verdict'}.{key}")


_GETTERS = {key: _getter(key) for key, _ in _RESULT if key != "share"}


def _document(kind: type[Struct], result: Result, share: float | None, **more: Any) -> Struct:
    return kind(share=share, **{key: get(result) for key, get in _GETTERS.items()}, **more)


def _group(group: Group, details: Details | UnsetType) -> Struct:
    own = {key: getattr(group, key) for key in _TABLE["group"]}
    return _document(GroupDocument, group.result, group.share, **own, details=details)


def _device(m: Measurement) -> DeviceDocument:
    device = {field.name: getattr(m.device, field.name) for field in fields(Device)}
    return DeviceDocument(**device, sm_clock_hz=m.sm_clock_hz, dram_clock_hz=m.dram_clock_hz)


def _settings(said: Mapping[str, str]) -> dict[str, str]:
    return {key: said[key] for key in _SETTINGS if key in said}


def _cause(result: Result, one: Cause) -> CauseDocument:
    return CauseDocument(
        code=one.code,
        promise=one.promise,
        gain=one.gain,
        count=play(entry_of(one)).count or None,
        text=said.cause_text(result, one),
    )


def _peaks(peaks: PeakSet) -> PeaksDocument:
    kinds = peaks.of_kind()
    rates = {
        rate: {p.kind: value for p in kinds if (value := getattr(p, rate)) is not None}
        for rate in _RATES
    }
    keys = dict.fromkeys(key for p in kinds for key in p.operations_per_s)
    operations = {
        key: {p.kind: p.operations_per_s[key] for p in kinds if key in p.operations_per_s}
        for key in keys
    }
    return PeaksDocument(**rates, operations_per_s=operations)


def _array(items: Iterable[Struct]) -> Iterator[str]:
    separator = "[\n"
    for item in items:
        yield separator + text(item)
        separator = ",\n"
    yield "[]" if separator == "[\n" else "]"
