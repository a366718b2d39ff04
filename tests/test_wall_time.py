"""Timing without a profiler: statistics worked out by hand, and programs that misbehave."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from roofline.cli import cli
from roofline.errors import ProgramError, UsageError
from roofline.process import Completed
from roofline.render.times import render, to_json, turns
from roofline.wall_time import (
    environment,
    find_figures,
    instrumentation,
    median_interval,
    parse_metric,
    quantile,
    read_times,
    summarize,
    time_program,
)

ROOT = Path(__file__).parents[1]


def answering(*outputs: str, code: int = 0) -> Callable[[Sequence[str]], Completed]:
    """A program that prints each of ``outputs`` in turn."""
    left = list(outputs)

    def run(argv: Sequence[str]) -> Completed:
        text = left.pop(0) if left else ""
        return Completed(argv=tuple(argv), code=code, stdout=text, stderr="why\n")

    return run


def clock(*durations: float) -> Callable[[], float]:
    """A clock by which the runs take ``durations``."""
    times = [t for i, d in enumerate(durations) for t in (100.0 * i, 100.0 * i + d)]
    return lambda: times.pop(0)


def test_warm_up_runs_do_not_count() -> None:
    timing = time_program(
        ["/usr/bin/app", "x"], answering(), repeats=3, warmup=2, clock=clock(9, 8, 1, 3, 2)
    )
    assert timing.wall_s.values == (1, 3, 2)
    assert timing.wall_s.median == 2
    assert timing.program == "app"


def test_quantiles_by_hand() -> None:
    # Five values: 0.95 x 4 = 3.8, so 80 % of the way from the fourth to the fifth.
    values = [10.0, 20.0, 30.0, 40.0, 50.0]
    assert quantile(values, 0.95) == pytest.approx(48.0)
    summary = summarize([50.0, 10.0, 40.0, 20.0, 30.0])
    assert (summary.median, summary.min, summary.max, summary.mean) == (30, 10, 50, 30)
    # Quartiles at 1.0 and 3.0: 20 and 40; (40 - 20) / 30.
    assert summary.spread == pytest.approx(2 / 3)


def test_one_value_has_no_spread_and_zero_has_none() -> None:
    assert summarize([3.0]).spread is None
    assert summarize([3.0, 3.0]).spread == 0
    assert summarize([0.0]).spread is None


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=50))
def test_quantiles_stay_between_the_extremes(values: list[float]) -> None:
    summary = summarize(values)
    assert summary.min is not None
    assert summary.max is not None
    assert summary.p95 is not None
    assert summary.min <= summary.median <= summary.max
    assert summary.min <= summary.p95 <= summary.max * (1 + 1e-12)


def test_the_programs_own_figure() -> None:
    outputs = answering("tokens/s: 1,000\n", "tokens/s: 10\ntokens/s: 1,200.5\n", "tokens/s: 1400")
    timing = time_program(
        ["app"], outputs, repeats=2, warmup=1, metrics=[parse_metric(r"tokens/s>=tokens/s: (\S+)")]
    )
    assert timing.metric is not None
    assert timing.metric.values == (10, 1200.5, 1400)  # every match, warm-up left out
    assert timing.metric.runs == (605.25, 1400)
    assert (timing.metric.name, timing.metric.better) == ("tokens/s", "higher")


@pytest.mark.parametrize(
    ("pattern", "text", "figure"),
    [
        ("time=", "time=", None),
        (r"time=\S+", "time=1e999", None),  # more than a double holds
        (r"time=\S+", "time=1.5e-3s", 1.5e-3),
        (r"loss (\S+)", "loss -2_000", -2000),
        (r"(a)|b\d+", "b7", 7),
    ],
)
def test_figures(pattern: str, text: str, figure: float | None) -> None:
    if figure is None:
        with pytest.raises(UsageError, match="not a number"):
            find_figures(parse_metric(f"a={pattern}"), text, "app")
    else:
        assert find_figures(parse_metric(f"a={pattern}"), text, "app") == [figure]


@pytest.mark.parametrize(
    ("text", "name", "pattern", "better"),
    [
        ("TTFT<=ttft: (.*)", "TTFT", "ttft: (.*)", "lower"),
        ("tok/s >=x=(.*)", "tok/s", "x=(.*)", "higher"),
        ("loss=(.*)", "loss", "(.*)", None),
        ("loss: (.*)", "own figure", "loss: (.*)", None),
    ],
)
def test_a_metric_has_a_name_and_a_direction(
    text: str, name: str, pattern: str, better: str | None
) -> None:
    found = parse_metric(text)

    assert (found.name, found.pattern.pattern, found.better) == (name, pattern, better)


def test_two_programs_take_turns_and_are_paired() -> None:
    order: list[str] = []

    def run(argv: Sequence[str]) -> Completed:
        order.append(argv[0])
        text = "rate 10" if argv[0] == "old" else "rate 20"
        return Completed(argv=tuple(argv), code=0, stdout=text, stderr="")

    # A B, B A, A B, ...: old takes twice the time of new, whatever drifts.
    walls = [w for i in range(3) for w in (2.0 + i, 1.0 + i / 2, 1.0 + i / 2, 2.0 + i)]
    timing = time_program(
        ["new"],
        run,
        repeats=6,
        warmup=0,
        against=["old"],
        metrics=[parse_metric("rate>=rate (.*)")],
        clock=clock(*walls),
    )

    assert order[:4] == ["old", "new", "new", "old"]
    wall, rate = timing.paired
    assert (wall.ratio, wall.low, wall.high) == pytest.approx((2.0, 2.0, 2.0))
    assert (wall.outcome, wall.pairs) == ("faster", 6)
    assert (rate.name, rate.ratio, rate.outcome) == ("rate", 2.0, "faster")
    assert timing.against is not None
    assert timing.against.program == "old"
    told = "B is 2.000x {} than A (2.000x to 2.000x with 95 %, 6 pairs)"
    assert f"wall time: {told.format('faster')}\nrate: {told.format('better')}\n" in render(timing)
    assert render(timing).startswith("B new, A old: ")
    inside = render(replace(timing, instrumented=("NSYS_X",)))
    assert "INSTRUMENTED (NSYS_X): no times to compare" in inside
    assert "than A" not in inside
    # Half as fast, from 0.4 to 0.8 times: 1.25 to 2.5 times slower.
    slower = replace(wall, ratio=0.5, low=0.4, high=0.8, outcome="slower")
    assert turns(slower) == "B is 2.000x slower than A (1.250x to 2.500x with 95 %, 6 pairs)"
    wide = replace(slower, low=0.05, high=0.5)
    assert "(2.000x to 20.000x with" in turns(wide)


def test_pairs_of_runs_by_hand() -> None:
    # B takes turns with A: 10/8, 12/8, 9/10, 11/10, 14/10, 16/10, 10/5, 15/6 of the wall times.
    old, new = [10, 12, 9, 11, 14, 16, 10, 15], [8, 8, 10, 10, 10, 10, 5, 6]
    walls: list[float] = []
    for i, (a, b) in enumerate(zip(old, new, strict=True)):
        walls += (a, b) if i % 2 == 0 else (b, a)
    timing = time_program(
        ["new"], answering(), repeats=8, warmup=0, against=["old"], clock=clock(*walls)
    )

    (wall,) = timing.paired
    # In order 0.9 1.1 1.25 1.4 1.5 1.6 2 2.5: the median 1.45. Of 8 values P(X <= 0) = 1/256 is
    # under 2.5 %, P(X <= 1) = 9/256 is not: the extremes hold it with 99.2 %.
    assert (wall.ratio, wall.low, wall.high) == pytest.approx((1.45, 0.9, 2.5))
    assert wall.outcome == "no_change"


def test_the_interval_of_a_median_by_hand() -> None:
    # Of 6 values both extremes: 1 - 2/64 = 96.9 %. Of 9: the second, 1 - 2 (1 + 9)/512 = 96.1 %.
    assert median_interval([1, 2, 3, 4, 5, 6]) == (1, 6)
    assert median_interval(list(range(1, 10))) == (2, 8)
    assert median_interval([1, 2, 3, 4, 5]) is None


@pytest.mark.parametrize(
    ("environ", "ancestors", "found"),
    [
        ({"CUDA_INJECTION64_PATH": "/x/libToolsInjection64.so"}, (), ("CUDA_INJECTION64_PATH",)),
        ({"NSYS_PROFILING_SESSION_ID": "1"}, (), ("NSYS_PROFILING_SESSION_ID",)),
        ({"LD_PRELOAD": "/usr/lib/libjemalloc.so.2"}, ("bash",), ()),
        ({"LD_PRELOAD": "/usr/lib/libjemalloc.so.2:/x/lib.so"}, (), ("LD_PRELOAD",)),
        ({"CUDA_INJECTION64_PATH": ""}, ("sh", "ncu"), ("run by ncu",)),
        ({}, ("nsys",), ("run by nsys",)),
    ],
)
def test_instrumented_runs_are_recognised(
    environ: dict[str, str], ancestors: tuple[str, ...], found: tuple[str, ...]
) -> None:
    assert instrumentation(environ, ancestors) == found


def test_no_figure_is_an_error() -> None:
    with pytest.raises(UsageError, match="--metric 'x' matches nothing that app printed"):
        find_figures(parse_metric("x"), "y", "app")


@pytest.mark.parametrize(
    ("said", "code", "message"),
    [
        ("rate", 0, r"--metric 'rate\.\*': bench \(A, --against\) printed 'rate', not a number"),
        ("", 0, r"--metric 'rate\.\*' matches nothing that bench \(A, --against\) printed"),
        ("rate 1", 3, r"bench \(A, --against\) failed with exit code 3 in run 1 of 1"),
    ],
)
def test_of_two_programs_the_one_that_is_at_fault_is_named(
    said: str, code: int, message: str
) -> None:
    def run(argv: Sequence[str]) -> Completed:
        old = argv[0] == "/old/bench"
        text, ended = (said, code) if old else ("rate 2", 0)
        return Completed(argv=tuple(argv), code=ended, stdout=text, stderr="")

    with pytest.raises((UsageError, ProgramError), match=message):
        time_program(
            ["/new/bench"],
            run,
            repeats=1,
            warmup=0,
            against=["/old/bench"],
            metrics=[parse_metric("rate>=rate.*")],
        )


def test_a_program_that_fails() -> None:
    with pytest.raises(ProgramError, match=r"app failed with exit code 3 in run 1 of 1: why"):
        time_program(["app"], answering(code=3), repeats=1, warmup=0)


def test_a_program_that_is_killed() -> None:
    with pytest.raises(ProgramError, match="signal 9"):
        time_program(["app"], answering(code=-9), repeats=1, warmup=0)


@pytest.mark.parametrize(("name", "said"), [("app", "app"), ("", "''")])
def test_a_program_that_is_not_there(name: str, said: str) -> None:
    with pytest.raises(ProgramError, match=f"^{said} cannot be started"):
        time_program([name], lambda _: None, repeats=1, warmup=0)


def test_the_run_that_failed_is_numbered_and_those_before_it_are_told() -> None:
    codes = [0, 0, 0, 7]

    def run(argv: Sequence[str]) -> Completed:
        return Completed(argv=tuple(argv), code=codes.pop(0), stdout="", stderr="")

    with pytest.raises(ProgramError) as failed:
        time_program(["app"], run, repeats=5, warmup=1, clock=clock(9, 1.5, 0.25, 1))

    assert str(failed.value).splitlines() == [
        "app failed with exit code 7 in run 3 of 5",
        "  the runs before it took 1.50 s, 250 ms",
        "  try: run it by itself, and mend what it says",
    ]


def test_a_warm_up_run_that_fails_is_said_to_be_one() -> None:
    with pytest.raises(ProgramError, match="exit code 3 in a warm-up run"):
        time_program(["app"], answering(code=3), repeats=1, warmup=1)


def test_the_table_has_three_digits_and_no_spread_of_one_run() -> None:
    timing = time_program(["app"], answering(), repeats=1, warmup=0, clock=clock(0.0123456))

    row = render(timing).splitlines()[2]

    assert row.split() == ["wall", "time", *["12.3", "ms"] * 5, "-"]
    assert json.loads(to_json(timing))["wall_s"]["spread"] is None


def test_document_has_values_and_environment() -> None:
    timing = time_program(["app"], answering(), repeats=2, warmup=0, clock=clock(1, 2))
    around = environment(["NVIDIA Toy"], "550.1")
    document = json.loads(to_json(replace(timing, environment=around)))
    assert document["schema"] == "roofline.time/1"
    assert document["wall_s"]["values"] == [1, 2]
    assert document["metric"] is None
    assert document["environment"]["gpus"] == ["NVIDIA Toy"]
    assert document["environment"]["cpu_count"] == os.cpu_count()


def test_a_document_is_read_as_it_was_written(tmp_path: Path) -> None:
    timing = time_program(
        ["app"], answering("x=1", "x=2"), repeats=2, warmup=0, metrics=[parse_metric(r"x=(\d)")]
    )
    (tmp_path / "t.json").write_text(to_json(timing))

    assert read_times(tmp_path / "t.json") == timing


def roofline(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "roofline", "time", *words],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_command(tmp_path: Path) -> None:
    words = ["--repeats", "3", "--warmup", "1", "--metric", r"own<=x=(\d+)", "-o", "t.json"]

    done = roofline(tmp_path, *words, "--", "sh", "-c", "echo run >> runs; echo x=5")

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "runs").read_text().count("run") == 4
    assert "own  " in done.stderr
    document = json.loads((tmp_path / "t.json").read_text())
    assert document["metric"]["median"] == 5
    assert document["program"] == "sh"


def test_command_as_json(tmp_path: Path) -> None:
    done = roofline(tmp_path, "--repeats", "2", "--warmup", "0", "--json", "true")

    assert json.loads(done.stdout)["repeats"] == 2


def test_exit_code_of_a_failing_program(tmp_path: Path) -> None:
    done = roofline(tmp_path, "--warmup", "0", "sh", "-c", "echo oops >&2; exit 4")

    assert done.returncode == 5
    assert "oops" in done.stderr
    assert "Traceback" not in done.stderr


def test_exit_code_of_a_missing_program_is_that_of_profile(tmp_path: Path) -> None:
    done = roofline(tmp_path, "nosuch")

    assert done.returncode == 5
    assert "nosuch cannot be started" in done.stderr


def test_output_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text("mine")

    done = roofline(tmp_path, "-o", "t.json", "true")

    assert done.returncode == 2
    assert (tmp_path / "t.json").read_text() == "mine"


def gated(*words: str, after: str) -> Result:
    """100 ms against ``after``, in turns, of which each run prints the same."""
    argv = ["time", "--repeats", "6", "--warmup", "0", "--metric", "lat<=lat ([0-9.]+)"]
    argv += ["--metric", "bare=lat ([0-9.]+)", "--against", "echo lat 100", *words]
    return CliRunner().invoke(cli, [*argv, "--", "echo", "lat", after])


def test_pairs_of_runs_are_gated_by_the_loss_as_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """115 / 100 - 1 = 15.0 %, in every pair, so that the interval leaves out 1."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    file = tmp_path / "t.json"

    failing = gated("--fail-on", "lat: program=5%", "-o", str(file), after="115")
    passing = gated("--fail-on", "lat: program=15.1%", after="115")
    faster = gated("--fail-on", "lat: program=0%", after="80")
    same = gated("--fail-on", "lat: program=0%", after="100")

    assert [r.exit_code for r in (failing, passing, faster, same)] == [1, 0, 0, 0]
    said = "FAILED lat: program=5% at lat: 15.0 % worse (limit 5.0 %)"
    assert f"gate: {said}" in failing.stderr
    assert f"roofline: 1 of 1 gate checks failed\n  {said}" in failing.stderr
    assert "::error title=roofline gate::FAILED lat: program=5%25 at lat" in failing.stderr
    document = json.loads(file.read_text())
    assert document["paired"][1]["outcome"] == "slower"
    (gate,) = document["gates"]
    assert gate.pop("value") == pytest.approx(15.0)
    assert gate == {
        "gate": "lat: program=5%", "kernel": "lat", "status": "failed", "limit": 5.0, "unit": "%",
        "text": "15.0 % worse (limit 5.0 %)",
    }  # fmt: skip
    first, *_ = (tmp_path / "summary.md").read_text().split("```\n")[1::2]
    assert first.endswith(f"gate: {said}\n")
    assert "gate: passed lat: program=15.1% at lat: 15.0 % worse (limit 15.1 %)" in passing.stdout
    assert "gate: passed lat: program=0% at lat: 1.25x, faster" in faster.stdout
    assert "gate: passed lat: program=0% at lat: 1.00x, within the noise (0.0 %)" in same.stdout


def test_github_shows_which_program_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")

    done = CliRunner().invoke(cli, ["time", "--against", "false", "true"])

    assert done.exit_code == 5
    (error,) = (one for one in done.stderr.splitlines() if one.startswith("::error"))
    assert error.startswith("::error title=roofline::false (A, --against) failed with exit code 1")


@pytest.mark.parametrize(
    ("gate", "said"),
    [
        ("regression=5%", "'regression=5%' is not of the program's time"),
        ("nothere: program=5%", "no --metric of this name says which way is better"),
        ("bare: program=5%", "--metric 'bare<=RE' or 'bare>=RE'"),
    ],
)
def test_what_could_not_be_gated_is_refused_before_the_runs(gate: str, said: str) -> None:
    refused = gated("--fail-on", gate, after="100")

    assert refused.exit_code == 2
    assert said in refused.stderr
    alone = CliRunner().invoke(cli, ["time", "--fail-on", "program=5%", "true"])
    assert "try: --against 'python old.py'" in alone.stderr
