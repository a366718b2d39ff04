"""An expression for steps that matches nothing is an error, in every format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from roofline.errors import UsageError
from roofline.timeline import load_timeline
from tests.timeline.made import KERNELS, NVTX, Export, call, kernel, launched, step, trace, write

CSV = (
    b"Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n"
    b"100,90,3,1,1,1,1,1,k\n"
)


def kineto(folder: Path, *, steps: int, others: int) -> Path:
    events: list[Any] = [step(i, 100 * i, 90) for i in range(steps)]
    events += [step(i, 100 * i, 90, "of alice {}") for i in range(others)]
    return write(folder, trace(*events, launched(1, "gemm", 10, 30)))


def exported(folder: Path, *, steps: int, others: int) -> Path:
    made = Export(folder / "report.sqlite", KERNELS, NVTX)
    made.kernel("gemm", 10, 40)
    for i in range(steps):
        made.range(f"ProfilerStep#{i}", 100 * i, 100 * i + 90, by_id=bool(i % 2))
    for i in range(others):
        made.range(f"of alice {i}", 100 * i, 100 * i + 90)
    made.range("a mark, no range", 5, None, event=34)
    return made.done()


@pytest.mark.parametrize("made", [kineto, exported])
@pytest.mark.parametrize(
    ("steps", "others", "why", "hint"),
    [
        (5, 0, "it has 5 ProfilerStep ranges", "without --step the ProfilerSteps count"),
        (1, 2, "it has 1 ProfilerStep range and 2 other names of ranges", "case counts"),
        (0, 1, "it has 1 other name of ranges", "case counts"),
        (0, 0, "it has no named ranges", "--start and --end instead"),
    ],
)
def test_an_expression_that_matches_nothing(
    tmp_path: Path, made: Any, steps: int, others: int, why: str, hint: str
):
    with pytest.raises(UsageError, match=r'step="nomatch" matches no range of') as refused:
        load_timeline(made(tmp_path, steps=steps, others=others), step="nomatch")
    assert refused.value.why == why
    assert hint in (refused.value.hint or "")
    assert "alice" not in f"{refused.value} {refused.value.hint}"


def test_ranges_of_frameworks_are_named(tmp_path: Path):
    ranges = [step(1, 0, 90), step(1, 0, 9, "Optimizer.step#SGD.step"), step(1, 20, 9, "of alice")]
    path = write(tmp_path, trace(*ranges, kernel("gemm", 10, 30)))
    with pytest.raises(UsageError) as refused:
        load_timeline(path, step="nomatch")
    assert refused.value.why == (
        "it has 1 ProfilerStep range and 2 other names of ranges, such as Optimizer.step#SGD.step"
    )


def test_a_summary_has_no_ranges(tmp_path: Path):
    with pytest.raises(UsageError, match="no named ranges"):
        load_timeline(write(tmp_path, CSV, "stats.csv"), step="train")


def test_a_trace_that_lost_its_steps_is_read(tmp_path: Path):
    content = trace(kernel("gemm", 10, 30), call("x", 1, 1))
    assert load_timeline(write(tmp_path, content[:-20]), step="train").truncated


def test_steps_of_jax_by_name(tmp_path: Path):
    events: list[Any] = [
        {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "/device:GPU:0"}},
        {"ph": "X", "name": "k", "pid": 1, "tid": 2, "ts": 5, "dur": 4}
        | {"args": {"kernel_details": "grid:1,1,1 block:32,1,1"}},
    ]
    events += [
        {"ph": "X", "name": name, "pid": 7, "tid": 1, "ts": ts, "dur": 90, "args": {"step_num": 3}}
        for name, ts in (("train", 0), ("eval", 100))
    ]
    path = write(tmp_path, trace(*events))
    assert [r.name for r in load_timeline(path).ranges] == ["train 3", "eval 3"]
    assert [r.name for r in load_timeline(path, step="^eval").ranges] == ["eval 3"]
    with pytest.raises(UsageError, match="matches no range"):
        load_timeline(path, step="test")
