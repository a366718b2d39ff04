"""``roofline profile`` against a fake ncu: what it runs, what it keeps, what it says."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import subprocess

import pytest

from tests.e2e.fake import PROFILED, Fake


def test_works_as_in_the_readme(fake: Fake) -> None:
    fake.program("bench", 'echo "args: $*"')

    done = fake.run("profile", "--kernel-regex", "gemm", "bench", "--its", "own", "-o", "--help")

    assert done.returncode == 0, done.stderr
    assert "args: --its own -o --help" in done.stdout
    assert "gemm" in done.stdout
    assert "DRAM" in done.stdout
    assert "Report: bench.ncu-rep (1 launch)" in done.stdout
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
    assert "under ncu" in done.stdout
    assert "collectives left out (--collectives takes them)" in done.stdout


@pytest.mark.parametrize(
    "options", [("--collectives",), ("--kernel-name", "gemm"), ("--replay", "range")], ids=" ".join
)
def test_what_is_not_filtered_is_not_said_to_be(fake: Fake, options: tuple[str, ...]) -> None:
    done = fake.run("profile", *options, "true")

    assert done.returncode == 0, done.stderr
    assert "collectives left out" not in done.stdout
    assert "collectives (NCCL" not in done.stderr


@pytest.mark.slow
def test_json_is_alone_on_stdout(fake: Fake) -> None:
    fake.program("bench", "echo noise; echo more >&2")

    done = fake.run("profile", "--format", "json", "bench")

    assert json.loads(done.stdout)["launches"][0]["name"] == "gemm"
    assert "noise" in done.stderr
    assert "more" in done.stderr
    assert "Report: bench.ncu-rep" in done.stderr


@pytest.mark.slow
def test_output_of_the_program_passes_byte_by_byte(fake: Fake) -> None:
    fake.program("bench", r"printf '\377\000out' ; printf '\376err' >&2")
    done = subprocess.run(
        fake.argv("profile", "bench"), cwd=fake.folder, env=fake.environment, capture_output=True
    )

    assert done.stdout.startswith(b"\xff\x00out")
    assert b"\xfeerr" in done.stderr


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_an_existing_report_stays(fake: Fake) -> None:
    (fake.folder / "a.ncu-rep").write_text("mine")

    done = fake.run("profile", "-o", "a.ncu-rep", "true")

    assert done.returncode == 2
    assert "--force" in done.stderr
    assert fake.calls() == []
    assert (fake.folder / "a.ncu-rep").read_text() == "mine"


@pytest.mark.slow
def test_force_writes_over_it(fake: Fake) -> None:
    (fake.folder / "a.ncu-rep").write_text("mine")

    assert fake.run("profile", "--force", "-o", "a.ncu-rep", "true").returncode == 0
    assert (fake.folder / "a.ncu-rep").read_bytes() == fake.report.read_bytes()


@pytest.mark.slow
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


def test_the_time_without_ncu_stands_beside(fake: Fake) -> None:
    fake.program("bench", 'echo ran >> "$HOME/runs"; sleep 0.2')
    done = fake.run("profile", "--time", "bench")

    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("Time without ncu: ")]
    # Four times alone, once under ncu: of the fake ncu's report, one launch of 1 ms.
    assert (fake.folder.parent / "runs").read_text().count("ran") == 5
    found = re.match(r"Time without ncu: ([\d.]+) (ms|s), the whole program \(median of 3", line)
    assert found, line
    assert float(found[1]) / {"ms": 1e3, "s": 1}[found[2]] >= 0.2
    assert "Time under ncu: 1.00 ms in 1 launch." in line


def test_a_time_may_come_from_a_file(fake: Fake) -> None:
    made = fake.run("time", "--repeats", "1", "--warmup", "0", "-o", "t.json", "true")
    assert made.returncode == 0, made.stderr

    done = fake.run("profile", "--time-file", "t.json", "--json", "-f", "true")

    assert "analysis" in json.loads(done.stdout)["schema"]
    assert "the whole program (median of 1 run)." in done.stderr
    assert fake.run("profile", "--time-file", "no.json", "true").returncode == 3
    assert len(fake.calls()) == 1  # the file is read first


@pytest.mark.parametrize("other", ["--dry-run", "--list-kernels", "--time-file=x", "--rank=0"])
def test_a_time_needs_runs_of_its_own(fake: Fake, other: str) -> None:
    done = fake.run("profile", "--time", other, "true")
    assert done.returncode == 2
    assert "exclude each other" in done.stderr
    assert fake.calls() == []


def test_that_the_program_is_ended_is_said_before_it_is(fake: Fake) -> None:
    fake.program("bench", "echo started >&2")
    running_on = {"log": [PROFILED], "report": str(fake.report), "gentle": True, "delay": 40}
    fake.scenario(running_on | {"run": True})

    done = fake.run("profile", "--first", "1", "--until", "launches", "bench")

    assert done.returncode == 0, done.stderr
    before, program = done.stderr.splitlines()[:2]
    assert before == (
        "roofline: Profiling at most 1 launch (--launch-count N); the program is ended with the "
        "last (--until program: never)"
    )
    assert program == "started"
    assert "The program was ended after the last kernel; --until program lets it" in done.stdout
    assert "The limit of 1 launch was reached; --launch-count raises it." in done.stdout


@pytest.mark.parametrize("options", [("--until", "program"), ("--per-config",), ("-c", "0")])
def test_a_program_that_is_not_ended_is_said_to_run_to_its_end(
    fake: Fake, options: tuple[str, ...]
) -> None:
    fake.scenario({"log": [PROFILED], "report": str(fake.report), "run": True, "delay": 1})

    done = fake.run("profile", *options, "true")

    assert done.returncode == 0, done.stderr
    assert "; the program runs to its end" in done.stderr
    assert "was ended" not in done.stdout
