"""The table of units is whole, and agrees with what is written down elsewhere."""

import re
from pathlib import Path

import pytest

from roofline.model import PRECISIONS, Family, UnitUse
from roofline.units import (
    ELAPSED,
    GENERIC,
    LEVELS,
    PARTS,
    RELIEVES,
    SAME,
    UNITS,
    members,
    ranked,
    same_pipe,
    the_unit,
    unit_name,
    unit_of_metric,
    unit_of_precision,
)
from tests.makers import unit

PACKAGE = Path(__file__).parents[1] / "roofline"


def test_every_precision_has_a_unit():
    assert {unit_of_precision(key) for key in PRECISIONS} == {
        *("fma", "fp64", "fp16", "tensor", "tensor_fp64"),
    }
    assert unit_of_precision("bf16") == "fma"
    assert unit_of_precision("tensor_fp8_sparse") == "tensor"
    assert unit_of_precision("tensor_fp64") == "tensor_fp64"


@pytest.mark.parametrize("key", UNITS)
def test_every_row_is_whole(key):
    row = UNITS[key]

    assert row.key == key
    assert row.prefixes
    assert row.article in ("the", "a", "an", "")
    assert row.clock in ("sm", "dram", None)
    assert set(row.parts) <= set(UNITS)
    assert [unit_of_metric(member) for member in row.members] == [row] * len(row.members)


def test_names_and_prefixes_are_of_one_unit():
    names = [row.name for row in UNITS.values()]
    prefixes = [prefix for row in UNITS.values() for prefix in row.prefixes]

    assert len(set(names)) == len(names) == 26
    assert len(set(prefixes)) == len(prefixes)


def test_levels_are_from_the_outermost_in():
    assert LEVELS == ("dram", "l2", "l1")


def test_links_are_sums_of_their_own():
    assert "nvlrx__bytes.sum.pct_of_peak_sustained_elapsed" in members(links=True)
    assert "dram__cycles_active" + ELAPSED in members(links=False)
    assert not set(members(links=True)) & set(members(links=False))


@pytest.mark.parametrize(
    ("key", "name", "within"),
    [
        ("dram", "DRAM", "DRAM"),
        ("l1", "L1/shared", "L1/shared"),
        ("issue", "issue slots", "the issue slots"),
        ("other_compute", "unnamed compute unit", "an unnamed compute unit"),
        ("brand_new", "brand new", "brand new"),
    ],
)
def test_a_unit_has_one_name_and_one_form_in_sentences(key, name, within):
    assert (unit_name(key), the_unit(key)) == (name, within)


def test_a_unit_that_stands_for_several_gives_way():
    order = ranked([unit("shared_pipe", 78.4), unit("fp64", 78.0), unit("dram", 90.0)])

    assert [use.unit for use in order] == ["dram", "fp64", "shared_pipe"]


def test_a_pipe_gives_way_to_the_part_of_it_that_is_all_of_its_work():
    # on an A100 the tensor pipe's activity counts that of DMMA too
    assert ranked([unit("tensor", 90.2), unit("tensor_fp64", 90.0)])[0].unit == "tensor_fp64"
    assert ranked([unit("tensor", 95.0), unit("tensor_fp64", 90.0)])[0].unit == "tensor"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (("tensor_fp64", 92.0), ("tensor", 90.0), True),
        (("tensor_fp64", 92.0), ("tensor", 89.0), True),
        (("tensor_fp64", 92.0), ("tensor", 60.0), False),
        (("fp64", 85.2), ("shared_pipe", 85.3), True),
        (("fp64", 85.2), ("shared_pipe", 80.0), False),
        (("fp64", 85.2), ("tensor", 85.2), False),
    ],
)
def test_one_pipe_by_two_names(one, other, same):
    assert same_pipe(unit(*one), unit(*other)) is same
    assert same_pipe(unit(*other), unit(*one)) is same


def test_unknown_units_are_ranked_too():
    odd = UnitUse(unit="warp9", family=Family.COMPUTE, percent=50.0, metric="")

    assert [use.unit for use in ranked([unit("dram", 20.0), odd])] == ["warp9", "dram"]
    assert not same_pipe(odd, unit("dram", 50.0))


def test_no_list_of_units_stands_anywhere_else():
    keys = "|".join(UNITS)
    row = re.compile(rf"\"({keys})\"(,\s*\"({keys})\"){{4}}")
    strays = [
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if path.name != "units.py" and row.search(path.read_text(encoding="utf-8"))
    ]

    assert not strays
    assert set(UNITS) > GENERIC


@pytest.mark.parametrize("table", [SAME, RELIEVES])
def test_what_goes_with_a_unit_is_known(table):
    keys = {*UNITS, *PARTS, "few_fp64"}

    assert set(table) <= keys
    named = [name for names in table.values() for name in names]
    assert all(name in keys or unit_of_metric(name) for name in named)
