"""Ranks, GPUs, metrics and the ncu that is there: what is settled before the program starts."""

from __future__ import annotations

import os
import shlex
import subprocess

import pytest

from roofline.capture.failures import catalogue
from roofline.capture.run import OURS
from roofline.reports.container import save
from tests.e2e.fake import PROFILED, Fake
from tests.e2e.fake_ncu import FACES
from tests.e2e.test_profile_causes import LINES


def test_another_rank_runs_bare(fake: Fake) -> None:
    fake.environment["OMPI_COMM_WORLD_RANK"] = "3"
    fake.program("bench", "echo bare $*; exit 7")

    done = fake.process("profile", "--rank", "0", "bench", "--x")

    assert (done.returncode, done.stdout) == (7, "bare --x\n")
    assert fake.calls() == []


def test_a_dry_run_of_another_rank_says_so(fake: Fake) -> None:
    fake.environment["RANK"] = "3"

    done = fake.run("profile", "--rank", "0", "--dry-run", "true")

    assert done.returncode == 0
    assert done.stderr == "# only rank 0 is profiled; this one runs the program alone\n"


def test_the_rank_asked_for_is_profiled(fake: Fake) -> None:
    fake.environment["RANK"] = "0"

    assert fake.run("profile", "--rank", "0", "true").returncode == 0
    assert len(fake.calls()) == 1


def test_rank_outside_a_job_shows_the_command(fake: Fake) -> None:
    words = ("profile", "--rank", "1", "torchrun", "--nproc-per-node", "8", "t.py", "-b")
    done = fake.process(*words)  # which knows what was typed

    assert done.returncode == 2
    wanted = "torchrun --nproc-per-node 8 --no-python roofline profile --rank 1 python t.py -b"
    assert wanted in done.stderr


@pytest.mark.slow
def test_metrics_that_this_ncu_lacks_are_not_asked_for(fake: Fake) -> None:
    fake.scenario(query="gpu__time_duration   Counter\nlts__t_sectors   Counter")

    fake.run("profile", "true")

    words = fake.calls()[0]["argv"]
    asked = words[words.index("--metrics") + 1].split(",")
    assert "lts__t_sectors.sum" in asked
    assert "lts__t_bytes.sum" not in asked
    assert "sass__inst_executed_per_opcode_with_modifier_all" in asked


def test_metrics_of_the_user_are_asked_for_and_missed(fake: Fake) -> None:
    done = fake.run("profile", "--metrics", "foo__bar.sum, baz__q.sum", "true")

    words = fake.calls()[0]["argv"]
    assert words[words.index("--metrics") + 1].endswith(",foo__bar.sum,baz__q.sum")
    assert "Not in the report:" in done.stdout


def test_mig_leaves_clocks_alone(fake: Fake) -> None:
    fake.gpu("0, NVIDIA H100 PCIe, 9.0, 550.54.15, Enabled")

    done = fake.run("profile", "true")

    words = fake.calls()[0]["argv"]
    assert words[words.index("--clock-control") + 1] == "none"
    assert "MIG" in done.stderr
    assert "clocks not locked" in done.stdout


def test_a_device_that_is_not_there(fake: Fake) -> None:
    done = fake.run("profile", "--device", "0,4", "true")

    assert done.returncode == 2
    assert "no GPU 4" in done.stderr


def test_a_collective_that_is_asked_for_is_taken_with_a_warning(fake: Fake) -> None:
    done = fake.run("profile", "--kernel-name", "ncclDevKernel_AllReduce", "true")

    words = fake.calls()[0]["argv"]
    assert words[words.index("--kernel-name") + 1] == "ncclDevKernel_AllReduce"
    assert "hangs" in done.stderr


def test_injection_of_another_tool_is_unset(fake: Fake) -> None:
    fake.environment["CUDA_INJECTION64_PATH"] = "/x.so"

    fake.run("profile", "true")

    assert "CUDA_INJECTION64_PATH" not in fake.calls()[0]["env"]


