from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import pytest

from roofline.errors import InputError
from roofline.text.notes import note_text
from roofline.timeline import select
from roofline.timeline.chrome_scan import decode_leniently
from roofline.timeline.events import Timeline, Work
from roofline.timeline.load import load_timeline
from tests.timeline.made import PID, call, copy, kernel, launched, step, trace, used, write


def read(folder: Path, *events: Any, name: str = "trace.json", **keys: Any) -> Timeline:
    return load_timeline(write(folder, trace(*events, **keys), name))


def test_times_are_whole_nanoseconds(tmp_path: Path):
    timeline = read(tmp_path, kernel("k", 1.125, 2.5))

    assert timeline.events.start.tolist() == [1125]
    assert timeline.events.end.tolist() == [3625]


def test_a_time_since_1970_keeps_its_microseconds(tmp_path: Path):
    # As a float in ns this would be wrong by up to 128 ns.
    timeline = read(tmp_path, kernel("k", 1669783687389324, 3))

    assert timeline.events.start.tolist() == [1669783687389324000]


def test_a_launch_is_joined_by_correlation(tmp_path: Path):
    timeline = read(tmp_path, launched(5, "k", 10, 4, asked=3))

    assert timeline.events.launch.tolist() == [3000]
    assert timeline.events.process.tolist() == [0]
    assert not timeline.notes


def test_of_two_calls_with_one_correlation_the_first_counts(tmp_path: Path):
    calls = [call("cuLaunchKernel", 4, 1, 5), call("cudaLaunchKernel", 3, 3, 5)]
    timeline = read(tmp_path, *calls, kernel("k", 10, 4, launch=5))

    assert timeline.events.launch.tolist() == [3000]


def test_a_missing_launch_record_is_said(tmp_path: Path):
    timeline = read(tmp_path, launched(1, "k", 10, 4), kernel("k", 20, 4, launch=99))

    assert timeline.events.launch.tolist() == [8000, -1]
    assert [n.code for n in timeline.notes] == ["no_launch_record"]
    assert note_text(timeline.notes[0]).startswith("1 of 2 GPU events")


def test_the_spelling_of_2021(tmp_path: Path):
    old = kernel("k", 10, 4) | {"cat": "Kernel", "tid": "stream 7"}
    memory = copy(20, 1) | {"cat": "Memcpy"}
    zeroing = copy(30, 1) | {"cat": "Memset", "name": "Memset (Device)"}
    range_ = step(3, 0, 50) | {"cat": "Operator"}
    timeline = read(tmp_path, old, memory, zeroing, range_)

    works = [timeline.identities[i].work for i in timeline.events.identity.tolist()]
    assert works == [Work.KERNEL, Work.COPY, Work.SET]
    assert [r.name for r in timeline.ranges] == ["ProfilerStep#3"]


def test_identity_is_name_grid_and_block(tmp_path: Path):
    name = "void a::k<int>(int)"
    small = kernel(name, 5, 1, grid=[2, 3, 4])
    timeline = read(tmp_path, kernel(name, 1, 1), kernel(name, 3, 1), small)

    first, second = timeline.identities
    assert timeline.events.identity.tolist() == [0, 0, 1]
    assert (first.base_name, first.grid, first.block) == ("k", (64, 1, 1), (128, 1, 1))
    assert second.grid == (2, 3, 4)


def test_a_named_collective_is_one(tmp_path: Path):
    event = kernel("mystery", 1, 1)
    event["args"]["Collective name"] = "allreduce"
    assert read(tmp_path, event).identities[0].collective


def test_the_device_is_described(tmp_path: Path):
    gpu = {"id": 0, "name": "NVIDIA H100", "computeMajor": 9, "computeMinor": 0, "numSms": 132}
    timeline = read(tmp_path, kernel("k", 1, 1), deviceProperties=[gpu])

    assert timeline.devices[0].compute_capability == "9.0"
    assert timeline.devices[0].sm_count == 132


def test_compression_is_told_by_content(tmp_path: Path):
    path = write(tmp_path, gzip.compress(trace(kernel("k", 1, 1))), "trace.json")
    assert len(load_timeline(path).events) == 1


