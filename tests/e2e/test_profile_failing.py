"""Reports that do not load, programs that fail, nothing to profile, hangs and signals."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from sample_reports.writer import write
from tests.e2e.fake import PROFILED, Fake, launch


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"", b"junk", b"NVR\0"], ids=["empty", "junk", "cut"])
def test_a_report_that_does_not_load_is_no_result(fake: Fake, content: bytes) -> None:
    fake.report.write_bytes(content)
    fake.scenario({"log": [PROFILED], "report": str(fake.report), "finished": False})

    done = fake.run("profile", "-o", "a.ncu-rep", "true")

    assert done.returncode == 4
    assert "[report_unreadable]" in done.stderr
    assert fake.files() == {"a.ncu-rep.log"}


def test_a_finished_report_is_kept_even_if_it_cannot_be_read(fake: Fake) -> None:
    fake.report.write_bytes(b"NVR\0 of a format to come")

    done = fake.run("profile", "-o", "a.ncu-rep", "true")

    assert done.returncode == 4
    assert "[report_unread]" in done.stderr
    assert "evidence: a.ncu-rep: " in done.stderr
    assert (fake.folder / "a.ncu-rep").read_bytes() == b"NVR\0 of a format to come"


@pytest.mark.slow
def test_a_report_cut_by_one_byte_is_no_result(fake: Fake) -> None:
    fake.report.write_bytes(fake.report.read_bytes()[:-1])

    assert fake.run("profile", "true").returncode == 4


@pytest.mark.slow
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
    fake.scenario({"log": ["==ERROR== 'app' died due to signal 9 (Killed)"], "exit": 1})

    done = fake.run("profile", "true")

    assert done.returncode == 5
    assert "[program_killed]" in done.stderr


def test_a_crash_of_ncu_is_not_the_programs(fake: Fake) -> None:
    fake.scenario({"signal": int(signal.SIGSEGV)})

    done = fake.run("profile", "true")

    assert done.returncode == 4
    assert "ncu itself crashed" in done.stderr
    assert "evidence: ncu was ended by signal 11" in done.stderr


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
    ran = done.stderr.split("kernels that ran:")[1].split("try: ")[0]
    assert [line.strip() for line in ran.split("\n") if line.strip()] == [
        "2.000 ms      2 x  void sgemm_tiled(float *)",
        "1.000 ms      1 x  void relu(float *)",
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
    assert first.startswith("roofline: collectives are left out, also those that match")
    assert "[collectives_left_out]" in rest
    assert "try: add --collectives" in rest
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


def test_a_region_that_never_ran_says_where_its_name_is_spelled(fake: Fake) -> None:
    fake.scenario({"log": ["==WARNING== No kernels were profiled."]})

    done = fake.run("profile", "--region", "forwrad", "true")

    assert done.returncode == 4
    hint = next(line for line in done.stderr.splitlines() if line.lstrip().startswith("try:"))
    assert "--region is spelled as in the program (grep for roofline.region" in hint


def test_list_kernels(fake: Fake) -> None:
    write(
        fake.report,
        [launch("b"), launch("a", **{"gpu__time_duration.sum": 1.5e6}), launch("b")],
        force=True,
    )

    done = fake.run("profile", "--list-kernels", "true")

    # By time, once each: 2 launches of 1 ms before one of 1.5 ms.
    assert [line.split(maxsplit=4) for line in done.stdout.splitlines()] == [
        ["2.000", "ms", "2", "x", "void b(float *)"],
        ["1.500", "ms", "1", "x", "void a(float *)"],
    ]
    assert fake.files() == set()


def test_a_word_among_families_that_is_none_is_refused(fake: Fake) -> None:
    done = fake.run("profile", "--kernel", "gemm,atention", "true")

    assert done.returncode == 2
    assert (
        "'atention' is no family of kernels\n  try: some of communication, attention" in done.stderr
    )
    assert fake.run("profile", "--kernel", "gemm,x", "--exact-regex", "true").returncode == 0


def test_a_family_is_asked_for_by_its_word(fake: Fake) -> None:
    done = fake.run("profile", "-k", "gemm", "--kernels", "norm", "true")

    assert done.returncode == 0, done.stderr
    assert "gemm: nvjet_*, sm90_xmma_gemm_*" in done.stderr
    assert "norm: " in done.stderr
    assert done.stderr.count("--exact-regex for the letters alone") == 2
    argv = fake.calls()[-1]["argv"]
    wanted = re.compile(argv[argv.index("--kernel-name") + 1].removeprefix("regex:"))
    assert wanted.search("nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_TNN")
    assert wanted.search("void vectorized_layer_norm_kernel<float>(int)")
    assert not wanted.search("relu")

    fake.run("profile", "-k", "gemm", "--exact-regex", "--force", "true")
    argv = fake.calls()[-1]["argv"]
    assert argv[argv.index("--kernel-name") + 1].endswith(r"[\s\S]*(?:gemm)")


def test_what_ran_is_listed_by_time_where_no_family_matched(fake: Fake) -> None:
    write(fake.report, [launch("b"), launch("a"), launch("b")], force=True)
    nothing = {"log": ["==WARNING== No kernels were profiled."]}
    fake.scenario(nothing, {"log": [PROFILED], "report": str(fake.report)})

    done = fake.run("profile", "--kernel", "fft", "true")

    assert "[nothing_matched]" in done.stderr
    lines = [line.split() for line in done.stderr.splitlines() if " x  void " in line]
    assert [(line[2], line[4]) for line in lines] == [("2", "void"), ("1", "void")]


@pytest.mark.slow
def test_a_kernel_that_hangs_is_ended(fake: Fake, tmp_path: Path) -> None:
    child = tmp_path / "child"
    log = ['==PROF== Profiling "ncclKernel_AllReduce" - 0: 0%.']
    fake.scenario({"log": log, "delay": 60, "child": str(child)})
    began = time.monotonic()

    done = fake.run("profile", "--stall-timeout", "0.5", "true")

    assert time.monotonic() - began < 20
    assert done.returncode == 4
    assert "[replay_hang]" in done.stderr
    assert "ncclKernel_AllReduce" in done.stderr
    assert not _alive(int(child.read_text()))


@pytest.mark.slow
def test_a_program_that_is_silent_is_not_ended(fake: Fake) -> None:
    step = {"log": [PROFILED], "delay": 1, "report": str(fake.report)}
    fake.scenario(step)

    assert fake.run("profile", "--stall-timeout", "0.2", "true").returncode == 0


@pytest.mark.slow
def test_timeout(fake: Fake) -> None:
    fake.scenario({"delay": 60, "ignore_signals": False})

    done = fake.run("profile", "--timeout", "0.5", "true")

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


def _signalled(fake: Fake, *signals: int) -> tuple[int, str, str]:
    """Run ``profile``, send ``signals`` one by one as ncu notes them, and wait for the end."""
    running = subprocess.Popen(
        fake.argv("profile", "true"),
        cwd=fake.folder,
        env=fake.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    for count, number in enumerate(signals, start=1):
        _wait_for(lambda count=count: len(fake.signals()) >= count)
        os.kill(running.pid, number)
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
