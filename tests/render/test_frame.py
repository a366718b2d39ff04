from __future__ import annotations

import sys

import pandas as pd
import pytest

import roofline
from roofline.errors import UsageError
from roofline.render.flat import columns, to_frame, write_parquet
from roofline.view import Choice, choose
from tests.makers import analysis, measurement, result


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
