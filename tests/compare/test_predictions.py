from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from roofline.compare.judge import compare, judge_program, judge_steps
from roofline.compare.model import Judgement, KernelPair
from roofline.compare.predictions import EXPECT_FORMS, parse_claim, parse_expect
from roofline.errors import UsageError
from roofline.model import Measurement
from roofline.render.comparison import details, sentence
from roofline.text.notes import note_text
from roofline.wall_time import SCHEMA, ProgramTimes, summarize
from tests.compare import pairs
from tests.compare.pairs import IDLE, capture, launch, one
from tests.makers import TOY_DEVICE


def judged(
    before: Measurement, after: Measurement, *, expect: str = "", because: str = ""
) -> tuple[Judgement, str]:
    wanted = [parse_expect(expect)] if expect else [parse_claim(because)]
    pair = one(before, after, expectations=wanted)
    (said,) = (p for p in pair.predictions if p.by == "user")
    return said.judgement, note_text(said.reason)


def floors(pair: KernelPair) -> dict[str, Judgement]:
    return {note_text(p.claim): p.judgement for p in pair.predictions if p.by == "floor"}


@pytest.mark.parametrize(
    ("expect", "judgement"),
    [
        ("kernel=1.7x", "confirmed"),  # 2x came: 1.21 times the saving
        ("kernel=1.4x", "exceeded"),  # 1.75 times the saving
        ("kernel=1.4x..", "confirmed"),
        ("kernel=2.05x", "not_testable"),  # short by less than the noise of 3 %
        ("kernel=1.5x..1.95x", "not_testable"),  # beyond it by less
        ("kernel=2.004x", "confirmed"),  # 2.00x, as printed
        ("kernel=2.2x", "short"),
        ("kernel=same", "exceeded"),
        ("kern.*=1.5x..2.5x", "confirmed"),
        ("kernel=1.1x..1.5x", "exceeded"),
        ("kernel=2.4x..3x", "short"),
        ("kernel=450us..550us", "confirmed"),  # 1 ms to 0.5 ms
        ("kernel=0.6ms..700 us", "exceeded"),
        ("kernel=-500us", "confirmed"),
        ("kernel=-0.7ms..-0.6ms", "short"),
        ("kernel=-50%", "confirmed"),
        ("kernel=-20%..-10%", "exceeded"),
        ("kernel=1.02x", "exceeded"),  # by more than noise gives
        ("kernel:bytes=-50%", "confirmed"),
        ("bytes=-40%", "confirmed"),
        ("bytes=-20%", "exceeded"),
        ("bytes=-60%", "short"),
        ("bytes=0.5x", "confirmed"),
        ("kernel:occupancy=+10%", "not_testable"),
    ],
)
def test_an_expected_speed_up(expect: str, judgement: Judgement) -> None:
    assert judged(*pairs.fewer_bytes(), expect=expect)[0] == judgement


@pytest.mark.parametrize(
    ("us", "judgement"),
    [
        (990, "not_testable"),  # noise alone, 3 %, gives the 1.02x that are expected
        (975, "not_testable"),
        (940, "exceeded"),  # 1.064x, with noise 1.033x; at most 1.027x were expected
        (1020, "short"),  # 0.98x, with noise 1.010x
        (1060, "refuted"),  # slower by twice the noise
    ],
)
def test_within_the_noise_nothing_is_confirmed_and_beyond_it_is_told(
    us: float, judgement: Judgement
) -> None:
    before, after = (
        launch(us=time, use={"dram": 50, "issue": 20}, dram_bytes=1e9) for time in (1000, us)
    )
    assert judged(before, after, expect="kernel=1.02x")[0] == judgement


