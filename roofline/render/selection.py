"""A selection for people: the answer, the kernels, and what to type next; terminal and Markdown."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from textwrap import fill

import msgspec
from rich.console import RenderableType
from rich.table import Column as Folded
from rich.text import Text

from roofline.render import job
from roofline.render.markdown import NAME, bullets, code, escaped, table
from roofline.render.table import BROAD, Cells, laid_out
from roofline.text import console, names, numbers
from roofline.text.console import NARROWEST, bullet, to_text
from roofline.text.notes import note_text
from roofline.text.numbers import plural
from roofline.timeline.model import (
    SCATTERED,
    Apart,
    Bounds,
    First,
    IdleGap,
    KernelShare,
    ProfileRequest,
    Selection,
    StepExcess,
    StepUse,
    TimelineDevice,
    Use,
    WhatIf,
    speedup_bound,
)
from roofline.timeline.operations import FAMILIES

_FILLED = 0.25  # of a gap: less is not worth naming what the host did
_WORTH = 0.05  # of the step: idle time for which a hypothesis is said
_HUGE = 10  # nobody is promised more
_OPERATOR = 24  # columns of the operator at most

_WORDS = msgspec.toml.decode(Path(__file__).with_suffix(".toml").read_bytes())
LEFT_OUT: dict[str, str] = _WORDS["left_out"]
FIRST: dict[str, str] = _WORDS["first"]
PARTS = {First(part): title for part, title in _WORDS["parts"].items()}
_SOME = 0.01  # of kernel time: grids smaller than the GPU that are worth a word
_NAMED = 40  # letters of a kernel's name within a line
_ALIKE = 1.05  # times the median: a longest step that is no longer needs no word
_Columns = list[Cells[KernelShare]]
WHERE = ("where the step goes", "-a step", "-share", "detail")
_SMALL = " *"  # marks a grid of fewer blocks than the GPU has SMs
_LEAST_FLOP_PER_S = 1e11  # slower work is not worth a line


def render(selection: Selection, *, width: int = 120, color: bool = False) -> str:
    """``selection`` as text, at most ``width`` columns wide."""
    width = max(width, NARROWEST)
    below = console.section("Notes:", map(bullet, notes(selection)))
    return (
        to_text(_parts(selection, width), width=width, color=color)
        + _commands(selection, width)
        + to_text(below, width=width, color=color)
    )


def markdown(selection: Selection) -> str:
    """``selection`` as Markdown for GitHub: kernels, numbers and commands only."""
    device = selection.selected
    lines = [f"{escaped(line)}  " for line in head(selection)]
    if device.judged is not None:
        parts = ([escaped(cell) for cell in row] for row in where(selection))
        lines += ["", *table(titles(selection), parts)]
    if chosen := selection.chosen:
        columns = [c for part in _columns(selection) for c in part]
        heads = ("-#", _ranked(selection), *("-" * c.right + c.title for c in columns))
        called = names.short_all((k.name for k in chosen), NAME)
        rows = (
            (str(rank), code(name), *(escaped(c.cell(k)) for c in columns))
            for rank, (k, name) in enumerate(zip(chosen, called, strict=True), 1)
        )
        lines += ["", f"**{_heading(selection)}**", "", *table(heads, rows)]
    if others := _others(selection):
        lines += ["", escaped(others)]
    for title, found in _sections(selection):
        if listed := bullets(found):
            lines += ["", f"**{title}**", *listed]
    rank = job_rank(selection)
    for request in selection.requests if _worth_profiling(selection) else ():
        typed = command(request, rank)
        lines += ["", f"{escaped(launches(request))}:", "", "```sh", typed, "```"]
    lines += bullets(notes(selection))
    return "\n".join(lines) + "\n"


def _parts(selection: Selection, width: int) -> Iterator[RenderableType]:
    device = selection.selected
    for i, line in enumerate(head(selection)):
        yield Text(line, style="bold" if i < 2 else "")
    if len(selection.devices) > 1:
        listed = (f"{d.index}: {_spent(d)}" for d in selection.devices)
        yield from console.section("Devices (never added up):", map(bullet, listed))
    if device.judged is not None:
        made = console.table(*titles(selection)[:-1], Folded(overflow="fold"))
        for row in where(selection):
            made.add_row(*row)
        yield from (Text(), made)
    hypotheses_, ranks, *below = _sections(selection)
    for title, found in (hypotheses_, ranks):
        yield from console.section(f"{title}:", map(bullet, found))
    yield from _kernels(selection, width)
    for title, found in below:
        yield from console.section(f"{title}:", map(bullet, found))


def _kernels(selection: Selection, width: int) -> Iterator[RenderableType]:
    others = _others(selection)
    if selection.chosen or others:
        yield Text()
    if selection.chosen:
        yield Text(_heading(selection), style="bold")
        yield from _table(selection, width)
    if others:
        yield Text(others, style="dim")
    if selection.chosen and selection.selected.use is not None:
        yield Text(_WORDS["legend"], style="dim")


def _heading(selection: Selection) -> str:
    each = "a step" if selection.steps == "ranges" else "in all"
    later = "" if _worth_profiling(selection) else ", for later"
    return f"{_ranked(selection).capitalize()}s, {each}{later}"


def _ranked(selection: Selection) -> str:
    """What the rows are, in one word."""
    return str(_WORDS["ranked"].get(selection.asked.source, "kernel"))


def _sections(selection: Selection) -> Iterator[tuple[str, Iterable[str]]]:
    """Titles and their lists: what may be the reason and who is waited for, then the rest."""
    device = selection.selected
    yield "Hypotheses, and what would confirm them", hypotheses(device)
    yield "Ranks", () if selection.job is None else job.lines(selection.job)
    yield "Useful operations, by the shapes of operators", useful(device)
    yield "Skipped (ncu cannot help)", _apart(selection)


def _table(selection: Selection, width: int) -> Iterator[Text]:
    """A line a kernel; where it is narrow what it is goes below it, dim."""
    chosen, gap = selection.chosen, 2 if width >= NARROWEST else 1
    what, figures = _columns(selection)
    rank: Cells[KernelShare] = Cells("#", lambda k: str(chosen.index(k) + 1), right=True)
    wide = width >= BROAD
    fixed = sum(c.letters(chosen) + gap for c in (rank, *(what if wide else ()), *figures))
    called = names.short_all((k.name for k in chosen), max(width - fixed, 12))
    kernel: Cells[KernelShare] = Cells(_ranked(selection), lambda k: called[chosen.index(k)])

    def below(share: KernelShare) -> str:
        cells = (c.cell(share) for c in what)
        return ", ".join(cell for cell in cells if cell != numbers.ABSENT)

    columns = [rank, kernel, *(what if wide else ()), *figures]
    yield from laid_out(columns, chosen, gap, width, None if wide or not what else below)


def _columns(selection: Selection) -> tuple[_Columns, _Columns]:
    """What a kernel is and where it is from; and its figures, in the order of ``analyze``."""
    device = selection.selected
    what: _Columns = [
        Cells("grid / block", _sizes),
        Cells("family", lambda k: k.family or numbers.ABSENT),
        Cells("from", _from),
    ]
    figures: _Columns = [
        Cells("launches", lambda k: _per_step(k, device)[0], right=True),
        Cells("time", lambda k: _per_step(k, device)[1], right=True),
        Cells("share", lambda k: numbers.share(k.kernel_share), right=True),
    ]
    if device.use is not None:
        figures += [
            Cells("exposed", lambda k: numbers.share(k.exposed_share), right=True),
            Cells("max step speedup", lambda k: speedups(k.speedup_at_most), True, _bright),
        ]
    told = [c for c in what if any(c.cell(k) != numbers.ABSENT for k in selection.chosen)]
    return told, figures


def _bright(_: KernelShare) -> str:
    return "bold green"


def _from(share: KernelShare) -> str:
    """The operator behind a kernel, unless it is what is ranked."""
    known = share.source is not None and share.source != share.name
    return names.middle(share.source or "", _OPERATOR) if known else numbers.ABSENT


def _sizes(share: KernelShare) -> str:
    if share.grid is None and share.block is None:
        return numbers.ABSENT
    sizes = f"{names.dims(share.grid)} / {names.dims(share.block)}"
    return sizes + _SMALL * ((share.sm_coverage or 1) < 1)


def _commands(selection: Selection, width: int) -> str:
    """Each command on one line, however long: it is there to be copied."""
    indent = "    "
    if selection.requests and not _worth_profiling(selection):
        return f"\n{fill(_WORDS['not_yet'], width)}\n"
    rank = job_rank(selection)
    lines = [
        f"  {command(request, rank)}\n"
        f"{fill(launches(request), width, initial_indent=indent, subsequent_indent=indent)}\n"
        for request in selection.requests
    ]
    inside = "" if rank is None else _WORDS["inside_launcher"]
    head = fill(f"Next, {inside}with your program's command line for PROGRAM:", width)
    return f"\n{head}\n{''.join(lines)}" if lines else ""


# --- lines


def head(selection: Selection) -> Iterator[str]:
    """The answer first: what to look at, the two bounds, how the time was spent."""
    device = selection.selected
    if selection.what_if is not None:
        yield from if_moved(selection.what_if, device.counted)
    gpu = device.device.name or "GPU"
    source = f"{names.printable(selection.file)}, {gpu} (device {device.index})"
    if selection.truncated:
        yield _WORDS["truncated"]
        yield f"{source}: shares are of the kernel time that was read."
        return
    if device.use is None:
        yield _WORDS["summary"]
        return
    if device.first is not None and device.judged is not None:
        yield _answer(device, device.first, device.judged)
        yield bounds(device.judged)
        if selection.job is not None:
            yield from job.latest(selection.job)
        if device.twice_saves is not None:
            low, high = (speedup(speedup_bound(saved)) for saved in device.twice_saves)
            ends = f"{low} (replay, host and order as they were) to {high} (Amdahl's law)"
            if low == high:
                ends = f"{low} (replay, host and order as they were, and Amdahl's law)"
            steps = device.counted
            whose = f"On average of {steps} steps, compute" if steps > 1 else "Compute"
            yield f"{whose} kernels twice as fast buy {ends}."
    yield f"{source}: {_steps(selection, device.use)}"
    yield from _remarks(device)


def warning(selection: Selection) -> tuple[str, ...]:
    """The first lines of ``head`` where no kernel comes first or events lack; else nothing."""
    if not selection.truncated and _worth_profiling(selection):
        return ()
    return tuple(islice(head(selection), 2))


def _answer(device: TimelineDevice, first: First, use: StepUse) -> str:
    """What to look at first, and the time that says so."""
    taken = numbers.duration(use.parts[first])
    part = f"of {numbers.duration(use.wall_s)} ({numbers.share(use.parts[first] / use.wall_s)})"
    what = f"{_WORDS['taken'][first]} for {taken} {part}"
    if device.host_paced:
        waits = numbers.duration(use.host_wait_s)
        what = (
            f"the CPU sets the pace. {what[0].upper()}{what[1:]}; the CPU waits for it for {waits}"
        )
    return f"{FIRST[first]}: {what}."


def bounds(use: Use) -> str:
    """What removing the gaps buys, kernels that buy as much, and what free kernels would buy."""
    text = f"Removing the gaps buys {_up_to(use.without_gaps_at_most)}"
    even = use.break_even()
    if use.idle_s and even is not None:
        text += f"; kernels would need {speedup(even)} to buy as much"
    text += f". Kernels that cost nothing buy {_up_to(use.without_kernels_at_most)}"
    if use.communication_s:
        text += f", compute kernels alone {speedup(use.without_compute_at_most)}"
    return f"{text}."


def _remarks(device: TimelineDevice) -> Iterator[str]:
    """Whether launches are what binds, and how long the gaps are."""
    idle_s = sum(band.total_s for band in device.gap_bands)
    if device.launch_bound:
        yield _WORDS["launch_bound"].format(
            share=numbers.share(device.launch_gap_share),
            causes=", ".join(c.title for c in device.idle if c.code in SCATTERED),
        )
    if idle_s:
        listed = (
            f"{numbers.share(band.total_s / idle_s)} {_WORDS['bands'][i]}"
            for i, band in enumerate(device.gap_bands)
            if band.total_s
        )
        number = numbers.plural(sum(band.gaps for band in device.gap_bands), "gap")
        number += f" of all {device.counted} steps" * (device.counted > 1)
        yield f"Idle time by length of {number}: {', '.join(listed)}."
    for name, excess in (("First step", device.cold), ("Slow steps", device.slow)):
        if excess is not None and device.spread and excess.more_s > _WORTH * device.spread.p50_s:
            number = f" ({len(excess.steps)} of {device.counted})" if name != "First step" else ""
            yield f"{name}{number} {_excess(excess)}"


def _excess(excess: StepExcess) -> str:
    """What steps have more of: the parts of the step, then kernels and gaps, and what is left."""
    least_s = _WORTH * excess.more_s
    titles = PARTS | {First.GAPS: "idle"}
    split = [f"{titles[p]} {_signed(s)}" for p, s in excess.split if abs(s) > least_s]
    short = names.short_all((n for _, n, _ in excess.parts), _NAMED)
    more = []
    rows = zip(excess.parts, short, excess.launches, strict=True)
    for (kind, name, s), brief, (typical, here, others) in rows:
        counts = [f"{typical:.4g} -> {here:.4g} launches"] if here != typical else []
        counts += [f"{others:.4g} not launched in it"] if others else []
        said = f" ({', '.join(counts)})" if counts else ""
        more.append(f"{kind} {name if kind == 'idle' else brief} {_signed(s)}{said}")
    left_s = excess.more_s - sum(s for _, _, s in excess.parts)
    if left_s > least_s:
        more.append(f"{numbers.duration(left_s)} in smaller ones or not explained")
    elif left_s < -least_s:
        more.append("which overlap, or take the place of others")
    return f"{_signed(excess.more_s)} ({', '.join(split)}): {', '.join(more)}."


def _signed(s: float) -> str:
    return f"{'-' if s < 0 else '+'}{numbers.duration(abs(s))}"


def if_moved(found: WhatIf, steps: int) -> Iterator[str]:
    """A step before and after the moves, what takes longer then, and what is first."""
    before, after = found.before, found.after
    low, high = found.speedup, found.at_most[1]
    of = f" on average of {steps}" if steps > 1 else ""
    end = "at most" if high is None or high >= low else "at worst"
    most = "without limit" if high is None else f"{end} {speedup(high)}"
    yield (
        f"If {', '.join(names.printable(m.text) for m in found.moves)}:{of} a step of "
        f"{numbers.duration(before.wall_s)} takes {numbers.duration(after.wall_s)} "
        f"({speedup(low)}) with host and order as they were, {most} by Amdahl's law."
    )
    parts = (*PARTS.items(), (First.GAPS, "idle"))
    changed = [
        f"{title} {numbers.duration(before.parts[part])} -> {numbers.duration(after.parts[part])}"
        for part, title in parts
        if before.parts[part] or after.parts[part]
    ]
    then = "" if found.first_after is None else f" {FIRST[found.first_after]} then."
    if after.idle_s and any(m.what == "gaps" for m in found.moves):
        then = f" {_WORDS['still_idle']}"
    yield f"{', '.join(changed)}.{then}"


def where(selection: Selection) -> Iterator[tuple[str, str, str, str]]:
    """The parts of the judged step, which add up to it: name, time, share and a remark."""
    device = selection.selected
    use = device.judged
    if use is None:
        return
    ran_s = {First.COMMUNICATION: use.communication_s, First.COPIES: use.copy_s}
    for part, title in PARTS.items():
        if all_s := ran_s.get(part, use.parts[part]):
            hidden = all_s > use.parts[part]
            beside = _WORDS["beside"].get(part)
            remark = f"of {numbers.duration(all_s)}; the rest {beside}" if hidden else ""
            if not hidden and use.parts[part] >= _WORTH * use.wall_s:
                remark = f"none of it {beside}"
            remark = _coverage(device) if part is First.KERNELS else remark
            yield title, *_amount(use.parts[part], use), remark
    for cause in device.idle:
        gap = cause.longest
        of = "" if cause.gaps == 1 else f"{cause.gaps:,} gaps, longest "
        remark = f"{of}{numbers.duration(gap.duration_s)}{_meanwhile(gap)}"
        yield f"idle: {names.printable(cause.title)}", *_amount(cause.total_s, use), remark
    yield "step" if selection.steps == "ranges" else "in all", *_amount(use.wall_s, use), ""


def titles(selection: Selection) -> tuple[str, ...]:
    """The titles of ``where``; of several steps which one it is."""
    device = selection.selected
    if selection.steps != "ranges":
        return ("where the time goes", "-time", *WHERE[2:])
    step, number = device.judged, len(device.steps)
    if step is None or number < 2:
        return WHERE
    name = names.middle(names.printable(step.name or ""), _NAMED)
    which = f"({name})" if name else f"of {number}"
    return (f"where step {step.number} {which} goes", *WHERE[1:])


def _amount(part_s: float, use: Use) -> tuple[str, str]:
    return numbers.duration(part_s), numbers.share(part_s / use.wall_s)


def _coverage(device: TimelineDevice) -> str:
    if device.sm_coverage is None or (device.small_grid_share or 0) < _SOME:
        return ""
    small = numbers.share(device.small_grid_share)
    marked = any(_sizes(k).endswith(_SMALL) for k in device.chosen)
    return (
        f"at most {numbers.share(device.sm_coverage)} of the SMs have a block: {small} of the time "
        f"is in grids smaller than the GPU{f' ({_SMALL.strip()})' if marked else ''}"
    )


def hypotheses(device: TimelineDevice) -> Iterator[str]:
    """For each large part that is exposed or idle what may be the reason, its test, a remedy."""
    found = [(c.share, asdict(c)) for c in device.idle if c.hypothesis]
    if (use := device.judged) is not None:
        told = _WORDS["exposed"].items()
        found += [
            (use.parts[First(p)] / use.wall_s, {"title": PARTS[First(p)]} | t) for p, t in told
        ]
    for share, said in sorted(found, key=lambda row: -row[0]):
        if share >= _WORTH:
            gain = _up_to(speedup_bound(share))
            yield _WORDS["hypothesis"].format(gain=gain, **said)


def _worth_profiling(selection: Selection) -> bool:
    return selection.selected.first in (None, First.KERNELS)


def _steps(selection: Selection, use: Use) -> str:
    """Which steps count and whether they are alike."""
    device, wall = selection.selected, numbers.duration(use.wall_s)
    if selection.steps == "window":
        return f"the window asked for, {wall}"
    if selection.steps == "recording":
        return f"the whole recording, {wall}"
    spread = device.spread
    typical_s = spread.p50_s if spread else use.wall_s / device.counted
    if spread is None or spread.max_s < _ALIKE * spread.p50_s:
        text = f"{plural(device.counted, 'step')} of {numbers.duration(typical_s)}"
    else:
        percentiles = {50: spread.p50_s, 95: spread.p95_s, 99: spread.p99_s}
        few = device.counted  # of so many steps a high percentile is the longest
        told = {f"p{p}": s for p, s in percentiles.items() if p * few <= 100 * (few - 1)}
        told["max"] = spread.max_s
        listed = (f"{name} {numbers.duration(s)}" for name, s in told.items())
        text = f"{plural(device.counted, 'step')}: {', '.join(listed)}"
    if spread is not None and device.judged is not None and device.judged.wall_s != spread.p50_s:
        text += f"; judged: step {device.judged.number}"
    left_out = [f"{s.number} ({LEFT_OUT[s.left_out]})" for s in device.steps if s.left_out]
    if left_out:
        text += f", left out: {names.few(left_out, 3)}"
    return text + ("; all launch the same kernels" if device.steady else "")


def _spent(device: TimelineDevice) -> str:
    """Unions as shares of the wall time; they overlap, so they do not add up to 100 %."""
    use = device.use
    if use is None:
        return f"kernels {numbers.duration(device.kernel_s)} in all"

    def part(amount_s: float) -> str:
        return numbers.share(amount_s / use.wall_s)

    parts = [f"kernels {part(use.kernel_s)}"]
    for name, ran_s, exposed_s in (
        ("communication", use.communication_s, use.exposed_communication_s),
        ("copies", use.copy_s, use.exposed_copy_s),
    ):
        if ran_s:
            parts.append(f"{name} {part(ran_s)} ({part(exposed_s)} exposed)")
    idle = f"idle {part(use.idle_s)}"
    if device.host_late_s is not None and use.idle_s:
        idle += f" ({numbers.share(device.host_late_s / use.idle_s)} of it before a late launch)"
    return f"Of the wall time: {', '.join([*parts, idle])}."


def _meanwhile(gap: IdleGap) -> str:
    """What the launching thread was in during a gap, from the outside in."""
    found = ((gap.inside, gap.inside_s), (gap.doing, gap.doing_s))
    named = [names.printable(name) for name, s in found if name and s > _FILLED * gap.duration_s]
    return f", in {' > '.join(named)}" if named else ""


def _apart(selection: Selection) -> Iterator[str]:
    """What ncu cannot help with, summed by reason, and the reason."""
    device = selection.selected
    use, several = device.use, device.counted > 1
    of = f"the time of all {device.counted} steps" if several else "the wall time"
    # Two copies at once leave the time to copies, though to neither of them alone.
    exposed_s = {}
    if use is not None:
        exposed_s = {"copy": use.exposed_copy_s, "communication": use.exposed_communication_s}
    for reason, why in _WORDS["apart"].items():
        if found := [k for k in device.apart if k.apart == reason]:
            noun = "kind" if reason == Apart.COPY else _ranked(selection)
            number = numbers.exact(sum(k.instances for k in found))
            share = sum(k.exposed_share or 0 for k in found)
            share = exposed_s[reason] / use.wall_s if use and reason in exposed_s else share
            exposed = f", exposed for {numbers.share(share)} of {of}" if use else ""
            yield f"{reason}: {plural(len(found), noun)}, {number} in all{exposed}; {why}"


def useful(device: TimelineDevice) -> Iterator[str]:
    """What operators asked for and got, by kind of work, before any counter is read."""
    for work in device.useful:
        if work.flop_per_s >= _LEAST_FLOP_PER_S:
            of, unknown = work.peak_share, work.kind_launches - work.launches
            peak = "" if of is None else f", {numbers.share(of)} of the peak"
            calls, time = plural(work.calls, "call"), numbers.duration(work.time_s)
            covered = f"{calls}, {time} of kernels"
            if unknown > 0:
                every = numbers.duration(work.kind_time_s)
                covered = (
                    f"{calls} with shapes made {work.launches:,} of {work.kind_launches:,} "
                    f"{FAMILIES[work.kind]} launches, {time} of {every}; the others are not in it"
                )
            speed = f"{work.flop_per_s / 1e12:.4g} TFLOP/s"
            yield f"{work.kind}: {speed}{peak} ({work.precision}); {covered}"


def _others(selection: Selection) -> str:
    """The kernels that could be chosen and were not."""
    device, noun = selection.selected, _ranked(selection)
    if not (others := [k for k in device.kernels if not k.chosen]):
        return ""
    total, wall = sum(k.kernel_share or 0 for k in others), device.use is not None
    most = max((k.exposed_share if wall else k.kernel_share) or 0 for k in others)
    share = numbers.share(most).removeprefix("<")
    more = f"exposed for more than {share} of the wall time" if wall else f"more than {share} of it"
    noun = f"more {noun}" if device.chosen else noun
    return f"{plural(len(others), noun)}: {numbers.share(total)} of kernel time, none {more}"


def notes(selection: Selection) -> Iterator[str]:
    """Every note once."""
    found = [*selection.notes, *(n for r in selection.requests for n in r.notes)]
    yield from dict.fromkeys(names.printable(note_text(n)) for n in found)


def launches(request: ProfileRequest) -> str:
    """Which launches a run meets, and how sure that is."""
    met = plural(request.launch_count, "launch") + " of each grid and block" * request.per_config
    basis = _WORDS["basis"][request.basis]
    return f"{plural(len(request.kernels), 'kernel')}, {met}; which launch: {basis}"


def job_rank(selection: Selection) -> int | None:
    """The rank whose kernels are ranked, if it waits for others: it is profiled in its launcher."""
    waits = any(k.apart == Apart.COMMUNICATION for k in selection.selected.apart)
    return selection.rank_of(selection.device) if waits else None


def command(request: ProfileRequest, rank: int | None = None) -> str:
    """What to type to profile ``request``, quoted for a shell."""
    words = [] if rank is None else ["--rank", str(rank)]
    words += [word for name in request.names for word in ("--kernel-name", name)]
    if request.name_base != "function":
        words += ["--name-base", request.name_base]
    if request.nvtx is not None:
        words += ["--nvtx", request.nvtx]
    if request.launch_skip:
        words += ["--launch-skip", str(request.launch_skip)]
    words += ["--launch-count", str(request.launch_count)]
    words += ["--per-config"] if request.per_config else []
    return shlex.join(["roofline", "profile", *words, "--", "PROGRAM"])


def speedups(at_most: Bounds) -> str:
    """The bound of one kernel, a range where it overlaps other work."""
    low, high = map(speedup, at_most)
    return low if low == high else f"{low} to {high}"


def speedup(bound: float | None) -> str:
    """A bound with two decimals: "1.19x"; all of the time gives "no limit"."""
    if bound is None:
        return "no limit"
    return f"{bound:.2f}x" if bound < _HUGE else f"over {_HUGE}x"


def _up_to(bound: float | None) -> str:
    """A bound within a sentence; "up to over 10x" would be none."""
    huge = bound is None or bound >= _HUGE
    return f"over {_HUGE}x" if huge else f"up to {speedup(bound)}"


def _per_step(share: KernelShare, device: TimelineDevice) -> tuple[str, str]:
    """Instances and time, a step where there are steps."""
    count = share.instances_per_step
    if count is None:
        return numbers.exact(share.instances), numbers.duration(share.total_s)
    text = numbers.exact(count) if count.is_integer() else f"{count:.1f}"
    return text, numbers.duration(share.total_s / max(device.counted, 1))
