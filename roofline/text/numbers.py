"""Numbers for people: the one place where SI floats become text with prefixes.

All functions take ``None`` (not measured) and answer ``ABSENT`` for it, as they do for NaN and
infinity. Significant digits are kept, so that 0.0712 and 712 are equally exact.
"""

from __future__ import annotations

import math
import re
from typing import TypeGuard

from roofline.model import exceeds

ABSENT = "-"
_PREFIXES = {15: "P", 12: "T", 9: "G", 6: "M", 3: "k", 0: "", -3: "m", -6: "µ", -9: "n"}
_LEAST, _MOST = min(_PREFIXES), max(_PREFIXES)
# Units that take one, as they are written.
_WITH_PREFIX = {unit: unit for unit in ("s", "B", "B/s", "Hz", "FLOP/s")} | {"operations": "OP"}


# What may follow the prefix of an amount that somebody types.
_NOUNS = {"s": "s(?:ec(?:onds?)?)?", "B": "B(?:ytes?)?", "FLOP": "(?:FL?)?OPs?"}
_TYPED = {"": 0, "k": 3, "m": 6, "g": 9, "t": 12, "p": 15, "e": 18}


def read(text: str, unit: str) -> float | None:
    """An amount as people type it, in SI; ``None`` for what is none.

    ``unit`` is "s", "B" or "FLOP": "3.1ms", "2.8 GiB", "2.1 TFLOP"; but for times other than "0"
    it may be left out: "3e9".
    """
    # A comma stands before three digits, as "3,1ms" may be meant as 3.1.
    whole = r"(?:\d{1,3}(?:,\d{3})+|\d[\d_]*)"
    digits = rf"(?:{whole}(?:\.\d*)?|\.\d+)"
    noun = f"(?:{_NOUNS[unit]}){'' if unit == 's' and text != '0' else '?'}"
    form = rf"({digits})(?:e([-+]?\d{{1,9}}))?\s*([kmgtpenuµμ]?)(i?){noun}"
    found = re.fullmatch(form, text.strip(), re.IGNORECASE)
    if found is None:
        return None
    prefix, binary = found[3].lower(), found[4]
    powers = {"": 0, "m": -3, "u": -6, "µ": -6, "μ": -6, "n": -9} if unit == "s" else _TYPED
    if prefix not in powers or (binary and (unit == "s" or not prefix)):
        return None
    mantissa, power = found[1].replace(",", "").replace("_", ""), int(found[2] or 0)
    # In decimal: 120us is the float that is nearest to 120e-6.
    power += 0 if binary else powers[prefix]
    value = float(f"{mantissa}e{power}") * (1024.0 ** (powers[prefix] / 3) if binary else 1)
    return value if math.isfinite(value) else None