@pytest.mark.parametrize(
    ("us", "expect", "judgement", "why"),
    [
        # 1.042x with noise of 16 %: 0.898x to 1.208x.
        (960, "1.2x..1.4x", "not_testable", ": outside of the range, but by no more than"),
        (960, "-20%..-15%", "not_testable", ": outside of the range, but by no more than"),
        (960, "1.02x..1.1x", "not_testable", ": in the range, but no change beyond"),
        (960, "1.25x..1.4x", "short", ""),
        (960, "same", "confirmed", ", within"),
        (960, "0.95x..1.1x", "confirmed", ""),  # no change is in that range
        # 1.25x with noise of 16 %: 1.078x to 1.45x.
        (800, "1.2x..1.3x", "confirmed", ""),
        (800, "1.1x..1.2x", "not_testable", ": outside of the range, but by no more than"),
        (800, "1.02x..1.05x", "exceeded", ", more than was expected"),
        (800, "same", "exceeded", ", more than was expected"),
        (1250, "same", "refuted", ": it changed"),
        (1250, "1.1x..1.2x", "refuted", ": it changed the other way"),
        (1250, "+20%..+30%", "confirmed", ""),
    ],
)
def test_confirmed_is_in_the_range_and_beyond_the_noise(
    us: float, expect: str, judgement: Judgement, why: str
) -> None:
    before, after = (launch(us=time, use={"dram": 50, "issue": 20}) for time in (1000, us))
    pair = one(before, after, expectations=[parse_expect(f"kernel={expect}")], noise=0.16)
    (said,) = (p for p in pair.predictions if p.by == "user")

    assert said.judgement == judgement
    assert note_text(said.reason).startswith(f"reached {1000 / us:.2f}x{why}")
    assert ("the noise of 16.0 %" in note_text(said.reason)) is (
        judgement == "not_testable" or (expect == "same" and judgement == "confirmed")
    )


def test_the_step_is_judged_by_the_times_of_the_program() -> None:
    def said(text: str, before: list[float], after: list[float]) -> str:
        times = (
            ProgramTimes(schema=SCHEMA, repeats=len(v), wall_s=summarize(v))
            for v in (before, after)
        )
        (found,) = judge_steps([parse_expect(text)], judge_program(*times))
        return note_text(found)

    before, after = [0.100, 0.100, 0.100], [0.085, 0.085, 0.085]
    assert ": confirmed (reached 1.18x, 85.0 ms)" in said("step=-15ms..-10ms", before, after)
    assert ": exceeded (reached 1.18x" in said("step=-10ms", before, after)  # 15 is over 13.3
    assert ": short (" in said("step=-20ms", before, after)
    assert "not testable" in said("step=-20ms", before[:1], after[:1])
    # Slower, but by less than the noise: not what was expected either.
    noisy = [0.05, 0.08, 0.10, 0.12, 0.15], [0.06, 0.09, 0.11, 0.13, 0.16]
    assert "not testable (reached 0.91x: outside of the range" in said("step=1.1x", *noisy)
    assert "noise of 40.0 % would hide a change" in said("step=same", *noisy)
    assert ": confirmed" in said("step=same", before, [0.101, 0.101, 0.101])
    # 100 to 10 ms: with noise of 70 % still 5.9 times faster.
    assert ": exceeded (" in said("step=-10ms", noisy[0], [0.01, 0.01, 0.01])
    assert "not testable" in note_text(judge_steps([parse_expect("step=2x")], None)[0])


def test_no_change_can_be_expected() -> None:
    assert judged(launch(), launch(us=1001), expect="kernel=same")[0] == "confirmed"
    assert judged(launch(), launch(), expect="kernel=same") == (
        "not_testable",
        "one capture stands on both sides",
    )


@pytest.mark.parametrize(
    ("clock", "us", "judgement", "reason"),
    [
        # 11.4 to 12.8 us at 0.9 of both clocks: between 0.89x and 0.99x, with noise of 5 %.
        (0.9e9, 12.8, "not_testable", "at equal clocks 1.12x to 1.01x slower; noise and clocks"),
        (0.9e9, 12.2, "not_testable", "at equal clocks 1.07x slower to 1.04x faster; noise and"),
        (1e9, 11.8, "confirmed", "reached 0.97x, within the noise of 5.0 %"),
    ],
)
def test_what_clocks_leave_open_is_not_the_same(
    clock: float, us: float, judgement: Judgement, reason: str
) -> None:
    use = {**IDLE, "dram": 20, "issue": 20}
    before = launch(us=11.4, use=use, sm_clock_hz=1e9, dram_clock_hz=1e9)
    after = launch(us=us, use=use, sm_clock_hz=clock, dram_clock_hz=clock)
    found, said = judged(before, after, expect="kernel=same")

    assert found == judgement
    assert reason in said


