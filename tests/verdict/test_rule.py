import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.model import (
    Bound,
    Confidence,
    Device,
    Family,
    Note,
    Peaks,
    PeakSet,
    Rule,
    Stall,
    UnitUse,
    Verdict,
)
from roofline.verdict.rule import judge
from tests.makers import TOY_PEAKS, measurement, unit, with_rest

TOY = PeakSet(report=TOY_PEAKS)


def judged(*units: UnitUse, peaks: PeakSet = TOY, rule: Rule | None = None, **values):
    """The verdict on ``units``; where issue slots are among them the report is a full one."""
    units = units or values.pop("units", measurement().units)
    if any(use.unit == "issue" for use in units):
        units = with_rest(*units)
    given_values = {"operations": {}, "dram_bytes": None, "units": units, "sm_active_percent": 99.0}
    given_values |= values
    return judge(measurement(**given_values), peaks, rule)


def codes(verdict: Verdict) -> list[str]:
    return [doubt.code for doubt in verdict.doubts]


def test_a_busy_memory_unit_limits_by_bandwidth():
    verdict = judged(unit("dram", 90.0), unit("l2", 40.0), unit("issue", 20.0))

    assert (verdict.bound, verdict.limiter, verdict.limiter_percent) == ("bandwidth", "dram", 90.0)
    assert verdict.confidence is Confidence.HIGH
    # 1 ms at 90 % is 0.9 ms when DRAM is always busy, 0.4 ms until L2 is
    assert verdict.floor_s == pytest.approx(0.9e-3)
    assert (verdict.next_limiter, verdict.next_floor_s) == ("l2", pytest.approx(0.4e-3))


def test_a_busy_pipe_limits_by_compute():
    verdict = judged(unit("fp64", 85.0), unit("dram", 1.0), unit("l2", 2.0), unit("issue", 4.0))

    assert (verdict.bound, verdict.limiter) == ("compute", "fp64")


@pytest.mark.parametrize(("percent", "bound"), [(59.99, "latency"), (60.0, "bandwidth")])
def test_below_sixty_percent_nothing_limits(percent, bound):
    verdict = judged(unit("dram", percent), unit("l2", 10.0), unit("issue", 10.0))

    assert verdict.bound == bound


def test_latency_names_no_limiter_but_the_nearest_unit():
    verdict = judged(unit("l2", 30.0), unit("dram", 25.0), unit("issue", 20.0))

    assert verdict.limiter is None
    assert verdict.nearest == "l2"
    assert verdict.floor_s == pytest.approx(0.3e-3)


@pytest.mark.parametrize(("threshold", "bound"), [(50.0, "bandwidth"), (70.0, "latency")])
def test_the_threshold_is_an_option(threshold, bound):
    verdict = judged(
        unit("dram", 60.0),
        unit("l2", 1.0),
        unit("issue", 1.0),
        rule=Rule(latency=threshold),
    )

    assert verdict.bound == bound


@pytest.mark.parametrize(
    ("issue", "balance", "co_limited"),
    [(80.0, 10.0, True), (79.9, 10.0, False), (79.9, 11.0, True)],
)
def test_families_within_ten_points_are_co_limited(issue, balance, co_limited):
    verdict = judged(
        unit("dram", 90.0), unit("l2", 1.0), unit("issue", issue), rule=Rule(balance=balance)
    )

    assert verdict.co_limited is co_limited


def test_a_second_unit_of_the_same_family_limits_too():
    verdict = judged(unit("dram", 90.0), unit("l2", 85.0), unit("issue", 20.0))

    assert verdict.co_limited
    assert "other_unit_near" in codes(verdict)


def test_the_fabric_of_l2_is_nothing_else_to_relieve():
    fabric = replace(unit("l2", 85.0), part="l2_fabric")
    verdict = judged(unit("dram", 90.0), fabric, unit("issue", 20.0))

    assert not verdict.co_limited
    assert verdict.next_limiter == "issue"


