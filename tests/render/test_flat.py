from __future__ import annotations

import csv
import io
import json
import math
import sys
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import roofline
from roofline.errors import UsageError
from roofline.model import Action, Bound, Missing, Note, Stall
from roofline.render import comparison_json, selection_json
from roofline.render.flat import columns, to_csv, to_frame, write_parquet
from roofline.view import Choice, choose
from tests.makers import analysis, measurement, result, unit, verdict

SAMPLES = Path(__file__).parents[2] / "sample_reports"
STEP = SAMPLES / "h100_step.trace.json.gz"
DECODE = [SAMPLES / f"h100_decode_{side}.ncu-rep" for side in ("before", "after")]


def parsed(view, *, launches: bool = False) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(to_csv(view, launches=launches))))


def test_a_kernel_is_a_row_with_si_values():
    (row,) = parsed(
        analysis(
            result(
                measurement(
                    "k",
                    source="/home/someone/toy.ncu-rep",
                    stalls=(Stall(reason="barrier", share=0.5),),
                    notes=(Note(code="counters_nan"),),
                    missing=(Missing(quantity="waves", flag="--section X"),),
                )
            )
        )
    )

    assert row["source"] == "toy.ncu-rep"
    assert row["launches"] == "1"
    assert float(row["total_s"]) == 1e-3
    assert float(row["dram_bytes"]) == 0.9e9
    assert float(row["utilization_dram_percent"]) == 90.0
    assert row["utilization_fp64_percent"] == ""
    assert float(row["operations_fp32"]) == 75e6
    assert row["operations_fp64"] == ""
    assert (row["grid_x"], row["grid_y"], row["block_x"]) == ("100", "1", "256")
    assert row["co_limited"] == "false"
    assert (row["stall_1"], row["stall_1_share"], row["stall_2"]) == ("barrier", "0.5", "")
    assert float(row["peak_report_dram_bytes_per_s"]) == 1e12
    assert float(row["peak_report_dominant_operations_per_s"]) == 10e12
    assert row["peak_datasheet_dram_bytes_per_s"] == ""
    assert (row["notes"], row["missing"]) == ("counters_nan", "waves")


def test_launches_come_in_the_order_asked_for():
    both = analysis(result(measurement("a")), result(measurement("b", duration_s=9e-3)))

    rows = parsed(choose(both, Choice(launches=True)), launches=True)

    assert [r["name"] for r in rows] == ["b", "a"]
    assert [float(r["share"]) for r in rows] == pytest.approx([0.9, 0.1])
    assert "total_s" not in rows[0]


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "=HYPERLINK(1)\nx"])
def test_nothing_is_a_formula(name):
    (row,) = parsed(analysis(result(measurement(name))))

    assert row["name"] == "'" + name.replace("\n", " ")


def test_nan_is_an_empty_cell_and_over_100_stays():
    strange = measurement(waves=math.nan, units=(unit("dram", 123.0),))

    (row,) = parsed(analysis(result(strange)))

    assert row["waves"] == ""
    assert row["utilization_dram_percent"] == "123.0"


@given(st.text(), st.text())
def test_any_text_is_one_row(name, cause):
    waits = verdict(bound=Bound.LATENCY, limiter=None, cause=cause)
    (row,) = parsed(analysis(result(measurement(name), waits)))

    assert row["bound"] == "latency"
    assert "\n" not in row["name"] + row["hint"]


def test_names_of_columns_are_one_of_a_kind():
    for launches in (False, True):
        names = [column.name for column in columns(launches=launches)]
        assert len(names) == len(set(names))


# --- data frames ------------------------------------------------------------------------------


def two():
    return analysis(
        result(measurement("a", dram_bytes=None)), result(measurement("b", duration_s=3e-3))
    )


def test_rows_are_results_position_by_position():
    frame = to_frame(two())

    assert list(frame["name"]) == ["a", "b"]
    assert frame["duration_s"].sum() == pytest.approx(4e-3)
    assert pd.isna(frame["dram_bytes"][0])
    assert frame["dram_bytes"][1] == 0.9e9
    assert pd.isna(frame["grid_x"].astype("Int64")).sum() == 0
    assert list(frame.columns) == [column.name for column in columns(launches=True)]


def test_it_is_part_of_the_public_names():
    assert roofline.to_frame is to_frame


def test_kernels_and_choices():
    frame = to_frame(choose(two(), Choice(top=1)), launches=False)

    assert list(frame["name"]) == ["b"]
    assert frame["share"][0] == pytest.approx(0.75)
    assert frame["launches"][0] == 1


def test_the_short_frame_has_the_numbers_of_the_table():
    one = result(measurement("k"), verdict(gain=2.0, cause="bank_conflicts"))
    frame = to_frame(analysis(one), launches=False, short=True)
    (row,) = frame.to_dict("records")

    assert len(frame.columns) == 15
    assert (row["name"], row["launches"], row["share"]) == ("k", 1, 1.0)
    assert (row["total_s"], row["saved_s"]) == (1e-3, 0.5e-3)  # half of it, as the gain is 2
    assert (row["bound"], row["limiter"], row["limiter_percent"]) == ("bandwidth", "dram", 90.0)
    assert row["arithmetic_intensity"] == pytest.approx(75e6 / 0.9e9)
    assert list(to_frame(analysis(one, one), short=True)["duration_s"]) == [1e-3, 1e-3]