@pytest.mark.slow
def test_a_regex_that_ncu_refuses(fake: Fake) -> None:
    fake.scenario(regex_error="Invalid lookbehind assertion.  The error occurred while parsing: x")

    done = fake.run("profile", "--kernel-regex", "(?<=a+)b", "true")

    assert done.returncode == 2
    assert "Invalid lookbehind assertion" in done.stderr
    assert fake.calls() == []


@pytest.mark.parametrize("list_kernels", [False, True])
@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("nosuch", "not on PATH and not in this folder"),
        ("./nosuch", "no such file"),
        ("/tmp", "a folder"),
        ("./data.txt", "not executable"),
    ],
)
def test_a_program_that_is_not_there_is_not_handed_to_ncu(
    fake: Fake, word: str, why: str, list_kernels: bool
) -> None:
    (fake.folder / "data.txt").write_text("no program")

    done = fake.run("profile", *(["--list-kernels"] if list_kernels else []), word)

    assert done.returncode == 5
    assert "[program_missing]" in done.stderr
    assert f"evidence: {word}: {why}\n" in done.stderr
    assert fake.calls() == []
    assert fake.files() == {"data.txt"}


def test_a_program_of_this_folder_is_taken_as_ncu_takes_it(fake: Fake) -> None:
    (fake.folder / "app").symlink_to("/bin/true")
    fake.scenario({"log": [PROFILED], "report": str(fake.report)})

    assert fake.run("profile", "app").returncode == 0


def test_another_rank_without_its_program_ends_as_the_profiled_one(fake: Fake) -> None:
    fake.environment["RANK"] = "3"

    done = fake.process("profile", "--rank", "0", "nosuch")

    assert done.returncode == 5
    assert "[program_missing]" in done.stderr


@pytest.mark.slow
def test_an_option_that_ncu_refuses_is_known_before_the_program_starts(fake: Fake) -> None:
    # As the real one: to stdout, and the log is not opened.
    fake.scenario(
        refuses="==ERROR== unrecognised option '--bogus'. Use --help for further details."
    )

    done = fake.run("profile", "--ncu-arg=--bogus", "true")

    assert done.returncode == 4
    assert "[option_unknown]" in done.stderr
    assert "evidence: ==ERROR== unrecognised option '--bogus'" in done.stderr
    assert fake.calls() == []
    assert fake.files() == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "devices"),
    [
        (["--device", "h100"], "0"),
        (["--device", "1"], "1"),
        (["--device", "A100", "--device", "h100 PCIe"], "1,0"),
        (["--device", "nvidia"], "0,1"),
        (["--device", "0,1"], "0,1"),
    ],
)
def test_devices_are_indices_or_parts_of_names(fake: Fake, words: list[str], devices: str) -> None:
    fake.gpu(
        "0, NVIDIA H100 PCIe, 9.0, 550.54.15, Disabled",
        "1, NVIDIA A100-SXM4-40GB, 8.0, 550.54.15, Disabled",
    )
    assert fake.run("profile", *words, "true").returncode == 0
    argv = fake.calls()[0]["argv"]

    assert argv[argv.index("--devices") + 1] == devices


def test_a_device_of_another_name_is_refused(fake: Fake) -> None:
    done = fake.run("profile", "--device", "L40", "true")
    planned = fake.run("profile", "--dry-run", "--device", "H100", "true")

    assert done.returncode == planned.returncode == 2
    assert "--device L40: no GPU of this name is here" in done.stderr
    assert "try: one of 0 (NVIDIA H100 PCIe)" in done.stderr
    assert "try: --device 0" in planned.stderr
    assert fake.calls() == []


def test_devices_that_ncu_refuses(fake: Fake) -> None:
    fake.scenario(refuses="==ERROR== Invalid device 0 in the --devices option.")

    done = fake.run("profile", "--device", "0", "true")

    assert done.returncode == 2
    assert "Invalid device 0" in done.stderr
    assert fake.calls() == []


def test_no_ncu_at_all(fake: Fake) -> None:
    (fake.bin / "ncu").unlink()

    done = fake.run("profile", "true")

    if "[ncu_missing]" not in done.stderr:  # pragma: no cover - a machine with ncu installed
        pytest.skip("this machine has an ncu in an install folder")
    assert done.returncode == 4


