"""Two timelines compared: steps, parts, idle by cause, kernels; worked out by hand."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result

from roofline.cli import cli
from roofline.model import Device
from roofline.render.step_change import head, render
from roofline.timeline import load_timeline, select
from roofline.timeline.change import StepChange, step_change
from roofline.timeline.model import First, Selection
from scripts import make_schemas
from tests.timeline.made import launched, step, trace, write


def recorded(
    folder: Path, name: str, period: int, *kernels: tuple[str, int, int], n: int = 5
) -> Path:
    """Steps of ``period`` us; each kernel begins and lasts so long after the step's beginning."""
    events: list[Any] = []
    for i in range(n):
        events.append(step(i, period * i, period - 1))
        for place, (kernel, begin, lasted) in enumerate(kernels):
            number = 1 + place + len(kernels) * i
            events.append(launched(number, kernel, period * i + begin, lasted))
    return write(folder, trace(*events), name)


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    """A gap of 490 us becomes one of 30 us, relu is fused away, gemm gets faster."""
    before = recorded(tmp_path, "a.json", 1000, ("gemm", 10, 400), ("relu", 900, 100))
    after = recorded(tmp_path, "b.json", 340, ("gemm", 10, 300), ("norm", 310, 10))
    return before, after


def change(sides: tuple[Path, Path]) -> StepChange:
    return step_change(*(select(load_timeline(path)) for path in sides))


def test_the_parts_of_the_step(sides: tuple[Path, Path]):
    found = change(sides)
    assert found.speedup == pytest.approx(1000 / 340)
    assert found.spread == pytest.approx(0)
    assert not found.within_spread
    assert (found.before_first, found.after_first) == (First.GAPS, First.KERNELS)
    parts = {p.part: (p.before_s, p.after_s) for p in found.parts if p.cause is None}
    assert parts[First.KERNELS] == pytest.approx((500e-6, 310e-6))
    assert parts[First.GAPS] == pytest.approx((500e-6, 30e-6))
    for place in (0, 1):
        causes = [(p.before_s, p.after_s)[place] for p in found.parts if p.cause]
        assert sum(causes) == pytest.approx(parts[First.GAPS][place])


def test_kernels_that_came_and_went(sides: tuple[Path, Path]):
    found = {k.name: (k.before_s, k.after_s) for k in change(sides).kernels}
    assert found["gemm"] == pytest.approx((400e-6, 300e-6))
    assert found["relu"] == (pytest.approx(100e-6), None)
    assert found["norm"] == (None, pytest.approx(10e-6))


def test_different_programs_are_said_to_be(tmp_path: Path):
    before = recorded(tmp_path, "a.json", 1000, ("gemm", 10, 300), ("relu", 400, 100))
    after = recorded(tmp_path, "b.json", 1000, ("norm", 10, 500), ("relu", 600, 100))
    found = change((before, after))

    assert found.alike == pytest.approx(0.2)  # relu's 200 of 1,000 us on both sides
    assert next(head(found)) == (
        "These look like different programs: 20.0 % of the kernel time is in kernels that both "
        "launch as often."
    )


def test_programs_with_kernels_in_common_are_told_by_how_often_they_launch_them(tmp_path: Path):
    # reduce: 1 of 2 launches against 1 of 10 counts for a fifth, gemm: 1/2 against 9/10 for 5/9.
    few, many = ("reduce", 10, 400), [("gemm", 500 + 20 * i, 10) for i in range(9)]
    before = recorded(tmp_path, "a.json", 1000, few, ("gemm", 500, 90))
    after = recorded(tmp_path, "b.json", 1000, few, *many)
    found = change((before, after))
    assert found.alike == pytest.approx((800 / 5 + 180 * 5 / 9) / 980)
    assert next(head(found)).startswith("These look like different programs: 26.5 %")


