"""The ranks of a job for people: who is waited for, and what the transfer takes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice

from roofline.text import names, numbers
from roofline.text.numbers import plural
from roofline.timeline.model import Job

_STEADY = 0.8  # of the skew: a rank that causes so much of it is slower
_CLOSE = 1.1  # times: skew and transfer that differ by less weigh alike
_HIDDEN = 0.95  # of communication: the little that is left is no reason to look at it
_MUCH = 0.05  # of a step: a late rank that is named among the first lines
_RANKS = 8
_FEW = 4  # numbers of missing ranks
_COLLECTIVES = 5


def lines(job: Job) -> Iterator[str]:
    """The answer, then the ranks by how long they are waited for, then the collectives."""
    if job.unmatched > sum(c.count * len(c.ranks) for c in job.collectives):
        most = f"{plural(job.unmatched, 'launch')}, most of them, have no counterpart"
        yield f"Perhaps these are not ranks of one job: {most}."
    yield verdict(job)
    yield from missing(job)
    noun, whole = _noun(job), "" if job.steps is None else " in all"
    for rank in sorted(job.ranks, key=lambda r: (-r.caused_s, r.number))[:_RANKS]:
        step = "" if rank.step_s is None else f"mean step {numbers.duration(rank.step_s)}, "
        yield (
            f"{noun} {rank.number}: {step}last in {rank.last} of {job.count}, waited "
            f"{numbers.duration(rank.waited_s)}{whole} for others"
        )
    if (more := len(job.ranks) - _RANKS) > 0:
        yield f"{plural(more, f'more {noun}')}, waited for less"
    for c in job.collectives[:_COLLECTIVES]:
        group = "" if c.group is None else f" in group {names.printable(c.group)}"
        bus = c.bus_bytes_per_s
        rate = "" if bus is None else f", {bus / 1e9:.4g} GB/s of bus bandwidth"
        yield (
            f"{names.printable(c.name)}{group}: {c.count} over {plural(len(c.ranks), noun)}, skew "
            f"{numbers.duration(c.skew_s)}, transfer {numbers.duration(c.transfer_s)}{whole}{rate}"
        )
    how = "process group" if job.matched_by == "name" else "order and time of end"
    lost = f"; {plural(job.unmatched, 'launch')} without a counterpart" if job.unmatched else ""
    clock = "" if job.one_clock else "; the files' clocks differ, so all are taken to end together"
    yield f"matched by {how}{lost}{clock}"


def latest(job: Job) -> Iterator[str]:
    """The rank that comes late to collectives, where that costs the others much of a step."""
    late, steps_s = job.latest, [r.step_s for r in job.ranks if r.step_s is not None]
    if job.steps is None or not steps_s or (job.hidden_share or 0) > _HIDDEN:
        return
    each_s = late.caused_s / job.steps
    if (share := each_s / max(steps_s)) > _MUCH:
        yield (
            f"{_noun(job).capitalize()} {late.number} comes late to {late.last} of {job.count} "
            f"collectives: the first to come waits {numbers.duration(each_s)} a step for it "
            f"({numbers.share(share)})."
        )


def missing(job: Job) -> Iterator[str]:
    """The ranks of the job that are not among those at hand."""
    here = {rank.number for rank in job.ranks}
    absent = (job.world_size or 0) - len(here)
    if absent > 0:
        first = islice((n for n in count() if n not in here), min(absent, _FEW))
        which = ", ".join(map(str, first)) + f" and {absent - _FEW:,} more" * (absent > _FEW)
        of = plural(job.world_size or 0, "rank")
        yield f"Missing: {absent:,} of {of} ({which}). The others may wait for what is not here."


def verdict(job: Job) -> str:
    """Skew against transfer, who is last, and what that means."""
    steps, each = (1, "in all") if job.steps is None else (job.steps, "a step")
    skew, transfer = (numbers.duration(t / steps) for t in (job.skew_s, job.transfer_s))
    last = job.latest
    who, meaning = "no rank is last", "uneven work or a late host, not network"
    if last.caused_s:
        by_it = last.caused_s / job.skew_s
        who = (
            f"{_noun(job)} {last.number} is last in {last.last} of {job.count}, which is "
            f"{numbers.share(by_it)} of the skew"
        )
        meaning = "load balance, not network"
        if by_it < _STEADY:
            meaning = "the ranks come late in turn: uneven work or a late host, not network"
    own = meaning.removesuffix(", not network")
    if job.transfer_s > job.skew_s * _CLOSE:
        longer = "transfer takes longer: network, or the size of the messages"
        meaning = f"{own}. The {longer}" if last.caused_s else f"the {longer}"
    elif job.transfer_s * _CLOSE > job.skew_s:
        meaning = f"both count: the transfer (network, size of the messages), and {own}"
    text = f"Skew {skew} {each}, transfer {transfer}, {who}: {meaning}."
    if (job.hidden_share or 0) > _HIDDEN:
        text += (
            f" {numbers.share(job.hidden_share)} of communication runs beside compute, so neither "
            "makes the step much longer."
        )
    return text


def _noun(job: Job) -> str:
    return "device" if job.one_clock else "rank"
