"""A selection for people: the answer, the kernels, and what to type next; terminal and Markdown."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from itertools import islice
from textwrap import fill

from rich.console import RenderableType
from rich.table import Column, Table
from rich.text import Text

from roofline.render import job
from roofline.render.markdown import NAME, bullets, code, escaped, table
from roofline.text import console, names, numbers
from roofline.text.console import NARROWEST, bullet, to_text
from roofline.text.notes import note_text
from roofline.text.numbers import plural
from roofline.timeline.model import (
    Apart,
    Basis,
    Bounds,
    First,
    IdleGap,
    KernelShare,
    LeftOut,
    ProfileRequest,
    Selection,
    TimelineDevice,
    Use,
)

_FILLED = 0.25  # of a gap: less is not worth naming what the host did
_WAITED = 0.1  # of a gap: a launch that was done by then left the rest to the GPU
_GAPS = 3
_HUGE = 1000  # a bound beyond it says no more than that there is next to no limit
_NARROW = 100  # columns: below that, grid and block go under the name
_FIGURES = 60  # columns that the figures take
_SIZES = 18  # and that grid and block take

LEFT_OUT: dict[LeftOut, str] = {
    "first": "first: warm-up",
    "last": "last: holds the profiler's end",
    "not_asked": "not asked for",
}
_FIRST = {
    First.GAPS: "Gaps come first: no kernel is your main problem.",
    First.KERNELS: "Kernels come first.",
    First.COMMUNICATION: "Communication comes first: no kernel is your main problem.",
    First.COPIES: "Copies come first: no kernel is your main problem.",
}
_WHY_APART = {
    Apart.COMMUNICATION: "it waits for other GPUs, and ncu would make them wait for it",
    Apart.COPY: "there is no kernel in it",
    Apart.SHORT: "under 2 µs a launch, mostly the cost of launching",
}
_BASIS = {
    Basis.COUNTED: "counted from the start of the process",
    Basis.RANGE: "inside the NVTX range of one step",
    Basis.ESTIMATED: "estimated, see notes",
    Basis.UNKNOWN: "the first of each grid and block",
}
_SKIPPED = "Skipped (ncu cannot help)"
_LARGEST = "Largest gaps"


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
    if selection.chosen:
        titles = [f"-{' '.join(title.split())}" for title in _titles(selection)]
        rows = (
            (rank, code(name), sizes, *figures)
            for rank, name, sizes, figures in _rows(selection, NAME)
        )
        lines += ["", *table(("-#", "kernel", "grid / block", *titles), rows)]
    if others := _others(device):
        lines += ["", escaped(others)]
    ranks = () if selection.job is None else job.lines(selection.job)
    listing = ("Ranks", ranks), (_SKIPPED, _apart(device)), (_LARGEST, gaps(device))
    for title, found in listing:
        if listed := bullets(found):
            lines += ["", f"**{title}**", *listed]
    for request in selection.requests:
        lines += ["", f"{escaped(launches(request))}:", "", "```sh", command(request), "```"]
    lines += bullets(notes(selection))
    return "\n".join(lines) + "\n"


def _parts(selection: Selection, width: int) -> Iterator[RenderableType]:
    device = selection.selected
    for i, line in enumerate(head(selection)):
        yield Text(line, style="bold" if i < 2 else "")
    if len(selection.devices) > 1:
        listed = (f"{d.index}: {_spent(d)}" for d in selection.devices)
        yield from console.section("Devices (never added up):", map(bullet, listed))
    if selection.job is not None:
        yield from console.section("Ranks:", map(bullet, job.lines(selection.job)))
    yield Text()
    if selection.chosen:
        yield _table(selection, width)
    if others := _others(device):
        yield Text(others, style="dim")
    for title, found in ((_SKIPPED, _apart(device)), (_LARGEST, gaps(device))):
        yield from console.section(f"{title}:", map(bullet, found))


def _table(selection: Selection, width: int) -> Table:
    wide = width >= _NARROW
    figures = (Column(t, justify="right", no_wrap=True) for t in _titles(selection))
    names_ = ("+kernel", "+grid / block") if wide else ("+kernel\ngrid / block",)
    made = console.table("-#", *names_, *figures)
    room = max(width - _FIGURES - (_SIZES if wide else 0), 20)
    for rank, name, sizes, cells in _rows(selection, room):
        made.add_row(rank, *([name, sizes] if wide else [f"{name}\n{sizes}"]), *cells)
    return made


def _titles(selection: Selection) -> Iterator[str]:
    each = "a step" if selection.steps == "ranges" else "in all"
    yield from (f"launches\n{each}", f"time\n{each}", "of kernel\ntime")
    if selection.selected.use is not None:
        yield from ("exposed\nof wall", "max step\nspeedup")


def _rows(selection: Selection, room: int) -> Iterator[tuple[str, str, str, list[str]]]:
    """Rank, name in ``room`` columns, grid and block, and the figures of each chosen kernel."""
    device, chosen = selection.selected, selection.chosen
    shown = zip(chosen, names.short_all((k.name for k in chosen), room), strict=True)
    for rank, (share, name) in enumerate(shown, 1):
        figures = [*_per_step(share, device), numbers.share(share.kernel_share)]
        if device.use is not None:
            gain = speedups(share.speedup_at_most)
            figures += [numbers.share(share.exposed_share), gain]
        yield str(rank), name, f"{names.dims(share.grid)} / {names.dims(share.block)}", figures


def _commands(selection: Selection, width: int) -> str:
    """Each command on one line, however long: it is there to be copied."""
    indent = "    "
    lines = [
        f"  {command(request)}\n"
        f"{fill(launches(request), width, initial_indent=indent, subsequent_indent=indent)}\n"
        for request in selection.requests
    ]
    head = "\nNext, with your program's command line for PROGRAM:\n"
    return head + "".join(lines) if lines else ""


# --- lines


def head(selection: Selection) -> Iterator[str]:
    """The answer first: what to look at, the two bounds, how the time was spent."""
    device = selection.selected
    gpu = device.device.name or "GPU"
    source = f"{names.printable(selection.file)}, {gpu} (device {device.index})"
    if selection.truncated:
        yield "The trace ends in the middle: what it lacks is not known, so there are no bounds."
        yield f"{source}: shares are of the kernel time that was read."
        return
    if device.use is None:
        yield "A summary: shares of kernel time; no wall time, so no bounds."
        return
    if device.first is not None:
        yield _FIRST[device.first]
    yield bounds(device.use)
    yield f"{source}: {_steps(selection, device.use)}"
    yield _spent(device)


def warning(selection: Selection) -> tuple[str, ...]:
    """The first lines of ``head`` where no kernel comes first or events lack; else nothing."""
    if not selection.truncated and selection.selected.first in (None, First.KERNELS):
        return ()
    return tuple(islice(head(selection), 2))


def bounds(use: Use) -> str:
    """The two bounds by name: they are different numbers. And which kernels the second is of."""
    kernels = f"making all kernels free at most {speedup(use.without_kernels_at_most)}"
    if use.communication_s:
        kernels += f", all but communication {speedup(use.without_compute_at_most)}"
    return f"Removing all gaps buys at most {speedup(use.without_gaps_at_most)}; {kernels}."


def _steps(selection: Selection, use: Use) -> str:
    """Which steps count and whether they are alike."""
    device, wall = selection.selected, numbers.duration(use.wall_s)
    if selection.steps == "window":
        return f"the window asked for, {wall}"
    if selection.steps == "recording":
        return f"the whole recording, {wall}"
    text = f"{plural(device.counted, 'step')} of {numbers.duration(use.wall_s / device.counted)}"
    left_out = [f"{s.number} ({LEFT_OUT[s.left_out]})" for s in device.steps if s.left_out]
    if left_out:
        more = f" and {len(left_out) - 3} more" if len(left_out) > 3 else ""
        text += f", left out: {', '.join(left_out[:3])}{more}"
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


def gaps(device: TimelineDevice) -> Iterator[str]:
    """The largest gaps and what the launching thread did meanwhile."""
    for gap in device.gaps[:_GAPS]:
        at = numbers.duration(gap.start_s)
        yield f"{numbers.duration(gap.duration_s)} at {at}: {_meanwhile(gap)}"


def _meanwhile(gap: IdleGap) -> str:
    if gap.host_late_s is None:
        return "no work follows whose launch is known"
    late = gap.host_late_s / gap.duration_s
    if late < _WAITED:
        return "the next work had been launched and waited"
    where = "busy outside CUDA (Python, data loading)"
    if gap.doing is not None and gap.doing_s > _FILLED * gap.duration_s:
        where = f"in {gap.doing} for {numbers.share(gap.doing_s / gap.duration_s)} of it"
    return f"CPU was late ({numbers.share(late)} of the gap): {where}"


def _apart(device: TimelineDevice) -> Iterator[str]:
    """What ncu cannot help with, summed by reason, and the reason."""
    for reason, why in _WHY_APART.items():
        if found := [k for k in device.apart if k.apart is reason]:
            noun = "kind" if reason is Apart.COPY else "kernel"
            number = numbers.exact(sum(k.instances for k in found))
            exposed = _exposed(reason, found, device.use)
            yield f"{reason}: {plural(len(found), noun)}, {number} in all{exposed}; {why}"


def _exposed(reason: Apart, found: Sequence[KernelShare], use: Use | None) -> str:
    if use is None:
        return ""
    # Two copies at once leave the time to copies, though to neither of them alone.
    share = {
        Apart.COPY: use.exposed_copy_s / use.wall_s,
        Apart.COMMUNICATION: use.exposed_communication_s / use.wall_s,
        Apart.SHORT: sum(k.exposed_share or 0 for k in found),
    }[reason]
    return f", exposed for {numbers.share(share)} of the wall time"


def _others(device: TimelineDevice) -> str:
    """The kernels that could be chosen and were not."""
    others = [k for k in device.kernels if not k.chosen]
    if not others:
        return ""
    total = sum(k.kernel_share or 0 for k in others)
    listed = f"{plural(len(others), 'more kernel')}: {numbers.share(total)} of kernel time"
    wall = device.use is not None
    most = max((k.exposed_share if wall else k.kernel_share) or 0 for k in others)
    share = numbers.share(most).removeprefix("<")
    if not wall:
        return f"{listed}, none more than {share} of it"
    return f"{listed}, none exposed for more than {share} of the wall time"


def notes(selection: Selection) -> Iterator[str]:
    """Every note once."""
    found = [*selection.notes, *(n for r in selection.requests for n in r.notes)]
    yield from dict.fromkeys(names.printable(note_text(n)) for n in found)


def launches(request: ProfileRequest) -> str:
    """Which launches a run meets, and how sure that is."""
    each = " of each grid and block" if request.per_config else ""
    met = f"{plural(request.launch_count, 'launch')}{each}"
    return f"{plural(len(request.kernels), 'kernel')}, {met}; which launch: {_BASIS[request.basis]}"


def command(request: ProfileRequest, program: Sequence[str] = ("PROGRAM",)) -> str:
    """What to type to profile ``request``, quoted for a shell."""
    words = [word for name in request.names for word in ("--kernel-name", name)]
    if request.name_base != "function":
        words += ["--name-base", request.name_base]
    if request.nvtx is not None:
        words += ["--nvtx", request.nvtx]
    if request.launch_skip:
        words += ["--launch-skip", str(request.launch_skip)]
    words += ["--launch-count", str(request.launch_count)]
    words += ["--per-config"] if request.per_config else []
    return shlex.join(["roofline", "profile", *words, "--", *program])


def speedups(at_most: Bounds) -> str:
    """The bound of one kernel, a range where it overlaps other work."""
    low, high = map(speedup, at_most)
    return low if low == high else f"{low} to {high}"


def speedup(bound: float | None) -> str:
    """A bound with two decimals: "1.19x"; all of the time gives "no limit"."""
    if bound is None:
        return "no limit"
    if bound >= _HUGE:
        return f"over {_HUGE:,}x"
    return f"{bound:.2f}x" if bound < 100 else f"{bound:,.0f}x"


def _per_step(share: KernelShare, device: TimelineDevice) -> tuple[str, str]:
    """Instances and time, a step where there are steps."""
    count = share.instances_per_step
    if count is None:
        return numbers.exact(share.instances), numbers.duration(share.total_s)
    text = numbers.exact(count) if count.is_integer() else f"{count:.1f}"
    return text, numbers.duration(share.total_s / max(device.counted, 1))
