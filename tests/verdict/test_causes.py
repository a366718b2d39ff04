from dataclasses import FrozenInstanceError

import pytest

from roofline.model import Rule, Stall
from roofline.verdict.causes import Cause, latency_cause
from tests.makers import measurement

WAITS = (Stall(reason="lg_throttle", share=0.63),)


def cause(nearest: float = 30.0, **values):
    return latency_cause(measurement(**values), nearest, Rule())


def test_a_small_grid_says_how_small():
    found = cause(grid=(1, 1, 1), waves=0.0078)

    assert found.code == "grid_too_small"
    assert found.facts == {"blocks": 1, "waves": 0.0078}


@pytest.mark.parametrize(
    ("block", "partial"),
    [
        ((1, 1, 1), True),
        ((16, 1, 1), True),
        ((33, 1, 1), True),
        ((128, 1, 1), False),
        ((8, 8, 4), False),
        ((31, 1, 1), False),
    ],
)
def test_blocks_that_leave_lanes_empty(block, partial):
    found = cause(block=block)

    assert (found is not None and found.code == "partial_warps") is partial


def test_one_thread_a_block_fills_one_of_32_lanes():
    assert cause(block=(1, 1, 1)).facts == {"threads": 1, "lanes": 32}


def test_a_tail_is_the_cause_only_where_it_explains_the_gap():
    # 1.5 waves take the time of 2: a quarter is idle. Without it 50 % would be 67 %, 30 % only 40.
    assert cause(nearest=50.0, waves=1.5, stalls=WAITS).code == "tail_effect"
    assert cause(nearest=30.0, waves=1.5, stalls=WAITS).code == "stall_lg_throttle"


def test_a_tail_is_named_where_nothing_better_is_known():
    assert cause(nearest=30.0, waves=1.5).code == "tail_effect"


def test_uneven_work_by_the_same_measure():
    # SMs active 50 % of the time: 35 % would be 70 % without the idle half
    assert cause(nearest=35.0, sm_active_percent=50.0, stalls=WAITS).code == "imbalance"
    assert cause(nearest=20.0, sm_active_percent=50.0, stalls=WAITS).code == "stall_lg_throttle"


@pytest.mark.parametrize(("occupancy", "limited"), [(49.9, True), (50.0, False)])
def test_half_of_all_warps_hide_latency(occupancy, limited):
    found = cause(theoretical_occupancy_percent=occupancy)

    assert (found is not None and found.code == "occupancy_limited") is limited


# The last of 2 waves leaves a fifth of the time idle at 1.6 (to a float a hair less).
@pytest.mark.parametrize(("waves", "tail"), [(1.59, True), (1.6, False), (2.0, False)])
def test_a_tail_is_a_fifth_of_the_time(waves, tail):
    found = cause(waves=waves)

    assert (found is not None and found.code == "tail_effect") is tail


def test_a_cause_is_frozen():
    with pytest.raises(FrozenInstanceError):
        Cause(code="tail_effect").code = "imbalance"


def test_a_tail_says_how_much_of_the_time_is_idle():
    # 1.5 waves take the time of 2: half a wave of 2 is 25 %
    assert cause(waves=1.5).facts == {"waves": 1.5, "whole_waves": 2, "idle_percent": 25.0}
