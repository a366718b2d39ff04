"""The JSON Schemas that are shipped are those of the documents' types."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from roofline.capture.doctor import DoctorCheck, Status
from roofline.cli import cli
from scripts.make_schemas import DOCUMENTS, FOLDER, WORDS, text

FILES = pytest.mark.parametrize("file", DOCUMENTS)


@FILES
def test_nothing_is_left_to_write(file: str):
    assert (FOLDER / file).read_text("utf-8") == text(file), "python scripts/make_schemas.py"


@FILES
def test_every_object_that_is_named_is_there(file: str):
    made = text(file)
    named = set(re.findall(r'"#/\$defs/(\w+)"', made))

    assert named <= json.loads(made)["$defs"].keys()


def test_the_words_are_of_fields_that_there_are_and_are_read():
    made = [json.loads(text(file)) for file in DOCUMENTS]
    roots = [document.__name__ for document, *_ in DOCUMENTS.values()]
    objects = {name: of for one in made for name, of in one["$defs"].items()}
    objects |= zip(roots, made, strict=True)
    for title, words in WORDS.items():
        for field, said in words.items():
            assert objects[title]["properties"][field]["description"] == said
    for field in ("outcome", "speedup", "status", "timing"):
        assert any(field in words for words in WORDS.values())


def validated(argv: list[str], file: str, exit_code: int = 0) -> dict[str, Any]:
    done = CliRunner().invoke(cli, argv)
    assert done.exit_code == exit_code, done.output
    document: dict[str, Any] = json.loads(done.stdout)
    jsonschema.validate(document, json.loads(text(file)))
    return document


def test_what_the_commands_write_holds(tmp_path: Path):
    times = ["time", "--repeats", "1", "--warmup", "0", "--metric", "n<=[0-9]+", "--json"]
    found = validated([*times, "--against", "echo 1", "echo", "2"], "time-1.schema.json")
    assert found["against"]["schema"] == "roofline.time/1"
    found["against"]["repeats"] = "many"  # the program inside is held to the same
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(found, json.loads(text("time-1.schema.json")))

    sample = str(FOLDER.parents[1] / "sample_reports" / "a100_transpose_before.ncu-rep")
    made = ["compare", "--baseline", str(tmp_path), "--update-baseline", sample]
    assert CliRunner().invoke(cli, made).exit_code == 0
    (baseline,) = tmp_path.iterdir()
    jsonschema.validate(
        json.loads(baseline.read_text()), json.loads(text("baseline-1.schema.json"))
    )


def test_what_doctor_writes_holds(monkeypatch: pytest.MonkeyPatch):
    def check(status: Status) -> DoctorCheck:
        return DoctorCheck(code="gpu", status=status, text="said", remedy=None)

    monkeypatch.setattr("roofline.cli.doctor.examine", lambda _found: [check(Status.PASS)])

    found = validated(["doctor", "--json"], "doctor-1.schema.json")

    assert found["checks"][0]["status"] == "pass"


@FILES
def test_it_is_a_schema(file: str):
    jsonschema.Draft202012Validator.check_schema(json.loads(text(file)))
