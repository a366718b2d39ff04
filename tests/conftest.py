"""What every test gets: no configuration of the person who runs it."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from pathlib import Path

import pytest

# A shell that starts the tests in the background has them ignore interrupts, and so would what they
# start: tests that interrupt a command need the usual meaning.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)


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


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """All skips in one line: how many for want of what."""
    skipped = terminalreporter.stats.get("skipped", [])
    wants = Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in skipped)
    if wants:
        said = ", ".join(f"{count} ({want})" for want, count in wants.most_common())
        terminalreporter.write_line(f"skipped {len(skipped)}: {said}")
