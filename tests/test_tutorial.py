"""The notebook of the documentation runs, and none of its cells swells a repository."""

import ast
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOK = ROOT / "docs" / "tutorial.ipynb"
MOST = 100_000  # bytes of what a cell shows


def sources() -> list[str]:
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def shown(value: Any) -> dict[str, str]:
    """What IPython would keep of the last value of a cell."""
    if hasattr(value, "_repr_mimebundle_"):
        return value._repr_mimebundle_(include=None, exclude=None)
    html = {"text/html": value._repr_html_()} if hasattr(value, "_repr_html_") else {}
    return {"text/plain": repr(value), **html}


def test_every_cell_shows_something_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(NOTEBOOK.parent)
    names: dict[str, Any] = {}
    for source in sources():
        *before, last = ast.parse(source).body
        exec(compile(ast.Module(before, []), "<cell>", "exec"), names)
        assert isinstance(last, ast.Expr)
        value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
        sizes = {kind: len(text.encode()) for kind, text in shown(value).items()}
        assert sum(sizes.values()) < MOST, (source, sizes)
        assert "text/html" in sizes or "image/svg+xml" in sizes or isinstance(value, tuple), source


def test_the_notebook_is_kept_without_its_answers() -> None:
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]

    assert not any(cell.get("outputs") for cell in cells)


@pytest.mark.slow
@pytest.mark.skipif(not find_spec("nbconvert"), reason="nbconvert is not installed")
@pytest.mark.skipif(not find_spec("ipykernel"), reason="ipykernel is not installed")
def test_nbconvert_runs_the_notebook(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute"]
    argv += ["--output-dir", str(tmp_path), str(NOTEBOOK)]
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        argv, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    cells = json.loads((tmp_path / NOTEBOOK.name).read_text("utf-8"))["cells"]
    outputs = [cell["outputs"] for cell in cells if cell["cell_type"] == "code"]
    assert all(2 < len(json.dumps(shown).encode()) < MOST for shown in outputs)
    # The value of each cell, and nothing that was shown or printed while it was made.
    assert [[one["output_type"] for one in shown] for shown in outputs] == (
        [["execute_result"]] * len(outputs)
    )