def test_noise_that_would_hide_a_change_proves_no_sameness() -> None:
    # 1000 and 1200 us, then 1150 and 1150: 0.87x and 1.04x, in the middle 0.957x; 9.1 % of noise.
    before, after = (
        capture(*(launch(us=us, index=i) for i, us in enumerate(times)))
        for times in ((1000, 1200), (1150, 1150))
    )
    same = [parse_expect("kernel=same")]
    pair, told = (
        compare(before, after, expectations=same, noise=noise).pairs[0].predictions[0]
        for noise in (None, 0.15)
    )

    assert (pair.judgement, pair.reason.code) == ("not_testable", "noise_hides")
    assert note_text(pair.reason) == "reached 0.96x, but noise of 10.0 % would hide a change"
    assert told.judgement == "confirmed"  # who states the noise says what is no change


@pytest.mark.parametrize("expect", ["kernel=2x", "kernel=-30%", "bytes=-20%", "kernel:bytes=0.7x"])
def test_a_change_the_other_way_refutes(expect: str) -> None:
    found, reason = judged(*reversed(pairs.fewer_bytes()), expect=expect)

    assert found == "refuted"
    assert reason.endswith(": it changed the other way")


def test_a_speed_up_that_the_clock_gave_confirms_nothing() -> None:
    assert judged(*pairs.by_clock(), expect="kernel=1.2x")[0] == "short"


@pytest.mark.parametrize(
    ("expect", "judgement", "why"),
    [
        ("2.02x..3x", "not_testable", "reached 2.00x: outside"),  # 2.04x at equal clocks
        ("1.99x..2.01x", "confirmed", "reached 2.00x"),
        ("499.9us..510us", "confirmed", "reached 2.00x, 500 µs"),
        ("-51%..-49%", "confirmed", "reached 2.00x"),
    ],
)
def test_the_measured_figure_decides_where_clocks_agree_within_the_noise(
    expect: str, judgement: Judgement, why: str
) -> None:
    before, after = (
        launch(us=us, sm_clock_hz=clock, use={"fma": 85, "issue": 60, "dram": 20})
        for us, clock in ((1000, 1.02e9), (500, 1.0e9))
    )
    found, reason = judged(before, after, expect=f"kernel={expect}")
    assert found == judgement
    assert reason.startswith(why)


def test_beyond_the_noise_the_figure_at_equal_clocks_stands_beside_the_measured_one() -> None:
    use = {"fma": 85, "issue": 60, "dram": 20}
    before = launch(us=1200, sm_clock_hz=1.0e9, use=use)
    after = launch(us=500, sm_clock_hz=1.2e9, use=use)  # 2.4x, of which the clock gave 1.2x
    pair = one(before, after, expectations=[parse_expect("kernel=1.9x..2.1x")])

    lines = [line for line in details(pair) if line.startswith(("predicted", "expected"))]
    assert lines[-1].endswith("confirmed (reached 2.40x, at equal clocks 2.00x faster)")
    assert "2.00x is at equal clocks, 2.40x measured" in lines[0]


def test_an_expectation_of_no_kernel_is_said() -> None:
    comparison = compare(
        capture(launch()), capture(launch()), expectations=[parse_expect("gemm=2x")]
    )

    assert [note_text(n) for n in comparison.notes] == [
        "--expect gemm=2x: no paired kernel has that name; there is kernel"
    ]


@pytest.mark.parametrize(
    ("because", "judgement"),
    [
        ("bytes", "confirmed"),
        ("bandwidth", "confirmed"),
        ("dram", "confirmed"),
        ("kernel=dram", "confirmed"),
        ("operations", "refuted"),
        ("compute", "refuted"),
        ("latency", "refuted"),
        ("l2", "refuted"),
        ("precision", "refuted"),
        ("occupancy", "not_testable"),  # not measured
        ("fp64", "not_testable"),
    ],
)
def test_a_claimed_cause(because: str, judgement: Judgement) -> None:
    assert judged(*pairs.fewer_bytes(), because=because)[0] == judgement


@pytest.mark.parametrize(
    ("use", "us", "judgement", "reason"),
    [
        # 1.04x: 83 to 86.3 % busy at the same work, as the sentence says.
        ({"l1": 86.3, "issue": 20}, 960, "confirmed", "83 % to 86 % busy at the same work"),
        ({"l1": 83, "issue": 20}, 960, "confirmed", "83 % to 83 % busy, 1.04x less work"),
        # Another unit is the cause, and 1.4 % less work for L1 is too little to tell.
        ({"l1": 85.2, "issue": 20}, 960, "confirmed", "83 % to 85 % busy at the same work"),
    ],
)
def test_the_cause_that_the_sentence_names_is_one(
    use: dict[str, float], us: float, judgement: Judgement, reason: str
) -> None:
    before = launch(us=1000, use={"l1": 83, "issue": 20}, dram_bytes=1e6)
    found, said = judged(before, launch(us=us, use=use, dram_bytes=1e6), because="l1")

    assert found == judgement
    assert reason in said