def test_nothing_computed_over_100_percent_decides():
    # 1.2 GB in 1 ms at a peak of 1 TB/s
    verdict = judge(
        measurement(units=with_rest(unit("l2", 70.0))[:1], dram_bytes=1.2e9),
        PeakSet(report=TOY_PEAKS),
    )

    assert verdict.limiter == "l2"


def test_latency_is_not_co_limited():
    verdict = judged(unit("dram", 50.0), unit("l2", 1.0), unit("issue", 49.0))

    assert verdict.co_limited is False


@pytest.mark.parametrize(
    ("values", "cause"),
    [
        ({"waves": 0.9}, "grid_too_small"),
        ({"waves": 1.1}, "tail_effect"),
        ({"waves": 10.2, "sm_active_percent": 50.0}, "imbalance"),
        (
            {"theoretical_occupancy_percent": 25.0, "occupancy_limiter": "registers"},
            "occupancy_limited",
        ),
        ({"stalls": (Stall(reason="long_scoreboard", share=0.6),)}, "stall_long_scoreboard"),
        (
            {"theoretical_occupancy_percent": 100.0, "occupancy_percent": 40.0},
            "occupancy_not_reached",
        ),
        ({}, None),
        ({"waves": None}, None),
    ],
)
def test_the_first_cause_that_the_evidence_supports(values, cause):
    verdict = judged(unit("dram", 10.0), unit("l2", 5.0), unit("issue", 20.0), **values)

    assert verdict.bound is Bound.LATENCY
    assert verdict.cause == cause


def test_evidence_is_floats_so_that_it_reads_alike_from_another_process():
    verdict = judged(unit("issue", 37.0), unit("dram", 10.0), block=(16, 1, 1))

    assert verdict.evidence["warp_lanes"] == 32.0
    assert {type(value) for value in verdict.evidence.values()} == {float}


def test_nothing_measured_is_unknown_with_the_flag_that_would_tell():
    verdict = judged(units=())

    assert verdict.bound is Bound.UNKNOWN
    assert [gap.flag for gap in verdict.missing if gap.quantity == "utilization"] == [
        "--section SpeedOfLight"
    ]


def test_one_quiet_side_alone_is_not_called_latency():
    verdict = judged(unit("dram", 30.0))

    assert verdict.bound is Bound.UNKNOWN
    assert (verdict.nearest, verdict.limiter_percent) == ("dram", 30.0)
    assert codes(verdict) == ["too_little_measured"]


def test_one_busy_side_alone_decides_with_little_confidence():
    verdict = judged(unit("dram", 85.0))

    assert verdict.bound is Bound.BANDWIDTH
    assert verdict.confidence is Confidence.LOW
    assert Note(code="side_not_measured", facts={"sides": ["bandwidth", "compute"]}) in (
        verdict.doubts
    )


@pytest.mark.parametrize("lacking", ["dram", "l2", "l1", "issue", "fma", "alu", "fp64", "tensor"])
def test_a_unit_that_was_not_measured_may_be_the_limit(lacking):
    # the others are quiet, and this one may be busy all the time
    units = tuple(use for use in with_rest(unit("lsu", 30.0)) if use.unit != lacking)
    verdict = judge(measurement(units=units, operations={}, dram_bytes=None), TOY)

    assert verdict.bound is Bound.UNKNOWN
    assert "--section SpeedOfLight" in {gap.flag for gap in verdict.missing}


def test_the_two_throughputs_alone_tell_latency():
    memory, sm = "gpu__compute_memory_throughput.pct", "sm__throughput.pct"
    uses = (
        UnitUse(unit="other_memory", family=Family.BANDWIDTH, percent=30.0, metric=memory),
        UnitUse(unit="other_compute", family=Family.COMPUTE, percent=20.0, metric=sm),
    )

    assert judged(*uses).bound is Bound.LATENCY


