from __future__ import annotations

from dataclasses import replace

import pytest

from roofline.errors import UsageError
from roofline.model import Device, Note, PeakSet, Result, Source
from roofline.plot import Options, roofline
from roofline.plot.canvas import Ruler
from roofline.plot.layout import Box
from roofline.plot.roofs import Scale
from roofline.plot.scene import Place, compose, place_of
from roofline.view import Choice, choose
from tests.makers import TOY_PEAKS, analysis, measurement
from tests.plot.values import ACHIEVED, DATASHEET, kernel, mixed


def only_panel(*results: Result, **options: object):
    (panel,) = compose(analysis(*results), Options(**options)).panels
    return panel


@pytest.mark.parametrize(
    ("values", "place", "why"),
    [
        ({}, Place.CHART, ""),
        ({"dram_bytes": 0.0}, Place.INFINITE, ""),
        ({"dram_bytes": None}, Place.BARS, "DRAM bytes not measured"),
        ({"operations": {}}, Place.BARS, "operations not measured"),
        ({"operations": {"fp32": 0.0}}, Place.BARS, "no FP or tensor operations"),
        ({"operations": {}, "dram_bytes": None}, Place.BARS, "operations not measured"),
        ({"operations": {"fp32": 0.0}, "dram_bytes": 0.0}, Place.BARS, "no FP or tensor ope"),
        ({"duration_s": None}, Place.BARS, "duration not measured"),
    ],
)
def test_every_kernel_has_a_place(values, place, why):
    found, reason = place_of(measurement(**values))

    assert found is place
    assert reason.startswith(why)


def test_no_kernel_is_dropped():
    scene = compose(mixed(), Options())

    drawn = [m.result.measurement.name for p in scene.panels for m in p.marks]
    assert sorted(drawn) == sorted(r.measurement.name for r in mixed().results)


def test_ranks_go_by_time_and_kernels_without_time_come_last():
    panel = compose(mixed(), Options()).panels[0]

    names = [m.result.measurement.name for m in panel.marks]
    assert names[0] == "gemm"
    assert names[-1] == "failed"
    assert [m.rank for m in panel.marks] == list(range(1, 8))


def test_a_ceiling_for_each_precision_that_is_used_and_no_other():
    # TOY_PEAKS knows fp32, fp64 and tensor_bf16; the FP64 count of the second kernel is 0.
    panel = only_panel(kernel("a"), kernel("b", operations={"tensor_bf16": 5e9, "fp64": 0.0}))

    assert [roof.key for roof in panel.roofs if not roof.is_memory] == ["fp32", "tensor_bf16"]


def test_kernels_below_the_chart_bring_no_ceiling():
    panel = only_panel(kernel("a"), kernel("b", operations={"fp64": 1e9}, dram_bytes=None))

    assert [roof.key for roof in panel.roofs if not roof.is_memory] == ["fp32"]


def test_kinds_of_peaks_stay_apart():
    measured = measurement()
    full = PeakSet(report=TOY_PEAKS, datasheet=DATASHEET, achieved=ACHIEVED)
    result = replace(kernel("a"), measurement=measured, peaks=full)
    dram = only_panel(result).roofs[0]

    assert dict(dram.rates) == {"report": 1e12, "datasheet": 1.2e12, "achieved": 0.9e12}
    assert dram.main == "report"


def test_datasheet_roofs_can_be_left_out():
    panel = only_panel(kernel("a"), datasheet=False)

    assert all(set(roof.rates) == {"report"} for roof in panel.roofs)


def test_cache_roofs_only_where_the_report_measures_them():
    bare = replace(TOY_PEAKS, l2_bytes_per_s=None, l1_bytes_per_s=None)
    datasheet = replace(DATASHEET, l1_bytes_per_s=9e12)
    result = kernel("a", peaks=bare)
    result = replace(result, peaks=PeakSet(report=bare, datasheet=datasheet))

    assert [roof.key for roof in only_panel(result).roofs if roof.is_memory] == ["dram"]
    measured = replace(result, measurement=replace(result.measurement, l1_bytes=1e9))
    assert [roof.key for roof in only_panel(measured).roofs if roof.is_memory] == ["dram", "l1"]


