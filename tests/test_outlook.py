"""The answer in a sentence or two."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from roofline.model import Action, Analysis, Bound, Cause, Note, Result
from roofline.outlook import outlook
from roofline.text.notes import note_text
from roofline.text.outlook import leave
from roofline.view import Choice, choose
from tests.makers import analysis, measurement, result, verdict
from tests.shared import REPORTS, analyzed

GEMM = "nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNT"


def kernel(
    name: str, seconds: float, percent: float = 90.0, unit: str = "dram", **v: Any
) -> Result:
    """One kernel that could be as fast as ``unit`` allows."""
    measured = measurement(name, demangled=name, duration_s=seconds)
    bound = v.get("bound", Bound.BANDWIDTH)
    far = bound is Bound.UNKNOWN or (bound is Bound.LATENCY and percent < 33)
    given = {
        "floor_s": seconds * percent / 100,
        "next_floor_s": None,
        "gain": None if far else 100 / percent,
        "gain_by": None if far else "headroom",
    }
    judged = verdict(nearest=unit, limiter=unit, limiter_percent=percent, **given | v)
    return result(measured, judged)


def near(name: str, seconds: float, percent: float = 90.0, unit: str = "dram") -> Result:
    return kernel(name, seconds, percent, unit, action=Action.LEAVE, action_reason="near_ceiling")


def said(whole: Analysis) -> str:
    return " ".join(note_text(note) for note in outlook(choose(whole, Choice())))


def test_library_kernels_near_their_ceiling_come_first_and_the_rest_is_to_win() -> None:
    one, two = near(GEMM, 6e-3, 82.0, "tensor"), near(f"{GEMM}_2", 2e-3, 79.0, "tensor")
    text = said(analysis(one, two, kernel("mine", 2e-3, 70.0, "l1")))

    assert text == (
        "80 % of the time is in library GEMMs at 79 to 82 % of the tensor pipe's peak: little left "
        "there, but to give them less work (a narrower type such as FP8, a fused epilogue, fewer "
        "or larger calls). Largest saving left: mine, up to 600 µs (6 %)."
    )


@pytest.mark.parametrize("bound", [Bound.LATENCY, Bound.BANDWIDTH])
def test_a_debug_build_is_first_to_be_compiled_with_optimisation(bound: Bound) -> None:
    held = {"bound": bound, "causes": (Cause(code="debug_build", promise="first"),), "gain": None}
    slow, other = kernel("slow", 9e-3, 65.0, "l2", **held), kernel("other", 1e-3, 50.0)

    first = "first compile with optimisation and profile again."
    assert said(analysis(slow)) == f"slow: {first}"
    assert said(analysis(slow, other)).startswith(f"slow takes 90 % of the time: {first} Largest")


@pytest.mark.parametrize(
    ("unit", "at"),
    [
        ("dram", "90 % of DRAM's peak"),
        ("l1", "90 % of L1/shared's peak"),
        ("issue", "90 % of the issue slots' peak"),
    ],
)
def test_a_unit_s_peak(unit: str, at: str) -> None:
    assert at in said(analysis(near("mine", 1e-3, 90.0, unit)))


def test_kernels_of_several_units_near_their_ceilings() -> None:
    text = said(analysis(near("a", 5e-3), near("b", 5e-3, 93.0, "fma")))

    assert text == (
        "All of the time is in kernels near their ceilings (DRAM, FMA pipe): little left there."
    )


def full(name: str, unit: str, **given: Any) -> Result:
    """One at 98 % of a unit, of which half of the time is left with less work for it."""
    known = {"next_floor_s": 1e-3, "next_limiter": "dram", "advice": f"unit.{unit}"} | given
    left = {"action": Action.LEAVE, "action_reason": "near_ceiling"}
    return kernel(name, 2e-3, 98.0, unit, **left, **known)


def test_what_less_work_gives_is_said_of_a_full_unit_whose_work_can_be_lowered() -> None:
    text = said(analysis(full("tiled", "lsu", co_limiter="l1"), near("b", 2e-3)))

    assert text == (
        "All of the time is in kernels near their ceilings (LSU path, DRAM): little left there at "
        "this amount of work. Largest saving with less work for the LSU path and L1/shared: tiled, "
        "up to 1.00 ms (25 %)."
    )


@pytest.mark.parametrize(
    "other",
    [
        full("bytes", "dram"),  # these and the operations are the problem's own
        full("products", "fma"),
        full("a library's", "lsu", advice="caller.gemm"),
        full("little", "lsu", next_floor_s=1.95e-3),
    ],
)
def test_of_other_full_units_nothing_is_said(other: Result) -> None:
    assert "less work" not in said(analysis(other))


def test_less_work_is_not_told_of_beside_a_saving_that_is_larger() -> None:
    text = said(analysis(full("tiled", "lsu"), kernel("b", 5e-3, 50.0, "l2")))
    assert "tiled" not in text


def test_one_kernel_that_is_limited() -> None:
    assert said(analysis(kernel("mine", 1e-3, 70.0, "l1"))) == (
        "mine is limited by L1/shared, 70 % busy. Largest saving left: up to 300 µs (30 %)."
    )


NAIVE = {"co_limiter": "lsu", "next_limiter": "issue"}


@pytest.mark.parametrize(
    ("next_s", "given", "end"),
    [
        (0.24e-3, {}, "L1/shared and the LSU path up to 76 %."),
        (0.24e-3, {"next_limiter": "lsu"}, "work for L1/shared up to 76 %."),
        (0.01e-3, {}, "L1/shared and the LSU path more than 90 %."),  # no more than 10x is promised
    ],
)
def test_room_under_a_ceiling_is_that_of_this_amount_of_work(
    next_s: float, given: dict[str, Any], end: str
) -> None:
    text = said(analysis(kernel("mine", 1e-3, 83.0, "l1", next_floor_s=next_s, **NAIVE | given)))

    assert "Largest saving at this amount of work: up to 170 µs (17 %); with less work for" in text
    assert text.endswith(end)


def test_less_work_is_of_the_kernel_s_share_of_the_time() -> None:
    mine = kernel("mine", 1e-3, 83.0, "l1", next_floor_s=0.2e-3, **NAIVE)
    assert said(analysis(mine, near("b", 1e-3))).endswith("the LSU path up to 40 %.")


@pytest.mark.parametrize(
    "given",
    [{"next_floor_s": 0.8e-3}, {"next_floor_s": 0.2e-3, "gain_by": "waste", "waste_floor_s": 4e-4}],
)
def test_less_work_is_not_told_of_where_it_gives_no_more_or_waste_is_proven(
    given: dict[str, Any],
) -> None:
    assert "amount of work" not in said(analysis(kernel("mine", 1e-3, 83.0, "l1", **given)))


def test_the_longest_of_several_and_the_largest_saving() -> None:
    text = said(analysis(kernel("long", 6e-3, 80.0), kernel("short", 4e-3, 61.0, "l1")))

    assert text == (
        "long takes 60 % of the time and is limited by DRAM, 80 % busy. "
        "Largest saving left: short, up to 1.56 ms (16 %)."
    )


def test_a_proven_saving_comes_before_the_room_under_a_ceiling() -> None:
    proven = kernel("short", 4e-3, 80.0, "l1", gain=1.25, gain_by="waste")
    text = said(analysis(kernel("long", 6e-3, 62.0), proven))

    assert text.endswith("Largest saving that counters prove: short, up to 800 µs (8 %).")


def test_a_library_s_kernel_is_for_its_callers() -> None:
    mine = kernel("flash_fwd_kernel", 1e-3, 61.0, "tensor", action=Action.CALLER)
    assert said(analysis(mine)).endswith("(39 %), by what calls it: it is a library's kernel.")


@pytest.mark.parametrize(
    ("percent", "end"),
    [
        (50.0, "Largest saving left: up to 500 µs (50 %)."),
        # too far from every ceiling for a bound to say anything
        (20.0, "What hiding latency would save, no counter predicts."),
    ],
)
def test_a_kernel_that_waits(percent: float, end: str) -> None:
    text = said(analysis(kernel("mine", 1e-3, percent, bound=Bound.LATENCY)))

    assert text == f"mine waits: the busiest unit, DRAM, is at {percent:.0f} %. {end}"


def test_savings_too_small_to_matter() -> None:
    text = said(analysis(kernel("a", 1e-3, 99.5), kernel("b", 1e-3, 99.6)))
    assert text.endswith("Nothing promises 1 % or more of the time.")


def test_initialisation_profiled_by_accident() -> None:
    name = "void at::native::distribution_elementwise_grid_stride_kernel<float, 4>(int)"
    made = kernel(name, 6e-3, action=Action.LEAVE, action_reason="initialisation")
    text = said(analysis(made, kernel("mine", 4e-3)))

    assert text.startswith("60 % of the time is random initialisation or fill (distribution_")
    assert "choose another kernel with roofline profile --kernel NAME PROGRAM." in text
    assert said(analysis(replace(made), kernel("mine", 7e-3))).startswith("mine takes 54 %")


def test_nothing_to_say_of_times_that_are_not_there() -> None:
    assert outlook(choose(analysis(result(measurement(duration_s=None))), Choice())) == (
        Note(code="no_times"),
    )
    unknown = kernel("mine", 1e-3, bound=Bound.UNKNOWN)
    assert said(analysis(unknown)) == "mine cannot be judged: too little was measured."


def test_why_a_kernel_is_left_alone() -> None:
    assert leave(near("a", 1e-3)) == "near its ceiling: the best kernels reach 85 % of DRAM"
    caller = kernel("a", 1e-3, action=Action.CALLER, action_reason="library")
    assert leave(caller) == "a library's kernel: what calls it can change, not the kernel"
    assert leave(kernel("a", 1e-3)) == ""


@pytest.mark.skipif(not REPORTS, reason="no public reports beside the repository")
def test_four_public_reports_hold_nothing_but_random_numbers() -> None:
    found = []
    for path in REPORTS:
        if "AlpriElse" in path.name:
            codes = [note.code for note in outlook(choose(analyzed(path), Choice()))]
            if codes == ["initialisation"]:
                found.append(path.name)
    assert len(found) == 4


def test_work_that_can_go_and_has_no_bound_is_said_to_have_none() -> None:
    open_ = {"causes": (Cause(code="host_memory", promise="unbounded"),), "gain": None}
    open_ |= {"bound": Bound.LATENCY, "gain_by": "unbounded"}
    far, mine = kernel("far", 6e-3, 23.0, **open_), kernel("mine", 2e-3, 70.0, "l1")

    assert said(analysis(far, mine)).endswith(
        "No counter says what it saves to copy or prefetch the data to the GPU. Largest saving "
        "left: mine, up to 600 µs (8 %)."
    )
    first = said(analysis(kernel("long", 9e-3), far))
    assert "copy or prefetch the data to the GPU (far)" in first
    # Where another saves more than all of its time, that comes first.
    assert "No counter" not in said(analysis(kernel("long", 9e-3, 20.0), far))


def test_what_is_beyond_the_promise_is_more_than_that() -> None:
    ten = kernel("ten", 5e-3, gain=10.0, gain_by="waste")
    assert said(analysis(ten)).endswith("Largest saving left: more than 4.50 ms (90 %).")
