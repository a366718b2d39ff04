"""The pairs that the rules must get right; the golden ones of NVIDIA are in test_examples."""

from __future__ import annotations

import pytest

from roofline.compare.change import busy_ratio, changes_of
from roofline.model import Bound
from roofline.render.comparison import sentence
from roofline.text.notes import note_text
from tests.compare import pairs
from tests.compare.pairs import IDLE, launch, one


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