def test_what_went_the_way_of_a_claim_by_too_little_cannot_be_told() -> None:
    # Both are limits. L1's 900 us of work become 812; FMA has 850, then 840 or 860 at 87 %.
    def claimed(fma_us: float) -> Judgement:
        few: dict[str, Any] = {"dram_bytes": 1e6, "operations": {}}
        before = launch(us=1000, use={"l1": 90, "fma": 85, "issue": 20}, **few)
        use = {"l1": 82, "fma": fma_us / 9.9, "issue": 20}
        after = launch(us=990, use=use, **few)
        pair = one(before, after, noise=0.005, expectations=[parse_claim("fma")])
        assert (pair.cause.unit, pair.cause.code) == ("l1", "less_work")
        return pair.predictions[-1].judgement

    assert [claimed(us) for us in (840, 860)] == ["not_testable", "not_testable"]
    assert claimed(800) == "confirmed"  # 5.9 % less


@pytest.mark.parametrize(
    ("dram_bytes", "judgement"),
    [(0.86e9, "confirmed"), (0.88e9, "not_testable"), (0.9e9, "refuted")],
)
def test_fewer_bytes_by_less_than_counts_cannot_be_told(
    dram_bytes: float, judgement: Judgement
) -> None:
    # Of 900 MB 40, 20 and none: 4.4 %, 2.2 % and 0.
    after = launch(us=900, dram_bytes=dram_bytes)

    assert judged(launch(dram_bytes=0.9e9), after, because="bytes")[0] == judgement


@pytest.mark.parametrize(
    ("because", "after", "judgement", "said"),
    [
        ("bank_conflicts", 0.0, "confirmed", "bank conflicts 300,000 to 0"),
        ("bank_conflicts", 3e5, "refuted", "bank conflicts 300,000 to 300,000"),
        ("bank_conflicts", None, "not_testable", "bank conflicts: not measured on both sides"),
        ("uncoalesced", 0.0, "not_testable", "BEFORE lacks what tells uncoalesced"),
        ("tail_effect", 0.0, "refuted", "tail effect: no cause before"),
        # L1 and not a pipe is nearest, whatever the lanes.
        ("idle_lanes", 0.0, "refuted", "idle lanes: no cause before"),
        ("local_memory", 0.0, "not_testable", "BEFORE lacks what tells local memory"),
        ("debug_build", 0.0, "not_testable", "BEFORE lacks what tells debug build"),
        ("grid_too_small", 0.0, "refuted", "grid too small before and after"),
    ],
)
def test_a_claimed_cause_of_the_knowledge_base(
    because: str, after: float | None, judgement: Judgement, said: str
) -> None:
    def side(us: float, conflicts: float | None) -> Measurement:
        counts = {"shared_wavefronts": 6e5, "shared_requests": 3e5}
        if conflicts is not None:
            counts["shared_conflicts"] = conflicts
        use = {**IDLE, "l1": 75, "l2": 20, "issue": 20, "dram": 20}
        grid = {"grid": (40, 1, 1), "waves": 0.4}
        return launch(us=us, use=use, counts=counts, dram_bytes=1e8, **grid)

    judged_, reason = judged(side(1000, 3e5), side(600, after), because=because)

    assert judged_ == judgement
    assert said in reason


@pytest.mark.parametrize(
    ("lanes", "judgement", "said"),
    [
        (None, "not_testable", "BEFORE lacks what tells idle lanes"),
        (32.0, "refuted", "idle lanes: no cause before"),
    ],
)
def test_a_cause_is_refuted_only_where_it_was_measured(
    lanes: float | None, judgement: Judgement, said: str
) -> None:
    ratios = {} if lanes is None else {"lanes": lanes}
    use = {**IDLE, "issue": 36, "dram": 9, "l2": 9}
    before = launch(us=900, use=use, dram_bytes=1e8, ratios=ratios)
    after = replace(before, duration_s=300e-6, ratios={"lanes": 32.0})

    found, reason = judged(before, after, because="idle_lanes")

    assert found == judgement
    assert said in reason


