"""What every test gets: no configuration of the person who runs it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import sysconfig
import threading
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes says how busy the machine is.
settings.register_profile("any", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any")

ROOT = Path(__file__).parents[1]

# Else each worker, and every process that a test starts, compiles the package and the tests again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A shell that starts the tests in the background has them ignore interrupts, nohup has them ignore
# hangups, and so would what they start: tests that send a signal need its usual meaning.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(autouse=True)
def _nobodys_configuration(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = tmp_path_factory.getbasetemp() / "configuration"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(empty))
    monkeypatch.setenv("APPDATA", str(empty))


@pytest.fixture
def kept_ceilings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration folder of the test's own; where its ceilings are kept."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "configuration"))
    return tmp_path / "configuration" / "roofline" / "achieved"


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The sdist of this tree, and the wheel that is built from the sdist; without the network."""
    for needed in ("build", "hatchling"):
        if not find_spec(needed):
            pytest.skip(f"{needed} is not installed")
    folder = tmp_path_factory.mktemp("dist")
    argv = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    env = {**os.environ, "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel


@pytest.fixture(scope="session")
def wheel(distributions: tuple[Path, Path]) -> Path:
    return distributions[1]


@pytest.fixture(scope="session")
def environment() -> Callable[[Path], Path]:
    """A function that makes a virtual environment with all that roofline needs, but not roofline.

    What the tests run with stands for what pip would fetch, so that no network is needed.
    """

    def make(venv: Path) -> Path:
        # pip is there, too: to unpack it once more would take seconds.
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
        pip = venv / "bin" / "pip"
        pip.write_text(f'#!/bin/sh\nexec {venv}/bin/python -m pip "$@"\n')
        pip.chmod(0o755)
        needed = venv / "needed"
        needed.mkdir()
        for there in Path(sysconfig.get_path("purelib")).iterdir():
            if "roofline" not in there.name and there.suffix != ".pth":
                (needed / there.name).symlink_to(there)
        (site,) = venv.glob("lib/python*/site-packages")
        (site / "needed.pth").write_text(f"{needed}\n")
        return venv

    return make


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """All skips in one line: how many for want of what."""
    skipped = terminalreporter.stats.get("skipped", [])
    wants = Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in skipped)
    if wants:
        said = ", ".join(f"{count} ({want})" for want, count in wants.most_common())
        terminalreporter.write_line(f"skipped {len(skipped)}: {said}")
