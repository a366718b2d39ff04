"""What a picture says of a kernel: in few words beside its mark, in full in tooltips and tables."""

from __future__ import annotations

from collections.abc import Iterable

from roofline.model import Bound, Result, Verdict
from roofline.plot.scene import Mark
from roofline.text import names, numbers
from roofline.text import verdict as said

COLUMNS = ("#", "Kernel", "Time", "Share", "Verdict", "Confidence", "Op/B", "Rate", "DRAM")
_NAME_WIDTH = 110


def share(value: float | None) -> str:
    """A share of the time (0 to 1) in percent; "" where it is not known."""
    return "" if value is None else numbers.share(value)


def rest(marks: Iterable[Mark], what: str) -> str:
    """How many marks were left over, and their part of the time: "and 10 more kernels with 2 %"."""
    left = list(marks)
    return f"and {len(left)} more{what} with {share(sum(m.share or 0.0 for m in left))} of the time"


def limit(judged: Verdict) -> str:
    """What holds a kernel back: "issue slots 78 %", "grid too small"; "" where that is unknown."""
    text = said.limited_by(judged)
    if judged.bound in (Bound.BANDWIDTH, Bound.COMPUTE) and judged.limiter_percent is not None:
        return f"{text} {numbers.percent(judged.limiter_percent)}"
    return text


def verdict(judged: Verdict) -> str:
    """The verdict in a few words: "compute: issue slots 78 %"."""
    text = limit(judged)
    return f"{judged.bound}: {text}" if text else str(judged.bound)


def rate(result: Result) -> str:
    """The rate of operations: integers are no floating-point operations."""
    m = result.measurement
    most = max(m.operations, key=lambda key: m.operations[key], default=None)
    return numbers.rate(m.operations_per_s, names.operation_unit(most))


def rates(result: Result) -> str:
    """What was achieved, as far as it was measured: "712 GB/s DRAM, 3.1 TFLOP/s"."""
    m, parts = result.measurement, []
    if m.dram_bytes_per_s is not None:
        parts.append(f"{numbers.bandwidth(m.dram_bytes_per_s)} DRAM")
    if m.operations_per_s:
        parts.append(rate(result))
    return ", ".join(parts)


def times(mark: Mark) -> tuple[str, ...]:
    """How long, how often and which share, ever shorter.

    "31.9 µs in 4 launches, 12.0 % of the time", "31.9 µs in 4 launches, 12.0 %", "31.9 µs, 12.0 %".
    """
    if not mark.time_s:
        return ("duration not measured",)
    full = short = numbers.duration(mark.time_s)
    if mark.group and len(mark.group.launches) > 1:
        full += f" in {numbers.plural(len(mark.group.launches), 'launch')}"
    if mark.share is None:
        return full, short
    part = share(mark.share)
    return f"{full}, {part} of the time", f"{full}, {part}", f"{short}, {part}"


def tip(mark: Mark) -> str:
    """All that a tooltip says of a mark, in lines."""
    judged, intensity = mark.result.verdict, mark.result.measurement.arithmetic_intensity
    lines = [
        names.short(mark.name, _NAME_WIDTH) + mark.detail,
        times(mark)[0],
        f"{verdict(judged)} (confidence {judged.confidence})",
        rates(mark.result),
        "" if intensity is None else f"{numbers.plain(intensity)} operations per DRAM byte",
        mark.why,
        said.hint(mark.result),
    ]
    return "\n".join(names.printable(line) for line in lines if line)


def row(mark: Mark) -> tuple[str, ...]:
    """A mark's row below ``COLUMNS``."""
    judged, m = mark.result.verdict, mark.result.measurement
    return (
        str(mark.rank),
        names.short(mark.name, _NAME_WIDTH) + mark.detail,
        numbers.duration(mark.time_s),
        share(mark.share) or numbers.ABSENT,
        verdict(judged),
        str(judged.confidence),
        numbers.plain(m.arithmetic_intensity),
        rate(mark.result),
        numbers.bandwidth(m.dram_bytes_per_s),
    )