def test_another_gpu_is_said_first(tmp_path: Path):
    def side(name: str, gpu: str) -> Path:
        told = {"deviceProperties": [{"id": 0, "name": gpu}]}
        return write(tmp_path, trace(launched(1, "gemm", 10, 100), **told), name)

    found = change((side("a.json", "NVIDIA H100"), side("b.json", "NVIDIA A100")))
    first, second, third, *_ = head(found)
    assert first == (
        "The GPUs differ, so the change is not of the program alone: NVIDIA H100 -> NVIDIA A100."
    )
    assert second == "Step 100 -> 100 µs: the same"
    assert third.startswith("a.json -> b.json, NVIDIA H100 -> NVIDIA A100; one step counts")
    assert found.gpus == ("NVIDIA H100", "NVIDIA A100")


@pytest.mark.parametrize(
    ("name", "counts", "gpus"),
    [
        ("H100", (132, 114), ("H100 (132 SMs)", "H100 (114 SMs)")),
        ("H100", (132, 132), ("H100", "H100")),
        ("H100", (132, None), ("H100", "H100")),
        (None, (132, 114), (None, None)),
    ],
)
def test_sms_tell_gpus_of_one_name_apart(
    sides: tuple[Path, Path], name: str | None, counts: tuple[Any, Any], gpus: tuple[Any, Any]
):
    def on(side: Selection, sm_count: int | None) -> Selection:
        ran = Device(name=name, sm_count=sm_count)
        return replace(side, devices=tuple(replace(d, device=ran) for d in side.devices))

    found = change(sides)
    before, after = (
        on(side, n) for side, n in zip((found.before, found.after), counts, strict=True)
    )
    assert replace(found, before=before, after=after).gpus == gpus


def test_less_than_a_clock_tells_is_the_same(sides: tuple[Path, Path]):
    found = change((sides[0], sides[0]))
    (part, *_) = found.parts
    found = replace(found, parts=(replace(part, after_s=part.before_s - 1.39e-17),))
    assert "e-17" not in render(found, width=100, color=False, limit=0)


def test_a_change_of_grid_is_no_other_kernel(tmp_path: Path):
    def side(name: str, grid: int) -> Path:
        events = launched(1, "gemm", 10, 100, grid=[grid, 1, 1])
        return write(tmp_path, trace(events), name)

    (kernel,) = change((side("a.json", 64), side("b.json", 128))).kernels
    assert (kernel.before_s, kernel.after_s) == pytest.approx((100e-6, 100e-6))


def test_steps_that_differ_as_much_among_themselves(tmp_path: Path):
    # Counted steps of 900, 1000 and 1100 us: 10 % either way, so 5 % is no change.
    begins = (0, 1000, 1900, 2900, 4000)
    events: list[Any] = []
    for i, begin in enumerate(begins):
        lasted = (*begins, 5000)[i + 1] - begin
        events += [step(i, begin, lasted - 1), launched(i + 1, "gemm", begin + 10, 500)]
    before = write(tmp_path, trace(*events), "a.json")
    after = recorded(tmp_path, "b.json", 950, ("gemm", 10, 500))
    found = change((before, after))
    assert found.spread == pytest.approx(0.1)
    assert found.speedup == pytest.approx(1000 / 950)
    assert found.within_spread


def test_work_that_gives_way_to_idle_time_is_said(tmp_path: Path):
    # The CPU launches each kernel when the step is 10 us old, whatever they take.
    slow = recorded(tmp_path, "a.json", 1000, ("gemm", 10, 800))
    fast = recorded(tmp_path, "b.json", 1000, ("gemm", 10, 300))
    assert change((slow, fast)).into_idle_s == pytest.approx((500e-6, 500e-6))
    less = "A step has 500 µs less work and 500 µs more idle time: the CPU sets the pace."
    assert less in [*head(change((slow, fast)))]
    more = "A step has 500 µs more work, beside 500 µs less idle time."
    assert more in [*head(change((fast, slow)))]
    shorter = recorded(tmp_path, "c.json", 500, ("gemm", 10, 300))
    assert not [line for line in head(change((slow, shorter))) if line.startswith("A step has")]


def run(*words: Any) -> Result:
    return CliRunner().invoke(cli, ["compare", *map(str, words)], env={"COLUMNS": "100"})


def test_the_answer_as_typed(sides: tuple[Path, Path]):
    text = run(*sides).stdout
    assert "Step 1.00 ms -> 340 µs: 2.94x faster" in text
    assert "Before: gaps come first. After: kernels come first." in text
    assert "gone" in text
    assert run(*sides, "--format", "markdown").stdout.startswith("Step 1.00 ms -\\> 340 µs")


