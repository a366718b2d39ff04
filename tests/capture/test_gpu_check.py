"""What runs on a GPU is whole without one: kernels compile, and the comparison compares."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sample_reports.writer import write as write_report
from tests.capture.test_levels import SCRIPTS, script
from tests.e2e.fake import PROFILED, Fake, launch
from tests.makers import measurement, result, verdict
from tests.timeline.made import launched, trace, write

NVCC = shutil.which("nvcc")


@pytest.mark.slow
@pytest.mark.skipif(NVCC is None, reason="no nvcc")
@pytest.mark.parametrize(
    ("arch", "made"),
    [("sm_80", "-c"), ("sm_90a", "-cubin"), ("sm_100a", "-cubin")],  # the host's code once
)
def test_kernels_compile_without_a_gpu(tmp_path: Path, arch: str, made: str) -> None:
    assert NVCC is not None
    words = [NVCC, "-std=c++20", "-O1", f"-arch={arch}", "-Xcompiler", "-Wall,-Wextra,-Werror"]

    done = subprocess.run(
        [*words, made, "-o", str(tmp_path / "k"), str(SCRIPTS / "gpu_kernels.cu")],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr


def test_script_is_valid_bash_and_says_what_is_missing(tmp_path: Path) -> None:
    path = SCRIPTS / "gpu_check.sh"
    assert os.access(path, os.X_OK)
    (tmp_path / "nvcc").touch(0o755)

    def ran(*words: str) -> str:
        environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "PYTHON": "no-such-python"}
        done = subprocess.run(["bash", path, *words], env=environment, capture_output=True)
        assert done.returncode == 2
        return (done.stdout + done.stderr).decode()

    assert "no-such-python cannot run roofline\n  try: make demo" in ran(str(tmp_path))
    assert "scripts/gpu_check.sh [OUT]" in ran("--help")


def test_every_kernel_that_is_launched_is_expected() -> None:
    source = (SCRIPTS / "gpu_kernels.cu").read_text()
    launched = set(re.findall(r"(\w+)<<<", source))
    assert launched - {"which_shapes"} == set(re.findall(r'expect\("(\w+)"', source))
    assert len(launched) == 17


# triad as the script states it for 1000 elements: 2 x 1000 operations, 12 x 1000 bytes.
EXPECTED = {
    "kernel": "triad",
    "bound": "bandwidth",
    "units": ("dram",),
    "operations": {"fp32": 2000.0},
    "dram_bytes": 12000.0,
}
CASES = [
    ({}, {}, "standard", ()),
    ({"operations": {"fp32": 2009.0}}, {}, "standard", ()),  # 0.45 % off
    ({"operations": {"fp32": 2011.0}}, {}, "standard", ("fp32 2011, by hand 2000",)),
    ({"operations": {}}, {}, "standard", ("fp32 not counted",)),
    ({"operations": {}}, {}, "ncu --set full", ()),
    ({"dram_bytes": 12700.0}, {}, "full", ("DRAM bytes 12700.0, by hand 12000",)),
    ({}, {"limiter": "l2"}, "full", ("limiter l2, expected dram",)),
    ({}, {"bound": "latency"}, "full", ("bound latency, expected bandwidth",)),
    ({}, {"bound": "unknown"}, "quick", ()),
    ({}, {"bound": "latency"}, "quick", ("bound latency, expected bandwidth",)),
]


@pytest.mark.parametrize(("measured", "judged", "how", "problems"), CASES)
def test_comparison(
    measured: dict[str, object],
    judged: dict[str, object],
    how: str,
    problems: tuple[str, ...],
) -> None:
    check = script("gpu_check")
    values = {"operations": {"fp32": 2000.0}, "dram_bytes": 12000.0} | measured
    found = result(measurement("triad", **values), verdict(**judged))
    row = check.compare(how, check.Expected(**EXPECTED), found)
    assert row.problems == problems
    assert ("ok" in check.show(row)) is (problems == ())


MIX = {"FFMA": 30.0, "FFMA.FTZ": 3.0, "FFMA2": 8.0}
MORE: list[tuple[dict[str, Any], dict[str, Any], dict[str, float], str, tuple[str, ...]]] = [
    ({"opcodes": {"FFMA": 33.0}}, {}, MIX, "quick", ()),
    ({"opcodes": {"FFMA": 30.0}}, {}, MIX, "quick", ("FFMA 33, by hand 30",)),
    ({"opcodes": {"FFMA": 30.0}}, {}, {}, "lean", ("FFMA not counted",)),
    ({"opcodes": {"FFMA": 30.0}}, {}, {}, "ncu --set full", ()),
    ({"evidence": {"sectors_a_load": 32.0}}, {"ratios": {"sectors_a_load": 31.0}}, {}, "lean", ()),
    (
        {"evidence": {"sectors_a_load": 32.0}},
        {"ratios": {"sectors_a_load": 4.0}},
        {},
        "standard",
        ("sectors_a_load 4, by hand 32.0",),
    ),
    ({"evidence": {"local_sectors": 0.0}}, {"counts": {"local_sectors": 7.0}}, {}, "standard", ()),
    (
        {"evidence": {"local_sectors": 0.0}},
        {"counts": {"local_sectors": 0.0}},
        {},
        "full",
        ("local_sectors 0, by hand above 0",),
    ),
    ({"evidence": {"local_sectors": 0.0}}, {}, {}, "full", ("local_sectors not measured",)),
    ({"evidence": {"local_sectors": 0.0}}, {}, {}, "quick", ()),
    ({"cause": "tail_effect"}, {}, {}, "standard", ("causes none, expected tail_effect",)),
    ({"cause": "tail_effect"}, {}, {}, "quick", ()),
    ({"bound": "", "units": ()}, {}, {}, "full", ()),
]


@pytest.mark.parametrize(("known", "measured", "mix", "how", "problems"), MORE)
def test_instructions_evidence_and_causes_are_compared(
    known: dict[str, Any],
    measured: dict[str, Any],
    mix: dict[str, float],
    how: str,
    problems: tuple[str, ...],
) -> None:
    check = script("gpu_check")
    values = {"operations": {"fp32": 2000.0}, "dram_bytes": 12000.0} | measured
    found = result(measurement("triad", **values), verdict())
    row = check.compare(how, check.Expected(**(EXPECTED | known)), found, mix)
    assert row.problems == problems


def test_a_level_is_held_against_the_full_set() -> None:
    check = script("gpu_check")
    ours = result(measurement("k", dram_bytes=100.0, operations={"fp32": 50.0}), verdict())
    theirs = result(measurement("k", dram_bytes=104.0, operations={}), verdict())
    assert list(check.differences(ours, theirs)) == []
    other = measurement("k", dram_bytes=110.0, operations={"fp32": 51.0})
    assert list(check.differences(ours, result(other, verdict(limiter="l2")))) == [
        "bandwidth/dram against bandwidth/l2 with --set full",
        "DRAM bytes 100 against 110 with --set full",
        "fp32 50 against 51 with --set full",
    ]


def test_a_look_is_held_against_launches_that_are_known(tmp_path: Path) -> None:
    check = script("gpu_check")
    events = [launched(n, ("void triad(float *)", "tiny")[n % 2], 100 * n, 50) for n in range(20)]
    seen = check.seen(write(tmp_path, trace(*events)))
    assert seen == {"triad": (10, 0.5), "tiny": (10, 0.5)}

    known = {"launches": {"triad": 10, "tiny": 11}, "time_ms": {"triad": 0.7, "tiny": 0.1}}
    assert list(check.unlike("nsys", known, seen)) == [
        "triad 0.5 ms, 0.7 by events",
        "tiny 10 launches, 11 expected",
    ]
    most = {"triad": (10, 0.5), "tiny": (11, 0.6)}
    assert list(check.unlike("ncu", known, most)) == ["triad takes most time, not what was found"]


def test_a_command_has_what_is_left_of_the_time(tmp_path: Path) -> None:
    check = script("gpu_check")
    assert check.Clock().left(5) == 5
    assert check.Clock(3).left(5) == pytest.approx(3, abs=1)
    clock = check.Clock(1.5)
    assert clock.run(["true"]) is None
    assert clock.run([sys.executable, "-c", "raise SystemExit(4)"]) == "exit code 4"
    gently = f"trap 'touch {tmp_path}/asked; kill $!; exit' TERM; sleep 9 & wait"
    assert clock.run(["sh", "-c", gently]).startswith("ended: ")
    assert (tmp_path / "asked").exists()
    with pytest.raises(check.NotRun, match="the time was over"):
        clock.run(["true"])


def test_a_program_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check = script("gpu_check")
    monkeypatch.setattr(check, "PROGRAM_S", 0.5)
    monkeypatch.setattr(check, "GRACE_S", 0.5)
    program = tmp_path / "kernels"
    program.write_text("#!/bin/sh\ntrap '' TERM\nsleep 60 & wait; wait\n")
    program.chmod(0o755)
    began = check.time.monotonic()
    with pytest.raises(check.NotRun, match="do not run here: timed out"):
        check.expectations(check.Clock(), program)
    monkeypatch.setattr(check, "CAPTURE_S", 0.5)
    assert check.Clock().run([program]) == "ended: 0 s were over"
    assert check.time.monotonic() - began < 20


LINE = {"kernel": "gemm", "bound": "bandwidth", "expected": ["dram"], "operations": {}}


def test_what_was_found_is_kept_as_each_part_ends(tmp_path: Path, capsys: Any) -> None:
    check = script("gpu_check")
    file = tmp_path / "results.json"
    found = check.Findings(file=file)
    row = check.compare("standard", check.Expected(**EXPECTED), None)

    def fails() -> Any:
        raise check.NotRun("not run: the time was over")

    assert found.add("standard", lambda: ([row], ["slow"]))
    first = json.loads(file.read_text())
    assert first["problems"] == ["standard: slow", "standard, triad: not in the report"]
    assert [kernel["kernel"] for kernel in first["kernels"]] == ["triad"]
    assert not found.add("region", fails)
    second = json.loads(file.read_text())
    assert second["problems"] == [*first["problems"], "region: not run: the time was over"]
    assert second["kernels"] == first["kernels"]
    assert list(second["seconds"]) == ["standard", "region"]
    assert "! region: not run" in capsys.readouterr().out


def test_every_level_is_taken_from_the_report(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = script("gpu_check")
    monkeypatch.setattr(check, "find_ncu", lambda: SimpleNamespace(path="ncu"))

    class Made(check.Clock):  # type: ignore[misc, name-defined]
        """Leaves a report for every capture but that of NVIDIA's set."""

        def run(self, words: list[Any], **_: Any) -> str | None:
            if "-o" in words and "--set" not in words:
                write_report(Path(words[words.index("-o") + 1]), [launch("gemm")])
                return None
            return "exit code 9"

    known = {"gemm": check.Expected(kernel="gemm", bound="bandwidth", units=("dram",),
                                    operations={}, dram_bytes=None)}  # fmt: skip
    found: dict[str, Any] = {how: {} for how in (*check.LEVELS, check.PLAIN)}
    for how in check.LEVELS:
        (row,), problems = check.level(Made(), how, tmp_path, known, tmp_path, found[how])
        assert (row.how, row.problems, problems) == (how, (), [])
        json.dumps(check.document(row))
    with pytest.raises(check.NotRun, match="exit code 9"):
        check.level(Made(), check.PLAIN, tmp_path, known, tmp_path, found[check.PLAIN])
    assert capsys.readouterr().out.count("bandwidth/dram") == 2 * len(check.LEVELS)
    with pytest.raises(check.NotRun, match="one of the two was not captured"):
        check.full_set(found)


