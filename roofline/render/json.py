"""The JSON ``roofline.analysis/1``: its documents, from which its schema is made, and its text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any

from msgspec import UnsetType

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
    Source,
    Unread,
    Verdict,
)
from roofline.outlook import outlook
from roofline.playbook import entry_of, held, play
from roofline.render.documents import (
    Documents,
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
_RATES = ("dram_bytes_per_s", "l2_bytes_per_s", "l1_bytes_per_s")

ByKind = Annotated[dict[str, float], about("kind of peak -> value; the kinds are never mixed")]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceDocument(Device):
    """The GPU with the clocks that were measured."""

    sm_clock_hz: Annotated[Number, about("measured")]
    dram_clock_hz: Annotated[Number, about("measured")]


_DOCUMENTS = Documents(
    Path(__file__).with_suffix(".toml"),
    units=" ".join(UNITS),
    parts=" ".join(PARTS),
    settings=", ".join(_SETTINGS),
)
_document = _DOCUMENTS.type
_document("SourceDocument", Source)
_document("UnreadDocument", Unread)
_CAUSE: Any = _document("CauseDocument", Cause, count=Text, text=str)
_PEAKS = _document(
    "PeaksDocument", **dict.fromkeys(_RATES, ByKind), operations_per_s=dict[str, ByKind]
)
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
    "co_limited": (bool, attrgetter("verdict.co_limited")),
    "cause_text": (Text, said.cause),
    "confidence_reasons": (tuple[str, ...], said.confidence_reasons),
    "causes": (list[_CAUSE], lambda r: [_cause(r, one) for one in r.verdict.causes]),
    "context": (Text, said.context),
    "claim": (str, said.claim),
    "hint": (str, said.hint),
    "refute": (str, said.refute),
    "try_first": (tuple[str, ...], said.try_first),
    "avoid": (tuple[str, ...], said.avoid),
    "peaks": (_PEAKS, lambda r: _peaks(r.peaks)),
    "peak_sources": (dict[str, str], lambda r: {p.kind: p.source for p in r.peaks.of_kind()}),
    "spec": (Text, attrgetter("peaks.spec")),
    "missing": (tuple[Missing, ...], missing_of),
}


_types = {key: hint for key, (hint, _) in _MADE.items()} | {"share": Number}
_LAUNCH: Any = _document("LaunchDocument", Measurement, Verdict, **_types)
_GROUP: Any = _document(
    "GroupDocument", Group, Measurement, Verdict, **_types, details=Details | UnsetType
)
AnalysisDocument = _document(
    "AnalysisDocument",
    Analysis,
    schema=str,
    version=str,
    profiled=_document("ProfiledDocument", launches=int, groups=int, duration_s=Number),
    filters=tuple[str, ...],
    answer=list[NoteDocument],
    timeline=JoinedDocument | UnsetType,
    launches=list[_LAUNCH],
    groups=list[_GROUP],
)


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
    analysis = part.analysis
    document = {
        "schema": SCHEMA,
        "version": __version__,
        "profiled": {
            "launches": part.total_launches,
            "groups": part.total_groups,
            "duration_s": part.total_s,
        },
        "merged": analysis.merged,
        "filters": part.filters,
        "sources": [
            {"path": last_part(s.path), "launches": s.launches, "notes": note_documents(s.notes)}
            for s in analysis.sources
        ],
        "unread": analysis.unread,
        "answer": note_documents(outlook(part)),
        **({} if joined is None else {"timeline": joined_document(joined)}),
        "launches": map(_launch, analysis.results, part.shares),
        "groups": (_group(g, (details or {}).get(i)) for i, g in enumerate(analysis.groups)),
    }
    separator = "{"
    for key, value in document.items():
        yield f'{separator}"{key}": '
        separator = ",\n"
        yield from _array(value) if isinstance(value, Iterator) else (text(value),)
    yield "}\n"


def _getter(key: str) -> Callable[[Result], Any]:
    if key in _MADE:
        return _MADE[key][1]
    return attrgetter(f"{'measurement' if hasattr(Measurement, key) else 'verdict'}.{key}")


_GETTERS = {key: _getter(key) for key in _DOCUMENTS.keys("LaunchDocument") if key != "share"}
_OF_GROUP = [key for key in _DOCUMENTS.table["GroupDocument"]["keys"] if key != "details"]


def _launch(result: Result, share: float | None) -> dict[str, Any]:
    with held():
        return {key: get(result) for key, get in _GETTERS.items()} | {"share": share}


def _group(group: Group, details: Details | None) -> dict[str, Any]:
    own = {key: getattr(group, key) for key in _OF_GROUP}
    told = {} if details is None else {"details": details}
    return _launch(group.result, group.share) | own | told


def _device(m: Measurement) -> DeviceDocument:
    device = {field.name: getattr(m.device, field.name) for field in fields(Device)}
    return DeviceDocument(**device, sm_clock_hz=m.sm_clock_hz, dram_clock_hz=m.dram_clock_hz)


def _settings(said: Mapping[str, str]) -> dict[str, str]:
    return {key: said[key] for key in _SETTINGS if key in said}


def _cause(result: Result, one: Cause) -> dict[str, Any]:
    own = {"code": one.code, "promise": one.promise, "gain": one.gain}
    count = play(entry_of(one)).count or None
    return own | {"count": count, "text": said.cause_text(result, one)}


def _peaks(peaks: PeakSet) -> dict[str, Any]:
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
    return {**rates, "operations_per_s": operations}


def _array(items: Iterable[Any]) -> Iterator[str]:
    separator = "[\n"
    for item in items:
        yield separator + text(item)
        separator = ",\n"
    yield "[]" if separator == "[\n" else "]"