def test_the_sides_are_the_same(sides: tuple[Path, Path]):
    text = run(sides[0], sides[0]).stdout
    assert "Step 1.00 -> 1.00 ms: no change beyond the spread of the steps\n" in text
    said = "BEFORE and AFTER have the same figures to the last digit"
    assert said in text
    assert said not in run(*sides).stdout


def test_a_rank_that_ends_in_the_middle_is_named_with_its_side(sides: tuple[Path, Path]):
    folder = sides[0].parent / "job"
    folder.mkdir()
    content = sides[0].read_bytes()
    write(folder, content, "rank0.json")
    write(folder, content[: content.rindex(b'"relu"')], "rank1.json")
    text = " ".join(run(sides[1], folder).stdout.split())
    assert "b.json -> job/rank0.json" in text
    assert "job/rank1.json ends in the middle: it is left out" in text


def test_grids_tell_kernels_of_one_name_apart(tmp_path: Path):
    events: list[Any] = []
    for i in range(4):
        events += [step(i, 1000 * i, 999), *launched(2 * i + 1, "gemm", 1000 * i + 10, 100)]
        events += launched(2 * i + 2, "gemm", 1000 * i + 200, 100, grid=[7, 1, 1])
    made = write(tmp_path, trace(*events), "a.json")
    text = run(made, made).stdout
    assert "gemm, 64 / 128 " in text
    assert "gemm, 7 / 128 " in text


def test_json_follows_its_schema(sides: tuple[Path, Path]):
    document = json.loads(run(*sides, "--json").stdout)
    jsonschema.validate(document, json.loads(make_schemas.text("step-change-1.schema.json")))
    assert document["before"] == "a.json"


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--fail-on", "regression=5%"),
        ("--time-after", "times.json"),
        ("--allow", "gpu"),
        ("--noise", "3"),
    ],
)
def test_what_is_for_reports_is_refused(sides: tuple[Path, Path], option: str, value: str):
    found = run(*sides, option, value)
    assert found.exit_code == 2
    assert f"{option} is for reports" in found.stderr


def test_folders_are_the_ranks_of_a_job(tmp_path: Path):
    for name, periods, behind in (("before", (1000, 1000), 100), ("after", (1000, 500), 40)):
        (tmp_path / name).mkdir()
        for rank, period in enumerate(periods):
            late = behind * rank  # rank 1 is waited for
            spent = ("ncclDevKernel_AllReduce_Sum_f32", 100 + late, 300 - late)
            recorded(tmp_path / name, f"rank{rank}.json", period, ("gemm", 10, 50), spent)

    found = run(tmp_path / "before", tmp_path / "after")
    assert found.exit_code == 0, found.stderr
    assert found.stdout.splitlines()[:4] == [
        "Step 1.00 ms -> 500 µs: 2.00x faster",
        "before/rank1.json -> after/rank1.json, NVIDIA Toy; steps of a side differ by ±0.0 %",
        "The step is that of the rank that the others wait for most: rank 1.",
        "Mean step of rank 0: 1.00 -> 1.00 ms, 1: 1.00 ms -> 500 µs",
    ]
    rows = [re.split("  +", line.strip()) for line in found.stdout.splitlines()]
    assert rows[rows.index(["ranks, a step", "before", "after", "change"]) + 1 :][:6] == [
        ["step of the slowest rank (0)", "1.00 ms", "1.00 ms", "same"],
        ["step of the fastest rank (0 -> 1)", "1.00 ms", "500 µs", "-500 µs"],
        ["skew", "100 µs", "40.0 µs", "-60.0 µs"],
        ["transfer", "200 µs", "260 µs", "+60.0 µs"],
        ["rank 0 waits for others", "100 µs", "40.0 µs", "-60.0 µs"],
        ["rank 1 waits for others", "0 s", "0 s", "same"],
    ]
    sides = tmp_path / "before", tmp_path / "after"
    assert "| skew | 100 µs | 40.0 µs |" in run(*sides, "--format", "markdown").stdout
    document = json.loads(run(*sides, "--json").stdout)
    jsonschema.validate(document, json.loads(make_schemas.text("step-change-1.schema.json")))
    skews = [(job["skew_s"], job["ranks"][0]["waited_s"]) for job in document["jobs"]]
    # All of the three steps that count.
    assert skews == [pytest.approx((300e-6,) * 2), pytest.approx((120e-6,) * 2)]
    assert "--device is of one file" in run(*[tmp_path / "before"] * 2, "--device", "0").stderr
    write(tmp_path / "after", b"", "a.ncu-rep")
    assert "the sides do not compare" in run(tmp_path / "before", tmp_path / "after").stderr


