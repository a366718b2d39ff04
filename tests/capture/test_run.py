"""Following ncu's log, and the files that a capture leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from roofline.capture.machine import Machine
from roofline.capture.request import Ncu, Version
from roofline.capture.run import (
    CaptureSetup,
    Watch,
    check_output,
    free_names,
    keep_log,
    move_report,
    parse,
)
from roofline.errors import UsageError
from roofline.process import Completed

LOG = """==PROF== Connected to process 12 (/usr/bin/python3.11)
==PROF== Profiling "sobel" - 0 (1/3): 0%....50%....100% - 9 passes
==PROF== Profiling "void at::native::vec...": 0%....50%....100% - 10 passes
==PROF== Profiling "ncclKernel: x" - 2: 0%....
"""


def test_log_of_three_versions() -> None:
    done, current = parse(LOG)
    assert done == (("sobel", 9), ("void at::native::vec...", 10))
    assert current == "ncclKernel: x"


def test_passes_of_a_replayed_application_are_finished() -> None:
    text = "".join(
        f'==PROF== Profiling "{name}" - {number}: Application replay pass {replay}\n'
        for replay in (1, 2)
        for number, name in enumerate(("sobel", "relu", "relu"))
    )
    assert parse(text) == ((("sobel", 2), ("relu", 2), ("relu", 2)), None)


def test_log_without_anything() -> None:
    assert parse("") == ((), None)


class Time:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def watched(tmp_path: Path) -> tuple[Path, Time, list[str], Watch]:
    log, time, told = tmp_path / "log", Time(), list[str]()
    ncu = Ncu(path=Path("ncu"), version=Version(2025, 1), how="test")
    setup = CaptureSetup(ncu=ncu, machine=Machine(), stall_s=10, limit_s=100, tell=told.append)
    watch = Watch(log, setup, clock=time)
    return log, time, told, watch


def test_a_kernel_without_progress_is_a_stall(
    watched: tuple[Path, Time, list[str], Watch],
) -> None:
    log, time, told, watch = watched
    assert watch() is None  # no log yet
    time.now = 50
    log.write_text(LOG)
    assert watch() is None  # the log has just grown
    time.now = 59
    assert watch() is None
    time.now = 60
    assert watch() == "stall"
    assert told == [
        "profiled 1: sobel (9 passes)",
        "profiled 2: void at::native::vec... (10 passes)",
    ]


def test_dots_are_a_sign_of_life(watched: tuple[Path, Time, list[str], Watch]) -> None:
    log, time, _, watch = watched
    log.write_text(LOG)
    watch()
    time.now = 9
    log.write_text(LOG + "50%")
    watch()
    time.now = 18
    assert watch() is None


def test_between_kernels_only_the_whole_limit_counts(
    watched: tuple[Path, Time, list[str], Watch],
) -> None:
    log, time, _, watch = watched
    log.write_text("".join(LOG.splitlines(keepends=True)[:2]))
    watch()
    time.now = 99
    assert watch() is None
    time.now = 100
    assert watch() == "timeout"


# --- names of files -------------------------------------------------------------------------------


def test_report_is_named_after_the_program(tmp_path: Path) -> None:
    assert free_names(["python", "-u", "dir/bench.py"], 1, tmp_path) == (
        tmp_path / "bench.ncu-rep",
    )
    assert free_names(["/opt/x/app.exe"], 1, tmp_path) == (tmp_path / "app.exe.ncu-rep",)
    (tmp_path / "bench.ncu-rep").touch()
    assert free_names(["bench"], 1, tmp_path) == (tmp_path / "bench-2.ncu-rep",)


@pytest.mark.parametrize("name", ["x.csv", "no/such/x.ncu-rep", "."])
def test_report_names_that_cannot_be(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError):
        check_output(tmp_path / name, force=False)


def test_a_name_that_was_taken_meanwhile_is_left_alone(tmp_path: Path) -> None:
    made, report = tmp_path / "made", tmp_path / "a.ncu-rep"
    made.write_text("new")
    report.write_text("of another run")
    assert move_report(made, report, force=False).name == "a-2.ncu-rep"
    assert report.read_text() == "of another run"
    made.write_text("newer")
    assert move_report(made, report, force=False).name == "a-3.ncu-rep"
    assert (tmp_path / "a-2.ncu-rep").read_text() == "new"
    made.write_text("new")
    assert move_report(made, report, force=True) == report
    assert report.read_text() == "new"


def test_a_log_that_cannot_be_written_hides_nothing(tmp_path: Path) -> None:
    done = Completed(argv=("ncu",), code=1, stdout="", stderr="")
    assert keep_log(done, "", tmp_path / "no" / "log") is None
