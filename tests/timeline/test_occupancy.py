"""Unions and sole occupancy, worked out on paper and checked against a slow count of moments."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from roofline.timeline.model import Use
from roofline.timeline.occupancy import COMMUNICATION, COMPUTE, COPY, Occupancy, sweep, union
from roofline.timeline.steps import Window

Row = tuple[int, int, int, int]  # start, end, group, kind


def window(start: int, end: int, number: int = 1) -> Window:
    return Window(number=number, start=start, end=end)


def measured(rows: list[Row], *windows: Window) -> Occupancy:
    columns = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    return sweep(columns[0], columns[1], columns[2], columns[3].astype(np.int8), list(windows))


def in_ns(use: Use) -> SimpleNamespace:
    """Its times without "_s", in ns."""
    names = (*Use.__slots__, "idle_s")
    return SimpleNamespace(**{n.removesuffix("_s"): round(getattr(use, n) * 1e9) for n in names})


def test_preparation_compute_and_communication():
    # Preparation 0-20, compute 20-80, communication 60-90: 20 + 60 + 30 with 20 of overlap.
    found = measured(
        [(0, 20, 0, COPY), (20, 80, 1, COMPUTE), (60, 90, 2, COMMUNICATION)], window(0, 90)
    )

    (shares,) = map(in_ns, found.windows)
    assert shares.wall == shares.busy == 90
    assert shares.idle == 0
    assert (shares.compute, shares.communication, shares.kernel) == (60, 30, 70)
    assert (shares.exposed_communication, shares.exposed_copy) == (10, 20)
    assert found.sole.tolist() == [20, 40, 10]
    assert found.union.tolist() == found.total.tolist() == [20, 60, 30]
    assert len(found.gaps) == 0


def test_a_step_of_120_with_64_busy():
    # 10-40 and 30-50 are 40 together, 80-104 is 24: 64 of 120.
    rows = [(10, 40, 0, COMPUTE), (30, 50, 1, COMPUTE), (80, 104, 0, COMPUTE)]
    found = measured(rows, window(0, 120))

    (shares,) = map(in_ns, found.windows)
    assert (shares.wall, shares.busy, shares.kernel, shares.idle) == (120, 64, 64, 56)
    # Group 0 runs 30 + 24, of which 30-40 with group 1; group 1 runs 20, alone from 40 to 50.
    assert found.union.tolist() == [54, 20]
    assert found.sole.tolist() == [44, 10]
    assert found.gaps.tolist() == [[0, 10], [50, 80], [104, 120]]


def test_an_all_reduce_of_44_with_16_exposed():
    # It runs 50-94; computing covers 40-60, 70-78 and 84-102 of that: 10 + 8 + 10 = 28.
    rows = [(50, 94, 0, COMMUNICATION)] + [
        (a, b, 1, COMPUTE) for a, b in ((40, 60), (70, 78), (84, 102))
    ]
    (shares,) = map(in_ns, measured(rows, window(0, 120)).windows)

    assert (shares.communication, shares.exposed_communication) == (44, 16)


def test_two_kernels_at_once_are_alone_never():
    found = measured([(0, 10, 0, COMPUTE), (0, 10, 1, COMPUTE)], window(0, 10))
    assert found.sole.tolist() == [0, 0]
    assert found.union.tolist() == [10, 10]


def test_instances_of_one_kernel_at_once_are_alone():
    found = measured([(0, 10, 1, COMPUTE), (5, 15, 1, COMPUTE)], window(0, 20))
    assert found.sole.tolist() == [0, 15]
    assert found.union.tolist() == [0, 15]
    assert found.total.tolist() == [0, 20]


def test_groups_whose_numbers_average_to_a_third_are_not_mistaken_for_it():
    # Groups 0 and 2 run together; their mean is 1, which does not run at all.
    found = measured([(0, 10, 0, COMPUTE), (0, 10, 2, COMPUTE)], window(0, 10))
    assert found.sole.tolist() == [0, 0, 0]


def test_only_the_windows_count():
    rows = [(0, 30, 0, COMPUTE)]
    found = measured(rows, window(5, 10), window(20, 40, 2))

    assert [in_ns(w).wall for w in found.windows] == [5, 20]
    assert [in_ns(w).busy for w in found.windows] == [5, 10]
    assert found.union.tolist() == [15]
    assert found.gaps.tolist() == [[30, 40]]


def test_a_gap_across_the_edge_of_two_windows_is_one():
    rows = [(0, 4, 0, COMPUTE), (16, 20, 0, COMPUTE)]
    found = measured(rows, window(0, 10), window(10, 20, 2))
    assert found.gaps.tolist() == [[4, 16]]


def test_a_gap_between_distant_windows_is_two():
    rows = [(0, 4, 0, COMPUTE), (36, 40, 0, COMPUTE)]
    found = measured(rows, window(0, 10), window(30, 40, 2))
    assert found.gaps.tolist() == [[4, 10], [30, 36]]


def test_nothing_in_the_window():
    found = measured([(0, 4, 0, COMPUTE)], window(10, 20))
    assert in_ns(found.windows[0]).busy == 0
    assert found.gaps.tolist() == [[10, 20]]


ROWS = st.lists(
    st.tuples(
        st.integers(0, 40), st.integers(0, 15), st.integers(0, 3), st.sampled_from([0, 1, 2])
    ).map(lambda t: (t[0], t[0] + t[1], t[2] * 3 + t[3], t[3])),
    max_size=12,
)
EDGES = st.lists(st.integers(0, 60), min_size=2, max_size=6, unique=True).map(sorted)


def windows_of(edges: list[int]) -> list[Window]:
    """Disjoint windows with holes between them."""
    pairs = zip(edges[::2], edges[1::2], strict=False)
    return [window(a, b, i + 1) for i, (a, b) in enumerate(pairs)]


@given(rows=ROWS, edges=EDGES)
def test_every_figure_equals_a_count_of_moments(rows: list[Row], edges: list[int]):
    windows = windows_of(edges)
    found = measured(rows, *windows)

    for shares, place in zip(map(in_ns, found.windows), windows, strict=True):
        moments = [
            {(g, k) for a, b, g, k in rows if a <= t < b} for t in range(place.start, place.end)
        ]
        kinds = [{k for _, k in m} for m in moments]
        assert shares.wall == len(moments)
        assert shares.busy == sum(bool(m) for m in moments)
        assert shares.compute == sum(COMPUTE in k for k in kinds)
        assert shares.exposed_communication == sum(
            COMMUNICATION in k and COMPUTE not in k for k in kinds
        )
        assert shares.exposed_copy == sum(k == {COPY} for k in kinds)
    inside = [t for w in windows for t in range(w.start, w.end)]
    running = [{g for a, b, g, _ in rows if a <= t < b} for t in inside]
    for group in range(len(found.sole)):
        assert found.sole[group] == sum(r == {group} for r in running)
        assert found.union[group] == sum(group in r for r in running)
    idle = sum(int(b - a) for a, b in found.gaps.tolist())
    assert idle == sum(not r for r in running)


@given(rows=ROWS, seed=st.randoms(use_true_random=False))
def test_the_order_of_events_does_not_matter(rows: list[Row], seed: object):
    shuffled = list(rows)
    seed.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = (measured(r, window(0, 50)) for r in (rows, shuffled))

    assert one.windows == other.windows
    assert one.sole.tolist() == other.sole.tolist()
    assert one.union.tolist() == other.union.tolist()
    assert one.gaps.tolist() == other.gaps.tolist()


@given(rows=ROWS)
def test_the_union_is_never_above_sum_or_wall(rows: list[Row]):
    found = measured(rows, window(0, 60))
    assert (found.union <= found.total).all()
    assert (found.sole <= found.union).all()
    assert (found.union <= 60).all()
    assert found.sole.sum() <= in_ns(found.windows[0]).busy <= 60


def test_a_union_by_itself():
    begin, finish = np.array([0, 5, 30]), np.array([20, 10, 31])
    assert union(begin, finish) == 21