def test_a_precision_is_not_gone_where_tensor_operations_ran_uncounted() -> None:
    before = launch(us=1000, use={"tensor": 85, "dram": 20}, operations={"tensor_fp16": 1e9})
    after = launch(us=500, use={"dram": 80}, operations={"fp32": 1e6}, unmeasured=("tensor",))

    assert judged(before, after, because="precision") == (
        "not_testable",
        "operations by precision were not measured on both sides",
    )
    assert "its operations moved" not in sentence(one(before, after))


def test_a_count_that_is_a_percentage_has_its_sign() -> None:
    # FP64 at 86 % of its peak on a GPU with few such units, then at 2 %.
    device = replace(TOY_DEVICE, compute_capability="7.5")
    before, after = (
        launch(us=us, use={**IDLE, "fp64": fp64, "issue": 20, "dram": dram}, device=device)
        for us, fp64, dram in ((1000, 86.1, 40), (500, 2.0, 80))
    )

    found = judged(before, after, because="slow_fp64")
    assert found[0] == "confirmed"
    assert found[1].startswith("FP64 work 86.1 % to 2.00 %")


def test_a_cause_is_not_gone_where_nothing_was_measured() -> None:
    use = {**IDLE, "l1": 75, "l2": 20, "issue": 20, "dram": 20}
    before = launch(us=1000, use=use, grid=(40, 1, 1), waves=0.4)
    after = launch(us=600, use={}, grid=(40, 1, 1), operations={}, dram_bytes=None)

    assert judged(before, after, because="grid_too_small") == (
        "not_testable",
        "grid too small before; what proves it was not measured after",
    )


def test_a_unit_that_only_worked_faster_is_refuted_by_the_one_that_was_relieved() -> None:
    # DRAM: 90 % of 1000 us is 99 % of 909, the same work. L2: 85 % of 1000 us, 50 % of 909.
    use = {**IDLE, "issue": 20}
    before = launch(us=1000, use={**use, "dram": 90, "l2": 85})
    relieved, waited = (launch(us=909, use={**use, "dram": 99, "l2": l2}) for l2 in (50, 93.5))

    assert judged(before, relieved, because="dram") == (
        "refuted",
        (
            "1.10x faster, but not for that reason: DRAM 90 % to 99 % busy at the same work, "
            "while L2, 85 % busy before, had 1.87x less work"
        ),
    )
    assert judged(before, relieved, because="l2")[0] == "confirmed"
    assert judged(before, relieved, because="bandwidth")[0] == "confirmed"
    assert judged(before, waited, because="dram")[0] == "confirmed"


def test_a_speed_up_without_the_claimed_cause_is_said() -> None:
    judgement, reason = judged(*pairs.other_grid(), because="bytes")

    assert judgement == "refuted"
    assert reason == "1.25x faster, but not for that reason: DRAM bytes 900 MB to 900 MB"


def fp64_gone(**values: Any) -> tuple[Measurement, Measurement]:
    """FP64 pipe 86 % busy; its operations go, a sixth of the DRAM bytes (4 % busy) and time left.

    FP32 has more operations on both sides, so the main type stays.
    """
    before = launch(
        us=700,
        use={**IDLE, "fp64": 86, "dram": 4, "issue": 30, "fma": 16},
        dram_bytes=12e9,
        operations={"fp64": 27e9, "fp32": 54e9},
        **values,
    )
    after = launch(
        us=100,
        use={**IDLE, "fp64": 0, "dram": 4, "issue": 72, "fma": 49, "lsu": 85},
        dram_bytes=2e9,
        operations={"fp64": 0.0, "fp32": 55e9},
    )
    return before, after


# The issue slots next, 30 % of 700 us: 210 us at least without any FP64 work.
PART = "; that explains up to 3.33x of 7.00x, other work fell, too"