@pytest.mark.slow
@pytest.mark.parametrize("hangs", [False, True])
def test_the_whole_script_against_a_fake_ncu(tmp_path: Path, hangs: bool) -> None:
    fake = Fake(tmp_path)
    line = json.dumps(LINE | {"dram_bytes": -1})
    loop = json.dumps({"launches": {"triad": 1}, "time_ms": {"triad": 1.0}})
    kernels = f"case $1 in loop) echo '{loop}' ;; shapes) ;; *) echo '{line}' ;; esac"
    made = f'while [ "$1" != -o ]; do shift; done; cp {tmp_path}/kernels "$2"'
    fake.program("nvcc", made)
    (tmp_path / "kernels").write_text(f"#!/bin/sh\n{kernels}\n")
    (tmp_path / "kernels").chmod(0o755)
    fake.scenario({"log": [PROFILED], "report": str(fake.report), "run": True,
                   "delay": 600 if hangs else 0})  # fmt: skip
    del fake.environment["ROOFLINE_LOOK"]
    python = {"PYTHON": sys.executable, "LIMIT": "30" if hangs else "300"}
    began = time.monotonic()

    done = subprocess.run(
        ["bash", SCRIPTS / "gpu_check.sh", tmp_path / "out"],
        cwd=fake.folder,
        env=fake.environment | python,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )

    assert done.returncode == 1, done.stderr
    assert "no ceilings were measured" in done.stderr
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    parts = "kernels standard region shapes quick lean full".split()
    assert set(parts) <= results["seconds"].keys()
    if hangs:
        assert any(p.startswith("standard: ended: ") for p in results["problems"])
        assert "full: not run: the time was over" in results["problems"]
        assert time.monotonic() - began < 90
    else:
        assert [k["how"] for k in results["kernels"]] == ["standard", "lean", "quick", "full"]
        assert all(k["bound"] == "bandwidth" for k in results["kernels"])
        assert "region: ['gemm'], expected fp32_fma alone" in results["problems"]


