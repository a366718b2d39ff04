"""``roofline profile PROGRAM`` alone: look, choose, profile; against a fake nsys and a fake ncu."""

from __future__ import annotations

import gzip
import json
import marshal
import os
import pty
import subprocess
import sys
import time
from ast import literal_eval
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sample_reports.writer import write
from tests.e2e.fake import PROFILED, Fake, launch
from tests.timeline.made import CALLS, KERNELS, Export

FAKE = Path(__file__).with_name("fake_nsys.py")
# Name -> us of each of its 20 launches: of the 1000 us in all, gemm kernels take 700.
TIMES = {"gemm_a": 20, "softmax": 12, "gemm_b": 12, "gemm_c": 3, "copy": 3}


def table(path: Path) -> Path:
    export = Export(path, KERNELS, CALLS)
    at = 1_000_000
    for number in range(20):
        for place, (name, lasted) in enumerate(TIMES.items()):
            correlation = 100 + number * len(TIMES) + place
            export.call("cudaLaunchKernel_v7000", at - 2000, at - 1000, correlation)
            export.kernel(f"void {name}(float *)", at, at + lasted * 1000, correlation=correlation)
            at += lasted * 1000
    return export.done()


@pytest.fixture
def looked(fake: Fake, tmp_path: Path) -> Fake:
    fake.environment |= {"ROOFLINE_LOOK": "auto", "FAKE_NSYS": str(tmp_path / "nsys")}
    fake.program("nsys", f'exec {sys.executable} -S -I {FAKE} "$@"')
    nsys(fake, table=str(table(tmp_path / "seen.sqlite")))
    fake.program("bench", 'echo "ran: $*"; echo error >&2')
    return fake


def nsys(fake: Fake, **scenario: Any) -> None:
    place = Path(fake.environment["FAKE_NSYS"])
    before = marshal.loads(place.read_bytes()) if place.exists() else {}
    place.write_bytes(marshal.dumps(before | scenario))


def looks(fake: Fake) -> list[dict[str, Any]]:
    file = Path(fake.environment["FAKE_NSYS"]).with_name("looks")
    return [literal_eval(row) for row in file.read_text().splitlines()] if file.exists() else []


def value(argv: list[str], option: str) -> str:
    return argv[argv.index(option) + 1]


def test_the_kernels_that_take_the_time_are_profiled(looked: Fake) -> None:
    done = looked.process("profile", "bench", "a b", "*")

    assert done.returncode == 0, done.stderr
    assert done.stdout.count("ran: a b *") == 2  # with nsys and with ncu
    assert (
        "Looking with nsys 2023.4.4 at full speed; the program is ended 20 s after it first uses"
        in done.stderr
    )
    # 20 + 12 + 12 of 50 us are 88 %: one of the two of 3 us makes it more than 90.
    assert "Chosen: 4 of 5 kernels, 94.0 % of their time" in done.stderr
    (call,) = looked.calls()
    wanted = value(call["argv"], "--kernel-name")
    assert all(name in wanted for name in ("gemm_a", "softmax", "gemm_b"))
    assert looked.files() == {"bench.ncu-rep", "bench.ncu-rep.log", "bench.look.json.gz"}
    assert int(value(call["argv"], "--launch-skip")) > 20  # in the middle of what ran
    assert "--timeline bench.look.json.gz" in done.stdout


def test_a_family_and_both_limits_narrow_the_choice(looked: Fake) -> None:
    done = looked.run("profile", "-k", "gemm", "--cover", "80", "bench")
    assert "Chosen: 2 of 3 gemm kernels, 91.4 % of their time, 64.0 % of the time" in done.stderr

    done = looked.run("profile", "-k", "gemm", "--top", "1", "bench")
    assert "Kernels as seen before (bench.look.json.gz)" in done.stderr
    assert "Chosen: 1 of 3 gemm kernels, 57.1 % of their time" in done.stderr
    assert len(looks(looked)) == 1

    looked.run("profile", "--look", "again", "bench")
    looked.run("profile", "bench", "other words")
    assert len(looks(looked)) == 3