@pytest.mark.parametrize(
    ("because", "judgement", "said"),
    [
        (
            "bytes",
            "refuted",
            (
                "7.00x faster, but not for that reason: DRAM bytes 12.0 GB to 2.00 GB, but the "
                "limit was the FP64 pipe, with DRAM at 4 %"
            ),
        ),
        (
            "precision",
            "exceeded",
            "FP64 operations 27.0 GOP to 0 OP, the FP64 pipe was 86 % busy" + PART,
        ),
        (
            "operations",
            "exceeded",
            "operations 81.0 GOP to 55.0 GOP, with the FP64 pipe 86 % to 0 % busy, no work left"
            + PART,
        ),
        ("fp64", "exceeded", "the FP64 pipe 86 % to 0 % busy, no work left" + PART),
    ],
)
def test_what_was_not_the_limit_is_no_cause(because: str, judgement: Judgement, said: str) -> None:
    assert judged(*fp64_gone(), because=because) == (judgement, said)


def test_the_sentence_begins_with_what_the_limiter_had_to_do() -> None:
    assert sentence(one(*fp64_gone())).startswith(
        "7.00x faster without its FP64 operations (27.0 GOP to 0 OP) and with 6.00x fewer DRAM "
        "bytes (12.0 GB to 2.00 GB): no longer limited by the "
        "FP64 pipe"
    )


def test_fewer_operations_of_what_bytes_limit_are_no_cause() -> None:
    before = launch(us=1000, operations={"fp32": 4e9}, dram_bytes=0.9e9)
    after = launch(us=500, operations={"fp32": 2e9}, dram_bytes=0.8e9)

    # 4 GFLOP in 1 ms are 40 % of the 10 TFLOP/s of the toy.
    judgement, reason = judged(before, after, because="operations")

    assert judgement == "refuted"
    assert reason.endswith(
        "operations 4.00 GOP to 2.00 GOP, but the limit was DRAM, with the FMA pipe at 40 %"
    )


def test_a_precision_that_went_but_was_not_the_limit() -> None:
    use = {**IDLE, "dram": 90, "fp64": 20, "l2": 40, "issue": 20}
    before = launch(us=1000, use=use, operations={"fp64": 1e9, "fp32": 4e9}, dram_bytes=0.9e9)
    after = launch(us=500, use=use, operations={"fp64": 0.0, "fp32": 4e9}, dram_bytes=0.45e9)

    judgement, reason = judged(before, after, because="precision")

    assert judgement == "refuted"
    assert "the limit was DRAM, with the FP64 pipe at 20 %" in reason


def test_bytes_of_a_latency_bound_kernel_are_no_cause() -> None:
    use = {**IDLE, "l2": 50, "dram": 45, "issue": 9}
    before = launch(us=1000, use=use, dram_bytes=2e9)
    after = launch(us=500, use={**use, "dram": 90}, dram_bytes=1.2e9)

    judgement, reason = judged(before, after, because="bytes")

    assert judgement == "refuted"
    assert reason.endswith("but the limit was latency, with DRAM at 45 %")


@pytest.mark.parametrize(
    ("us", "use", "judgement"),
    [
        # LSU 80 % of 1000 us: 800 us, 1.25x, 200 us to be won at the same work.
        (970, 80 / 0.97, "not_testable"),  # 30 of 200 us: held, but not tried
        (860, 80 / 0.86, "not_testable"),  # 140 of 200 us: 70 %
        (840, 80 / 0.84, "confirmed"),  # 160 of 200 us: 80 %
        (810, 80 / 0.81, "confirmed"),
        (700, 80 / 0.70, "refuted"),  # beyond it
    ],
)
def test_a_bound_is_confirmed_by_a_gain_near_it(
    us: float, use: float, judgement: Judgement
) -> None:
    pair = one(
        launch(us=1000, use={"lsu": 80, "dram": 10, "issue": 20}),
        launch(us=us, use={"lsu": use, "dram": 10, "issue": 20}),
        noise=0.01,
    )

    assert floors(pair)["at most 1.25x at the same work for the LSU path"] == judgement


def test_a_bound_that_held_untried_is_said_to_have() -> None:
    pair = one(
        launch(us=1000, use={"lsu": 80, "dram": 10, "issue": 20}),
        launch(us=900, use={"lsu": 80 / 0.9, "dram": 11, "issue": 20}),
    )

    # 100 of the 200 us that 80 % of the peak leave.
    reason = next(
        note_text(p.reason) for p in pair.predictions if p.claim.code == "bound_at_same_work"
    )
    assert reason == "held, but only 1.11x of 1.25x was reached"


