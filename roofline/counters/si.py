"""Units as reports spell them, old and new, to SI."""

from __future__ import annotations

from functools import cache

_PREFIXES = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "K": 3, "M": 6, "G": 9, "T": 12}
_BASES = ("second", "sec", "s", "hz", "byte", "inst", "cycle")
# Counted things have no SI unit of their own; a percentage stays a percentage.
_COUNTS = frozenset(
    "% 1 block branch branches byte bytes cluster cycle cycles inst instruction op pass register "
    "request sample sector sectors sm thread transaction w warp wavefront".split()
)


def to_si(value: float, unit: str) -> float | None:
    """``value`` in SI units; ``None`` for a unit that is not known."""
    power = exponent(unit)
    return None if power is None else scaled(value, power)


def scaled(value: float, power: int) -> float:
    """``value`` times ten to the ``power``."""
    # Dividing by a power of ten rounds once; multiplying by its inverse rounds twice.
    return value * 10.0**power if power >= 0 else value / 10.0**-power


@cache
def exponent(unit: str) -> int | None:
    """The power of ten between ``unit`` and SI; ``None`` for an unknown unit.

    Knows "nsecond" and "ns", "Gbyte/second" and "byte/s", "cycle/nsecond", "Ghz" and "hz".
    An empty unit is taken as SI: the callers that know better say so.
    """
    top, slash, bottom = unit.strip().partition("/")
    numerator = _single(top) if top else 0
    denominator = _single(bottom) if slash else 0
    if numerator is None or denominator is None:
        return None
    return numerator - denominator


def _single(word: str) -> int | None:
    if word.lower() in _COUNTS:
        return 0
    for base in _BASES:
        if word.lower().endswith(base):
            power = _PREFIXES.get(word[: -len(base)])
            if power is not None:
                return power
    return None
