from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roofline.plot import Options, roofline
from roofline.plot.canvas import Ruler
from roofline.plot.layout import Anchor, Box, Room, place
from roofline.plot.scene import compose
from tests.makers import analysis
from tests.plot.values import crowd, kernel

AREA = Box(0.0, 0.0, 800.0, 400.0)


def disjoint(boxes: list[Box]) -> bool:
    return not any(a.overlaps(b) for a, b in combinations(boxes, 2))


anchors = st.builds(
    Anchor,
    x=st.floats(0, 800),
    y=st.floats(0, 400),
    radius=st.floats(3, 15),
    width=st.floats(8, 60),
    height=st.just(14.0),
)
clustered = st.builds(
    Anchor,
    x=st.floats(400, 401),
    y=st.floats(200, 201),
    radius=st.just(4.0),
    width=st.just(18.0),
    height=st.just(14.0),
)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.one_of(anchors, clustered), min_size=1, max_size=30))
def test_thirty_labels_neither_overlap_nor_leave_the_axes(wanted):
    placed = place(wanted, Room(area=AREA))

    assert placed.count(None) <= 2  # 30 boxes of at most 60 x 14 fit near their marks
    boxes = [b for b in placed if b is not None]
    assert disjoint(boxes)
    assert all(b.inside(AREA) for b in boxes)
    for anchor, box in zip(wanted, placed, strict=True):
        if box is not None:
            assert (box.x1 - box.x0, box.y1 - box.y0) == pytest.approx(
                (anchor.width, anchor.height)
            )


def test_labels_keep_off_what_is_taken():
    taken = [Box(50, 0, 800, 400)]
    (box,) = place([Anchor(60, 200, 4, 30, 14)], Room(area=AREA, taken=taken))

    assert box is not None
    assert box.x1 <= 50


def test_a_full_area_leaves_labels_off_instead_of_on_top():
    placed = place(
        [Anchor(10, 10, 2, 20, 14)] * 9, Room(area=Box(0, 0, 45, 34))
    )  # room for 2 x 2 boxes

    boxes = [b for b in placed if b is not None]
    assert 1 <= len(boxes) <= 4
    assert disjoint(boxes)


def test_a_lone_label_is_to_the_right_of_its_mark():
    (box,) = place([Anchor(100, 100, 5, 40, 14)], Room(area=AREA))

    # 3 px beside a mark of radius 5, centred on its height
    assert box == Box(108.0, 93.0, 148.0, 107.0)


def test_a_label_at_the_right_edge_goes_to_the_left():
    (box,) = place([Anchor(795, 100, 5, 40, 14)], Room(area=AREA))

    assert box is not None
    assert box.x1 <= 795 - 5


def laid_out(count: int, *, seed: int = 1, width: float = 900, top: int = 30) -> roofline.Chart:
    (panel,) = compose(crowd(seed, count), Options()).panels
    planned = roofline.lay_out(panel, width, 470, Ruler(), top)
    assert planned is not None
    assert planned == roofline.lay_out(panel, width, 470, Ruler(), top)  # the same again
    return planned


@pytest.mark.parametrize("seed", range(4))
def test_thirty_kernels_of_a_chart_are_labelled_with_numbers(seed):
    planned = laid_out(30, seed=seed)

    boxes = [s.box for s in planned.spots if s.box is not None]
    roof_boxes = [b for label in planned.roof_labels for b in label.boxes]
    assert {s.text for s in planned.spots} == {str(n) for n in range(1, 31)}
    assert len(boxes) == 30
    assert disjoint(boxes)
    assert all(b.inside(planned.scale.area) for b in boxes)
    assert not any(a.overlaps(b) for a in boxes for b in roof_boxes)


def test_all_kernels_are_drawn_and_those_with_rows_labelled():
    planned = laid_out(60, seed=3, top=20)

    assert len(planned.spots) == 60
    assert {s.mark.rank for s in planned.spots if s.text} == set(range(1, 21))
    assert not any(s.bars for s in planned.spots[20:])


@pytest.mark.parametrize("count", [1, 3])
def test_few_kernels_are_labelled_with_their_names(count):
    planned = laid_out(count)

    assert all(s.named and "very_long_kernel" in s.text for s in planned.spots)
    assert disjoint([s.box for s in planned.spots if s.box is not None])


def test_a_label_that_does_not_fit_costs_no_other_its_name():
    # Eight at one place, one far from all.
    together = [kernel(f"together_{i}", operations={"fp32": 1e6 + i}) for i in range(8)]
    alone = kernel("alone", operations={"fp32": 1e10}, duration_s=1e-4)
    (panel,) = compose(analysis(*together, alone), Options()).panels
    planned = roofline.lay_out(panel, 900, 300, Ruler(), 30)

    assert planned is not None
    assert not all(s.named for s in planned.spots)
    assert next(s for s in planned.spots if "alone" in s.text).detail == "DRAM 90 %"


def test_a_label_says_what_limits_its_kernel():
    (panel,) = compose(analysis(kernel("k")), Options()).panels
    planned = roofline.lay_out(panel, 900, 470, Ruler(), 30)

    assert planned is not None
    (spot,) = planned.spots
    assert spot.detail == "DRAM 90 %"
    assert spot.box is not None
    assert spot.box.y1 - spot.box.y0 == pytest.approx(27.0)  # 14 for the name, 13 below it


def test_a_narrow_chart_has_numbers_sooner():
    assert [s.text for s in laid_out(6, width=480).spots] == list("123456")
