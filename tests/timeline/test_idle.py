"""Who sets the pace of a step, and what its idle time is spent on; every figure by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.errors import InputError, UsageError
from roofline.render.selection import hypotheses, render
from roofline.timeline import load_timeline, select
from roofline.timeline.events import harmless
from roofline.timeline.idle import known_classes, load_classes
from roofline.timeline.model import Criteria, First, TimelineDevice
from tests.timeline.made import (
    CALLS,
    KERNELS,
    NVTX,
    Export,
    call,
    copy,
    event,
    kernel,
    launched,
    step,
    trace,
    write,
)

LOADING = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


def judged(folder: Path, *events: Any, **keys: Any) -> TimelineDevice:
    flat = [one for found in events for one in (found if isinstance(found, list) else [found])]
    return select(load_timeline(write(folder, trace(*flat, **keys)))).selected


def parts_ms(device: TimelineDevice) -> list[float]:
    assert device.judged is not None
    return [round(s * 1e3, 6) for s in device.judged.parts.values()]


def operator(name: str, start: float, lasted: float, cat: str = "cpu_op") -> dict[str, Any]:
    return event(cat, name, start, lasted)


# --- what comes first


def test_a_step_that_is_busy_for_55_percent_has_gaps_first(tmp_path: Path):
    # Without gaps 1 / 0.55 = 1.82x; kernels of 55 must run in 10 to save 45: 5.5x.
    device = judged(tmp_path, step(1, 0, 100), kernel("a", 0, 55))
    assert device.judged is not None
    assert device.judged.without_gaps_at_most == pytest.approx(1 / 0.55)
    assert device.judged.break_even() == pytest.approx(5.5)
    assert device.first is First.GAPS


def test_a_step_that_is_busy_for_95_percent_has_kernels_first(tmp_path: Path):
    device = judged(tmp_path, step(1, 0, 100), launched(1, "a", 5, 95))
    assert device.judged is not None
    assert device.judged.break_even() == pytest.approx(95 / 90)
    assert (device.first, device.host_paced) == (First.KERNELS, False)


def test_all_reduce_that_is_hidden_is_no_part_of_its_own(tmp_path: Path):
    # 120 ms: compute 0-64; all-reduce 36-80, 16 exposed; a copy 80-83; then nothing until 120.
    device = judged(
        tmp_path,
        step(1, 0, 120_000),
        launched(1, "a", 0, 64_000, asked=0),
        launched(2, "ncclDevKernel_AllReduce", 36_000, 44_000, stream=9, asked=2),
        copy(80_000, 3_000),
    )
    assert parts_ms(device) == [64, 16, 3, 37]
    assert device.judged is not None
    assert device.judged.compute_s / device.judged.wall_s == pytest.approx(64 / 120)
    assert device.judged.break_even() == pytest.approx(64 / 27)
    assert device.first is First.GAPS


@pytest.mark.parametrize(
    ("overlap", "wall", "first"), [(0, 110, First.COMMUNICATION), (20, 90, First.KERNELS)]
)
def test_communication_in_series_and_overlapped(
    tmp_path: Path, overlap: int, wall: int, first: First
):
    # Preparation 20, compute 60, communication 30; in series kernels must run twice as fast to
    # buy as much as hiding it, overlapped 60 / (60 - 20) = 1.5 times to buy as much as the gap.
    reduce = kernel("ncclAllReduce", 80_000 - 1000 * overlap, 30_000, stream=9)
    ran = step(1, 0, 1000 * wall), kernel("a", 20_000, 60_000), reduce
    selection = select(load_timeline(write(tmp_path, trace(*ran))))
    device = selection.selected
    assert parts_ms(device) == [60, 30 - overlap, 0, 20]
    assert device.first is first
    # 10 ms of 90 are worth a word, too: 90 / 80.
    gain = f"{wall / (wall - 30 + overlap):.2f}"
    assert any(
        line.startswith(f"exposed communication (up to {gain}x): perhaps collectives")
        for line in hypotheses(device)
    )
    assert ("none of it beside compute" in render(selection)) is (overlap == 0)


def test_the_host_sets_the_pace_where_it_never_waits(tmp_path: Path):
    # Kernels of 80, one each 100 us, launched 2 us before. Then the same with a wait for each.
    ran = [e for i in range(1, 20) for e in launched(i, "a", 100 * i, 80)]
    waits = [call("cudaStreamSynchronize", 100 * i + 5, 76) for i in range(1, 20)]
    free = judged(tmp_path, ran)
    held = judged(tmp_path, ran, waits)
    assert (free.host_paced, free.first) == (True, First.GAPS)
    assert (held.host_paced, held.first) == (False, First.KERNELS)
    assert held.host_wait_s == pytest.approx(19 * 76e-6 - 1e-6)  # the last ends with the recording


def test_without_launches_nobody_sets_the_pace(tmp_path: Path):
    device = judged(tmp_path, *(kernel("a", 100 * i, 80) for i in range(9)))
    assert (device.host_paced, device.host_wait_s) == (None, None)
    assert [c.code for c in device.idle] == ["unknown"]


def test_busy_is_not_used(tmp_path: Path):
    # 8 blocks on 132 SMs, back to back: 100 % busy, and at most 6.1 % of the SMs have a block.
    gpu = [{"id": 0, "name": "NVIDIA Toy", "numSms": 132}]
    ran = [kernel("a", 10 * i, 10, grid=[8, 1, 1]) for i in range(900)]
    device = judged(tmp_path, *ran, deviceProperties=gpu)
    assert device.judged is not None
    assert device.judged.busy_share == 1
    assert device.sm_coverage == pytest.approx(8 / 132)
    assert device.small_grid_share == 1
    text = render(select(load_timeline(write(tmp_path, trace(*ran, deviceProperties=gpu)))))
    assert "at most 6.1 % of the SMs have a block" in text
    assert "8 / 128 *" in text


# --- idle time by cause


def test_many_short_gaps_are_launch_bound(tmp_path: Path):
    # 900 kernels of 3 us with gaps of 6 us: 5.4 of 8.1 ms, 67 %.
    device = judged(tmp_path, *(launched(i, "a", 9 * i, 3) for i in range(1, 901)))
    (rate,) = device.idle
    assert (rate.code, rate.gaps) == ("launch_rate", 899)
    assert rate.total_s == pytest.approx(899 * 6e-6)
    assert rate.share == pytest.approx(0.667, abs=0.001)
    assert device.launch_bound is True
    assert device.launch_gap_share == pytest.approx(1)
    band = device.gap_bands[0]
    assert (band.to_s, band.gaps) == (10e-6, 899)


def test_a_launch_bound_step_names_the_causes_that_it_has(tmp_path: Path):
    every = [launched(i, "a", 9 * i, 3) for i in range(1, 901)]
    unseen = [kernel("a", 9 * i, 3) for i in range(1, 901)]
    for events, cause in ((every, "launch rate"), (unseen, "launch not recorded")):
        text = render(select(load_timeline(write(tmp_path, trace(*events)))), width=200)
        assert f"is in gaps under 100 µs between launches ({cause}). CUDA graphs" in text


def test_one_launch_a_step_is_not_launch_bound(tmp_path: Path):
    # A gap of 90 us before the one kernel of each step: fewer launches would change nothing.
    events: list[Any] = []
    for i in range(5):
        events += [step(i, 300 * i, 299), *launched(i + 1, "a", 300 * i + 100, 200)]
    device = judged(tmp_path, *events)
    assert device.judged is not None
    assert device.judged.idle_s == pytest.approx(100e-6)
    assert device.launch_bound is False


def test_launch_rate_is_what_is_usual_on_this_host(tmp_path: Path):
    # 60 launches 40 us apart leave gaps of 35 us, and once the host did something else for 300 us.
    at = [40 * i + (300 if i > 30 else 0) for i in range(1, 61)]
    device = judged(tmp_path, *(launched(i, "a", t, 5) for i, t in enumerate(at, 1)))
    found = {c.code: (c.gaps, round(c.longest.duration_s * 1e6)) for c in device.idle}
    assert found == {"launch_rate": (58, 35), "host_code": (1, 335)}


@pytest.mark.parametrize(
    ("events", "code"),
    [
        ([operator(LOADING, 11, 480)], "data_loading"),
        ([operator("aten::item", 11, 480), call("cudaFree", 12, 90)], "synchronisation"),
        ([call("cudaDeviceSynchronize", 5, 300)], "synchronisation"),
        ([call("cudaMalloc", 20, 470)], "allocation"),
        ([call("cuModuleLoadData", 20, 470)], "compilation"),
        ([operator("torch._dynamo.convert_frame", 20, 470, "user_annotation")], "compilation"),
        ([operator("torch/_inductor/graph.py(9): run", 20, 470, "python_function")], "compilation"),
        ([call("cudaMemcpyAsync", 20, 470)], "copy"),
        ([operator("nccl:all_reduce", 20, 470, "user_annotation")], "collective"),
        ([operator("Optimizer.step#Adam.step", 0, 600, "user_annotation")], "optimizer"),
        ([operator("aten::to", 20, 300)], "host_code"),
        ([operator("aten::item", 20, 100)], "host_code"),
        ([], "host_code"),
    ],
)  # fmt: skip
def test_the_cause_of_a_gap(tmp_path: Path, events: list[Any], code: str):
    # a runs until 10 us, b from 500: launched at 498 by the same thread.
    device = judged(tmp_path, launched(1, "a", 5, 5, asked=1), launched(2, "b", 500, 100), events)
    (cause,) = device.idle
    assert cause.code == code
    assert cause.total_s == pytest.approx(490e-6)
    assert cause.without_at_most == pytest.approx(595 / 105)
    assert cause.hypothesis
    assert cause.check


def test_a_wait_that_emptied_the_gpu_makes_the_short_gap_after_it(tmp_path: Path):
    # The wait ends with a, 3 us into the gap; the next launch comes 47 us later.
    wait = call("cudaStreamSynchronize", 3, 10)
    device = judged(tmp_path, launched(1, "a", 5, 5, asked=1), wait, launched(2, "b", 60, 40))
    assert [c.code for c in device.idle] == ["synchronisation"]


def test_another_thread_is_not_the_reason(tmp_path: Path):
    loading = operator(LOADING, 11, 480)
    other = loading | {"tid": 7}
    device = judged(tmp_path, launched(1, "a", 5, 5, asked=1), launched(2, "b", 500, 9), other)
    assert [c.code for c in device.idle] == ["host_code"]


def test_the_outermost_range_and_the_innermost_operator_are_named(tmp_path: Path):
    nested = [
        operator(LOADING, 11, 480),
        operator("aten::stack", 50, 400),
    ]
    device = judged(tmp_path, launched(1, "a", 5, 5, asked=1), launched(2, "b", 500, 9), nested)
    gap = device.idle[0].longest
    assert gap.inside == LOADING
    assert gap.doing == "aten::stack"
    assert gap.doing_s == pytest.approx(400e-6)


def test_nvtx_ranges_of_nsight_systems_count_too(tmp_path: Path):
    made = Export(tmp_path / "r.sqlite", KERNELS, CALLS, NVTX)
    for i, start in enumerate((0, 500_000), 1):
        made.call("cudaLaunchKernel", start, start + 1000, i)
        made.kernel("k", start + 2000, start + 9000, correlation=i)
    made.range("DataLoader of alice", 20_000, 490_000)
    device = select(load_timeline(made.done())).selected
    assert [c.code for c in device.idle] == ["data_loading"]
    assert device.idle[0].longest.doing == "cudaLaunchKernel"  # no name that may be private


# --- the table of classes


def test_classes_of_ones_own_come_first_and_known_ones_get_more_names(tmp_path: Path):
    own = tmp_path / "own.toml"
    own.write_text(
        '[tokenizer]\nnames = ["^tok_"]\nhypothesis = "it tokenizes"\n'
        '[data_loading]\nnames = ["^read_shard"]\n'
    )
    classes = load_classes(own)
    assert classes.codes[0] == "tokenizer"
    assert classes.by_code["tokenizer"].title == "tokenizer"
    assert classes.by_code["data_loading"].title == "data loading"
    for name, code in (("tok_fast", "tokenizer"), ("read_shard 3", "data_loading")):
        ran = [launched(1, "a", 5, 5, asked=1), operator(name, 11, 480), launched(2, "b", 500, 9)]
        timeline = load_timeline(write(tmp_path, trace(*ran)))
        (cause,) = select(timeline, classes=classes).selected.idle
        assert cause.code == code
        assert cause.longest.doing is None or "tok_" not in cause.longest.doing


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("[a]\nnames = 3\n", InputError, "names"),
        ("[a]\nnmaes = []\n", InputError, "nmaes"),
        ("a = [", InputError, "cannot read own.toml"),
        ('[a]\nnames = ["("]\n', UsageError, "regular expression"),
    ],
)
def test_a_wrong_table_is_refused(tmp_path: Path, text: str, error: type[Exception], said: str):
    own = tmp_path / "own.toml"
    own.write_text(text)
    with pytest.raises(error) as found:
        load_classes(own)
    assert said in f"{found.value} {getattr(found.value, 'why', '')}"


def test_every_known_class_says_how_to_confirm_it():
    for code, found in known_classes().by_code.items():
        assert found.title, code
        assert found.hypothesis, code
        assert found.check, code
        assert found.remedy, code


def test_names_of_frameworks_are_not_private():
    for name in (
        "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
        "Optimizer.step#AdamW.step",
        "aten::item",
        "cuLaunchKernel",
    ):
        assert harmless(name) == name
    assert harmless("Optimizer.step#SecretOpt.step") == "Optimizer.step"
    assert harmless("enumerate(DataLoader)#SecretIter.__next__") == "enumerate(DataLoader)"
    assert harmless("torch/_dynamo/eval_frame.py(9): f") == "torch/_dynamo"
    for name in ("load of alice", "SecretFunctionBackward", "cute alice", "nccl:x of alice"):
        assert harmless(name) == ""


def test_names_of_ones_own_are_shown_where_asked_for(tmp_path: Path) -> None:
    ran = [
        *launched(1, "a", 5, 5, asked=1),
        operator("alice's tokenizer", 11, 480, "user_annotation"),
        *launched(2, "b", 500, 9),
    ]
    timeline = load_timeline(write(tmp_path, trace(*ran)))
    for own, said in ((True, "alice's tokenizer"), (False, None)):
        gap = select(timeline, Criteria(own_names=own)).selected.idle[0].longest
        assert (gap.doing if own else gap.inside) == said


def test_idle_time_after_the_last_work_is_no_launch_that_was_lost(tmp_path: Path):
    # Of 100 us the kernel ends at 60; a kernel whose launch was not recorded follows at 80.
    ran = [step(1, 0, 100), *launched(1, "a", 0, 60, asked=0)]
    assert [(c.code, c.gaps) for c in judged(tmp_path, *ran).idle] == [("tail", 1)]
    lost = judged(tmp_path, *ran, kernel("b", 80, 10)).idle
    assert [(c.code, round(c.total_s * 1e6)) for c in lost] == [("unknown", 20), ("tail", 10)]


def test_hypotheses_are_worded_as_such(tmp_path: Path):
    device = judged(tmp_path, launched(1, "a", 5, 5, asked=1), launched(2, "b", 500, 100))
    (said,) = hypotheses(device)
    assert said.startswith("host code (up to 5.")
    assert ": perhaps Python or C++" in said
    assert "Check: " in said


@given(
    st.lists(
        st.tuples(st.integers(0, 200), st.integers(1, 60), st.booleans()), min_size=1, max_size=30
    )
)
def test_the_parts_add_up_to_the_step(tmp_path_factory: Any, work: list[tuple[int, int, bool]]):
    folder = tmp_path_factory.mktemp("made")
    events = [
        launched(i, "ncclSend" if comm else "a", start, lasted, stream=i, asked=max(start - 30, 0))
        for i, (start, lasted, comm) in enumerate(work, 1)
    ]
    device = judged(folder, *events)
    use = device.judged
    assert use is not None
    assert sum(use.parts.values()) == pytest.approx(use.wall_s)
    assert sum(c.total_s for c in device.idle) == pytest.approx(use.idle_s, abs=1e-12)
    assert sum(band.total_s for band in device.gap_bands) == pytest.approx(use.idle_s, abs=1e-12)


def test_a_class_of_ones_own_has_its_colour(tmp_path: Path):
    own = tmp_path / "own.toml"
    own.write_text('[tokenizer]\nnames = ["^tokenize"]\ncolor = "#118ab2"\n')
    assert load_classes(own).by_code["tokenizer"].color == "#118ab2"
    own.write_text('[tokenizer]\nnames = ["^tokenize"]\ncolor = "blue"\n')
    with pytest.raises(InputError, match=r"own\.toml") as refused:
        load_classes(own)
    assert "#118ab2" in (refused.value.hint or "")
