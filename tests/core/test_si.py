import pytest

from roofline.counters.si import exponent, to_si


@pytest.mark.parametrize(
    ("value", "unit", "si"),
    [
        (31872.0, "nsecond", 3.1872e-05),
        (31872.0, "ns", 3.1872e-05),
        (31.872, "usecond", 3.1872e-05),
        (31.872, "us", 3.1872e-05),
        (2.0, "msecond", 2e-3),
        (2.0, "second", 2.0),
        (1.41, "cycle/nsecond", 1.41e9),
        (1.41, "Ghz", 1.41e9),
        (1410.0, "Mhz", 1.41e9),
        (7.0, "cycle/second", 7.0),
        (7.0, "hz", 7.0),
        (1.5, "Gbyte/second", 1.5e9),
        (1.5, "Tbyte/s", 1.5e12),
        (3.0, "Kbyte", 3e3),
        (42.0, "%", 42.0),
        (42.0, "", 42.0),
        (5.0, "register/thread", 5.0),
        (5.0, "byte/block", 5.0),
        (5.0, "SM", 5.0),
    ],
)
def test_old_and_new_spellings_give_si(value, unit, si):
    assert to_si(value, unit) == si


@pytest.mark.parametrize("unit", ["parsec", "byte/parsec", "xbyte", "qs"])
def test_an_unknown_unit_is_not_guessed(unit):
    assert exponent(unit) is None
    assert to_si(1.0, unit) is None
