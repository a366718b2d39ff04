"""A step as lanes: bins of 1 us, worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from roofline.timeline import load_timeline, select
from roofline.timeline.model import Criteria, Lane
from tests.timeline.made import call, copy, kernel, launched, step, trace, write


def lanes(folder: Path) -> dict[str, Lane]:
    """A step of 960 us: a batch, a kernel of 100 us, a copy beside it, a collective."""
    loader = step(0, 0, 300, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__")
    events = [
        step(1, 0, 960),
        loader,
        launched(1, "gemm", 400, 100, asked=390),
        copy(450, 150),
        kernel("ncclDevKernel_AllReduce", 700, 50),
        call("cudaStreamSynchronize", 600, 100),
    ]
    device = select(load_timeline(write(folder, trace(*events))), Criteria(lanes=True)).selected
    return {lane.name: lane for lane in device.lanes}


def test_each_lane_has_what_ran_there(tmp_path: Path):
    found = lanes(tmp_path)
    assert found["compute"].spans == (
        (pytest.approx(400e-6), pytest.approx(500e-6), "compute", 1.0),
    )
    assert [s[:2] for s in found["copies"].spans] == [pytest.approx((450e-6, 600e-6))]
    assert [s[:2] for s in found["communication"].spans] == [pytest.approx((700e-6, 750e-6))]
    assert {s[2] for s in found["host"].spans} == {"operator", "cuda", "wait"}


def test_idle_time_has_its_cause(tmp_path: Path):
    idle = lanes(tmp_path)["idle"]
    assert idle.spans[0][2] == "data_loading"
    # Work from 400 to 600 and from 700 to 750 us.
    assert sum(end - start for start, end, _, _ in idle.spans) == pytest.approx(710e-6)


def test_what_takes_a_part_of_a_bin_is_paler(tmp_path: Path):
    # A step of 9600 us has bins of 10 us: kernels of 5 us each 10 us take half of each.
    work = [launched(i + 1, "gemm", 10 * i, 5) for i in range(960)]
    timeline = load_timeline(write(tmp_path, trace(step(1, 0, 9600), *work)))
    device = select(timeline, Criteria(lanes=True)).selected
    (compute,) = [lane for lane in device.lanes if lane.name == "compute"]
    assert {share for _, _, _, share in compute.spans} == {0.5}


def test_no_lanes_unless_asked_for(tmp_path: Path):
    path = write(tmp_path, trace(kernel("gemm", 0, 10)))
    assert not select(load_timeline(path)).selected.lanes
