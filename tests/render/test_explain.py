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
    Stall,
)
from roofline.render import explain
from tests.makers import TOY_PEAKS, analysis, group, measurement, result, unit, verdict

TOY = PeakSet(report=TOY_PEAKS)


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


def card(text: str) -> dict[str, str]:
    """The texts of a card by the word before them."""
    found: dict[str, str] = {}
    word = ""
    for line in text.splitlines():
        if not line.startswith("  "):
            word = ""
        elif line[2:11].strip():
            word = line[2:11].strip()
            found[word] = line[12:].strip()
        elif word:
            found[word] += f" {line.strip()}"
    return found


def test_the_card_of_a_kernel_without_a_grid_or_a_time_leaves_both_out():
    bare = measurement("axpy", grid=None, block=None, duration_s=None, units=())
    failed = Result(measurement=bare, peaks=TOY, verdict=verdict(bound=Bound.UNKNOWN))
    one = replace(analysis(failed).groups[0], total_s=None, share=None)
    lines = explain.render(one, rank=1, width=120).splitlines()

    assert lines[1] == f"1 launch, on {bare.device.name}"


def test_a_card_is_a_claim_with_why_what_to_try_and_what_would_refute_it():
    text = explain.render(one(), rank=3, width=120)
    said = card(text)

    assert text.startswith("void axpy(float *)\ngrid 100, block 256, 1 launch, 1.00 ms under ncu, ")
    assert "\nbandwidth: DRAM limits it, 90 % busy (confidence medium)\n" in text
    assert "at 1 % of the FP32 roof" in said["why"]
    assert said["try"].startswith("fuse it with the kernel before")
    # 1 ms to 0.9 ms is 1.11x, to 0.4 ms is 2.5x.
    assert "up to 1.11x (1.00 ms -> 900 µs) until DRAM is full" in said["gain"]
    assert "up to 2.50x (1.00 ms -> 400 µs), then L2" in said["gain"]
    assert said["wrong if"].startswith("Run it on half of the data")
    assert "more occupancy: " in said["not"]
    assert said["doubts"] == "the duration was not measured"
    assert said["Units"] == "DRAM ███████▎ 90 %   issue slots █▋ 20 %   XU pipe <1 %"
    # 900 MB in 1 ms, of 1 TB/s; 75 M operations in 1 ms.
    assert said["Traffic"] == (
        "900 MB DRAM (600 MB read), 900 GB/s of 1.00 TB/s; "
        "75.0 MFLOP FP32, 75.0 GFLOP/s (1 % of the roof); "
        "1.00 GOP tensor INT8, 1.00 TOP/s; FP16 operations ran, not counted"
    )
    assert said["Launch"] == "10.0 waves"
    assert said["Stalls"] == "long scoreboard 31 %"
    assert said["Lacking"] == "occupancy"
    assert "Every number with its metric: --explain 3 --all" in text
    assert section(text, "Notes") == "- a note"
    assert "gpu__time_duration.sum" not in text


def test_everything_has_all_numbers_with_their_metrics():
    text = explain.render(one(), everything=True, width=120)

    assert card(text)["wrong if"].startswith("Run it on half of the data")
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
    assert section(text, "Not measured") == "- occupancy: collect with --section Occupancy"
    assert section(text, "Notes") == "- a note"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            {"bound": Bound.LATENCY, "limiter": None},
            "latency: no unit is near its peak, the busiest is DRAM at 90 % (confidence medium)",
        ),
        ({"co_limiter": "issue"}, "DRAM limits it, 90 % busy, co-limited (confidence medium)"),
        (
            {"bound": Bound.UNKNOWN, "limiter": None, "nearest": None},
            "unknown: not enough was measured to say what limits it",
        ),
    ],
)
def test_the_claim_of_each_verdict(values, said):
    assert said in explain.render(one(**values), width=200)


def test_hits_and_lanes_are_on_the_card_and_all_counts_below_it():
    ratios = {"l1_hit_percent": 81.3, "l2_hit_percent": 55.7, "lanes": 31.8, "lanes_on": 20.4}
    counts = {"excess_sectors": 1_274_368.0, "local_sectors": 0.0}
    measured = measurement(ratios=ratios, counts=counts)
    group = analysis(Result(measurement=measured, peaks=TOY, verdict=verdict())).groups[0]

    said = card(explain.render(group, width=200))
    assert "; hits L1/shared 81 %, L2 56 %; " in said["Traffic"]
    assert said["Launch"].endswith("20.4 of 32 lanes work (31.8 without predicates)")
    all_ = section(explain.render(group, everything=True, width=200), "Counts and ratios")
    assert all_ == (
        "excess sectors 1,274,368 l1 hit 81 % l2 hit 56 % lanes 31.8 lanes on 20.4 "
        "none: local sectors"
    )


