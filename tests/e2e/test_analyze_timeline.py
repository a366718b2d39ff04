from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator

from roofline.cli import cli
from tests.e2e.reports import report
from tests.timeline import made

SCHEMA = Path(__file__).parents[2] / "roofline" / "schemas" / "analysis-1.schema.json"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return report(tmp_path / "a.ncu-rep")


@pytest.fixture
def timeline(tmp_path: Path) -> Path:
    """Two equal steps of 1000 us; sgemm runs alone for 300 us of each, relu for 100."""
    shape = {"grid": [1000, 1, 1], "block": [256, 1, 1]}
    events: list[object] = []
    for number in (0, 1):
        start = 1000.0 * number
        events += [
            made.step(number + 1, start, 1000.0),
            made.launched(10 * number + 1, "void sgemm<float>(float*)", start + 100, 300, **shape),
            made.launched(10 * number + 2, "void relu<float>(float*)", start + 500, 100, **shape),
        ]
    return made.write(tmp_path, made.trace(*events))


def run(*words: object) -> Result:
    return CliRunner().invoke(cli, ["analyze", *map(str, words)], env={"COLUMNS": "120"})


def test_a_floor_becomes_a_gain_of_the_step(path: Path, timeline: Path):
    done = run(path, "--timeline", timeline, "--format", "json")

    assert done.exit_code == 0, done.stderr
    document = json.loads(done.stdout)
    Draft202012Validator(json.loads(SCHEMA.read_text("utf-8"))).validate(document)
    (kernel,) = document["timeline"]["kernels"]
    # sgemm takes 30 % of the step and its busiest unit is at 95 %: 5 % of 30 % can be saved, if
    # the host launched earlier.
    assert kernel["wall_share"] == pytest.approx(0.3)
    assert kernel["saved_at_most"] == pytest.approx([0, 0.015])
    assert kernel["step_speedup_at_most"] == pytest.approx([1, 1 / 0.985])
    assert [k["base_name"] for k in document["timeline"]["unprofiled"]] == ["relu"]
    assert document["timeline"]["unmatched"] != []


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_gains_follow_the_table(path: Path, timeline: Path, form: str):
    done = run(path, "--timeline", timeline, "--format", form)

    assert done.exit_code == 0
    assert "1.02x" in done.stdout
    # 400 of 1000 us are busy: what matters more than any kernel is said above the gains
    assert done.stdout.index("Gaps come first") < done.stdout.index("1.02x")
    assert "relu" in done.stdout
    assert str(timeline.parent) not in done.stdout


def test_without_a_timeline_the_document_has_none(path: Path):
    assert "timeline" not in json.loads(run(path, "--format", "json").stdout)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--timeline", "gone.json"), 3),
        (("--step", "x"), 2),
        (("--timeline", "t.json", "--format", "csv"), 2),
    ],
)
def test_what_cannot_be_answered_is_refused(path: Path, words: tuple[str, ...], code: int):
    done = run(path, *words)

    assert done.exit_code == code
    assert done.stdout == ""
    assert done.stderr.startswith("roofline: ")