def test_the_throughput_of_the_sm_is_no_unit_to_be_sure_of():
    # 22 of 38 public kernels with it on top are limited by the memory-instruction path in there
    memory, sm = "gpu__compute_memory_throughput.pct", "sm__throughput.pct"
    verdict = judged(
        UnitUse(unit="other_compute", family=Family.COMPUTE, percent=85.0, metric=sm),
        UnitUse(unit="other_memory", family=Family.BANDWIDTH, percent=30.0, metric=memory),
    )

    assert (verdict.bound, verdict.confidence) == (Bound.COMPUTE, Confidence.LOW)


def test_units_that_all_read_zero_were_not_counted():
    verdict = judged(unit("dram", 0.0), unit("issue", 0.0))

    assert verdict.bound is Bound.UNKNOWN
    assert codes(verdict) == ["all_zero"]


def test_a_gpu_without_dram_counters_is_asked_for_nothing_that_ncu_cannot_do():
    verdict = judged(
        *(use for use in with_rest(unit("l2", 30.0)) if use.unit not in ("dram", "issue")),
        notes=(Note(code="no_dram_counters"),),
    )

    assert verdict.bound is Bound.UNKNOWN
    assert codes(verdict) == ["dram_not_countable"]
    assert verdict.missing == ()


@pytest.mark.parametrize(
    ("values", "advice"),
    [
        ({}, "cause.no_evidence"),
        ({"theoretical_occupancy_percent": 90.0}, "cause.no_stalls"),
        ({"stalls": (Stall(reason="wait", share=0.1),)}, "cause.none"),
        ({"stalls": (Stall(reason="wait", share=0.5),)}, "stall.wait"),
        ({"waves": 0.5}, "cause.grid_too_small"),
    ],
)
def test_advice_on_waiting_follows_its_cause(values, advice):
    assert judged(unit("dram", 10.0), unit("issue", 20.0), **values).advice == advice


def test_a_group_of_short_launches_is_as_doubtful_as_each():
    # 1000 launches of 5 us
    verdict = judged(unit("dram", 90.0), unit("issue", 1.0), duration_s=5e-3, count=1000)

    assert verdict.confidence is Confidence.LOW


def test_failed_counters_are_unknown():
    nan = Note(code="counters_nan")
    verdict = judged(units=(), notes=(nan,))

    assert verdict.bound is Bound.UNKNOWN
    assert codes(verdict) == ["counters_nan"]


def test_a_pipe_that_stands_for_two_gives_way_to_the_one_that_is_busy():
    verdict = judged(
        unit("shared_pipe", 85.3), unit("fp64", 85.2), unit("issue", 5.0), unit("dram", 1.0)
    )

    assert verdict.limiter == "fp64"
    assert verdict.next_limiter == "issue"


def test_dram_is_computed_where_it_was_not_counted():
    # 0.9 GB in 1 ms of 1 TB/s
    verdict = judge(measurement(units=(unit("issue", 20.0), unit("l2", 5.0))), TOY)

    assert verdict.limiter == "dram"
    assert verdict.limiter_percent == pytest.approx(90.0)
    assert "computed" in codes(verdict)


def test_tensor_operations_over_peak_beat_the_pipe_counter():
    # GeForce with FP32 accumulate: the pipe counter stops at 48 %, 95 % of the peak is reached
    verdict = judge(
        measurement(
            operations={"tensor_bf16": 0.95 * 100e12 * 1e-3},
            units=(unit("tensor", 48.0), unit("dram", 10.0), unit("l2", 5.0), unit("issue", 5.0)),
        ),
        TOY,
    )

    assert (verdict.bound, verdict.limiter) == ("compute", "tensor")
    assert verdict.limiter_percent == pytest.approx(95.0)


def test_mixed_precisions_are_weighed_by_time_at_peak():
    # 2 TFLOP/s of 10 in FP32 (20 %), 3 of 5 in FP64 (60 %)
    verdict = judge(measurement(operations={"fp32": 2e9, "fp64": 3e9}), TOY)

    assert verdict.dominant == "fp64"
    assert verdict.roof_percent == pytest.approx({"fp32": 20.0, "fp64": 60.0})
    assert verdict.ridge == 5.0


