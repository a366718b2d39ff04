from __future__ import annotations

from dataclasses import replace

import pytest

from roofline.compare.gates import failed, judge, parse_gate
from roofline.compare.judge import compare
from roofline.compare.model import Comparison
from roofline.errors import UsageError
from roofline.model import Unread
from roofline.render.ci import gate_errors
from roofline.text.notes import note_text
from tests.compare import pairs
from tests.compare.pairs import IDLE, capture, compared, launch


def status(comparison: Comparison, gate: str) -> list[str]:
    return [r.status for r in judge(comparison, [parse_gate(gate)])]


SLOWER = compared(launch(us=1000), launch(us=1080))


@pytest.mark.parametrize(
    ("gate", "expected"),
    [
        ("regression=5%", "failed"),
        ("regression=8.1%", "passed"),
        ("regression", "failed"),  # any that is beyond the noise
        ("time>1.05ms", "failed"),
        ("time>1200us", "passed"),
        ("kernel: time>1050 us", "failed"),
        ("bytes>0.8GB", "failed"),
        ("bytes>1GB", "passed"),
        ("bound=bandwidth", "failed"),
        ("bound=latency", "passed"),
        ("limiter=dram", "failed"),
        ("dram<95%", "failed"),
        ("dram<70", "passed"),
        ("waves<1", "passed"),
        ("registers>64", "not_judged"),
        ("tex<50%", "not_judged"),
        ("softmax: time>1us", "not_judged"),
        ("gone", "passed"),
    ],
)
def test_conditions(gate: str, expected: str) -> None:
    assert status(SLOWER, gate) == [expected]


@pytest.mark.parametrize("gate", ["bound=latency", "limiter=dram"])
def test_what_limits_is_not_judged_of_counters_without_numbers(gate: str) -> None:
    nothing = launch(us=1000, use={}, dram_bytes=None, operations={})

    assert status(compared(nothing, nothing), gate) == ["not_judged"]


def test_a_gate_says_both_ends_of_what_clocks_leave_open() -> None:
    # 11.4 to 12.8 us, 0.891x, at 0.9 of both clocks: 0.990x with credit for them.
    use = {**IDLE, "dram": 20, "issue": 20}
    before, after = (
        launch(us=us, use=use, sm_clock_hz=hz, dram_clock_hz=hz)
        for us, hz in ((11.4, 1e9), (12.8, 0.9e9))
    )
    (found,) = judge(compared(before, after), [parse_gate("regression=5%")])

    assert found.status == "passed"
    assert found.value == pytest.approx(100 * (12.8 * 0.9 / 11.4 - 1))
    assert note_text(found.text) == (
        "at equal clocks 1.12x to 1.01x slower: clocks and noise (5.0 %) leave open whether it "
        "changed"
    )


def test_a_limit_keeps_the_digits_that_were_typed() -> None:
    (found,) = judge(SLOWER, [parse_gate("dram<95.25%")])

    assert note_text(found.text).endswith(" % (limit 95.25 %)")


def test_what_is_not_judged_does_not_pass() -> None:
    results = judge(SLOWER, [parse_gate("softmax: time>1us"), parse_gate("time>2ms")])

    assert [r.gate for r in failed(results)] == ["softmax: time>1us"]


def test_a_regression_within_the_noise_passes() -> None:
    assert status(compared(launch(us=1000), launch(us=1025)), "regression=1%") == ["passed"]


def test_a_regression_says_the_loss_as_measured() -> None:
    """1080 / 1000 - 1 = 8.0 %, with nothing taken off for the noise of 3 %."""
    (found,) = judge(SLOWER, [parse_gate("regression=5%")])
    (within,) = judge(compared(launch(us=1000), launch(us=1025)), [parse_gate("regression=0%")])

    assert note_text(found.text) == "8.0 % slower (limit 5.0 %)"
    assert note_text(within.text) == "0.98x, within the noise (3.0 %)"


def test_noise_above_the_limit_is_said_and_warned_of() -> None:
    """3 % of noise would hide a loss of 2 %, and not one of 3 %."""
    same = compared(launch(us=1000), launch(us=1025))
    hidden, shown = (judge(same, [parse_gate(f"regression={n}%")]) for n in (2, 3))

    assert [g.status for g in (*hidden, *shown)] == ["passed", "passed"]
    assert note_text(hidden[0].text) == (
        "0.98x, within the noise (3.0 %), which would hide a loss of 2 %"
    )
    (warning,) = gate_errors(hidden)
    assert warning.startswith("::warning title=roofline gate::passed regression=2%25 at ")
    assert gate_errors(shown) == []


