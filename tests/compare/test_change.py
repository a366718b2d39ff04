"""Time, work and cause of a change; NVIDIA's own examples are in test_examples."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.compare.change import busy_ratio, changes_of, step_gain
from roofline.compare.gates import judge, parse_gate
from roofline.compare.judge import compare
from roofline.compare.model import KernelPair
from roofline.compare.predictions import parse_claim, parse_expect
from roofline.kernel_names import first_difference
from roofline.model import Bound, Stall
from roofline.render import comparison_json
from roofline.render.comparison import cell, sentence, totals
from roofline.text.notes import note_text
from tests.compare import pairs
from tests.compare.pairs import IDLE, capture, compared, launch, one

# --- time ----------------------------------------------------------------------------------------


def repeated(before_us: list[float], after_us: list[float]) -> KernelPair:
    left = capture(*(launch(us=us, index=i) for i, us in enumerate(before_us)))
    right = capture(*(launch(us=us, index=i) for i, us in enumerate(after_us)))
    return compare(left, right).pairs[0]


def test_a_single_launch_has_the_assumed_noise() -> None:
    # 1000 / 980 is 1.0204, less than 3 %; 1000 / 960 is 1.042, more.
    assert one(launch(us=1000), launch(us=980)).outcome == "no_change"
    assert one(launch(us=1000), launch(us=960)).outcome == "faster"


def test_short_kernels_have_more_noise() -> None:
    # The same 4.2 %, at 10 us: under 5 %.
    assert one(launch(us=10), launch(us=9.6)).outcome == "no_change"


def test_the_user_may_state_the_noise() -> None:
    assert one(launch(us=1000), launch(us=980), noise=0.01).outcome == "faster"
    assert one(launch(us=1000), launch(us=800), noise=0.30).outcome == "no_change"
    # Launches scatter by 20 %, but the user knows that 2 % are a change.
    scattered = [capture(launch(us=900), launch(us=1100)), capture(launch(us=1078), launch(us=882))]
    (pair,) = compare(*scattered, noise=0.01).pairs
    assert pair.timing is not None
    assert (pair.outcome, pair.timing.noise) == ("faster", pytest.approx(0.01))
    assert compare(*scattered).pairs[0].outcome == "no_change"


def test_a_difference_within_the_spread_is_no_change() -> None:
    # In order: 100/101, 110/97, 104/106: ratios 0.981 to 1.134 include 1.
    pair = repeated([100, 110, 104], [101, 97, 106])

    assert pair.outcome == "no_change"
    assert pair.timing is not None
    assert pair.timing.low == pytest.approx(104 / 106)
    assert pair.timing.high == pytest.approx(110 / 97)


def test_a_difference_beyond_the_spread_is_one_even_if_small() -> None:
    # 2 % on every launch: ratios 1.0200 to 1.0206, and the floor of repeats is 1 %.
    pair = repeated([1020, 1021, 1020], [1000, 1000.4, 1000])

    assert pair.outcome == "faster"
    assert pair.timing is not None
    assert pair.timing.noise_how == "spread of the launches"


def test_launches_with_different_data_are_compared_in_their_order() -> None:
    # Durations spread 10 times, yet each launch is 1.25x faster.
    pair = repeated([100, 1000, 500], [80, 800, 400])

    assert pair.outcome == "faster"
    assert pair.timing is not None
    assert pair.timing.speedup == pytest.approx(1.25)
    # The noise is the floor of 1 %, not the spread of sizes.
    assert pair.timing.noise == pytest.approx(0.01)


def test_unequal_numbers_of_launches_compare_by_their_ranges() -> None:
    # 95..105 before, 96..106 after: the ranges overlap.
    pair = repeated([95, 105], [96, 100, 106])

    assert pair.outcome == "no_change"
    assert pair.timing is not None
    assert pair.timing.low == pytest.approx(95 / 106)
    assert any(n.code == "launch_count" for n in pair.notes)


def test_figures_are_per_launch_where_the_counts_differ() -> None:
    pair = repeated([100, 100, 100, 100], [50, 50])

    assert pair.timing is not None
    assert pair.timing.speedup == pytest.approx(2.0)
    assert pair.before.measured.duration_s == pytest.approx(100e-6)
    assert pair.before.measured.dram_bytes == pytest.approx(0.9e9)


def test_outliers_of_many_launches_do_not_decide() -> None:
    # 40 launches at 1.25x and two (5 %) that are the other way round: cut off.
    pair = repeated([100.0] * 38 + [50, 50], [80.0] * 38 + [160, 160])

    assert pair.outcome == "faster"


def test_no_credit_for_a_clock() -> None:
    # The same cycles: 1.2x the clock, 1.2x less time; both limited by a unit of the SM.
    use = {"fma": 85.0, "dram": 20.0}
    pair = one(
        launch(us=1200, sm_clock_hz=1.0e9, use=use), launch(us=1000, sm_clock_hz=1.2e9, use=use)
    )

    assert pair.outcome == "no_change"
    assert pair.basis == "equal_clocks"
    assert pair.cause.code == "clock"
    assert pair.timing is not None
    assert pair.timing.speedup == pytest.approx(1.2)
    assert pair.timing.speedup_low == pytest.approx(1.0)


def test_the_sm_clock_does_not_excuse_a_dram_bound_kernel() -> None:
    # DRAM limits both at the same DRAM clock: 1.2x is its own, whatever the SMs ran at.
    pair = one(launch(us=1200, sm_clock_hz=1.0e9), launch(us=1000, sm_clock_hz=1.2e9))

    assert pair.outcome == "faster"
    assert pair.timing is not None
    assert pair.timing.clock_used == "dram"


def test_a_slower_clock_does_not_hide_a_gain() -> None:
    # 10 % fewer hertz and the same time is 1.11x fewer cycles.
    use = {"fma": 85.0, "dram": 20.0}
    pair = one(launch(us=1000, use=use), launch(us=1000, sm_clock_hz=0.9e9, use=use))

    assert pair.outcome == "faster"
    assert pair.timing is not None
    assert pair.timing.speedup_low == pytest.approx(1 / 0.9)


def test_where_the_limit_is_not_known_both_clocks_bound_the_claim() -> None:
    use = {"fma": 30.0, "dram": 35.0}  # latency
    pair = one(
        launch(us=1200, sm_clock_hz=1.0e9, use=use), launch(us=1000, sm_clock_hz=1.2e9, use=use)
    )

    assert pair.outcome == "no_change"
    assert pair.timing is not None
    assert (pair.timing.speedup_low, pair.timing.speedup_high) == pytest.approx((1.0, 1.2))


def test_without_a_duration_nothing_is_judged() -> None:
    pair = one(launch(duration_s=None), launch())

    assert pair.outcome == "unknown"
    assert pair.timing is None
    assert "no duration was measured before" in sentence(pair)


def test_a_fusion_is_compared_in_total() -> None:
    # Twice scale (100 us) and softmax (300 us) against twice fused (200 us): 800 to 400.
    left = capture(
        *(launch("scale", demangled="scale", us=100, index=i) for i in range(2)),
        *(launch("softmax", demangled="softmax", us=300, index=i) for i in range(2, 4)),
    )
    right = capture(*(launch("fused", demangled="fused", us=200, index=i) for i in range(2)))
    maps = [("scale", "fused"), ("softmax", "fused")]

    (pair,) = compare(left, right, maps=maps).pairs

    assert (pair.kind, pair.per) == ("many_to_one", "total")
    assert pair.timing is not None
    assert pair.timing.speedup == pytest.approx(2.0)
    assert pair.before.measured.dram_bytes == pytest.approx(4 * 0.9e9)
    assert pair.after.measured.dram_bytes == pytest.approx(2 * 0.9e9)
    assert pair.before.utilization["dram"] == pytest.approx(90)
    assert pair.outcome == "faster"
    assert sentence(pair).startswith(
        "2.00x faster with 2.00x fewer DRAM bytes (3.60 GB to 1.80 GB)"
    )
    assert "times are totals of 4 and 2 launches" in note_text(pair.notes[0])


# --- work ----------------------------------------------------------------------------------------

NO_OPERATIONS: dict[str, Any] = {"operations": {}}


def sized(factor: float, us: float, **values: Any) -> KernelPair:
    """The problem grown by ``factor`` in every way, taking ``us`` instead of 1000."""
    grown = {
        "grid": (round(100 * factor), 1, 1),
        "operations": {"fp32": 75e6 * factor},
        "dram_bytes": 0.9e9 * factor,
    }
    return one(launch(us=1000), launch(us=us, **(grown | values)))


def test_another_problem_size_is_judged_by_unit_of_work() -> None:
    # Twice the problem in 1.5 times the time: 1.33x faster by unit of work.
    pair = sized(2, us=1500)

    assert pair.work.status == "different"
    assert pair.work.speedup == pytest.approx(2 / 1.5)
    assert (pair.outcome, pair.basis) == ("faster", "equal_work")
    assert "another problem size" in sentence(pair)
    assert "1.33x faster per unit of work" in sentence(pair)
    # At 1.25 times both clocks, of which either limits, 1.07x to 1.33x are left.
    clocked = sized(2, us=1500, sm_clock_hz=1.25e9, dram_clock_hz=1.25e9, use={"l2": 80})
    slower = sized(2, us=3000, sm_clock_hz=1.25e9, dram_clock_hz=1.25e9, use={"l2": 80})
    assert clocked.outcome == "faster"
    assert "at equal clocks 1.07x to 1.33x faster per unit of work" in map(note_text, clocked.notes)
    assert "at equal clocks 1.88x to 1.50x slower per unit of work" in map(note_text, slower.notes)


def test_a_larger_problem_is_no_regression() -> None:
    assert sized(2, us=2000).outcome == "no_change"
    assert sized(2, us=2400).outcome == "slower"


def test_a_larger_problem_on_a_fixed_grid_is_seen_too() -> None:
    # A grid-stride loop: the same grid, operations and bytes agree.
    assert sized(2, us=2000, grid=(100, 1, 1)).work.status == "different"


def test_fewer_operations_at_the_same_bytes_are_an_optimisation() -> None:
    pair = one(launch(us=1000), launch(us=500, operations={"fp32": 30e6}))

    assert pair.work.status == "same"
    assert pair.work.ratio == pytest.approx(0.4)
    assert pair.outcome == "faster"


def test_another_grid_with_the_same_operations_is_the_same_work() -> None:
    pair = one(launch(), launch(us=800, grid=(25, 1, 1)))

    assert pair.work.status == "same"
    assert pair.work.measure == "operations"


def test_without_operations_bytes_and_threads_must_agree() -> None:
    bigger = launch(us=2000, grid=(200, 1, 1), dram_bytes=1.8e9, **NO_OPERATIONS)
    regridded = launch(us=900, grid=(200, 1, 1), **NO_OPERATIONS)

    assert one(launch(**NO_OPERATIONS), bigger).work.status == "different"
    assert one(launch(**NO_OPERATIONS), regridded).work.status == "same"


def test_with_nothing_but_another_grid_nothing_is_claimed() -> None:
    bare: dict[str, Any] = {"operations": {}, "dram_bytes": None}
    pair = one(launch(**bare), launch(us=500, grid=(50, 1, 1), **bare))

    assert pair.work.status == "unknown"
    assert any("cannot be told from another problem size" in note_text(n) for n in pair.notes)


def test_a_far_smaller_grid_with_far_less_work_is_no_gain_to_speak_of() -> None:
    # A hundredth of the threads, the units as busy for a hundredth of the time.
    bare: dict[str, Any] = {"operations": {}, "dram_bytes": None, "use": {"l1": 80, "issue": 70}}
    large, small = launch(us=5000, **bare), launch(us=50, grid=(1, 1, 1), **bare)
    pair = one(large, small)

    assert pair.doubtful
    assert sentence(pair).startswith("probably another problem size (100x faster by time): ")
    assert "1 not judged (1 probably of another problem size)" in totals(compared(large, small))
    assert one(small, large).doubtful
    # Fewer threads that do all of the work may be the point.
    assert not one(large, launch(us=4500, grid=(1, 1, 1), **bare)).doubtful


def test_a_kernel_that_stopped_doing_its_work_got_no_faster() -> None:
    # 604 MOP to none in 15.2 to 9.34 us at the same bytes: 1.63x by the time alone.
    few: dict[str, Any] = {"dram_bytes": 761e3, "use": IDLE | {"l2": 19.0, "dram": 3.0}}
    tiles = launch(us=15.2, grid=(96, 1, 1), operations={"tensor_int4": 604e6}, **few)
    nothing = launch(us=9.34, grid=(32, 1, 1), operations={"tensor_int4": 0.0}, **few)
    asked = [parse_expect("kernel=1.6x"), parse_claim("kernel=operations")]
    comparison = compared(tiles, nothing, expectations=asked)
    pair = comparison.pairs[0]

    assert (pair.work.status, pair.outcome, pair.cause.code) == ("gone", "unknown", "work_gone")
    assert pair.work.ratio == 0
    assert sentence(pair).startswith("604 MOP to 0 OP: AFTER does not do this work")
    assert "check its results (1.63x faster by time)" in sentence(pair)
    assert {p.judgement for p in pair.predictions} == {"not_testable"}
    (gate,) = judge(comparison, [parse_gate("regression=5%")])
    assert (gate.status, gate.text.code) == ("not_judged", "work_gone")
    assert comparison.before_paired_s is None
    written = json.loads(comparison_json.render(comparison))
    assert (written["gain"], written["counts"]) == (None, {"unknown": 1})
    assert written["pairs"][0]["doubt"].startswith("604 MOP to 0 OP")
    assert totals(comparison) == "1 kernel paired: 1 not judged (1 without the work)"
    # A copy that a scale was fused into still does its work, which is to move the bytes.
    assert one(launch(operations={"fp32": 0.0}), launch()).work.status == "same"
    # A thousandth is left of what was predicated away, more is another algorithm.
    assert one(tiles, replace(nothing, operations={"tensor_int4": 6e5})).work.status == "gone"
    assert one(tiles, replace(nothing, operations={"tensor_int4": 7e5})).work.status != "gone"
    back = one(nothing, tiles)
    assert (back.work.status, back.outcome) == ("gone", "unknown")
    assert sentence(back).startswith("0 OP to 604 MOP: BEFORE does not do this work")
    # What was not measured after is no work that is gone.
    assert one(tiles, replace(nothing, operations={})).work.status != "gone"


def test_as_many_threads_prove_no_problem_size_where_nothing_else_was_measured() -> None:
    # A grid-stride loop: 36 times the work for the issue slots on the same grid.
    bare: dict[str, Any] = {"operations": {}, "dram_bytes": None}
    little = launch(us=30, use={"issue": 70, "xu": 15}, **bare)
    much = launch(us=1080, use={"issue": 70, "xu": 0.1}, **bare)
    pair = one(little, much)

    assert (pair.work.status, pair.work.text.code) == ("unknown", "only_threads_agree")
    assert pair.outcome == "unknown"
    assert sentence(pair).startswith("probably another problem size (36.0x slower by time)")
    asked = compared(much, little, expectations=[parse_expect("kernel=20x..40x")])
    (gate,) = judge(asked, [parse_gate("regression")])
    assert (gate.status, gate.text.code) == ("not_judged", "size_probably_differs")
    (said,) = (p for p in asked.pairs[0].predictions if p.by == "user")
    assert (said.judgement, said.reason.code) == ("not_testable", "size_probably_differs")
    # Less than tenfold may be the point.
    assert one(much, launch(us=120, use={"issue": 70, "xu": 15}, **bare)).outcome == "faster"
    assert any("cannot be told from another problem size" in note_text(n) for n in pair.notes)
    # The same work at a higher rate is the same problem, as are known bytes.
    assert one(little, launch(us=24, use={"issue": 87.5}, **bare)).work.status == "same"
    known = {"operations": {}, "dram_bytes": 1e6}
    assert one(launch(us=30, **known), launch(us=60, **known)).work.status == "same"


def test_a_pair_by_base_name_tells_the_template_argument_that_differs() -> None:
    names = [f"void strided<float, 4, {what}<float>>(int)" for what in ("normal", "uniform")]
    pair = one(*(launch("strided", demangled=name) for name in names))

    (told,) = map(note_text, pair.notes)
    assert "; in the template arguments normal became uniform; --map corrects it" in told
    assert first_difference("a_kernel<2>", "b_kernel<2>") is None
    assert first_difference("kernel", "kernel") is None


def test_a_gain_that_a_lower_clock_took_back_is_said_at_equal_clocks() -> None:
    # DRAM-bound, 1.25 times fewer bytes at 0.8 of the clock: the same time.
    before = launch(us=1000, dram_bytes=1e9)
    after = launch(us=1000, dram_bytes=0.8e9, dram_clock_hz=0.8e9)
    pair = one(before, after)

    assert pair.outcome == "faster"
    assert cell(pair) == "1.25x faster"
    assert sentence(pair).startswith(
        "1.25x faster at equal clocks (1.00x by time) with 1.25x fewer"
    )


def test_two_kernels_that_only_stand_alone_are_said_to_pair_so() -> None:
    naive, tiled = launch("naive", demangled="naive"), launch("tiled", demangled="tiled", us=500)
    text = totals(compared(naive, replace(tiled, grid=(3, 1, 1))))

    assert text.startswith("1 kernel paired (the only one of each side, under another name): 1 f")


def test_amounts_that_are_about_the_same_are_both_said() -> None:
    pair = one(launch(us=1000, dram_bytes=2.48e9), launch(us=900, dram_bytes=2.52e9))

    assert "at about the same DRAM bytes (2.48 GB to 2.52 GB)" in sentence(pair)


def test_a_second_limiter_as_near_is_named() -> None:
    use = {"dram": 85, "issue": 81, "l2": 20}
    assert "limited by DRAM at 85 % (co-limited: issue slots 81 %)" in sentence(
        one(launch(us=1000, use=use), launch(us=700, use=use))
    )


def test_every_unit_with_a_quarter_of_the_work_is_suspicious() -> None:
    bare: dict[str, Any] = {"operations": {}, "dram_bytes": None}
    use = {"issue": 70.0, "alu": 60.0, "l1": 40.0, "l2": 30.0}
    pair = one(launch(us=1000, use=use, **bare), launch(us=250, use=use, **bare))

    assert pair.work.status == "unknown"
    assert any("every unit has 0.250x the work" in note_text(n) for n in pair.notes)


# --- cause ---------------------------------------------------------------------------------------


def test_faster_by_fewer_bytes() -> None:
    pair = one(*pairs.fewer_bytes())

    assert (pair.outcome, pair.cause.code) == ("faster", "fewer_bytes")
    # 90 % of 500 us leaves 500 / 450 = 1.11.
    assert sentence(pair) == (
        "2.00x faster with 2.00x fewer DRAM bytes (900 MB to 450 MB): that relieves DRAM, its "
        "limiter; still limited by DRAM at 90 %, 1.11x headroom left."
    )


def test_faster_by_the_clock_only() -> None:
    pair = one(*pairs.by_clock())

    assert (pair.outcome, pair.cause.code) == ("no_change", "clock")
    assert sentence(pair) == (
        "no change at equal clocks (1.20x by time) at the same 900 MB: the SM clock went from "
        "1.00 GHz to 1.20 GHz, which can explain it alone; still limited by the FMA pipe at 85 %, "
        "1.18x headroom left."
    )


def test_slower_with_better_utilisation() -> None:
    pair = one(*pairs.slower_but_busier())

    assert (pair.outcome, pair.cause.code) == ("slower", "more_bytes")
    assert sentence(pair).startswith(
        "1.50x slower with 1.93x more DRAM bytes (700 MB to 1.35 GB): that burdens DRAM, its "
        "limiter"
    )
    assert [note_text(n) for n in pair.notes if n.code == "busier_but_slower"] == [
        "a busier unit is not a faster kernel: DRAM 70 % to 90 %"
    ]


def test_slower_says_of_which_side_the_limiter_is() -> None:
    # LSU was the limit; twice the time with the ALU 90 % busy: 2 x 90/70 = 2.57 times its work.
    pair = one(
        launch(us=1000, use={"lsu": 85, "alu": 70, "issue": 20}),
        launch(us=2000, use={"lsu": 37, "alu": 90, "issue": 20}),
    )

    assert "2.57x more work for the ALU pipe, now its limiter (70 % to 90 % busy)" in sentence(pair)


def test_resident_in_l2() -> None:
    pair = one(*pairs.l2_resident())

    assert (pair.outcome, pair.cause.code) == ("faster", "fewer_bytes")
    assert "no longer limited by DRAM" in sentence(pair)
    assert "now limited by L2 at 92 %" in sentence(pair)


def test_an_autotuned_grid() -> None:
    pair = one(*pairs.other_grid())

    # 75 MFLOP and 0.9 GB on both sides: the same work. DRAM 90 % of 1000 us is 900 us of work,
    # 95 % of 800 us is 760: less of it, by 1.18.
    assert pair.work.status == "same"
    assert (pair.outcome, pair.cause.code) == ("faster", "less_work")
    assert pair.how.code == "by_name"
    assert "1.18x less work for DRAM, its limiter (90 % to 95 % busy)" in sentence(pair)


def test_a_renamed_kernel() -> None:
    pair = one(*pairs.renamed())

    assert pair.outcome == "no_change"
    assert pair.how.code == "by_base_name_and_launch"
    assert (pair.before.measured.name, pair.after.measured.name) == (
        "triton_poi_fused_add_mul_12",
        "triton_poi_fused_add_mul_31",
    )


def test_more_warps_hide_latency() -> None:
    # 25 % of 1000 us is 250 us of work, 62.5 % of 400 us too: only the rate changed.
    pair = one(
        launch(us=1000, use={**IDLE, "l2": 25, "dram": 10, "issue": 9}, occupancy_percent=12.0),
        launch(us=400, use={**IDLE, "l2": 62.5, "dram": 25, "issue": 22}, occupancy_percent=48.0),
    )

    assert (pair.outcome, pair.cause.code) == ("faster", "busier")
    assert pair.before.verdict.bound is Bound.LATENCY
    assert "at a higher rate (L2 25 % to 62 % busy, occupancy 12 % to 48 %)" in sentence(pair)
    assert "no longer latency-bound; now limited by L2 at 62 %" in sentence(pair)


def test_another_precision() -> None:
    pair = one(
        launch(us=1000, use={"fp64": 85, "dram": 2}, operations={"fp64": 48e6}),
        launch(
            us=50, use={"fp64": 0, "issue": 78, "dram": 30}, operations={"fp32": 48e6, "fp64": 0}
        ),
    )

    assert pair.cause.code == "other_precision"
    assert "its operations moved from FP64 to FP32" in sentence(pair)
    assert "no longer limited by the FP64 pipe (85 % to 0 %)" in sentence(pair)


def test_no_cause_is_named_without_the_limiter_on_both_sides() -> None:
    pair = one(
        launch(us=1000, use={"l1": 85}, operations={}, dram_bytes=None),
        launch(us=500, use={"dram": 85}, operations={}, dram_bytes=None),
    )

    assert pair.cause.code == "unexplained"
    assert "no cause is named" in sentence(pair)


def test_a_side_without_counters_has_no_change_of_limiter() -> None:
    measured, few = launch(us=1000), launch(us=800, use={}, dram_bytes=None, operations={})

    assert sentence(one(measured, few)) == (
        "1.25x faster: no cause is named, as its limiter was not measured on both sides; "
        "limited by DRAM at 90 % before; what limited it after was not measured."
    )
    assert "limited by DRAM at 90 % after; what limited it before was not measured." in sentence(
        one(few, measured)
    )


def test_a_limiter_that_one_side_did_not_count_neither_came_nor_went() -> None:
    # Every unit of AFTER but DRAM is known: L2 limits it at 85 %, what DRAM did nobody knows.
    pair = one(
        launch(us=1000, use={**IDLE, "dram": 90, "l2": 40, "issue": 20}),
        launch(us=800, use={**IDLE, "l2": 85, "issue": 25}, dram_bytes=None),
    )

    assert pair.after.verdict.limiter == "l2"
    assert (
        "limited by DRAM before (90 %), not measured after; now limited by L2 at 85 %"
    ) in sentence(pair)


def test_a_stall_has_gone_only_where_stalls_were_sampled() -> None:
    use = {**IDLE, "l2": 25, "dram": 10, "issue": 9}
    waits = {"stalls": (Stall(reason="long_scoreboard", share=0.8),)}
    before = launch(us=1000, use=use, **waits)
    assert [c.code for c in one(before, before).before.verdict.causes] == ["stall_long_scoreboard"]

    def gone(**values: Any) -> list[str]:
        after = launch(us=500, use={**use, "l2": 50}, **values)
        (pair,) = json.loads(comparison_json.render(compared(before, after)))["pairs"]
        found: list[str] = pair["causes_gone"]
        return found

    assert gone() == []
    assert gone(stalls=(Stall(reason="wait", share=0.2),)) == ["stall_long_scoreboard"]
    assert gone(**waits) == []


def test_waves_of_one_side_are_no_change_of_waves() -> None:
    # 25 % of 1000 us and 50 % of 500 us are the same work at twice the rate.
    before, after = ({**IDLE, "l2": use, "dram": 10, "issue": 9} for use in (25, 50))
    pair = one(launch(us=1000, use=before, waves=None), launch(us=500, use=after, waves=0.5))

    assert "at a higher rate (L2 25 % to 50 % busy)" in sentence(pair)


def test_a_computed_utilisation_is_not_set_against_a_measured_one() -> None:
    # 0.9 GB in 1 ms at 1 TB/s is 90 % by bytes; the counter of AFTER says 95 %.
    pair = one(
        launch(us=1000, use={"l2": 40}), launch(us=800, use={"l2": 50, "dram": 95}, grid=(9, 1, 1))
    )

    assert pair.before.computed == ("dram", "fma")
    assert busy_ratio(pair.before, pair.after, "dram") is None
    assert pair.cause.code == "unexplained"


def test_work_is_counted_in_cycles() -> None:
    # 50 % of 100 us at 1 GHz is 50,000 cycles; 50 % of 80 us at 1.25 GHz too.
    pair = one(
        launch(us=100, sm_clock_hz=1.0e9, use={"fma": 50}),
        launch(us=80, sm_clock_hz=1.25e9, use={"fma": 50}),
    )

    assert busy_ratio(pair.before, pair.after, "fma") == pytest.approx(1.0)
    assert busy_ratio(pair.before, pair.after, "fp64") is None


def test_every_quantity_is_listed_with_its_ratio() -> None:
    pair = one(*pairs.fewer_bytes())

    found = {c.quantity: c for c in changes_of(pair.before, pair.after)}
    assert found["dram_bytes"].ratio == pytest.approx(0.5)
    assert found["utilization.issue"].before == 20
    assert found["operations.fp32"].ratio == 1
    assert "waves" in found


# --- the gain of a step --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("share", "ratio", "gain"),
    [
        (0.5, 2.0, 4 / 3),  # 1 / (0.5 + 0.25)
        (0.18, 1.42, 1 / (0.82 + 0.18 / 1.42)),
        (1.0, 3.0, 3.0),
        (0.0, 100.0, 1.0),
        (0.5, 0.5, 2 / 3),  # a slow-down costs 1 / (0.5 + 1)
    ],
)
def test_amdahl(share: float, ratio: float, gain: float) -> None:
    assert step_gain(share, ratio) == pytest.approx(gain)


@given(st.floats(0, 1), st.floats(1.0, 1e6))
def test_a_step_gains_less_than_its_kernel_and_never_more_than_the_share_allows(
    share: float, ratio: float
) -> None:
    gain = step_gain(share, ratio)

    assert gain * (1 + 1e-12) >= 1
    assert gain <= ratio * (1 + 1e-9)
    if share < 1:
        assert gain <= 1 / (1 - share) * (1 + 1e-9)


def test_a_pair_gets_the_gain_of_its_share() -> None:
    comparison = compare(capture(launch(us=1000)), capture(launch(us=500)), shares={0: (0.2, 0.3)})

    step = comparison.pairs[0].step
    assert step is not None
    assert (step.share_low, step.share) == (0.2, 0.3)
    assert (step.gain_low, step.gain) == pytest.approx((1 / 0.9, 1 / 0.85))


def test_what_changed_comes_first_and_the_rest_by_time() -> None:
    before = capture(launch("a", us=10), launch("b", us=900), launch("c", us=300))
    after = capture(launch("a", us=10.001), launch("b", us=900), launch("c", us=150))

    assert [pair.before.measured.name for pair in compare(before, after).pairs] == ["c", "b", "a"]


@pytest.mark.parametrize(
    ("clock_hz", "said"),
    [
        # 2.24 x 1.40 = 3.14 where the clock fell by 2 %, else 2.24 x 1.375 = 3.08.
        (1.02e9, "2.24x), with 1.40x less work for L1/shared (at equal clocks 3.14x)"),
        (1.0e9, "2.24x), with 1.38x less work for L1/shared;"),
    ],
)
def test_factors_that_the_clock_keeps_from_multiplying_say_what_they_make(
    clock_hz: float, said: str
) -> None:
    pair = one(
        launch(us=1000, sm_clock_hz=clock_hz, use={"l1": 30, "issue": 10, "dram": 5}),
        launch(us=1000 / 3.08, sm_clock_hz=1.0e9, use={"l1": 67.2, "issue": 20, "dram": 12}),
    )
    assert said in sentence(pair)