def test_a_timeline_and_a_report(sides: tuple[Path, Path], tmp_path: Path):
    found = run(sides[0], write(tmp_path, b"", "a.ncu-rep"))
    assert found.exit_code == 2
    assert "the sides do not compare: taken for timelines: " in found.stderr


def test_a_side_without_a_step(sides: tuple[Path, Path], tmp_path: Path):
    whole = sides[0].read_bytes()
    cut = write(tmp_path, whole[: len(whole) // 2], "cut.json")
    found = run(cut, sides[1])
    assert found.exit_code == 3
    assert "cut.json cannot be compared" in found.stderr


@pytest.mark.parametrize("option", ["--step", "--device", "--step-at"])
def test_a_step_of_reports_is_refused(option: str):
    report = "sample_reports/h100_copy.ncu-rep"
    found = run(report, report, option, "95")
    assert found.exit_code == 2
    assert f"{option} is for timelines" in found.stderr


@pytest.mark.parametrize(
    ("expected", "judgement"),
    [
        # The step falls from 1000 to 340 us: by 660 us, 2.94x.
        ("step=-650us..-700us", "confirmed"),
        ("step=-800us", "short"),
        ("step=1.2x", "exceeded"),
        ("step=300us..350us", "confirmed"),
    ],
)
def test_what_was_expected_of_the_step(sides: tuple[Path, Path], expected: str, judgement: str):
    assert (
        f"--expect {expected}: {judgement} (reached 2.94x"
        in run(*sides, "--expect", expected).stdout
    )
    document = json.loads(run(*sides, "--expect", expected, "--json").stdout)
    assert document["notes"][0]["code"] == "expectation_judged"


def test_only_the_step_can_be_expected_of_timelines(sides: tuple[Path, Path]):
    found = run(*sides, "--expect", "gemm=1.2x")
    assert found.exit_code == 2
    assert "of timelines only the step can be expected" in found.stderr
    assert "--expect step=1.2x" in found.stderr


def test_another_step_and_gpu_of_both_sides(tmp_path: Path):
    def side(name: str, slowest: int) -> Path:
        """Steps of 100 us but for one, on two GPUs of which the first works less."""
        events: list[Any] = []
        at = 0
        for i in range(9):
            lasted = slowest if i == 4 else 100
            events += [step(i, at, lasted - 1), launched(2 * i + 1, "gemm", at + 10, 50)]
            events += [launched(2 * i + 2, "gemm", at + 10, 80, device=1)]
            at += lasted
        return write(tmp_path, trace(*events), name)

    files = side("a.json", 300), side("b.json", 200)
    typical = json.loads(run(*files, "--json").stdout)
    assert (typical["before_s"], typical["after_s"]) == pytest.approx((100e-6, 100e-6))
    slow = json.loads(run(*files, "--json", "--step-at", "p100", "--device", "0").stdout)
    assert (slow["before_s"], slow["after_s"]) == pytest.approx((300e-6, 200e-6))
    assert slow["kernels"][0]["before_s"] == pytest.approx(50e-6)
    assert typical["kernels"][0]["before_s"] == pytest.approx(80e-6)


def test_a_spread_too_small_to_be_written_and_kernels_that_did_not_change(tmp_path: Path):
    kernels = (("a_short", 10, 20), ("b_long", 100, 400))
    path = recorded(tmp_path, "a.json", 1000, *kernels)
    found = change((path, path))
    assert [k.name for k in found.kernels] == ["b_long", "a_short"]
    found = replace(found, spread=0.0001)
    assert "differ by less than ±0.1 %" in "".join(head(found))
