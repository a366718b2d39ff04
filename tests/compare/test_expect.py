from __future__ import annotations

import pytest

from roofline.compare.core import Options, compare
from roofline.compare.expect import parse_because, parse_expect
from roofline.compare.model import Judgement, Pair
from roofline.errors import UsageError
from roofline.model import Measurement
from tests.compare import pairs
from tests.compare.pairs import IDLE, capture, launch, one


def judged(
    before: Measurement, after: Measurement, *, expect: str = "", because: str = ""
) -> tuple[Judgement, str]:
    wanted = [parse_expect(expect)] if expect else [parse_because(because)]
    pair = one(before, after, expectations=wanted)
    (said,) = (p for p in pair.predictions if p.by == "user")
    return said.judgement, said.reason


def floors(pair: Pair) -> dict[str, Judgement]:
    return {p.claim: p.judgement for p in pair.predictions if p.by == "floor"}


@pytest.mark.parametrize(
    ("expect", "judgement"),
    [
        ("kernel=1.4x", Judgement.CONFIRMED),  # 2x came
        ("kernel=2.05x", Judgement.CONFIRMED),  # within 3 % of it
        ("kernel=2.2x", Judgement.REFUTED),
        ("kernel=same", Judgement.REFUTED),
        ("kern.*=1.5x", Judgement.CONFIRMED),
        ("kernel=1.02x", Judgement.NOT_TESTABLE),  # within the noise
    ],
)
def test_an_expected_speed_up(expect: str, judgement: Judgement) -> None:
    assert judged(*pairs.fewer_bytes(), expect=expect)[0] is judgement


def test_no_change_can_be_expected() -> None:
    assert judged(launch(), launch(), expect="kernel=same")[0] is Judgement.CONFIRMED


def test_a_speed_up_that_the_clock_gave_confirms_nothing() -> None:
    assert judged(*pairs.by_clock(), expect="kernel=1.2x")[0] is Judgement.REFUTED


def test_an_expectation_of_no_kernel_is_said() -> None:
    comparison = compare(
        capture(launch()), capture(launch()), Options(expectations=[parse_expect("gemm=2x")])
    )

    assert [n.text for n in comparison.notes] == [
        "--expect gemm=2x: no paired kernel has that name"
    ]


@pytest.mark.parametrize(
    ("because", "judgement"),
    [
        ("bytes", Judgement.CONFIRMED),
        ("bandwidth", Judgement.CONFIRMED),
        ("dram", Judgement.CONFIRMED),
        ("kernel=dram", Judgement.CONFIRMED),
        ("operations", Judgement.REFUTED),
        ("compute", Judgement.REFUTED),
        ("latency", Judgement.REFUTED),
        ("l2", Judgement.REFUTED),
        ("precision", Judgement.REFUTED),
        ("occupancy", Judgement.NOT_TESTABLE),  # not measured
        ("fp64", Judgement.NOT_TESTABLE),
    ],
)
def test_a_claimed_cause(because: str, judgement: Judgement) -> None:
    assert judged(*pairs.fewer_bytes(), because=because)[0] is judgement


def test_a_speed_up_without_the_claimed_cause_is_said() -> None:
    judgement, reason = judged(*pairs.other_grid(), because="bytes")

    assert judgement is Judgement.REFUTED
    assert reason == "1.25x faster, but not for that reason: DRAM bytes 900 MB to 900 MB"


def test_latency_hidden_is_a_cause() -> None:
    before = launch(us=1000, use={**IDLE, "l2": 25, "dram": 10, "issue": 9})
    after = launch(us=400, use={**IDLE, "l2": 62, "dram": 25, "issue": 22})

    assert judged(before, after, because="latency")[0] is Judgement.CONFIRMED


def test_a_cause_is_asked_only_of_what_got_faster() -> None:
    comparison = compare(
        capture(launch()), capture(launch()), Options(expectations=[parse_because("dram")])
    )

    assert not comparison.pairs[0].predictions
    assert [n.text for n in comparison.notes] == ["--because dram: nothing got faster"]


def test_the_next_floor_was_right() -> None:
    # L1 90 % of 1000 us; DRAM next at 60 %, so 600 us at least: 1.67x. 1.43x came, DRAM limits.
    pair = one(
        launch(us=1000, use={"l1": 90, "dram": 60, "issue": 20}),
        launch(us=700, use={"l1": 40, "dram": 86, "issue": 29}),
    )

    assert floors(pair) == {
        "at most 1.11x at the same work for L1/shared": Judgement.NOT_TESTABLE,
        "at most 1.67x with L1/shared relieved, then limited by DRAM": Judgement.CONFIRMED,
    }


def test_the_next_floor_was_beaten_though_its_work_stayed() -> None:
    # 60 % of 1000 us is 600 us of DRAM work, and 500 us at 120 % is the same work: impossible
    # but measured, so the bound is refuted rather than hidden.
    pair = one(
        launch(us=1000, use={"l1": 90, "dram": 60, "issue": 20}),
        launch(us=500, use={"l1": 40, "dram": 120, "issue": 29}),
    )

    assert (
        floors(pair)["at most 1.67x with L1/shared relieved, then limited by DRAM"]
        is Judgement.REFUTED
    )


def test_another_unit_limits_than_was_foretold() -> None:
    pair = one(
        launch(us=1000, use={"l1": 90, "dram": 60, "issue": 20}),
        launch(us=800, use={"l1": 40, "dram": 75, "issue": 95}),
    )

    assert (
        floors(pair)["at most 1.67x with L1/shared relieved, then limited by DRAM"]
        is Judgement.REFUTED
    )


def test_a_slow_down_tests_no_bound() -> None:
    assert floors(one(launch(us=1000), launch(us=1500))) == {}


@pytest.mark.parametrize("text", ["gemm", "gemm=fast", "=1.4x", "gemm=0x", "gemm=-1x", "gemm=1.4"])
def test_an_expectation_that_is_none(text: str) -> None:
    with pytest.raises(UsageError, match="not understood"):
        parse_expect(text)


def test_an_unknown_cause_lists_the_known() -> None:
    with pytest.raises(UsageError, match="bandwidth, compute, latency"):
        parse_because("magic")
