from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest

from roofline.model import Bound, Rule
from roofline.plot import Options, draw, words
from roofline.plot.bars import ROWS, busiest
from tests.makers import analysis, measurement, result, unit, verdict
from tests.plot.values import kernel, mixed, texts


def test_percentages_alone_are_drawn_as_bars_without_an_empty_roofline():
    units = (unit("l1", 87.0), unit("dram", 30.0), unit("issue", 41.0), unit("fma", 12.0))
    figure = draw(analysis(kernel("k", operations={}, dram_bytes=None, units=units)))
    words = texts(figure)

    assert not figure.axes
    assert {"L1/shared 87 %", "issue slots 41 %"} <= set(words)
    assert not any("DRAM 30" in w or "12 %" in w for w in words)  # not the busiest
    assert "both under 60 %: latency" in words
    assert "operations not measured" in words


@pytest.mark.parametrize(
    ("bound", "cause", "text"),
    [
        (Bound.BANDWIDTH, None, "bandwidth: DRAM 90 %"),
        (Bound.LATENCY, "grid_too_small", "latency: grid too small"),
        (Bound.UNKNOWN, None, "unknown"),
    ],
)
def test_a_verdict_has_a_percentage_only_where_a_unit_limits(bound, cause, text):
    limiter = "dram" if bound is Bound.BANDWIDTH else None
    judged = verdict(bound=bound, limiter=limiter, limiter_percent=90.0, cause=cause)

    assert words.verdict(judged) == text


def test_the_busiest_of_each_family_is_found():
    result = kernel("k", units=(unit("l2", 10.0), unit("l1", 20.0)))
    bandwidth, compute = busiest(result)

    assert bandwidth is not None
    assert bandwidth.unit == "l1"
    assert compute is None


def test_a_unit_that_stands_for_several_gives_way_to_one_as_busy():
    # 78.3 and 78.0 are the same but for rounding; the bandwidth side is nearest.
    units = (unit("shared_pipe", 78.3), unit("tensor", 78.0), unit("l2", 90.0))

    assert [use and use.unit for use in busiest(kernel("k", units=units))] == ["l2", "tensor"]


def test_a_unit_that_stands_for_several_is_shown_where_it_is_busier():
    units = (unit("shared_pipe", 78.0), unit("alu", 20.0), unit("l2", 90.0))

    assert [use and use.unit for use in busiest(kernel("k", units=units))] == ["l2", "shared_pipe"]


def test_the_bar_is_that_of_the_unit_that_the_verdict_names():
    judged = verdict(bound=Bound.COMPUTE, limiter="fma", limiter_percent=77.0, nearest="fma")
    result = replace(kernel("k", units=(unit("alu", 77.2), unit("fma", 77.0))), verdict=judged)

    assert [use and use.unit for use in busiest(result)] == [None, "fma"]


def test_percentages_over_100_are_shown_as_they_are():
    figure = draw(mixed())

    assert "FMA pipe 104 %" in texts(figure)


def test_the_threshold_is_the_one_that_the_verdicts_used():
    words = texts(draw(replace(mixed(), rule=Rule(latency=75.0))))

    assert "both under 75 %: latency" in words


def test_what_is_known_of_a_kernel_off_the_chart_is_written():
    words = texts(draw(mixed()))

    # 0.9 GB in 1 ms; 1 GFLOP in 0.2 ms
    assert "900 GB/s DRAM; no FP or tensor operations" in words
    assert "5.00 TFLOP/s; DRAM bytes not measured" in words
    assert "no utilisation in the report" in words
    assert "Not on the roofline: how busy the units were" in words


def test_more_rows_than_there_is_room_for_are_counted():
    many = [
        kernel(f"k{i}", Bound.LATENCY, operations={}, duration_s=1e-3) for i in range(ROWS + 10)
    ]
    words = texts(draw(analysis(*many)))

    assert "and 10 more kernels with 25.0 % of the time" in words


@pytest.mark.parametrize("threshold", [0.0, 20.0, 100.0])
@pytest.mark.parametrize("width", [480, 700, 900])
def test_texts_of_rows_do_not_overlap(width, threshold):
    # A name, a count and a heading as long as they get; "placed" makes it "Not on the roofline".
    rows = [kernel(f"kernel_{'x' * 60}_{i}", Bound.LATENCY, operations={}) for i in range(3)]
    view = analysis(kernel("placed"), *rows)
    launches = (0,) * 12345
    view = replace(view, groups=tuple(replace(g, launches=launches) for g in view.groups))
    view = replace(view, rule=Rule(latency=threshold))
    figure = draw(view, Options(width_px=width))
    figure.draw_without_rendering()
    level = [t for t in figure.texts if t.get_text() and not t.get_rotation()]
    boxes = [(t.get_text(), t.get_window_extent()) for t in level]

    clashes = {
        (a, b)
        for (a, first), (b, second) in combinations(boxes, 2)
        if first.x0 < second.x1
        and second.x0 < first.x1
        and first.y0 + 1 < second.y1
        and second.y0 + 1 < first.y1
    }
    assert not clashes


@pytest.mark.parametrize("width", [480, 900, 1600])
def test_no_text_leaves_the_picture(width):
    figure = draw(mixed(), Options(width_px=width, title="A title that is long " * 8))
    figure.draw_without_rendering()

    for text in figure.texts:
        box = text.get_window_extent()
        assert box.x0 >= 0, text.get_text()
        assert box.x1 <= width, text.get_text()


def test_rows_of_kernels_without_any_utilisation_are_drawn():
    nothing = result(
        measurement(units=(), operations={}, dram_bytes=None),
        verdict(bound=Bound.UNKNOWN, limiter=None, nearest=None, limiter_percent=None),
    )

    assert draw(analysis(nothing)) is not None