def test_a_condition_that_is_given_twice_is_judged_once() -> None:
    assert len(judge(SLOWER, [parse_gate("time>1ms")] * 2)) == 1


def test_a_gain_at_equal_clocks_says_so() -> None:
    """1500 us to 1000 us at 0.75 of the clock: 1.5 / 0.75 = 2.00x."""
    busy = {**IDLE, "fp32": 90.0}
    before, after = (
        launch(us=us, use=busy, sm_clock_hz=hz) for us, hz in ((1500, 1e9), (1000, 0.75e9))
    )
    (found,) = judge(compared(before, after), [parse_gate("regression=5%")])
    (alike,) = judge(compared(launch(us=1500), launch(us=1000)), [parse_gate("regression=5%")])

    assert note_text(found.text) == "2.00x, faster at equal clocks"
    assert note_text(alike.text) == "1.50x, faster"


@pytest.mark.parametrize(
    ("gate", "value", "limit", "unit"),
    [
        ("regression=5%", 8.0, 5.0, "%"),  # 1080 / 1000 - 1
        ("regression", 8.0, 0.0, "%"),
        ("time>1.05ms", 1080e-6, 1.05e-3, "s"),
        ("bytes>0.8GB", 0.9e9, 0.8e9, "B"),
        ("dram<95%", 90.0, 95.0, "%"),
        ("registers>64", None, 64.0, "registers"),
        ("softmax: time>1us", None, 1e-6, "s"),
        ("bound=latency", None, None, None),
        ("gone", None, None, None),
    ],
)
def test_a_gate_has_its_numbers(
    gate: str, value: float | None, limit: float | None, unit: str | None
) -> None:
    slower = compared(launch(us=1000, dram_bytes=0.9e9), launch(us=1080, dram_bytes=0.9e9))

    (found,) = judge(slower, [parse_gate(gate)])

    assert found.value == pytest.approx(value)
    assert (found.limit, found.unit) == (pytest.approx(limit), unit)


def test_the_numbers_of_a_new_kernel_and_of_a_gain() -> None:
    new = judge(with_new(), [parse_gate("mask: time>2ms")])[0]
    gain = judge(compared(launch(us=1000), launch(us=500)), [parse_gate("regression=5%")])[0]

    assert (new.value, gain.value) == (pytest.approx(3e-3), pytest.approx(-50.0))


def test_a_clock_is_no_regression() -> None:
    before, after = pairs.by_clock()

    assert status(compared(after, before), "regression=5%") == ["passed"]


def test_what_a_clock_explains_is_taken_off_a_regression_and_said() -> None:
    """1.5x longer at 0.8 times the clock: 1.5 x 0.8 - 1 = 20.0 % slower at equal clocks."""
    busy = {**pairs.IDLE, "fp32": 90.0}
    before = launch(us=1000, use=busy, sm_clock_hz=1e9)
    after = launch(us=1500, use=busy, sm_clock_hz=0.8e9)

    (found,) = judge(compared(before, after), [parse_gate("regression=5%")])

    assert found.status == "failed"
    assert note_text(found.text) == "20.0 % slower at equal clocks (limit 5.0 %)"


def test_a_larger_problem_is_no_regression() -> None:
    grown = launch(us=2000, grid=(200, 1, 1), operations={"fp32": 150e6}, dram_bytes=1.8e9)

    assert status(compared(launch(us=1000), grown), "regression=5%") == ["passed"]


def test_a_regression_that_cannot_be_judged_fails() -> None:
    assert status(compared(launch(), launch(duration_s=None)), "regression=5%") == ["not_judged"]


def test_a_limit_within_the_spread_of_launches_passes() -> None:
    times = [118.0, 120.0, 125.0]  # mean 121 us, and one launch keeps 120 us
    side = capture(*(launch(us=us, index=i) for i, us in enumerate(times)))
    comparison = compare(side, side)

    assert status(comparison, "time>120us") == ["passed"]
    assert status(comparison, "time>117us") == ["failed"]


