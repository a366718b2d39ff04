"""The picture of a step, and its page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from roofline.cli import cli
from roofline.plot.lanes import COLORS
from roofline.timeline import load_timeline, select
from roofline.timeline.idle import known_classes
from roofline.timeline.model import Criteria
from tests.timeline.made import call, copy, launched, step, trace, write


@pytest.fixture
def timeline(tmp_path: Path) -> Path:
    steps = [step(i, 1000 * i, 990) for i in range(3)]
    work = [launched(i + 1, "gemm", 1000 * i + 500, 300) for i in range(3)]
    return write(tmp_path, trace(*steps, *work))


def drawn(timeline: Path, target: Path, *more: Any) -> Result:
    return CliRunner().invoke(cli, ["select", str(timeline), "--plot", str(target), *more])


def test_every_known_cause_has_a_colour_of_its_own():
    classes = known_classes().by_code
    colors = [*COLORS.values(), *(found.color for found in classes.values())]
    assert len(set(colors)) == len(colors)
    assert not set(classes) & set(COLORS)


def test_all_that_lanes_can_hold_has_a_colour(tmp_path: Path):
    events = [step(0, 0, 990), call("aten::mm", 1, 90) | {"cat": "cpu_op"}, copy(700, 50)]
    events += [*launched(1, "gemm", 500, 100), *launched(2, "ncclAllReduce", 650, 20)]
    events += [call("cudaDeviceSynchronize", 800, 100)]
    device = select(load_timeline(write(tmp_path, trace(*events))), Criteria(lanes=True)).selected
    shown = {what for lane in device.lanes for *_, what, _ in lane.spans}
    assert shown == set(COLORS) | {cause.code for cause in device.idle}


def test_an_svg_has_the_lanes_and_the_same_bytes_twice(timeline: Path, tmp_path: Path):
    for name in ("a.svg", "b.svg"):
        assert drawn(timeline, tmp_path / name).exit_code == 0
    text = (tmp_path / "a.svg").read_text("utf-8")
    assert {"host", "idle", "compute"} <= set(re.findall(r">(\w+)</text>", text))
    assert COLORS["compute"] in text
    assert text == (tmp_path / "b.svg").read_text("utf-8")


def test_a_page_needs_nothing_else(timeline: Path, tmp_path: Path):
    assert drawn(timeline, tmp_path / "a.html").exit_code == 0
    text = (tmp_path / "a.html").read_text("utf-8")
    assert "default-src 'none'" in text
    assert "<script" not in text
    assert not re.search(r'(?:src|href)="(?!#)', text)
    assert re.search(r"<td>compute</td><td>300 µs</td>", text)


def test_a_picture_is_not_written_over_unasked(timeline: Path, tmp_path: Path):
    target = tmp_path / "a.png"
    target.write_text("mine")
    assert drawn(timeline, target).exit_code == 2
    assert target.read_text() == "mine"
    assert drawn(timeline, target, "--force").exit_code == 0
    assert target.read_bytes().startswith(b"\x89PNG")


def test_a_summary_has_no_step_to_draw(tmp_path: Path):
    head = (
        "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n"
    )
    path = write(tmp_path, f"{head}100,9000,1,9000,9000,9000,9000,0,gemm\n".encode(), "stats.csv")
    found = drawn(path, tmp_path / "a.svg")
    assert found.exit_code == 3
    assert "cannot draw" in found.stderr
    assert not (tmp_path / "a.svg").exists()
