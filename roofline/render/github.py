"""Annotations for GitHub Actions: lines that its runner shows beside the change."""

from __future__ import annotations

from roofline.compare.model import Comparison
from roofline.kernel_names import printable
from roofline.render.compare_words import gate

# GitHub shows ten annotations of a kind for a step; more are not worth their lines.
MOST = 10


def lines(comparison: Comparison) -> list[str]:
    """An error for each gate that failed, a warning for each doubt about comparability."""
    failed = [g for g in comparison.gates if g.status != "passed"]
    said = [f"::error title=roofline gate::{_data(gate(g))}" for g in failed[:MOST]]
    if comparison.correctness is not None and not comparison.correctness.passed:
        command = _data(printable(comparison.correctness.command))
        said.append(f"::error title=roofline check::{command} failed")
    warnings = [c for c in comparison.checks if c.level == "warning"]
    return said + [f"::warning title=roofline::{_data(c.text)}" for c in warnings[:MOST]]


def _data(text: str) -> str:
    """Escaped as the runner's command format wants it."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
