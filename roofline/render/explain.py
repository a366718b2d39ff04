"""All the evidence about one kernel: the claim, its numbers, what would refute it, what to try."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from roofline.model import Bound, Group, Measurement, Result, Verdict
from roofline.render import evidence, sentences, summary
from roofline.text import names, numbers
from roofline.text import verdict as said
from roofline.text.console import (
    INDENT,
    NARROWEST,
    bound,
    bullet,
    bullets,
    hanging,
    line,
    lines,
    to_text,
)
from roofline.text.notes import noted

_SIGNATURE = 400  # letters of a C++ signature; CUTLASS has signatures of 5,000


def render(
    group: Group,
    *,
    others: Sequence[Group] = (),
    width: int = 120,
    color: bool = False,
) -> str:
    """Everything about ``group``; ``others`` are kernels that the same words meant too."""
    result = group.result
    sections: tuple[tuple[str, Iterator[RenderableType]], ...] = (
        ("Claim", _claim(result)),
        ("Rule", iter([line(_rule(result.verdict, result.measurement))])),
        (
            f"Utilisation in % of peak ({evidence.ELAPSED})",
            evidence.units_table(result.measurement),
        ),
        ("Numbers", evidence.numbers_table(result.measurement)),
        ("Peaks", evidence.peaks_table(result)),
        ("Stalled warps", evidence.stalls_table(result.measurement)),
        ("What would refute this", lines([said.refute(result)])),
        ("Try first", _try(result)),
        ("What that could buy", lines([sentences.bounds(result)])),
        ("Not worth the time", bullets(said.avoid(result))),
        ("How sure", _sure(result)),
        ("Not measured", _gaps(result)),
        ("Notes", bullets(list(noted(result.measurement.notes)))),
        ("Matching kernels too", _others(others)),
    )
    parts: list[RenderableType] = list(_title(group))
    for title, body in sections:
        below = list(body)
        if below:
            parts += [Text(f"\n{title}", style="bold"), *below]
    return to_text(parts, width=max(width, NARROWEST), color=color)


def _title(group: Group) -> Iterator[RenderableType]:
    m = group.result.measurement
    yield Text(names.short(m.demangled or m.name, 100), style="bold")
    if m.demangled and m.demangled != m.name:
        yield Text(names.middle(names.printable(m.demangled), _SIGNATURE), style="dim")
    where = m.device.name or "unknown GPU"
    yield Text(
        f"{sentences.plural(len(group.launches), 'launch')}, grid {names.dims(m.grid)}, "
        f"block {names.dims(m.block)}, on {where}"
    )
    if m.nvtx:
        yield Text(f"in NVTX range {names.printable(' > '.join(m.nvtx))}")
    spread = (
        f", {numbers.duration(group.min_s)} to {numbers.duration(group.max_s)} each"
        if len(group.launches) > 1
        else ""
    )
    yield Text(
        f"{numbers.duration(group.total_s)} under the profiler{spread}, "
        f"{numbers.share(group.share)} of the time profiled"
    )
    if len(group.launches) > 1:
        counts = ", ".join(f"{bound_} {count}" for bound_, count in group.bounds.items())
        yield Text(f"Numbers below are sums over the launches. Judged one by one: {counts}")


def _claim(result: Result) -> Iterator[RenderableType]:
    v = result.verdict
    limited = sentences.limited_by(v)
    head = bound(v.bound) + Text(f": {limited}" if limited else "")
    head += Text(", co-limited" if v.co_limited else "") + Text(f" (confidence {v.confidence})")
    yield line(head)
    yield from lines([said.claim(result), said.context(result)])


def _rule(v: Verdict, m: Measurement) -> str:
    """How the thresholds lead from the percentages to the word."""
    nearest = next((use for use in m.units if use.unit == v.nearest), None)
    if nearest is None:
        return (
            "The busiest unit decides. No unit's utilisation was measured, so nothing is claimed."
        )
    busiest = f"The busiest unit decides: {names.unit(nearest.unit)} at {_exactly(nearest.percent)}"
    if v.bound is Bound.LATENCY:
        return f"{busiest} is under {v.rule.latency:g} % (--latency-threshold): latency."
    if v.bound is Bound.UNKNOWN:
        return f"{busiest}. Not enough was measured to say more, so nothing is claimed."
    rival = max(
        (u for u in m.units if u.family != nearest.family),
        key=lambda use: use.percent,
        default=None,
    )
    text = f"{busiest}, not under {v.rule.latency:g} % (--latency-threshold), is {nearest.family}"
    if rival is None:
        return f"{text}; nothing of the other family was measured."
    near = "within" if v.co_limited else "not within"
    return (
        f"{text}. The busiest of {rival.family}, {names.unit(rival.unit)} at "
        f"{_exactly(rival.percent)}, is {near} {v.rule.balance:g} points of it (--balance)."
    )


def _try(result: Result) -> Iterator[RenderableType]:
    steps = said.try_first(result) or (said.hint(result),)
    for place, step in enumerate(steps, 1):
        yield hanging(f"{place}. ", step, indent=INDENT)


def _sure(result: Result) -> Iterator[RenderableType]:
    reasons = said.confidence_reasons(result)
    yield line(f"{result.verdict.confidence}" + (", because" if reasons else ""))
    yield from bullets(reasons)


def _gaps(result: Result) -> Iterator[RenderableType]:
    for missing in summary.missing_of(result):
        yield bullet(f"{names.quantity(missing.quantity)}: collect with {missing.flag}")


def _others(others: Sequence[Group]) -> Iterator[RenderableType]:
    for group in others:
        m = group.result.measurement
        yield bullet(
            f"{names.short(m.demangled or m.name, 70)}  {sentences.geometry(m)}  "
            f"{numbers.duration(group.total_s)}"
        )


def _exactly(value: float) -> str:
    return numbers.percent(value, places=1)
