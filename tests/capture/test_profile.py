"""``roofline profile`` against a fake ncu: what it runs, what it keeps, what it says."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import subprocess
import time
from pathlib import Path

import pytest

from roofline.repfile import write
from tests.capture.conftest import PROFILED, Fake, launch


def test_works_as_in_the_readme(fake: Fake) -> None:
    fake.program("bench", 'echo "args: $*"')

    done = fake.run("profile", "--kernel-regex", "gemm", "bench", "--its", "own", "-o", "--help")

    assert done.returncode == 0, done.stderr
    assert "args: --its own -o --help" in done.stdout
    assert "gemm" in done.stdout
    assert "DRAM" in done.stdout
    assert "Report: bench.ncu-rep (1 launches)" in done.stdout
    assert fake.files() == {"bench.ncu-rep", "bench.ncu-rep.log"}


def test_double_dash_ends_our_options(fake: Fake) -> None:
    fake.program("bench", 'echo "args: $*"')

    done = fake.run("profile", "--", "bench", "--", "x")

    assert "args: -- x" in done.stdout


def test_an_option_of_ours_that_is_misspelt_is_refused_before_anything_runs(fake: Fake) -> None:
    done = fake.run("profile", "--kernel-regx", "gemm", "true")

    assert done.returncode == 2
    assert "--kernel-regex" in done.stderr
    assert fake.calls() == []


def test_says_how_it_was_measured(fake: Fake) -> None:
    done = fake.run("profile", "--clock-control", "none", "--cache-control", "none", "true")

    assert "9 passes" in done.stdout
    assert "caches left warm" in done.stdout
    assert "clocks not locked" in done.stdout
    assert "under the profiler" in done.stdout
    assert "collectives left out (--collectives takes them)" in done.stdout


@pytest.mark.parametrize(
    "options", [("--collectives",), ("--kernel", "gemm"), ("--replay", "range")], ids=" ".join
)
def test_what_is_not_filtered_is_not_said_to_be(fake: Fake, options: tuple[str, ...]) -> None:
    done = fake.run("profile", *options, "true")

    assert done.returncode == 0, done.stderr
    assert "collectives left out" not in done.stdout
    assert "collectives (NCCL" not in done.stderr


def test_json_is_alone_on_stdout(fake: Fake) -> None:
    fake.program("bench", "echo noise; echo more >&2")

    done = fake.run("profile", "--format", "json", "bench")

    assert json.loads(done.stdout)["launches"][0]["name"] == "gemm"
    assert "noise" in done.stderr
    assert "more" in done.stderr
    assert "Report: bench.ncu-rep" in done.stderr


def test_output_of_the_program_passes_byte_by_byte(fake: Fake) -> None:
    fake.program("bench", r"printf '\377\000out' ; printf '\376err' >&2")
    done = subprocess.run(
        fake.argv("profile", "bench"), cwd=fake.folder, env=fake.environment, capture_output=True
    )

    assert done.stdout.startswith(b"\xff\x00out")
    assert b"\xfeerr" in done.stderr


def test_on_a_terminal_there_is_progress_and_the_program_sees_the_terminal(fake: Fake) -> None:
    fake.program("bench", "test -t 1 && echo on a terminal; read line || echo no input")
    ours, theirs = pty.openpty()
    running = subprocess.Popen(
        fake.argv("profile", "bench"),
        cwd=fake.folder,
        env=fake.environment | {"NO_COLOR": "1"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    said = b""
    with contextlib.suppress(OSError):  # the end of a terminal
        while chunk := os.read(ours, 1 << 16):
            said += chunk
    os.close(ours)

    assert running.wait() == 0
    assert b"on a terminal" in said
    assert b"no input" in said  # a background process group must not read a terminal
    assert b"roofline: profiled 1: gemm (9 passes)" in said
    assert b"at most 10 launches" in said
    assert b"--collectives takes them" in said


def test_input_reaches_the_program(fake: Fake) -> None:
    fake.program("bench", "read line; echo got $line")
    done = subprocess.run(
        fake.argv("profile", "bench"),
        cwd=fake.folder,
        env=fake.environment,
        input="hello\n",
        capture_output=True,
        text=True,
    )

    assert "got hello" in done.stdout


def test_an_existing_report_stays(fake: Fake) -> None:
    (fake.folder / "a.ncu-rep").write_text("mine")

    done = fake.run("profile", "-o", "a.ncu-rep", "true")

    assert done.returncode == 2
    assert "--force" in done.stderr
    assert fake.calls() == []
    assert (fake.folder / "a.ncu-rep").read_text() == "mine"


def test_force_writes_over_it(fake: Fake) -> None:
    (fake.folder / "a.ncu-rep").write_text("mine")

    assert fake.run("profile", "--force", "-o", "a.ncu-rep", "true").returncode == 0
    assert (fake.folder / "a.ncu-rep").read_bytes() == fake.report.read_bytes()


def test_without_a_name_the_next_free_one_is_taken(fake: Fake) -> None:
    fake.run("profile", "true")
    done = fake.run("profile", "true")

    assert "Report: true-2.ncu-rep" in done.stdout
    assert {"true.ncu-rep", "true-2.ncu-rep"} <= fake.files()


def test_an_old_report_is_not_taken_for_a_new_one(fake: Fake) -> None:
    (fake.folder / "a.ncu-rep").write_bytes(fake.report.read_bytes())
    fake.scenario({"log": ["==WARNING== No kernels were profiled."]})

    done = fake.run("profile", "--force", "-o", "a.ncu-rep", "true")

    assert done.returncode == 4
    assert "[nothing_launched]" in done.stderr
    assert (fake.folder / "a.ncu-rep").read_bytes() == fake.report.read_bytes()


def test_a_log_that_is_not_ours_stays(fake: Fake) -> None:
    (fake.folder / "a.ncu-rep.log").write_text("mine")

    done = fake.run("profile", "-o", "a.ncu-rep", "true")

    assert done.returncode == 2
    assert (fake.folder / "a.ncu-rep.log").read_text() == "mine"


def test_a_percent_sign_in_the_folder_is_no_macro(fake: Fake) -> None:
    (fake.folder / "50%p").mkdir()

    done = fake.run("profile", "-o", "50%p/a.ncu-rep", "true")

    assert done.returncode == 0
    assert (fake.folder / "50%p" / "a.ncu-rep").exists()
    words = fake.calls()[0]["argv"]
    assert "50%%p" in words[words.index("--export") + 1]


@pytest.mark.parametrize("content", [b"", b"junk", b"NVR\0"], ids=["empty", "junk", "cut"])
def test_a_report_that_does_not_load_is_no_result(fake: Fake, content: bytes) -> None:
    fake.report.write_bytes(content)

    done = fake.run("profile", "-o", "a.ncu-rep", "true")

    assert done.returncode == 4
    assert "[report_unreadable]" in done.stderr
    assert fake.files() == {"a.ncu-rep.log"}


def test_a_report_cut_by_one_byte_is_no_result(fake: Fake) -> None:
    fake.report.write_bytes(fake.report.read_bytes()[:-1])

    assert fake.run("profile", "true").returncode == 4


def test_program_fails_but_leaves_launches(fake: Fake) -> None:
    log = [PROFILED, "==ERROR== The application returned an error code (CODE)."]
    fake.scenario({"run": True, "log": log, "exit": 1, "report": str(fake.report)})
    fake.program("bench", "echo assertion failed >&2; exit 3")

    done = fake.run("profile", "bench")

    assert done.returncode == 0
    assert "Partial: the program itself failed" in done.stdout
    assert "error code (3)" in done.stdout
    assert "assertion failed" in done.stdout


def test_program_fails_and_leaves_nothing(fake: Fake) -> None:
    log = [
        "==ERROR== The application returned an error code (CODE).",
        "==WARNING== No kernels were profiled.",
    ]
    fake.scenario({"run": True, "log": log, "exit": 1})
    fake.program("bench", "echo KeyError: x >&2; exit 3")

    done = fake.run("profile", "bench")

    assert done.returncode == 5
    assert "[program_failed]" in done.stderr
    assert "KeyError: x" in done.stderr
    assert "bench.ncu-rep.log" in done.stderr


def test_program_killed(fake: Fake) -> None:
    fake.scenario({"signal": signal.SIGKILL})

    done = fake.run("profile", "true")

    assert done.returncode == 5
    assert "[program_killed]" in done.stderr


def test_no_matching_kernel_names_those_that_ran(fake: Fake) -> None:
    others = fake.folder.parent / "others.ncu-rep"
    write(others, [launch("sgemm_tiled"), launch("relu"), launch("sgemm_tiled")])
    fake.scenario(
        {"log": ["==WARNING== No kernels were profiled."]},
        {"log": [PROFILED], "report": str(others)},
    )

    done = fake.run("profile", "--kernel-regex", "gemn", "true")

    assert done.returncode == 4
    assert "[nothing_matched]" in done.stderr
    ran = done.stderr.split("kernels that ran:")[1].split("\n")
    assert [line.strip() for line in ran if line.strip()] == [
        "void sgemm_tiled(float *)",
        "void relu(float *)",
    ]
    second = fake.calls()[1]["argv"]
    assert second[second.index("--metrics") + 1] == "gpu__time_duration.sum"


@pytest.mark.parametrize("expression", ["nccl", "nccl.*AllReduce|x", "(?i)all_?gather"])
def test_collectives_asked_for_by_regex_are_said_to_be_left_out(
    fake: Fake, expression: str
) -> None:
    fake.scenario({"log": ["==WARNING== No kernels were profiled."]})

    done = fake.run("profile", "--kernel-regex", expression, "true")

    assert done.returncode == 4
    # Before the run, and as the cause; the program does not run again for names.
    first, _, rest = done.stderr.partition("\n")
    assert first.startswith("roofline: collectives are left out, those that --kernel-regex")
    assert "[collectives_left_out]" in rest
    assert "try: --collectives takes them" in rest
    assert "kernels that ran" not in rest
    assert len(fake.calls()) == 1


def test_a_regex_of_collectives_with_them_taken_is_judged_as_any(fake: Fake) -> None:
    fake.scenario({"log": ["==WARNING== No kernels were profiled."]})

    done = fake.run("profile", "--collectives", "--kernel-regex", "nccl", "true")

    assert "[nothing_launched]" in done.stderr
    assert "collectives_left_out" not in done.stderr


def test_nothing_launched_at_all(fake: Fake) -> None:
    fake.scenario({"log": ["==WARNING== No kernels were profiled."]})

    done = fake.run("profile", "--kernel-regex", "gemm", "true")

    assert done.returncode == 4
    assert "[nothing_launched]" in done.stderr


def test_list_kernels(fake: Fake) -> None:
    write(fake.report, [launch("b"), launch("a"), launch("b")], force=True)

    done = fake.run("profile", "--list-kernels", "true")

    assert done.stdout.splitlines() == ["void b(float *)", "void a(float *)"]
    assert fake.files() == set()


def test_a_kernel_that_hangs_is_ended(fake: Fake, tmp_path: Path) -> None:
    child = tmp_path / "child"
    log = ['==PROF== Profiling "ncclKernel_AllReduce" - 0: 0%.']
    fake.scenario({"log": log, "delay": 60, "child": str(child)})
    began = time.monotonic()

    done = fake.run("profile", "--stall-timeout", "1", "true")

    assert time.monotonic() - began < 20
    assert done.returncode == 4
    assert "[replay_hang]" in done.stderr
    assert "ncclKernel_AllReduce" in done.stderr
    assert not _alive(int(child.read_text()))


def test_a_program_that_is_silent_is_not_ended(fake: Fake) -> None:
    step = {"log": [PROFILED], "delay": 2, "report": str(fake.report)}
    fake.scenario(step)

    assert fake.run("profile", "--stall-timeout", "0.5", "true").returncode == 0


def test_timeout(fake: Fake) -> None:
    fake.scenario({"delay": 60, "ignore_signals": False})

    done = fake.run("profile", "--timeout", "1", "true")

    assert done.returncode == 4
    assert "[timeout]" in done.stderr


def test_interrupt_keeps_what_there_is(fake: Fake) -> None:
    fake.scenario({"log": [PROFILED], "delay": 60, "gentle": True, "report": str(fake.report)})

    code, out, _err = _signalled(fake, signal.SIGINT)

    assert code == 130
    assert "Partial: the run was ended early (SIGINT)" in out
    assert "true.ncu-rep" in fake.files()


def test_terminate_ends_the_whole_group(fake: Fake, tmp_path: Path) -> None:
    child = tmp_path / "child"
    fake.scenario({"log": [PROFILED], "delay": 60, "child": str(child)})

    code, _out, err = _signalled(fake, signal.SIGTERM)

    assert code == 4
    assert "[interrupted]" in err
    assert not _alive(int(child.read_text()))
    assert fake.files() == {"true.ncu-rep.log"}


def test_second_interrupt_does_not_wait(fake: Fake, tmp_path: Path) -> None:
    child = tmp_path / "child"
    step = {"log": [PROFILED], "delay": 60, "child": str(child), "ignore_signals": True}
    fake.scenario(step)
    began = time.monotonic()

    # The first goes to ncu alone, the second is SIGTERM and the third SIGKILL for all of it.
    code, _out, err = _signalled(fake, signal.SIGINT, signal.SIGINT, signal.SIGINT)

    assert time.monotonic() - began < 9  # less than the grace that the first one has
    assert code == 4
    assert "[interrupted]" in err
    assert not _alive(int(child.read_text()))


def test_another_rank_runs_bare(fake: Fake) -> None:
    fake.environment["OMPI_COMM_WORLD_RANK"] = "3"
    fake.program("bench", "echo bare $*; exit 7")

    done = fake.run("profile", "--rank", "0", "bench", "--x")

    assert (done.returncode, done.stdout) == (7, "bare --x\n")
    assert fake.calls() == []


def test_the_rank_asked_for_is_profiled(fake: Fake) -> None:
    fake.environment["RANK"] = "0"

    assert fake.run("profile", "--rank", "0", "true").returncode == 0
    assert len(fake.calls()) == 1


def test_rank_outside_a_job_shows_the_command(fake: Fake) -> None:
    done = fake.run("profile", "--rank", "1", "torchrun", "--nproc-per-node", "8", "t.py", "-b")

    assert done.returncode == 2
    wanted = "torchrun --nproc-per-node 8 --no-python roofline profile --rank 1 python t.py -b"
    assert wanted in done.stderr


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
    done = fake.run("profile", "--devices", "0,4", "true")

    assert done.returncode == 2
    assert "no GPU 4" in done.stderr


def test_a_collective_that_is_asked_for_is_taken_with_a_warning(fake: Fake) -> None:
    done = fake.run("profile", "--kernel", "ncclDevKernel_AllReduce", "true")

    words = fake.calls()[0]["argv"]
    assert words[words.index("--kernel-name") + 1] == "ncclDevKernel_AllReduce"
    assert "hangs" in done.stderr


def test_injection_of_another_tool_is_unset(fake: Fake) -> None:
    fake.environment["CUDA_INJECTION64_PATH"] = "/x.so"

    fake.run("profile", "true")

    assert "CUDA_INJECTION64_PATH" not in fake.calls()[0]["env"]


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

    done = fake.run("profile", "--rank", "0", "nosuch")

    assert done.returncode == 5
    assert "[program_missing]" in done.stderr


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


@pytest.mark.parametrize("dry_run", [False, True])
def test_devices_are_numbers(fake: Fake, dry_run: bool) -> None:
    done = fake.run("profile", *(["--dry-run"] if dry_run else []), "--devices", "a,b", "true")

    assert done.returncode == 2
    assert "--devices a,b: GPUs are given by index" in done.stderr


def test_devices_that_ncu_refuses(fake: Fake) -> None:
    fake.scenario(refuses="==ERROR== Invalid device 0 in the --devices option.")

    done = fake.run("profile", "--devices", "0", "true")

    assert done.returncode == 2
    assert "Invalid device 0" in done.stderr
    assert fake.calls() == []


def test_no_ncu_at_all(fake: Fake) -> None:
    (fake.bin / "ncu").unlink()

    done = fake.run("profile", "true")

    if "[ncu_missing]" not in done.stderr:  # pragma: no cover - a machine with ncu installed
        pytest.skip("this machine has an ncu in an install folder")
    assert done.returncode == 4


def test_an_ncu_that_does_not_answer(fake: Fake) -> None:
    fake.program("ncu", "echo 'ERROR : nsight-compute directory is not found under' >&2; exit 1")

    done = fake.run("profile", "--ncu", str(fake.bin / "ncu"), "true")

    assert done.returncode == 4
    assert "[ncu_broken]" in done.stderr
    assert "is not found under" in done.stderr


def test_an_ncu_that_is_too_old(fake: Fake) -> None:
    fake.scenario(version="Version 2021.3.1.0 (build 1)")

    done = fake.run("profile", "true")

    assert done.returncode == 4
    assert "[ncu_too_old]" in done.stderr


def test_dry_run_runs_nothing_but_version(fake: Fake) -> None:
    fake.program("nvidia-smi", f"touch {fake.folder}/asked")

    done = fake.run("profile", "--dry-run", "--chip", "gh100", "--kernel-regex", "a b", "true")

    assert done.returncode == 0
    command = done.stdout.splitlines()[0]
    assert command.startswith(str(fake.bin / "ncu"))
    assert "(?:a b)'" in command
    assert "GH100           7" in done.stdout
    assert fake.calls() == []
    assert fake.files() == set()


def test_dry_run_without_a_gpu_or_ncu_shows_every_generation(fake: Fake) -> None:
    (fake.bin / "ncu").unlink()

    done = fake.run("profile", "--dry-run", "--level", "quick", "true")

    assert done.returncode == 0
    for chip in ("TU102", "GA100", "GA102", "AD102", "GH100", "GB100", "GB202"):
        assert f"  {chip}" in done.stdout
    # quick samples nothing: one hardware pass and one or two for patched code.
    assert "2 to 3 (with patched code)" in done.stdout
    assert "sampling" not in done.stdout


def test_dry_run_says_for_which_chip_the_command_is_and_it_is(fake: Fake) -> None:
    fake.gpu()

    unknown = fake.run("profile", "--dry-run", "true").stdout.splitlines()
    gh100 = fake.run("profile", "--dry-run", "--chip", "gh100", "true").stdout.splitlines()

    commands = [[line for line in lines if "--metrics" in line] for lines in (unknown, gh100)]
    assert commands[0] == commands[1]
    assert "the command is for GH100" in unknown[0]
    assert "only names that every chip has" not in "\n".join(unknown)


@pytest.mark.parametrize(
    ("options", "row", "added"),
    [
        ((), "7  9 to 10 (with patched code and sampling)", None),
        # NVIDIA's set costs the same whoever names it.
        (("--set", "full"), "-  39 to 40 (seen in public reports)", None),
        (("--level", "full", "--metrics", "a__b.sum"), "-  39 to 40", "--metrics"),
        (("--section", "Nvlink", "--set", "detailed"), "7  9 to 10", "--section and --set"),
        # Nothing is patched into ranges and graphs: 7, and one for samples.
        (("--graphs", "graph"), "7  8 (with sampling)", None),
        (("--replay", "range", "--level", "quick"), "1  1 (nothing else)", None),
        (("--replay", "range", "--level", "full"), "-  not known", None),
    ],
)
def test_dry_run_counts_what_is_added(
    fake: Fake, options: tuple[str, ...], row: str, added: str | None
) -> None:
    done = fake.run("profile", "--dry-run", "--chip", "gh100", *options, "true")

    assert f"  GH100           {row}" in done.stdout
    said = [line for line in done.stdout.splitlines() if "not in this table" in line]
    assert said == (
        [] if added is None else [f"  and what {added} may add, which is not in this table"]
    )


@pytest.mark.parametrize("chip", ["gv100", "GV11B"])
def test_a_chip_older_than_the_table_is_said_to_be(fake: Fake, chip: str) -> None:
    done = fake.run("profile", "--dry-run", "--chip", chip, "true")

    assert done.returncode == 2
    assert f"--chip {chip}: too old for the pass table: a real run on it asks ncu" in done.stderr


def _signalled(fake: Fake, *signals: int) -> tuple[int, str, str]:
    """Run ``profile``, send ``signals`` once ncu is at work, and wait for the end."""
    running = subprocess.Popen(
        fake.argv("profile", "true"),
        cwd=fake.folder,
        env=fake.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    _wait_for(fake.calls)
    time.sleep(0.5)
    for number in signals:
        os.kill(running.pid, number)
        time.sleep(0.5)
    out, err = running.communicate(timeout=30)
    return running.returncode, out, err


def _wait_for(what: object, limit_s: float = 20) -> None:
    assert callable(what)
    end = time.monotonic() + limit_s
    while not what():
        assert time.monotonic() < end
        time.sleep(0.05)


def _alive(process: int) -> bool:
    """Whether a process that was killed a moment ago is still there."""
    status = Path(f"/proc/{process}/stat")
    for _ in range(50):
        try:
            state = status.read_text().rpartition(")")[2].split()[0]
        except OSError:
            return False
        if state == "Z":
            return False
        time.sleep(0.1)
    return True
