from __future__ import annotations

from dataclasses import replace

import pytest

from roofline.errors import UsageError
from roofline.model import Bound, Device, Note, PeakSet, Result, Source
from roofline.plot import Options, roofline, words
from roofline.plot.canvas import Ruler
from roofline.plot.ceilings import level_intensity
from roofline.plot.scene import Place, compose, place_of
from roofline.view import Choice, choose
from tests.makers import TOY_PEAKS, analysis, measurement
from tests.plot.values import ACHIEVED, DATASHEET, kernel, mixed

RATES = {
    "duration_s": None,
    "operations": {},
    "dram_bytes": None,
    "rates": {"fp32": 1e12, "dram_bytes": 1e11},
}


def only_panel(*results: Result, **options: object):
    (panel,) = compose(analysis(*results), Options(**options)).panels
    return panel


@pytest.mark.parametrize(
    ("values", "place", "why"),
    [
        ({}, Place.CHART, ""),
        ({"dram_bytes": 0.0}, Place.INFINITE, ""),
        ({"dram_bytes": None}, Place.NONE, "DRAM bytes not measured"),
        ({"operations": {}}, Place.NONE, "operations not measured"),
        ({"operations": {"fp32": 0.0}}, Place.NONE, "no FP or tensor operations"),
        ({"operations": {}, "dram_bytes": None}, Place.NONE, "operations not measured"),
        ({"operations": {"fp32": 0.0}, "dram_bytes": 0.0}, Place.NONE, "no FP or tensor ope"),
        ({"duration_s": None}, Place.NONE, "duration not measured"),
        (RATES, Place.CHART, ""),
        (RATES | {"rates": {"fp32": 1e12, "dram_bytes": 0.0}}, Place.INFINITE, ""),
        (RATES | {"rates": {"dram_bytes": 1e11}}, Place.NONE, "operations not measured"),
    ],
)
def test_every_kernel_has_a_place(values, place, why):
    found, reason = place_of(measurement(**values))

    assert found is place
    assert reason.startswith(why)


def test_rates_alone_make_a_point_with_its_roof():
    panel = only_panel(kernel("a", **RATES))

    assert panel.marks[0].point == (10.0, 1e12)  # 1 TFLOP/s over 100 GB/s
    assert [roof.key for roof in panel.roofs] == ["dram", "fp32"]
    assert words.rate(panel.marks[0].result) == "1.00 TFLOP/s"


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


def test_by_products_bring_no_ceiling():
    # 4 % of the operations are FP64.
    panel = only_panel(kernel("a", operations={"fp32": 96e6, "fp64": 4e6}))

    assert [roof.key for roof in panel.roofs if not roof.is_memory] == ["fp32"]


def test_cache_roofs_only_where_they_are_asked_for_and_measured():
    bare = replace(TOY_PEAKS, l2_bytes_per_s=None, l1_bytes_per_s=None)
    datasheet = replace(DATASHEET, l1_bytes_per_s=9e12)
    result = kernel("a", peaks=bare)
    result = replace(result, peaks=PeakSet(report=bare, datasheet=datasheet))

    def memory(result: Result, *levels: str) -> list[str]:
        roofs = only_panel(result, levels=levels).roofs
        return [roof.key for roof in roofs if roof.is_memory]

    assert memory(result, "l1") == ["dram"]
    measured = replace(result, measurement=replace(result.measurement, l1_bytes=1e9))
    assert memory(measured) == ["dram"]
    assert memory(measured, "l1") == ["dram", "l1"]


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


def test_kernels_of_one_grid_are_told_apart_by_their_files():
    two = [replace(k, measurement=replace(k.measurement, source=f"runs/gemm_{name}.ncu-rep"))
           for name in ("before", "after") for k in [kernel("k")]]  # fmt: skip

    assert {m.detail for m in only_panel(*two).marks} == {" gemm_before", " gemm_after"}


@pytest.mark.parametrize(
    ("count", "device_count", "views", "top"),
    [(1, 1, ("roofline", "units"), 30), (30, 1, ("roofline", "units"), 30),
     (31, 1, ("roofline", "units"), 20), (4, 2, ("roofline", "units"), 30),
     (4, 3, ("units",), 30)],
)  # fmt: skip
def test_views_suit_the_number_of_kernels_and_devices(count, device_count, views, top):
    devices = [Device(name=f"GPU {i % device_count}") for i in range(count)]
    scene = compose(
        analysis(*(kernel(f"k{i}", device=d) for i, d in enumerate(devices))), Options()
    )

    assert (scene.views, scene.top) == (views, top)


def test_ranks_count_over_all_devices():
    other = Device(name="NVIDIA Other")
    scene = compose(
        analysis(kernel("a"), kernel("b", device=other, duration_s=2e-3), kernel("c")), Options()
    )

    assert [m.result.measurement.name for m in scene.marks] == ["b", "a", "c"]
    assert [m.rank for m in scene.marks] == [1, 2, 3]


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


def test_the_title_is_the_claim():
    def title(*results: Result) -> str:
        return compose(analysis(*results), Options()).title

    assert title(kernel("a")) == "a is bandwidth-bound: DRAM 90 %"
    assert title(kernel("a", Bound.LATENCY)) == "a is latency-bound: grid too small"
    assert title(kernel("a", Bound.UNKNOWN)) == "a: what limits it is not known"
    # 3 ms of 4 ms are compute.
    two = kernel("a", Bound.COMPUTE, duration_s=3e-3), kernel("b")
    assert title(*two) == "What limits 2 kernels: compute 75.0 % of the time, bandwidth 25.0 %"
    # Each is all of its own GPU, and there is no whole but their times.
    elsewhere = kernel("b", device=Device(name="NVIDIA Other", sm_count=8))
    apart = analysis(kernel("a", Bound.COMPUTE, duration_s=3e-3), elsewhere)
    apart = replace(apart, groups=tuple(replace(g, share=1.0) for g in apart.groups))
    said = compose(apart, Options()).title
    assert said == "What limits 2 kernels: compute 75.0 % of their time, bandwidth 25.0 %"


def test_without_operations_there_are_units_alone():
    assert compose(analysis(kernel("a", operations={})), Options()).views == ("units",)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"theme": "zzz"}, "no theme is called 'zzz'\n  try: one of: light, dark, paper"),
        ({"views": ("zzz",)}, "no view is called 'zzz'\n  try: one of: roofline, units, gain"),
        ({"levels": ("l9",)}, "no level is called 'l9'\n  try: one of: l2, l1"),
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
        kernel("k", operations={"tensor_fp4": 300e9, "fp32": 20e9}, dram_bytes=1e9, peaks=peaks),
        datasheet=False,
    )
    planned = roofline.lay_out(panel, 900, 470, Ruler(), 30)

    assert planned is not None
    heights = [line.end[1] for line in planned.lines if not line.roof.is_memory]
    assert len(heights) == 2
    assert all(planned.scale.area.y0 < y < planned.scale.area.y1 for y in heights)
    assert len([x for x in planned.roof_labels if "FP32" in x.text]) == 1


def test_levels_keep_their_order_and_are_absent_where_not_measured():
    m = measurement(dram_bytes=1e8, l2_bytes=4e8, l1_bytes=9e8, operations={"fp32": 9e8})

    # 9e8 operations over 1e8, 4e8 and 9e8 bytes
    found = [level_intensity(m, level) for level in ("dram", "l2", "l1")]
    assert found == pytest.approx([9.0, 2.25, 1.0])
    assert level_intensity(replace(m, l2_bytes=None), "l2") is None
