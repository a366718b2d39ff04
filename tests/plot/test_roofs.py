from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.plot import roofs
from roofline.plot.canvas import Ruler
from roofline.plot.layout import Box
from roofline.plot.roofs import Line, Roof, Scale, fitted, lines

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
        (Roof(key="tensor_int8", rates={"datasheet": 624e12}), "tensor INT8 624 TOP/s datasheet"),
    ],
)
def test_a_roof_is_named_with_its_height_and_kind(roof, text):
    assert roofs.label_text([roof]) == text


def test_equal_ceilings_share_a_label():
    fp16 = Roof(key="fp16", rates={"report": 10e12})

    assert roofs.label_text([FP32, fp16]) == "FP32, FP16 10.0 TFLOP/s"


def a_label(degrees: float) -> roofs.RoofLabel:
    angle = math.radians(degrees)
    return roofs.RoofLabel(text="", x=100.0, y=50.0, angle=angle, width=40.0, boxes=())


@pytest.mark.parametrize(
    ("line", "degrees", "crosses"),
    [
        (((0, 55), (200, 55)), 0, True),
        (((0, 45), (200, 45)), 0, False),  # below the text
        (((120, 0), (120, 200)), 0, True),
        (((141, 0), (141, 200)), 0, False),  # right of its end at 140
        (((120, 0), (120, 40)), 0, False),  # ends before it
        (((95, 0), (95, 200)), 90, True),  # the text now goes up from (100, 50), 13 px to the left
        (((120, 0), (120, 200)), 90, False),
    ],
)
def test_lines_through_a_label_are_found(line, degrees, crosses):
    start, end = line
    drawn = Line(roof=DRAM, kind="report", start=start, end=end)

    assert roofs._runs_through(drawn, a_label(degrees)) is crosses


def test_a_label_is_tried_above_the_highest_of_near_lines_and_below_the_lowest():
    # The datasheet's line is 4 px above the report's and begins farther right.
    roof = Roof(key="fp32", rates={"report": 10e12, "datasheet": 12e12})
    low = Line(roof=roof, kind="report", start=(200.0, 226.0), end=(586.0, 226.0))
    high = Line(roof=roof, kind="datasheet", start=(331.0, 230.0), end=(586.0, 230.0))

    first, *_, last = roofs._tries([low, high], "FP32", Ruler())

    assert first.y == 230 + 3
    assert last.y == 226 - 14  # a line of 13 px, and 1 between
