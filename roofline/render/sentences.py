"""Lines of text that several formats share; plain strings, no markup."""

from __future__ import annotations

from collections.abc import Iterator

from roofline.choose import Chosen, speedup
from roofline.model import Bound, Measurement, Result, Verdict
from roofline.render import names, numbers
from roofline.render.summary import DeviceUse, Remark, Span, devices

UNDER_PROFILER = (
    "Times are under the profiler (its clocks, its cache flushes). Shares are of the time "
    "profiled, not of a step or a program."
)


def head(part: Chosen) -> Iterator[str]:
    """What was read: the GPUs with their clocks, how many launches, what of it is shown."""
    used = devices(part.analysis)
    for use in used:
        yield device(use, counted=len(used) > 1)
    yield totals(part)
    shown = scope(part)
    if shown:
        yield shown


def device(use: DeviceUse, *, counted: bool = False) -> str:
    """One GPU: "NVIDIA A100 (cc 8.0, 108 SMs) at SM 1.07 GHz, DRAM 1.21 GHz"."""
    facts = [
        f"cc {use.device.compute_capability}" if use.device.compute_capability else "",
        f"{use.device.sm_count} SMs" if use.device.sm_count else "",
    ]
    known = ", ".join(fact for fact in facts if fact)
    clocks = ", ".join(
        f"{name} {_clocks(span)}"
        for name, span in (("SM", use.sm_clock_hz), ("DRAM", use.dram_clock_hz))
        if span
    )
    text = use.device.name or "unknown GPU"
    text += f" ({known})" if known else ""
    text += f" at {clocks}" if clocks else ", clocks not measured"
    return text + (f": {plural(use.launches, 'launch')}" if counted else "")


def totals(part: Chosen) -> str:
    """How much was read: "24 launches of 5 kernels, 5.17 ms under the profiler, in a.ncu-rep"."""
    sources = part.analysis.sources
    where = (
        f" in {names.printable(names.last_part(sources[0].path))}"
        if len(sources) == 1
        else f" in {plural(len(sources), 'file')}"
    )
    return (
        f"{plural(part.total_launches, 'launch')} of {plural(part.total_groups, 'kernel')}, "
        f"{numbers.duration(part.total_s)} under the profiler,{where}"
    )


def scope(part: Chosen) -> str:
    """What filters left over; empty where there are none."""
    if not part.filters:
        return ""
    return (
        f"Shown: {plural(len(part.analysis.results), 'launch')} of "
        f"{plural(len(part.analysis.groups), 'kernel')} ({' '.join(part.filters)}); "
        "shares are still of all that was profiled"
    )


def limited_by(verdict: Verdict) -> str:
    """The unit or the cause: "issue slots", "grid too small"; empty where neither is known."""
    if verdict.bound is Bound.LATENCY:
        return names.words(verdict.cause or "")
    return names.unit(verdict.limiter)


def bounds(result: Result) -> str:
    """What relief could buy at most: "at most 1.29x (2.48 ms) at the issue slots, ..."."""
    v = result.verdict
    if v.floor_s is None:
        return ""
    text = f"at most {_bound(result, v.floor_s)} at 100 % of {names.unit(v.nearest) or 'its limit'}"
    if v.next_floor_s is not None:
        beyond = f"; beyond it {names.unit(v.next_limiter)} limits" if v.next_limiter else "; then"
        text += f"{beyond} at {_bound(result, v.next_floor_s)}"
    return text


def gap(remark: Remark, of: int, noun: str) -> str:
    """A quantity that was not measured and how to collect it."""
    where = _where(remark, of, noun)
    return f"{names.quantity(remark.code)} not measured{where}: collect with {remark.text}"


def note(remark: Remark, of: int, noun: str) -> str:
    """A note, and on how many results where not on all."""
    return f"{names.printable(remark.text)}{_where(remark, of, noun)}"


def geometry(m: Measurement) -> str:
    """Grid and block: "64x64 / 256"; empty for ranges and graphs."""
    if m.grid is None and m.block is None:
        return str(m.kind)
    return f"{names.dims(m.grid)} / {names.dims(m.block)}"


def plural(count: int, noun: str) -> str:
    """A count with its noun: "1 launch", "2 launches", "1,234 kernels"."""
    ending = "" if count == 1 else "es" if noun.endswith("ch") else "s"
    return f"{count:,} {noun}{ending}"


def _where(remark: Remark, of: int, noun: str) -> str:
    return "" if remark.count == of else f" ({remark.count:,} of {plural(of, noun)})"


def _bound(result: Result, floor_s: float) -> str:
    return f"{numbers.ratio(speedup(result, floor_s))} ({numbers.duration(floor_s)})"


def _clocks(span: Span) -> str:
    low, high = (numbers.clock(value) for value in span)
    return low if low == high else f"{low} to {high}"