def test_the_next_unit_must_be_near_its_peak_to_confirm_that_it_limits() -> None:
    # L1 relieved; DRAM is nearest at 50 %, which limits nothing.
    pair = one(
        launch(us=1000, use={**IDLE, "l1": 90, "dram": 45, "l2": 20, "issue": 20}),
        launch(us=900, use={**IDLE, "l1": 40, "dram": 50, "l2": 22, "issue": 22}),
    )

    claim = "at most 2.22x with L1/shared relieved, then limited by DRAM"
    assert floors(pair)[claim] == "not_testable"


def test_latency_hidden_is_a_cause() -> None:
    before = launch(us=1000, use={**IDLE, "l2": 25, "dram": 10, "issue": 9})
    after = launch(us=400, use={**IDLE, "l2": 62, "dram": 25, "issue": 22})

    assert judged(before, after, because="latency")[0] == "confirmed"


def test_a_cause_is_asked_only_of_what_got_faster() -> None:
    comparison = compare(capture(launch()), capture(launch()), expectations=[parse_claim("dram")])

    assert not comparison.pairs[0].predictions
    assert [note_text(n) for n in comparison.notes] == ["--because dram: nothing got faster"]


def test_the_next_floor_was_right() -> None:
    # L1 90 % of 1000 us; DRAM next at 60 %, so 600 us at least: 1.67x. 1.43x came, DRAM limits.
    pair = one(
        launch(us=1000, use={"l1": 90, "dram": 60, "issue": 20}),
        launch(us=700, use={"l1": 40, "dram": 86, "issue": 29}),
    )

    assert floors(pair) == {
        "at most 1.11x at the same work for L1/shared": "not_testable",
        "at most 1.67x with L1/shared relieved, then limited by DRAM": "confirmed",
    }


def test_the_next_floor_was_beaten_though_its_work_stayed() -> None:
    # 60 % of 1000 us is 600 us of DRAM work, and 500 us at 120 % is the same work: impossible
    # but measured, so the bound is refuted rather than hidden.
    pair = one(
        launch(us=1000, use={"l1": 90, "dram": 60, "issue": 20}),
        launch(us=500, use={"l1": 40, "dram": 120, "issue": 29}),
    )

    assert floors(pair)["at most 1.67x with L1/shared relieved, then limited by DRAM"] == "refuted"


def test_another_unit_limits_than_was_foretold() -> None:
    pair = one(
        launch(us=1000, use={"l1": 90, "dram": 60, "issue": 20}),
        launch(us=800, use={"l1": 40, "dram": 75, "issue": 95}),
    )

    assert floors(pair)["at most 1.67x with L1/shared relieved, then limited by DRAM"] == "refuted"


def test_a_unit_that_was_not_measured_before_refutes_nothing() -> None:
    pair = one(
        launch(us=1000, use={"l1": 90, "dram": 60}),
        launch(us=800, use={"l1": 40, "dram": 75, "issue": 95}),
    )
    found = next(p for p in pair.predictions if p.claim.code == "bound_relieved")

    assert (found.judgement, note_text(found.reason)) == (
        "not_testable",
        "the nearest ceiling now is the issue slots, not measured before",
    )


def test_a_unit_that_was_to_be_relieved_too_and_is_nearest_refutes_nothing() -> None:
    # Half of the wavefronts went, no memory instruction did.
    pair = one(
        launch(us=1000, use={"l1": 90, "lsu": 85, "dram": 40, "issue": 20}),
        launch(us=900, use={"l1": 50, "lsu": 94, "dram": 44, "issue": 22}),
    )
    found = next(p for p in pair.predictions if p.claim.code == "bound_relieved")

    assert note_text(found.claim) == "at most 2.50x with L1/shared relieved, then limited by DRAM"
    assert found.judgement == "not_testable"
    said = "the LSU path, which less work for L1/shared was to relieve, too"
    assert note_text(found.reason) == f"the nearest ceiling now is {said}"


def test_without_a_next_limit_only_the_nearest_one_is_claimed() -> None:
    l1: dict[str, Any] = {"dram_bytes": None, "operations": {}}
    pair = one(
        launch(us=1000, use={"l1": 90, "lsu": 85}, **l1), launch(us=900, use={"l1": 95}, **l1)
    )

    assert [p.claim.code for p in pair.predictions] == ["bound_at_same_work"]


