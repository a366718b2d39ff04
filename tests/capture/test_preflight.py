"""Finding ncu, fitting a request to a machine and to what ncu knows, and the rank of a job."""

from __future__ import annotations

from pathlib import Path

import pytest

from roofline.capture.failures import NcuFailedError, ProgramFailedError
from roofline.capture.machine import Gpu, Machine
from roofline.capture.preflight import (
    advice_on_launcher,
    ask,
    candidates,
    check_command,
    check_program,
    chips_of,
    command_in_launcher,
    find_ncu,
    fit,
    is_chosen,
    known_to,
    parse_version,
)
from roofline.capture.request import CaptureLevel, CaptureRequest, Ncu, Version
from roofline.errors import RooflineError, UsageError
from roofline.process import Completed
from tests.e2e.fake_ncu import described
from tests.shared import NCU as REAL_NCU

REAL = "NVIDIA (R) Nsight Compute\nVersion 2024.1.1.0 (build 33998838) (public-release)\n"


HELP = described("2024.1")


def answer(text: str = "", code: int = 0) -> Completed:
    return Completed(argv=(), code=code, stdout=text, stderr="")


# --- finding ncu ----------------------------------------------------------------------------------


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
    assert list(candidates("ncu", "mine", {"ROOFLINE_NCU": "x"}, tmp_path)) == [("mine", "--ncu")]
    assert list(candidates("ncu", None, {"ROOFLINE_NCU": "x"}, tmp_path)) == [("x", "ROOFLINE_NCU")]


def test_path_before_install_folders_and_newest_first(tmp_path: Path) -> None:
    on_path = executable(tmp_path / "bin/ncu")
    old = executable(tmp_path / "opt/nvidia/nsight-compute/2022.3.0/ncu")
    new = executable(tmp_path / "opt/nvidia/nsight-compute/2025.1.0/ncu")
    found = [path for path, _ in candidates("ncu", None, {"PATH": str(tmp_path / "bin")}, tmp_path)]
    assert found == [on_path, new, old]


def test_a_broken_wrapper_on_the_path_is_passed_over(tmp_path: Path) -> None:
    wrapper = executable(tmp_path / "bin/ncu")
    good = executable(tmp_path / "opt/nvidia/nsight-compute/2024.1.1/ncu")
    ncu = find_ncu(
        None,
        {"PATH": str(tmp_path / "bin")},
        root=tmp_path,
        ask=lambda argv: (
            answer("not found under", 1)
            if argv[0] == wrapper
            else answer(REAL + described("2024.1"))
        ),
    )
    assert (str(ncu.path), ncu.how) == (good, "install folder")


@pytest.mark.parametrize(
    ("text", "code"),
    [("Version 2020.3.0.0", "ncu_too_old"), ("hello", "ncu_broken")],
)
def test_one_that_does_not_do(tmp_path: Path, text: str, code: str) -> None:
    path = executable(tmp_path / "ncu")
    with pytest.raises(NcuFailedError) as caught:
        find_ncu(path, {}, root=tmp_path, ask=lambda _: answer(text))
    assert caught.value.failure.code == code


def test_an_old_one_on_the_path_does_not_end_the_search(tmp_path: Path) -> None:
    old = executable(tmp_path / "bin/ncu")
    new = executable(tmp_path / "opt/nvidia/nsight-compute/2025.1.0/ncu")

    def ask(argv: list[str]) -> Completed:
        face = "2020.3" if argv[0] == old else "2025.1"
        return answer(f"Version {face}.0.0" if argv[1] == "--version" else described(face))

    found = find_ncu(None, {"PATH": str(tmp_path / "bin")}, root=tmp_path, ask=ask)
    assert (str(found.path), found.version.text) == (new, "2025.1.0")
    assert found.takes("--rename-kernels")


def test_none(tmp_path: Path) -> None:
    with pytest.raises(NcuFailedError, match="ncu_missing"):
        find_ncu(None, {"PATH": str(tmp_path)}, root=tmp_path, ask=lambda _: None)


# --- fitting a request to a machine ---------------------------------------------------------------

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
    listed = known_to(NCU, ("GH100",), lambda _: answer(LISTING))
    assert listed == {"dram__bytes_read", "gpu__time_duration"}


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
    request = CaptureRequest(program=("p",), level=CaptureLevel.QUICK)
    _, notes = fit(request, NCU, machine("9.0", "8.6"), lambda _: None)
    assert "several kinds of GPU (GH100, GA102)" in notes[0]
    _, notes = fit(request, NCU, machine(), lambda _: None)
    assert "not known" in notes[0]
    mig = Machine(gpus=(Gpu(index=0, name="H100", capability="9.0", mig=True),))
    assert fit(request, NCU, mig, lambda _: None)[0].clock_control == "none"


# --- the command line -----------------------------------------------------------------------------


def request(**values: object) -> CaptureRequest:
    return CaptureRequest(program=("p",), **values)  # type: ignore[arg-type]


@pytest.mark.skipif(REAL_NCU is None, reason="no ncu to ask")
@pytest.mark.parametrize(
    ("expression", "good"),
    [("gemm|relu", True), ("a(?i)b", True), ("(?<n>x)", True), ("(?<=a+)b", False)],
)
def test_ncu_judges_what_python_cannot(expression: str, good: bool) -> None:
    real = find_ncu(str(REAL_NCU))
    if good:
        check_command(request(kernel_regex=expression), real, ask)
        return
    with pytest.raises(UsageError, match="lookbehind"):
        check_command(request(kernel_regex=expression), real, ask)


