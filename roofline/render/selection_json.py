"""JSON of timelines: ``roofline.selection/1``, and what joins an analysis.

Documents are filled from the fields and properties of the same name of ``roofline.timeline.model``,
whose types they have, too. Which keys there are, and what the schema says of each, is in
``selection_json.toml``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from roofline import __version__
from roofline.render.documents import Documents, Text, filled, note_documents, text
from roofline.render.selection import LEFT_OUT, command, job_rank
from roofline.timeline.join import Coverage, Joined, JoinedKernel
from roofline.timeline.model import (
    Format,
    IdleCause,
    Job,
    KernelShare,
    ProfileRequest,
    Selection,
    StepUse,
    TimelineDevice,
    Use,
    WhatIf,
)

SCHEMA = "roofline.selection/1"
DESCRIPTION = (
    "What `roofline select --format json` writes. SI units, in the names; null is not known. "
    "Times are unions of intervals, never sums; devices are never added up. Within /1 keys are "
    "added, never renamed or removed."
)
_DOCUMENTS = Documents(Path(__file__).with_suffix(".toml"))
document_of, _MADE = _DOCUMENTS.type, _DOCUMENTS.made

for _name, _of, _types in (
    ("UseDocument", Use, {}),
    ("StepDocument", StepUse, {"left_out": Text}),
    ("IdleDocument", IdleCause, {}),
    ("ShareDocument", KernelShare, {}),
    ("WhatIfDocument", WhatIf, {"moves": list[str]}),
    ("JobDocument", Job, {}),
):
    document_of(_name, _of, **_types)
_GPU = {"name": Text, "compute_capability": Text, "sm_count": int | None, "judged": int | None}
document_of("TimelineDeviceDocument", TimelineDevice, **_GPU)
_named: Any = document_of("KernelIdentity", KernelShare)
document_of("RequestDocument", ProfileRequest, command=str, kernels=list[_named])
TimelineFile = document_of("TimelineFile", path=str, format=Format)
SelectionDocument = document_of(
    "SelectionDocument", Selection, schema=str, version=str, source=TimelineFile
)
document_of("CoverageDocument", Coverage)
_JoinedShare = document_of(
    "JoinedShareDocument", JoinedKernel, KernelShare, launches=tuple[int, ...]
)
if TYPE_CHECKING:
    JoinedDocument: TypeAlias = Any
else:
    _own = {"file": str, "device": int, "kernels": list[_JoinedShare]}
    _own |= dict.fromkeys(("unmatched", "ambiguous"), list[tuple[int, ...]])
    JoinedDocument = document_of("JoinedDocument", Joined, **_own)


def render(selection: Selection) -> str:
    """``selection`` as JSON text; keys hold SI units, ``null`` is not known."""
    return text(document(selection), indent=1) + "\n"


def document(selection: Selection) -> Any:
    """``selection`` as the schema has it."""
    moved, rank = selection.what_if, job_rank(selection)
    return filled(
        SelectionDocument,
        selection,
        schema=SCHEMA,
        version=__version__,
        source=TimelineFile(path=selection.file, format=selection.format),
        devices=[_device(device) for device in selection.devices],
        what_if=moved and filled(_MADE[WhatIf], moved, moves=[m.text for m in moved.moves]),
        requests=[
            filled(
                _MADE[ProfileRequest], r, command=command(r, rank), notes=note_documents(r.notes)
            )
            for r in selection.requests
        ],
        notes=note_documents(selection.notes),
    )


def _device(device: TimelineDevice) -> Any:
    gpu = device.device
    return filled(
        _MADE[TimelineDevice],
        device,
        name=gpu.name,
        compute_capability=gpu.compute_capability,
        sm_count=gpu.sm_count,
        judged=device.judged and device.judged.number,
        steps=[
            filled(_MADE[StepUse], step, left_out=step.left_out and LEFT_OUT[step.left_out])
            for step in device.steps
        ],
    )


def joined_document(joined: Joined) -> JoinedDocument:
    """What the JSON of an analysis says under "timeline"."""
    return filled(
        JoinedDocument,
        joined,
        file=joined.selection.file,
        device=joined.selection.device,
        kernels=[
            filled(
                _JoinedShare,
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
