"""A timeline played again: nothing changed gives what was recorded; every other figure by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roofline.cli.select import parse_move, parse_percentile
from roofline.errors import InputError, UsageError
from roofline.render.selection import head
from roofline.timeline import load_timeline, select
from roofline.timeline.events import Timeline
from roofline.timeline.model import Criteria, First, Selection, TimelineDevice, WhatIf
from roofline.timeline.replay import Schedule, host_times
from roofline.timeline.selection import device_events
from roofline.timeline.what_if import what_if
from tests.timeline.made import call, copy, kernel, launched, step, trace, write
from tests.timeline.test_ranks import REDUCE


def made(folder: Path, *events: Any) -> Timeline:
    flat = [one for found in events for one in (found if isinstance(found, list) else [found])]
    return load_timeline(write(folder, trace(*flat)))


def moved(timeline: Timeline, *moves: str, **wanted: Any) -> WhatIf:
    found = what_if(timeline, [parse_move(m) for m in moves], Criteria(**wanted)).what_if
    assert found is not None
    return found


def us(found: WhatIf) -> tuple[float, float]:
    return round(found.before.wall_s * 1e6, 3), round(found.after.wall_s * 1e6, 3)


def host_bound() -> list[Any]:
    """Kernels of 20 us, launched each 100 us."""
    return [launched(i, "gemm", 100 * i, 20) for i in range(1, 11)]


def gpu_bound() -> list[Any]:
    """Kernels of 100 us back to back, launched each 10 us; then the host waits for the last."""
    ran = [launched(i, "gemm", 100 * i, 100, asked=10 * i) for i in range(1, 11)]
    return [*ran, call("cudaDeviceSynchronize", 120, 990)]


# --- what is played again


def test_a_host_that_sets_the_pace_gains_nothing_by_faster_kernels(tmp_path: Path) -> None:
    timeline = made(tmp_path, host_bound())
    # The last kernel ends 10 us earlier: 910 instead of 920 us.
    assert us(moved(timeline, "kernels=2x")) == (920, 910)
    found = moved(timeline, "gaps=0")
    assert us(found) == (920, 200)
    assert found.first_after is First.KERNELS
    assert found.at_most[1] == pytest.approx(920 / 200)


def test_a_gpu_that_is_full_gains_all_of_it(tmp_path: Path) -> None:
    found = moved(made(tmp_path, gpu_bound()), "gemm=2x")
    assert us(found) == (1000, 500)
    assert found.at_most == (pytest.approx(2), pytest.approx(2))


def test_the_word_of_a_family_means_its_kernels(tmp_path: Path) -> None:
    gemm = launched(1, "nvjet_tst_128x256", 10, 100, asked=0)
    softmax = launched(2, "cunn_softmax", 110, 100, asked=5)
    found = moved(made(tmp_path, [*gemm, *softmax]), "gemm=2x")
    assert us(found) == (200, 150)


def test_what_the_host_waited_for_moves_the_host(tmp_path: Path) -> None:
    # Each kernel is waited for, 3 us after its end the host goes on, and launches 7 us later.
    ran: list[Any] = []
    for i in range(5):
        at = 120 * i
        ran += launched(i + 1, "gemm", at + 10, 100, asked=at)
        ran.append(call("cudaStreamSynchronize", at + 2, 111))
    # 5 kernels and 4 pauses of 20 us: with half the time 250 + 80.
    assert us(moved(made(tmp_path, ran), "gemm=2x")) == (580, 330)


def test_faster_kernels_run_into_the_host(tmp_path: Path) -> None:
    # Launched each 60 us, kernels of 100 us: at 4x the host is what they wait for.
    ran = [launched(i, "gemm", 100 * i, 100, asked=60 * i) for i in range(1, 11)]
    # From the first start at 100: the last is launched at 600 and starts within 20 us, for 25.
    found = moved(made(tmp_path, ran), "gemm=4x")
    assert us(found) == (1000, 545)
    assert found.speedup < (found.at_most[1] or 0) == pytest.approx(4)
    assert found.first_after is First.GAPS


def test_work_of_one_stream_waits_for_another(tmp_path: Path) -> None:
    # The collective starts 2 us after a, and b 2 us after it; both were launched at once.
    ran = [
        launched(1, "a", 10, 100, asked=1),
        launched(2, "ncclAllReduce", 112, 50, asked=3, stream=9),
        launched(3, "b", 164, 40, asked=5),
    ]
    timeline = made(tmp_path, ran)
    assert us(moved(timeline, "^a$=2x")) == (194, 144)
    # How soon b can follow a in their stream is not seen: 20 us is the most that is assumed.
    assert us(moved(timeline, "comm=0")) == (194, 160)


def test_a_faster_part_can_make_another_longer(tmp_path: Path) -> None:
    # a hides 80 of the 100 us of communication; at half the time it hides only 40.
    ran = [
        launched(1, "a", 10, 80, asked=1),
        launched(2, "ncclAllReduce", 10, 100, asked=2, stream=9),
    ]
    found = moved(made(tmp_path, ran), "^a$=2x")
    assert us(found) == (100, 100)
    parts = [round(found.after.parts[p] * 1e6) for p in (First.KERNELS, First.COMMUNICATION)]
    assert parts == [40, 60]
    assert found.first_after is First.COMMUNICATION


def test_a_copy_to_the_host_holds_it(tmp_path: Path) -> None:
    back = copy(110, 10, stream=7) | {"name": "Memcpy DtoH (Device -> Pageable)"}
    back["args"] = back["args"] | {"correlation": 2}
    ran = [
        launched(1, "a", 10, 100, asked=1),
        call("cudaMemcpyAsync", 3, 120, 2),
        back,
        launched(3, "b", 130, 50),
    ]
    # b is launched 5 us after the call returned, and that 3 us after the copy.
    assert us(moved(made(tmp_path, ran), "^a$=2x")) == (170, 120)


def test_gaps_of_one_cause(tmp_path: Path) -> None:
    name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    loading = call(name, 115, 280) | {"cat": "cpu_op"}
    ran = [
        launched(1, "a", 10, 100),
        loading,
        launched(2, "b", 400, 100),
        launched(3, "c", 550, 50),
    ]
    timeline = made(tmp_path, ran)
    assert us(moved(timeline, "gaps:dataloader=0")) == (590, 300)
    assert us(moved(timeline, "gaps:data_loading=0")) == (590, 300)
    assert us(moved(timeline, "gaps:host_code=0")) == (590, 540)
    with pytest.raises(UsageError, match="no class of idle time"):
        moved(timeline, "gaps:moon=0")
    with pytest.raises(UsageError, match=r"(?s)no idle time is of that class.*data_loading"):
        moved(timeline, "gaps:memory_allocation=0")
    with pytest.raises(UsageError, match="cannot be done"):
        moved(timeline, "gaps=2x")


def test_steps_are_cut_anew(tmp_path: Path) -> None:
    # Steps of 100 us, 40 busy, launched 55 us into the range: without gaps 40 us each.
    events: list[Any] = []
    for i in range(1, 6):
        events += [step(i, 100 * i, 98), *launched(i, "gemm", 100 * i + 57, 40)]
    timeline = made(tmp_path, events)
    assert us(moved(timeline, "gemm=1x")) == (100, 100)
    assert us(moved(timeline, "gemm=2x")) == (100, 100)
    assert us(moved(timeline, "gaps=0")) == (100, pytest.approx(40, abs=1))


def test_a_move_about_nothing_is_refused(tmp_path: Path) -> None:
    timeline = made(tmp_path, host_bound())
    with pytest.raises(UsageError, match="nothing of that name ran"):
        moved(timeline, "conv=2x")
    with pytest.raises(UsageError, match="nothing of that name ran"):
        moved(timeline, "comm=0")
    with pytest.raises(InputError, match="cannot be played again"):
        moved(timeline, "gemm=2x", start=0, end=500_000)


@pytest.mark.parametrize(
    "text", ["gemm", "gemm=", "=2x", "gemm=2", "gemm=0x", "gemm=-1x", "floors="]
)
def test_moves_that_are_not_understood(text: str) -> None:
    with pytest.raises(UsageError, match="not understood"):
        parse_move(text)


def test_moves_are_said_as_they_were_typed() -> None:
    for text in ("gemm=1.2x", "comm=0", "gaps:data_loading=0", "a=b=2x"):
        assert parse_move(text).text == text
    assert parse_move("floors=/home/alice/r.ncu-rep").text == "floors=r.ncu-rep"


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 400),  # when
            st.integers(0, 60),  # how long
            st.integers(0, 2),  # stream
            st.integers(-1, 50),  # launched so long before, or unseen
            st.booleans(),  # a wait of the host ends soon after
        ),
        min_size=1,
        max_size=25,
    ),
    st.integers(2, 5),
)
def test_a_replay_that_changes_nothing_is_what_was_recorded(
    tmp_path_factory: Any, work: list[tuple[int, int, int, int, bool]], factor: int
) -> None:
    events: list[Any] = [kernel("first", 0, 1)]
    for i, (at, lasted, stream, ahead, waits) in enumerate(work, 1):
        seen = {} if ahead < 0 else {"launch": i}
        events.append(kernel("k", at + 60, lasted, stream=stream, **seen))
        if ahead >= 0:
            events.append(call("cudaLaunchKernel", at + 60 - ahead, 1, i))
        if waits:
            events.append(call("cudaDeviceSynchronize", at + 58, lasted + 5))
    timeline = made(tmp_path_factory.mktemp("made"), *events)
    _, part = device_events(timeline, Criteria(), 0)
    schedule = Schedule.of(part.events, timeline.calls, part.waiting, part.is_copy)
    lasted = part.events.end - part.events.start
    same, knots = schedule.run(lasted)
    assert same == part.events
    assert (host_times(part.events.launch, knots) == part.events.launch).all()
    # Less work never takes longer, and what it saves is in proportion at least.
    ends = [int(schedule.run(lasted * k // factor)[0].end.max()) for k in range(factor + 1)]
    assert ends == sorted(ends)


# --- the bounds of kernels, and on public traces


def test_idle_time_that_comes_anew_is_told_from_gaps_that_were_closed(tmp_path: Path) -> None:
    # Gaps are closed, but launches take 100 us each, which no kernel covers any more.
    timeline = made(
        tmp_path, gpu_bound(), [launched(20 + i, "b", 2000 + 9 * i, 2) for i in range(9)]
    )
    moves = [parse_move("gaps=0"), parse_move("kernels=0")]
    first, second, *_ = head(what_if(timeline, moves, Criteria()))
    assert "without limit by Amdahl's law" in first
    assert second.endswith("it launches no sooner, and less runs meanwhile.")
    assert "come first then" not in second


def test_of_slower_kernels_the_law_is_the_worse_end(tmp_path: Path) -> None:
    found = what_if(made(tmp_path, host_bound()), [parse_move("kernels=0.5x")], Criteria())
    moved = found.what_if
    assert moved is not None
    assert moved.at_most[1] is not None
    assert moved.at_most[1] < moved.speedup < 1.01
    assert f"at worst {moved.at_most[1]:.2f}x by Amdahl's law" in next(head(found))


def test_where_the_host_sets_the_pace_the_low_end_is_nothing(tmp_path: Path) -> None:
    for events, low in ((host_bound(), 920 / 900), (gpu_bound(), 50)):
        device = select(made(tmp_path, events)).selected
        (gemm,) = device.kernels
        # Host-bound: only the last kernel's 20 us are at the end. GPU-bound: all of the 1000 but
        # the 20 that the last launch, no sooner than the first start, can take at most.
        assert gemm.speedup_at_most[0] == pytest.approx(low)
        assert device.twice_saves is not None
        assert device.use is not None
        assert device.twice_saves[1] == pytest.approx(device.use.compute_s / device.use.wall_s / 2)


# --- steps


def tokens(folder: Path) -> TimelineDevice:
    """Tokens of 10 ms, 4.02 busy, and 3 of 40 ms that one slow kernel fills."""
    events, at = [], 0
    for i in range(30):
        slow = i in (5, 15, 25)
        lasted = 40_000 if slow else 10_000
        events += [step(i, at, lasted - 1), *launched(2 * i + 1, "gemm", at + 100, 4_020)]
        if slow:
            events += launched(2 * i + 2, "rebuild", at + 4_200, 35_700)
        at += lasted
    return select(made(folder, events)).selected


def test_a_percentile_that_is_the_longest_step_is_not_said(tmp_path: Path) -> None:
    tokens(tmp_path)
    timeline = load_timeline(tmp_path / "trace.json")
    for keep, said in (
        ("inner", "28 steps: p50 10.0 ms, p95 40.0 ms, max 40.0 ms,"),  # p99 is the 28th of 28
        ((5, 7), "3 steps: p50 10.0 ms, max 40.0 ms,"),
    ):
        selection = select(timeline, Criteria(keep=keep))  # type: ignore[arg-type]
        assert any(said in line for line in head(selection))


def test_a_step_is_a_distribution(tmp_path: Path) -> None:
    device = tokens(tmp_path)
    assert device.counted == 28
    spread = device.spread
    assert spread is not None
    assert (spread.p50_s, spread.p95_s) == (pytest.approx(0.010), pytest.approx(0.040))
    assert (spread.p99_s, spread.max_s) == (pytest.approx(0.040), pytest.approx(0.040))
    # The verdict is that of a typical token, not of the mean of 13.2 ms.
    assert device.judged is not None
    assert device.judged.idle_s / device.judged.wall_s == pytest.approx(0.598)
    assert device.first is First.GAPS
    assert device.slow is not None
    assert len(device.slow.steps) == 3
    (kind, name, more_s), *_ = device.slow.parts
    assert (kind, name) == ("kernel", "rebuild")
    assert more_s == pytest.approx(35.7e-3)


def test_a_slow_step_is_told_by_what_ran_in_it_whichever_step_launched_it(tmp_path: Path) -> None:
    # Steps of 10 ms: gemm 4 ms, all-reduce 2 ms. One of 25 ms also has one of 15 ms that
    # the step before launched.
    events, at = [], 0
    for i in range(6):
        events += [step(i, at, (25_000 if i == 3 else 10_000) - 1)]
        events += launched(3 * i + 1, "gemm", at + 100, 4_000)
        if i == 3:
            events += launched(12, REDUCE, at + 5_000, 15_000, asked=at - 500, stream=20)
            at += 15_000
        events += launched(3 * i + 2, REDUCE, at + 7_000, 2_000, stream=20)
        at += 10_000
    selection = select(made(tmp_path, events))
    slow = selection.selected.slow
    assert slow is not None
    assert slow.steps == (4,)
    assert slow.more_s == pytest.approx(15e-3)
    assert slow.parts[0] == ("kernel", REDUCE, pytest.approx(15e-3))
    assert slow.launches[0] == (1, 2, 1)
    assert dict(slow.split)[First.COMMUNICATION] == pytest.approx(15e-3)
    assert sum(s for _, s in slow.split) == pytest.approx(slow.more_s)
    line = next(line for line in head(selection) if line.startswith("Slow steps"))
    assert line.startswith(
        "Slow steps (1 of 4) +15.0 ms (exposed communication +15.0 ms): kernel "
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL +15.0 ms (1 -> 2 launches, 1 not launched in it)"
    )


def test_what_was_queued_before_the_recording_is_told(tmp_path: Path) -> None:
    # On another stream it runs on when the first step's own work has begun.
    old = [kernel("queued", 3_100 + 200 * i, 150, stream=8, launch=i + 1) for i in range(10)]
    events: list[Any] = [*old]
    for i in range(5):
        at = 10_000 * i + (10_000 if i else 0)
        events += [step(i, at, (20_000 if i == 0 else 10_000) - 1)]
        events += launched(i + 20, "gemm", at + 3_000, 4_000)
    cold = select(made(tmp_path, events)).selected.cold
    assert cold is not None
    names = [name for _, name, _ in cold.parts]
    assert cold.launches[names.index("queued")] == (0, 10, 10)


def test_another_step_can_be_judged(tmp_path: Path) -> None:
    tokens(tmp_path)
    timeline = load_timeline(tmp_path / "trace.json")
    device = select(timeline, Criteria(step_at=95)).selected
    assert device.judged is not None
    assert device.judged.wall_s == pytest.approx(0.040)
    assert device.first is First.KERNELS


def test_the_host_waits_of_the_judged_step_alone_count(tmp_path: Path) -> None:
    # Steps of 1000 us whose host never waits, and one of 3000 us in which it waits for 400.
    events, at = [], 0
    for i in range(12):
        events += [step(i, at, (3000 if i == 6 else 1000) - 1)]
        events += launched(2 * i + 1, "gemm", at + 100, 300)
        if i == 6:
            events += launched(30, "rebuild", at + 1400, 1000)
            events.append(call("cudaDeviceSynchronize", at + 2000, 400))
        at += 3000 if i == 6 else 1000
    timeline = made(tmp_path, events)
    for percentile, paced, wait_s in ((50, True, 0), (100, False, 400e-6)):
        device = select(timeline, Criteria(step_at=percentile)).selected
        assert device.judged is not None
        assert (device.host_paced, device.judged.host_wait_s) == (paced, pytest.approx(wait_s))
        assert device.host_wait_s == pytest.approx(400e-6)


def test_the_first_step_is_said_where_it_is_left_out(tmp_path: Path) -> None:
    events = [step(0, 0, 99_990), *launched(1, "gemm", 95_000, 5_000)]
    for i in range(1, 5):
        at = 90_000 + 10_000 * i
        events += [step(i, at, 9_990), *launched(i + 1, "gemm", at + 5_000, 5_000)]
    cold = select(made(tmp_path, events)).selected.cold
    assert cold is not None
    assert cold.more_s == pytest.approx(0.090)
    assert cold.parts == (("idle", "host code", pytest.approx(0.090)),)


@pytest.mark.parametrize(("text", "value"), [("p95", 95), ("50", 50), ("p99.9", 99.9)])
def test_percentiles(text: str, value: float) -> None:
    assert parse_percentile(text) == value


@pytest.mark.parametrize("text", ["p0", "p101", "median", ""])
def test_no_percentiles(text: str) -> None:
    with pytest.raises(UsageError, match="not a percentile"):
        parse_percentile(text)


def test_a_selection_without_moves_says_nothing_of_them(tmp_path: Path) -> None:
    selection: Selection = select(made(tmp_path, host_bound()))
    assert selection.what_if is None
    assert np.isfinite(selection.selected.kernels[0].replayed_share or np.nan)
