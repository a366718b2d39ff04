"""A value that is its limit never fails, the next one does, whatever floats make of decimals."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from roofline.compare.gates import judge, parse_gate
from roofline.compare.judge import compare, judge_program
from roofline.compare.model import GateResult
from roofline.compare.predictions import judge_change, parse_expect
from roofline.model import exceeds
from roofline.process import Completed
from roofline.text import numbers
from roofline.text.notes import note_text
from roofline.view import Choice, choose
from roofline.wall_time import parse_metric, time_program
from tests.compare.pairs import capture, compared, launch

# Of a percent; 1, 2, 3, 5, 10 and 15 % were refused as "more than" themselves.
TENTHS = st.integers(1, 900)


def percent(tenths: int) -> str:
    return f"{tenths // 10}.{tenths % 10}%" if tenths % 10 else f"{tenths // 10}%"


def told_apart(result: GateResult) -> bool:
    """Whether the message shows the figure that fails as another one than the limit."""
    said, limit = re.findall(r"([0-9.]+ [%µmn]?s?)", note_text(result.text))
    return bool(said.split() != limit.split())


@settings(max_examples=60, deadline=None)
@given(tenths=st.integers(1, 10**7), launches=st.integers(1, 7))
@example(tenths=1050, launches=1)
@example(tenths=1200, launches=3)
def test_a_time(tenths: int, launches: int) -> None:
    """Tenths of a microsecond, as ncu counts nanoseconds."""
    gates = [parse_gate(f"time{sign}{tenths / 10}us") for sign in "><"]

    def judged(ns: int) -> tuple[GateResult, ...]:
        each = [launch(duration_s=ns * 1e-9, index=i) for i in range(launches)]
        return judge(compare(capture(*each), capture(*each)), gates)

    assert [r.status for r in judged(tenths * 100)] == ["passed", "passed"]
    above, below = judged(tenths * 100 + 1)[0], judged(tenths * 100 - 1)[1]
    assert (above.status, below.status) == ("failed", "failed")
    assert told_apart(above)
    assert told_apart(below)


@settings(max_examples=60, deadline=None)
@given(thousands=st.integers(1, 10**6), tenths=TENTHS)
@example(thousands=100, tenths=50)
@example(thousands=100, tenths=150)
def test_a_regression(thousands: int, tenths: int) -> None:
    """1000 ns to 1050 ns is 5 %: no noise that is stated as less than that hides it."""

    def judged(ns: int) -> GateResult:
        sides = (launch(duration_s=one * 1e-9) for one in (thousands * 1000, ns))
        (found,) = judge(compared(*sides, noise=0.0), [parse_gate(f"regression={percent(tenths)}")])
        return found

    least = thousands * (1000 + tenths)
    assert judged(least).status == "passed"
    assert judged(least + 1).status == "failed"
    assert told_apart(judged(least + 1))


@settings(max_examples=60, deadline=None)
@given(thousands=st.integers(1, 10**6), tenths=TENTHS)
@example(thousands=1, tenths=50)
def test_a_noise_that_is_stated(thousands: int, tenths: int) -> None:
    """Slower or faster by all of the noise is no change, and by a nanosecond more is one."""
    base, most = thousands * 1000, thousands * (1000 + tenths)

    def outcome(*ns: int) -> str:
        sides = (launch(duration_s=one * 1e-9) for one in ns)
        return compared(*sides, noise=tenths / 1000).pairs[0].outcome

    assert [outcome(base, most), outcome(most, base)] == ["no_change", "no_change"]
    assert [outcome(base, most + 1), outcome(most + 1, base)] == ["slower", "faster"]


@settings(max_examples=60, deadline=None)
@given(base=st.integers(1, 10**6), tenths=st.integers(20, 50))
@example(base=1, tenths=50)
def test_an_expected_step_within_the_noise(base: int, tenths: int) -> None:
    """From 2 %, which is not printed as 1.00x either way, to 5 %, the most that shows no change."""
    same = parse_expect("step=same")
    ends = base * 1000.0, base * (1000.0 + tenths)

    for one, other in (ends, ends[::-1]):
        assert judge_change(same, one, other, tenths / 1000)[0] == "confirmed"
        assert judge_change(same, one, other, tenths / 1000 - 1e-6)[0] != "confirmed"


@settings(max_examples=40, deadline=None)
@given(base=st.integers(1, 10**6), tenths=TENTHS)
@example(base=100, tenths=50)
@example(base=100, tenths=150)
def test_a_program_and_its_figures(base: int, tenths: int) -> None:
    """In turns: wall time, a figure of which lower is better and one of which higher is."""
    better, limit = base * 1000, base * (1000 + tenths)

    def judged(worse: int) -> dict[str | None, GateResult]:
        def run(argv: Sequence[str]) -> Completed:
            lat, rate = (better, worse) if argv[0] == "old" else (worse, better)
            return Completed(argv=(), code=0, stdout=f"{lat} ms, {rate} tok/s", stderr="")

        # A B, B A, ...: each run begins at 0, so that no digit is lost.
        turns = [0, better, 0, worse, 0, worse, 0, better] * 3
        times = time_program(
            ["new"],
            run,
            repeats=6,
            warmup=0,
            metrics=[parse_metric("lat<=(\\d+) ms"), parse_metric("rate>=(\\d+) tok")],
            against=["old"],
            clock=lambda: float(turns.pop(0)),
        )
        gates = [f"{name}: program={percent(tenths)}" for name in ("wall time", "lat", "rate")]
        found = judge(judge_program(None, times), [parse_gate(gate) for gate in gates])
        return {one.kernel: one for one in found}

    assert {one.status for one in judged(limit).values()} == {"passed"}
    over = judged(limit + 1)
    assert {name: one.status for name, one in over.items()} == dict.fromkeys(over, "failed")
    assert all(map(told_apart, over.values()))


@settings(max_examples=60, deadline=None)
@given(tenths=st.integers(1, 1000), of=st.integers(1, 10**6))
def test_percentages_and_counts(tenths: int, of: int) -> None:
    """A percent of peak as ncu has it: what was used of what there is, times 100."""
    use = {"dram": 100 * (tenths * of) / (1000 * of), "l2": 0.0}
    after = launch(use=use, dram_bytes=float(of), registers_per_thread=tenths)
    gates = [f"dram<{tenths / 10}%", f"dram>{tenths / 10}%", f"bytes>{of / 1e6:.6f}MB"]
    gates += [f"registers>{tenths}", f"registers<{tenths}"]

    found = judge(compared(after, after), [parse_gate(gate) for gate in gates])

    assert [one.status for one in found] == ["passed"] * 5
    higher = [parse_gate(f"dram<{tenths / 10 + 0.01:.2f}%"), parse_gate(f"bytes<{of + 1}B")]
    assert [one.status for one in judge(compared(after, after), higher)] == ["failed"] * 2


@settings(max_examples=60, deadline=None)
@given(tenths=st.integers(1, 999), launches=st.integers(1, 5), ns=st.integers(1, 10**6))
def test_the_least_share(tenths: int, launches: int, ns: int) -> None:
    some = [launch("a", demangled="a", duration_s=tenths * ns * 1e-9, index=i)
            for i in range(launches)]  # fmt: skip
    rest = launch("b", demangled="b", duration_s=(1000 - tenths) * launches * ns * 1e-9)
    share = float(f"{tenths}e-3")

    kept = choose(capture(*some, rest), Choice(min_share=share)).analysis.groups

    assert "a" in [group.result.measurement.name for group in kept]
    fewer = choose(capture(*some, rest), Choice(min_share=min(share + 1e-9, 1.0))).analysis.groups
    assert "a" not in [group.result.measurement.name for group in fewer]


@given(st.integers(1, 10**9), st.sampled_from(["ns", "us", "ms", "s"]))
def test_a_limit_is_the_float_that_is_nearest_to_what_was_typed(count: int, unit: str) -> None:
    power = {"ns": -9, "us": -6, "ms": -3, "s": 0}[unit]

    assert parse_gate(f"time>{count}{unit}").limit == float(f"{count}e{power}")


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("120us", "s", 120e-6),
        ("1.1e2us", "s", 110e-6),
        (".7ms", "s", 0.7e-3),
        ("1,024 kB", "B", 1_024_000.0),
        ("1.5GiB", "B", 1.5 * 2**30),
        ("0.3 TFLOP", "FLOP", 0.3e12),
        ("1e999999999ns", "s", None),
        ("1e9999999999ns", "s", None),
    ],
)
def test_amounts_are_read_in_decimal(text: str, unit: str, value: float | None) -> None:
    assert numbers.read(text, unit) == value


@pytest.mark.parametrize(
    ("value", "limit", "unit", "said"),
    [
        (105.3e-6, 105e-6, "s", ("105.3 µs", "105.0 µs")),
        (105e-6, 105e-6, "s", ("105 µs", "105 µs")),
        (95.3, 95.25, "%", ("95.30 %", "95.25 %")),
        (70.4, 70.0, "%", ("70.4 %", "70.0 %")),
        (0.9e9, 0.8e9, "B", ("900 MB", "800 MB")),
        (128.0, 64.0, "registers", ("128", "64")),
    ],
)
def test_a_value_beside_its_limit(
    value: float, limit: float, unit: str, said: tuple[str, str]
) -> None:
    assert numbers.against(value, limit, unit) == said


@pytest.mark.parametrize(
    ("value", "limit", "over"),
    [
        (105 / 100, 1.05, False),
        (1.0500000001, 1.05, True),
        (0.1 + 0.2, 0.3, False),
        (1e-300, 0.0, True),
        (0.0, 0.0, False),
        (2.0**53 / 8 + 1, 2.0**53 / 8, False),  # 1 of 1.1e15
        (10**11 + 1, 10**11, True),  # one byte of 100 GB
    ],
)
def test_what_exceeds(value: float, limit: float, over: bool) -> None:
    assert exceeds(value, limit) is over
