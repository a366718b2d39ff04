from __future__ import annotations

from typing import Any

import pytest

from roofline.compare.model import KernelPair
from roofline.render.comparison import sentence
from roofline.text.notes import note_text
from tests.compare.pairs import launch, one

NO_OPERATIONS: dict[str, Any] = {"operations": {}}


def sized(factor: float, us: float, **values: Any) -> KernelPair:
    """The problem grown by ``factor`` in every way, taking ``us`` instead of 1000."""
    grown = {
        "grid": (round(100 * factor), 1, 1),
        "operations": {"fp32": 75e6 * factor},
        "dram_bytes": 0.9e9 * factor,
    }
    return one(launch(us=1000), launch(us=us, **(grown | values)))


def test_another_problem_size_is_judged_by_unit_of_work() -> None:
    # Twice the problem in 1.5 times the time: 1.33x faster by unit of work.
    pair = sized(2, us=1500)

    assert pair.work.status == "different"
    assert pair.work.speedup == pytest.approx(2 / 1.5)
    assert (pair.outcome, pair.basis) == ("faster", "equal_work")
    assert "another problem size" in sentence(pair)
    assert "1.33x faster per unit of work" in sentence(pair)


def test_a_larger_problem_is_no_regression() -> None:
    assert sized(2, us=2000).outcome == "no_change"
    assert sized(2, us=2400).outcome == "slower"


def test_a_larger_problem_on_a_fixed_grid_is_seen_too() -> None:
    # A grid-stride loop: the same grid, operations and bytes agree.
    assert sized(2, us=2000, grid=(100, 1, 1)).work.status == "different"


def test_fewer_operations_at_the_same_bytes_are_an_optimisation() -> None:
    pair = one(launch(us=1000), launch(us=500, operations={"fp32": 30e6}))

    assert pair.work.status == "same"
    assert pair.work.ratio == pytest.approx(0.4)
    assert pair.outcome == "faster"


def test_another_grid_with_the_same_operations_is_the_same_work() -> None:
    pair = one(launch(), launch(us=800, grid=(25, 1, 1)))

    assert pair.work.status == "same"
    assert pair.work.measure == "operations"


def test_without_operations_bytes_and_threads_must_agree() -> None:
    bigger = launch(us=2000, grid=(200, 1, 1), dram_bytes=1.8e9, **NO_OPERATIONS)
    regridded = launch(us=900, grid=(200, 1, 1), **NO_OPERATIONS)

    assert one(launch(**NO_OPERATIONS), bigger).work.status == "different"
    assert one(launch(**NO_OPERATIONS), regridded).work.status == "same"


def test_with_nothing_but_another_grid_nothing_is_claimed() -> None:
    bare: dict[str, Any] = {"operations": {}, "dram_bytes": None}
    pair = one(launch(**bare), launch(us=500, grid=(50, 1, 1), **bare))

    assert pair.work.status == "unknown"
    assert any("cannot be told from another problem size" in note_text(n) for n in pair.notes)


def test_every_unit_with_a_quarter_of_the_work_is_suspicious() -> None:
    bare: dict[str, Any] = {"operations": {}, "dram_bytes": None}
    use = {"issue": 70.0, "alu": 60.0, "l1": 40.0, "l2": 30.0}
    pair = one(launch(us=1000, use=use, **bare), launch(us=250, use=use, **bare))

    assert pair.work.status == "unknown"
    assert any("every unit has 0.250x the work" in note_text(n) for n in pair.notes)
