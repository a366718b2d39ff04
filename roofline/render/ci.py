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
    suite = ET.Element("testsuite", name="roofline compare")

    def case(of: str, name: str, outcome: str | None, **said: str) -> ET.Element:
        whole = {"classname": f"roofline.{printable(of)}", "name": printable(name)}
        made = ET.SubElement(suite, "testcase", whole)
        if outcome is not None:
            ET.SubElement(made, outcome, {key: printable(text) for key, text in said.items()})
        return made

    for side, info in (("BEFORE", comparison.before), ("AFTER", comparison.after)):
        for file in info.unread:
            case(side, file.path, "error", type="cannot be read", message=file.why)
    for gate_ in comparison.gates:
        outcome = "failure" if gate_.failing else "skipped" if gate_.status == "skipped" else None
        said = {"type": words(gate_.status)} if gate_.failing else {}
        said["message"] = note_text(gate_.text)
        case(f"gate.{gate_.gate}", gate_.kernel or "all kernels", outcome, **said)
    if (done := comparison.correctness) is not None:
        outcome = None if done.passed else "failure"
        made = case("check", done.command, outcome, message=check_failed(done))
        made.set("time", f"{done.seconds:.3f}")
    kinds = {"failures": "failure", "errors": "error", "skipped": "skipped"}
    counts = {"tests": len(suite)} | {n: len(suite.findall(f"*/{k}")) for n, k in kinds.items()}
    root = ET.Element("testsuites", name="roofline")
    for element in (root, suite):
        element.attrib |= {key: str(count) for key, count in counts.items()}
    root.append(suite)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'
