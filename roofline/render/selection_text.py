"""Lines about a selection that the terminal and Markdown share; plain strings, no markup."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from roofline.render.sentences import plural
from roofline.text import names, numbers
from roofline.text.notes import note_text
from roofline.timeline.handover import command
from roofline.timeline.selection import (
    Apart,
    Basis,
    DeviceUse,
    First,
    IdleGap,
    KernelShare,
    ProfileRequest,
    Selection,
    Use,
)

_FILLED = 0.25  # of a gap: less is not worth naming what the host did
_WAITED = 0.1  # of a gap: a launch that was done by then left the rest to the GPU
_GAPS = 3
_HUGE = 1000  # a bound beyond it says no more than that there is next to no limit

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
    Basis.COUNTED: "instance: counted from the start of the process",
    Basis.RANGE: "instance: inside the NVTX range of one step",
    Basis.ESTIMATED: "instance: estimated",
    Basis.UNKNOWN: "instance: the first of each grid and block",
}


def head(selection: Selection) -> Iterator[str]:
    """The answer first: what to look at, the two bounds, how the time was spent."""
    device = selection.selected
    if selection.truncated:
        yield "The trace ends in the middle: what it lacks is not known, so there are no bounds."
        yield f"{_file(selection, device)}: shares are of the kernel time that was read."
        return
    if device.use is None:
        yield "A summary: shares of kernel time; no wall time, so no bounds."
        return
    if device.first is not None:
        yield _FIRST[device.first]
    yield bounds(device.use)
    yield where(selection, device)
    yield spent(device)


def warning(selection: Selection) -> tuple[str, ...]:
    """The first lines of ``head`` where no kernel comes first or events lack; else nothing."""
    if not selection.truncated and selection.selected.first in (None, First.KERNELS):
        return ()
    return tuple(islice(head(selection), 2))


def bounds(use: Use) -> str:
    """The two bounds by name: they are different numbers. And which kernels the second is of."""
    kernels = f"making all kernels free at most {limit(use.without_kernels)}"
    if use.communication_s:
        kernels += f", all but communication {limit(use.without_compute)}"
    return f"Removing all gaps buys at most {limit(use.without_gaps)}; {kernels}."


def where(selection: Selection, device: DeviceUse) -> str:
    """What was measured: file, device, steps."""
    return f"{_file(selection, device)}: {steps(selection)}"


def _file(selection: Selection, device: DeviceUse) -> str:
    gpu = device.device.name or "GPU"
    return f"{names.printable(selection.file)}, {gpu} (device {device.index})"


def steps(selection: Selection) -> str:
    """Which steps count and whether they are alike."""
    device = selection.selected
    if device.use is None:
        return ""
    wall = numbers.duration(device.use.wall_s)
    if selection.steps == "window":
        return f"the window asked for, {wall}"
    if selection.steps == "recording":
        return f"the whole recording, {wall}"
    left_out = [s for s in device.steps if s.left_out is not None]
    text = f"{plural(device.counted, 'step')} of {numbers.duration(_per_step(device))}"
    if left_out:
        listed = ", ".join(f"{s.number} ({s.left_out})" for s in left_out[:3])
        more = f" and {len(left_out) - 3} more" if len(left_out) > 3 else ""
        text += f", left out: {listed}{more}"
    return text + ("; all launch the same kernels" if device.steady else "")


def spent(device: DeviceUse) -> str:
    """Unions as shares of the wall time; they overlap, so they do not add up to 100 %."""
    use = device.use
    if use is None:
        ran = [k for k in (*device.kernels, *device.apart) if k.kernel_share is not None]
        return f"kernels {numbers.duration(sum(k.total_s for k in ran))} in all"
    parts = [f"kernels {_part(use.kernel_s, use)}"]
    if use.communication_s:
        exposed = _part(use.exposed_communication_s, use)
        parts.append(f"communication {_part(use.communication_s, use)} ({exposed} exposed)")
    if use.copy_s:
        exposed = _part(use.exposed_copy_s, use)
        parts.append(f"copies {_part(use.copy_s, use)} ({exposed} exposed)")
    idle = f"idle {_part(use.idle_s, use)}"
    if device.host_late_s is not None and use.idle_s:
        idle += f" ({numbers.share(device.host_late_s / use.idle_s)} of it before a late launch)"
    return "Of the wall time: " + ", ".join([*parts, idle]) + "."


def gaps(device: DeviceUse) -> Iterator[str]:
    """The largest gaps and what the launching thread did meanwhile."""
    for gap in device.gaps[:_GAPS]:
        at = numbers.duration(gap.start_s)
        yield f"{numbers.duration(gap.duration_s)} at {at}: {_meanwhile(gap)}"


def apart(device: DeviceUse) -> Iterator[str]:
    """What is not for ncu, summed by reason, and the reason."""
    for reason, why in _WHY_APART.items():
        found = [k for k in device.apart if k.apart is reason]
        if found:
            yield f"{reason}: {_amount(found, device.use)}; {why}"


def rest(device: DeviceUse) -> str:
    """The kernels that could be chosen and were not."""
    others = [k for k in device.kernels if not k.chosen]
    if not others:
        return ""
    total = sum(k.kernel_share or 0 for k in others)
    most = max(others, key=_rank)
    listed = f"{plural(len(others), 'more kernel')}: {numbers.share(total)} of kernel time"
    share = numbers.share(_rank(most)).removeprefix("<")
    if device.use is None:
        return f"{listed}, none more than {share} of it"
    return f"{listed}, none exposed for more than {share} of the wall time"


def _rank(share: KernelShare) -> float:
    """What the table ranks by: the exposed share, without wall time that of kernel time."""
    return (share.kernel_share if share.exposed_share is None else share.exposed_share) or 0


def requests(selection: Selection) -> Iterator[tuple[str, str]]:
    """For each run: the command, and which launch it meets."""
    for request in selection.requests:
        yield command(request), met(request)


def met(request: ProfileRequest) -> str:
    """Which launches a run meets, and how sure that is."""
    listed = plural(len(request.kernels), "kernel")
    launches = "launch" if request.launch_count == 1 else "launches"
    each = " of each grid and block" if request.per_config else ""
    return f"{listed}, {request.launch_count} {launches}{each}; {_BASIS[request.basis]}"


def notes(selection: Selection) -> Iterator[str]:
    """Every note once."""
    found = [*selection.notes, *(n for r in selection.requests for n in r.notes)]
    yield from dict.fromkeys(names.printable(note_text(n)) for n in found)


def gain(share: KernelShare) -> str:
    """The bound of one kernel, a range where it overlaps other work."""
    low, high = limit(share.speedup_low), limit(share.speedup_high)
    if share.exposed_share is None:
        return numbers.ABSENT
    return low if low == high else f"{low} to {high}"


def limit(bound: float | None) -> str:
    """A bound with two decimals: "1.19x"; all of the time gives "no limit"."""
    if bound is None:
        return "no limit"
    if bound >= _HUGE:
        return f"over {_HUGE:,}x"
    return f"{bound:.2f}x" if bound < 100 else f"{bound:,.0f}x"


def per_step(share: KernelShare, device: DeviceUse) -> tuple[str, str]:
    """Instances and time, a step where there are steps."""
    count = share.instances_per_step
    if count is None:
        return numbers.exact(share.instances), numbers.duration(share.total_s)
    text = numbers.exact(count) if count.is_integer() else f"{count:.1f}"
    return text, numbers.duration(share.total_s / max(device.counted, 1))


def _per_step(device: DeviceUse) -> float | None:
    return device.use.wall_s / device.counted if device.use and device.counted else None


def _part(amount_s: float, use: Use) -> str:
    return numbers.share(amount_s / use.wall_s)


def _meanwhile(gap: IdleGap) -> str:
    if gap.host_late_s is None:
        return "no work follows whose launch is known"
    late = gap.host_late_s / gap.duration_s
    if late < _WAITED:
        return "the next work had been launched and waited"
    where = "outside of CUDA calls"
    if gap.doing is not None and gap.doing_s > _FILLED * gap.duration_s:
        share = numbers.share(gap.doing_s / gap.duration_s)
        where = f"in {gap.doing} for {share} of it"
    return f"the host had not launched ({numbers.share(late)} of it), {where}"


def _amount(found: Sequence[KernelShare], use: Use | None) -> str:
    noun = "kind" if found[0].apart is Apart.COPY else "kernel"
    text = f"{plural(len(found), noun)}, {numbers.exact(sum(k.instances for k in found))} in all"
    if use is None:
        return text
    # Two copies at once leave the time to copies, though to neither of them alone.
    together = {
        Apart.COPY: use.exposed_copy_s / use.wall_s,
        Apart.COMMUNICATION: use.exposed_communication_s / use.wall_s,
        Apart.SHORT: sum(k.exposed_share or 0 for k in found),
    }
    share = next(amount for reason, amount in together.items() if reason is found[0].apart)
    return f"{text}, {numbers.share(share)} of the wall time with nothing else"


def short_names(shares: Iterable[KernelShare], width: int) -> list[str]:
    """Names cut to fit that still tell the kernels apart."""
    return names.short_all((k.name for k in shares), width)
