"""Conditions over evidence: what is not known decides nothing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roofline.playbook import builtin
from roofline.playbook.condition import amount, holds, names

KNOWN = {"conflicts": 90.0, "wavefronts": 100.0, "none": 0.0}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("conflicts / wavefronts", 0.9),
        ("1 - conflicts / 120", 0.25),
        ("-conflicts + 2 * wavefronts", 110.0),
        ("conflicts / wavefronts >= 0.2", 1.0),
        ("conflicts >= 90 and wavefronts < 100", 0.0),
        ("not conflicts > 90", 1.0),
        ("min(conflicts, lost)", 90.0),
        ("max(conflicts, wavefronts)", 100.0),
        ("min(lost, gone)", None),
        ("conflicts if none else wavefronts", 100.0),
        ("conflicts if lost > 1 else wavefronts", 100.0),
        ("known(conflicts)", 1.0),
        ("known(lost)", 0.0),
        ("conflicts / none", None),
        ("lost", None),
        ("lost + 1", None),
        ("lost > 1 or conflicts > 1", 1.0),
        ("lost > 1 or conflicts < 1", None),
        ("lost > 1 and conflicts < 1", 0.0),
        ("lost > 1 and conflicts > 1", None),
        ("not lost", None),
    ],
)
def test_values(text, value):
    assert amount(text, KNOWN) == value
    assert holds(text, KNOWN) is bool(value)


def test_a_condition_tells_what_it_reads():
    assert names("min(a, 1) > b and known(c)") == {"a", "b", "c"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a >",
        "1 < a < 2",
        "'text'",
        "a.b",
        "a[0]",
        "__import__('os')",
        "open(a)",
        "min(a, key=b)",
        "lambda: 1",
        "a ** 9",
        "[a]",
        "(" * 500,
        "a >= " + "9" * 400,
    ],
)
def test_what_is_no_arithmetic_is_refused(text):
    with pytest.raises(ValueError, match=r"is no expression|is not understood"):
        names(text)


CONDITIONS = sorted({text for play in builtin().values() for text in play.expressions()})
READ = sorted(frozenset[str]().union(*map(names, CONDITIONS)))


@settings(max_examples=20)
@given(st.dictionaries(st.sampled_from(READ), st.sampled_from([0.0, 0.5, 1.0, 50.0, 1e6])))
def test_a_condition_that_lacks_what_it_needs_would_not_have_been_true(evidence):
    for text in (*CONDITIONS, "(lost and latency) == 0", "not (lost and latency)"):
        assert holds(text, evidence) is bool(amount(text, evidence))
