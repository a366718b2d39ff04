"""Recordings that are odd in a way that once gave a wrong answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from roofline.errors import InputError, UsageError
from roofline.render.selection import head
from roofline.text.notes import note_text
from roofline.timeline import load_timeline, select
from roofline.timeline.model import Criteria, First, Selection
from tests.timeline.made import (
    CALLS,
    KERNELS,
    NVTX,
    Export,
    kernel,
    launched,
    step,
    trace,
    used,
    write,
)


def chosen(folder: Path, *events: Any, name: str | None = None, **criteria: Any) -> Selection:
    timeline = load_timeline(write(folder, trace(*events)), step=name)
    return select(timeline, Criteria(**criteria))


def said(selection: Selection, code: str) -> str:
    """The sentence of the only note of that code; none is ""."""
    found = [n for n in selection.notes if n.code == code]
    assert len(found) <= 1
    return note_text(found[0]) if found else ""


# --- time between ranges


def iterations(period: int = 1000, pauses: dict[int, int] | None = None) -> list[Any]:
    """Five ranges of 90 us, each of which launches four kernels of 100 us."""
    events: list[Any] = []
    at = 0
    for i in range(5):
        events.append(step(i, at, 90, "execute_context_{}"))
        for j, offset in enumerate((100, 250, 400, 550)):
            events += launched(10 * i + j + 1, "gemm", at + offset, 100, asked=at + 10 + j)
        at += period + (pauses or {}).get(i, 0)
    return events


def test_a_step_goes_from_range_to_range(tmp_path: Path) -> None:
    selection = chosen(tmp_path, *iterations(), name="execute_")
    device = selection.selected
    assert [round(s.wall_s * 1e6) for s in device.steps] == [1000] * 4 + [650]
    assert used(selection).kernel_share == pytest.approx(0.4)
    assert device.first is First.GAPS
    assert next(head(selection)).startswith("Gaps come first")
    # Work ends 650 us after a range begins, and the next one begins at 1000.
    assert said(selection, "outside_ranges").startswith(
        "35 % of the time lies outside of the range"
    )


def test_ranges_of_nsight_systems_are_steps_too(tmp_path: Path) -> None:
    made = Export(tmp_path / "report.sqlite", KERNELS, CALLS, NVTX)
    for i in range(5):
        at = 1_000_000 * i
        made.range(f"execute_context_{i}", at, at + 90_000)
        for j, offset in enumerate((100, 250, 400, 550)):
            number = 10 * i + j + 1
            made.call("cudaLaunchKernel", at + 1000 * (10 + j), at + 1000 * (11 + j), number)
            begin = at + 1000 * offset
            made.kernel("gemm", begin, begin + 100_000, correlation=number)
    selection = select(load_timeline(made.done(), step="execute_"))
    assert used(selection).wall_s == pytest.approx(3e-3)
    assert said(selection, "outside_ranges").startswith("35 %")


def test_without_launches_too(tmp_path: Path) -> None:
    events = [e for e in iterations() if e["cat"] != "cuda_runtime"]
    for event in events:
        event["args"].pop("correlation", None)
    selection = chosen(tmp_path, *events, name="execute_")
    assert used(selection).wall_s == pytest.approx(3e-3)
    assert used(selection).kernel_share == pytest.approx(0.4)
    assert said(selection, "outside_ranges").startswith("35 %")


def test_what_is_launched_between_ranges_belongs_to_the_step_before(tmp_path: Path) -> None:
    events = iterations()
    for i in range(5):
        events += launched(100 + i, "update", 1000 * i + 800, 100, asked=1000 * i + 700)
    selection = chosen(tmp_path, *events, name="execute_")
    update = next(k for k in selection.kernels if k.name == "update")
    assert update.instances_per_step == 1
    assert used(selection).kernel_share == pytest.approx(0.5)
    # It is not of the range, so the time outside is as long as before.
    assert said(selection, "outside_ranges").startswith("35 %")


def test_ncu_cannot_find_in_a_range_what_is_launched_after_it(tmp_path: Path) -> None:
    made = Export(tmp_path / "report.sqlite", KERNELS, CALLS, NVTX)
    for i in range(5):
        at = 1_000_000 * i
        made.range(f"step {i}", at, at + 90_000)
        for j, (name, asked) in enumerate((("inside", 10), ("after", 200))):
            number, begin = 10 * i + j + 1, at + 1000 * (asked + 5)
            made.call("cudaLaunchKernel", begin - 5000, begin - 4000, number)
            made.kernel(name, begin, begin + 100_000, correlation=number)
    requests = select(load_timeline(made.done(), step="step")).requests
    assert [(r.names, r.nvtx) for r in requests] == [
        (("inside",), "step 2"),
        (("after",), None),
    ]


def test_one_long_pause_belongs_to_no_step_and_is_said(tmp_path: Path) -> None:
    selection = chosen(tmp_path, *iterations(pauses={2: 9000}), name="execute_")
    assert used(selection).wall_s == pytest.approx(2e-3 + 650e-6)
    # Of 3 x 1000 us and the pause of 9000: 350 in each step and the pause.
    share = (3 * 350 + 9000) / 12_000
    pause = 9350 / 12_000
    sentence = said(selection, "pauses")
    assert sentence.startswith(f"{share:.0%}".replace("%", " %"))
    assert f"{pause:.0%}".replace("%", " %") in sentence


def test_adjoining_steps_need_no_word(tmp_path: Path) -> None:
    events = [step(i, 100 * i, 99) for i in range(5)]
    events += [e for i in range(5) for e in launched(i + 1, "a", 100 * i + 10, 80)]
    selection = chosen(tmp_path, *events)
    assert not said(selection, "outside_ranges") + said(selection, "pauses")


# --- times that cannot be


@pytest.mark.parametrize("odd", [0.0, 5.0, 3.2e15])
def test_times_far_from_all_others_are_left_out_and_counted(tmp_path: Path, odd: float) -> None:
    base = 1.6e15
    events = [kernel("gemm", base + 100 * i, 90) for i in range(20)]
    events += [kernel("gemm", odd, 0), kernel("gemm", odd, 0)]
    selection = chosen(tmp_path, *events)
    assert used(selection).wall_s == pytest.approx(1990e-6)
    assert selection.kernels[0].instances == 20
    assert selection.selected.gaps[0].start_s < 1
    assert said(selection, "no_valid_time").startswith("2 of 22 GPU events have no valid time")


def test_times_that_were_not_known_are_left_out_of_short_recordings_too(tmp_path: Path) -> None:
    made = Export(tmp_path / "report.sqlite", KERNELS)
    for i in range(3):
        made.kernel("gemm", 2 * 10**9 + 1000 * i, 2 * 10**9 + 1000 * i + 900)
    made.kernel("gemm", 0, 0)
    selection = select(load_timeline(made.done()))
    assert used(selection).wall_s == pytest.approx(2.9e-6)
    assert "1 of 4" in said(selection, "no_valid_time")


def test_a_gpu_trace_in_csv_is_held_to_the_same(tmp_path: Path) -> None:
    lines = ["Start (ns),Duration (ns),GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Strm,Name"]
    lines += [f"{10**15 + 1000 * i},900,1,1,1,32,1,1,7,gemm" for i in range(3)]
    lines += ["0,0,1,1,1,32,1,1,7,gemm"]
    selection = select(load_timeline(write(tmp_path, "\n".join(lines).encode(), "trace.csv")))
    assert used(selection).wall_s == pytest.approx(2.9e-6)
    assert "1 of 4" in said(selection, "no_valid_time")


def test_a_trace_may_begin_at_0(tmp_path: Path) -> None:
    events = [kernel("gemm", 100 * i, 90) for i in range(20)]
    selection = chosen(tmp_path, *events, kernel("short", 0, 0, stream=8))
    assert used(selection).wall_s == pytest.approx(1990e-6)
    assert not said(selection, "no_valid_time")


# --- work of one stream at once


def repeated(lasted: dict[int, float], *, stream: int = 7, period: int = 150) -> list[Any]:
    """20 kernels of 100 us, but for those that ``lasted`` otherwise."""
    made = [
        launched(
            i + 1, "gemm", 300 + period * i, lasted.get(i, 100), asked=5 * i + 1, stream=stream
        )
        for i in range(20)
    ]
    return [e for pair in made for e in pair]


def test_records_of_one_stream_that_overlap_are_marked(tmp_path: Path) -> None:
    selection = chosen(tmp_path, *repeated({0: 5000}))
    sentence = said(selection, "stream_overlap")
    assert sentence.startswith("19 records of one stream overlap by more than launches can")
    assert "4.85 ms" in sentence


@pytest.mark.parametrize("events", [repeated({}), repeated({3: 160})])
def test_dependent_launches_may_overlap(tmp_path: Path, events: list[Any]) -> None:
    assert not said(chosen(tmp_path, *events), "stream_overlap")


def test_streams_may_overlap(tmp_path: Path) -> None:
    events = [*repeated({0: 3000}, stream=7)[:2], *repeated({}, stream=8)[2:]]
    assert not said(chosen(tmp_path, *events), "stream_overlap")


def test_kernels_of_one_graph_may_overlap(tmp_path: Path) -> None:
    events = repeated({0: 3000})
    graph = [e for e in events if e["cat"] == "kernel"]
    for event in graph:
        event["args"]["correlation"] = 1
    assert not said(chosen(tmp_path, events[0], *graph), "stream_overlap")


# --- what a newer Nsight Systems might write


def test_a_table_of_ranges_under_a_new_name_is_named(tmp_path: Path) -> None:
    made = Export(tmp_path / "report.sqlite", KERNELS, NVTX.replace("EVENTS", "EVENTS_V2"))
    made.kernel("gemm", 10, 40)
    path = made.done()
    with pytest.raises(UsageError) as refused:
        load_timeline(path, step="train")
    assert "NVTX_EVENTS_V2" in (refused.value.why or "")
    assert "NVTX_EVENTS_V2" in said(select(load_timeline(path)), "unknown_tables")


def test_a_table_of_kernels_under_a_new_name_is_named(tmp_path: Path) -> None:
    new = "CUPTI_ACTIVITY_KIND_KERNEL_V3"
    table = KERNELS.replace("CUPTI_ACTIVITY_KIND_KERNEL", new)
    with pytest.raises(InputError, match="holds no kernels") as refused:
        load_timeline(Export(tmp_path / "report.sqlite", table).done())
    assert new in (refused.value.why or "")


def test_tables_of_codes_are_none(tmp_path: Path) -> None:
    code = "CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INTEGER, name TEXT)"
    made = Export(tmp_path / "report.sqlite", KERNELS, code)
    made.kernel("gemm", 10, 40)
    assert not said(select(load_timeline(made.done())), "unknown_tables")


# --- JSON that cannot be used

_ONE = '{"ph":"X","cat":"kernel","name":"%s","pid":0,"tid":7,"ts":%s,"dur":9,"args":%s}'
_DEEP = '{"a":' * 100_000 + "1" + "}" * 100_000


@pytest.mark.parametrize(
    "events",
    [
        f"[{_ONE % ('k', 1, _DEEP)}]",
        f"[{_ONE % ('k', '9' * 6000, '{}')}]",
        f'[],"traceEvents":[{_ONE % ("k", 1, "{}")}]',
    ],
    ids=["nested", "digits", "twice"],
)
def test_events_that_cannot_be_read_are_not_called_absent(tmp_path: Path, events: str) -> None:
    with pytest.raises(InputError, match="holds no kernels") as refused:
        load_timeline(write(tmp_path, f'{{"traceEvents":{events}}}'.encode()))
    assert "none of its events can be read" in (refused.value.why or "")


def test_a_second_list_of_events_is_told(tmp_path: Path) -> None:
    one, two = (f"[{_ONE % (name, 1, '{}')}]" for name in ("first", "second"))
    content = f'{{"traceEvents":{one},"traceEvents":{two}}}'.encode()
    selection = select(load_timeline(write(tmp_path, content)))
    assert said(selection, "damaged") == "1 event is left out: not valid JSON, or in a second list."


# --- JAX


@pytest.mark.parametrize("process", ["/device:GPU:0", "/host:CPU"])
def test_jax_without_kernels_gets_the_remedy_of_jax(tmp_path: Path, process: str) -> None:
    events = [
        {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": process}},
        {
            "ph": "X",
            "name": "fusion",
            "pid": 1,
            "tid": 2,
            "ts": 1,
            "dur": 4,
            "args": {"hlo_op": "a"},
        },
        {"ph": "X", "name": "cuLaunchKernel", "pid": 1, "tid": 3, "ts": 0, "dur": 1}
        | {"args": {"correlation_id": 5}},
    ]
    content = {"displayTimeUnit": "ns", "traceEvents": events}
    with pytest.raises(InputError, match="holds no kernels") as refused:
        load_timeline(write(tmp_path, json.dumps(content).encode()))
    assert "kernel_details" in (refused.value.why or "")
    assert "jax.profiler.trace" in (refused.value.hint or "")
    assert "ProfilerActivity" not in (refused.value.hint or "")


# --- CSV of other locales


@pytest.mark.parametrize(
    ("separator", "total"),
    [
        (";", "1234567"),
        (";", "1.234.567"),
        (";", "1234567,0"),
        (";", "1 234 567"),
        ("\t", "1234567"),
    ],
)
def test_a_summary_of_another_locale(tmp_path: Path, separator: str, total: str) -> None:
    rows = [
        ("Time (%)", "Total Time (ns)", "Instances", "Avg (ns)", "Name"),
        ("75,5", total, "1.000", "1234,5", '"void gemm<1, 2>(int, float)"'),
        ("24,5", "400000", "10", "1234,5", "softmax"),
    ]
    text = "\r\n".join(separator.join(row) for row in rows)
    found = load_timeline(write(tmp_path, text.encode("utf-8-sig"), "stats.csv"))
    assert [t.total_ns for t in found.totals] == [1234567, 400000]
    assert found.totals[0].instances == 1000
    assert found.totals[0].identity.name == "void gemm<1, 2>(int, float)"


def test_a_gpu_trace_of_another_locale(tmp_path: Path) -> None:
    lines = ["Start (us);Duration (us);GrdX;GrdY;GrdZ;BlkX;BlkY;BlkZ;Strm;Name"]
    lines += ["10,5;2,25;8;1;1;32;1;1;7;gemm", "1.020,5;2,25;8;1;1;32;1;1;7;gemm"]
    events = load_timeline(write(tmp_path, "\n".join(lines).encode(), "trace.csv")).events
    assert events.start.tolist() == [10_500, 1_020_500]
    assert events.end.tolist() == [12_750, 1_022_750]