def test_devices_get_a_panel_each_the_one_with_the_most_time_first():
    other = Device(name="NVIDIA Other", compute_capability="9.0", sm_count=132)
    scene = compose(
        analysis(kernel("short", duration_s=1e-4), kernel("long", device=other, duration_s=1e-2)),
        Options(),
    )

    assert [p.device.split(" (")[0] for p in scene.panels] == ["NVIDIA Other", "NVIDIA Toy"]


def test_the_same_kernel_on_other_grids_is_told_apart():
    panel = only_panel(
        kernel("k", grid=(64, 1, 1), index=0),
        kernel("k", grid=(128, 1, 1), index=1),
        kernel("other", index=2),
    )

    details = {m.detail for m in panel.marks}
    assert details == {" (64 / 256)", " (128 / 256)", ""}


def test_launches_of_one_grid_are_told_apart_by_their_number():
    panel = only_panel(kernel("k", index=3), kernel("k", index=5), launches=True)

    assert [m.detail for m in panel.marks] == [" #3", " #5"]


def test_levels_are_shown_for_few_kernels_unless_said():
    few = [kernel(f"k{i}") for i in range(5)]

    assert only_panel(*few).levels
    assert not only_panel(*few, kernel("k5")).levels
    assert only_panel(*few, kernel("k5"), levels=True).levels


def test_a_filter_is_said():
    part = choose(mixed(), Choice(top=2))

    assert any("--top 2" in note for note in compose(part, Options()).notes)


def test_notes_of_sources_are_kept_and_folders_are_not():
    source = Source(
        path="/home/somebody/a.ncu-rep",
        launches=1,
        notes=(Note(code="computed", facts={"by": "computed, not captured"}),),
    )
    scene = compose(replace(analysis(kernel("a")), sources=(source,)), Options())

    assert "a.ncu-rep: computed, not captured" in scene.notes
    assert "somebody" not in scene.title + " ".join(scene.notes)


def test_without_a_chart_the_title_does_not_promise_a_roofline():
    assert compose(analysis(kernel("a", operations={})), Options()).title.startswith("Utilisation")
    assert compose(analysis(kernel("a")), Options()).title == "Roofline of toy.ncu-rep"


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"theme": "zzz"}, "no theme is called 'zzz'\n  try: one of: dark, light"),
        ({"width_px": 100}, "a picture cannot be 100 pixels in width"),
        ({"height_px": 10**6}, "a picture cannot be 1000000 pixels in height"),
    ],
)
def test_options_that_cannot_be_drawn_are_refused(values, text):
    with pytest.raises(UsageError) as refused:
        Options(**values)

    assert text in str(refused.value)


def test_a_ceiling_far_below_every_mark_is_within_the_axes():
    # A tensor kernel at 300 TFLOP/s that also runs FP32, whose roof is at 40.
    peaks = replace(TOY_PEAKS, operations_per_s={"fp32": 40e12, "tensor_fp4": 6e15})
    panel = only_panel(
        kernel("k", operations={"tensor_fp4": 300e9, "fp32": 1e6}, dram_bytes=1e9, peaks=peaks),
        datasheet=False,
    )
    planned = roofline.lay_out(panel, 900, 470, Ruler())

    assert planned is not None
    heights = [line.end[1] for line in planned.lines if not line.roof.is_memory]
    assert len(heights) == 2
    assert all(planned.scale.area.y0 < y < planned.scale.area.y1 for y in heights)
    assert len([x for x in planned.roof_labels if "FP32" in x.text]) == 1


def test_levels_that_were_not_measured_have_no_mark():
    bare = only_panel(kernel("a", l1_bytes=None, l2_bytes=4e9)).marks[0]
    scale = Scale(1e-4, 1e3, 1e6, 1e15, Box(0, 0, 700, 400))
    spot = roofline.Spot(mark=bare, x=300.0, y=200.0)

    assert [level for level, _, _ in roofline.levels(spot, scale)] == ["l2"]


def test_marks_of_levels_keep_their_order():
    mark = only_panel(kernel("a", dram_bytes=1e8, l2_bytes=4e8, l1_bytes=9e8)).marks[0]

    l1, l2, dram = map(mark.level_intensity, ("l1", "l2", "dram"))
    assert l1 is not None
    assert l2 is not None
    assert dram is not None
    assert l1 < l2 < dram