def scaled(value: float, *, digits: int = 3) -> tuple[str, str]:
    """``value`` as digits and SI prefix: 1.2345e10 gives ("12.3", "G").

    The prefix is chosen after rounding: 999.6 is ("1.00", "k"), never "1000". Outside n to P the
    outermost prefix is kept, and far outside powers of ten take its place: ("1.00e-280", "").
    """
    if value == 0:
        return "0", ""
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    power = int(exponent)
    step = min(max(power // 3 * 3, _LEAST), _MOST)
    if not -4 <= power - step <= 6:
        return f"{value:.{digits - 1}e}", ""
    places = max(digits - 1 - (power - step), 0)
    return f"{float(mantissa) * 10.0 ** (power - step):.{places}f}", _PREFIXES[step]


def si(value: float | None, unit: str, *, digits: int = 3) -> str:
    """``value`` with ``unit`` and prefix: 3.1872e-05, "s" gives "31.9 µs"."""
    if not _known(value):
        return ABSENT
    number, prefix = scaled(value, digits=digits)
    return f"{number} {prefix}{unit}".rstrip()


def duration(value_s: float | None) -> str:
    """Seconds: "31.9 µs"."""
    return si(value_s, "s")


def fall(before_s: float | None, after_s: float | None) -> str:
    """From one duration to another: "2.73 -> 2.24 ms"."""
    before, after = duration(before_s), duration(after_s)
    number, _, prefix = before.partition(" ")
    return f"{number if after.endswith(f' {prefix}') else before} -> {after}"


def size(value_bytes: float | None) -> str:
    """Bytes, decimal prefixes as datasheets have them: "4.27 MB"."""
    return si(value_bytes, "B")


def bandwidth(bytes_per_s: float | None) -> str:
    """Bytes per second: "1.56 TB/s"."""
    return si(bytes_per_s, "B/s")


def rate(operations_per_s: float | None, unit: str = "FLOP") -> str:
    """Operations per second: "13.5 TFLOP/s"; ``unit`` is "FLOP", or "OP" for integers."""
    return si(operations_per_s, f"{unit}/s")


def clock(value_hz: float | None) -> str:
    """A clock: "1.07 GHz"."""
    return si(value_hz, "Hz")


def plain(value: float | None, *, digits: int = 3) -> str:
    """A number without unit or prefix: "11.3", "1234", "3.10e-05"."""
    if not _known(value):
        return ABSENT
    if value == 0:
        return "0"
    power = int(f"{value:.{digits - 1}e}".split("e")[1])
    if not -4 <= power <= 6:
        return f"{value:.{digits - 1}e}"
    return f"{value:.{max(digits - 1 - power, 0)}f}"


_EXACT = 2**53  # not every whole number above it is a float


def exact(value: float | None) -> str:
    """A count in full: "48,232,449"; a fraction keeps two decimals; no digits that none knows."""
    if not _known(value):
        return ABSENT
    if abs(value) > _EXACT:
        return plain(value)
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"


def count(value: float | None) -> str:
    """A count in full, without the fraction that a mean leaves: "65,011,712"; a ratio: "2.41"."""
    return plain(value) if not _known(value) or abs(value) < 1000 else exact(round(value))


def percent(value: float | None, *, places: int = 0) -> str:
    """A percentage: "78 %". What is not 0 or 100 is never shown as 0 or 100; over 100 is shown."""
    if not _known(value):
        return ABSENT
    step = 10.0**-places
    text = f"{value:.{places}f}"
    if 0 < value < step and float(text) == 0:
        return f"<{step:.{places}f} %"
    if value < 100 and float(text) >= 100:
        return f">{100 - step:.{places}f} %"
    return f"{text} %"


def amount(value: float | None, unit: str, *, digits: int = 3) -> str:
    """A value of a quantity's unit: "4.27 MB" for "B", "48.0 GOP" for "operations", "64"."""
    if unit == "%":
        return percent(value)
    if unit in _WITH_PREFIX:
        return si(value, _WITH_PREFIX[unit], digits=digits)
    whole = value is not None and float(value).is_integer() and "/" not in unit
    return exact(value) if whole else plain(value, digits=digits)


def against(value: float, limit: float, unit: str, *, places: int = 0) -> tuple[str, str]:
    """A value and its limit: in the digits that were typed, and more where these show no excess.

    ``places`` are the least decimals of a percentage: ("5.04 %", "5.00 %").
    """
    mantissa, _, power = f"{limit:.12e}".partition("e")
    digits = len(mantissa.rstrip("0").replace(".", ""))
    places, digits = max(places, digits - 1 - int(power)), max(digits, 3)
    for more in range(12):
        said, to = (
            percent(one, places=places + more)
            if unit == "%"
            else amount(one, unit, digits=digits + more)
            for one in (value, limit)
        )
        if said != to or not (exceeds(value, limit) or exceeds(limit, value)):
            break
    return said, to


def share(fraction: float | None) -> str:
    """A share from 0 to 1 as a percentage with one decimal: "18.2 %"."""
    return percent(None if fraction is None else fraction * 100, places=1)


def deviation(fraction: float) -> str:
    """How far a value is from another, as a fraction of that: "+1.2 %"."""
    return f"{100 * fraction:+.1f} %"


def at_most(amount: str, *, beyond: bool) -> str:
    """A bound in words; ``beyond`` what is promised it is more than that."""
    return f"{'more than' if beyond else 'up to'} {amount}"


def ratio(value: float | None) -> str:
    """How many times: "1.29x"."""
    return ABSENT if not _known(value) else f"{plain(value)}x"


def times(value: float | None) -> str:
    """A speed-up: "1.42x", two decimals below 10, so that 1.004 is not shown as a change."""
    return f"{value:.2f}x" if _known(value) and value < 10 else ratio(value)


def plural(count: int, noun: str) -> str:
    """A count with its noun: "1 launch", "2 launches", "1,234 kernels"."""
    ending = "" if count == 1 else "es" if noun.endswith("ch") else "s"
    return f"{count:,} {noun}{ending}"


def _known(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value)


def waves(value: float) -> str:
    """Waves by their size: "0.19", "3.4", "1,158"."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}" if value < 10 else f"{value:.1f}"
