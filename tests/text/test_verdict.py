"""What a verdict says: a sentence for every code, advice for every unit and cause."""

import pytest

from roofline.counters.stalls import REASONS, SAME
from roofline.model import Bound, Note, PeakSet, Result, Stall
from roofline.playbook import plays
from roofline.text import verdict as said
from roofline.text.numbers import waves
from roofline.units import UNITS
from roofline.verdict import rule
from tests.makers import TOY_PEAKS, measurement, result, unit, verdict, with_rest

WAITS = (Stall(reason="lg_throttle", share=0.63),)


def judged(*units, **values) -> Result:
    units = with_rest(*units) if units else ()
    measured = measurement(**{"operations": {}, "dram_bytes": None, "units": units} | values)
    peaks = PeakSet(report=TOY_PEAKS)
    return Result(measurement=measured, peaks=peaks, verdict=rule.judge(measured, peaks))


@pytest.mark.parametrize(
    "key",
    [
        *(f"unit.{key}" for key in UNITS),
        *(key for key in plays() if key.startswith("cause.")),
        *(f"stall.{SAME.get(reason, reason)}" for reason in REASONS),
        *("unit.l1_shared", "unit.l1_global", "unit.other", "stall.other"),
    ],
)
def test_there_is_advice_for_every_unit_cause_and_stall(key):
    advice = plays()[key]

    assert advice.hint or key == "unit.other"
    assert advice.refute
    assert advice.try_first
    assert advice.avoid or not key.startswith("unit.")
    assert bool(advice.meaning) is key.startswith("stall.")


@pytest.mark.parametrize(
    ("name", "claim"),
    [
        ("dram", "Limited by DRAM: busy 80 % of the elapsed time."),
        ("issue", "Limited by the issue slots: busy 80 % of the elapsed time."),
        ("l1", "Limited by L1/shared: busy 80 % of the elapsed time."),
        ("warp9", "Limited by warp9: busy 80 % of the elapsed time."),
    ],
)
def test_a_claim_is_a_sentence_for_every_unit(name, claim):
    found = judged(unit(name, 80.0), unit("issue", 1.0) if name != "issue" else unit("l2", 1.0))

    assert said.claim(found) == claim
    assert said.cause(found) is None


def test_bytes_that_dram_moved_are_said():
    found = result(measurement())

    assert said.claim(found).endswith("elapsed time (900 of 1000 GB/s in bytes).")
    assert said.hint(found) == "DRAM at 90 % (900 of 1000 GB/s in bytes): move fewer bytes"
    assert said.refute(found).startswith("Run it on half of the data")
    assert said.try_first(found)[0].startswith("fuse it with the kernel")
    assert said.avoid(found)[0] == "fewer or cheaper operations: arithmetic waits already"


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (
            {"grid": (1, 1, 1), "waves": 0.0078},
            "the grid is too small: 1 of 100 SMs have a block, 0.0078 waves",
        ),
        (
            {"grid": (2048, 1, 1), "waves": 0.5},
            "the grid is too small: 2,048 blocks on 100 SMs, 0.5 waves",
        ),
        (
            {"block": (1, 1, 1)},
            "partial warps: blocks of 1 thread fill 1 of the 32 lanes that they occupy",
        ),
        (
            {"waves": 1.5, "stalls": WAITS, "units": with_rest(unit("dram", 50.0))},
            "a tail: 1.5 waves need the time of 2, 25.0 % of it idle; top stall lg throttle (63 %",
        ),
        ({"sm_active_percent": 50.0}, "work is uneven: the average SM has work for 50.0 % of the"),
        (
            {"theoretical_occupancy_percent": 25.0, "occupancy_limiter": "registers"},
            "few warps to hide latency: occupancy at most 25 %, limited by registers",
        ),
        (
            {"theoretical_occupancy_percent": 100.0, "occupancy_percent": 40.0},
            "occupancy is 40 % of 100 % possible: blocks are short or uneven",
        ),
        (
            {"stalls": WAITS},
            "warps stall on lg throttle (63 % of stalls): the queue of global and local memory",
        ),
        (
            {"stalls": (Stall(reason="brand_new", share=0.9),)},
            "warps stall on brand new (90 % of stalls): a reason of its own name",
        ),
        (
            {"waves": 1158.4, "theoretical_occupancy_percent": 100.0},
            "not the grid (1,158 waves) and not occupancy (up to 100 %); stall reasons were not",
        ),
        (
            {"waves": 417.0, "theoretical_occupancy_percent": 100.0, "occupancy_percent": 70.4},
            "not the grid (417 waves); occupancy reaches 70 % of 100 %; stall reasons were not",
        ),
        (
            {"waves": 417.0, "theoretical_occupancy_percent": 100.0, "occupancy_percent": 80.0},
            "not the grid (417 waves) and not occupancy (up to 100 %); stall reasons were not",
        ),
        ({"stalls": (Stall(reason="wait", share=0.1),)}, "not the grid (10.0 waves); no stall"),
    ],
)
def test_why_a_kernel_waits(values, text):
    found = judged(**{"units": with_rest(unit("dram", 20.0))} | values)

    assert said.cause(found).startswith(text)
    assert f"; {said.cause(found)}." in said.claim(found)
    assert said.hint(found).startswith(f"latency: {said.cause(found)}: ")


