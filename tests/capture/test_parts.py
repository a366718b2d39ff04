"""Finding ncu, following its log, ranks, fitting a request to a machine, passing output on."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from roofline.capture.failures import NcuFailedError
from roofline.capture.find import candidates, find_ncu, parse_version
from roofline.capture.levels import Level
from roofline.capture.machine import Gpu, Machine
from roofline.capture.output import check_output, free_name, keep_log, settle
from roofline.capture.prepare import chips_of, known_to, parse_names, prepare
from roofline.capture.progress import Progress, Watch, parse
from roofline.capture.ranks import inside, is_chosen, rank_of
from roofline.capture.request import CaptureRequest, Ncu, Version
from roofline.errors import UsageError
from roofline.process import Completed, Ended, run_through

REAL = "NVIDIA (R) Nsight Compute\nVersion 2024.1.1.0 (build 33998838) (public-release)\n"


def answer(text: str = "", code: int = 0) -> Completed:
    return Completed(argv=(), code=code, stdout=text, stderr="")


# --- finding ncu ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (REAL, "2024.1.1"),
        ("Version 2022.3.0.0 (build 1)", "2022.3.0"),
        ("Version 2026.2", "2026.2.0"),
        ("ncu 5", None),
        ("", None),
    ],
)
def test_version(text: str, version: str | None) -> None:
    found = parse_version(text)
    assert (found.text if found else None) == version


def executable(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


def test_one_that_is_asked_for_is_the_only_one(tmp_path: Path) -> None:
    executable(tmp_path / "usr/local/cuda/bin/ncu")
    assert list(candidates("mine", {"ROOFLINE_NCU": "x"}, tmp_path)) == [("mine", "--ncu")]
    assert list(candidates(None, {"ROOFLINE_NCU": "x"}, tmp_path)) == [("x", "ROOFLINE_NCU")]


def test_path_before_install_folders_and_newest_first(tmp_path: Path) -> None:
    on_path = executable(tmp_path / "bin/ncu")
    old = executable(tmp_path / "opt/nvidia/nsight-compute/2022.3.0/ncu")
    new = executable(tmp_path / "opt/nvidia/nsight-compute/2025.1.0/ncu")
    found = [path for path, _ in candidates(None, {"PATH": str(tmp_path / "bin")}, tmp_path)]
    assert found == [on_path, new, old]


def test_a_broken_wrapper_on_the_path_is_passed_over(tmp_path: Path) -> None:
    wrapper = executable(tmp_path / "bin/ncu")
    good = executable(tmp_path / "opt/nvidia/nsight-compute/2024.1.1/ncu")
    ncu = find_ncu(
        None,
        {"PATH": str(tmp_path / "bin")},
        root=tmp_path,
        run=lambda argv: answer("not found under", 1) if argv[0] == wrapper else answer(REAL),
    )
    assert (str(ncu.path), ncu.how) == (good, "install folder")


@pytest.mark.parametrize(
    ("text", "code"),
    [("Version 2021.3.0.0", "ncu_too_old"), ("hello", "ncu_broken")],
)
def test_one_that_does_not_do(tmp_path: Path, text: str, code: str) -> None:
    path = executable(tmp_path / "ncu")
    with pytest.raises(NcuFailedError) as caught:
        find_ncu(path, {}, root=tmp_path, run=lambda _: answer(text))
    assert caught.value.found.failure.code == code


def test_none(tmp_path: Path) -> None:
    with pytest.raises(NcuFailedError, match="ncu_missing"):
        find_ncu(None, {"PATH": str(tmp_path)}, root=tmp_path, run=lambda _: None)


# --- progress ---------------------------------------------------------------------------------

LOG = """==PROF== Connected to process 12 (/usr/bin/python3.11)
==PROF== Profiling "sobel" - 0 (1/3): 0%....50%....100% - 9 passes
==PROF== Profiling "void at::native::vec...": 0%....50%....100% - 10 passes
==PROF== Profiling "ncclKernel: x" - 2: 0%....
"""


def test_log_of_three_versions() -> None:
    progress = parse(LOG)
    assert progress.done == (("sobel", 9), ("void at::native::vec...", 10))
    assert progress.passes == (9, 10)
    assert progress.processes == 1
    assert progress.current == "ncclKernel: x"


def test_log_without_anything() -> None:
    assert parse("") == Progress()
    assert parse("").passes is None


class Time:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def watched(tmp_path: Path) -> tuple[Path, Time, list[str], Watch]:
    log, time, told = tmp_path / "log", Time(), list[str]()
    watch = Watch(log, stall_s=10, limit_s=100, tell=told.append, clock=time)
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


# --- ranks ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environment", "rank"),
    [
        ({}, None),
        ({"RANK": "3", "LOCAL_RANK": "1"}, 3),
        ({"OMPI_COMM_WORLD_RANK": "2"}, 2),
        ({"PMI_RANK": "0"}, 0),
        ({"SLURM_PROCID": "7"}, 7),
        ({"RANK": "x", "PMI_RANK": "4"}, 4),
    ],
)
def test_rank(environment: dict[str, str], rank: int | None) -> None:
    assert rank_of(environment) == rank


def test_chosen_rank() -> None:
    assert is_chosen(1, ["a"], {"RANK": "1"})
    assert not is_chosen(1, ["a"], {"RANK": "0"})
    with pytest.raises(UsageError, match="no rank"):
        is_chosen(1, ["a"], {})


@pytest.mark.parametrize(
    ("program", "line"),
    [
        (
            ["torchrun", "--nproc-per-node=2", "t.py", "--lr", "1"],
            "torchrun --nproc-per-node=2 --no-python roofline profile --rank 0 python t.py --lr 1",
        ),
        (
            ["mpirun", "-n", "8", "./app", "x"],
            "mpirun -n 8 roofline profile --rank 0 ./app x",
        ),
        (["srun", "-n", "8", "sh", "-c"], "srun -n 8 roofline profile --rank 0 sh -c"),
        (["./app"], "mpirun -n 8 roofline profile --rank 0 PROGRAM"),
    ],
)
def test_roofline_goes_inside_the_launcher(program: list[str], line: str) -> None:
    assert inside(0, program) == line


# --- fitting a request to a machine -----------------------------------------------------------

NCU = Ncu(path=Path("ncu"), version=Version(year=2024, minor=1, text="2024.1.0"), how="test")
LISTING = """Chip gh100
------- -----
Metric Name  Metric Type
dram__bytes_read                Counter   byte    # of bytes
gpu__time_duration              Counter   ns      incremented
                                                  continued dram__bytes_write text
