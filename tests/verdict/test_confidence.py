"""Confidence: what may be leant on, and each reason not to."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

import roofline.verdict.confidence
from roofline.model import Bound, Cause, Confidence, Measurement, Note, UnitUse
from roofline.text.verdict import DOUBTS
from roofline.verdict.confidence import doubts_of
from tests.makers import measurement, unit, with_rest

HIGH, MEDIUM, LOW = Confidence.HIGH, Confidence.MEDIUM, Confidence.LOW


def doubts(
    percent: float,
    *causes: Cause,
    following: float = 40.0,
    evidence: dict[str, float] | None = None,
    uses: tuple[UnitUse, ...] | None = None,
    **values: Any,
) -> tuple[Confidence, list[str]]:
    """Of DRAM at ``percent`` of peak before issue slots at ``following``."""
    units = uses or with_rest(unit("dram", percent), unit("issue", following))
    bound = Bound.LATENCY if percent < 60 else Bound.BANDWIDTH
    given: dict[str, Any] = {"units": units, "sm_active_percent": 99.0} | values
    measured: Measurement = measurement(**given)
    found, notes = doubts_of(
        measured,
        units,
        frozenset(),
        bound,
        60.0,
        evidence or {},
        causes,
        (unit("issue", following), 10.0),
    )
    return found, [note.code for note in notes]


@pytest.mark.parametrize(
    ("percent", "expected"),
    [
        (92.0, (HIGH, [])),
        (80.0, (HIGH, [])),
        (79.9, (MEDIUM, ["under_sure"])),
        (65.1, (MEDIUM, ["under_sure"])),
        (65.0, (LOW, ["near_threshold"])),
        (60.0, (LOW, ["near_threshold"])),
        (106.0, (MEDIUM, ["above_100"])),
    ],
)
def test_a_unit_that_limits(percent: float, expected: tuple[Confidence, list[str]]) -> None:
    assert doubts(percent) == expected


def test_a_second_unit_of_whatever_side_within_the_balance() -> None:
    assert doubts(90.0, following=80.0) == (MEDIUM, ["other_unit_near"])
    assert doubts(90.0, following=79.9) == (HIGH, [])


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        (None, (MEDIUM, ["no_cause"])),
        (Cause(code="stall_wait"), (MEDIUM, ["no_cause"])),
        (Cause(code="tail_effect", gain=3.0), (MEDIUM, ["cause_by_threshold"])),
        # 20 %, 40 points are missing, and half of them are a factor of 2
        (Cause(code="grid_too_small", gain=2.0), (HIGH, [])),
        (Cause(code="imbalance", gain=1.99), (MEDIUM, ["cause_explains_little"])),
        # what is done to the whole kernel has no factor
        (Cause(code="debug_build"), (HIGH, [])),
        (Cause(code="host_memory"), (HIGH, [])),
    ],
)
def test_a_kernel_that_waits(cause: Cause | None, expected: tuple[Confidence, list[str]]) -> None:
    assert doubts(20.0, *([] if cause is None else [cause])) == expected


@pytest.mark.parametrize(("threads", "expected"), [(16.0, HIGH), (17.0, MEDIUM)])
def test_empty_lanes_by_the_shape_of_the_block(threads: float, expected: Confidence) -> None:
    evidence = {"warp_lanes": 32.0, "threads": threads}
    assert doubts(20.0, Cause(code="partial_warps"), evidence=evidence)[0] is expected


def test_near_the_threshold_from_below() -> None:
    assert doubts(55.0, Cause(code="debug_build")) == (LOW, ["near_threshold"])
    assert doubts(54.9, Cause(code="debug_build")) == (HIGH, [])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"sm_active_percent": None}, (LOW, ["no_sm_activity"])),
        ({"duration_s": 9.9e-6}, (LOW, ["short_kernel"])),
        ({"duration_s": 9.9e-3, "count": 1000}, (LOW, ["short_kernel"])),
        ({"duration_s": None}, (MEDIUM, ["no_duration"])),
        ({"evidence": {"idle_cycles": 9999.0, "sm_active": 0.8}}, (LOW, ["drains"])),
        ({"evidence": {"idle_cycles": 9999.0, "sm_active": 0.9}}, (HIGH, [])),
        ({"evidence": {"idle_cycles": 99.0, "sm_active": 0.2, "fill": 0.2}}, (HIGH, [])),
        ({"evidence": {"idle_cycles": 10000.0, "sm_active": 0.8}}, (HIGH, [])),
        ({"notes": (Note(code="counters_nan"),)}, (LOW, ["counters_unreadable"])),
        ({"notes": (Note(code="shared_gpu"),)}, (LOW, ["shared_gpu"])),
        ({"notes": (Note(code="mixed_verdicts"),)}, (MEDIUM, ["launches_differ"])),
    ],
)
def test_what_was_not_measured_or_is_too_short(
    values: dict[str, Any], expected: tuple[Confidence, list[str]]
) -> None:
    assert doubts(92.0, **values) == expected


def test_without_l1_and_l2_another_unit_could_be_busier() -> None:
    alone = (unit("dram", 92.0), unit("issue", 40.0))
    found, codes = doubts(92.0, uses=alone)

    assert found is LOW
    assert codes == ["side_not_measured", "caches_not_measured"]
    sentence = DOUBTS["caches_not_measured"]
    told = [sentence({"units": units}) for units in (["l1", "l2"], ["l2"])]
    assert told == ["L1/shared and L2 were not measured", "L2 was not measured"]


def test_every_doubt_has_a_sentence() -> None:
    source = Path(roofline.verdict.confidence.__file__).read_text(encoding="utf-8")
    rows = {
        node.elts[1].value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Tuple)
        and len(node.elts) == 4
        and isinstance(node.elts[1], ast.Constant)
    }
    returned = {"no_cause", "cause_by_threshold", "cause_explains_little"}
    assert len(rows) > 12
    assert rows | returned <= set(DOUBTS)
