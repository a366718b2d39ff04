"""JSON of timelines: ``roofline.selection/1``, and what joins an analysis; types are the schema.

Fields are filled from the fields and properties of the same name of ``roofline.timeline.model``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from roofline import __version__
from roofline.model import Dim3
from roofline.render.documents import (
    NoteDocument,
    Number,
    Text,
    about,
    filled,
    note_documents,
    text,
)
from roofline.render.selection import LEFT_OUT, command
from roofline.timeline.join import Joined
from roofline.timeline.model import (
    Apart,
    Basis,
    Bounds,
    First,
    Format,
    GapBand,
    IdleGap,
    Job,
    Selection,
    StepExcess,
    Steps,
    StepSpread,
    TimelineDevice,
    Useful,
)

SCHEMA = "roofline.selection/1"
DESCRIPTION = (
    "What `roofline select --format json` writes. SI units, in the names; null is not known. "
    "Times are unions of intervals, never sums; devices are never added up. Within /1 keys are "
    "added, never renamed or removed."
)


_NULL = "null is no limit"


@dataclass(frozen=True, kw_only=True)
class ShareDocument:
    """One kernel of a timeline at one grid and block, or one kind of copy, and its bounds."""

    name: str
    base_name: str
    mangled: Text
    grid: Dim3 | None
    block: Dim3 | None
    instances: int
    instances_per_step: Number
    sm_coverage: Annotated[Number, about("SMs that can have a block: min(1, blocks / SMs)")]
    total_s: Annotated[float, about("in the steps that count")]
    kernel_share: Annotated[Number, about("of the sum of all kernels' times")]
    exposed_share: Annotated[Number, about("of the wall time: it ran and nothing else did")]
    wall_share: Annotated[Number, about("of the wall time: it ran")]
    replayed_share: Annotated[Number, about("of the time, saved at no cost with the host as is")]
    speedup_at_most: Annotated[
        Bounds, about("by replayed_share (else exposed_share), wall_share; null is no limit")
    ]
    apart: Annotated[Apart | None, about("why ncu cannot help with it")]
    chosen: bool
    family: Annotated[Text, about("kind of work by its name: gemm, attention, norm and so on")]
    source: Annotated[Text, about("the operator that launched it most often")]
    useful: Annotated[Useful | None, about("work of its operators, where all are known")]


@dataclass(frozen=True, kw_only=True)
class UseDocument:
    """How a device spent a stretch of time; "exposed": while nothing else ran."""

    wall_s: float
    kernel_s: Annotated[float, about("union of kernels, communication included")]
    compute_s: Annotated[float, about("union of kernels without communication")]
    communication_s: Annotated[float, about("union")]
    exposed_communication_s: float
    copy_s: Annotated[float, about("union of copies and sets")]
    exposed_copy_s: float
    busy_s: Annotated[float, about("union of everything")]
    idle_s: float
    busy_share: Annotated[float, about("of wall_s")]
    kernel_share: Annotated[float, about("kernel_s of wall_s")]
    without_gaps_at_most: Annotated[Number, about("bound: 1 / busy_share")]
    without_kernels_at_most: Annotated[Number, about(f"bound: 1 / (1 - kernel_share); {_NULL}")]
    without_compute_at_most: Annotated[
        Number, about(f"bound, communication stays: 1 / (1 - compute_s / wall_s); {_NULL}")
    ]


@dataclass(frozen=True, kw_only=True)
class _StepHead:
    number: Annotated[int, about("in order of time, from 1")]
    start_s: Annotated[float, about("since the beginning of the recording")]
    left_out: Annotated[Text, about("why it does not count")]
    launches: int


@dataclass(frozen=True, kw_only=True)
class StepDocument(UseDocument, _StepHead):
    """One step and how it was used."""


@dataclass(frozen=True, kw_only=True)
class IdleDocument:
    """Idle time of one class in the step that is judged."""

    code: Annotated[str, about("stable, or the key of a class of one's own")]
    title: str
    total_s: float
    share: Annotated[float, about("of the step")]
    gaps: int
    longest: IdleGap
    without_at_most: Annotated[Number, about("bound: all of it removed; null is no limit")]
    hypothesis: Annotated[str, about("what may be the reason; for people")]
    check: Annotated[str, about("what would confirm it")]
    remedy: str


@dataclass(frozen=True, kw_only=True)
class TimelineDeviceDocument:
    """How one GPU was used."""

    index: int
    name: Text
    compute_capability: Text
    sm_count: int | None
    first: Annotated[First | None, about("what is worth most, of the judged step")]
    judged: Annotated[int | None, about("number of the step of median length, or of --step-at")]
    host_paced: Annotated[bool | None, about("the GPU waits for the host, never the host for it")]
    launch_bound: Annotated[bool | None, about("idle in short gaps without another cause")]
    host_wait_s: Annotated[Number, about("in synchronising calls and blocking copies")]
    sm_coverage: Annotated[Number, about("of compute kernels, weighted with their time")]
    small_grid_share: Annotated[Number, about("of kernel time in grids of fewer blocks than SMs")]
    idle: Annotated[list[IdleDocument], about("of the judged step, by cause, largest first")]
    twice_saves: Annotated[
        Bounds | None, about("of the time, by kernels twice as fast: replay, Amdahl's law")
    ]
    spread: Annotated[StepSpread | None, about("lengths of the counted steps")]
    cold: Annotated[StepExcess | None, about("the first step against the median one")]
    slow: Annotated[StepExcess | None, about("the slowest steps against the median one")]
    gap_bands: Annotated[list[GapBand], about("idle stretches of the counted steps by length")]
    steady: Annotated[bool | None, about("all counted steps launched the same kernels")]
    use: UseDocument | None
    host_late_s: Annotated[Number, about("idle time before launches that came too late")]
    span_s: Annotated[Number, about("from the first event of the counted steps to their last")]
    span_idle_s: Annotated[Number, about("idle time within the span")]
    steps: list[StepDocument]
    gaps: list[IdleGap]
    useful: Annotated[list[Useful], about("work of operators by their shapes, most time first")]
    kernels: Annotated[list[ShareDocument], about("largest exposed share first")]
    apart: Annotated[list[ShareDocument], about("what ncu cannot help with")]


@dataclass(frozen=True, kw_only=True)
class KernelIdentity:
    """A kernel that a request is about."""

    name: str
    grid: Dim3 | None
    block: Dim3 | None


@dataclass(frozen=True, kw_only=True)
class RequestDocument:
    """One run of ``roofline profile``."""

    command: Annotated[str, about("quoted for a shell; PROGRAM stands for the program")]
    kernels: list[KernelIdentity]
    names: list[str]
    name_base: Literal["function", "mangled"]
    nvtx: Text
    launch_skip: int | None
    launch_count: int
    per_config: bool
    basis: Annotated[Basis, about("how sure it is that this profiles the launch that was seen")]
    notes: list[NoteDocument]


@dataclass(frozen=True, kw_only=True)
class TimelineFile:
    """The timeline."""

    path: Annotated[str, about("file name, without folders")]
    format: Format


@dataclass(frozen=True, kw_only=True)
class WhatIfDocument:
    """A step on average before and after moves, played again with the host as it was."""

    moves: list[str]
    speedup: Annotated[float, about("by the replay")]
    at_most: Annotated[Bounds, about("by Amdahl's law: of time alone, of all; null is no limit")]
    before: UseDocument
    after: UseDocument
    first_before: First | None
    first_after: First | None


@dataclass(frozen=True, kw_only=True)
class SelectionDocument:
    """All of a selection."""

    schema: str
    version: Annotated[str, about("of roofline")]
    source: TimelineFile
    steps: Annotated[Steps, about("what the figures cover")]
    truncated: Annotated[bool, about("events are missing at the end: no wall time, no bounds")]
    device: Annotated[int, about("the device whose kernels are chosen from")]
    devices: list[TimelineDeviceDocument]
    what_if: WhatIfDocument | None
    requests: list[RequestDocument]
    job: Annotated[Job | None, about("ranks whose collectives were matched, over all files")]
    notes: list[NoteDocument]


def render(selection: Selection) -> str:
    """``selection`` as JSON text; keys hold SI units, ``null`` is not known."""
    return text(document(selection), indent=1) + "\n"


def document(selection: Selection) -> SelectionDocument:
    """``selection`` as the schema has it."""
    moved = selection.what_if
    return filled(
        SelectionDocument,
        selection,
        schema=SCHEMA,
        version=__version__,
        source=TimelineFile(path=selection.file, format=selection.format),
        devices=[_device(device) for device in selection.devices],
        what_if=moved and filled(WhatIfDocument, moved, moves=[m.text for m in moved.moves]),
        requests=[
            filled(RequestDocument, r, command=command(r), notes=note_documents(r.notes))
            for r in selection.requests
        ],
        notes=note_documents(selection.notes),
    )


def _device(device: TimelineDevice) -> TimelineDeviceDocument:
    gpu = device.device
    return filled(
        TimelineDeviceDocument,
        device,
        name=gpu.name,
        compute_capability=gpu.compute_capability,
        sm_count=gpu.sm_count,
        judged=device.judged and device.judged.number,
        steps=[
            filled(StepDocument, step, left_out=step.left_out and LEFT_OUT[step.left_out])
            for step in device.steps
        ],
    )


# --- with an analysis ---------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class JoinedShareDocument(ShareDocument):
    """A profiled kernel, and what reaching its nearest ceiling buys the step."""

    launches: Annotated[tuple[int, ...], about("positions in this document")]
    saved_at_most: Annotated[Bounds, about("of the step's time: by exposed_share, wall_share")]
    step_speedup_at_most: Annotated[Bounds, about("how many times faster the step gets")]
    executed_of_useful: Annotated[Number, about("operations counted over those asked for")]
    moved_of_compulsory: Annotated[Number, about("DRAM bytes over arguments and results once")]


@dataclass(frozen=True, kw_only=True)
class JoinedDocument:
    """Profiled kernels by what the step gains, and what could not be joined to the timeline."""

    file: str
    device: int
    kernels: list[JoinedShareDocument]
    unprofiled: list[ShareDocument]
    unmatched: Annotated[list[tuple[int, ...]], about("launches that it does not have")]
    ambiguous: Annotated[list[tuple[int, ...]], about("launches that could be several kernels")]


def joined_document(joined: Joined) -> JoinedDocument:
    """What the JSON of an analysis says under "timeline"."""
    return filled(
        JoinedDocument,
        joined,
        file=joined.selection.file,
        device=joined.selection.device,
        kernels=[
            filled(
                JoinedShareDocument,
                kernel.share,
                launches=kernel.group.launches,
                saved_at_most=kernel.saved_at_most,
                step_speedup_at_most=kernel.step_speedup_at_most,
                executed_of_useful=kernel.executed_of_useful,
                moved_of_compulsory=kernel.moved_of_compulsory,
            )
            for kernel in joined.kernels
        ],
        unmatched=[g.launches for g in joined.unmatched],
        ambiguous=[g.launches for g in joined.ambiguous],
    )
