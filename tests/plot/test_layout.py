from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roofline.plot import Options, roofline, words
from roofline.plot.canvas import Ruler
from roofline.plot.layout import Anchor, Box, Room, place
from roofline.plot.scene import compose
from tests.plot.values import crowd

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

    assert None not in placed  # 30 boxes of at most 60 x 14 fit into 800 x 400
    boxes = [b for b in placed if b is not None]
    assert disjoint(boxes)
    assert all(b.inside(AREA) for b in boxes)
    assert [(b.x1 - b.x0, b.y1 - b.y0) for b in boxes] == [
        (pytest.approx(a.width), pytest.approx(a.height)) for a in wanted
    ]


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


def test_leaders_of_equal_labels_do_not_cross():
    # Two marks side by side; the first is served first, and where it goes must not matter.
    wanted = [Anchor(400, 200, 4, 18, 14), Anchor(404, 200, 4, 18, 14)]
    first, second = place(wanted, Room(area=AREA))

    assert first is not None
    assert second is not None
    straight = first.distance(400, 200) + second.distance(404, 200)
    crossed = second.distance(400, 200) + first.distance(404, 200)
    assert straight <= crossed


@pytest.mark.parametrize("seed", range(6))
def test_thirty_kernels_of_a_chart_are_all_labelled(seed):
    (panel,) = compose(crowd(seed), Options()).panels
    planned = roofline.lay_out(panel, 900, 470, Ruler())

    assert planned is not None
    assert planned.numbered
    boxes = [s.box for s in planned.spots if s.box is not None]
    roof_boxes = [b for label in planned.roof_labels for b in label.boxes]
    assert len(boxes) == 30
    assert disjoint(boxes)
    assert all(b.inside(planned.scale.area) for b in boxes)
    assert not any(a.overlaps(b) for a in boxes for b in roof_boxes)
    assert planned == roofline.lay_out(panel, 900, 470, Ruler())  # the same again


def test_more_than_thirty_kernels_are_drawn_and_the_longest_labelled():
    (panel,) = compose(crowd(3, 60), Options()).panels
    planned = roofline.lay_out(panel, 900, 470, Ruler())

    assert planned is not None
    assert len(planned.spots) == 60
    assert [s.mark.rank for s in planned.spots if s.box is not None] == list(range(1, 31))


@pytest.mark.parametrize("count", [1, 3, 6])
def test_few_kernels_are_labelled_with_their_names(count):
    (panel,) = compose(crowd(1, count), Options()).panels
    planned = roofline.lay_out(panel, 900, 470, Ruler())

    assert planned is not None
    assert not planned.numbered
    assert all(s.text.startswith("very_long_kernel") for s in planned.spots)
    assert disjoint([s.box for s in planned.spots if s.box is not None])


def test_a_label_says_what_limits_its_kernel():
    (panel,) = compose(crowd(1, 1), Options()).panels
    planned = roofline.lay_out(panel, 900, 470, Ruler())

    assert planned is not None
    (spot,) = planned.spots
    assert spot.detail == words.verdict(spot.mark.result.verdict)
    assert spot.box is not None
    assert spot.box.y1 - spot.box.y0 == pytest.approx(27.0)  # 14 for the name, 13 below it


def test_a_narrow_chart_has_numbers_sooner():
    (panel,) = compose(crowd(1, 6), Options()).panels
    planned = roofline.lay_out(panel, 480, 470, Ruler())

    assert planned is not None
    assert planned.numbered