def test_a_bound_that_was_passed_by_less_than_the_noise_says_so() -> None:
    # 90 % of 1000 us is 900 us, so at most 1.11x; 1.12x is beyond it by less than 3 %.
    pair = one(
        launch(us=1000, use={"l1": 90, "dram": 60, "issue": 20}),
        launch(us=893, use={"l1": 100, "dram": 67, "issue": 22}),
    )

    held = next(p for p in pair.predictions if p.claim.code == "bound_at_same_work")
    assert held.judgement == "not_testable"
    said = "reached 1.12x, beyond 1.11x by no more than the noise of 3.0 %"
    assert note_text(held.reason) == said


def test_a_slow_down_tests_no_bound() -> None:
    assert floors(one(launch(us=1000), launch(us=1500))) == {}


@pytest.mark.parametrize(
    ("expect", "judgement"),
    [
        ("occupancy=60", "confirmed"),  # 60 %, as printed
        ("occupancy=60..80", "confirmed"),
        ("occupancy=61", "not_testable"),  # within 3 %
        ("occupancy=70", "short"),
        ("occupancy=55..65", "confirmed"),
        ("occupancy=2x..2.5x", "confirmed"),
    ],
)
def test_an_occupancy_counts_as_it_is_printed(expect: str, judgement: Judgement) -> None:
    before, after = launch(us=1000), launch(us=500)
    before, after = replace(before, occupancy_percent=24.9), replace(after, occupancy_percent=59.8)

    assert judged(before, after, expect=expect)[0] == judgement


@pytest.mark.parametrize(
    "text",
    [
        *("gemm", "gemm=fast", "=1.4x", "gemm=0x", "gemm=-1x", "gemm=1.4", "gemm=25"),
        *("gemm=-100%", "bytes=3ms", "gemm=1x..same", ":bytes=2x"),
    ],
)
def test_an_expectation_that_is_none(text: str) -> None:
    with pytest.raises(UsageError, match="not understood"):
        parse_expect(text)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("k=1.5..1.8", "k=1.5x..1.8x"),
        ("k=2", "k=2x"),
        ("k=25", EXPECT_FORMS),
        ("k=40%", "k=-40%"),
        ("k:occupancy=40%", "k:occupancy=40"),
        ("occupancy=55%..65 %", "occupancy=55..65"),
        ("k=fast", EXPECT_FORMS),
    ],
)
def test_what_was_hardly_typed_otherwise_is_proposed(typed: str, meant: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_expect(typed)

    assert (refused.value.hint or "").removeprefix("--expect ") == meant


def test_an_unknown_cause_lists_the_known() -> None:
    with pytest.raises(UsageError, match="bandwidth, compute, latency"):
        parse_claim("magic")
    with pytest.raises(UsageError, match=r"did you mean bank_conflicts\?"):
        parse_claim("k=bankconflicts")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("k=5x..2x", "k=2x..5x"),
        ("k=30us..25us", "k=25us..30us"),
    ],
)
def test_a_range_that_ends_below_its_beginning(typed: str, meant: str) -> None:
    with pytest.raises(UsageError, match="ends below its beginning") as refused:
        parse_expect(typed)

    assert refused.value.hint == f"--expect {meant}"


def test_both_factors_of_a_gain_are_said() -> None:
    # 1000 x 30 % = 300 us of issue slots, then 400 x 60 % = 240: 2x the rate, 1.25x less work.
    pair = one(
        launch(us=1000, use={**IDLE, "issue": 30, "dram": 10}),
        launch(us=400, use={**IDLE, "issue": 60, "dram": 25}),
    )

    said = "(issue slots 30 % to 60 % busy: 2.00x), with 1.25x less work for the issue slots"
    assert said in sentence(pair)


def test_a_bound_that_was_passed_as_other_work_fell_is_shown() -> None:
    # L1 90 % and DRAM 60 % of 1000 us: at most 1.67x. 2x came, with 600 to 400 us of DRAM.
    pair = one(
        launch(us=1000, use={"l1": 90, "dram": 60, "issue": 20}),
        launch(us=500, use={"l1": 40, "dram": 80, "issue": 29}),
    )

    said = (
        "at most 1.67x with L1/shared relieved, then limited by DRAM: not testable (reached 2.00x"
    )
    assert f"predicted: {said}, beyond that bound, with 1.50x less work for DRAM, too)" in [
        *details(pair)
    ]