def test_the_ridge_is_context():
    # 11.3 operations a byte lie left of the ridge at 22.4; issue slots limit all the same
    peaks = PeakSet(
        report=Peaks(
            kind="report", source="", dram_bytes_per_s=6e11, operations_per_s={"fp32": 13.44e12}
        )
    )
    verdict = judge(
        measurement(
            duration_s=3.1872e-5,
            dram_bytes=4_265_088.0,
            operations={"fp32": 48_232_449.0},
            units=(unit("issue", 77.7), unit("l1", 46.4), unit("dram", 22.2)),
        ),
        peaks,
    )

    assert (verdict.bound, verdict.limiter, verdict.ridge_side) == ("compute", "issue", "memory")
    assert verdict.context == Note(code="left_of_ridge")


def test_amounts_next_to_nothing_have_no_ceiling():
    verdict = judged(operations={"fp32": 5e-324}, dram_bytes=2.2e-313, duration_s=1.0)

    assert (verdict.ceiling_operations_per_s, verdict.ceiling_percent) == (None, None)


def test_a_busy_pipe_far_below_its_roof_lacks_fma():
    # 2.65 of 5 TFLOP/s: 53 % of the roof with the pipe busy for 85 %
    verdict = judge(
        measurement(
            operations={"fp64": 2.65e9},
            units=(unit("fp64", 85.0), unit("issue", 4.0), unit("dram", 1.0), unit("l2", 1.0)),
        ),
        TOY,
    )

    assert verdict.context == Note(
        code="pipe_above_roof", facts={"precision": "fp64", "percent": pytest.approx(53.0)}
    )


def test_a_floor_is_never_above_the_duration():
    verdict = judged(unit("dram", 120.0), unit("l2", 1.0), unit("issue", 1.0))

    assert verdict.limiter_percent == 120.0
    assert verdict.floor_s == 1e-3


UNITS = ("dram", "l2", "l1", "lsu", "issue", "fma", "alu")
percents = st.dictionaries(st.sampled_from(UNITS), st.floats(0, 130), min_size=1)


@given(percents, st.floats(1e-6, 10.0))
def test_every_verdict_is_whole(by_unit, duration):
    units = tuple(
        sorted((unit(n, p) for n, p in by_unit.items()), key=lambda u: (-u.percent, u.unit))
    )
    verdict = judged(*units, duration_s=duration)

    assert (verdict.bound is Bound.UNKNOWN) is (verdict.advice is None)
    for seconds in (verdict.floor_s, verdict.next_floor_s):
        assert seconds is None or (math.isfinite(seconds) and seconds <= duration)
    if verdict.bound in (Bound.BANDWIDTH, Bound.COMPUTE):
        assert verdict.limiter_percent == max(by_unit.values())


@given(percents, st.sampled_from([0.5, 2.0, 1024.0]))
def test_a_verdict_does_not_depend_on_the_problem_size(by_unit, scale):
    units = tuple(
        sorted((unit(n, p) for n, p in by_unit.items()), key=lambda u: (-u.percent, u.unit))
    )
    small = judged(*units, duration_s=1e-3, dram_bytes=1e6, operations={"fp32": 1e6})
    large = judged(
        *units, duration_s=1e-3 * scale, dram_bytes=1e6 * scale, operations={"fp32": 1e6 * scale}
    )

    assert (small.bound, small.limiter) == (large.bound, large.limiter)


def test_a_device_without_a_name_is_judged_too():
    verdict = judged(unit("dram", 90.0), unit("l2", 1.0), unit("issue", 1.0), device=Device())

    assert verdict.limiter == "dram"


