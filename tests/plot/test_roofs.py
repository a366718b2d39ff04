from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.plot import roofs
from roofline.plot.canvas import Ruler
from roofline.plot.layout import Box, Room
from roofline.plot.roofs import Roof, Scale, fitted, lines

AREA = Box(0, 0, 700, 400)
DRAM = Roof(key="dram", rates={"report": 1e12})
FP32 = Roof(key="fp32", rates={"report": 10e12})
FP64 = Roof(key="fp64", rates={"report": 5e12})
FP4 = Roof(key="tensor_fp4", rates={"report": 6e15, "datasheet": 9e15})


def test_a_decade_is_as_wide_as_any_other():
    # 4 decades on 400 px from 100: 1 is two decades in, at 300; 2 decades of rate on 200 px.
    scale = Scale(0.01, 100.0, 1e9, 1e11, Box(100, 50, 500, 250))

    assert scale.x(1.0) == pytest.approx(300)
    assert scale.y(1e10) == pytest.approx(150)


def test_the_memory_roof_ends_at_the_ridge():
    # 1 TB/s reaches 10 TFLOP/s at 10 operations a byte; the left edge is at 0.1.
    scale = Scale(0.1, 1000, 1e9, 1e14, AREA)
    memory, _, _ = lines([DRAM, FP32, FP64], scale)

    assert memory.start == pytest.approx((0, scale.y(1e11)))
    assert memory.end == pytest.approx((scale.x(10), scale.y(10e12)))


def test_a_memory_roof_below_the_axes_is_not_drawn():
    slow = Roof(key="dram", rates={"report": 1e3})

    assert lines([slow], Scale(0.1, 10, 1e9, 1e12, AREA)) == ()


def test_a_ceiling_begins_at_the_ridge_of_the_fastest_memory():
    scale = Scale(0.1, 1000, 1e9, 1e14, AREA)
    fast = Roof(key="l2", rates={"report": 4e12})
    *_, ceiling = lines([DRAM, fast, FP32], scale)

    assert ceiling.start == pytest.approx((scale.x(2.5), scale.y(10e12)))
    assert ceiling.end == pytest.approx((700, scale.y(10e12)))


def test_kinds_without_a_counterpart_meet_any():
    scale = Scale(0.1, 1000, 1e9, 1e14, AREA)
    sheet = Roof(key="fp32", rates={"datasheet": 20e12})
    memory, ceiling = lines([DRAM, sheet], scale)

    assert memory.end == ceiling.start == pytest.approx((scale.x(20), scale.y(20e12)))


positive = st.floats(1e-6, 1e6)


@given(
    points=st.lists(st.tuples(positive, st.floats(1e-3, 1e16)), max_size=5),
    heights=st.lists(st.floats(1e-3, 1e16), min_size=1, max_size=3),
    ceilings=st.sampled_from([[], [FP32], [FP32, FP4]]),
    memory=st.sampled_from([[], [DRAM]]),
)
def test_every_point_and_ceiling_is_within_the_axes(points, heights, ceilings, memory):
    found = fitted(points, heights, [*memory, *ceilings], AREA)

    assert all(math.isfinite(v) and v > 0 for v in (found.x0, found.x1, found.y0, found.y1))
    assert all(found.x0 < x < found.x1 and found.y0 < y < found.y1 for x, y in points)
    assert all(found.y0 < y < found.y1 for y in heights)
    assert all(found.y0 < r < found.y1 for roof in ceilings for r in roof.rates.values())


@pytest.mark.parametrize(
    ("roof", "text"),
    [
        (DRAM, "DRAM 1.00 TB/s"),
        (
            Roof(key="dram", rates={"report": 603e9, "datasheet": 640e9}),
            "DRAM 603 GB/s (datasheet 640 GB/s)",
        ),
        (Roof(key="tensor_int8", rates={"datasheet": 624e12}), "tensor INT8 datasheet 624 TOP/s"),
    ],
)
def test_a_roof_is_named_with_its_height_and_kind(roof, text):
    assert roofs.label_text([roof]) == text


def test_equal_ceilings_share_a_label():
    fp16 = Roof(key="fp16", rates={"report": 10e12})

    assert roofs.label_text([FP32, fp16]) == "FP32, FP16 10.0 TFLOP/s"


def test_a_datasheet_figure_that_is_none_is_named_for_what_it_is():
    # An H100 does 2/3 of its 989 TFLOP/s by mma.sync.
    how = {"datasheet": "by mma.sync, 2/3 of the datasheet"}
    roof = Roof(key="tensor_bf16", rates={"report": 5.7e14, "datasheet": 6.6e14}, how=how)

    text = "tensor BF16 570 TFLOP/s (660 TFLOP/s by mma.sync, 2/3 of the datasheet)"
    assert roofs.label_text([roof]) == text


def test_labels_keep_off_each_other_and_lines():
    scale = Scale(0.1, 1000, 1e9, 1e14, AREA)
    both = [DRAM, FP32, FP64]
    drawn = lines(both, scale)
    placed = roofs.labels(both, drawn, Room(area=AREA), Ruler())

    assert len(placed) == 3
    for label in placed:
        others = [b for other in placed if other is not label for b in other.boxes]
        assert not any(a.overlaps(b) for a in label.boxes for b in others)


@pytest.mark.parametrize(
    ("low", "high", "major", "minors"),
    [
        (0.5, 150.0, [1.0, 10.0, 100.0], 20),  # 0.6 to 0.9, 2 to 9, 20 to 90
        (1e-9, 1e21, [10.0**p for p in range(-9, 22, 4)], 0),
    ],
)
def test_ticks_are_powers_of_ten_with_steps_between(low, high, major, minors):
    found, between = roofs.decades(low, high)

    assert found == pytest.approx(major)
    assert all(low < value < high for value in between)
    assert len(between) == minors


@given(st.floats(min_value=0, exclude_min=True), st.floats(min_value=0, exclude_min=True))
def test_axes_of_broken_numbers_stay_within_what_a_device_can_reach(intensity, rate):
    found = fitted([(intensity, rate)], [], [DRAM, FP32], AREA)
    major, minor = roofs.decades(found.y0, found.y1)

    assert len(major) <= 10
    assert len(minor) <= 100
    assert AREA.x0 <= found.x(intensity) <= AREA.x1
    assert AREA.y0 <= found.y(rate) <= AREA.y1


def test_a_ridge_is_labelled_where_roofs_meet():
    # 1 TB/s and 10 TFLOP/s meet at 10 operations a byte.
    scale = Scale(0.1, 1000, 1e9, 1e14, AREA)
    ((x, y, text),) = roofs.ridges([DRAM, FP32], scale)

    assert (x, y, text) == (pytest.approx(scale.x(10)), pytest.approx(scale.y(1e13)), "ridge 10.0")
