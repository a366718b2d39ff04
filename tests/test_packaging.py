"""What is published: the sdist, the wheel, and the wheel at work where there is no checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Callable
from email import message_from_bytes
from email.message import Message
from importlib.util import find_spec
from pathlib import Path

import pytest

import roofline

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
WORKFLOW = ROOT / ".github" / "workflows" / "tests.yml"
# Names that only Unix has, hidden from our own modules. The rest of Python keeps them.
UNIX = """
import builtins, os, signal, sys
real = builtins.__import__
def hiding(name, globals=None, *rest, **more):
    ours = (globals or {}).get("__name__", "").startswith("roofline")
    if ours and name in {"fcntl", "grp", "pty", "pwd", "resource", "termios"}:
        raise ImportError(f"{name} is not on Windows")
    return real(name, globals, *rest, **more)
builtins.__import__ = hiding
for module, name in (os, "geteuid"), (os, "O_NONBLOCK"), (signal, "SIGHUP"), (signal, "SIGPIPE"):
    delattr(module, name)
"""


def listed(*words: str) -> set[str]:
    done = subprocess.run(
        ["git", "ls-files", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip("this is no clone")
    return {name for name in done.stdout.splitlines() if (ROOT / name).exists()}


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as file:
        (name,) = (name for name in file.namelist() if name.endswith("/METADATA"))
        return message_from_bytes(file.read(name))


@pytest.mark.slow
def test_the_sdist_holds_the_repository_and_nothing_else(distributions: tuple[Path, Path]) -> None:
    with tarfile.open(distributions[0]) as file:
        held = {name.partition("/")[2] for name in file.getnames()} - {"PKG-INFO"}

    assert listed() <= held
    assert held <= listed("--cached", "--others", "--exclude-standard")


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_its_data_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as file:
        held = {name for name in file.namelist() if ".dist-info/" not in name}
    package = {name for name in listed("-co", "--exclude-standard") if name.startswith("roofline/")}
    specs = {name for name in listed("-co", "--exclude-standard") if name.startswith("specs/")}

    assert held == package | {name.replace("specs/", "roofline/_specs/", 1) for name in specs}
    assert {"roofline/py.typed", "roofline/_specs/sources.toml"} <= held


@pytest.mark.slow
def test_what_is_published_of_it(wheel: Path) -> None:
    said = metadata(wheel)

    assert said["Version"] == roofline.__version__
    assert said["License-Expression"] == "Apache-2.0"
    assert said["Description-Content-Type"] == "text/markdown"
    urls = dict(url.split(", ") for url in said.get_all("Project-URL", []))
    assert {"Documentation", "Source", "Issues", "Changelog"} <= urls.keys()
    assert all(url.startswith("https://") for url in urls.values())
    needed = [text for text in said.get_all("Requires-Dist", []) if "extra ==" not in text]
    assert len(needed) == len(PROJECT["dependencies"])


@pytest.mark.slow
@pytest.mark.skipif(not find_spec("twine"), reason="twine is not installed")
def test_twine_finds_nothing_to_complain_about(distributions: tuple[Path, Path]) -> None:
    argv = [sys.executable, "-m", "twine", "check", "--strict", *map(str, distributions)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_wheel_reviews_reports_without_a_checkout_and_without_what_only_unix_has(
    wheel: Path, environment: Callable[[Path], Path], tmp_path: Path
) -> None:
    yaml = pytest.importorskip("yaml")
    steps = yaml.safe_load(WORKFLOW.read_text("utf-8"))["jobs"]["review"]["steps"]
    (review,) = (step["run"] for step in steps if step.get("name") == "Review")
    venv = environment(tmp_path / "venv")
    pip = [venv / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-index", wheel]
    subprocess.run(pip, check=True, env=os.environ | {"PYTHONPATH": ""})
    (site,) = venv.glob("lib/python*/site-packages")
    (site / "windows.py").write_text(UNIX)
    (site / "windows.pth").write_text("import windows\n")
    work = tmp_path / "elsewhere"
    shutil.copytree(
        ROOT / "sample_reports", work / "sample_reports", ignore=shutil.ignore_patterns("*.py")
    )
    env = os.environ | {"PATH": f"{venv / 'bin'}:/usr/bin:/bin", "PYTHONPATH": ""}
    env |= {"PYTHONIOENCODING": "cp1252:strict", "PYTHONUTF8": "0"}  # a pipe there
    done = subprocess.run(
        ["bash", "-e", "-c", review],
        cwd=work,
        env=env,
        capture_output=True,
        encoding="cp1252",
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "bank conflicts" in done.stdout
    assert "2.28x faster" in done.stdout
    assert {path.name for path in work.iterdir()} >= {"mix.png", "all.json", "pr", "shared.ncu-rep"}


def test_the_workflow_tests_every_python_that_is_promised() -> None:
    yaml = pytest.importorskip("yaml")
    jobs = yaml.safe_load(WORKFLOW.read_text("utf-8"))["jobs"]
    tested = jobs["everything"]["strategy"]["matrix"]["python"]
    promised = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if "Python :: 3." in c]

    assert tested == promised
    assert min(tested, key=lambda v: int(v[2:])) in PROJECT["requires-python"]
    assert len(jobs["review"]["strategy"]["matrix"]["system"]) == 3
