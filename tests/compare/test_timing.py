from __future__ import annotations

import pytest

from roofline.compare.judge import compare
from roofline.compare.model import KernelPair
from roofline.render.comparison import sentence
from roofline.text.notes import note_text
from tests.compare.pairs import capture, launch, one


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
