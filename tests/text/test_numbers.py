from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.text import numbers

FACTORS = {
    "P": 1e15,
    "T": 1e12,
    "G": 1e9,
    "M": 1e6,
    "k": 1e3,
    "": 1.0,
    "m": 1e-3,
    "µ": 1e-6,
    "n": 1e-9,
}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3.1872e-05, "31.9 µs"),
        (0.001, "1.00 ms"),
        (0.0, "0 s"),
        (999.6e-6, "1.00 ms"),  # rounds to four digits, so the prefix moves: never "1000 µs"
        (999.4e-6, "999 µs"),
        (12.0, "12.0 s"),
        (7200.0, "7.20 ks"),
        (1.2e-13, "0.000120 ns"),
        (1e-280, "1.00e-280 s"),
        (2e23, "2.00e+23 s"),
        (-0.002, "-2.00 ms"),
        (None, "-"),
        (math.nan, "-"),
        (math.inf, "-"),
    ],
)
def test_duration_keeps_three_digits(value, text):
    assert numbers.duration(value) == text


def test_each_quantity_has_its_unit():
    assert numbers.size(4265088.0) == "4.27 MB"
    assert numbers.bandwidth(1.555e12) == "1.56 TB/s"
    assert numbers.rate(133.8e12) == "134 TFLOP/s"
    assert numbers.rate(1979e12, "OP") == "1.98 POP/s"
    assert numbers.clock(1.065e9) == "1.06 GHz"  # 1.065 is a little less than 1.065 in binary
    assert numbers.si(1234567.0, "") == "1.23 M"


@pytest.mark.parametrize(
    ("value", "places", "text"),
    [
        (77.7, 0, "78 %"),
        (103.4, 0, "103 %"),  # shown, never clamped
        (0.0, 0, "0 %"),
        (0.3, 0, "<1 %"),
        (99.97, 1, ">99.9 %"),
        (100.0, 1, "100.0 %"),
        (99.6, 0, ">99 %"),
        (0.04, 1, "<0.1 %"),
        (math.nan, 0, "-"),
        (None, 0, "-"),
    ],
)
def test_percent_never_rounds_to_nothing_or_all(value, places, text):
    assert numbers.percent(value, places=places) == text


def test_share_is_a_fraction():
    assert numbers.share(0.182) == "18.2 %"
    assert numbers.share(None) == "-"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (11.3088, "11.3"),
        (1234.5, "1234"),
        (0.0833333, "0.0833"),
        (3.1e-5, "3.10e-05"),
        (2.5e8, "2.50e+08"),
        (0, "0"),
        (None, "-"),
    ],
)
def test_plain_has_no_prefix(value, text):
    assert numbers.plain(value) == text


def test_a_count_is_in_full_and_a_ratio_in_three_digits():
    assert numbers.count(65011712.0) == "65,011,712"
    assert numbers.count(21670570.7) == "21,670,571"  # a mean of launches
    assert (numbers.count(2.4142), numbers.count(0.0), numbers.count(None)) == ("2.41", "0", "-")


def test_exact_has_every_digit():
    assert numbers.exact(48232449.0) == "48,232,449"
    assert numbers.exact(0.25) == "0.25"
    assert numbers.exact(None) == "-"


def test_ratio():
    assert numbers.ratio(1.2868) == "1.29x"
    assert numbers.ratio(None) == "-"


@given(st.floats(min_value=1e-9, max_value=9.99e17))
def test_prefix_and_digits_give_the_value_back(value):
    number, prefix = numbers.scaled(value)

    assert float(number) * FACTORS[prefix] == pytest.approx(value, rel=0.006)
    assert 1 <= float(number) < 1000
    assert len(re.sub(r"\D", "", number)) == 3


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (4265088.0, "B", "4.27 MB"),
        (48e9, "operations", "48.0 GOP"),
        (56.2, "%", "56 %"),
        (1792.0, "FLOP/B", "1792"),
        (48.0, "registers", "48"),
        (1e300, "registers", "1.00e+300"),
        (86.94, "waves", "86.9"),
        (None, "s", "-"),
        (math.nan, "waves", "-"),
    ],
)
def test_an_amount_is_written_as_its_unit_asks(value, unit, text):
    assert numbers.amount(value, unit) == text