def test_a_kernel_that_is_gone() -> None:
    comparison = compare(
        capture(launch("a", demangled="a"), launch("softmax", demangled="softmax")),
        capture(launch("a", demangled="a")),
    )

    assert status(comparison, "gone") == ["failed"]
    assert status(comparison, "softmax: gone") == ["failed"]
    assert status(comparison, "a: gone") == ["passed"]
    cut = (Unread(path="b.ncu-rep", launches=0, why="it ends early"),)
    partly = replace(comparison, after=replace(comparison.after, unread=cut))
    assert status(partly, "gone") == ["not_judged"]
    assert status(partly, "a: gone") == ["passed"]
    (mistyped,) = judge(comparison, [parse_gate("sofmax: gone")])
    assert mistyped.status == "not_judged"
    assert note_text(mistyped.text) == (
        "no kernel of BEFORE is named 'sofmax'; did you mean softmax?"
    )
    (mistyped,) = judge(comparison, [parse_gate("sofmax: time>1us")])
    assert note_text(mistyped.text) == "no kernel of AFTER is named 'sofmax'"


def with_new() -> Comparison:
    """BEFORE has "a" alone, AFTER also "mask", which is slow and latency-bound."""
    idle = {**pairs.IDLE, "dram": 2.0, "l2": 3.0, "issue": 1.0}
    mask = launch("mask", demangled="mask", us=3000, use=idle, registers_per_thread=64)
    a = launch("a", demangled="a", us=100)
    return compare(capture(a), capture(a, mask))


@pytest.mark.parametrize(
    ("gate", "expected"),
    [
        ("time>2ms", {"a": "passed", "mask": "failed"}),
        ("mask: time>2ms", {"mask": "failed"}),
        ("mask: time>4ms", {"mask": "passed"}),
        ("bound=latency", {"a": "passed", "mask": "failed"}),
        ("dram<50%", {"a": "passed", "mask": "failed"}),
        ("registers>32", {"a": "not_judged", "mask": "failed"}),
        ("regression=5%", {"a": "passed"}),  # a new kernel has nothing to be slower than
        ("gone", {None: "passed"}),
    ],
)
def test_conditions_on_figures_of_after_are_about_all_of_it(
    gate: str, expected: dict[str | None, str]
) -> None:
    results = judge(with_new(), [parse_gate(gate)])

    assert {r.kernel: r.status for r in results} == expected
    assert all(note_text(r.text).endswith("; new in AFTER") for r in results if r.kernel == "mask")


def test_a_regression_of_a_new_kernel_is_not_judged_and_says_why() -> None:
    (result,) = judge(with_new(), [parse_gate("mask: regression")])

    assert result.status == "not_judged"
    assert note_text(result.text) == "mask is new in AFTER, so there is nothing to compare it with"


def test_the_spread_of_a_new_kernel_counts_as_that_of_a_pair() -> None:
    a = launch("a", demangled="a", us=100)
    new = [launch("b", demangled="b", us=us, index=i) for i, us in enumerate((118, 120, 125))]
    comparison = compare(capture(a), capture(a, *new))

    assert status(comparison, "b: time>120us") == ["passed"]
    assert status(comparison, "b: time>117us") == ["failed"]


def test_every_kernel_is_judged() -> None:
    comparison = compare(
        capture(launch("a", demangled="a", us=100), launch("b", demangled="b", us=100)),
        capture(launch("a", demangled="a", us=100), launch("b", demangled="b", us=150)),
    )

    results = judge(comparison, [parse_gate("regression=5%")])

    assert {r.kernel: r.status for r in results} == {"a": "passed", "b": "failed"}


def test_a_percentage_below_1_has_its_sign() -> None:
    assert [parse_gate(f"regression={one}").value for one in ("0.5%", "0", "5")] == [0.5, 0, 5]


def test_namespaces_do_not_upset_the_colon() -> None:
    gate = parse_gate("at::native::softmax: time>1us")

    assert (gate.pattern, gate.what, gate.value) == ("at::native::softmax", "time", 1e-6)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("faster", "not understood"),
        ("time=5us", "not understood"),
        ("regression>5%", "not understood"),
        ("time>500", "time needs a unit: time>500us"),
        ("bytes>5", "bytes needs a unit: bytes>5MB"),
        ("regression=0.05", "try: 5%, or 0.05%"),
        ("dram<0.7", "dram is in percent: a share or a percentage?"),
        ("regresion=5%", r"did you mean regression\?"),
        ("gemm: tme>5us", r"did you mean time\?"),
        ("time>5GB", "GB does not fit time"),
        ("bound=slow", "one of bandwidth, compute, latency, unknown"),
        ("speed>5%", "not understood"),
        (": time>5us", "not understood"),
        ("", "not understood"),
    ],
)
def test_what_is_no_condition(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_gate(text)
