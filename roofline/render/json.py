"""The JSON ``roofline.analysis/1``: its documents, from which its schema is made, and its text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, TypeVar

from msgspec import UNSET, Struct, UnsetType

from roofline import __version__
from roofline.model import (
    Action,
    Analysis,
    Bound,
    Confidence,
    Details,
    Device,
    Dim3,
    Group,
    Kind,
    Measurement,
    Missing,
    PeakSet,
    Result,
    Stall,
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
_RATES = ("dram_bytes_per_s", "l2_bytes_per_s", "l1_bytes_per_s")

_T = TypeVar("_T")


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


class ResultDocument(Struct, kw_only=True):
    """What launches and kernels have in common: identity, measurement, verdict, evidence."""

    source: Annotated[str, about("file name, without folders")]
    range: Annotated[int, about("range of the file, from 0")]
    index: Annotated[int, about("result within the range, from 0")]
    kind: Kind
    name: Annotated[str, about("function name")]
    demangled: Annotated[str, about("full C++ signature where there is one")]
    grid: Dim3 | None
    block: Dim3 | None
    device: DeviceDocument
    process: Annotated[int | None, about("process id in the report")]
    nvtx: Annotated[tuple[str, ...], about("open NVTX ranges, outermost first")]
    sm_count: Annotated[
        int | None, about("SMs that the launch was given, where they are not all of the device")
    ]
    count: Annotated[int, about("launches that the numbers are sums of")]
    ncu_version: Annotated[Text, about("of the ncu that captured")]
    settings: Annotated[
        dict[str, str],
        about(f"what ncu was told: {', '.join(_SETTINGS)}"),
    ]
    duration_s: Annotated[Number, about("under the profiler")]
    dram_bytes: Number
    dram_read_bytes: Number
    dram_write_bytes: Number
    l2_bytes: Number
    l1_bytes: Number
    operations: Annotated[
        Mapping[str, float],
        about("operations by precision, an FMA is two; a key that is absent was not measured"),
    ]
    unmeasured: Annotated[
        tuple[str, ...],
        about("operations that ran but were not counted; then no total and no intensity exist"),
    ]
    integer_operations: Annotated[
        Number, about("of threads, a multiply-add is two; no FLOPs, so in no total")
    ]
    accumulate: Annotated[
        Mapping[str, str], about("tensor key -> accumulator of most of its operations")
    ]
    tensor_path: Annotated[Text, about("mma_sync or wgmma where the opcodes tell")]
    arithmetic_intensity: Annotated[
        Number,
        about("all operations over DRAM bytes; null where either is missing or the bytes are 0"),
    ]
    dram_bytes_per_s: Number
    operations_per_s: Number
    utilization: Annotated[
        dict[str, float],
        about(
            "unit -> % of peak over elapsed time, largest member of each unit; may "
            f"exceed 100. Units: {' '.join(UNITS)}"
        ),
    ]
    utilization_parts: Annotated[
        dict[str, str],
        about(f"unit -> its part that is so busy, where that is known: {' '.join(PARTS)}"),
    ]
    waves: Number
    occupancy_percent: Number
    theoretical_occupancy_percent: Number
    occupancy_limiter: Text
    registers_per_thread: Number
    shared_memory_bytes: Annotated[Number, about("per block")]
    sm_active_percent: Number
    stalls: Annotated[tuple[Stall, ...], about("share is of all stalled warp time, 0 to 1")]
    passes: Annotated[Number, about("times that the kernel ran to collect this")]
    provenance: Annotated[
        dict[str, str],
        about("quantity -> how it was read; utilization.UNIT -> metric"),
    ]
    notes: list[NoteDocument]
    bound: Bound
    limiter: Annotated[Text, about("unit that limits, for bandwidth and compute")]
    limiter_percent: Annotated[Number, about("utilisation of the busiest unit")]
    nearest: Annotated[Text, about("busiest unit, whatever the bound")]
    co_limited: Annotated[bool, about("a second unit is within the balance")]
    cause: Annotated[Text, about("code of the first of causes")]
    cause_text: Text
    confidence: Confidence
    confidence_reasons: tuple[str, ...]
    floor_s: Annotated[
        Number, about("duration at the nearest ceiling: a bound, under the profiler")
    ]
    next_limiter: Annotated[Text, about("unit that limits once the nearest is relieved")]
    next_floor_s: Annotated[Number, about("duration at that one")]
    causes: Annotated[list[CauseDocument], about("what is proven and matters, most gain first")]
    waste_floor_s: Annotated[
        Number, about("duration without the work that can go; null where no waste is named")
    ]
    waste_limiter: Annotated[Text, about("unit that limits then")]
    gain: Annotated[
        Number, about("times faster at most, 10 for more; null where nothing predicts it")
    ]
    gain_by: Annotated[Text, about("what that rests on: waste, work, occupancy, idle or headroom")]
    evidence: Annotated[Mapping[str, float], about("what causes are judged by, of the mean launch")]
    dominant: Annotated[Text, about("operation key that takes most time at peak")]
    ridge: Annotated[Number, about("operations per byte where the roofs of dominant and DRAM meet")]
    ridge_side: Annotated[Text, about("side of the ridge that the kernel is on")]
    ceiling_operations_per_s: Annotated[
        Number, about("the lower of both roofs at the kernel's intensity")
    ]
    ceiling_percent: Annotated[Number, about("of that ceiling reached")]
    roof_percent: Annotated[
        Mapping[str, float], about("operation key -> % of its peak rate reached")
    ]
    action: Annotated[Action, about("whose work helps: fix, caller of a library, or leave")]
    action_reason: Annotated[str, about("near_ceiling, library, initialisation or empty")]
    context: Annotated[Text, about("why intensity and verdict disagree, where they do")]
    claim: str
    hint: str
    refute: str
    try_first: tuple[str, ...]
    avoid: tuple[str, ...]
    peaks: PeaksDocument
    peak_sources: Annotated[dict[str, str], about("kind of peak -> where its numbers come from")]
    spec: Annotated[
        Text,
        about("entry of the hardware registry that the datasheet peaks come from"),
    ]
    missing: Annotated[tuple[Missing, ...], about("flag is the ncu option that collects it")]
    share: Annotated[Number, about("of the profiled time of its file and device, 0 to 1")]


class LaunchDocument(ResultDocument, kw_only=True):
    """One launch."""


class GroupDocument(ResultDocument, kw_only=True):
    """The launches of one kernel together, from sums, and their spread."""

    launches: Annotated[tuple[int, ...], about("positions in this document")]
    total_s: Number
    min_s: Number
    max_s: Number
    bounds: Annotated[Mapping[str, int], about("how the launches were judged one by one")]
    details: Annotated[
        Details | UnsetType,
        about("with --explain: instructions of the longest launch, and NVIDIA's own rule results"),
    ] = UNSET


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
    launches: Annotated[list[LaunchDocument], about("in file order")]
    groups: Annotated[
        list[GroupDocument],
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


# What a document copies as it stands; the rest is said in ``_document``.
_MEASURED = [key for key in ResultDocument.__struct_fields__ if hasattr(Measurement, key)]
_JUDGED = [key for key in ResultDocument.__struct_fields__ if hasattr(Verdict, key)]


def _document(kind: type[_T], result: Result, share: float | None, **more: Any) -> _T:
    m, v = result.measurement, result.verdict
    copied = {key: getattr(m, key) for key in _MEASURED} | {key: getattr(v, key) for key in _JUDGED}
    device = {field.name: getattr(m.device, field.name) for field in fields(Device)}
    own = {
        "source": last_part(m.source),
        "device": DeviceDocument(
            **device, sm_clock_hz=m.sm_clock_hz, dram_clock_hz=m.dram_clock_hz
        ),
        "settings": {key: m.settings[key] for key in _SETTINGS if key in m.settings},
        "utilization": {use.unit: use.percent for use in m.units},
        "utilization_parts": {use.unit: use.part for use in m.units if use.part},
        "provenance": dict(m.provenance) | {f"utilization.{u.unit}": u.metric for u in m.units},
        "notes": note_documents(m.notes),
        "peaks": _peaks(result.peaks),
        "peak_sources": {p.kind: p.source for p in result.peaks.of_kind()},
        "spec": result.peaks.spec,
        "missing": missing_of(result),
        "share": share,
        "cause_text": said.cause(result),
        "causes": [
            CauseDocument(
                code=one.code,
                promise=one.promise,
                gain=one.gain,
                count=play(entry_of(one)).count or None,
                text=said.cause_text(result, one),
            )
            for one in v.causes
        ],
        "confidence_reasons": said.confidence_reasons(result),
        "context": said.context(result),
        "claim": said.claim(result),
        "hint": said.hint(result),
        "refute": said.refute(result),
        "try_first": said.try_first(result),
        "avoid": said.avoid(result),
    }
    return kind(**copied | own | more)


def _group(group: Group, details: Details | UnsetType) -> GroupDocument:
    return _document(
        GroupDocument,
        group.result,
        group.share,
        launches=group.launches,
        total_s=group.total_s,
        min_s=group.min_s,
        max_s=group.max_s,
        bounds=group.bounds,
        details=details,
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
