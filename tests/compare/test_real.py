"""Public reports of the same kernel before and after somebody's change, where they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from roofline import api
from roofline.analysis import analyze
from roofline.compare.judge import compare
from roofline.compare.model import Comparison
from roofline.compare.predictions import parse_claim
from roofline.errors import UsageError
from roofline.render import comparison as table
from roofline.render import pull_request
from roofline.render.comparison import sentence
from roofline.reports.redact import redact
from roofline.text.notes import note_text
from roofline.view import Choice, choose
from tests.shared import REPORTS, SHARED, analyzed

pytestmark = pytest.mark.skipif(SHARED is None, reason="no folder of public reports")


def real(before: str, after: str) -> Comparison:
    assert SHARED is not None
    folder = SHARED / "reports"
    found = [next(folder.glob(f"*{name}.ncu-rep")) for name in (before, after)]
    return compare(*map(analyzed, found))


def test_divisions_replaced_by_multiplications() -> None:
    comparison = real("MW_Baseline", "MW_DivToMult")

    outcomes = {p.after.measured.name: p.outcome for p in comparison.pairs}
    assert outcomes.pop("compute_tendencies_x_279_gpu") == "faster"
    assert set(outcomes.values()) == {"no_change"}
    main = comparison.pairs[0]
    # 6,190,944 ns to 3,482,240 ns.
    assert main.timing is not None
    assert main.timing.speedup == pytest.approx(6_190_944 / 3_482_240)
    assert (main.before.verdict.limiter, main.after.verdict.limiter) == ("fp64", "dram")
    # Short kernels at clocks 10 % lower took 12 % longer: no regression.
    halo = next(p for p in comparison.pairs if p.after.measured.name == "set_halo_values_x_396_gpu")
    assert halo.cause.code == "clock"


@pytest.mark.parametrize(
    ("before", "after", "speedup"),
    [
        # Sums of four launches, in ns.
        ("memory-profiling__naive", "variant1", 150_207_456 / 31_319_264),
        ("variant1", "variant2", 31_319_264 / 18_542_080),
        ("mc2__v1", "mc2__v2", 715_138_784 / 101_063_040),
        ("mc2__v2", "mc2__v3", 101_063_040 / 229_210_208),
        ("v4_8_per_thread", "v6_1d_1_per_thread", 151_328 / 47_104),
        ("cuda-mlp-inference__report", "v6_1d_1_per_thread", 52_576 / 47_104),
    ],
)
def test_renamed_kernels_pair_and_their_times_are_compared(
    before: str, after: str, speedup: float
) -> None:
    (pair,) = real(before, after).pairs

    assert pair.timing is not None
    assert pair.timing.speedup == pytest.approx(speedup)
    assert pair.outcome == ("faster" if speedup > 1 else "slower")
    assert pair.cause.code != "unexplained"


def test_a_cause_that_was_not_the_limiter_is_refuted() -> None:
    assert SHARED is not None
    folder = SHARED / "reports"
    before, after = (analyze(next(folder.glob(f"*mc2__{v}.ncu-rep"))) for v in ("v1", "v2"))
    wanted = [parse_claim(cause) for cause in ("bytes", "precision")]

    (pair,) = compare(before, after, expectations=wanted).pairs

    said = {note_text(p.claim): p.judgement for p in pair.predictions if p.by == "user"}
    assert said == {
        "--because bytes": "refuted",  # DRAM was 4 % busy, the FP64 pipe 86 %
        "--because precision": "exceeded",  # it explains 2.78x of 7.08x
    }
    assert "without its FP64 operations" in sentence(pair)


def test_a_difference_within_noise() -> None:
    (pair,) = real("v6_1d_1_per_thread", "v8_1d_4_per_thread_stripped").pairs

    assert pair.outcome == "no_change"


def test_two_gpus_are_refused() -> None:
    with pytest.raises(UsageError, match='allow="gpu"'):
        real("profile_output.218ba7a", "profile_output.c5d7bd9")


def test_without_durations_nothing_is_judged() -> None:
    comparison = real("silu-2025-04-19-v1", "silu-2025-04-19-v3")

    assert {p.outcome for p in comparison.pairs} == {"unknown"}
    assert any(c.code == "set" for c in comparison.checks)


@pytest.mark.parametrize("path", REPORTS, ids=lambda p: p.name)
def test_every_report_against_itself_is_no_change(path):  # type: ignore[no-untyped-def]
    side = analyzed(path)
    comparison = compare(side, side)

    assert not comparison.gone
    assert not comparison.new
    assert {p.outcome for p in comparison.pairs} <= {"no_change", "unknown"}
    assert table.render(comparison)
    assert pull_request.render(comparison)


@pytest.mark.parametrize(
    ("before", "after", "by", "most", "came", "judgement"),
    [
        # Coalesced: 2,616,000 excess sectors became none. Then DRAM at 26.7 % holds.
        ("v4_8_per_thread", "v8_1d_4_per_thread_stripped", "excess sectors", 3.74, 3.17, True),
        # The lanes of a convolution along the rows. Then the issue slots at 16.8 % hold.
        ("memory-profiling__naive", "variant1", "excess sectors", 5.95, 4.80, True),
        # Nothing could go, and the author's change of the index gave next to nothing.
        ("gemm__reps__naive", "global_mem_coalesce", "at the same work", 1.20, 1.03, None),
        # 60 registers instead of 134: four times the warps, and at most until issue slots are full.
        (
            "reports__report",
            "report_2026-02-27_18-31",
            "with the warps that came",
            2.70,
            3.08,
            None,  # beyond it, by no more than the noise
        ),
    ],
)
def test_bounds_of_public_pairs_come_out(
    before: str, after: str, by: str, most: float, came: float, judgement: bool | None
) -> None:
    (pair,) = real(before, after).pairs
    said = [p for p in pair.predictions if by in note_text(p.claim)]

    assert pair.timing is not None
    assert pair.timing.speedup == pytest.approx(came, abs=0.005)
    assert [p.claim.facts["most"] for p in said] == [pytest.approx(most, abs=0.005)]
    assert [p.judgement == "confirmed" for p in said] == [judgement is True]
    assert all(p.judgement != "refuted" for p in pair.predictions)


def test_a_gain_that_came_names_the_unit_that_is_nearest_instead() -> None:
    for before, after, code in (
        ("memory-profiling__naive", "variant1", "count_fell_and_another_is_nearest"),
        ("v4_8_per_thread", "v8_1d_4_per_thread_stripped", "count_fell"),
    ):
        (pair,) = real(before, after).pairs
        assert code in [p.reason.code for p in pair.predictions]


@pytest.mark.parametrize(
    ("before", "after"),
    [("mc2__v1", "mc2__v2"), ("variant1", "variant2"), ("MW_Baseline", "MW_DivToMult")],
)
def test_less_work_has_no_number_that_holds(before: str, after: str) -> None:
    """Another algorithm is not predictable: nothing is confirmed or refuted of it."""
    pair = real(before, after).pairs[0]

    assert pair.outcome == "faster"
    assert {p.judgement for p in pair.predictions} == {"not_testable"}


def test_the_cause_that_was_named_is_followed() -> None:
    assert SHARED is not None
    folder = SHARED / "reports"
    sides = (analyze(next(folder.glob(f"NCAR*MW_{v}.ncu-rep"))) for v in ("Baseline", "DivToMult"))
    claims = [parse_claim(f"279={cause}") for cause in ("fp64_division", "bank_conflicts")]
    pair = compare(*sides, expectations=claims).pairs[0]

    # Its author's change from divisions to multiplications: 38.6 million MUFU.RCP64H to 6.9.
    told = {note_text(p.claim): note_text(p.reason) for p in pair.predictions}
    fell = "FP64 reciprocals 38,647,495 to 6,876,943"
    assert told["--because 279=fp64_division"] == fell
    assert any("without the FP64 reciprocals" in c and fell in r for c, r in told.items())
    judged = {note_text(p.claim): p.judgement for p in pair.predictions if p.by == "user"}
    assert [*judged.values()] == ["confirmed", "refuted"]


def test_the_kernel_that_gained_most_ranks_first() -> None:
    assert SHARED is not None
    analysis = analyze(next((SHARED / "reports").glob("*MW_Baseline.ncu-rep")))
    ranked = choose(analysis, Choice(sort="gain")).analysis.groups

    assert ranked[0].result.measurement.name == "compute_tendencies_x_279_gpu"
    assert ranked[0].result.verdict.cause == "fp64_division"


def test_a_redacted_pair_names_no_instruction(tmp_path: Path) -> None:
    assert SHARED is not None
    sides = []
    for name in ("v4_8_per_thread", "v8_1d_4_per_thread"):
        source = next((SHARED / "reports").glob(f"*{name}*.ncu-rep"))
        redact(source, tmp_path / source.name)
        sides.append(tmp_path / source.name)
    plain = api.compare(*((SHARED / "reports" / side.name) for side in sides)).pairs[0]
    (pair,) = api.compare(*sides).pairs

    assert any(n.code == "wait_moved" for n in plain.notes)
    assert [n.code for n in pair.notes] == [n.code for n in plain.notes if n.code != "wait_moved"]
    assert pair.timing == plain.timing