def test_a_cause_without_its_evidence_is_said_by_its_name():
    waits = verdict(bound=Bound.LATENCY, limiter=None, cause="grid_too_small")

    assert said.cause(result(measurement(), waits)) == "grid too small"


@pytest.mark.parametrize(
    ("result_", "text", "hint"),
    [
        (
            judged(),
            "no utilisation was measured",
            "; collect it: ncu --section SpeedOfLight -o REPORT PROGRAM",
        ),
        (
            judged(units=(), notes=(Note(code="counters_nan"),)),
            "the counters hold no numbers: profiling of this launch failed",
            "; profile it again",
        ),
        (
            judged(unit("dram", 0.0)),
            "every utilisation reads 0 %: the counters did not count",
            "",
        ),
        (
            judged(units=(unit("dram", 30.0),)),
            "the busiest of what was measured is DRAM at 30 %, and too little was measured",
            "; collect it: ncu --section SpeedOfLight -o REPORT PROGRAM",
        ),
        (
            judged(units=(unit("l2", 30.0),), notes=(Note(code="no_dram_counters"),)),
            "the busiest of what was measured is L2 at 30 %, and ncu cannot measure the DRAM of",
            "",
        ),
    ],
)
def test_why_nothing_can_be_said(result_, text, hint):
    whole = said.cause(result_) or ""
    assert whole.startswith(text)
    assert said.claim(result_) == f"Unknown: {whole}."
    assert said.hint(result_) == whole + hint
    assert said.confidence_reasons(result_) == (whole,)
    assert said.refute(result_) == ""
    assert said.try_first(result_) == said.avoid(result_) == ()


def test_doubts_are_said_with_their_numbers():
    found = judged(unit("dram", 62.4), unit("issue", 55.0), duration_s=5e-6, sm_active_percent=99.0)

    assert said.confidence_reasons(found) == (
        "62 % is within 5 points of the threshold 60 %",
        "the kernel is shorter than 10 µs: start and end weigh heavily",
        "the next unit, the issue slots, is 7 points away",
    )


@pytest.mark.parametrize(
    ("code", "facts", "text"),
    [
        (
            "pipe_above_roof",
            {"precision": "fp32", "percent": 53.0},
            "DRAM is busy 90 % of the time at 53 % of the FP32 roof: not every instruction",
        ),
        ("left_of_ridge", {}, "Left of the ridge (0.0833 operations a byte, ridge 10; 1 % of the"),
        ("right_of_ridge", {}, "Right of the ridge (0.0833 operations a byte, ridge 10; 1 % of"),
        ("left_but_not_dram", {}, "Left of the ridge (0.0833 operations a byte, ridge 10), yet"),
        ("below_roofs", {}, "Below both roofs (0.0833 operations a byte, ridge 10; 1 % of the"),
    ],
)
def test_what_the_classic_roofline_would_say(code, facts, text):
    judged_ = verdict(context=Note(code=code, facts=facts), roof_percent={"fp32": 1.0})

    assert (said.context(result(measurement(), judged_)) or "").startswith(text)
    assert said.context(result(measurement(), verdict())) is None


