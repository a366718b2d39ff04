"""From events to the answer: steps, bounds, ranking, gaps, what is left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roofline.errors import InputError, UsageError
from roofline.render.selection import bounds, where
from roofline.text.notes import note_text
from roofline.timeline import load_timeline, select
from roofline.timeline.join import share_of
from roofline.timeline.model import Apart, Criteria, First, Selection
from tests.makers import measurement
from tests.timeline.made import call, copy, kernel, launched, step, trace, used, write

SLOW = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)


def chosen(folder: Path, *events: Any, step: str | None = None, **wanted: Any) -> Selection:
    timeline = load_timeline(write(folder, trace(*events)), step=step)
    return select(timeline, Criteria(**wanted))


def us(seconds: float | None) -> float:
    assert seconds is not None
    return round(seconds * 1e6, 3)


def test_the_two_bounds_are_different_numbers(tmp_path: Path):
    # A step of 120 us with 64 busy: without gaps 120 / 64, with free kernels 120 / 56.
    selection = chosen(
        tmp_path, step(1, 1000, 120), launched(1, "a", 1010, 40), launched(2, "b", 1080, 24)
    )
    use = used(selection)
    assert us(use.wall_s) == 120
    assert us(use.idle_s) == 56
    assert use.without_gaps_at_most == pytest.approx(1.875)
    assert use.without_kernels_at_most == pytest.approx(120 / 56)
    # To save 56 of 120, kernels of 64 must run in 8: gaps are the easier gain.
    assert use.break_even() == pytest.approx(8)
    assert selection.selected.first is First.GAPS
    a, b = selection.kernels
    assert (a.name, a.exposed_share) == ("a", pytest.approx(40 / 120))
    assert a.speedup_at_most == (1, pytest.approx(1.5))  # b is launched no earlier without it
    assert b.kernel_share == pytest.approx(24 / 64)


def test_gaps_come_first_where_they_are_worth_more(tmp_path: Path):
    # Busy 16 of 100: gaps at most 6.25x, kernels at most 1.19x.
    selection = chosen(tmp_path, step(1, 0, 100), launched(1, "a", 10, 16))
    use = used(selection)
    assert selection.selected.first is First.GAPS
    assert use.without_gaps_at_most == pytest.approx(6.25)
    assert use.without_kernels_at_most == pytest.approx(1 / 0.84)
    assert [k.name for k in selection.chosen] == ["a"]


def test_gaps_are_compared_with_kernels_that_ncu_can_help(tmp_path: Path):
    # Of 100: idle 45, compute 35, all-reduce 20. All kernels together are more than the gaps, but
    # nobody can free the all-reduce with ncu: compute alone buys 1 / 0.65, the gaps 1 / 0.55.
    reduce = launched(2, "ncclDevKernel_AllReduce", 60, 20, stream=9)
    selection = chosen(tmp_path, step(1, 0, 100), launched(1, "a", 10, 35), reduce)
    use = used(selection)
    assert selection.selected.first is First.GAPS
    assert use.without_gaps_at_most == pytest.approx(1 / 0.55)
    assert use.without_kernels_at_most == pytest.approx(1 / 0.45)
    assert use.without_compute_at_most == pytest.approx(1 / 0.65)
    assert bounds(use) == (
        "Removing the gaps buys up to 1.82x. Kernels that cost nothing buy up to 2.22x, compute "
        "kernels alone 1.54x."
    )


def test_communication_first(tmp_path: Path):
    reduce = launched(2, "ncclDevKernel_AllReduce", 20, 75, stream=9)
    selection = chosen(tmp_path, step(1, 0, 100), launched(1, "a", 10, 20), reduce)
    # All-reduce runs 20-95, alone from 30: 65 of 100.
    use = used(selection)
    assert us(use.exposed_communication_s) == 65
    assert selection.selected.first is First.COMMUNICATION
    (share,) = selection.selected.apart
    assert share.apart is Apart.COMMUNICATION
    assert not share.chosen


def test_the_exposed_parts_add_up_and_stand_beside_the_whole(tmp_path: Path):
    # Compute 0-30, all-reduce 20-60, copy 50-80: 30 us of the one and 20 of the other are exposed.
    reduce = launched(2, "ncclDevKernel_AllReduce", 20, 40, stream=9)
    ran = launched(1, "a", 0, 30, asked=0), reduce, copy(50, 30, stream=10)
    selection = chosen(tmp_path, step(1, 0, 100), *ran)
    use = used(selection)
    assert (us(use.communication_s), us(use.exposed_communication_s)) == (40, 30)
    assert (us(use.copy_s), us(use.exposed_copy_s)) == (30, 20)
    assert list(map(us, use.parts.values())) == [30, 30, 20, 20]
    remarks = {name: (amount, remark) for name, amount, _, remark in where(selection)}
    beside = "of 40.0 µs; the rest beside compute", "of 30.0 µs; the rest beside kernels"
    assert remarks["exposed communication"] == ("30.0 µs", beside[0])
    assert remarks["exposed copies"] == ("20.0 µs", beside[1])


def test_communication_that_is_hidden_is_said(tmp_path: Path):
    reduce = launched(2, "ncclDevKernel_AllReduce", 20, 40, stream=9)
    selection = chosen(tmp_path, step(1, 0, 100), launched(1, "a", 0, 90, asked=0), reduce)
    found = {name: rest for name, *rest in where(selection)}
    assert found["exposed communication"] == ["0 s", "0.0 %", "of 40.0 µs; the rest beside compute"]


def test_copies_hide_what_kernels_leave(tmp_path: Path):
    selection = chosen(tmp_path, step(1, 0, 100), launched(1, "a", 50, 3), copy(0, 98))
    use = used(selection)
    assert selection.selected.first is First.COPIES
    assert us(use.kernel_s) == 3
    assert us(use.idle_s) == 2
    assert use.without_gaps_at_most == pytest.approx(100 / 98)
    assert selection.kernels[0].exposed_share == 0
    assert selection.kernels[0].speedup_at_most[0] == 1


def test_overlap_makes_the_bound_a_range(tmp_path: Path):
    # a runs 0-50, all-reduce 30-80: a is alone for 30 of 100, and runs for 50.
    reduce = launched(2, "ncclAllReduce", 30, 50, stream=9)
    selection = chosen(tmp_path, step(1, 0, 100), launched(1, "a", 0, 50, asked=0), reduce)
    (a,) = selection.kernels
    assert (a.exposed_share, a.wall_share) == (pytest.approx(0.3), pytest.approx(0.5))
    assert a.speedup_at_most == (1, pytest.approx(2))
    assert "overlap" in [n.code for n in selection.notes]


def five_steps(*, wobble: int = 0) -> list[Any]:
    """Steps of 100 us: a warm-up of 40 busy, three of 30, a last one of 90; work runs 20 late."""
    events: list[Any] = []
    for i, busy in enumerate([40, 30, 30 + wobble, 30, 90]):
        start = 1000 + 100 * i
        events += [step(i + 2, start, 98), *launched(i, "a", start + 22, busy, asked=start + 2)]
    return events


def test_first_and_last_step_are_left_out(tmp_path: Path):
    selection = chosen(tmp_path, *five_steps())
    device = selection.selected

    assert [s.left_out is None for s in device.steps] == [False, True, True, True, False]
    assert device.steps[0].left_out == "first"
    assert device.counted == 3
    assert device.steady is True
    (a,) = selection.kernels
    assert (a.instances, a.instances_per_step) == (3, 1)
    assert us(a.total_s) == 90


def test_a_step_has_the_name_of_its_range(tmp_path: Path):
    events = [
        e for i in (4, 5, 6) for e in (step(i, 100 * i, 90), launched(i, "a", 100 * i + 5, 50))
    ]
    path = write(tmp_path, trace(*events))
    named = [s.name for s in select(load_timeline(path)).selected.steps]
    assert named == ["ProfilerStep#4", "ProfilerStep#5", "ProfilerStep#6"]
    own = write(tmp_path, trace(*events).replace(b"ProfilerStep#", b"of alice "))
    timeline = load_timeline(own, step="of alice")
    assert [s.name for s in select(timeline).selected.steps] == [None] * 3
    shown = select(timeline, Criteria(own_names=True)).selected
    assert [s.name for s in shown.steps] == ["of alice 4", "of alice 5", "of alice 6"]


@pytest.mark.parametrize(
    ("keep", "counted"), [("inner", 3), ("all", 5), ((2, 3), 2), ((5, 5), 1), ((1, 9), 5)]
)
def test_which_steps_count(tmp_path: Path, keep: Any, counted: int):
    selection = chosen(tmp_path, *five_steps(), keep=keep)
    assert selection.selected.counted == counted
    told = [n.facts for n in selection.notes if n.code == "keep_beyond"]
    assert told == ([{"asked": 9, "steps": 5}] if keep == (1, 9) else [])


def test_no_step_left(tmp_path: Path):
    with pytest.raises(UsageError, match="there are 5"):
        chosen(tmp_path, *five_steps(), keep=(7, 9))


def test_two_steps_both_count(tmp_path: Path):
    selection = chosen(tmp_path, step(1, 0, 50), step(2, 50, 50), launched(1, "a", 10, 20))
    assert selection.selected.counted == 2


def test_different_kernels_are_no_steady_state(tmp_path: Path):
    events = [*five_steps(), *launched(99, "extra", 1260, 5, asked=1255)]
    selection = chosen(tmp_path, *events)
    assert selection.selected.steady is False
    assert "not_steady" in [n.code for n in selection.notes]


def test_other_grids_are_said_and_are_steady(tmp_path: Path):
    events: list[Any] = []
    for i in range(4):
        start = 100 * i
        grid = [8 + i, 1, 1]
        events += [step(i, start, 99), *launched(i + 1, "a", start + 10, 20, grid=grid)]
    selection = chosen(tmp_path, *events)
    assert selection.selected.steady is True
    assert "shapes_vary" in [n.code for n in selection.notes]
    assert len(selection.kernels) == 2
    (merged,) = chosen(tmp_path, *events, by="name").kernels
    assert (merged.instances, merged.grid) == (2, None)


def test_work_belongs_to_the_step_that_launched_it(tmp_path: Path):
    # The device lags: all of step 1's work runs while the host is in step 2.
    events = [step(1, 0, 10), launched(1, "first", 20, 30, asked=5)]
    events += [step(2, 10, 90), launched(2, "second", 50, 30, asked=12)]
    selection = chosen(tmp_path, *events, keep="all")
    one, two = selection.selected.steps
    # Step 1 lasts on the device until its work ends at 50; step 2 until 100.
    assert (us(one.wall_s), us(two.wall_s)) == (50, 50)
    assert (us(one.busy_s), us(two.busy_s)) == (30, 30)
    assert (one.launches, two.launches) == (1, 1)


# Two kernels that run until 200 us, launched before the first call that was recorded.
TAIL = [kernel("old", 90, 60, launch=11), kernel("old", 150, 50, launch=12)]
WAIT = call("cudaDeviceSynchronize", 101, 101, 15)


def test_what_was_launched_before_the_recording_is_in_no_step(tmp_path: Path):
    # Its range is from 100 to 300 us, its work from 220 to 320: it begins when the tail ends.
    own = launched(16, "new", 220, 60, asked=205), launched(17, "new", 280, 40, asked=210)
    selection = chosen(tmp_path, step(1, 100, 200), TAIL, WAIT, *own)
    use = used(selection)
    assert (us(use.wall_s), us(use.compute_s), us(use.idle_s)) == (120, 100, 20)
    (only,) = selection.selected.steps
    assert (us(only.start_s), only.launches) == (110, 2)  # the first event is at 90
    assert [k.name for k in selection.kernels] == ["new"]
    (request,) = selection.requests
    assert request.launch_skip == 2 * 2 + 1  # two warm-up steps of two launches each
    # Twice as fast they end at 270; the host, which waits until 202, needs 98 more for its range.
    saved, _ = selection.selected.twice_saves or (0, 0)
    assert us(saved * use.wall_s) == 22
    note, *_ = map(note_text, selection.notes)
    assert note.startswith("2 of 4 GPU events were launched before the recording began")


def test_a_step_begins_with_its_own_work_where_earlier_work_runs_on(tmp_path: Path):
    # On another stream its first kernel runs at 180, while the tail runs until 200.
    own = launched(16, "new", 180, 60, asked=105, stream=8)
    selection = chosen(tmp_path, step(1, 100, 200), TAIL, own)
    (only,) = selection.selected.steps
    assert (us(only.start_s), us(only.wall_s), only.launches) == (90, 120, 1)


def test_a_step_waits_for_what_was_launched_before_its_range(tmp_path: Path):
    early = launched(1, "setup", 60, 90, asked=50)
    selection = chosen(tmp_path, step(1, 100, 100), early, launched(2, "new", 160, 30))
    use = used(selection)
    assert (us(use.wall_s), us(use.compute_s)) == (50, 30)  # from 150 to the range's end


def test_a_launch_that_was_not_recorded_lies_between_its_neighbours(tmp_path: Path):
    # "unseen" is launched in step 1, as its id says, and runs when the host is in step 2.
    first = [*launched(1, "a", 20, 70, asked=5), call("cudaEventRecord", 8, 1, 2)]
    unseen = kernel("unseen", 110, 30, launch=3)
    second = launched(4, "a", 150, 70, asked=105)
    steps = step(1, 0, 100), step(2, 100, 100)
    selection = chosen(tmp_path, *steps, first, unseen, second)
    assert [s.launches for s in selection.selected.steps] == [2, 1]
    assert [us(s.wall_s) for s in selection.selected.steps] == [140, 80]
    assert [n.code for n in selection.notes if "launch" in n.code] == ["no_launch_record"]


def test_steps_that_overlap_go_from_start_to_start(tmp_path: Path):
    # Each range is open for 1500 us and begins 1000 us after the one before; one is within another.
    events = [step(i, 1000 * i, 1500) for i in range(6)] + [step(9, 2100, 100)]
    events += [launched(i + 1, "gemm", 1000 * i + 100, 400) for i in range(6)]
    device = chosen(tmp_path, *events).selected
    assert [us(s.wall_s) for s in device.steps[:5]] == [1000] * 5
    assert (device.counted, device.kernels[0].instances_per_step) == (4, 1)


def test_a_replay_of_a_window_saves_no_more_than_runs_in_it(tmp_path: Path):
    # 600 of 1000 us each: at half the time 300 go of 1000, whatever the events in the window span.
    events: list[Any] = []
    for i in range(4):
        events += launched(i + 1, "gemm", 1000 * i + 10, 600, asked=1000 * i)
        events.append(call("cudaStreamSynchronize", 1000 * i + 5, 606))
    saved = chosen(tmp_path, *events, start=1_000_000, end=3_000_000).selected.twice_saves
    assert saved is not None
    assert saved[1] == pytest.approx(0.3)
    assert saved[0] == pytest.approx(0.3, abs=1e-3)


def test_a_copy_that_runs_ahead_does_not_end_the_step(tmp_path: Path):
    memcpy = copy(105, 5)
    memcpy["args"]["correlation"] = 50
    events = [step(1, 0, 100), step(2, 100, 100), call("cudaMemcpyAsync", 101, 1, 50), memcpy]
    # The first kernel ends at 150, while the host is in step 2.
    events += launched(1, "a", 20, 130, asked=10) + launched(2, "a", 160, 30, asked=110)
    selection = chosen(tmp_path, *events, keep="all")
    assert [us(s.wall_s) for s in selection.selected.steps] == [150, 50]


def test_a_pause_between_steps_belongs_to_none(tmp_path: Path):
    # Ten times the step passes between the two: an evaluation, not a step.
    events = [step(1, 0, 100), launched(1, "a", 10, 20)]
    events += [step(2, 1100, 100), launched(2, "a", 1110, 20)]
    assert us(used(chosen(tmp_path, *events, keep="all")).wall_s) == 200


def test_steps_by_another_name(tmp_path: Path):
    events = [step(7, 0, 100, "batch {}"), launched(1, "a", 10, 20)]
    assert chosen(tmp_path, *events).steps == "recording"
    assert chosen(tmp_path, *events, step=r"^batch \d+$").steps == "ranges"


def test_ranges_that_are_no_steps_are_noticed(tmp_path: Path):
    # One of three "operators" launches something.
    events = [step(i, 100 * i, 90, "aten::{}") for i in range(3)]
    selection = chosen(tmp_path, *events, launched(1, "a", 110, 20), step="aten", keep="all")
    (note,) = [n for n in selection.notes if n.code == "many_steps"]
    said = "3 ranges are taken for steps, and 2 of the 3 that count launch no"
    assert note_text(note).startswith(said)
    assert "many_steps" not in [n.code for n in chosen(tmp_path, *five_steps()).notes]


def test_nested_ranges_of_one_name_count_once(tmp_path: Path):
    events = [step(1, 0, 100), step(1, 10, 50), launched(1, "a", 10, 20)]
    assert len(chosen(tmp_path, *events).selected.steps) == 1


def test_a_window_instead_of_steps(tmp_path: Path):
    # The origin is the first event, at 1000 us.
    events = [kernel("a", 1000, 10), kernel("a", 1020, 10), kernel("a", 1050, 10)]
    selection = chosen(tmp_path, *events, start=15_000, end=40_000)
    use = used(selection)
    assert selection.steps == "window"
    assert us(use.wall_s) == 25
    assert us(use.busy_s) == 10


def test_an_empty_window(tmp_path: Path):
    with pytest.raises(UsageError, match=r"end 1s is not after start 5s"):
        chosen(tmp_path, kernel("a", 1, 1), start=5 * 10**9, end=10**9)
    with pytest.raises(InputError, match="nothing ran"):
        chosen(tmp_path, kernel("a", 1, 1), start=5_000_000)


def test_a_device_that_idles_in_the_window_is_left_out(tmp_path: Path):
    events = [kernel("a", 1, 90, device=0), kernel("a", 100, 10, device=1)]
    selection = chosen(tmp_path, *events, start=95_000)
    assert [d.index for d in selection.devices] == [1]


def test_devices_are_never_added_up(tmp_path: Path):
    events = [kernel("a", 0, 10, device=0), kernel("a", 0, 30, device=1)]
    selection = chosen(tmp_path, *events)

    assert selection.device == 1  # more kernel time
    assert [us(d.kernels[0].total_s) for d in selection.devices] == [10, 30]
    assert chosen(tmp_path, *events, device=0).kernels[0].device == 0
    assert chosen(tmp_path, *events, device=(0, 5)).device == 0
    assert chosen(tmp_path, *events, device=(0, 1)).device == 1
    with pytest.raises(InputError, match="no kernel ran on device 5"):
        chosen(tmp_path, *events, device=5)


def test_short_kernels_are_apart(tmp_path: Path):
    selection = chosen(tmp_path, kernel("a", 0, 10), *(kernel("s", 20 + i, 0.5) for i in range(30)))
    assert [k.name for k in selection.kernels] == ["a"]
    assert [(k.name, k.apart) for k in selection.selected.apart] == [("s", Apart.SHORT)]


@pytest.mark.parametrize("tenths", range(1, 10))
def test_a_share_that_is_covered_exactly_takes_no_further_kernel(tmp_path: Path, tenths: int):
    events = [kernel(name, 10.1 * i, 10.1) for i, name in enumerate("abcdefghij")]

    some = chosen(tmp_path, *events, top=10, cover=tenths / 10)

    assert len(some.chosen) == tenths


def test_top_and_min_share(tmp_path: Path):
    # Of 100 us: 40, 30, 20, and 0.9 %.
    events = [kernel(n, t, d) for n, t, d in (("a", 0, 40), ("b", 40, 30), ("c", 70, 20))]
    events += [kernel("d", 90, 0.9 * 2.5), kernel("e", 97.75, 2.25)]
    assert [k.name for k in chosen(tmp_path, *events, top=2).chosen] == ["a", "b"]
    many = chosen(tmp_path, *events, top=9, min_share=0.25)
    assert [k.name for k in many.chosen] == ["a", "b"]
    none = chosen(tmp_path, *events, min_share=0.5)
    assert none.chosen == ()
    assert "none_chosen" in [n.code for n in none.notes]
    with pytest.raises(UsageError, match="by is 'size'"):
        Criteria(by="size")  # type: ignore[arg-type]
    short = chosen(tmp_path, kernel("a", 0, 1.5), kernel("b", 2, 1.5))  # each 43 % of the time
    assert "none_to_profile" in [n.code for n in short.notes]


def test_what_counts_as_communication_can_be_said(tmp_path: Path):
    events = [kernel("my_ring_exchange", 0, 10), kernel("ncclSend", 10, 10)]
    selection = chosen(tmp_path, *events, communication="ring")
    assert not selection.kernels  # what is known by name stays communication
    assert {k.apart for k in selection.selected.apart} == {Apart.COMMUNICATION}
    with pytest.raises(UsageError, match="regular expression"):
        chosen(tmp_path, *events, communication="(")


def test_gaps_and_what_the_host_did(tmp_path: Path):
    operator = call("aten::item", 12, 26) | {"cat": "cpu_op"}
    synchronise = call("cudaStreamSynchronize", 61, 18, 50)
    selection = chosen(
        tmp_path,
        launched(1, "a", 5, 5, asked=1),
        operator,
        launched(2, "a", 40, 5, asked=38),  # gap 10-40, launched from 38 to 39
        launched(3, "a", 60, 0.5, asked=43),
        launched(4, "a", 80, 20, asked=50),  # gap 60.5-80, launched long before
        synchronise,
    )
    first, second, third = selection.selected.gaps
    assert (us(first.start_s), us(first.duration_s)) == (9, 30)  # since the first event, at 1
    assert us(first.host_late_s) == 29
    assert (first.doing, us(first.doing_s)) == ("aten::item", 26)
    assert us(second.duration_s) == 19.5
    assert us(second.host_late_s) == 0
    assert second.doing == "cudaStreamSynchronize"
    assert us(third.duration_s) == 15
    assert us(selection.selected.host_late_s) == 29


def test_a_launch_call_that_fills_the_gap_is_late(tmp_path: Path):
    # The call begins 1 us into the gap of 10-40 and returns at 38: it loads the kernel's code.
    late = [call("cudaLaunchKernel", 11, 27, 2), kernel("b", 40, 5, launch=2)]
    selection = chosen(tmp_path, launched(1, "a", 5, 5, asked=1), late)
    gap = selection.selected.gaps[0]
    assert us(gap.duration_s) == 30
    assert us(gap.host_late_s) == 28
    (_, _, _, said), *_ = [row for row in where(selection) if row[0].startswith("idle")]
    assert said == "30.0 µs, in cudaLaunchKernel"


def test_kernels_of_a_graph_that_runs_are_not_late(tmp_path: Path):
    # One call from 0 to 90 launches both; nothing runs from 20 to 80. Times are since 10 us.
    graph = [kernel("a", 10, 10, launch=1), kernel("b", 80, 10, launch=1)]
    selection = chosen(tmp_path, call("cudaGraphLaunch", 0, 90, 1), graph)
    (gap,) = selection.selected.gaps
    assert us(gap.duration_s) == 60
    assert gap.host_late_s == 0
    (cause,) = selection.selected.idle
    assert cause.code == "graph"
    assert "CUDA graph" not in (cause.remedy or "")


def test_a_launch_in_the_first_half_of_a_gap_is_late_too(tmp_path: Path):
    # Launched by 22, 12 of 30 us into the gap.
    selection = chosen(tmp_path, launched(1, "a", 5, 5, asked=1), launched(2, "b", 40, 5, asked=21))
    assert [c.code for c in selection.selected.idle] == ["host_code"]


def test_the_span_is_from_the_first_event_to_the_last(tmp_path: Path):
    ran = launched(1, "a", 10, 20) + launched(2, "a", 50, 20)
    device = chosen(tmp_path, step(1, 0, 100), ran).selected
    assert us(device.span_s) == 60
    assert us(device.span_idle_s) == 20


def test_the_share_of_a_launch(tmp_path: Path):
    selection = chosen(
        tmp_path,
        kernel("void n::k<4, true>(int)", 0, 10),
        kernel("void n::k<8, true>(int)", 10, 20),
        kernel("void n::k<8, true>(int)", 30, 30, grid=[1, 1, 1]),
        kernel("plain", 60, 40),
    )
    grid, block = (64, 1, 1), (128, 1, 1)

    def total(name: str, base: str, grid: Any = grid) -> float | None:
        share = share_of(selection, measurement(base, demangled=name, grid=grid, block=block))
        return None if share is None else us(share.total_s)

    assert total("void n::k<(int)4, (bool)1>(T1)", "k") == 10
    assert total("void n::k<(int)8, (bool)1>(T1)", "k") == 20
    assert total("void n::k<(int)8, (bool)1>(T1)", "k", (1, 1, 1)) == 30
    assert total("void n::k<(int)9, (bool)1>(T1)", "k") is None  # 4 or 8: cannot be told
    assert total("plain", "plain") == 40
    assert total("plain", "plain", (2, 2, 2)) is None
    assert total("absent", "absent") is None


SPANS = st.lists(
    st.tuples(st.integers(0, 500), st.integers(3, 200), st.sampled_from("abcd")),
    min_size=1,
    max_size=15,
)


@SLOW
@given(spans=SPANS)
def test_shares_are_shares(tmp_path: Path, spans: list[tuple[int, int, str]]):
    events = [kernel(n, t, d, stream=i) for i, (t, d, n) in enumerate(spans)]
    selection = chosen(tmp_path, *events)
    use = used(selection)
    assert 0 < use.kernel_s <= use.busy_s <= use.wall_s
    for share in selection.kernels:
        assert share.exposed_share is not None
        assert share.wall_share is not None
        assert 0 <= share.exposed_share <= share.wall_share <= 1
        assert share.kernel_share is not None
        assert 0 < share.kernel_share <= 1
        low, high = share.speedup_at_most
        if low is not None and high is not None:
            assert 1 <= low <= high
    assert sum(k.exposed_share or 0 for k in selection.kernels) <= 1 + 1e-9
    assert sum(k.kernel_share or 0 for k in selection.kernels) == pytest.approx(1)


@SLOW
@given(spans=SPANS, seed=st.randoms(use_true_random=False))
def test_the_order_of_events_changes_nothing(
    tmp_path: Path, spans: list[tuple[int, int, str]], seed: Any
):
    events = [kernel(n, t, d, stream=i) for i, (t, d, n) in enumerate(spans)]
    one = chosen(tmp_path, *events)
    seed.shuffle(events)
    other = chosen(tmp_path, *events)
    assert one.kernels == other.kernels
    assert one.selected.use == other.selected.use


def test_an_empty_window_says_where_gpu_work_lies(tmp_path: Path):
    ran = kernel("a", 60_010, 10), kernel("b", 60_100, 10)
    path = write(tmp_path, trace(call("x", 10, 1), *ran))
    with pytest.raises(InputError, match=r"from 0\.06 s to 0\.0601 s") as refused:
        select(load_timeline(path), Criteria(start=1000, end=2000))
    # The first event of all is at 10 us, the first on the GPU 60,000 us later.
    assert refused.value.hint == (
        "--start 0.060001s --end 0.060002s if you count from where its work begins"
    )
    with pytest.raises(InputError) as refused:
        select(load_timeline(path), Criteria(start=70_000_000))
    assert refused.value.hint == "--start 0.06s --end 0.0601s, or a part of that"
