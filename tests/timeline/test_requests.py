"""Which launches the commands meet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.errors import UsageError
from roofline.render.selection import command
from roofline.text.notes import note_text
from roofline.timeline import load_timeline, select
from roofline.timeline.model import Basis, Criteria, Selection
from roofline.timeline.requests import _shortest
from tests.timeline.made import CALLS, KERNELS, NVTX, Export, kernel, launched, step, trace, write


def exported(
    folder: Path, names: str, *, first: int = 1, ranges: Any = (), **wanted: Any
) -> Selection:
    """Kernels one after the other, each 100 us long and launched 10 us before it runs."""
    made = Export(folder / "report.sqlite", KERNELS, CALLS, NVTX)
    for i, name in enumerate(names):
        start = 1000 + i * 200_000
        made.call("cudaLaunchKernel", start, start + 10, first + i)
        made.kernel(
            f"void {name}<int>(int)",
            start + 10_000,
            start + 110_000,
            correlation=first + i,
            mangled=f"_Z1{name}IiEvi",
        )
    for name, begin, end in ranges:
        made.range(name, 1000 + begin * 200_000 - 500, 1000 + end * 200_000 - 500)
    timeline = load_timeline(made.done(), step=r"^(step|train)" if ranges else None)
    return select(timeline, Criteria(**wanted))


def test_a_recording_from_the_start_is_counted(tmp_path: Path):
    # Launches: a a b a c b. The shortest stretches with all three are "b a c" and "a c b".
    (request,) = exported(tmp_path, "aabacb").requests

    assert request.basis is Basis.COUNTED
    assert (request.launch_skip, request.launch_count) == (3, 3)
    assert command(request) == (
        "roofline profile --kernel-name a --kernel-name b --kernel-name c --launch-skip 3 "
        "--launch-count 3 -- PROGRAM"
    )


def test_launches_that_do_not_match_are_not_counted(tmp_path: Path):
    # Of b a b a b a only "a" is chosen; its second launch, the middle one, is the fourth of all.
    (request,) = exported(tmp_path, "bababa", top=1).requests
    assert request.names == ("a",)
    assert (request.launch_skip, request.launch_count) == (1, 1)


def test_only_a_window_that_counts_is_profiled(tmp_path: Path):
    # The window begins at 0.7 ms: the first four launches are before it.
    (request,) = exported(tmp_path, "aaaaa", start=700_000).requests
    assert (request.launch_skip, request.launch_count) == (4, 1)


def test_a_range_named_once_is_exact(tmp_path: Path):
    ranges = [("step 1", 0, 2), ("step 2", 2, 4), ("step 3", 4, 6)]
    (request,) = exported(tmp_path, "ababab", first=9000, ranges=ranges).requests

    assert request.basis is Basis.RANGE
    assert request.nvtx == "step 2"
    assert (request.launch_skip, request.launch_count) == (0, 2)
    assert " --nvtx 'step 2' " in command(request)


def test_ranges_of_one_name_are_counted_from_the_start(tmp_path: Path):
    ranges = [("train", 0, 2), ("train", 2, 4), ("train", 4, 6)]
    (request,) = exported(tmp_path, "ababab", ranges=ranges).requests
    assert request.basis is Basis.RANGE
    assert (request.nvtx, request.launch_skip, request.launch_count) == ("train", 2, 2)


def test_ranges_of_one_name_are_an_estimate_otherwise(tmp_path: Path):
    ranges = [("train", 0, 2), ("train", 2, 4), ("train", 4, 6)]
    (request,) = exported(tmp_path, "ababab", first=9000, ranges=ranges, warmup_steps=5).requests
    assert request.basis is Basis.ESTIMATED
    assert (request.nvtx, request.launch_skip, request.launch_count) == ("train", 10, 2)


def test_a_range_that_may_be_private_is_not_repeated(tmp_path: Path):
    ranges = [(f"step {i} of /home/alice/job", 2 * i, 2 * i + 2) for i in range(3)]
    (request,) = exported(tmp_path, "ababab", first=9000, ranges=ranges).requests
    assert request.nvtx is None
    assert request.basis is Basis.ESTIMATED


def test_launches_are_counted_where_a_range_cannot_be_named(tmp_path: Path):
    # Every launch from the start of the process is there: step 1 begins after two of them.
    ranges = [(f"step {i} of /home/alice/job", 2 * i, 2 * i + 2) for i in range(3)]
    (request,) = exported(tmp_path, "ababab", ranges=ranges).requests
    assert (request.nvtx, request.basis) == (None, Basis.COUNTED)
    assert (request.launch_skip, request.launch_count) == (2, 2)
    assert request.notes == ()


def test_a_recording_that_begins_late_and_has_no_steps(tmp_path: Path):
    (request,) = exported(tmp_path, "abab", first=9000).requests
    assert request.basis is Basis.UNKNOWN
    assert request.per_config
    assert request.launch_skip is None
    assert request.name_base == "mangled"
    assert request.names == ("_Z1aIiEvi", "_Z1bIiEvi")
    assert [n.code for n in request.notes] == ["instance_unknown"]
    assert command(request).endswith("--name-base mangled --launch-count 1 --per-config -- PROGRAM")


def traced(folder: Path, per_step: list[tuple[str, int]], **wanted: Any) -> Selection:
    """Four steps of Kineto, each with kernels (name, grid) of 10 us."""
    events: list[Any] = []
    number = 0
    for i in range(4):
        start = 1000.0 * i
        events.append(step(i, start, 999))
        for j, (name, grid) in enumerate(per_step):
            number += 1
            events += launched(number, name, start + 10 + 12 * j, 10, grid=[grid, 1, 1])
    timeline = load_timeline(write(folder, trace(*events)))
    return select(timeline, Criteria(min_share=0, **wanted))


def test_a_trace_of_steps_is_extrapolated_and_says_so(tmp_path: Path):
    # A step launches f(8) f(9) f(8) g; with top 3 all are wanted, found together at f(9) f(8) g.
    selection = traced(tmp_path, [("f", 8), ("f", 9), ("f", 8), ("g", 1)], top=3, warmup_steps=3)
    (request,) = selection.requests
    assert request.basis is Basis.ESTIMATED
    assert request.names == ("f", "g")
    assert (request.launch_skip, request.launch_count) == (3 * 4 + 1, 3)
    assert "3 steps like the one seen" in note_text(request.notes[0])


def test_kernels_of_one_name_are_told_apart_by_their_place(tmp_path: Path):
    # f(8) takes two of three launches, so it is chosen; f(9) of the same name is not profiled.
    selection = traced(tmp_path, [("f", 9), ("f", 8), ("f", 8)], top=1, warmup_steps=2)
    (request,) = selection.requests
    assert request.kernels[0].grid == (8, 1, 1)
    assert (request.launch_skip, request.launch_count) == (2 * 3 + 2, 1)


def test_kernels_far_apart_get_runs_of_their_own(tmp_path: Path):
    # 40 launches of "f" with grid 1 lie between grids 2 and 3; the two are too far apart.
    kernels = [("f", 2), *[("f", 1)] * 40, ("f", 3)]
    timeline = traced(tmp_path, kernels, top=3)
    grids = [[k.grid and k.grid[0] for k in r.kernels] for r in timeline.requests]
    assert sorted(map(sorted, grids)) == [[1, 2], [3]]  # type: ignore[type-var]
    assert all(r.launch_count <= 2 for r in timeline.requests)


def test_a_process_on_two_devices_is_not_counted(tmp_path: Path):
    made = Export(tmp_path / "two.sqlite", KERNELS, CALLS)
    for i in range(4):
        made.call("cudaLaunchKernel", 1000 * i, 1000 * i + 10, i + 1)
        made.kernel("k", 10_000 * i, 10_000 * i + 5000, correlation=i + 1, device=i % 2)
    (request,) = select(load_timeline(made.done())).requests
    assert request.basis is Basis.UNKNOWN


def test_nothing_chosen_gives_no_command(tmp_path: Path):
    timeline = load_timeline(write(tmp_path, trace(kernel("a", 0, 10), kernel("b", 20, 10))))
    assert select(timeline, Criteria(min_share=1)).requests == ()  # each takes a third


def test_a_library_kernel_needs_no_quoting(tmp_path: Path):
    name = "void cutlass::Kernel2<cutlass_80>(cutlass_80::Params)"
    timeline = load_timeline(write(tmp_path, trace(kernel(name, 0, 10))))
    (request,) = select(timeline).requests
    assert command(request).startswith("roofline profile --kernel-name Kernel2 ")


@pytest.mark.parametrize(
    ("sequence", "kinds", "found"),
    [
        ([0, 1], 2, (0, 2)),
        ([0, -1, 1, 0], 2, (2, 2)),
        ([0, 1, 0, 1, 0], 2, (2, 2)),  # the middle one of four
        ([0, -2, 1], 2, None),  # the launch in between must not be profiled
        ([0, 0, 0], 2, None),
        ([], 1, None),
    ],
)
def test_the_shortest_stretch(sequence: list[int], kinds: int, found: tuple[int, int] | None):
    assert _shortest(np.array(sequence, dtype=np.int64), kinds) == found


@given(sequence=st.lists(st.integers(-2, 2), max_size=20))
def test_no_stretch_is_shorter(sequence: list[int]):
    def holds(first: int, length: int) -> bool:
        part = sequence[first : first + length]
        return {0, 1, 2} <= set(part) and -2 not in part

    fitting = [
        (first, length)
        for first in range(len(sequence))
        for length in range(1, len(sequence) - first + 1)
        if holds(first, length)
    ]
    found = _shortest(np.array(sequence, dtype=np.int64), 3)
    assert (found is None) == (not fitting)
    if found is not None:
        assert found in fitting
        assert found[1] == min(length for _, length in fitting)


@pytest.mark.parametrize("share", [float("nan"), -0.1, 1.1])
def test_a_share_is_a_share(share: float):
    with pytest.raises(UsageError, match="from 0 to 1"):
        Criteria(min_share=share)
