import pytest

from roofline.model import Rule, Stall
from roofline.verdict.causes import latency_cause, ruled_out
from roofline.verdict.phrases import count, percent, waves
from tests.makers import measurement

WAITS = (Stall(reason="lg_throttle", share=0.63),)


def cause(nearest: float = 30.0, **values):
    return latency_cause(measurement(**values), nearest, Rule())


def test_a_small_grid_says_how_small():
    found = cause(grid=(1, 1, 1), waves=0.0078)

    assert found.code == "grid_too_small"
    assert "1 block is 0.0078 waves on 100 SMs" in found.text


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
    assert "blocks of 1 thread fill 1 of the 32 lanes" in cause(block=(1, 1, 1)).text


def test_a_tail_is_the_cause_only_where_it_explains_the_gap():
    # 1.5 waves take the time of 2: a quarter is idle. Without it 50 % would be 67 %, 30 % only 40.
    assert cause(nearest=50.0, waves=1.5, stalls=WAITS).code == "tail_effect"
    assert cause(nearest=30.0, waves=1.5, stalls=WAITS).code == "stall_lg_throttle"


def test_a_tail_is_named_where_nothing_better_is_known():
    assert cause(nearest=30.0, waves=1.5).code == "tail_effect"


def test_the_tail_tells_the_top_stall_too():
    assert "lg_throttle (63 % of stalls)" in cause(nearest=50.0, waves=1.5, stalls=WAITS).text


def test_uneven_work_by_the_same_measure():
    # SMs active 50 % of the time: 35 % would be 70 % without the idle half
    assert cause(nearest=35.0, sm_active_percent=50.0, stalls=WAITS).code == "imbalance"
    assert cause(nearest=20.0, sm_active_percent=50.0, stalls=WAITS).code == "stall_lg_throttle"


def test_what_it_is_not():
    text = ruled_out(measurement(waves=1158.4, theoretical_occupancy_percent=100.0))

    assert text == (
        "not the grid (1,158 waves) and not occupancy (up to 100 %); "
        "stall reasons were not collected"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [(62.4, "62 %"), (0.34, "0.3 %"), (0.04, "<0.1 %"), (0.0, "0 %"), (108.5, "108 %")],
)
def test_small_percentages_are_no_zeros(value, text):
    assert percent(value) == text


def test_counts_and_waves_read_well():
    assert (count(1, "block"), count(2048, "block")) == ("1 block", "2,048 blocks")
    assert (waves(0.19), waves(3.42), waves(68.27), waves(29997.2)) == (
        "0.19",
        "3.4",
        "68.3",
        "29,997",
    )
