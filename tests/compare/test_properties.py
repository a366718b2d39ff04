from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from roofline.compare.judge import compare
from roofline.model import Measurement
from roofline.render.comparison import sentence
from tests.compare.pairs import capture, launch

PERCENT = st.floats(0, 120)
LAUNCH = st.builds(
    lambda us, dram, issue, l2, gbyte, flop, sm, grid: launch(
        us=us,
        use={"dram": dram, "issue": issue, "l2": l2},
        dram_bytes=gbyte,
        operations=flop,
        sm_clock_hz=sm,
        grid=(grid, 1, 1),
    ),
    st.floats(1, 1e5),
    PERCENT,
    PERCENT,
    PERCENT,
    st.one_of(st.none(), st.floats(0, 1e12)),
    st.one_of(st.just({}), st.builds(lambda v: {"fp32": v}, st.floats(0, 1e12))),
    st.one_of(st.none(), st.floats(0.5e9, 2e9)),
    st.sampled_from([50, 100, 200]),
)
SIDE = st.lists(LAUNCH, min_size=1, max_size=3)
SWAPPED = {"faster": "slower", "slower": "faster"}


@settings(max_examples=60, deadline=None)
@given(side=SIDE)
def test_a_capture_against_itself_is_no_change(side: list[Measurement]) -> None:
    analysis = capture(*side)

    comparison = compare(analysis, analysis)

    assert not comparison.gone
    assert not comparison.new
    for pair in comparison.pairs:
        assert pair.outcome == "no_change"
        assert pair.timing is not None
        assert pair.timing.speedup == 1
        assert pair.work.status in ("same", "unknown")
    assert comparison.before_paired_s == pytest.approx(comparison.after_paired_s)


@settings(max_examples=80, deadline=None)
@given(before=LAUNCH, after=LAUNCH)
def test_swapping_the_sides_inverts_every_ratio(before: Measurement, after: Measurement) -> None:
    there = compare(capture(before), capture(after)).pairs[0]
    back = compare(capture(after), capture(before)).pairs[0]

    assert there.timing is not None
    assert back.timing is not None
    for one, other in (
        (there.timing.speedup, back.timing.speedup),
        (there.timing.low, back.timing.high),
        (there.timing.equal_low, back.timing.equal_high),
        (there.timing.speedup_high, back.timing.speedup_low),
    ):
        assert one * other == pytest.approx(1)
    if there.work.status != "different" and back.work.status != "different":
        assert back.outcome == SWAPPED.get(there.outcome, there.outcome)


@settings(max_examples=80, deadline=None)
@given(before=LAUNCH, after=LAUNCH)
@example(before=launch(us=1, use={"l2": 0.0}), after=launch(us=2, use={"l2": 5e-324}))
def test_a_sentence_never_fails_and_never_lies_about_the_direction(
    before: Measurement, after: Measurement
) -> None:
    pair = compare(capture(before), capture(after)).pairs[0]

    assert sentence(pair).endswith(".")
    assert "None" not in sentence(pair)
    assert "nan" not in sentence(pair)
    if pair.outcome == "faster" and pair.work.status != "different":
        assert pair.timing is not None
        assert pair.timing.equal_low > 1