def test_a_compressed_file_that_ends_early_is_read_as_far_as_it_goes(tmp_path: Path):
    whole = gzip.compress(trace(*(kernel(f"k{i}", i, 1, grid=[i, 1, 1]) for i in range(5000))))
    timeline = load_timeline(write(tmp_path, whole[: len(whole) // 2], "trace.json.gz"))

    assert 0 < len(timeline.events) < 5000
    assert timeline.notes[0].code == "truncated"


def test_streaming_leaves_out_only_operators(tmp_path: Path):
    operator = call("aten::mm", 1, 50) | {"cat": "cpu_op"}
    path = write(tmp_path, trace(operator, launched(1, "k", 10, 4), step(1, 0, 60)))
    whole, streamed = load_timeline(path), load_timeline(path, stream=True)

    assert len(whole.calls.start) == 2
    assert len(streamed.calls.start) == 1
    assert streamed.events.launch.tolist() == whole.events.launch.tolist()
    assert streamed.ranges == whole.ranges


def test_the_lenient_decoder_reads_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = write(tmp_path, trace(launched(1, "k", 10.125, 4), copy(20, 1), step(1, 0, 60)))
    fast = load_timeline(path)
    monkeypatch.setattr("roofline.timeline.chrome_scan.decode", decode_leniently)
    slow = load_timeline(path)

    assert fast == slow


def jax(**args: Any) -> dict[str, Any]:
    return {
        "ph": "X",
        "name": "loop_add_fusion",
        "pid": 1,
        "tid": 20,
        "ts": 10,
        "dur": 4,
        "args": args,
    }


def test_a_jax_trace(tmp_path: Path):
    process = {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "/device:GPU:2"}}
    details = "regs:32 static_shared:0 dynamic_shared:0 grid:10,2,1 block:256,1,1 occ_pct:100"
    launch = {"ph": "X", "name": "cuLaunchKernel", "pid": 7, "tid": 1, "ts": 3, "dur": 1}
    train = {"ph": "X", "name": "train", "pid": 7, "tid": 1, "ts": 1, "dur": 90}
    timeline = read(
        tmp_path,
        process,
        jax(kernel_details=details, correlation_id=5, name="loop_add_fusion", hlo_op="add.1"),
        jax(memcpy_details="kind_src:host", correlation_id=6) | {"name": "MemcpyH2D", "ts": 20},
        launch | {"args": {"correlation_id": 5}},
        train | {"args": {"step_num": "12"}},
        {"ph": "X", "name": "host thing", "pid": 7, "tid": 1, "ts": 1, "dur": 1},
    )

    assert timeline.format == "jax"
    assert timeline.events.device.tolist() == [2, 2]
    assert timeline.identities[0].grid == (10, 2, 1)
    assert timeline.identities[0].block == (256, 1, 1)
    assert [i.work for i in timeline.identities] == [Work.KERNEL, Work.COPY]
    assert timeline.events.launch.tolist() == [3000, -1]
    assert [r.name for r in timeline.ranges] == ["train 12"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (trace(call("cudaLaunchKernel", 1, 1)), "no GPU activity"),
        (trace(call("x", 1, 1) | {"cat": "cuda_profiler_range"}), "range profiling"),
        (trace(step(1, 0, 1)), "only the CPU"),
        (trace(), "no events at all"),
        (trace(copy(1, 1)), "no kernel was launched"),
        (trace(call("cudaMalloc", 1, 1)), "no kernel was launched"),
        (b'{"schemaVersion": 1}', "without a list of trace events"),
        (trace(kernel("k", 1, 1), deviceProperties=[{"name": "AMD Instinct MI300X"}]), "AMD"),
        (trace(kernel("k", 1, 1), roctracer_version=4), "AMD"),
        (trace(call("hipLaunchKernel", 1, 1), kernel("k", 1, 1)), "AMD"),
        (json.dumps({"rocprofiler-sdk-tool": [{}]}).encode(), "AMD"),
        (b'[{"children": [], "frame": {"name": "ROOT"}}]', "Proton"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_reason(
    tmp_path: Path, content: bytes, reason: str
):
    with pytest.raises(InputError, match=reason) as refused:
        load_timeline(write(tmp_path, content))

    assert refused.value.hint


def test_an_amd_kernel_is_told_by_its_kind(tmp_path: Path):
    event = kernel("k", 1, 1)
    event["args"]["kind"] = "Dispatch Kernel"
    with pytest.raises(InputError, match="AMD"):
        read(tmp_path, event)


@pytest.mark.parametrize(
    "odd",
    [{"dur": value} for value in (math.nan, math.inf, -5, None, "soon", 10**400)]
    + [{"ts": value} for value in (1e30, math.nan, None)],
)
def test_times_that_cannot_be_are_left_out_and_said(tmp_path: Path, odd: dict[str, Any]):
    timeline = read(tmp_path, step(1, 0, 90), kernel("ok", 10, 5), kernel("odd", 20, 5) | odd)
    assert len(timeline.events) == 1
    (note,) = [n for n in timeline.notes if n.code == "no_valid_time"]
    assert "1 of 2 GPU events" in note_text(note)
    assert used(select(timeline)).wall_s == pytest.approx(90e-6)


def test_no_duration_is_none_and_0_is_one(tmp_path: Path):
    missing = kernel("odd", 20, 5)
    del missing["dur"]
    timeline = read(tmp_path, kernel("ok", 10, 5), missing, kernel("short", 30, 0))
    # Older traces round to whole microseconds, so that short kernels have 0.
    assert timeline.events.start.tolist() == [10_000, 30_000]


def test_a_range_whose_times_cannot_be_is_none(tmp_path: Path):
    timeline = read(tmp_path, kernel("ok", 10, 5), step(1, 0, 90), step(2, 1e30, 5), step(3, 9, -1))
    assert [r.name for r in timeline.ranges] == ["ProfilerStep#1"]


def test_no_kernel_with_a_valid_time(tmp_path: Path):
    with pytest.raises(InputError, match="none of those in it has a valid time"):
        read(tmp_path, kernel("odd", 10, -5), copy(1, 1))


@pytest.mark.parametrize(
    "odd",
    [
        *({key: value} for key in ("ts", "dur") for value in (1e300, -5, "12.5", None)),
        {"name": None},
        {"args": None},
        {"args": {"correlation": 2**64 - 1, "device": 2**70}},
        {"args": {"grid": "big", "block": [1, "2", 3]}},
        {"pid": {"a": 1}, "tid": [1], "args": {}},
        {"name": ["k"]},
        {"args": {"device": [1], "correlation": {}, "Collective name": ["x"]}},
        {"cat": "cuda_runtime", "pid": [1], "tid": {}, "name": {}},
        {"cat": None},
    ],
)
def test_odd_values_do_no_harm(tmp_path: Path, odd: dict[str, Any]):
    timeline = read(tmp_path, kernel("ok", 10, 5), kernel("odd", 20, 5) | odd)
    assert "ok" in {i.name for i in timeline.identities}
    assert (timeline.events.end >= timeline.events.start).all()
    assert select(timeline).devices


def test_long_operators_and_all_calls_are_read(tmp_path: Path):
    operator = {"cat": "cpu_op"}
    timeline = read(
        tmp_path,
        kernel("k", 1, 1),
        call("aten::mm", 1, 20) | operator,
        call("aten::empty", 1, 5) | operator,  # too short to matter
        call("/home/alice/train.py(12): step", 1, 20) | operator,
        call("cudaStreamSynchronize", 1, 1),
    )

    mine = "/home/alice/train.py(12): step"  # for patterns of names; no output shows it
    assert sorted(timeline.call_names.values()) == [mine, "aten::mm", "cudaStreamSynchronize"]
    assert PID == 100


def test_times_below_zero_are_those_of_a_later_clock(tmp_path: Path):
    def found(first_us: float) -> tuple[object, ...]:
        events = []
        for i in range(6):
            at = first_us + 1000 * i
            ran = launched(i + 1, "k", at + 200, 600, asked=at + 100)
            events += [step(i, at, 1000), *ran]
        device = select(load_timeline(write(tmp_path, trace(*events)))).selected
        return device.use, device.steps, device.idle, device.host_paced

    assert found(-3500.5) == found(1000)


def test_half_of_a_pair_of_surrogates_is_no_letter(tmp_path: Path):
    odd = {"Process Group Name": "\udc00", "grid": ["\ud800", 1, 1]}
    timeline = load_timeline(write(tmp_path, trace(kernel("ge\ud800mm", 1, 5, **odd))))
    assert [i.name for i in timeline.identities] == ["ge?mm"]