@pytest.mark.parametrize(
    ("shared", "stalls", "advice"),
    [
        (0.0, (), "unit.l1_global"),
        (4096.0, (), "unit.l1_shared"),
        (4096.0, (Stall(reason="lg_throttle", share=0.8),), "unit.l1_global"),
        (None, (), "unit.l1"),
    ],
)
def test_advice_on_l1_follows_what_uses_it(shared, stalls, advice):
    verdict = judged(
        unit("l1", 95.0),
        unit("dram", 5.0),
        unit("issue", 5.0),
        shared_memory_bytes=shared,
        stalls=stalls,
    )

    assert verdict.advice == advice


def test_an_fp64_tensor_gemm_is_limited_by_its_own_pipe():
    # A100: a DMMA mix at 92 % of 19.5 TFLOP/s, its pipe busy for 90 %, L1 for 30 %
    peaks = PeakSet(
        report=Peaks(kind="report", source="", operations_per_s={"tensor_fp64": 19.5e12})
    )
    verdict = judged(
        unit("tensor_fp64", 90.0),
        unit("tensor", 90.0),
        unit("l1", 30.0),
        unit("issue", 10.0),
        operations={"tensor_fp64": 0.92 * 19.5e12 * 1e-3},
        peaks=peaks,
    )

    assert (verdict.limiter, verdict.limiter_percent) == ("tensor_fp64", 90.0)
    assert verdict.next_limiter == "l1"
    assert 1e-3 / (verdict.next_floor_s or 0.0) == pytest.approx(3.33, abs=0.01)
    assert verdict.advice == "unit.tensor_fp64"


def test_without_a_counter_of_its_own_the_fp64_tensor_pipe_is_computed():
    peaks = PeakSet(
        report=Peaks(kind="report", source="", operations_per_s={"tensor_fp64": 19.5e12})
    )
    verdict = judged(
        unit("tensor", 90.0),
        unit("l1", 30.0),
        unit("issue", 10.0),
        operations={"tensor_fp64": 0.92 * 19.5e12 * 1e-3},
        peaks=peaks,
    )

    assert verdict.limiter == "tensor_fp64"
    assert verdict.limiter_percent == pytest.approx(92.0)
    assert verdict.next_limiter == "l1"


def test_the_side_that_was_not_measured_is_named():
    verdict = judged(unit("dram", 90.0), unit("l2", 5.0), unit("l1", 5.0))

    assert verdict.doubts == (Note(code="side_not_measured", facts={"sides": ["compute"]}),)


@pytest.mark.parametrize(("duration_s", "short"), [(9.9e-6, True), (10e-6, False)])
def test_a_kernel_of_ten_microseconds_is_long_enough(duration_s, short):
    verdict = judged(unit("dram", 90.0), unit("issue", 1.0), duration_s=duration_s)

    assert ("short_kernel" in codes(verdict)) is short


@pytest.mark.parametrize(("percent", "said"), [(90.0, False), (90.5, True)])
def test_fifteen_points_between_pipe_and_roof_are_no_disagreement(percent, said):
    # 3 of 4 operations a second are 75 % of the roof
    peaks = PeakSet(report=Peaks(kind="report", source="", operations_per_s={"fp64": 4.0}))
    verdict = judged(
        unit("fp64", percent),
        unit("issue", 4.0),
        operations={"fp64": 3.0},
        duration_s=1.0,
        peaks=peaks,
    )

    assert (verdict.context is not None) is said


@pytest.mark.parametrize(
    ("top", "context"),
    [("dram", None), ("l2", Note(code="left_but_not_dram"))],
)
def test_left_of_the_ridge_another_unit_than_dram_is_worth_a_word(top, context):
    # 75 MFLOP over 0.6 GB are 0.125 operations a byte, far left of the ridge at 10
    rest = unit("l2" if top == "dram" else "dram", 60.0)
    verdict = judged(
        unit(top, 90.0),
        rest,
        unit("issue", 5.0),
        operations={"fp32": 75e6},
        dram_bytes=0.6e9,
    )

    assert (verdict.limiter, verdict.ridge_side) == (top, "memory")
    assert verdict.context == context
