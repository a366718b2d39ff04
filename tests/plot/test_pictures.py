"""What a picture says is read back from what was drawn, and held against the verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from roofline.analysis import analyze
from roofline.figures import Point
from roofline.model import Analysis, Bound, Confidence, Result, Stall
from roofline.plot import Options, draw
from roofline.plot.canvas import Ruler
from roofline.plot.ceilings import own_ceilings, unit_columns
from roofline.plot.roofline import lay_out
from roofline.plot.scene import compose
from roofline.units import unit_name
from roofline.verdict.rule import judge
from tests.makers import TOY_DEVICE, analysis, measurement, result, unit, with_rest
from tests.plot.values import crowd, kernel, mixed, texts
from tests.shared import REPORTS, analyzed

SAMPLES = sorted((Path(__file__).parents[2] / "sample_reports").glob("*.ncu-rep"))


def found(figure: Figure, kind: type, start: str) -> dict[str, Any]:
    """What is drawn of a kind, by the rest of its name."""
    artists = figure.findobj(
        lambda a: isinstance(a, kind) and (a.get_gid() or "").startswith(start)
    )
    return {artist.get_gid().removeprefix(start): artist for artist in artists}


def limiters(figure: Figure) -> Iterator[tuple[int, str, str]]:
    """The rank, the unit's name above the box and the number in it, of all boxes of the units."""
    heads = {
        text.get_position()[0]: text.get_text() for text in found(figure, Text, "unit-").values()
    }
    cells = found(figure, Text, "cell-")
    for key, box in found(figure, Rectangle, "box-").items():
        left, right = box.get_x(), box.get_x() + box.get_width()
        (name,) = (name for x, name in heads.items() if left < x < right)
        inside = [
            cell.get_text()
            for cell in cells.values()
            if left < cell.get_position()[0] < right
            and box.get_y() < cell.get_position()[1] < box.get_y() + box.get_height()
        ]
        assert len(inside) == 1
        yield int(key.split("-")[0]), name, inside[0]


def check(shown: Analysis) -> None:
    """The limiter of every kernel that has one is boxed, named and in its verdict's text."""
    figure = draw(shown)
    marks = compose(shown, Options()).marks
    boxed: dict[int, list[tuple[str, str]]] = {}
    for rank, name, number in limiters(figure):
        boxed.setdefault(rank, []).append((name, number))
    verdicts = found(figure, Text, "verdict-")
    assert figure.get_size_inches()[1] * 72 <= 1600
    for mark in marks[: 30 if len(marks) <= 30 else 20]:
        judged = mark.result.verdict
        if judged.limiter is None:
            continue
        assert judged.limiter_percent is not None
        number = f"{judged.limiter_percent:.0f}"
        assert (unit_name(judged.limiter), number) in [
            (name, text.replace(">99", "100")) for name, text in boxed[mark.rank]
        ]
        assert f"{judged.bound}: {unit_name(judged.limiter)}" in verdicts[str(mark.rank)].get_text()


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_the_limiter_of_every_sample_can_be_read(path):
    check(analyzed(path))


@pytest.mark.skipif(not REPORTS, reason="no folder of real reports here")
@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.name[:40])
def test_the_limiter_of_every_public_report_can_be_read(path):
    check(analyzed(path))


@pytest.mark.parametrize("path", [*SAMPLES, *REPORTS], ids=lambda path: path.name[:40])
def test_what_limits_a_kernel_too_is_within_the_balance(path):
    for panel in compose(analyzed(path), Options()).panels:
        for mark in panel.marks:
            judged = mark.result.verdict
            for own in mark.ceilings[1:]:
                assert judged.limiter_percent - own.percent <= judged.rule.balance


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "Not on a roofline: 3 (operations not measured); 4, 5 (no FP or tensor operations)."),
        ({"views": ("units",)}, ""),
        (
            {"views": ("roofline",), "key": False},
            (
                "Not on a roofline: 1 kernel (operations not measured); "
                "2 kernels (no FP or tensor operations)."
            ),
        ),
    ],
)
def test_a_picture_says_which_kernels_no_roofline_holds_and_why(options, said):
    none: dict[str, Any] = {"operations": {"fp32": 0.0}}
    shown = analysis(
        kernel("a", duration_s=5e-3),
        kernel("b", duration_s=4e-3),
        kernel("c", duration_s=3e-3, operations={}),
        kernel("d", duration_s=2e-3, **none),
        kernel("e", duration_s=1e-3, **none),
    )
    lines = " ".join(texts(draw(shown, Options(**options))))

    assert said in lines
    assert ("Not on" in lines) is bool(said)


def test_units_alone_say_why_there_is_no_roofline():
    lines = texts(draw(analysis(kernel("d", operations={"fp32": 0.0}))))

    assert "Not on a roofline: no FP or tensor operations." in lines


