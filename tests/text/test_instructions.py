"""Instructions and NVIDIA's rules in sentences."""

from __future__ import annotations

from dataclasses import replace

import pytest

from roofline.model import Details, Instruction, RuleResult
from roofline.text.instructions import blame, rules, waste

LOAD = Instruction(address=16, sass="LDG.E.64 R2, [R8.64]", file="a.cu", line=40)
DADD = Instruction(
    address=32,
    sass="DADD R4, R2, R6",
    file="a.cu",
    line=41,
    samples=6200.0,
    share=0.62,
    reason="long_scoreboard",
    reason_share=0.9,
    producer=LOAD,
)
BARRIER = Instruction(
    address=48,
    sass="LDS R2, [R4]",
    share=0.3,
    reason="barrier",
    producer=Instruction(address=40, sass="BAR.SYNC 0x0"),
    for_warps=True,
)


def said(*sampled: Instruction, **other: object) -> list[str]:
    known = Details(index=0, samples=10000.0, sampled=sampled, lines={"a.cu:41": 0.7})
    return list(blame(replace(known, **other)))  # type: ignore[arg-type]


def test_the_victim_and_what_it_waits_for() -> None:
    assert said(DADD) == [
        "62.0 % of the 10,000 samples wait at DADD R4, R2, R6 (a.cu:41) for LDG.E.64 (a.cu:40)",
        "by source line: a.cu:41 70.0 %",
    ]


def test_what_is_on_the_same_line_is_said_once() -> None:
    same = replace(DADD, producer=replace(LOAD, line=41))
    assert said(same)[0].endswith("DADD R4, R2, R6 (a.cu:41) for LDG.E.64")


def test_without_a_load_the_reason_is_said() -> None:
    alone = replace(DADD, producer=None, reason="lg_throttle", file=None, line=None)
    assert said(alone, lines={}) == [
        "62.0 % of the 10,000 samples are at DADD R4, R2, R6: lg throttle",
        "no source lines: compile with -lineinfo",
    ]
    bare = replace(alone, sass=None, reason=None)
    assert said(bare)[0] == "62.0 % of the 10,000 samples are at the instruction at 0x20"


def test_waits_of_warps_for_each_other_are_told_apart() -> None:
    works = replace(DADD, share=0.2)
    assert said(BARRIER, works, warps_share=0.45)[:2] == [
        "20.0 % of the 10,000 samples wait at DADD R4, R2, R6 (a.cu:41) for LDG.E.64 (a.cu:40)",
        "45.0 % of them wait for other warps: at barriers, or as warps with a role of their own",
    ]
    assert said(BARRIER, replace(works, share=0.05))[0] == (
        "30.0 % of the 10,000 samples wait at LDS R2, [R4] for other warps (BAR.SYNC)"
    )


def test_what_names_nobody() -> None:
    assert said(samples=None) == ["not sampled: collect with --section SourceCounters"]
    assert said(samples=12.0) == ["the 12 samples are too few to name an instruction"]
    assert said() == [
        "the 10,000 samples are spread: no instruction has 10 % of them",
        "by source line: a.cu:41 70.0 %",
    ]


def test_waste_has_its_count_and_its_share() -> None:
    wasting = (replace(LOAD, sectors=875.0), replace(LOAD, wavefronts=620.0))
    found = Details(index=0, sectors=1000.0, wavefronts=640.0, wasting=wasting)

    assert list(waste(found)) == [
        "LDG.E.64 R2, [R8.64] (a.cu:40): 875 sectors more than it needs, 88 % of all",
        "LDG.E.64 R2, [R8.64] (a.cu:40): 620 shared wavefronts more than it needs, 97 % of all",
    ]


@pytest.mark.parametrize(("whole", "scope"), [(True, "speedup"), (False, "local speedup")])
def test_nvidia_s_rules_by_their_estimates(*, whole: bool, scope: str) -> None:
    silent = RuleResult(identifier="a", title="Occupancy", text="No estimate.")
    small = RuleResult(identifier="b", title="Small", text="One. Two.", gain_percent=5.0)
    large = replace(small, title="Large", gain_percent=50.0, whole=whole)

    assert list(rules((silent, small, large))) == [
        f"Large (estimated {scope} 50 %): One",
        "Small (estimated local speedup 5 %): One",
    ]


def test_nvidia_s_estimates_of_the_whole_kernel_come_before_those_of_a_part() -> None:
    part = RuleResult(identifier="a", title="Part", text="This is 1.", gain_percent=99.0)
    whole = replace(part, title="Whole", gain_percent=20.0, whole=True)
    tiny = replace(whole, title="Tiny", gain_percent=0.4)

    assert [text.partition(" (")[0] for text in rules((part, tiny, whole))] == ["Whole", "Part"]


def test_of_a_rule_the_sentence_with_its_finding_is_said() -> None:
    text = (
        "Instructions are executed in warps, which are groups of 32 threads. The chosen "
        "launch can lower it. This kernel achieves an average of 31.8 threads being active. Try."
    )
    found = RuleResult(identifier="ThreadDivergence", title="Divergence", text=text)
    cut = RuleResult(
        identifier="MemoryCacheAccessPattern",
        title="L2",
        text="A line has 4 sectors. However, this kernel only accesses 1.0 of them. Check.",
    )

    # before 2023 without an estimate
    assert list(rules((cut, found))) == [
        "Divergence: This kernel achieves an average of 31.8 threads being active",
        "L2: This kernel only accesses 1.0 of them",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Rule Occupancy returned an error: Metric this_1 not found",
        "<built-in function> returned a result with an exception set /home/me/this/1.py",
        "This kernel's theoretical occupancy is not impacted by any block limit 1.",
    ],
)
def test_a_rule_that_failed_or_found_nothing_is_not_said(text: str) -> None:
    assert list(rules((RuleResult(identifier="Occupancy", title="Occupancy", text=text),))) == []
