"""Numbers that no GPU has and files that no profiler wrote: an answer or one message, in time."""

from __future__ import annotations

import json
import shutil
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from roofline.analysis import analyze
from sample_reports.writer import Metric
from tests import strange
from tests.e2e.running import SAMPLE, run
from tests.e2e.test_hostile_text import nsys
from tests.shared import remembering

_PERCENT = ".avg.pct_of_peak_sustained_elapsed"
METRICS = (
    "gpu__time_duration.sum",
    "dram__bytes_read.sum",
    f"gpu__dram_throughput{_PERCENT}",
    f"sm__throughput{_PERCENT}",
    "sm__cycles_elapsed.avg.per_second",
    "dram__cycles_elapsed.avg.per_second",
    "launch__waves_per_multiprocessor",
    "launch__registers_per_thread",
    "device__attribute_global_memory_bus_width",
    "device__attribute_max_mem_frequency_khz",
    "device__attribute_multiprocessor_count",
    "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum.per_cycle_elapsed",
    "smsp__cycles_elapsed.avg",
)
VALUES = (1e300, 1e308, 1e6, 0.0, 5e-324, -1.0, -1e300, 2**64 - 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Two reports of extremes, each analysed once: the tests are about what is said of them."""
    made = tmp_path_factory.mktemp("extremes")
    extremes(made / "a.ncu-rep")
    extremes(made / "b.ncu-rep", 0.5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("roofline.analysis.analyze", remembering(analyze))
        yield made


def extremes(path: Path, factor: float = 1.0) -> Path:
    """A launch for each metric with each value."""
    launches = [
        strange.launch(f"k{m}_{v}", metrics={metric: value * factor if v < 3 else value})
        for m, metric in enumerate(METRICS)
        for v, value in enumerate(VALUES)
    ]
    path.write_bytes(strange.report(*launches))
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("analyze", "--top", 200),
        ("analyze", "--launches", "--format", "markdown"),
        ("analyze", "--json"),
        ("analyze", "--format", "csv"),
        ("plot", "-f", "-o", "p.svg"),
        ("plot", "-f", "-o", "p.html"),
        ("compare", "b.ncu-rep", "--fail-on", "regression=5%"),
        ("compare", "b.ncu-rep", "--json"),
    ],
    ids=str,
)
def test_numbers_of_any_size(words: tuple[Any, ...], folder: Path, monkeypatch: Any):
    monkeypatch.chdir(folder)
    began = time.process_time()
    done = run(words[0], "a.ncu-rep", *words[1:])

    assert done.exit_code in (0, 1), done.stderr
    assert time.process_time() - began < 30
    if "--json" in words:
        json.loads(done.stdout, parse_constant=lambda name: pytest.fail(name))
    if "p.svg" in words:
        ET.parse("p.svg")


@pytest.mark.parametrize("rank", [1, 40, 80])
def test_extremes_explained(rank: int, folder: Path):
    done = run("analyze", folder / "a.ncu-rep", "--explain", rank)
    assert done.exit_code == 0, done.stderr


def test_instances_of_what_is_no_address(tmp_path: Path):
    keys = ("²", "9" * 5000, "main", "-1", 1.5, 2**64 - 1)
    names = ("smsp__pcsamp_sample_count", "inst_executed", "launch__occupancy_per_block_size")
    names += ("memory_l2_theoretical_sectors_global", "memory_l2_theoretical_sectors_global_ideal")
    odd = Metric(value=1e6, instances=tuple((key, 1e4) for key in keys * 40))
    path = tmp_path / "a.ncu-rep"
    path.write_bytes(strange.report(strange.launch(metrics=dict.fromkeys(names, odd))))

    done = run("analyze", path, "--explain", 1)
    assert done.exit_code == 0, done.stderr


@pytest.mark.parametrize(
    "gate", ["time>1e999us", "dram>1e400%", "regression=1e999%", "gemm: bytes>1e309B", "time<0us"]
)
def test_a_gate_that_cannot_fail_is_refused(gate: str):
    done = run("compare", SAMPLE, SAMPLE, "--fail-on", gate)

    assert done.exit_code == 2
    assert "can never fail" in done.stderr


@pytest.mark.parametrize("value", ["9" * 5000, "1e400", "-1"])
def test_times_that_are_none(value: str):
    assert run("select", SAMPLE, f"--start={value}s").exit_code == 2


@pytest.mark.parametrize("value", ["nan", "inf", "1e400", "-5", "1e300", "9" * 400, ""])
def test_numbers_of_csv(value: str, tmp_path: Path):
    path = tmp_path / "a.csv"
    path.write_text(
        "Time (%),Total Time (ns),Instances,Avg (ns),Name\n50,1000,10,100,k\n"
        f"50,{value},10,100,k2\n50,100,{value},100,k3\n"
    )
    assert run("select", path).exit_code == 0
    path.write_text(
        "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Device,Strm,Name\n"
        f"1000,50,1,1,1,1,32,1,1,A (0),7,k\n{value},50,1,1,1,1,32,1,1,A ({value}),7,k\n"
        f"2000,{value},1,1,1,1,32,1,1,A (0),7,k\n3000,5,1,{value},1,1,32,1,1,A (0),7,k\n"
    )
    assert run("select", path).exit_code == 0


VALUES_OF_COLUMNS = (b"\xff\x00", "text", 1.5e300, -(2**63), 2**63 - 1, None)


@pytest.mark.parametrize("value", VALUES_OF_COLUMNS, ids=repr)
@pytest.mark.parametrize("table", ["CUPTI_ACTIVITY_KIND_KERNEL", "NVTX_EVENTS", "TARGET_INFO_GPU"])
def test_columns_of_any_type(table: str, value: Any, tmp_path: Path):
    whole = nsys(tmp_path / "whole.sqlite")
    with sqlite3.connect(whole) as db:
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
    for column in columns:
        path = tmp_path / "a.sqlite"
        shutil.copy(whole, path)
        with sqlite3.connect(path) as db:
            db.execute(f"UPDATE {table} SET {column} = ? WHERE rowid IN (1, 3)", (value,))
        done = run("select", path, "--step", "s")
        assert done.exit_code in (0, 2, 3), (column, done.stderr)


def test_views_are_no_tables(tmp_path: Path):
    path = nsys(tmp_path / "a.sqlite")
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
    with sqlite3.connect(path) as db:
        db.execute("DROP TABLE NVTX_EVENTS")
        columns = (
            "x AS start, x AS end, 59 AS eventType, x AS globalTid, 'a' AS text, 0 AS domainId"
        )
        db.execute(f"CREATE VIEW NVTX_EVENTS AS {endless} SELECT {columns} FROM c")
    done = run("select", path, "--step", "a")
    assert done.exit_code == 2
    assert "no named ranges" in done.stderr


def test_tables_that_take_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("roofline.timeline.nsys.SQL_S", -1.0)
    path = nsys(tmp_path / "a.sqlite")
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE t AS SELECT a.* FROM NVTX_EVENTS a, NVTX_EVENTS, NVTX_EVENTS")
        db.execute("DROP TABLE NVTX_EVENTS")
        db.execute("ALTER TABLE t RENAME TO NVTX_EVENTS")
    done = run("select", path, "--step", "a")
    assert done.exit_code == 3
    assert "its tables took more than" in done.stderr


def test_row_numbers_that_no_export_has(tmp_path: Path):
    path = nsys(tmp_path / "a.sqlite")
    with sqlite3.connect(path) as db:
        db.execute("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET rowid = 1 << 62 WHERE rowid = 3")
    done = run("select", path)
    assert done.exit_code == 3
    assert "rows have numbers that no export gives them" in done.stderr


@pytest.mark.parametrize("pattern", ["(" * 100_000, "[" * 5000, "a{99999999999999}", "a(?i)"])
def test_expressions_that_are_none(pattern: str):
    done = run("analyze", SAMPLE, "-k", pattern)
    assert done.exit_code == 2
    assert "not a regular expression" in done.stderr