def test_an_ncu_that_cannot_be_asked_is_no_reason_to_stop() -> None:
    check_command(request(kernel_regex="x"), NCU, lambda _: None)
    fine = Completed(argv=(), code=0, stdout="gh100", stderr="")
    check_command(request(kernel_regex="x"), NCU, lambda _: fine)


@pytest.mark.parametrize("mark", ["==ERROR== ", ""])
def test_an_unknown_option_is_told_before_the_program_starts(mark: str) -> None:
    said = f"{mark}unrecognised option '--bogus'\n\nUse --help for further details.\n"
    refusal = Completed(argv=(), code=1, stdout=said, stderr="")
    with pytest.raises(RooflineError, match="bogus"):
        check_command(request(), NCU, lambda _: refusal)


# --- one rank of a parallel job ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environment", "rank"),
    [
        ({"RANK": "3", "LOCAL_RANK": "1"}, 3),
        ({"OMPI_COMM_WORLD_RANK": "2"}, 2),
        ({"PMI_RANK": "0"}, 0),
        ({"SLURM_PROCID": "7"}, 7),
        ({"RANK": "x", "PMI_RANK": "4"}, 4),
    ],
)
def test_chosen_rank(environment: dict[str, str], rank: int) -> None:
    assert is_chosen(rank, environment) is True
    assert is_chosen(rank + 1, environment) is False


def test_no_rank() -> None:
    assert is_chosen(1, {}) is None


def test_a_rank_beyond_the_job_is_refused_with_those_there_are():
    environment = {"RANK": "1", "WORLD_SIZE": "4"}
    assert is_chosen(3, environment) is False
    with pytest.raises(UsageError) as refused:
        is_chosen(4, environment)
    assert refused.value.why == "its ranks are 0 to 3"


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
        (["./app"], "mpirun -n 8 roofline profile --rank 0 ./app"),
        (["torchrun", "t"], "mpirun -n 8 roofline profile --rank 0 PROGRAM"),
    ],
)
def test_roofline_goes_inside_the_launcher(program: list[str], line: str) -> None:
    assert command_in_launcher(0, program) == line


@pytest.mark.parametrize(
    ("typed", "inside"),
    [
        ("torchrun -n 8 train.py --x",
         "torchrun -n 8 --no-python roofline profile -k gemm --rank 0 python train.py --x"),
        ("torchrun -m pkg", "torchrun --no-python roofline profile -k gemm --rank 0 python -m pkg"),
        ("accelerate launch train.py",
         "accelerate launch --no_python roofline profile -k gemm --rank 0 python train.py"),
        ("deepspeed --num_gpus 2 train.py",
         "deepspeed --num_gpus 2 --no_python roofline profile -k gemm --rank 0 python train.py"),
        ("/usr/bin/mpirun -n 2 ./app",
         "/usr/bin/mpirun -n 2 roofline profile -k gemm --rank 0 ./app"),
        ("srun ./app", "srun roofline profile -k gemm --rank 0 ./app"),
    ],
)  # fmt: skip
def test_a_launcher_is_told_the_command_that_works(typed: str, inside: str) -> None:
    line = advice_on_launcher(typed.split(), ["roofline", "profile", "-k", "gemm"])
    assert line is not None
    assert line.endswith(f"instead: {inside}")


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("sudo ./app", "in front of roofline"),
        ("docker run x", "inside"),
        ("ssh host ./app", "there"),
        ("nsys profile ./app", "timeline with its report"),
        ("/opt/bin/ncu ./app", "without ncu"),
    ],
)
def test_what_ncu_cannot_follow_is_refused(typed: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        advice_on_launcher(typed.split(), ["roofline", "profile"])


def test_ordinary_programs_are_no_launchers() -> None:
    assert advice_on_launcher(["python", "torchrun.py"], ["roofline", "profile"]) is None


@pytest.mark.parametrize(
    ("program", "wrong", "meant"),
    [
        (["bench.py", "--n", "2"], "not executable", "python bench.py --n 2"),
        (["DEVICES=0", "python", "x.py"], "which only a shell takes", "env DEVICES=0 python x.py"),
        (["python bench.py"], "quoted, so it is one word", "python bench.py"),
        (["nosuch"], "not on PATH and not in this folder", None),
    ],
)
def test_words_that_cannot_be_started(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    program: list[str],
    wrong: str,
    meant: str | None,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bench.py").touch()
    with pytest.raises(ProgramFailedError) as caught:
        check_program(program, {"PATH": str(tmp_path)})
    evidence = caught.value.evidence or ""
    assert evidence.partition("did you mean: ")[2] == (meant or "")
    assert f"{program[0]}: " in evidence
    hint = f"try: roofline profile ... {meant}" if meant else "try: give the path of an executable"
    assert hint in str(caught.value)
    assert wrong in evidence


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("my kernel.cu", "compile it first: nvcc -lineinfo 'my kernel.cu' -o './my kernel'"),
        ("gemm.cu", "try: roofline profile ... ./gemm"),
        ("old.ncu-rep", "try: roofline analyze old.ncu-rep"),
    ],
)
def test_sources_and_reports_are_no_programs(word: str, said: str) -> None:
    with pytest.raises(ProgramFailedError) as caught:
        check_program([word], {"PATH": ""})
    assert said in str(caught.value)
