from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from roofline.units import UNITS
from scripts.refresh_docs import BLOCK, ROOT, nvidia, pages, refreshed
from tests.e2e.running import run

CHECKED = [page for page in pages() if BLOCK.search(page.read_text("utf-8"))]


@pytest.mark.parametrize("page", CHECKED, ids=lambda page: page.name)
def test_what_the_documentation_shows_is_what_is_printed(page):
    text = page.read_text("utf-8")

    assert refreshed(text) == text, "run: python scripts/refresh_docs.py"


@pytest.mark.skipif(not nvidia(), reason="ROOFLINE_TEST_EXAMPLES names no folder")
def test_the_readme_shows_what_is_printed_of_nvidias_examples():
    kinds = [block[1] for page in CHECKED for block in BLOCK.finditer(page.read_text("utf-8"))]

    assert kinds.count("nvidia") >= 2  # and the test above ran them


def test_there_is_something_to_check():
    assert "analyze.md" in {page.name for page in CHECKED}


def test_the_glossary_explains_every_unit():
    rows = re.findall(r"^\| (.+?) \|", (ROOT / "docs" / "glossary.md").read_text("utf-8"), re.M)
    explained = {word.strip() for row in rows for word in row.split(",")}

    assert {unit.name for unit in UNITS.values()} - explained == set()


PYTHON = [
    pytest.param(code, id=page.name)
    for page in pages()
    for code in re.findall(
        r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    if re.search(r"^(import|from) roofline", code, re.MULTILINE)
]


@pytest.mark.parametrize("code", PYTHON)
def test_python_of_the_documentation_runs(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sample_reports").symlink_to(ROOT / "sample_reports")
    (tmp_path / "report.ncu-rep").symlink_to(ROOT / "sample_reports" / "h100_mix.ncu-rep")
    monkeypatch.chdir(tmp_path)

    exec(compile(code, "<documentation>", "exec"), {})

    assert capsys.readouterr().err == ""


def test_the_tutorial_can_be_typed_from_its_first_command_to_its_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
    commands = re.findall(r"^(?:\$ )?roofline ([^|\n]+)", page, re.MULTILINE)
    (tmp_path / "sample_reports").symlink_to(ROOT / "sample_reports")
    monkeypatch.chdir(tmp_path)
    said = ""
    for command in commands:
        done = run(*shlex.split(command))
        assert done.exit_code == 0, (command, done.output)
        said += done.stdout

    steps = [command.split()[0] for command in commands]
    told = ["select", "profile", "analyze", "predict", "compare", "report"]
    assert sorted(told, key=steps.index) == told
    assert "--expect transpose=2x..2.6x: confirmed" in said
    assert (tmp_path / "log.md").read_text("utf-8").count("\n# Experiment ") == 2
    assert {"comment.md", "page.html"} <= {path.name for path in (tmp_path / "pr").iterdir()}
    assert list((tmp_path / "perf").glob("*.json"))


# What says where a program runs, or is told on the page of the command that reads it.
_TOLD_ELSEWHERE = {
    *("CUDA_VISIBLE_DEVICES", "HOME", "LD_PRELOAD", "NVTX_INJECTION64_PATH", "PYTEST_CURRENT_TEST"),
}


def test_every_environment_variable_is_in_the_table():
    sources = [p for end in ("py", "toml") for p in (ROOT / "roofline").rglob(f"*.{end}")]
    code = "\n".join(path.read_text("utf-8") for path in sources)
    own = set(re.findall(r"\b_?ROOFLINE_[A-Z]+(?:_[A-Z]+)*\b", code))
    read = set(re.findall(r"""environ(?:\.get\(|\[)"([A-Z_0-9]+)""", code))
    page = (ROOT / "docs" / "exit-codes.md").read_text("utf-8")
    part = page[page.index("## Environment variables") :]
    told = set(re.findall(r"`(_?[A-Z]+(?:_[A-Z]+)*)`", part))

    assert {"ROOFLINE_NCU", "ROOFLINE_DEBUG"} <= own
    assert {"NO_COLOR", "FORCE_COLOR", "TMPDIR"} <= read
    assert (own | read) - told == _TOLD_ELSEWHERE & read
    assert {name for name in told if "ROOFLINE" in name} == own
