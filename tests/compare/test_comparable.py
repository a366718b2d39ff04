from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from roofline.compare.gates import judge, parse_gate
from roofline.compare.judge import compare
from roofline.compare.model import Severity
from roofline.compare.predictions import parse_claim, parse_expect
from roofline.errors import UsageError
from roofline.model import Kind, Missing, Rule
from roofline.render.comparison import sentence, totals
from roofline.text.notes import note_text
from tests.compare.pairs import capture, compared, launch
from tests.makers import TOY_DEVICE

OTHER = replace(TOY_DEVICE, name="NVIDIA Other")


def levels(before: dict[str, Any], after: dict[str, Any], **options: Any) -> dict[str, Severity]:
    # No two runs agree in every digit.
    found = compared(launch(**before), launch(**{"us": 1001, **after}), **options).checks
    return {c.code: c.level for c in found}


def test_alike_captures_only_say_what_is_not_recorded() -> None:
    assert levels({}, {}) == {"not_recorded": "info"}


def test_nothing_is_left_to_say_where_files_record_it_all() -> None:
    told = {"settings": {"clock_control": "Base", "cache_control": "All", "replay_mode": "Kernel"}}

    assert levels(told, told) == {}


@pytest.mark.parametrize(
    ("after", "code"),
    [
        ({"sm_clock_hz": 1.04e9}, "sm_clock"),
        ({"dram_clock_hz": 0.95e9}, "dram_clock"),
        ({"sm_clock_hz": 0.7e9}, "clock_control"),
        ({"ncu_version": "2025.1.0.0"}, "ncu_version"),
        ({"settings": {"clock_control": "None"}}, "clock_control"),
        ({"settings": {"clock_control": "Base", "replay_mode": "Application"}}, "replay_mode"),
        ({"missing": (Missing(quantity="stalls", flag="--section X"),)}, "set"),
    ],
)
def test_a_difference_is_a_stated_warning(after: dict[str, Any], code: str) -> None:
    before = {
        "ncu_version": "2024.1.0.0",
        "settings": {"clock_control": "Base", "replay_mode": "Kernel"},
    }

    assert levels(before, before | after)[code] == "warning"


def test_clocks_within_3_percent_are_alike() -> None:
    assert "sm_clock" not in levels({}, {"sm_clock_hz": 1.029e9})


@pytest.mark.parametrize(
    ("after", "code", "said"),
    [
        ({"device": OTHER}, "gpu", "NVIDIA Toy before, NVIDIA Other after"),
        ({"device": replace(TOY_DEVICE, sm_count=14)}, "gpu", "100 before, 14 after"),
        ({"kind": Kind.RANGE}, "kind", "different replay"),
    ],
)
def test_what_makes_a_verdict_meaningless_is_refused(
    after: dict[str, Any], code: str, said: str
) -> None:
    with pytest.raises(UsageError) as refused:
        compared(launch(), launch(**after))

    assert said in str(refused.value)
    assert f'allow="{code}"' in str(refused.value)


def test_allow_turns_a_refusal_into_a_warning() -> None:
    for allow in ("gpu", "all"):
        assert levels({}, {"device": OTHER}, allow=(allow,))["gpu"] == "warning"


@pytest.mark.parametrize("more", [{}, {"grid": (50, 1, 1), "dram_bytes": 0.5e9}])
def test_nothing_is_judged_on_another_gpu(more: dict[str, Any]) -> None:
    before = launch(operations={"fp32": 1e9}, dram_bytes=1e9)
    fast = replace(OTHER, sm_count=160)
    after = launch(us=500, device=fast, operations={"fp32": 1e9}, **{"dram_bytes": 1e9} | more)
    asked = [parse_expect("kernel=1.5x..3x"), parse_claim("kernel=dram")]
    found = compared(before, after, allow=["gpu"], expectations=asked)
    (pair,) = found.pairs

    assert (pair.outcome, pair.cause.code, pair.step) == ("unknown", "other_gpu", None)
    assert [(p.judgement, p.reason.code) for p in pair.predictions] == [
        ("not_testable", "other_gpu")
    ] * 2
    (gate,) = judge(found, [parse_gate("regression")])
    assert (gate.status, gate.text.code) == ("not_judged", "other_gpu")
    assert (found.before_paired_s, found.gain) == (None, None)
    assert "different number of SMs: 100 before, 160 after" in [
        note_text(check.text) for check in found.checks
    ]
    assert sentence(pair).startswith("on another GPU (2.00x faster by time)")
    assert totals(found) == "1 kernel paired: 1 not judged (1 on another GPU)"
    # A GPU that one side does not name may be the same one.
    unnamed = launch(us=500, device=replace(TOY_DEVICE, name=None))
    assert compared(launch(), unnamed).pairs[0].outcome == "faster"


def test_another_allow_does_not_help() -> None:
    with pytest.raises(UsageError, match="different GPU"):
        compared(launch(), launch(device=OTHER), allow=("kind",))


def test_sides_judged_by_different_rules_are_refused() -> None:
    before, after = capture(launch()), replace(capture(launch()), rule=Rule(latency=50))

    with pytest.raises(UsageError, match="60/10 before, 50/10 after") as refused:
        compare(before, after)

    assert 'allow="rule"' in str(refused.value)


def test_a_gpu_that_is_not_recorded_is_said() -> None:
    unknown = replace(TOY_DEVICE, name=None)

    assert levels({}, {"device": unknown})["gpu"] == "warning"


def test_of_sets_that_overlap_both_are_named_with_their_side() -> None:
    other = launch("b", demangled="b", device=OTHER)

    said = compare(capture(launch(device=OTHER)), capture(launch(), other)).checks[0]

    assert note_text(said.text) == (
        "the captures cover different sets by GPU: "
        "NVIDIA Other before; NVIDIA Other, NVIDIA Toy after"
    )


def test_nothing_in_common_is_refused_with_the_way_out() -> None:
    before = capture(launch("a", demangled="a"), launch("b", demangled="b"))
    after = capture(launch("x", demangled="x"), launch("y", demangled="y"))

    with pytest.raises(UsageError, match='maps="OLD=NEW"') as refused:
        compare(before, after)

    assert "before: a, b; after: x, y" in str(refused.value)


def test_clocks_are_compared_gpu_by_gpu() -> None:
    # Each GPU keeps its clock; over both the mean by time falls from 1.9 to 1.1 GHz.
    slow, fast = {"device": TOY_DEVICE, "sm_clock_hz": 1e9}, {"device": OTHER, "sm_clock_hz": 2e9}
    before = capture(launch("a", us=1, **slow), launch("b", us=9, **fast))
    after = capture(launch("a", us=9, **slow), launch("b", us=1, **fast))

    assert "sm_clock" not in {c.code for c in compare(before, after).checks}
    raised = capture(launch("a", us=1, **slow), launch("b", us=9, **fast | {"sm_clock_hz": 2.2e9}))
    (told,) = (c for c in compare(before, raised).checks if c.code == "sm_clock")
    assert note_text(told.text).startswith(
        "NVIDIA Other: the SM clock differs by 10.0 %: 2.00 GHz before, 2.20 GHz after"
    )
