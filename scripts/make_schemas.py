"""Write the JSON Schemas that the package ships, from the types that the JSON is made of.

python scripts/make_schemas.py
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import fields, is_dataclass, make_dataclass
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from roofline.capture.doctor import DoctorCheck
from roofline.compare.baseline import Baseline
from roofline.compare.model import (
    CauseCode,
    Change,
    Comparison,
    GateResult,
    KernelPair,
    Side,
    Unpaired,
)
from roofline.model import Measurement, Note, Verdict
from roofline.render import comparison_json as comparison
from roofline.render import history, step_change
from roofline.render import json as analysis
from roofline.render import selection_json as selection
from roofline.wall_time import ProgramTimes

FOLDER = Path(__file__).parents[1] / "roofline" / "schemas"
# Object -> field -> what it is, where no document's type says it.
WORDS = tomllib.loads(Path(__file__).with_name("schema_words.toml").read_text("utf-8"))

# --- the types of a comparison, which is written as the fields of its values --------------------


@cache
def _document(cls: type) -> type[Any]:
    """A struct with the fields that the document has of ``cls``."""
    known = get_type_hints(cls)
    hints = {item.name: known[item.name] for item in fields(cls)}
    if cls is Side:
        hints = {name: _hint(name) for name in comparison.SIDE} | {"device": str | None}
    elif cls is Unpaired:
        hints = {name: _hint(name) for name in comparison.UNPAIRED} | get_type_hints(cls)
        del hints["side"]
    elif cls is KernelPair:
        hints |= {
            "per": Literal["launch", "total"],
            "cause": CauseCode,
            "causes_gone": tuple[str, ...],
            "causes_new": tuple[str, ...],
            "changes": tuple[Change, ...],
            "sentence": str,
            "doubt": str | None,
        }
    elif cls is Comparison:
        hints = {"schema": Literal["roofline.comparison/1"], "version": str} | hints
        hints["gain"] = tuple[float, float] | None
    elif cls is Note:
        hints = {"code": str, "text": str}
    typed = [(name, _in_document(hint)) for name, hint in hints.items()]
    return msgspec.defstruct(cls.__name__, typed, namespace={"__doc__": cls.__doc__})


def _hint(name: str) -> Any:
    """The type of a figure of a side."""
    if name == "cause_text":
        return str | None
    of = next(c for c in (Side, Measurement, Verdict) if hasattr(c, name))
    hints = get_type_hints(of)
    return hints[name] if name in hints else get_type_hints(getattr(of, name).fget)["return"]


def _in_document(hint: Any) -> Any:
    """The type that the document has in place of ``hint``."""
    if hint is Note:
        return str
    if is_dataclass(hint) and isinstance(hint, type):
        return _document(hint)
    arguments = get_args(hint)
    if get_origin(hint) is tuple and arguments[0] is Note:
        return tuple[_document(Note), ...]  # type: ignore[misc]
    if get_origin(hint) in (None, Literal):
        return hint
    inner = tuple(map(_in_document, arguments))
    return Union[inner] if isinstance(hint, UnionType) else get_origin(hint)[inner]  # noqa: UP007


DOCTOR = msgspec.defstruct(
    "DoctorDocument",
    [
        ("schema", str),
        ("version", str),
        ("can_profile", bool),
        ("conclusion", str),
        ("checks", tuple[DoctorCheck, ...]),
    ],
)

TIME = make_dataclass(
    "TimeDocument",
    [("gates", tuple[_document(GateResult), ...], ())],  # type: ignore[misc]
    bases=(ProgramTimes,),
    frozen=True,
    kw_only=True,
)
WORDS[TIME.__name__] = WORDS[ProgramTimes.__name__]

# --- all documents ------------------------------------------------------------------------------

# File name -> the document's type, its name, and what it is.
DOCUMENTS: dict[str, tuple[type, str, str]] = {
    "analysis-1.schema.json": (
        analysis.AnalysisDocument,
        analysis.SCHEMA,
        analysis.DESCRIPTION,
    ),
    "selection-1.schema.json": (
        selection.SelectionDocument,
        selection.SCHEMA,
        selection.DESCRIPTION,
    ),
    "step-change-1.schema.json": (
        step_change.StepChangeDocument,
        step_change.SCHEMA,
        step_change.DESCRIPTION,
    ),
    "history-1.schema.json": (history.HistoryDocument, history.SCHEMA, history.DESCRIPTION),
    "comparison-1.schema.json": (
        _document(Comparison),
        comparison.SCHEMA,
        comparison.DESCRIPTION,
    ),
    "time-1.schema.json": (
        TIME,
        "roofline.time/1",
        "What `roofline time --json` writes. Within /1 keys are added, never renamed or removed.",
    ),
    "baseline-1.schema.json": (
        Baseline,
        "roofline.baseline/1",
        "What `roofline compare --update-baseline` writes. Keys of a later version are ignored.",
    ),
    "doctor-1.schema.json": (
        DOCTOR,
        "roofline.doctor/1",
        "What `roofline doctor --json` writes. Within /1 keys are added, never renamed or removed.",
    ),
}


def schema(document: type, name: str, description: str) -> dict[str, Any]:
    """The JSON Schema of a document's type."""
    (root,), components = msgspec.json.schema_components([document], ref_template="#/$defs/{name}")
    for component in components.values():  # the next release changes it
        component.get("properties", {}).get("version", {}).pop("default", None)
    for title in WORDS.keys() & components.keys():
        for field, words in WORDS[title].items():
            components[title]["properties"][field]["description"] = words
    whole = components.pop(root["$ref"].rpartition("/")[2])
    whole["properties"]["schema"] = {"const": name}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": name,
        "title": name,
        "description": description,
        **{key: value for key, value in whole.items() if key not in ("title", "description")},
        "$defs": components,
    }


def text(file: str) -> str:
    """The file as it must be."""
    return json.dumps(schema(*DOCUMENTS[file]), indent=2) + "\n"


if __name__ == "__main__":
    for file in DOCUMENTS:
        (FOLDER / file).write_text(text(file), encoding="utf-8")