@pytest.mark.parametrize("form", ["table", "markdown", "json"])
def test_the_answer_says_what_it_stands_for(looked: Fake, form: str) -> None:
    # What ran in place of gemm_b has another name: of 35 us in GEMMs, 20 were profiled.
    ran = map(launch, ("gemm_a", "softmax", "gemm_x"))
    made = [replace(each, grid=(64, 2, 3), block=(32, 4, 2)) for each in ran]
    report = looked.folder.parent / "ran.ncu-rep"
    write(report, made)
    looked.scenario({"log": [PROFILED], "report": str(report)})
    words = ("profile", "-k", "gemm", "--cover", "80", "--format", form, "-o", "kept.ncu-rep")

    done = looked.run(*words, "bench")

    assert done.returncode == 0, done.stderr
    assert "Chosen: 2 of 3 gemm kernels, 91.4 % of their time, 64.0 % of the time" in done.stderr
    if form == "json":
        covers = json.loads(done.stdout)["timeline"]["coverage"]
        assert covers["words"] == ["gemm"]
        assert (covers["kernels"], covers["of_kernels"]) == (1, 3)
        assert covers["time_share"] == pytest.approx(20 / 35)
        assert covers["wall_share"] == pytest.approx(20 / 50)
    else:
        line = "Profiled: 1 of 3 gemm kernels, 57.1 % of their time, 40.0 % of the time recorded\n"
        assert line in done.stdout


def test_a_program_that_changed_is_looked_at_again(looked: Fake) -> None:
    script = looked.folder / "bench.sh"
    script.write_text("true")
    looked.run("profile", "sh", "bench.sh")
    later = time.time() + 10
    os.utime(script, (later, later))

    looked.run("profile", "sh", "bench.sh")

    assert len(looks(looked)) == 2


def test_nothing_matches_and_what_ran_instead_is_said(looked: Fake) -> None:
    done = looked.run("profile", "-k", "nothing", "bench")

    assert done.returncode == 3
    assert "no kernel that ran matches --kernel nothing: most time takes gemm_a, " in done.stderr
    assert looked.calls() == []


@pytest.mark.parametrize("words", [("--min-share", "99"), ("-k", "gemm", "--cover", "0")])
def test_what_matches_and_is_not_chosen_is_not_called_missing(
    looked: Fake, words: tuple[str, ...]
) -> None:
    done = looked.run("profile", *words, "bench")

    assert done.returncode == 3
    assert "no kernel is worth profiling: most time takes gemm_a, " in done.stderr
    assert "try: a lower --min-share, or a higher --cover" in done.stderr


@pytest.mark.parametrize("words", [("--first", "3"), ("-c", "3"), ("-c", "0")], ids=" ".join)
def test_who_says_which_launches_gets_no_look(looked: Fake, words: tuple[str, ...]) -> None:
    assert looked.run("profile", *words, "bench").returncode == 0

    assert looks(looked) == []
    (call,) = looked.calls()
    assert words[1] == "0" or value(call["argv"], "--launch-count") == "3"
    assert words[1] == "3" or "--launch-count" not in call["argv"]  # 0 is no limit


def test_what_stays_holds_nothing_personal(looked: Fake) -> None:
    looked.environment["HF_TOKEN"] = "secret"
    looked.run("profile", "bench", "--password", "hunter2")

    trace = json.loads(gzip.decompress((looked.folder / "bench.look.json.gz").read_bytes()))
    assert {e["cat"] for e in trace["traceEvents"]} == {"kernel", "cuda_runtime"}
    assert "secret" not in str(trace)
    assert "hunter2" not in str(trace)
    left = [p for p in looked.folder.parent.iterdir() if p.name.startswith((".", "roofline"))]
    assert not left
    # and it is a timeline like any other
    assert "gemm_a" in looked.run("select", "bench.look.json.gz").stdout


@pytest.mark.slow
def test_a_program_that_runs_on_is_ended_after_the_look(looked: Fake) -> None:
    device = looked.folder.parent / "dev" / "nvidia0"  # having it open starts the clock
    device.parent.mkdir()
    device.touch()
    using = f"exec 5<{device}; trap 'echo bye; exit 0' INT; while :; do sleep 0.1; done"
    looked.program("bench", using)
    looked.scenario({"log": [PROFILED], "report": str(looked.report)})
    began = time.monotonic()

    done = looked.process("profile", "--look-seconds", "1", "bench")

    assert done.returncode == 0, done.stderr
    assert "bye" in done.stdout
    assert time.monotonic() - began < 30


