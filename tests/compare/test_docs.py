"""What docs/ci.md tells people to type is typed here, on reports of the repository."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from roofline.compare.model import Comparison
from tests.e2e.running import inside

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "ci.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def commands(block: str) -> list[str]:
    """The lines of a block that start roofline, be it a script or YAML."""
    found = []
    for line in block.splitlines():
        text = re.sub(r"^\s*(- )?(run: |entry: |\w+= )?", "", line)
        if text.startswith("roofline "):
            found.append(text)
    return found


def run(command: str, folder: Path) -> CompletedProcess[str]:
    env = {**os.environ, "GITHUB_ACTIONS": "", "GITHUB_STEP_SUMMARY": ""}
    return inside(shlex.split(command)[1:], folder, env)


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    """A repository with captures and a baseline of the side before."""
    for side in ("before", "after"):
        sample = ROOT / "sample_reports" / f"a100_transpose_{side}.ncu-rep"
        shutil.copy(sample, tmp_path / f"{side}.ncu-rep")
    done = run("roofline compare --baseline perf --update-baseline before.ncu-rep", tmp_path)
    assert done.returncode == 0, done.stderr
    return tmp_path


@pytest.mark.parametrize("kind_and_text", BLOCKS, ids=range(len(BLOCKS)))
def test_every_command_works(kind_and_text: tuple[str, str], workplace: Path) -> None:
    found = commands(kind_and_text[1])
    assert found

    for command in found:
        done = run(command, workplace)
        assert done.returncode == 0, f"{command}\n{done.stderr}"


def test_the_gate_of_the_workflow_fails_on_a_regression(workplace: Path) -> None:
    workflow = (ROOT / "examples" / "ci" / "performance.yml").read_text("utf-8")
    (gate,) = (c for c in commands(workflow) if "--junit" in c)
    after, before = workplace / "after.ncu-rep", workplace / "before.ncu-rep"
    update = "roofline compare --baseline perf --update-baseline after.ncu-rep"
    assert run(update, workplace).returncode == 0
    after.unlink()
    before.rename(after)

    done = run(gate, workplace)

    assert done.returncode == 1
    assert "FAILED regression=5%" in done.stderr
    assert "failure" in (workplace / "gates.xml").read_text()


def test_every_condition_of_the_table_is_understood() -> None:
    from roofline.compare.gates import judge, parse_gate
    from tests.compare.pairs import compared, launch

    table = PAGE[PAGE.index("| condition |") : PAGE.index("A condition that meets")]
    cells = [row.split("|")[1] for row in table.splitlines()[2:] if row.startswith("|")]
    conditions = [c for cell in cells for c in re.findall(r"`([^`]+)`", cell)]
    comparison: Comparison = compared(launch(), launch())

    assert len(conditions) >= 12
    for condition in conditions:
        assert judge(comparison, [parse_gate(condition)])


def test_the_documented_refusals_and_causes_are_those_of_the_code() -> None:
    from roofline.compare.comparable import REFUSALS

    page = (ROOT / "docs" / "compare.md").read_text("utf-8")
    schema = (ROOT / "roofline/schemas/comparison-1.schema.json").read_text()
    table = page[page.index("| `cause` in JSON") : page.index("## Predictions")]
    causes = re.findall(r"`(\w+)`", table)

    assert set(re.findall(r"`--allow (\w+)`", page)) == set(REFUSALS)
    for cause in causes[1:]:
        assert f'"{cause}"' in schema