def test_table_has_what_was_expected_beside_what_was_found() -> None:
    check = script("gpu_check")
    found = result(
        measurement("triad", operations={"fp32": 1990.0}, dram_bytes=12100.0),
        verdict(bound="bandwidth", limiter="l2"),
    )

    line = check.show(check.compare("standard", check.Expected(**EXPECTED), found))

    for text in ("bandwidth/dram ", "bandwidth/l2 ", "12100/12000 ", "fp32=1990/2000 "):
        assert text in line
    assert check.against(None, 5.0) == "-/5"


def test_a_kernel_that_is_missing_is_a_problem() -> None:
    check = script("gpu_check")
    row = check.compare("full", check.Expected(**EXPECTED), None)
    assert row.problems == ("not in the report",)


def test_expectations_are_read_from_the_program(tmp_path: Path) -> None:
    program = tmp_path / "kernels"
    program.write_text(
        f"#!{sys.executable}\n"
        'print(\'{"kernel": "triad", "bound": "bandwidth", "expected": ["dram"],\'\n'
        '      \' "operations": {"fp32": 2000}, "dram_bytes": -1}\')\n'
        "print('done')\n"
    )
    program.chmod(0o755)
    check = script("gpu_check")
    known = check.expectations(check.Clock(), program)
    assert known["triad"].dram_bytes is None
    assert known["triad"].units == ("dram",)
