"""``roofline select`` as it is typed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from roofline.cli import cli
from tests.timeline.made import kernel, launched, step, trace, write


def run(*words: Any) -> Result:
    return CliRunner().invoke(cli, ["select", *map(str, words)])


@pytest.fixture
def timeline(tmp_path: Path) -> Path:
    events: list[Any] = []
    for i in range(5):
        events += [step(i, 1000 * i, 990), *launched(i + 1, "gemm", 1000 * i + 100, 300)]
    return write(tmp_path, trace(*events))


def test_the_answer_is_on_stdout_alone(timeline: Path):
    found = run(timeline)
    assert found.exit_code == 0
    assert found.stderr == ""
    assert found.stdout.startswith("Gaps come first: ")
    assert "No commands: " in found.stdout  # 700 us of each 1000 are idle


def test_json(timeline: Path):
    document = json.loads(run(timeline, "--format", "json").stdout)
    assert document["schema"] == "roofline.selection/1"
    assert document["source"]["path"] == "trace.json"


def test_the_format_follows_the_ending(timeline: Path, tmp_path: Path):
    assert run(timeline, "-o", tmp_path / "a.md").exit_code == 0
    assert (tmp_path / "a.md").read_text("utf-8").startswith("Gaps come first")
    assert run(timeline, "-o", tmp_path / "a.json").exit_code == 0
    json.loads((tmp_path / "a.json").read_text("utf-8"))


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_an_ending_that_a_selection_has_not(timeline: Path, tmp_path: Path, ending: str):
    found = run(timeline, "-o", tmp_path / f"a{ending}")
    assert found.exit_code == 2
    assert f"this answer cannot be written as {ending[1:]}" in found.stderr
    assert not (tmp_path / f"a{ending}").exists()
    assert run(timeline, "-o", tmp_path / f"a{ending}", "--format", "json").exit_code == 0


def test_a_file_is_not_written_over_unasked(timeline: Path, tmp_path: Path):
    target = tmp_path / "a.json"
    target.write_text("mine")
    assert run(timeline, "-o", target).exit_code == 2
    assert target.read_text() == "mine"
    assert run(timeline, "-o", target, "--force").exit_code == 0


@pytest.mark.parametrize(
    ("options", "steps"),
    [
        ((), [2, 3, 4]),
        (("--keep", "all"), [1, 2, 3, 4, 5]),
        (("--keep", "2"), [2]),
        (("--keep", "4-5"), [4, 5]),
        (("--step", "Step#[12]$"), [1, 2]),
    ],
)
def test_steps(timeline: Path, options: tuple[str, ...], steps: list[int]):
    document = json.loads(run(timeline, "--format", "json", *options).stdout)
    counted = [s["number"] for s in document["devices"][0]["steps"] if s["left_out"] is None]
    assert counted == steps


def test_a_window_in_units(timeline: Path):
    found = run(timeline, "--start", "1.05ms", "--end", "0.0025s", "--format", "json")
    (device,) = json.loads(found.stdout)["devices"]
    assert device["use"]["wall_s"] == pytest.approx(1.45e-3)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--start", "soon"), "'soon' is not a time"),
        (("--keep", "most"), "not inner, all, a number or a range"),
        (("--step", "("), "not a regular expression"),
        (("--step", "nomatch"), "it has 5 ProfilerStep ranges"),
        (("--step", "x", "--start", "0"), "exclude each other"),
        (("--communication", "("), "not a regular expression"),
        (("--keep", "9"), "no step is left"),
        (("--keep", "4-2"), "--keep 2-4"),
        (("--keep", "0"), "--keep 0 is no step: steps count from 1\n  try: --keep 1\n"),
        (("--keep", "3-0"), "--keep 3-0 is no step: steps count from 1\n  try: --keep 1-3\n"),
        (("--keep", "0-3"), "try: --keep 1-3\n"),
        (
            ("--start", "5s", "--end", "1ms"),
            "--end 0.001s is not after --start 5s\n  try: --start 0.001s --end 5s\n",
        ),
        (("--start", "5s", "--end", "5s"), "try: a later --end\n"),
        (("--top", "0"), "0 is not in the range"),
    ],
)
def test_wrong_usage(timeline: Path, words: tuple[str, ...], said: str):
    found = run(timeline, *words)
    assert found.exit_code == 2
    assert said in found.stderr
    assert found.stdout == ""


def test_a_rank_that_ends_in_the_middle_is_named(timeline: Path):
    content = timeline.read_bytes()
    write(timeline.parent, content[: content.rindex(b'"gemm"')], "cut.json")
    found = run(timeline.parent, "--json")
    assert found.exit_code == 0
    said = (
        "roofline: warning: cut.json ends in the middle: it is left out of the matching of ranks."
    )
    assert found.stderr.startswith(said)
    document = json.loads(found.stdout)
    assert document["source"]["path"] == "trace.json"
    assert "truncated_rank" in {note["code"] for note in document["notes"]}


def test_an_input_without_kernels_ends_with_3(tmp_path: Path):
    found = run(write(tmp_path, trace(step(1, 0, 1))))
    assert found.exit_code == 3
    assert "only the CPU was recorded" in found.stderr
    assert "try: " in found.stderr


def test_another_device(timeline: Path):
    found = run(timeline, "--device", "3")
    assert found.exit_code == 3
    assert "--device with one of: 0" in found.stderr


def test_a_program_is_streamed_the_same(timeline: Path):
    assert run(timeline, "--stream").stdout == run(timeline).stdout


def test_top_by_name(tmp_path: Path):
    path = write(tmp_path, trace(*(kernel("k", 10 * i, 9, grid=[i + 1, 1, 1]) for i in range(3))))
    document = json.loads(run(path, "--by", "name", "--top", "1", "--format", "json").stdout)
    (share,) = document["devices"][0]["kernels"]
    assert (share["instances"], share["grid"]) == (3, None)


def test_help_names_every_input():
    text = CliRunner().invoke(cli, ["select", "--help"]).stdout
    for word in ("SQLite", ".nsys-rep", "CSV", "PyTorch", "JAX", "--step", "Examples:"):
        assert word in text


def test_a_folder_is_a_job_and_one_bad_file_does_not_hide_the_others(tmp_path: Path):
    name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
    for rank, lasted in enumerate((100, 20)):
        events = [kernel(name, 0, lasted), kernel("gemm", 200, 50)]
        write(tmp_path, trace(*events, distributedInfo={"rank": rank}), f"rank{rank}.json")
    write(tmp_path, b"{}", "settings.json")
    found = run(tmp_path)
    assert found.exit_code == 3
    assert "settings.json" in found.stderr
    assert "rank 1 is last in 1 of 1, which is 100.0 % of the skew: load balance" in " ".join(
        found.stdout.split()
    )
    assert run(tmp_path, "--device", 0).exit_code == 2


def test_what_if(timeline: Path) -> None:
    # 300 us of each 1000 are busy; the host sets the pace: a faster kernel buys nothing.
    found = run(timeline, "--if", "gemm=2x")
    assert found.exit_code == 0
    said = " ".join(found.stdout.split())
    assert said.startswith(
        "If gemm=2x: on average of 3 a step of 1.00 ms takes 1.00 ms (1.00x) with host and order"
    )
    assert "at most 1.18x by Amdahl's law" in said
    document = json.loads(run(timeline, "--if", "gemm=2x", "--if", "gaps=0", "--json").stdout)
    assert document["what_if"]["moves"] == ["gemm=2x", "gaps=0"]
    # Without the idle 700 us the host still takes 300 us from launch to launch.
    assert document["what_if"]["after"]["wall_s"] == pytest.approx(300e-6, abs=5e-6)
    for word in ("gemm", "conv=2x", "gaps:moon=0", "floors="):
        assert run(timeline, "--if", word).exit_code == 2


def test_floors_of_a_report(timeline: Path) -> None:
    samples = Path(__file__).parents[2] / "sample_reports"
    report = samples / "h100_mix.ncu-rep"
    other = run(timeline, "--if", f"floors={report}")
    assert other.exit_code == 2
    assert "no kernel of the report that has a floor ran in trace.json" in other.stderr
    found = run(samples / "h100_step.trace.json.gz", "--if", f"floors={report}", "--json")
    assert json.loads(found.stdout)["what_if"]["moves"] == ["floors=h100_mix.ncu-rep"]
    assert str(report.parent) not in found.stdout
    assert run(timeline, "--if", "floors=gone.ncu-rep").exit_code == 3


def test_another_step_is_judged(timeline: Path) -> None:
    for word, number in (("p1", 2), ("p100", 4)):
        document = json.loads(run(timeline, "--step-at", word, "--json").stdout)
        assert document["devices"][0]["judged"] in (2, 3, 4), number
    assert run(timeline, "--step-at", "p200").exit_code == 2


def test_a_bound_that_is_of_all_steps_says_so(timeline: Path) -> None:
    bound = "ompute kernels twice as fast buy 1."
    for words in ((), ("--step-at", "p100")):
        assert f"\nOn average of 3 steps, c{bound}" in run("select", str(timeline), *words).stdout
    assert f"\nC{bound}" in run("select", str(timeline), "--keep", "2").stdout


def test_classes_of_idle_time_of_ones_own(timeline: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text('[waits]\nnames = ["^cudaLaunchKernel"]\ntitle = "my waits"\n')
    found = run(timeline, "--idle-causes", own)
    assert found.exit_code == 0
    own.write_text("[waits]\nnmaes = []\n")
    found = run(timeline, "--idle-causes", own)
    assert found.exit_code == 3
    assert "cannot read own.toml" in found.stderr


@pytest.mark.parametrize("words", [(), ("--json",), ("-o", "a.txt"), ("--format", "markdown")])
def test_names_of_ones_own_are_for_a_terminal(timeline: Path, words: tuple[str, ...]) -> None:
    found = run(timeline, "--own-names", *words)
    assert found.exit_code == 2
    assert "--own-names is for a table on a terminal" in found.stderr
