"""pytest: the fixture ``roofline_profile``, for tests of what limits a kernel."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from roofline.model import Analysis

child_options: tuple[str, ...] = ()  # with which one test of this session is run again
_reason: list[str | None] = []


def pytest_configure(config: pytest.Config) -> None:
    """Remember how tests are found, and name the mark that tests with the fixture get."""
    global child_options
    plain = ("cacheprovider", "randomly", "xdist")
    child_options = ("-q", "-o", "addopts=", f"--rootdir={config.rootpath}")
    child_options += tuple(word for name in plain for word in ("-p", f"no:{name}"))
    child_options += (f"--import-mode={config.getoption('importmode')}",)
    if config.pluginmanager.has_plugin(__name__):  # not loaded by its entry point, so by "-p"
        child_options += ("-p", __name__)
    if config.inipath is not None:
        child_options += ("-c", str(config.inipath))
    config.addinivalue_line("markers", "roofline: profiles kernels with ncu, so needs a GPU")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what uses the fixture, for ``-m 'not roofline'``."""
    for item in items:
        if "roofline_profile" in getattr(item, "fixturenames", ()):
            item.add_marker("roofline")


@dataclass(frozen=True, slots=True)
class CapturedRegion:
    """What ``roofline_profile`` returns."""

    analysis: Analysis

    def fail_on(self, *conditions: str, baseline: str | Path | None = None) -> None:
        """Fail the test where a condition of ``compare --fail-on`` holds or cannot be judged.

        ``"bound=latency"``, ``"gemm: time>120us"``, ``"dram<70%"``; with a baseline (of
        ``compare --update-baseline``), ``"regression=5%"``.
        """
        from roofline.compare.baseline import load_baseline
        from roofline.compare.gates import failed, judge, parse_gate
        from roofline.compare.judge import compare
        from roofline.render.comparison import gate
        from roofline.text.verdict import claim

        before = self.analysis if baseline is None else load_baseline(Path(baseline))
        judged = judge(compare(before, self.analysis), [parse_gate(text) for text in conditions])
        if bad := failed(judged):
            found = [
                f"{g.result.measurement.name}: {claim(g.result)}" for g in self.analysis.groups
            ]
            pytest.fail("\n".join([*map(gate, bad), *found]), pytrace=False)


@pytest.fixture
def roofline_profile() -> Callable[..., CapturedRegion]:
    """``roofline.profile`` for tests: skips where this machine cannot profile, and says why.

    Example::

        def test_gemm(roofline_profile):
            captured = roofline_profile(lambda: gemm(a, b), kernels="gemm")
            assert captured.analysis.groups[0].result.verdict.bound == "compute"
            captured.fail_on("bound=latency", "tensor<60%")

    """
    from roofline.capture.failures import NcuFailedError
    from roofline.trial import CHILD, profile

    if CHILD not in os.environ and (reason := _cannot_profile()):
        pytest.skip(reason)

    def run(*target: Any, **options: Any) -> CapturedRegion:
        try:
            return CapturedRegion(profile(*target, **options))
        except NcuFailedError as error:  # which only a run could show
            if error.failure.code.startswith("permission"):
                pytest.skip(str(error))
            raise

    return run


def _cannot_profile() -> str | None:
    """What ``roofline doctor`` concludes where it sees that nothing can be profiled."""
    from roofline.capture.doctor import Status, conclusion, examine, situation

    if not _reason:
        checks = examine(situation())
        failed = any(check.status is Status.FAIL for check in checks)
        _reason.append(conclusion(checks) if failed else None)
    return _reason[0]
