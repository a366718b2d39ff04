"""A card about one kernel: the claim, why, what to try, what would refute it; then the evidence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from rich.console import RenderableType
from rich.text import Text

from roofline.model import (
    MATTERS,
    QUANTITIES,
    Bound,
    Cause,
    Details,
    Group,
    Kind,
    Measurement,
    Result,
    UnitUse,
    Verdict,
)
from roofline.text import console, instructions, names, numbers
from roofline.text import verdict as said
from roofline.text.console import NARROWEST, bullet, grid, indented, lines
from roofline.text.notes import noted
from roofline.text.outlook import leave
from roofline.units import ELAPSED, FEW_FP64, LEVELS, PARTS, beside, relieved_with
from roofline.view import missing_of

_SIGNATURE = 400  # letters of a C++ signature; CUTLASS has signatures of 5,000
_BAR = 10
_STALLS = 6
_SHORT, _SHOWN = 3, 5  # lines of a card, and what stands in a line
_IDLE = 0.1  # units less busy than this are listed in one line
_WARP, _FEW = 32, 0.9


def render(
    group: Group,
    *,
    rank: int = 1,
    everything: bool = False,
    others: Sequence[Group] = (),
    details: Details | None = None,
    width: int = 120,
    color: bool = False,
) -> str:
    """A card about ``group``, the ``rank``-th; with ``everything`` all numbers and their origin.

    ``others`` are kernels that the same words meant too; ``details`` are those of its longest
    launch.
    """
    result, found = group.result, details or Details(index=0)
    v, m = result.verdict, result.measurement
    parts = [*_title(group), Text(), _headline(v)]
    parts += _lines(_card(result, found, everything=everything))
    sections: tuple[tuple[str, Iterable[RenderableType]], ...] = (
        ("Rule", lines(_rule(v, m))),
        (f"Utilisation in % of peak ({ELAPSED})", _units(m)),
        ("Numbers", _numbers(m)),
        ("Counts and ratios", _counts(m)),
        ("Peaks", _peaks(result)),
        ("Stalled warps", _stalls(m)),
        ("Executed instructions", lines(_executed(found))),
        ("Instructions", _instructions(found) if details else ()),
        ("Accesses that move more than they need", map(bullet, instructions.waste(found))),
        ("What NVIDIA's rules say", map(bullet, instructions.rules(found.rules))),
        (
            "Not measured",
            (
                bullet(f"{names.quantity(missing.quantity)}: collect with {missing.flag}")
                for missing in missing_of(result)
            ),
        ),
    )
    if not everything:
        parts += [Text(), *_lines(_evidence(result, found))]
        sections = ()
    for title, body in (
        *sections,
        ("Notes", map(bullet, noted(m.notes))),
        ("Matching kernels too", map(bullet, map(_other, others))),
    ):
        parts += console.section(title, body)
    if not everything:
        more = f"Every number with its metric: --explain {rank} --all"
        parts += [Text(), Text(more, style="dim")]
    return console.to_text(parts, width=max(width, NARROWEST), color=color)


def _title(group: Group) -> Iterator[RenderableType]:
    m, several = group.result.measurement, len(group.launches) > 1
    signature = names.printable(m.demangled or m.name)
    yield Text(names.middle(signature, _SIGNATURE), style="bold")
    if m.kind is Kind.FIGURES:
        yield Text(f"{numbers.duration(group.total_s)} as stated, on {m.device.name}")
        return
    sizes = names.geometry(m) if m.grid is None else f"grid {names.dims(m.grid)}"
    blocks = "" if m.block is None else f", block {names.dims(m.block)}"
    told = [f"{sizes}{blocks}", numbers.plural(len(group.launches), "launch")]
    if group.total_s is not None:
        ends = f" ({numbers.duration(group.min_s)} to {numbers.duration(group.max_s)} each)"
        told.append(f"{numbers.duration(group.total_s)}{ends if several else ''} under ncu")
    if group.share is not None:
        told.append(f"{numbers.share(group.share)} of the time profiled")
    told.append(f"on {m.device.name or 'unknown GPU'}")
    yield Text(", ".join(filter(None, told)))
    if m.nvtx:
        yield Text(f"in NVTX range {names.printable(' > '.join(m.nvtx))}")
    if several:
        counts = ", ".join(f"{bound} {count}" for bound, count in group.bounds.items())
        yield Text(f"Numbers below are sums over the launches. Judged one by one: {counts}")


def _headline(v: Verdict) -> Text:
    """The claim: what limits, how busy it is, how sure that is."""
    name, at = names.the_unit(v.nearest), numbers.percent(v.limiter_percent)
    if v.bound is Bound.LATENCY:
        text = f": no unit is near its peak, the busiest is {name} at {at}"
        if v.two_roofs:
            text = f"limited by {said.NEITHER}, of which {name} is at {at}"
            return Text(f"{text} (confidence {v.confidence})", style="bold")
    elif v.bound is Bound.UNKNOWN:
        text = ": not enough was measured to say what limits it"
        text = ": the figures cannot be true" if v.cause == "above_peak" else text
    else:
        text = f": {name} limit{'' if name.endswith('s') else 's'} it, {at} busy"
    text += ", co-limited" if v.co_limited else ""
    return console.bound(v.bound) + Text(f"{text} (confidence {v.confidence})", style="bold")


def _lines(said: Iterable[tuple[str, str]]) -> Iterator[RenderableType]:
    """A word before each text, once where several follow it."""
    before = ""
    for word, text in said:
        if not text:
            continue
        yield console.hanging(f"{word if word != before else '':<9} ", text, indent=console.INDENT)
        before = word


def _card(result: Result, found: Details, *, everything: bool) -> Iterator[tuple[str, str]]:
    """What a colleague would write: why, what to try, what that gives, what would refute it."""
    v = result.verdict
    causes = [
        said.keeps(v, one) + said.cause_text(result, one) + _gives(v, one) for one in v.causes
    ]
    left = leave(result)
    whys = [left, *(causes or [said.cause(result) or ("" if left else said.why(result))])]
    whys += [said.context(result) or ""]
    if found.sampled:
        whys += list(instructions.blame(found))[: None if everything else 1]
    steps = said.try_first(result) or (said.step(result),)
    listed = {
        "why": whys,
        "try": steps if everything else steps[:_SHORT],
        "gain": said.bounds(result).split("; "),
        "wrong if": [said.refute(result)],
        "not": said.avoid(result),
        "doubts": said.confidence_reasons(result) if v.bound is not Bound.UNKNOWN else (),
    }
    for word, texts in listed.items():
        yield from ((word, names.printable(text)) for text in dict.fromkeys(texts))


def _gives(v: Verdict, one: Cause) -> str:
    if not one.gain or one.promise not in ("waste", "occupancy", "idle"):
        return ""
    alone = "alone " if one.gain < MATTERS or v.gain_by == "unbounded" else ""
    return f" ({alone}{said.up_to(one.gain)})"


def _evidence(result: Result, found: Details) -> Iterator[tuple[str, str]]:
    """The numbers that a reader looks for first, a line each."""
    m = result.measurement
    busy = sorted(m.units, key=lambda use: -use.percent)[:_SHOWN]
    bars = (
        f"{names.unit(u.unit)} {console.bar(u.percent, 8).rstrip()} {numbers.percent(u.percent)}"
        for u in busy
    )
    yield "Units", "   ".join(console.KEPT.join(bar.split()) for bar in bars)
    limiter = _nearest(result.verdict, m) if result.verdict.limiter else None
    yield "Units", "; ".join(() if limiter is None else _alike(limiter, m))
    yield "Traffic", "; ".join(_traffic(result))
    yield "Launch", "; ".join(_launch(m))
    waits = (f"{names.words(s.reason)} {numbers.percent(100 * s.share)}" for s in m.stalls)
    yield "Stalls", "; ".join((", ".join(islice(waits, _SHOWN)), *_schedulers(m))).strip("; ")
    yield "Executed", _executed(found)
    for rule in islice(instructions.rules(found.rules), _SHORT):
        yield "NVIDIA", rule
    yield "Lacking", ", ".join(names.quantity(gap.quantity) for gap in missing_of(result))


def _traffic(result: Result) -> Iterator[str]:
    """Bytes and operations, and how near their peaks they are."""
    m, v, peak = result.measurement, result.verdict, result.peaks.report.dram_bytes_per_s
    if m.dram_bytes is not None:
        of = f" of {numbers.bandwidth(peak)}" if peak else ""
        read = "" if m.dram_read_bytes is None else f" ({numbers.size(m.dram_read_bytes)} read)"
        at = numbers.bandwidth(m.dram_bytes_per_s)
        yield f"{numbers.size(m.dram_bytes)} DRAM{read}, {at}{of}"
    if m.l2_bytes is not None:
        yield f"{numbers.size(m.l2_bytes)} L2"
    hits = {level: m.ratios.get(f"{level}_hit_percent") for level in ("l1", "l2")}
    shown = [
        f"{names.unit(x)} {numbers.percent(hit)}" for x, hit in hits.items() if hit is not None
    ]
    if shown:
        yield f"hits {', '.join(shown)}"
    for key, count in m.operations.items():
        if count:
            did = f"{numbers.si(count, names.operation_unit(key))} {names.operation(key)}"
            rate = m.operation_rates().get(key)
            at = f", {numbers.rate(rate, names.operation_unit(key))}" if rate else ""
            reached = v.roof_percent.get(key)
            yield did + at + (f" ({numbers.percent(reached)} of the roof)" if reached else "")
    if integers := m.integers_per_s():
        yield f"integers {numbers.rate(integers, 'OP')}"
    if m.operations and not any(m.operations.values()) and not m.unmeasured:
        yield "no floating-point operations"
    yield from (f"{names.operation(key)} operations ran, not counted" for key in m.unmeasured)
    if m.arithmetic_intensity:
        sides = {"memory": ", left of the ridge", "compute": ", right of the ridge"}
        unit = names.operation_unit(v.dominant)
        side = sides.get(v.ridge_side or "", "")
        at = (
            f", {numbers.percent(v.ceiling_percent)} of the roof there" if v.ceiling_percent else ""
        )
        yield f"AI {numbers.plain(m.arithmetic_intensity)} {unit}/B{side}{at}"


def _launch(m: Measurement) -> Iterator[str]:
    """How it filled the GPU."""
    if m.waves is not None:
        yield f"{numbers.waves(m.waves)} waves"
    if m.occupancy_percent is not None:
        by = f", limited by {names.words(m.occupancy_limiter)}" if m.occupancy_limiter else ""
        most = numbers.percent(m.theoretical_occupancy_percent)
        yield f"occupancy {numbers.percent(m.occupancy_percent)} of {most}{by}"
    if m.registers_per_thread is not None:
        yield f"{numbers.exact(m.registers_per_thread)} registers"
    if m.shared_memory_bytes:
        yield f"{numbers.size(m.shared_memory_bytes)} shared memory a block"
    if m.sm_active_percent is not None:
        yield f"SMs active {numbers.percent(m.sm_active_percent)}"
    lanes = m.ratios.get("lanes", _WARP)
    on = m.ratios.get("lanes_on", lanes)
    if on < _FEW * _WARP:  # idle, or switched off by predicates
        before = f" ({numbers.plain(lanes)} without predicates)" if lanes >= _FEW * _WARP else ""
        yield f"{numbers.plain(on)} of {_WARP} lanes work{before}"


def _schedulers(m: Measurement) -> Iterator[str]:
    """How often warps issue, and how many could."""
    every, ready, warps = map(m.ratios.get, ("issue_cycles", "eligible_warps", "scheduler_warps"))
    if every is not None:
        yield f"a warp issues every {numbers.plain(every)} cycles"
    if ready is not None and warps is not None:
        yield f"{numbers.plain(ready)} of {numbers.plain(warps)} warps a scheduler are ready"


def _executed(found: Details) -> str:
    return ", ".join(
        f"{names.printable(code)} {numbers.percent(100 * part)}"
        for code, part in found.executed.items()
    )


def _rule(v: Verdict, m: Measurement) -> str:
    """How the thresholds lead from the percentages to the word."""
    nearest = _nearest(v, m)
    busiest = "The unit that is nearest to full decides"
    if nearest is None:
        return f"{busiest}. No unit's utilisation was measured, so nothing is claimed."
    busiest += f": {_at(nearest)}"
    least = v.evidence.get("threshold", v.rule.latency)
    by = "--latency-threshold" if least == v.rule.latency else "for FP64 where there is almost none"
    if v.bound is Bound.LATENCY:
        other = f"{said.OTHERS}, which only a profile tells" if v.two_roofs else "latency"
        return f"{busiest} is under {least:g} % ({by}): {other}."
    if v.bound is Bound.UNKNOWN:
        return f"{busiest}. Not enough was measured to say more, so nothing is claimed."
    others = _others(nearest, m)
    text = f"{busiest}, not under {least:g} % ({by}), is {nearest.family}."
    text += "".join(f" {one}." for one in _alike(nearest, m))
    rival = next(iter(others), None)
    if rival is None:
        return f"{text} No other unit was measured."
    near = "within" if v.co_limited else "not within"
    text += f" The next, {_at(rival)}, is {near} {v.rule.balance:g} points of it (--balance)."
    following = next((use for use in others if use.unit == v.next_limiter), rival)
    passed = [use for use in others[: others.index(following)] if relieved_with(nearest, use)]
    if passed:
        less = f"Less work for {names.the_unit(nearest.unit)}"
        relieved = " and ".join(names.the_unit(use.unit) for use in passed)
        text += f" {less} relieves {relieved} as well, so {_at(following)} would limit next."
    return text


def _nearest(v: Verdict, m: Measurement) -> UnitUse | None:
    return next((use for use in m.units if use.unit == v.nearest), None)


def _others(nearest: UnitUse, m: Measurement) -> list[UnitUse]:
    """The units that can be a second limiter."""
    return beside(nearest, m.units, few_fp64=m.device.compute_capability in FEW_FP64)


def _alike(nearest: UnitUse, m: Measurement) -> Iterator[str]:
    """Units busier than all that can be a second limiter, and why they are none."""
    others = _others(nearest, m)
    most = others[0].near if others else 0.0
    for use in m.units:
        if use.unit != nearest.unit and use not in others and use.near > most:
            of = names.the_unit(nearest.unit)
            yield f"{_at(use)} is no second unit: it counts the same work as {of}"


def _at(use: UnitUse) -> str:
    part = "" if use.part is None else f" ({PARTS[use.part]})"
    at = f"{names.unit(use.unit)}{part} at {numbers.percent(use.percent, places=1)}"
    if use.full_at == 100.0:
        return at
    return f"{at}, {numbers.percent(use.near)} of the {use.full_at:g} % at which it is full"


def _other(group: Group) -> str:
    m = group.result.measurement
    name = names.short(m.demangled or m.name, 70)
    return f"{name}  {names.geometry(m)}  {numbers.duration(group.total_s)}"


# --- evidence ---------------------------------------------------------------------------------


def _units(m: Measurement) -> Iterator[RenderableType]:
    """How busy each unit was, and by which metric."""
    table = grid(5)
    ranked = sorted(m.units, key=lambda use: use.percent, reverse=True)
    for use in (u for u in ranked if u.percent >= _IDLE):
        table.add_row(
            names.unit(use.unit),
            Text(console.bar(use.percent, _BAR), style="cyan"),
            Text(numbers.percent(use.percent, places=1), justify="right"),
            str(use.family),
            _dim(use.metric.removesuffix(ELAPSED)),
        )
    if table.row_count:
        yield indented(table)
    idle = ", ".join(names.unit(u.unit) for u in ranked if u.percent < _IDLE)
    yield from lines(idle and f"under {_IDLE} %: {idle}")


def _numbers(m: Measurement) -> Iterator[RenderableType]:
    """Every quantity that was measured, and how it was read."""
    table = grid(3)

    def add(label: str, value: str, *origins: str) -> None:
        found = (m.provenance[key] for key in origins if key in m.provenance)
        table.add_row(label, value, _dim(next(found, "")))

    for name, quantity in QUANTITIES.items():
        value = getattr(m, name, None)
        if value is not None and name not in ("total_operations", "operations_per_s"):
            add(quantity.label, numbers.amount(value, quantity.unit), quantity.origin)
    for key, count in m.operations.items():
        kept = f" into {m.accumulate[key].upper()}" if key in m.accumulate else ""
        general = "operations.tensor" if key.startswith("tensor") else ""
        label = f"{names.operation(key)} operations{kept}"
        add(label, numbers.exact(count), f"operations.{key}", general)
    for ran in m.unmeasured:
        add(f"{names.operation(ran)} operations", "ran, not counted")
    if m.occupancy_limiter:
        limiter = "occupancy_limiter"
        add(names.quantity(limiter), names.words(m.occupancy_limiter), limiter)
    if table.row_count:
        yield indented(table)


def _counts(m: Measurement) -> Iterator[RenderableType]:
    """What causes are judged by, and what else tells how instructions and memory were used."""
    table = grid(2)
    for name, value in (*m.counts.items(), *m.ratios.items()):
        percents, counted = name.endswith("_percent"), name in m.counts
        form = numbers.percent if percents else numbers.exact if counted else numbers.plain
        if value:
            label = names.words(name.removesuffix("_percent"))
            table.add_row(label, Text(form(value), justify="right"))
    if table.row_count:
        yield indented(table)
    none = ", ".join(names.words(name) for name, count in m.counts.items() if not count)
    yield from lines(none and f"none: {none}")


def _peaks(result: Result) -> Iterator[RenderableType]:
    """The peaks of each kind, where they come from, and how much of them was reached."""
    m, v, kinds = result.measurement, result.verdict, result.peaks.of_kind()
    how = result.peaks.report.how
    table = grid(len(kinds) + 3)
    heads = ("", *(p.kind for p in kinds), "reached", "the report's comes from")
    table.add_row(*(Text(head, style="bold") for head in heads))
    for level in LEVELS:
        name = f"{level}_bytes_per_s"
        values = [getattr(p, name) for p in kinds]
        if any(value is not None for value in values):
            reached = numbers.bandwidth(getattr(m, name, None))
            shown = map(numbers.bandwidth, values)
            table.add_row(names.quantity(name), *shown, reached, _dim(how.get(level, "")))
    for key in m.operations:
        values = [p.operations_per_s.get(key) for p in kinds]
        if any(value is not None for value in values):
            rates = (numbers.rate(value, names.operation_unit(key)) for value in values)
            reached = numbers.percent(v.roof_percent.get(key))
            table.add_row(names.operation(key), *rates, reached, _dim(how.get(key, "")))
    if table.row_count > 1:
        yield indented(table)
    for peaks in kinds:
        yield bullet(f"{peaks.kind}: {peaks.source}")
    if v.ridge is not None and v.dominant:
        side = f"; this kernel is on the {v.ridge_side} side" if v.ridge_side else ""
        ridge = f"{numbers.plain(v.ridge)} {names.operation_unit(v.dominant)}/B"
        yield bullet(f"ridge for {names.operation(v.dominant)}: {ridge}{side}")
    if v.ceiling_percent is not None:
        ceiling = numbers.rate(v.ceiling_operations_per_s, names.operation_unit(v.dominant))
        reached = numbers.percent(v.ceiling_percent)
        yield bullet(f"roof at its intensity: {ceiling}, of which {reached} was reached")


def _stalls(m: Measurement) -> Iterator[RenderableType]:
    """What warps waited for, as shares of all that they waited."""
    table = grid(2)
    for stall in m.stalls[:_STALLS]:
        table.add_row(names.words(stall.reason), Text(numbers.share(stall.share), justify="right"))
    if table.row_count:
        yield indented(table)


def _instructions(details: Details) -> Iterator[RenderableType]:
    """The instructions with most samples: share, what they wait for, code, place in the source."""
    yield from lines(*instructions.blame(details))
    table = grid(4)
    for one in details.sampled:
        source = f"\n{names.printable(one.source)}" if one.source else ""
        table.add_row(
            Text(numbers.share(one.share), justify="right"),
            names.words(one.reason or ""),
            _dim(instructions.place(one)),
            Text(names.printable(one.sass or f"{one.address:#x}")) + _dim(source),
        )
    if table.row_count:
        yield indented(table)


def _dim(text: str) -> Text:
    return Text("\n".join(map(names.printable, text.split("\n"))), style="dim")
