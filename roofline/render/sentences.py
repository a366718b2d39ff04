"""Lines of text that several formats share; plain strings, no markup."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from roofline.model import Bound, Kind, Measurement, Result, Verdict
from roofline.render import summary
from roofline.render.summary import DeviceUse, Remark, Span, devices
from roofline.text import names, numbers
from roofline.text.notes import note_text
from roofline.text.numbers import plural as plural
from roofline.view import Chosen, speedup

UNDER_PROFILER = "Times are under the profiler; shares are of the time profiled, not of a step."
_NO_CEILING = 10.0  # further away than that a ceiling says nothing about what a fix buys
_LISTED = 4  # more results than that are counted, not listed


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
    spent = (
        "time not measured"
        if part.total_s is None
        else f"{numbers.duration(part.total_s)} under the profiler"
    )
    return (
        f"{plural(part.total_launches, 'launch')} of {plural(part.total_groups, 'kernel')}, "
        f"{spent},{where}"
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
    if verdict.limiter is not None:
        return names.unit(verdict.limiter)
    if verdict.cause is not None:
        return names.words(verdict.cause)
    return "cause unknown" if verdict.bound is Bound.LATENCY else ""


def bounds(result: Result) -> str:
    """What relief could buy at most, by the ceilings; for the work that was measured.

    "same work: at most 1.29x (2.48 ms) at 100 % of issue slots; less of it: ALU pipe at 1.87x".
    """
    v = result.verdict
    if v.floor_s is None:
        return ""
    nearest = names.unit(v.nearest) or "its limit"
    if v.bound is Bound.LATENCY:
        if (speedup(result, v.floor_s) or 0.0) > _NO_CEILING:
            return f"no ceiling is within {_NO_CEILING:.0f}x: trying tells what the wait costs"
        return f"same work without the wait: at most {_bound(result, v.floor_s)}, then {nearest}"
    text = f"same work: at most {_bound(result, v.floor_s)} at 100 % of {nearest}"
    if v.next_floor_s is not None:
        following = names.unit(v.next_limiter) or "the next limit"
        text += f"; less work for it: {following} at {_bound(result, v.next_floor_s)}"
    return text


def footnotes(part: Chosen, results: Sequence[Result]) -> Iterator[str]:
    """Gaps and how to close them, and notes, each said once; "#2" is the second of ``results``."""
    gaps = summary.gaps(results)
    if gaps:
        listed = ", ".join(f"{names.quantity(g.code)}{_where(g, len(results))}" for g in gaps)
        flags = summary.command(gap.text for gap in gaps)
        yield f"Not measured: {listed}. To collect: {flags}"
    for note in summary.notes(results):
        yield f"{names.printable(note.text)}{_where(note, len(results))}"
    yield from source_notes(part)


def source_notes(part: Chosen) -> Iterator[str]:
    """Notes on whole files, each said once: "a.ncu-rep: ...", or "500 files: ..."."""
    sources = part.analysis.sources
    carriers: dict[str, list[str]] = {}
    for source in sources:
        for note in source.notes:
            carriers.setdefault(names.printable(note_text(note)), []).append(source.path)
    for text, paths in carriers.items():
        where = names.printable(names.last_part(paths[0]))
        if len(paths) > 1:
            of = "" if len(paths) == len(sources) else f" of {len(sources):,}"
            where = f"{len(paths):,}{of} files"
        yield f"{where}: {text}"


def geometry(m: Measurement) -> str:
    """Grid and block: "64x64 / 256"; empty for ranges and graphs."""
    if m.grid is None and m.block is None:
        return "" if m.kind is Kind.KERNEL else str(m.kind)
    return f"{names.dims(m.grid)} / {names.dims(m.block)}"


def _where(remark: Remark, of: int) -> str:
    if len(remark.places) == of:
        return ""
    if len(remark.places) > _LISTED:
        return f" ({len(remark.places):,} of {of:,})"
    return f" ({', '.join(f'#{place + 1}' for place in remark.places)})"


def _bound(result: Result, floor_s: float) -> str:
    return f"{numbers.ratio(speedup(result, floor_s))} ({numbers.duration(floor_s)})"


def _clocks(span: Span) -> str:
    low, high = (numbers.clock(value) for value in span)
    if low == high:
        return low
    same_unit = low.split()[-1] == high.split()[-1]
    return f"{low.split()[0] if same_unit else low} to {high}"
