"""What CI systems read of a comparison: annotations of GitHub Actions, JUnit XML."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from roofline.compare.model import Comparison, GateResult
from roofline.render.comparison import check_failed, gate
from roofline.text.names import printable, words
from roofline.text.notes import note_text

# GitHub shows ten annotations of a kind for a step; more are not worth their lines.
MOST = 10


def gate_errors(gates: Sequence[GateResult]) -> list[str]:
    """An error for each gate that failed, a warning for each that noise made pass."""
    kinds = {
        "error": [g for g in gates if g.failing],
        "warning": [g for g in gates if g.text.code == "gate_noise_hides"],
    }
    return [
        f"::{kind} title=roofline gate::{_data(gate(g))}"
        for kind, some in kinds.items()
        for g in some[:MOST]
    ]


def github(comparison: Comparison) -> list[str]:
    """An error for each gate that failed, a warning for each doubt about comparability."""
    said = gate_errors(comparison.gates)
    done = comparison.correctness
    if done is not None and not done.passed:
        why = f"{done.command} failed: {check_failed(done)}"
        said.append(f"::error title=roofline check::{_data(why)}")
    warnings = [c for c in comparison.checks if c.level == "warning"]
    return said + [f"::warning title=roofline::{_data(note_text(c.text))}" for c in warnings[:MOST]]


def _data(text: str) -> str:
    """Escaped as the runner's command format wants it."""
    return printable(text).replace("%", "%25")


def junit(comparison: Comparison) -> str:
    """A test case for every gate at every kernel, the check, and each file that was not read."""
    cases = []
    for side, info in (("BEFORE", comparison.before), ("AFTER", comparison.after)):
        for file in info.unread:
            case = ET.Element("testcase", classname=f"roofline.{side}", name=printable(file.path))
            ET.SubElement(case, "error", {"type": "cannot be read", "message": printable(file.why)})
            cases.append(case)
    for result in comparison.gates:
        group = f"roofline.gate.{printable(result.gate)}"
        case = ET.Element(
            "testcase", classname=group, name=printable(result.kernel or "all kernels")
        )
        said = {"message": printable(note_text(result.text))}
        if result.failing:
            ET.SubElement(case, "failure", {"type": words(result.status), **said})
        elif result.status == "skipped":
            ET.SubElement(case, "skipped", said)
        cases.append(case)
    done = comparison.correctness
    if done is not None:
        case = ET.Element("testcase", classname="roofline.check", name=printable(done.command))
        case.set("time", f"{done.seconds:.3f}")
        if not done.passed:
            ET.SubElement(case, "failure", message=check_failed(done))
        cases.append(case)
    totals = {"tests": len(cases)}
    for key, what in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        totals[key] = sum(case.find(what) is not None for case in cases)
    counts = {key: str(total) for key, total in totals.items()}
    root = ET.Element("testsuites", {"name": "roofline", **counts})
    suite = ET.SubElement(root, "testsuite", {"name": "roofline compare", **counts})
    suite.extend(cases)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'
