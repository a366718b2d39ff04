from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.patches import FancyArrowPatch

from roofline.model import Bound, Device
from roofline.plot import Options, Pair, draw_comparison, picture_comparison, save
from roofline.plot.comparison import per_launch_s
from tests.plot.values import kernel, texts

FASTER = Pair(
    before=kernel("gemm", Bound.LATENCY, duration_s=4e-3, operations={"fp32": 8e9}),
    after=kernel("gemm", Bound.COMPUTE, duration_s=1e-3, operations={"fp32": 8e9}, dram_bytes=2e8),
    share=0.6,
)
SAME = Pair(before=kernel("same"), after=kernel("same"), share=0.2)
UNCOUNTED = Pair(
    before=kernel("old", operations={}, duration_s=1e-3),
    after=kernel("new", operations={}, duration_s=1.25e-3),
)


def arrows(pairs):
    """The arrows in the chart and in the rows."""
    return draw_comparison(pairs).findobj(FancyArrowPatch)


def test_a_pair_that_moved_has_an_arrow_in_chart_and_row():
    assert len(arrows([FASTER])) == 2
    assert len(arrows([SAME])) == 0


def test_a_pair_off_the_roofline_is_in_the_rows():
    figure = draw_comparison([UNCOUNTED])

    assert not figure.axes
    assert "1.00 ms → 1.25 ms  0.800x" in texts(figure)
    assert not any(text.startswith("Arrows go") for text in texts(figure))  # there are none


def test_times_are_those_of_one_launch():
    # 6 ms in three launches against 1 ms in one
    result = kernel("k", duration_s=6e-3, count=3)

    assert per_launch_s(result) == pytest.approx(2e-3)


def test_all_pairs_have_a_row():
    words = texts(draw_comparison([FASTER, SAME, UNCOUNTED]))

    assert {"gemm", "same", "new"} <= set(words)
    assert "4.00 ms → 1.00 ms  4.00x" in words


def test_a_missing_time_is_said():
    pair = Pair(before=kernel("k", duration_s=None), after=kernel("k"))

    assert "- → 1.00 ms  not comparable" in texts(draw_comparison([pair]))


def test_another_device_is_said():
    other = kernel("k", device=Device(name="NVIDIA Other"))
    words = texts(draw_comparison([Pair(before=other, after=kernel("k"))]))

    assert any("before on NVIDIA Other" in w for w in words)


def test_the_verdict_before_is_in_the_legend():
    assert "latency-bound" in texts(draw_comparison([FASTER]))


@pytest.mark.parametrize("ending", [".svg", ".html"])
def test_it_can_be_saved(tmp_path: Path, ending: str):
    path = tmp_path / f"a{ending}"
    save(picture_comparison([FASTER, SAME, UNCOUNTED], Options(theme="dark")), path)

    assert "gemm" in path.read_text(encoding="utf-8")
