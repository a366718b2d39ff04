from __future__ import annotations

from dataclasses import replace

import pytest

from roofline.model import (
    Bound,
    Confidence,
    Details,
    Group,
    Missing,
    Note,
    Peaks,
    PeakSet,
    Result,
    Rule,
    RuleResult,
    Stall,
)
from roofline.render import explain
from tests.makers import TOY_PEAKS, analysis, group, measurement, result, unit, verdict


def one(**values) -> Group:
    """A bandwidth-bound kernel with all kinds of evidence."""
    measured = measurement(
        "axpy",
        operations={"fp32": 75e6, "tensor_int8": 1e9},
        stalls=(Stall(reason="long_scoreboard", share=0.31),),
        provenance={
            "duration": "gpu__time_duration.sum",
            "dram_bytes": "read + write",
            "operations.tensor": "opcode mix",
        },
        missing=(Missing(quantity="occupancy", flag="--section Occupancy"),),
        notes=(Note(code="computed", facts={"by": "a note"}),),
        unmeasured=("fp16",),
        units=(unit("dram", 90.0), unit("issue", 20.0), unit("xu", 0.01)),
    )
    peaks = PeakSet(
        report=replace(TOY_PEAKS, how={"dram": "2 x clock x width"}),
        datasheet=Peaks(
            kind="datasheet",
            source="toy.toml",
            dram_bytes_per_s=1.1e12,
            operations_per_s={"tensor_int8": 1e15},
        ),
    )
    judged = verdict(
        confidence=Confidence.MEDIUM,
        doubts=(Note(code="no_duration"),),
        context=Note(code="pipe_above_roof", facts={"precision": "fp32", "percent": 0.75}),
        roof_percent={"fp32": 0.75},
        **values,
    )
    return analysis(Result(measurement=measured, peaks=peaks, verdict=judged)).groups[0]


def section(text: str, title: str) -> str:
    """The lines below a heading, as one line of words."""
    body = text.split(f"\n{title}")[1].split("\n\n")[0].split("\n", 1)[1]
    return " ".join(body.split())


def test_where_ours_is_silent_nvidia_s_word_is_said_as_theirs():
    rule = RuleResult(identifier="a", title="Tail Effect", text="It.", gain_percent=20.0)
    details = Details(index=0, rules=(rule,))
    silent = group(result(judged=verdict(bound=Bound.LATENCY, limiter=None, advice="cause.none")))
    text = explain.render(silent, details=details, width=200)

    word = "NVIDIA's rules say: Tail Effect (estimated local speedup 20 %): It"
    assert word in section(text, "Claim")
    assert "NVIDIA" not in section(explain.render(one(), details=details, width=200), "Claim")


def test_all_the_evidence_is_there():
    text = explain.render(one(), width=120)

    assert "bandwidth: DRAM (confidence medium)" in section(text, "Claim")
    assert "at 1 % of the FP32 roof" in section(text, "Claim")
    assert "90.0 % bandwidth toy__dram.pct" in section(text, "Utilisation")
    assert "under 0.1 %: XU pipe" in section(text, "Utilisation")
    numbers = section(text, "Numbers")
    assert "duration 1.00 ms gpu__time_duration.sum" in numbers
    assert "DRAM bytes 900 MB read + write" in numbers
    assert "tensor INT8 operations 1,000,000,000 opcode mix" in numbers
    assert "FP16 operations ran, not counted" in numbers
    peaks = section(text, "Peaks")
    assert "DRAM bandwidth 1.00 TB/s 1.10 TB/s 900 GB/s 2 x clock x width" in peaks
    assert "tensor INT8 - 1.00 POP/s -" in peaks
    assert "datasheet: toy.toml" in peaks
    assert "ridge for FP32: 10.0 FLOP/B" in peaks
    assert section(text, "Stalled warps") == "long scoreboard 31.0 %"
    assert section(text, "What would refute this").startswith("Run it on half of the data")
    assert section(text, "Try first").startswith("1. fuse it with the kernel before")
    # 1 ms to 0.9 ms is 1.11x, to 0.4 ms is 2.5x.
    assert "up to 1.11x (900 µs) at 100 % of DRAM" in section(text, "What that could buy")
    assert "up to 2.50x (400 µs), then L2" in section(text, "What that could buy")
    assert "- more occupancy: " in section(text, "Not worth the time")
    assert section(text, "Confidence") == "medium, because - the duration was not measured"
    assert section(text, "Not measured") == "- occupancy: collect with --section Occupancy"
    assert section(text, "Notes") == "- a note"


def test_the_rule_is_told_with_its_thresholds():
    text = explain.render(one(rule=Rule(latency=50, balance=5)), width=200)

    rule = section(text, "Rule")
    assert "DRAM at 90.0 %, not under 50 % (--latency-threshold), is bandwidth" in rule
    assert "issue slots at 20.0 %, is not within 5 points" in rule


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"bound": Bound.LATENCY, "limiter": None}, "is under 60 % (--latency-threshold): latency"),
        ({"co_limited": True}, "is within 10 points of it"),
        ({"bound": Bound.UNKNOWN, "limiter": None, "nearest": None}, "nothing is claimed"),
    ],
)
def test_the_rule_of_each_verdict(values, said):
    assert said in section(explain.render(one(**values), width=200), "Rule")


def test_several_launches_are_told_apart_from_their_sum():
    slow, fast = result(measurement(duration_s=3e-3)), result(measurement(duration_s=1e-3))
    text = explain.render(group(slow, fast, positions=(0, 1)), width=120)

    assert "2 launches" in text
    assert "4.00 ms under the profiler, 1.00 ms to 3.00 ms each" in text
    assert "Judged one by one: bandwidth 2" in text


def test_the_nvtx_ranges_around_it_are_named_from_the_outermost():
    text = explain.render(group(result(measurement(nvtx=("step", "daxpy")))), width=120)

    assert "in NVTX range step > daxpy" in text
    assert "NVTX" not in explain.render(group(result()), width=120)


def test_other_matches_are_listed():
    others = analysis(result(measurement("axpy_other", duration_s=2e-6))).groups

    text = explain.render(one(), others=others)

    assert section(text, "Matching kernels too") == "- axpy_other 100 / 256 2.00 µs"


def test_nothing_known_is_said_shortly():
    bare = analysis(
        result(
            measurement(units=(), operations={}, dram_bytes=None, duration_s=None, peaks=TOY_PEAKS),
            verdict(bound=Bound.UNKNOWN, limiter=None, nearest=None, floor_s=None, advice=None),
        )
    ).groups[0]

    text = explain.render(bare)

    assert "Utilisation" not in text
    assert "What would refute" not in text
    assert "What that could buy" not in text


@pytest.mark.parametrize("width", [60, 80, 120])
def test_it_fits_and_cuts_no_metric(width):
    name = "sm__a_metric_with_a_name_that_is_longer_than_half_a_line.avg.of_something_else"
    long = analysis(
        result(
            measurement(
                demangled=f"void k<{'A<int>, ' * 300}float>(int)",
                units=(replace(unit("dram", 90.0), metric=name),),
            )
        )
    ).groups[0]

    text = explain.render(long, width=width)

    assert max(map(len, text.splitlines())) <= width
    assert name in "".join(text.split())