@pytest.mark.parametrize("views", [("units",), ("gain",)])
def test_a_kernel_at_its_ceiling_is_promised_nothing(views):
    made = kernel("full")
    full = replace(made.verdict, floor_s=made.measurement.duration_s)
    lines = " ".join(texts(draw(analysis(replace(made, verdict=full)), Options(views=views))))

    assert "no headroom: DRAM is full" in lines
    assert "1.00x" not in lines


@pytest.mark.parametrize("path", [*SAMPLES, *REPORTS], ids=lambda path: path.name[:40])
def test_ceilings_of_kernels_that_dram_limits_lie_on_the_dram_roof(path):
    for panel in compose(analyzed(path), Options()).panels:
        chart = lay_out(panel, 900, 450, Ruler(), 30)
        if chart is None:
            continue
        for spot in chart.spots:
            m = spot.mark.result.measurement
            rate = spot.mark.result.peaks.report.dram_bytes_per_s
            if spot.mark.result.verdict.limiter == "dram" and m.arithmetic_intensity and rate:
                (_, y), *_ = spot.bars
                assert abs(y - chart.scale.y(m.arithmetic_intensity * rate)) < 2


def test_an_own_ceiling_is_the_rate_over_the_utilisation():
    # 75 MFLOP in 1 ms are 75 GFLOP/s; at 90 % of DRAM that leaves 83.3.
    (own,) = own_ceilings(kernel("k"))

    assert (own.unit, own.percent, own.bound) == ("dram", 90.0, Bound.BANDWIDTH)
    assert own.rate == pytest.approx(75e9 / 0.9)


def stated(**seconds: float) -> Analysis:
    """Versions of one product of which somebody states the time: of 312 TFLOP/s at most."""
    product = {"gpu": "a100-sxm4-80gb", "dtype": "fp16", "flops": 1.1e12, "bytes": 1e9}
    return analyze(points=[Point(name, seconds=s, **product) for name, s in seconds.items()])


def test_figures_below_both_roofs_are_not_said_to_wait() -> None:
    said = " ".join(texts(draw(stated(v1=9e-3, v2=6e-3, v3=4.2e-3), Options()).figure))

    assert "What limits 3 kernels: neither roof 78.1 % of the time, compute 21.9 %" in said
    assert "dotted: below it" in said
    assert "latency" not in said
    # Their own ceilings are one point, so each mark says how far it is from it.
    for name, at in (("v1", 39), ("v2", 59)):
        assert f"{name} neither roof; tensor pipe {at} %" in said


def test_the_ceiling_of_a_full_unit_is_where_the_kernel_is() -> None:
    # Two FP64 units an SM are full at 86 % of their counter's peak.
    few = replace(TOY_DEVICE, compute_capability="7.5")
    measured = measurement(
        units=with_rest(replace(unit("fp64", 86.1), full_at=86.0), unit("dram", 10.0)), device=few
    )
    full = result(measured, judge(measured, result(measured).peaks))

    (own,) = own_ceilings(full)
    assert own.rate == pytest.approx(measured.operations_per_s)
    assert own.percent == 86.1


def both(confidence: Confidence = Confidence.HIGH, following: str = "issue") -> Result:
    units = (unit("dram", 80.0), unit("l2", 40.0), unit("issue", 75.0), unit("fma", 30.0))
    made = kernel("both", units=units)
    judged = replace(
        made.verdict, co_limiter=following, limiter_percent=80.0, next_limiter=following,
        confidence=confidence,
    )  # fmt: skip
    return replace(made, verdict=judged)


def test_two_units_of_one_family_that_limit_have_two_ceilings_and_one_colour():
    made = both(following="l2")
    figure = draw(analysis(made))

    assert [(c.unit, c.bound) for c in own_ceilings(made)] == [
        ("dram", Bound.BANDWIDTH),
        ("l2", Bound.BANDWIDTH),
    ]
    assert found(figure, Line2D, "kernel-")["1"].get_fillstyle() == "full"
    assert "both limit" not in texts(figure)


def test_a_kernel_that_two_units_limit_has_two_ceilings_and_two_colours():
    figure = draw(analysis(both()))
    mark = found(figure, Line2D, "kernel-")["1"]

    assert [(c.unit, c.bound) for c in own_ceilings(both())] == [
        ("dram", Bound.BANDWIDTH),
        ("issue", Bound.COMPUTE),
    ]
    assert set(found(figure, Line2D, "own-1-")) == {"0", "1"}
    assert mark.get_fillstyle() == "left"
    assert mark.get_markerfacecolor() != mark.get_markerfacecoloralt()
    assert {name for _, name, _ in limiters(figure)} == {"DRAM", "issue slots"}


def test_low_confidence_is_hollow():
    mark = found(draw(analysis(both(Confidence.LOW))), Line2D, "kernel-")["1"]

    assert mark.get_markerfacecolor() == "#ffffff"


