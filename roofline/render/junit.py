"""Gates as JUnit XML, which CI systems show as test results."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from roofline.compare.model import Comparison, GateResult
from roofline.kernel_names import printable


def render(comparison: Comparison) -> str:
    """A test case for every gate at every kernel, and one for the correctness check."""
    suite = ET.Element("testsuite", name="roofline compare")
    for result in comparison.gates:
        _case(suite, result)
    done = comparison.correctness
    if done is not None:
        case = ET.SubElement(
            suite,
            "testcase",
            classname="roofline.check",
            name=printable(done.command),
            time=f"{done.seconds:.3f}",
        )
        if not done.passed:
            ET.SubElement(case, "failure", message=f"exit code {done.code}")
    cases = list(suite)
    bad = sum(1 for case in cases if len(case))
    suite.set("tests", str(len(cases)))
    suite.set("failures", str(bad))
    suite.set("errors", "0")
    root = ET.Element("testsuites", name="roofline", tests=str(len(cases)), failures=str(bad))
    root.append(suite)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _case(suite: ET.Element, result: GateResult) -> None:
    case = ET.SubElement(
        suite,
        "testcase",
        classname=f"roofline.gate.{printable(result.gate)}",
        name=printable(result.kernel or "all kernels"),
    )
    if result.status != "passed":
        kind = "not judged" if result.status == "not_judged" else "failed"
        ET.SubElement(case, "failure", type=kind, message=printable(result.text))