@pytest.mark.parametrize("launches", [False, True])
def test_the_short_frame_is_a_part_of_the_whole_one(launches):
    view = analysis(result(measurement("k"), verdict(gain=2.0, action=Action.LEAVE)))
    whole, short = (to_frame(view, launches=launches, short=s) for s in (False, True))

    pd.testing.assert_frame_equal(whole[list(short.columns)], short)
    assert (whole["action"][0], whole["gain"][0]) == ("leave", 2.0)
    assert pd.isna(whole["saved_s"][0])  # a gain is a bound, and nothing that is worth the work


def test_a_kernel_and_a_launch_are_a_row():
    view = roofline.analyze(SAMPLES / "h100_mix.ncu-rep")
    whole = to_frame(view, launches=False)
    norm = whole["name"] == "rmsnorm_fwd"

    pd.testing.assert_frame_equal(to_frame(view["norm"]), whole[norm].reset_index(drop=True))
    assert to_frame(view["norm"])["launches"][0] == 2
    (launch,) = to_frame(view.results[0]).to_dict("records")
    assert launch["duration_s"] == view.results[0].measurement.duration_s


def test_the_rows_of_a_comparison_are_its_pairs():
    old, new = (analysis(result(measurement("k", duration_s=s))) for s in (4e-3, 1e-3))
    frame = to_frame(roofline.compare(old, new))
    (row,) = frame.to_dict("records")

    assert (row["before_name"], row["after_name"], row["outcome"]) == ("k", "k", "faster")
    assert (row["before_duration_s"], row["after_duration_s"]) == (4e-3, 1e-3)
    assert row["timing_speedup"] == pytest.approx(4.0)
    assert row["before_limiter"] == "dram"
    assert pd.isna(row["step_share"])
    unknown = analysis(result(measurement("k", duration_s=None)))
    assert to_frame(roofline.compare(old, unknown)).dtypes.equals(frame.dtypes)


def test_a_frame_tells_how_predictions_came_out():
    old, new = (analysis(result(measurement("k", duration_s=s))) for s in (4e-3, 1e-3))
    frame = to_frame(roofline.compare(old, new, expect={"k": 2}, because={"k": "l2"}))

    assert (frame["stated"][0], frame["judgement"][0]) == ("k=2x; k=l2", "exceeded; refuted")
    assert pd.isna(to_frame(roofline.compare(old, new))["judgement"][0])


def test_several_kernels_or_launches_are_rows():
    view = roofline.analyze(SAMPLES / "h100_mix.ncu-rep")
    kernels, launches = to_frame(view, launches=False), to_frame(view)

    assert list(to_frame(view[:2])["total_s"]) == [g.total_s for g in view.groups[:2]]
    pd.testing.assert_frame_equal(to_frame(list(view)), kernels)
    pd.testing.assert_frame_equal(
        to_frame(view.results).drop(columns="share"), launches.drop(columns="share")
    )
    for mixed in ([view[0], view.results[0]], []):
        with pytest.raises(roofline.ArgumentError, match="view is"):
            to_frame(mixed)


def test_a_text_that_says_nothing_is_missing():
    row = to_frame(analysis(result(measurement("k"))))

    for name in ("notes", "missing", "action_reason", "nvtx"):
        assert pd.isna(row[name][0]), name


def test_the_rows_of_a_selection_are_kernels():
    found = roofline.select(STEP)
    frame = to_frame(found)

    assert list(frame["name"][frame["chosen"]]) == [k.name for k in found.chosen]
    assert frame["total_s"].sum() == pytest.approx(
        sum(k.total_s for k in (*found.kernels, *found.selected.apart))
    )
    assert set(frame["apart"].dropna()) == {"communication", "copy"}
    assert (frame["speedup_at_most_low"] <= frame["speedup_at_most_high"]).all()


def test_keys_of_the_json_are_the_names_of_columns():
    comparison = json.loads(comparison_json.render(roofline.compare(*DECODE)))
    pairs = set(pd.json_normalize(comparison["pairs"], sep="_")) | {"step_share", "step_gain"}
    own = {"cause_unit", "cause_factor", "before_total_operations", "after_total_operations"}
    own |= {"stated", "judgement"}  # of the JSON's predictions
    assert set(to_frame(roofline.compare(*DECODE))) - own <= pairs
    kernels = json.loads(selection_json.render(roofline.select(STEP)))["devices"][0]["kernels"]
    axes = {f"{name}_{axis}" for name in ("grid", "block") for axis in "xyz"}
    bounds = {"speedup_at_most_low", "speedup_at_most_high"}
    assert set(to_frame(roofline.select(STEP))) - axes - bounds - {"device"} <= set(kernels[0])


def test_something_else_has_no_frame():
    with pytest.raises(roofline.ArgumentError, match=r"view is 'a\.ncu-rep'.*\n.*analyze"):
        to_frame("a.ncu-rep")


def test_what_was_not_measured_is_missing_from_the_short_frame():
    bare = result(measurement("k", duration_s=None, dram_bytes=None, operations={}))
    (row,) = to_frame(analysis(bare), short=True).to_dict("records")

    assert all(
        pd.isna(row[name])
        for name in ("duration_s", "saved_s", "arithmetic_intensity", "dram_bytes_per_s")
    )


def test_types_do_not_depend_on_what_was_measured():
    bare = measurement(grid=None, block=None, process=None, waves=None, operations={})

    some, none = to_frame(two()), to_frame(analysis(result(bare)))

    assert some.dtypes.equals(none.dtypes)


def test_parquet_holds_the_same(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "a.parquet"

    write_parquet(two(), path, launches=True)

    pd.testing.assert_frame_equal(pd.read_parquet(path), to_frame(two()))


def test_without_pandas_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)

    with pytest.raises(UsageError, match="data frames need pandas") as raised:
        to_frame(two())
    assert "pip install pandas" in str(raised.value)
