"""JSON of timelines: ``roofline.selection/1``, and what joins an analysis.

Documents are filled from the fields and properties of the same name of ``roofline.timeline.model``,
whose types they have, too. Which keys there are, and what the schema says of each, is in
``selection_json.toml``.
"""

from __future__ import annotations

from dataclasses import make_dataclass
from functools import cache, reduce
from operator import or_
from pathlib import Path
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    TypeAlias,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec

from roofline import __version__
from roofline.model import Note
from roofline.render.documents import NoteDocument, Text, about, filled, note_documents, text
from roofline.render.selection import LEFT_OUT, command
from roofline.timeline.join import Joined, JoinedKernel
from roofline.timeline.model import (
    Format,
    IdleCause,
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
_TABLE = msgspec.toml.decode(Path(__file__).with_suffix(".toml").read_bytes())
_MADE: dict[Any, Any] = {Note: NoteDocument}  # a value of the model -> the document of it


def _document(called: str, /, *of: type, **types: Any) -> Any:
    """The type of a document about values ``of`` the model; ``types`` are not as there."""
    row = _TABLE[called]
    keys = row["keys"] | (_TABLE[row["base"]]["keys"] if "base" in row else {})
    fields = []
    for key, said in keys.items():
        hint = types.get(key) or _in_document(next(_hint(c, key) for c in of if hasattr(c, key)))
        fields.append((key, Annotated[hint, about(said)] if said else hint))
    own = {"__doc__": row["about"], "__module__": __name__}
    made = make_dataclass(called, fields, frozen=True, kw_only=True, namespace=own)
    for model in of[:1]:
        _MADE.setdefault(model, made)
    return made


_hints = cache(get_type_hints)


def _hint(of: type, key: str) -> Any:
    """The type of a field or a property."""
    known = _hints(of)
    return known[key] if key in known else get_type_hints(getattr(of, key).fget)["return"]


def _in_document(hint: Any) -> Any:
    """The same of documents in place of values."""
    if hint in _MADE:
        return _MADE[hint]
    if (origin := get_origin(hint)) is None or not (inner := get_args(hint)):
        return hint
    made = tuple(_in_document(one) for one in inner)
    return hint if made == inner else reduce(or_, made) if origin is UnionType else origin[made]


for _name, _of, _types in (
    ("UseDocument", Use, {}),
    ("StepDocument", StepUse, {"left_out": Text}),
    ("IdleDocument", IdleCause, {}),
    ("ShareDocument", KernelShare, {}),
    ("WhatIfDocument", WhatIf, {"moves": list[str]}),
):
    _document(_name, _of, **_types)
_GPU = {"name": Text, "compute_capability": Text, "sm_count": int | None, "judged": int | None}
_document("TimelineDeviceDocument", TimelineDevice, **_GPU)
_named: Any = _document("KernelIdentity", KernelShare)
_document("RequestDocument", ProfileRequest, command=str, kernels=list[_named])
TimelineFile = _document("TimelineFile", path=str, format=Format)
SelectionDocument = _document(
    "SelectionDocument", Selection, schema=str, version=str, source=TimelineFile
)
_JoinedShare = _document("JoinedShareDocument", JoinedKernel, KernelShare, launches=tuple[int, ...])
if TYPE_CHECKING:
    JoinedDocument: TypeAlias = Any
else:
    _own = {"file": str, "device": int, "kernels": list[_JoinedShare]}
    _own |= dict.fromkeys(("unmatched", "ambiguous"), list[tuple[int, ...]])
    JoinedDocument = _document("JoinedDocument", Joined, **_own)


def render(selection: Selection) -> str:
    """``selection`` as JSON text; keys hold SI units, ``null`` is not known."""
    return text(document(selection), indent=1) + "\n"


def document(selection: Selection) -> Any:
    """``selection`` as the schema has it."""
    moved = selection.what_if
    return filled(
        SelectionDocument,
        selection,
        schema=SCHEMA,
        version=__version__,
        source=TimelineFile(path=selection.file, format=selection.format),
        devices=[_device(device) for device in selection.devices],
        what_if=moved and filled(_MADE[WhatIf], moved, moves=[m.text for m in moved.moves]),
        requests=[
            filled(_MADE[ProfileRequest], r, command=command(r), notes=note_documents(r.notes))
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
