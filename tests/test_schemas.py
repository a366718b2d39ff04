"""The JSON Schemas that are shipped are those of the documents' types."""

from __future__ import annotations

import json

import jsonschema
import pytest

from scripts.make_schemas import DOCUMENTS, FOLDER, text

FILES = pytest.mark.parametrize("file", DOCUMENTS)


@FILES
def test_nothing_is_left_to_write(file: str):
    assert (FOLDER / file).read_text("utf-8") == text(file), "python scripts/make_schemas.py"


@FILES
def test_it_is_a_schema(file: str):
    jsonschema.Draft202012Validator.check_schema(json.loads(text(file)))
