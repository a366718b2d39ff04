"""What a picture says of a kernel, in the few words that there is room for."""

from __future__ import annotations

from collections.abc import Mapping

from roofline import units
from roofline.model import Bound, Result, Verdict
from roofline.render import sentences
from roofline.text import names, numbers
from roofline.units import unit_name

LEVELS: Mapping[str, str] = {key: unit_name(key) for key in units.LEVELS}


def rate(key: str, operations_per_s: float) -> str:
    """A rate of one precision: integers are no floating-point operations."""
    return numbers.rate(operations_per_s, names.operation_unit(key))


def percent(value: float) -> str:
    """A percentage as it is, over 100 too."""
    return f"{value:.0f} %" if value >= 9.95 else f"{value:.1f} %"


def share(value: float | None) -> str:
    """A share of the time (0 to 1) in percent; "" where it is not known."""
    if value is None:
        return ""
    return "<0.1 %" if 0 < value < 0.0005 else percent(100 * value)


def limit(judged: Verdict) -> str:
    """What holds a kernel back: "issue slots 78 %", "grid too small"; "" where that is unknown."""
    text = sentences.limited_by(judged)
    if judged.bound in (Bound.BANDWIDTH, Bound.COMPUTE) and judged.limiter_percent is not None:
        return f"{text} {percent(judged.limiter_percent)}"
    return text


def verdict(judged: Verdict) -> str:
    """The verdict in a few words: "compute: issue slots 78 %"."""
    text = limit(judged)
    return f"{judged.bound}: {text}" if text else str(judged.bound)


def rates(result: Result) -> str:
    """What was achieved, as far as it was measured: "712 GB/s DRAM, 3.1 TFLOP/s"."""
    m = result.measurement
    parts = []
    if m.dram_bytes_per_s is not None:
        parts.append(f"{numbers.bandwidth(m.dram_bytes_per_s)} DRAM")
    if m.operations_per_s:
        most = max(m.operations, key=lambda key: m.operations[key])
        parts.append(rate(most, m.operations_per_s))
    return ", ".join(parts)


def times(total_s: float | None, count: int, of_all: float | None) -> tuple[str, ...]:
    """How long, how often and which share, ever shorter.

    "31.9 µs in 4 launches, 12 % of the time", "31.9 µs in 4 launches, 12 %", "31.9 µs, 12 %".
    """
    if not total_s:
        return ("duration not measured",)
    short = numbers.duration(total_s)
    full = f"{short} in {sentences.plural(count, 'launch')}" if count > 1 else short
    if of_all is None:
        return full, short
    return (
        f"{full}, {share(of_all)} of the time",
        f"{full}, {share(of_all)}",
        f"{short}, {share(of_all)}",
    )
