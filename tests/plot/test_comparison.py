from __future__ import annotations

import pytest
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch
from matplotlib.text import Text

from roofline.compare.judge import compare
from roofline.model import Bound
from roofline.plot import Options, draw, picture, save
from roofline.plot.style import THEMES
from tests.makers import analysis, unit
from tests.plot.values import kernel, texts

SLOW = (unit("l1", 92.0), unit("dram", 40.0), unit("issue", 10.0), unit("fma", 5.0))
FAST = (unit("l1", 20.0), unit("dram", 90.0), unit("issue", 24.0), unit("fma", 12.0))


def pair(name: str = "gemm", times: tuple[float, float] = (4e-3, 1e-3)):
    before = kernel(name, duration_s=times[0], units=SLOW)
    after = kernel(name, duration_s=times[1], units=FAST)
    return before, after


def comparison(*pairs):
    return compare(analysis(*(b for b, _ in pairs)), analysis(*(a for _, a in pairs)))


def artist(figure, kind, gid):
    (found,) = figure.findobj(lambda a: isinstance(a, kind) and a.get_gid() == gid)
    return found


def test_the_outcome_is_said_with_its_range_and_coloured():
    drawn = draw(comparison(pair()))
    outcome = artist(drawn, Text, "outcome-0")

    assert outcome.get_text().startswith("faster: 4.00x (")
    assert outcome.get_color() == THEMES["light"]["faster"]
    slower = artist(draw(comparison(pair(times=(1e-3, 2e-3)))), Text, "outcome-0")
    assert slower.get_text().startswith("slower: 2.00x (")
    assert slower.get_color() == THEMES["light"]["slower"]


def test_no_change_is_grey():
    outcome = artist(draw(comparison(pair(times=(1e-3, 1.001e-3)))), Text, "outcome-0")

    assert outcome.get_text().startswith("no change: 1.00x")
    assert outcome.get_color() == THEMES["light"]["muted"]


def test_units_go_from_before_to_after():
    drawn = draw(comparison(pair()))
    ends = [artist(drawn, Line2D, f"{when}-l1").get_xdata()[0] for when in ("before", "after")]
    other = [artist(drawn, Line2D, f"{when}-dram").get_xdata()[0] for when in ("before", "after")]

    # 72 points to the left and 50 to the right on the same scale
    assert (ends[0] - ends[1]) / (other[1] - other[0]) == pytest.approx(72 / 50)
    assert {"92 % → 20 %", "40 % → 90 %"} <= set(texts(drawn))
    assert len(drawn.findobj(FancyArrowPatch)) == 4  # none is at rest


def test_bars_are_times_and_floors():
    drawn = draw(comparison(pair()))

    assert any(t.startswith("before  4.00 ms") for t in texts(drawn))
    assert any(t.startswith("after  1.00 ms") for t in texts(drawn))


def test_three_that_changed_are_drawn_and_the_others_counted():
    changed = [pair(f"k{i}_{'abcde'[i] * 6}", (4e-3 - i * 1e-4, 1e-3)) for i in range(5)]
    figure = draw(comparison(*changed))

    assert len([t for t in texts(figure) if t.startswith("faster: ")]) == 3
    assert "Not drawn: 2 pairs (2 faster)." in texts(figure)
    assert figure.get_size_inches()[1] * 72 <= 1600


def test_a_missing_time_is_not_judged():
    figure = draw(comparison((kernel("k", duration_s=None), kernel("k"))))

    assert "not judged" in texts(figure)


def test_kernels_of_one_side_are_named():
    one, other = pair()
    made = compare(analysis(one, kernel("a_first_kernel")), analysis(other))

    assert "gone: a_first_kernel (1.00 ms)" in texts(draw(made))


def test_the_title_of_one_pair_says_what_it_leaves_out():
    before, after = pair()
    drawn = draw(compare(analysis(before), analysis(after, kernel("extra", duration_s=5e-3))))

    # 4 ms become 1 ms, and 5 ms of another kernel.
    said = " ".join(texts(drawn))
    assert "4.00 ms to 1.00 ms of the pairs compared (4.00x faster)" in said
    assert "all kernels, 1 new: 4.00 ms to 6.00 ms" in said


@pytest.mark.parametrize("ending", [".svg", ".pdf", ".png"])
def test_it_can_be_saved_and_is_the_same_again(tmp_path, ending):
    made = comparison(pair(), (kernel("u", Bound.UNKNOWN, units=()), kernel("u")))
    paths = [tmp_path / f"{n}{ending}" for n in "ab"]
    for path in paths:
        save(picture(made, Options(theme="dark")), path)

    assert paths[0].read_bytes() == paths[1].read_bytes()
