"""Write the JSON Schemas that the package ships, from the types that the JSON is made of.

python scripts/make_schemas.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from roofline.render import comparison_json as comparison
from roofline.render import history, step_change
from roofline.render import json as analysis
from roofline.render import selection_json as selection

FOLDER = Path(__file__).parents[1] / "roofline" / "schemas"
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
        comparison.document_type(),
        comparison.SCHEMA,
        comparison.DESCRIPTION,
    ),
}


def schema(document: type, name: str, description: str) -> dict[str, Any]:
    """The JSON Schema of a document's type."""
    (root,), components = msgspec.json.schema_components([document], ref_template="#/$defs/{name}")
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
