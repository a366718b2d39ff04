"""Golden pairs: NVIDIA's example reports, where they are (they are not part of the project).

The numbers were read from the reports with NVIDIA's own reader.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from roofline.analysis import analyze
from roofline.compare.judge import compare
from roofline.compare.model import KernelPair
from roofline.compare.predictions import parse_claim
from roofline.render.comparison import sentence
from roofline.text.notes import note_text

EXAMPLES = os.environ.get("ROOFLINE_TEST_EXAMPLES")
pytestmark = pytest.mark.skipif(
    not EXAMPLES, reason="ROOFLINE_TEST_EXAMPLES names no folder of Nsight Compute's examples"
)


def pair(before: str, after: str, because: str = "") -> KernelPair:
    sides = [analyze(next(Path(EXAMPLES or "").rglob(f"{n}.ncu-rep"))) for n in (before, after)]
    wanted = [parse_claim(because)] if because else []
    (found,) = compare(sides[0], sides[1], expectations=wanted).pairs
    return found


def test_bank_conflicts_removed() -> None:
    found = pair("transposeCoalesced", "transposeNoBankConflicts", because="l1")

    # 1,420,832 ns to 997,632 ns at the same 534 MB.
    assert found.outcome == "faster"
    assert found.timing is not None
    assert found.timing.speedup == pytest.approx(1_420_832 / 997_632)
    assert found.before.measured.dram_bytes == 268_457_472 + 265_940_992
    assert (found.before.verdict.limiter, found.after.verdict.limiter) == ("l1", "dram")
    assert found.before.verdict.limiter_percent == pytest.approx(90.2, abs=0.5)
    assert found.after.verdict.limiter_percent == pytest.approx(88.7, abs=0.5)
    assert sentence(found).startswith(
        "1.42x faster at the same 534 MB: no longer limited by L1/sha"
    )
    assert "now limited by DRAM at 89 %, 1.13x headroom left" in sentence(found)
    by_claim = {note_text(p.claim): p.judgement for p in found.predictions}
    assert by_claim["--because l1"] == "confirmed"
    # DRAM at 61.9 % was next: at most 1.62x, and it limits now.
    assert by_claim["at most 1.62x with L1/shared relieved, then limited by DRAM"] == "confirmed"


def test_single_instead_of_double_precision() -> None:
    found = pair("sobelDouble", "sobelFloat", because="precision")

    # 628,032 ns to 31,872 ns at the same 4.2 MB, at a clock 10 % lower.
    assert found.outcome == "faster"
    assert found.timing is not None
    assert found.timing.speedup == pytest.approx(628_032 / 31_872)
    assert found.basis == "equal_clocks"
    assert (found.before.verdict.limiter, found.after.verdict.limiter) == ("fp64", "issue")
    assert found.cause.code == "other_precision"
    assert found.how.code == "by_base_name_and_launch"
    assert any(p.judgement == "confirmed" for p in found.predictions if p.by == "user")


def test_uncoalesced_access_was_not_the_limit() -> None:
    found = pair("addConstDouble3", "addConstDouble", because="bandwidth")

    # 89,856 ns to 89,728 ns at the same 48 MB: a third of the blocks do three times the work.
    assert found.outcome == "no_change"
    assert found.cause.code == "same_limiter"
    assert (found.before.verdict.limiter, found.after.verdict.limiter) == ("dram", "dram")
    assert found.work.status == "same"
    said = "no change (1.00x, noise 3.0 %) at about the same DRAM bytes (48.1 MB to 47.9 MB)"
    assert sentence(found).startswith(said)