"""


def machine(*capabilities: str, **values: object) -> Machine:
    gpus = tuple(Gpu(index=i, name=f"GPU {i}", capability=c) for i, c in enumerate(capabilities))
    return Machine(gpus=gpus, **values)  # type: ignore[arg-type]


def test_chips_of_a_machine() -> None:
    assert chips_of(machine("9.0", "9.0", "8.6"), None) == ("GH100", "GA102")
    assert chips_of(machine("9.0", "8.6"), "1") == ("GA102",)
    assert chips_of(machine(), "3") == ()
    with pytest.raises(UsageError, match="no GPU 7"):
        chips_of(machine("9.0"), "7")


def test_names_of_a_listing_are_the_first_column() -> None:
    assert parse_names(LISTING) == {"dram__bytes_read", "gpu__time_duration"}


def test_ncu_is_asked_for_every_chip() -> None:
    asked = []

    def run(argv: list[str]) -> Completed:
        asked.append(argv[1:])
        return answer(LISTING if "gh100" in argv else "gpu__time_duration  Counter")

    assert known_to(NCU, ("GH100", "GA102"), run) == {"gpu__time_duration"}
    assert asked == [["--query-metrics", "--chips", chip] for chip in ("gh100", "ga102")]
    known_to(NCU, (), run)
    assert asked[-1] == ["--query-metrics"]


def test_an_ncu_that_does_not_know_the_chip_changes_nothing() -> None:
    assert known_to(NCU, ("GH100",), lambda _: answer("==ERROR== Invalid chip", 1)) is None
    assert known_to(NCU, ("GH100",), lambda _: None) is None


def test_what_is_changed_is_said() -> None:
    request = CaptureRequest(program=("p",), level=Level.QUICK)
    prepared = prepare(request, NCU, machine("9.0", "8.6"), lambda _: None)
    assert "several kinds of GPU (GH100, GA102)" in prepared.notes[0]
    prepared = prepare(request, NCU, machine(), lambda _: None)
    assert "not known" in prepared.notes[0]
    mig = Machine(gpus=(Gpu(index=0, name="H100", capability="9.0", mig=True),))
    assert not prepare(request, NCU, mig, lambda _: None).request.lock_clocks


# --- names of files ---------------------------------------------------------------------------


def test_report_is_named_after_the_program(tmp_path: Path) -> None:
    assert free_name(["python", "-u", "dir/bench.py"], tmp_path).name == "bench.ncu-rep"
    assert free_name(["/opt/x/app.exe"], tmp_path).name == "app.exe.ncu-rep"
    (tmp_path / "bench.ncu-rep").touch()
    assert free_name(["bench"], tmp_path).name == "bench-2.ncu-rep"


@pytest.mark.parametrize("name", ["x.csv", "no/such/x.ncu-rep", "."])
def test_report_names_that_cannot_be(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError):
        check_output(tmp_path / name, force=False)


def test_a_name_that_was_taken_meanwhile_is_left_alone(tmp_path: Path) -> None:
    made, report = tmp_path / "made", tmp_path / "a.ncu-rep"
    made.write_text("new")
    report.write_text("of another run")
    assert settle(made, report, force=False).name == "a-2.ncu-rep"
    assert report.read_text() == "of another run"
    made.write_text("new")
    assert settle(made, report, force=True) == report
    assert report.read_text() == "new"


def test_a_log_that_cannot_be_written_hides_nothing(tmp_path: Path) -> None:
    ended = Ended(code=1, stopped=None, stderr="")
    assert keep_log(["ncu"], [], ended, tmp_path / "no" / "log") is None