def test_neither_gpu_nor_ncu(fake: Fake) -> None:
    (fake.bin / "ncu").unlink()
    fake.gpu()

    done = fake.run("profile", "--kernel-regex", "gemm", "true", "--dry-run")

    if "no ncu is here" not in done.stderr:  # pragma: no cover - a machine with a GPU or ncu
        pytest.skip("this machine has a GPU, or an ncu in an install folder")
    assert done.returncode == 4
    assert "[no_driver]" in done.stderr
    assert "plan the run (--dry-run), or analyse saved reports" in done.stderr
    assert "--dry-run went to PROGRAM: roofline's options stand before it" in done.stderr


def test_an_ncu_that_does_not_answer(fake: Fake) -> None:
    fake.program("ncu", "echo 'ERROR : nsight-compute directory is not found under' >&2; exit 1")

    done = fake.run("profile", "--ncu", str(fake.bin / "ncu"), "true")

    assert done.returncode == 4
    assert "[ncu_broken]" in done.stderr
    assert "is not found under" in done.stderr


def test_an_ncu_that_is_too_old(fake: Fake) -> None:
    fake.scenario(face="2020.3")

    done = fake.run("profile", "true")

    assert done.returncode == 4
    assert "[ncu_too_old]" in done.stderr


@pytest.mark.parametrize("face", FACES)
def test_a_whole_run_with_each_generation_of_ncu(fake: Fake, face: str) -> None:
    fake.scenario(face=face)

    done = fake.run("profile", "--kernel", "gemm", "--nvtx", "step", "true")

    assert done.returncode == 0, done.stderr
    assert f"ncu {face}.0" in done.stdout
    assert fake.files() == {"true.ncu-rep", "true.ncu-rep.log"}


@pytest.mark.parametrize("given", [(), ("-o", "a.ncu-repz")])
def test_a_compressed_report_is_found_kept_and_read(fake: Fake, given: tuple[str, ...]) -> None:
    packed = fake.report.with_suffix(".ncu-repz")
    save(packed, [fake.report.read_bytes()], force=False)
    fake.scenario({"log": [PROFILED], "report": str(packed)}, face="2026.3")

    done = fake.run("profile", *given, "true")

    assert done.returncode == 0, done.stderr
    name = "a.ncu-repz" if given else "true.ncu-repz"
    assert f"Report: {name} (1 launch)" in done.stdout
    assert (fake.folder / name).read_bytes() == packed.read_bytes()


@pytest.mark.parametrize("cause", ["permission", "home"])
def test_a_remedy_can_be_run_as_it_stands(fake: Fake, cause: str) -> None:
    """The place decides which remedy closed counters have; the words are the same in each."""
    fake.program("bench", "echo ran with $*")
    fake.scenario({"log": [LINES["home"]], "exit": 1})
    words = ("profile", "--quiet", "--kernel", "a b", "bench", "--n", "2")
    refused = fake.process(*words)
    (line,) = [line for line in refused.stderr.splitlines() if "HOME=" in line]
    typed = line.partition("-d) ")[2]
    assert typed == shlex.join(fake.argv(*words))
    # As sudo does it: a path of its own, and no more of the environment than -E keeps.
    fake.program(
        "sudo",
        '[ "$1" = -E ] && shift; PATH=/usr/bin:/bin; unset LD_LIBRARY_PATH; '
        'export SUDO_UID=12 SUDO_GID=34; exec "$@"',
    )
    fake.scenario()
    remedy = catalogue()[cause].you.replace(OURS, typed).partition("if you may: ")

    again = subprocess.run(
        ["sh", "-c", remedy[2] or remedy[0]],
        cwd=fake.folder, env=fake.environment, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert again.returncode == 0, again.stderr
    assert "ran with --n 2" in again.stdout
    if os.geteuid() == 0 and cause == "permission":
        made = (fake.folder / "bench.ncu-rep").stat()
        assert (made.st_uid, made.st_gid) == (12, 34)
