"""What ``--level standard`` leaves out must not change verdicts of public reports."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from pathlib import Path

import pytest

from roofline.capture.request import CaptureLevel
from tests.shared import REPORTS


@pytest.mark.skipif(not REPORTS, reason="public reports are not here")
def test_verdicts_stay() -> None:
    path = Path(__file__).parents[2] / "benchmarks" / "standard_verdicts.py"
    spec = importlib.util.spec_from_file_location("standard_verdicts", path)
    assert spec is not None
    assert spec.loader is not None
    benchmark = importlib.util.module_from_spec(spec)
    sys.modules["standard_verdicts"] = benchmark
    spec.loader.exec_module(benchmark)
    same: Counter[bool] = Counter()
    for whole, less in benchmark.pairs([str(path) for path in REPORTS], CaptureLevel.STANDARD):
        a, b = whole.verdict, less.verdict
        same[(a.bound, a.limiter) == (b.bound, b.limiter)] += 1
    assert same.total() > 200
    assert same[True] >= 0.95 * same.total()
