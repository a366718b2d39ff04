"""Every value of every metric is the one that ncu_report gives, NVIDIA's own reader."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from roofline.reports import read
from roofline.reports.metrics import is_time, si
from tests import strange
from tests.shared import REPORTS

SAMPLES = sorted((Path(__file__).parents[2] / "sample_reports").glob("*.ncu-rep"))
WHOLE = [path for path in REPORTS if path.stat().st_size]
# Of what every unit that ncu_report names is a multiple: all of SI's, counts, or percentages.
PLAIN = {
    "", "%", "1", "SM", "block", "branches", "byte", "cluster", "cycle", "hz", "inst", "pass",
    "register", "request", "s", "sample", "sector", "sectors", "thread", "warp",
}  # fmt: skip


actions = cache(strange.actions)


def same(ours: object, theirs: object) -> bool:
    """Equal in type and value; NaN is NaN."""
    if isinstance(ours, float) and math.isnan(ours):
        return isinstance(theirs, float) and math.isnan(theirs)
    return type(ours) is type(theirs) and ours == theirs


def compare(path: Path) -> Counter[str]:
    """Hold every value of a file to ncu_report's; count them and the differences that may be."""
    seen: Counter[str] = Counter()
    for launch, action in zip(read(path), actions(path), strict=True):
        metrics = launch.metrics
        assert metrics.names() == set(action.metric_names())
        for name in action.metric_names():
            metric = action[name]
            seen["values"] += 1
            value, theirs = metrics._value(name), strange.value(metric)
            if value is None and theirs == 0.0 and metric.num_instances():
                seen["instances and no value, which ncu_report calls 0"] += 1
            else:
                assert same(value, theirs), (path, name, value, theirs)
            if isinstance(value, str) or value is None:
                assert metrics.number(name) is None
            else:
                assert metrics.number(name) == si(name, metric.as_double())
            rows = list(metrics._rows(name))
            ids = metric.correlation_ids() if metric.has_correlation_ids() else None
            assert len(rows) == metric.num_instances()
            for i, (key, instance) in enumerate(rows):
                seen["instances"] += 1
                assert same(key, None if ids is None else strange.value(ids, i)), (path, name)
                assert same(instance, strange.value(metric, i)), (path, name)
    return seen


@pytest.mark.parametrize("path", WHOLE, ids=lambda path: path.name[:60])
def test_public_reports(path: Path):
    assert compare(path)["values"] > 0


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_samples(path: Path):
    assert compare(path)["values"] > 0


@pytest.mark.parametrize("name", strange.WHOLE)
def test_strange_reports(name: str, tmp_path: Path):
    compare(strange.write(tmp_path, name))


@pytest.mark.parametrize("path", WHOLE, ids=lambda path: path.name[:60])
def test_names_ranges_rules_and_sass(path: Path):
    for ours, theirs in zip(read(path), read(path, reader="ncu-report"), strict=True):
        assert (ours.name, ours.demangled, ours.nvtx) == (
            theirs.name,
            theirs.demangled,
            theirs.nvtx,
        )
        assert ours.metrics.rules == theirs.metrics.rules
        for address in list(ours.metrics.instances("inst_executed"))[:3]:
            assert ours.metrics.sass(address) == theirs.metrics.sass(address)
            assert ours.metrics.line(address) == theirs.metrics.line(address)


@pytest.mark.skipif(not WHOLE, reason="no public reports beside the repository")
def test_the_unit_of_every_metric_is_the_one_that_its_name_stands_for():
    units = {
        (name, action[name].unit())
        for path in WHOLE
        for action in actions(path)
        for name in action.metric_names()
    }
    assert len(units) > 3000
    for name, unit in units:
        above, _, below = unit.partition("/")
        if is_time(name):
            # Where ncu_report does not know the chip it gives no unit, and the same value.
            assert unit in ("ns", ""), name
        else:
            assert above in PLAIN, (name, unit)
            assert below in PLAIN, (name, unit)


def test_values_are_read_as_ncu_report_reads_them():
    for action in actions(SAMPLES[-1]):
        for name in action.metric_names():
            metric = action[name]
            assert same(strange.value(metric), metric.value())
            for i in range(metric.num_instances()):
                assert same(strange.value(metric, i), metric.value(i))
