"""What is kept between runs: baselines and the experiment record."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roofline.compare.baseline import (
    baseline_path,
    load_baseline,
    save_baseline,
    without_personal,
)
from roofline.compare.history import Stage
from roofline.compare.judge import compare
from roofline.compare.model import Comparison
from roofline.compare.predictions import parse_expect
from roofline.compare.record import (
    SCHEMA,
    add_record,
    check_record,
    run_check,
    shareable,
)
from roofline.errors import InputError, UsageError
from roofline.model import Measurement
from roofline.render.record import entry
from tests.compare import pairs
from tests.compare.pairs import capture, compared, launch

PERSONAL: dict[str, Any] = {
    "source": "/home/alice/secret/run.ncu-rep",
    "nvtx": ("alice's step",),
    "process": 4711,
}


def test_a_baseline_comes_back_as_it_was(tmp_path: Path) -> None:
    side = capture(launch("a", us=100), launch("a", us=101, index=1), launch("b", us=5))

    save_baseline(tmp_path / "gpu.json", side)

    assert load_baseline(tmp_path / "gpu.json") == without_personal(side)


@settings(max_examples=50)
@given(
    st.builds(
        lambda us, grid, flop, dram: launch(us=us, grid=grid, operations=flop, dram_bytes=dram),
        st.floats(0.1, 1e6),
        st.one_of(st.none(), st.tuples(*[st.integers(1, 9)] * 3)),
        st.dictionaries(st.sampled_from(["fp32", "tensor_bf16"]), st.floats(0, 1e15)),
        st.one_of(st.none(), st.floats(0, 1e12)),
    )
)
def test_any_measurement_survives_a_baseline(measured: Measurement) -> None:
    side = capture(measured)

    with TemporaryDirectory() as folder:
        save_baseline(Path(folder) / "gpu.json", side)

        assert load_baseline(Path(folder) / "gpu.json") == without_personal(side)


def test_a_baseline_leaves_out_defaults_or_adds_fields(tmp_path: Path) -> None:
    path = tmp_path / "gpu.json"
    save_baseline(path, capture(launch()))
    data = json.loads(path.read_text())
    measured = data["analysis"]["results"][0]["measurement"]
    assert measured.pop("nvtx") == []  # earlier versions left out what is at its default
    measured["colour"] = "blue"
    path.write_text(json.dumps(data))

    assert load_baseline(path) == capture(launch())


def test_nothing_personal_is_in_a_baseline(tmp_path: Path) -> None:
    side = capture(launch(**PERSONAL), path="/home/alice/run.ncu-rep")
    (source,) = side.sources
    side = replace(side, sources=(replace(source, file="/home/alice/run.ncu-rep"),))

    save_baseline(tmp_path / "gpu.json", side)

    text = (tmp_path / "gpu.json").read_text()
    assert "run.ncu-rep" in text
    for secret in ("alice", "/home", "4711"):
        assert secret not in text


def test_a_gpu_has_a_file_of_its_own(tmp_path: Path) -> None:
    assert baseline_path(tmp_path, capture(launch())).name == "nvidia-toy.json"
    nameless = launch(device=replace(launch().device, name=None))
    assert baseline_path(tmp_path, capture(nameless)).name == "unknown-gpu.json"


def test_two_gpus_of_a_capture_have_a_file_for_both(tmp_path: Path) -> None:
    other = launch("b", demangled="b", device=replace(launch().device, name="NVIDIA Other"))
    both = capture(launch(), other)

    assert baseline_path(tmp_path, both).name == "nvidia-other-nvidia-toy.json"


def test_no_baseline_says_what_there_is(tmp_path: Path) -> None:
    save_baseline(tmp_path / "other.json", capture(launch()))

    with pytest.raises(InputError, match=r"other\.json") as missing:
        load_baseline(tmp_path / "gpu.json")

    assert "--update-baseline" in str(missing.value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        '{"schema": "roofline.baseline/1"}',
        '{"schema": "roofline.baseline/1", "analysis": {"sources": 3}}',
        '{"schema": "roofline.baseline/1", "analysis": {"results": [{}], "groups": []}}',
        '{"schema": "roofline.analysis/1"}',
    ],
)
def test_what_is_no_baseline(tmp_path: Path, text: str) -> None:
    path = tmp_path / "gpu.json"
    path.write_text(text)

    with pytest.raises(InputError, match=r"gpu\.json"):
        load_baseline(path)


# --- the experiment record -----------------------------------------------------------------------

STATEMENT = Stage(
    recorded="2026-01-02T03:04:05+00:00",
    problem="decode is slow",
    hypothesis='half the weights, "1.4x"',
    intervention="int8 weights",
)
WANTED = [parse_expect("kernel=1.8x")]


def added(path: Path, comparison: Comparison, statement: Stage) -> int:
    return add_record(path, lambda number: entry(comparison, statement, number))


def heads(text: str) -> list[dict[str, Any]]:
    """The YAML heads of a record: a document between lines of "---", each value JSON."""
    parts = text.split("---\n")
    return [
        {
            key: json.loads(value)
            for key, value in (line.split(": ", 1) for line in part.splitlines())
        }
        for part in parts[1::2]
    ]


def test_a_record_is_for_machines_and_people(tmp_path: Path) -> None:
    before, after = pairs.fewer_bytes()
    comparison = compare(capture(before), capture(after), expectations=WANTED)

    assert added(tmp_path / "log.md", comparison, STATEMENT) == 1

    text = (tmp_path / "log.md").read_text()
    (head,) = heads(text)
    assert head["schema"] == SCHEMA
    assert head["hypothesis"] == 'half the weights, "1.4x"'
    assert head["kernels"][0]["speedup"] == pytest.approx(2.0)
    assert head["kernels"][0]["predictions"][-1] == {
        "claim": "--expect kernel=1.8x",
        "judgement": "confirmed",
    }
    for title in ("Baseline", "Hypothesis", "Intervention", "Correctness", "Measured change"):
        assert f"\n## {title}\n" in text
    assert "2.00x faster with 2.00x fewer DRAM bytes" in text


def test_running_again_adds(tmp_path: Path) -> None:
    path = tmp_path / "log.md"
    comparison = compared(*pairs.fewer_bytes())

    added(path, comparison, STATEMENT)
    first = path.read_text()
    assert added(path, comparison, replace(STATEMENT, problem="again")) == 2

    text = path.read_text()
    assert text.startswith(first)
    assert [h["entry"] for h in heads(text)] == [1, 2]
    assert [h["problem"] for h in heads(text)] == ["decode is slow", "again"]


def test_what_was_not_stated_is_taken_from_the_captures() -> None:
    comparison = compare(capture(launch()), capture(launch(us=500)), expectations=WANTED)

    (head,) = heads(entry(comparison, Stage(recorded="now")))

    assert head["problem"] == "kernel: 1.00 ms, limited by DRAM 90 %"
    assert head["hypothesis"] == "--expect kernel=1.8x"
    assert head["intervention"] == "not stated"


def test_somebody_elses_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text("# My notes\n")

    with pytest.raises(UsageError, match="not an experiment record"):
        check_record(path)

    assert path.read_text() == "# My notes\n"


def test_side_effects_are_recorded() -> None:
    before = launch(registers_per_thread=32.0, occupancy_percent=90.0)
    after = launch(us=500, registers_per_thread=128.0, occupancy_percent=25.0, grid=(50, 1, 1))

    text = entry(compared(before, after), STATEMENT)

    assert "kernel: registers per thread: 32 to 128" in text
    assert "kernel: achieved occupancy: 90 % to 25 %" in text
    assert "kernel: grid: 100 to 50" in text
    assert "looked at: registers per thread, shared memory per block, achieved occupancy" in text


# --- the check of correctness --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "code", "passed"),
    [
        ("python3 -c 'import sys; sys.exit(0)'", 0, True),
        ("python3 -c 'import sys; sys.exit(3)'", 3, False),
        ("bash -c 'true; false'", 1, False),
        ("test 'a|b' = \"a|b\"", 0, True),
        ("no-such-program-here", None, False),
    ],
)
def test_a_check_is_run(command: str, code: int | None, passed: bool) -> None:
    outcome, _ = run_check(command)

    assert (outcome.code, outcome.passed) == (code, passed)


def test_a_check_that_hangs_is_ended() -> None:
    outcome, _ = run_check("python3 -c 'import time; time.sleep(60)'", timeout_s=0.2)

    assert not outcome.passed
    assert outcome.seconds < 30


@pytest.mark.parametrize(
    "command",
    ["", "   ", "pytest 'open", "true; false", "true && false", "true | false", "true >log"],
)
def test_a_check_that_is_none(command: str) -> None:
    with pytest.raises(UsageError, match="--check"):
        run_check(command)


@pytest.mark.parametrize(
    ("argv", "shared"),
    [
        (["pytest", "-q", "tests/test_gemm.py"], "pytest -q tests/test_gemm.py"),
        (["/home/alice/venv/bin/python", "-m", "x"], "python -m x"),
        (["x", "--data=/home/alice/d.bin", "~/y"], "x --data=d.bin y"),
        (["x", r"C:\Users\alice\y.py"], "x y.py"),
    ],
)
def test_a_command_is_shared_without_folders(argv: list[str], shared: str) -> None:
    assert shareable(argv) == shared