def test_a_waiting_kernel_is_not_told_off_a_unit_that_is_half_busy():
    found = judged(unit("l2", 55.0), unit("dram", 30.0), unit("issue", 10.0))

    assert said.avoid(found) == ("fewer operations: the busiest, the issue slots, is at 10 %",)


@pytest.mark.parametrize(
    ("shared", "word"), [(0.0, "coalesce"), (4096.0, "bank conflicts"), (None, "shared memory: ")]
)
def test_advice_on_l1_follows_what_uses_it(shared, word):
    found = judged(unit("l1", 95.0), unit("issue", 5.0), shared_memory_bytes=shared)

    assert word in said.try_first(found)[0]


def test_an_fp64_tensor_gemm_is_told_of_tf32_and_accuracy():
    advice = " ".join(said.try_first(judged(unit("tensor_fp64", 90.0), unit("issue", 5.0))))

    assert all(word in advice for word in ("TF32", "accuracy"))
    assert "FP8" not in advice


@pytest.mark.parametrize(
    ("value", "text"), [(0.19, "0.19"), (3.42, "3.4"), (68.27, "68.3"), (29997.2, "29,997")]
)
def test_waves_read_well(value, text):
    assert waves(value) == text


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        # 1 ms: 0.9 ms is 1.11x, 0.4 ms 2.5x, 0.05 ms 20x.
        (
            {"floor_s": 0.9e-3, "next_limiter": "l2", "next_floor_s": 0.4e-3},
            (
                "headroom: up to 1.11x (1.00 ms -> 900 µs) until DRAM is full; "
                "with less work for it: up to 2.50x (1.00 ms -> 400 µs), then L2"
            ),
        ),
        (
            {"nearest": "issue", "floor_s": 0.9e-3, "next_floor_s": None},
            "headroom: up to 1.11x (1.00 ms -> 900 µs) until the issue slots are full",
        ),
        (
            {"bound": Bound.LATENCY, "limiter": None, "floor_s": 0.4e-3},
            "if latency were hidden: up to 2.50x (1.00 ms -> 400 µs), then DRAM",
        ),
        (
            {
                "bound": Bound.LATENCY,
                "limiter": None,
                "floor_s": 0.05e-3,
                "limiter_percent": 5.0,
                "gain": None,
            },
            "no useful bound: every unit is below 10 %",
        ),
        # Without a duration there is the factor alone.
        (
            {"floor_s": None, "gain": 2.0, "gain_by": "work", "next_limiter": "l2"},
            "with less work for DRAM: up to 2.00x, then L2",
        ),
        (
            {"floor_s": None, "bound": Bound.LATENCY, "limiter": None, "gain": 2.0},
            "if latency were hidden: up to 2.00x, then DRAM",
        ),
        ({"floor_s": None, "gain": None}, ""),
        ({"floor_s": 1e-3, "next_floor_s": None}, "no headroom: DRAM is full"),
    ],
)
def test_bounds_are_said_as_headroom(values, sentence):
    told = result(measurement(duration_s=1e-3), verdict(**{"nearest": "dram"} | values))

    assert said.bounds(told) == sentence


def test_the_second_step_is_the_second_units_where_the_first_does_not_relieve_it():
    def steps(*units):
        return [line.partition(":")[0] for line in said.try_first(judged(*units))]

    count = "count what is issued"
    assert steps(unit("l1", 85.0), unit("issue", 81.0))[1] == count
    assert count not in steps(unit("l1", 85.0), unit("issue", 74.0))
    # Fewer memory instructions relieve both.
    assert steps(unit("l1", 85.0), unit("lsu", 81.0)) == steps(unit("l1", 85.0))