def test_the_program_keeps_its_terminal(looked: Fake) -> None:
    looked.program("bench", "test -t 1 && echo terminal; test -t 2 || echo no")
    ours, theirs = pty.openpty()
    words = looked.argv("profile", "bench")
    subprocess.run(
        words, cwd=looked.folder, env=looked.environment, stdout=theirs, stderr=theirs, check=True
    )
    os.close(theirs)
    said = b""
    try:
        while chunk := os.read(ours, 1 << 16):
            said += chunk
    except OSError:
        pass
    assert said.count(b"terminal") >= 1
    assert b"Collecting data" not in said


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("no importer", "nsys 2023.4.4 saw nothing: its part that makes reports is missing"),
        ("no report", "nsys 2023.4.4 saw nothing: it made no report"),
        ("empty export", "not an Nsight Systems export"),
    ],
)
def test_where_nsys_fails_ncu_looks(looked: Fake, fault: str, why: str) -> None:
    nsys(looked, fault=fault)
    report = looked.folder.parent / "all.ncu-rep"
    write(report, [launch("gemm_a"), launch("other", **{"gpu__time_duration.sum": 1e3})] * 3)
    one_pass = {"log": [PROFILED], "report": str(report)}
    looked.scenario(one_pass, {"log": [PROFILED], "report": str(looked.report)})

    done = looked.run("profile", "bench")

    assert done.returncode == 0, done.stderr
    assert why in done.stderr
    assert "Looking with ncu, kernel by kernel" in done.stderr
    seen, profiled = looked.calls()
    assert value(seen["argv"], "--metrics") == "gpu__time_duration.sum"
    assert value(profiled["argv"], "--kernel-name") == "gemm_a"


def test_a_nsys_that_is_too_old_is_none(looked: Fake) -> None:
    nsys(looked, lacks=["--cuda-graph-trace"])

    done = looked.run("profile", "--look", "nsys", "bench")

    assert done.returncode == 2
    assert "no nsys of 2022 or later" in done.stderr


def test_a_program_that_fails_in_the_look_ends_it(looked: Fake) -> None:
    nsys(looked, fault="no report")
    looked.program("bench", "echo no such file >&2; exit 7")

    done = looked.run("profile", "bench")

    assert done.returncode == 5
    assert "exit code 7" in done.stderr
    assert looked.calls() == []


REAL = os.environ.get("ROOFLINE_TEST_NSYS")


@pytest.mark.skipif(REAL is None, reason="no real nsys in ROOFLINE_TEST_NSYS")
@pytest.mark.parametrize("seconds", ["0.5", "60"])
def test_the_real_nsys_takes_it_and_leaves_the_program_alone(looked: Fake, seconds: str) -> None:
    looked.environment["ROOFLINE_NSYS"] = str(REAL)
    report = looked.folder.parent / "all.ncu-rep"
    write(report, [launch("gemm")])
    looked.scenario({"log": [PROFILED], "report": str(report)})
    device = looked.folder.parent / "dev" / "nvidia0"
    device.parent.mkdir()
    device.touch()
    said = r"""printf '\377\000 a'; printf 'b %s' "$*" >&2; sleep 4; echo end"""
    looked.program("bench", f"exec 5<{device}; {said}")

    done = subprocess.run(
        looked.argv("profile", "--look-seconds", seconds, "bench", "a b", "*"),
        cwd=looked.folder,
        env=looked.environment,
        capture_output=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(b"\377\000 a" + (b"end\n" if seconds == "60" else b""))
    assert b"Collecting" not in done.stdout
    assert b"b a b *" in done.stderr
    # There is no GPU: it saw no kernel, and ncu looks.
    assert b" saw nothing: " in done.stderr
    assert looked.files() == {"bench.ncu-rep", "bench.ncu-rep.log", "bench.look.json.gz"}
