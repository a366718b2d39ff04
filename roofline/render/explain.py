"""All the evidence about one kernel: the claim, its numbers, what would refute it, what to try."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from roofline.model import Bound, Group, Measurement, Result, Rule, Verdict
from roofline.render import evidence, sentences, summary
from roofline.text import names, numbers
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
from roofline.text.notes import note_text

_SIGNATURE = 400  # letters of a C++ signature; CUTLASS has signatures of 5,000


def render(
    group: Group,
    *,
    others: Sequence[Group] = (),
    rule: Rule | None = None,
    width: int = 120,
    color: bool = False,
) -> str:
    """Everything about ``group``; ``others`` are kernels that the same words meant too.

    ``rule`` is what the verdict was made by.
    """
    result = group.result
    told = _rule(result.verdict, result.measurement, rule or Rule())
    sections: tuple[tuple[str, Iterator[RenderableType]], ...] = (
        ("Claim", _claim(result.verdict)),
        ("Rule", iter([line(told)])),
        (
            f"Utilisation in % of peak ({evidence.ELAPSED})",
            evidence.units_table(result.measurement),
        ),
        ("Numbers", evidence.numbers_table(result.measurement)),
        ("Peaks", evidence.peaks_table(result)),
        ("Stalled warps", evidence.stalls_table(result.measurement)),
        ("What would refute this", lines([result.verdict.refute])),
        ("Try first", _try(result)),
        ("What that could buy", lines([sentences.bounds(result)])),
        ("Not worth the time", bullets(result.verdict.avoid)),
        ("How sure", _sure(result.verdict)),
        ("Not measured", _gaps(result)),
        ("Notes", bullets([note_text(n) for n in result.measurement.notes])),
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


def _claim(v: Verdict) -> Iterator[RenderableType]:
    limited = sentences.limited_by(v)
    head = bound(v.bound) + Text(f": {limited}" if limited else "")
    head += Text(", co-limited" if v.co_limited else "") + Text(f" (confidence {v.confidence})")
    yield line(head)
    cause = None if v.cause_text is None or v.cause_text in v.claim else v.cause_text
    yield from lines([v.claim, cause, v.context])


def _rule(v: Verdict, m: Measurement, rule: Rule) -> str:
    """How the thresholds lead from the percentages to the word."""
    nearest = next((use for use in m.units if use.unit == v.nearest), None)
    if nearest is None:
        return (
            "The busiest unit decides. No unit's utilisation was measured, so nothing is claimed."
        )
    busiest = f"The busiest unit decides: {names.unit(nearest.unit)} at {_exactly(nearest.percent)}"
    if v.bound is Bound.LATENCY:
        return f"{busiest} is under {rule.latency:g} % (--latency-threshold): latency."
    if v.bound is Bound.UNKNOWN:
        return f"{busiest}. Not enough was measured to say more, so nothing is claimed."
    rival = max(
        (u for u in m.units if u.family != nearest.family),
        key=lambda use: use.percent,
        default=None,
    )
    text = f"{busiest}, not under {rule.latency:g} % (--latency-threshold), is {nearest.family}"
    if rival is None:
        return f"{text}; nothing of the other family was measured."
    near = "within" if v.co_limited else "not within"
    return (
        f"{text}. The busiest of {rival.family}, {names.unit(rival.unit)} at "
        f"{_exactly(rival.percent)}, is {near} {rule.balance:g} points of it (--balance)."
    )


def _try(result: Result) -> Iterator[RenderableType]:
    v = result.verdict
    steps = v.try_first or ((v.hint,) if v.hint else ())
    for place, step in enumerate(steps, 1):
        yield hanging(f"{place}. ", step, indent=INDENT)


def _sure(v: Verdict) -> Iterator[RenderableType]:
    yield line(f"{v.confidence}" + (", because" if v.confidence_reasons else ""))
    yield from bullets(v.confidence_reasons)


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