def test_a_wait_is_dotted_and_explained():
    made = kernel("k", Bound.LATENCY, units=(unit("dram", 20.0), unit("issue", 5.0)),
                  occupancy_percent=12.0, theoretical_occupancy_percent=50.0, waves=0.25,
                  stalls=(Stall(reason="long_scoreboard", share=0.7),))  # fmt: skip
    made = replace(made, verdict=replace(made.verdict, limiter_percent=20.0))
    figure = draw(analysis(made))
    words = texts(figure)

    assert found(figure, Rectangle, "box-")["1-dram"].get_linestyle() != "-"
    assert {"DRAM 20 %", "12 % of 50 % possible", "0.25 of 1 wave", "70 % of stalls"} <= set(words)
    assert any("100 blocks" in w for w in words)


def test_the_spread_of_launches_is_drawn():
    shown = analysis(*[kernel("k", count=3, duration_s=3e-3)] * 3)
    group = replace(shown.groups[0], launches=(0, 1, 2), min_s=0.5e-3, max_s=2e-3)
    figure = draw(replace(shown, groups=(group,)))
    (line,) = found(figure, Line2D, "spread-").values()

    # from half to twice the mean's rate; the kernel itself at the middle of the logarithms
    (mark,) = found(figure, Line2D, "kernel-").values()
    low, high = line.get_ydata()
    assert mark.get_ydata()[0] == pytest.approx((low + high) / 2)


@pytest.mark.parametrize("percent", [1e-30, 1e9, 1e300, 104.0])
@pytest.mark.parametrize("views", [(), ("gain",)])
def test_percentages_beyond_reason_are_drawn_in_no_time(percent, views):
    made = kernel("k", units=(unit("dram", percent), unit("issue", 5.0)))
    made = replace(made, verdict=replace(made.verdict, limiter_percent=percent, floor_s=percent))
    figure = draw(analysis(made), Options(views=views))

    assert len(figure.findobj(Line2D)) < 60


@pytest.mark.parametrize(("operations", "said"), [(1e300, True), (1e9, False)])
def test_a_mark_that_no_axis_reaches_is_said_to_lie_on_the_edge(operations, said):
    shown = texts(draw(analysis(kernel("k", operations={"fp32": operations}))))

    assert ("Beyond the axes, drawn on their edge: 1 kernel." in shown) is said


@pytest.mark.parametrize("count", [31, 300])
def test_many_kernels_have_twenty_rows_and_one_for_the_rest(count):
    figure = draw(crowd(2, count))

    assert len(found(figure, Line2D, "row-kernel-")) == 20
    assert any(t.startswith(f"{count - 20} more with ") for t in texts(figure))
    assert figure.get_size_inches()[1] * 72 <= 1600


def test_every_number_of_the_chart_has_a_row():
    # The ten longest are not on the chart, and take ten of the twenty rows.
    absent = [kernel(f"absent_{i}", operations={}, duration_s=1.0) for i in range(10)]
    figure = draw(analysis(*absent, *crowd(2, 40).results))

    ranks = {int(rank) for rank in found(figure, Line2D, "kernel-")}
    assert ranks == set(range(11, 21))
    assert {int(rank) for rank in found(figure, Line2D, "row-kernel-")} == set(range(1, 21))


@pytest.mark.parametrize("theme", ["light", "dark", "paper"])
@pytest.mark.parametrize("view", ["roofline", "units", "gain"])
@pytest.mark.parametrize("width", [480, 900])
def test_text_stays_within_the_picture(theme, view, width):
    figure = draw(mixed(), Options(theme=theme, views=(view,), width_px=width))
    figure.canvas.draw()
    edge = figure.bbox

    for text in figure.findobj(Text):
        box = text.get_window_extent()
        if text.get_text():
            assert box.x0 >= -1, text.get_text()
            assert box.x1 <= edge.x1 + 1, text.get_text()


def test_the_columns_hold_every_limiter_and_stay_in_order():
    kernels = [kernel("a", units=(unit("dram", 90.0), unit("xu", 9.0), unit("issue", 50.0)))]
    odd = kernel("b", Bound.COMPUTE, units=(unit("xu", 95.0), unit("l2", 1.0)))
    kernels.append(odd)

    assert unit_columns(kernels, 2) == ("dram", "xu")
    assert unit_columns(kernels, 3) == ("dram", "issue", "xu")


def test_axes_have_units_and_the_ridge_its_intensity():
    # TOY_PEAKS: 10 TFLOP/s over 1 TB/s
    words = texts(draw(analysis(kernel("k"))))

    assert {"Arithmetic intensity [FLOP/byte of DRAM]", "Performance [FLOP/s]"} <= set(words)
    assert "ridge 10.0" in words