def test_bytes_that_are_not_told_apart_stand_alone():
    measured = measurement(dram_read_bytes=None, dram_write_bytes=None)
    group = analysis(Result(measurement=measured, peaks=TOY, verdict=verdict())).groups[0]

    assert card(explain.render(group, width=200))["Traffic"].startswith("900 MB DRAM, 900 GB/s")


def test_lanes_that_branches_leave_idle_are_not_put_down_to_predicates():
    measured = measurement(ratios={"lanes": 11.0, "lanes_on": 9.5})
    group = analysis(Result(measurement=measured, peaks=TOY, verdict=verdict())).groups[0]

    assert card(explain.render(group, width=200))["Launch"].endswith("9.50 of 32 lanes work")


@pytest.mark.parametrize(
    ("ratios", "said"),
    [
        ({"issue_cycles": 32.94}, "; a warp issues every 32.9 cycles"),
        (
            {"eligible_warps": 0.967, "scheduler_warps": 7.97},
            "; 0.967 of 7.97 warps a scheduler are ready",
        ),
        ({"scheduler_warps": 7.97}, ""),
    ],
)
def test_how_often_warps_issue_stands_behind_what_they_wait_for(ratios, said):
    measured = measurement(ratios=ratios, stalls=(Stall(reason="wait", share=1.0),))
    group = analysis(Result(measurement=measured, peaks=TOY, verdict=verdict())).groups[0]

    assert card(explain.render(group, width=200))["Stalls"] == f"wait 100 %{said}"


def test_the_opcodes_that_ran_most_are_on_the_card_and_among_all_numbers():
    found = Details(index=0, executed={"ISETP": 0.17, "LDS": 0.1649})

    assert card(explain.render(one(), details=found))["Executed"] == "ISETP 17 %, LDS 16 %"
    text = explain.render(one(), details=found, everything=True)
    assert section(text, "Executed instructions") == "ISETP 17 %, LDS 16 %"


def test_the_rule_is_told_with_its_thresholds():
    text = explain.render(one(rule=Rule(latency=50, balance=5)), everything=True, width=200)

    rule = section(text, "Rule")
    assert "DRAM at 90.0 %, not under 50 % (--latency-threshold), is bandwidth" in rule
    assert "issue slots at 20.0 %, is not within 5 points" in rule


def test_units_that_the_rule_passes_over_are_named_with_the_reason():
    # L2's fabric carries what DRAM does; less DRAM traffic relieves nothing else.
    fabric = replace(unit("l2", 79.0), part="l2_fabric")
    same = result(measurement(units=(unit("dram", 84.0), fabric, unit("xu", 39.0))))
    why = "L2 (L2 fabric) at 79.0 % is no second unit: it counts the same work as DRAM"
    assert why in card(explain.render(group(same), width=200))["Units"]
    rule = section(explain.render(group(same), everything=True, width=200), "Rule")
    assert f"is bandwidth. {why}. The next, XU pipe at 39.0 %, is not within 10" in rule
    assert "as well" not in rule

    # What L1's path to L2 carries, L2 gets: less work for it relieves both.
    path = replace(unit("l1", 90.1), part="l1_to_l2")
    units = path, unit("l2", 50.0), unit("dram", 44.8)
    judged = verdict(nearest="l1", limiter="l1", next_limiter="dram")
    relieved = result(measurement(units=units), judged)
    rule = section(explain.render(group(relieved), everything=True, width=200), "Rule")
    assert "The next, L2 at 50.0 %, is not within 10 points" in rule
    assert "Less work for L1/shared relieves L2 as well, so DRAM at 44.8 % would limit" in rule


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"bound": Bound.LATENCY, "limiter": None}, "is under 60 % (--latency-threshold): latency"),
        ({"co_limiter": "issue"}, "is within 10 points of it"),
        ({"bound": Bound.UNKNOWN, "limiter": None, "nearest": None}, "nothing is claimed"),
    ],
)
def test_the_rule_of_each_verdict(values, said):
    assert said in section(explain.render(one(**values), everything=True, width=200), "Rule")


def test_several_launches_are_told_apart_from_their_sum():
    slow, fast = result(measurement(duration_s=3e-3)), result(measurement(duration_s=1e-3))
    text = explain.render(group(slow, fast, positions=(0, 1)), width=120)

    assert "2 launches" in text
    assert "4.00 ms (1.00 ms to 3.00 ms each) under ncu" in text
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
            verdict(
                bound=Bound.UNKNOWN,
                limiter=None,
                nearest=None,
                floor_s=None,
                gain=None,
                gain_by=None,
                advice=None,
            ),
        )
    ).groups[0]

    text = explain.render(bare)

    for word in ("Units", "gain", "wrong if", "Stalls"):
        assert f"\n  {word}" not in text


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

    text = explain.render(long, everything=True, width=width)

    assert max(map(len, text.splitlines())) <= width
    assert name in "".join(text.split())
