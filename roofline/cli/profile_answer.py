"""After captures: what ``analyze`` says about the reports, and how they were measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from roofline.capture.command import shell
from roofline.capture.request import CaptureRequest
from roofline.capture.run import Captured, CaptureSetup
from roofline.cli.answer import Request, answer
from roofline.cli.reports import analyze_reports, judging
from roofline.errors import InputError
from roofline.model import Analysis

_REPLAYS = {
    "kernel": "each kernel was run again for every pass",
    "application": "the whole program was run again for every pass",
    "range": "ranges of calls were run again for every pass",
    "app-range": "the whole program was run again for every pass over a range",
}
_MANY = 5  # names that a message lists


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A capture that was kept; ``remark`` says which launches it is about."""

    request: CaptureRequest
    captured: Captured
    remark: str | None = None


def answer_about(
    done: Sequence[Done],
    setting: CaptureSetup,
    wanted: Request,
    given: Mapping[str, Any],
    remarks: Iterable[str] = (),
) -> None:
    """Print the answer, then where the reports are, how it was measured and what to type next."""
    reports = tuple(d.captured.report for d in done)
    analysis, _ = analyze_reports(reports, judging(given))
    if analysis is None:  # they were read a moment ago
        listed = ", ".join(map(str, reports))
        raise InputError(f"{listed} cannot be read any more")
    answer(analysis, wanted)
    # A format for programs stays alone on stdout.
    aside = wanted.format != "table"
    for line in afterwards(done, setting, wanted, analysis, remarks):
        click.echo(line, err=aside)


def afterwards(
    done: Sequence[Done],
    setting: CaptureSetup,
    wanted: Request,
    analysis: Analysis,
    remarks: Iterable[str] = (),
) -> list[str]:
    """The lines after the table."""
    lines = [""]
    for one in done:
        lines += _about(one)
    lines += remarks
    if absent := list(dict.fromkeys(name for d in done for name in d.captured.absent)):
        shown = ", ".join(absent[:_MANY])
        more = len(absent) - _MANY
        lines.append(f"Not in the report: {shown}" + (f" and {more} more" if more > 0 else ""))
    lines.append(measured_how(done, setting, analysis))
    lines.append(f"Next: {shell(following(done, wanted))}")
    return lines


def _about(done: Done) -> list[str]:
    captured, request = done.captured, done.request
    log = f", log: {captured.log}" if captured.log is not None else ""
    lines = [f"Report: {captured.report} ({captured.launches} launches){log}"]
    if done.remark is not None:
        lines.append(f"  {done.remark}")
    if captured.partial is not None:
        lines.append(f"Partial: {captured.partial}")
    # A count that somebody computed is not a limit.
    limited = done.remark is None and not request.per_config
    if limited and request.launch_count == captured.launches:
        lines.append(
            f"The limit of {request.launch_count} launches was reached; --launch-count raises it."
        )
    return lines


def following(done: Sequence[Done], wanted: Request) -> list[str]:
    """The next command: the same answer from the reports, or all about the first kernel."""
    words = ["roofline", "analyze", *(str(d.captured.report) for d in done)]
    if wanted.timeline is None:
        return [*words, "--explain", "1"]
    step = [] if wanted.step is None else ["--step", wanted.step]
    return [*words, "--timeline", str(wanted.timeline), *step]


def measured_how(done: Sequence[Done], setting: CaptureSetup, analysis: Analysis) -> str:
    """One sentence on how the numbers came to be; captures differ in their launches only."""
    request = done[0].request
    parts = [
        f"ncu {setting.ncu.version.text}, level {request.level}",
        _REPLAYS[request.replay] + passes([d.captured for d in done], analysis),
        "caches flushed before every pass" if request.flush_caches else "caches left warm",
        "clocks locked to base" if request.lock_clocks else "clocks not locked",
    ]
    if request.omits_collectives:
        parts.append("collectives left out (--collectives takes them)")
    return (
        f"Measured: {'; '.join(parts)}. Durations are under the profiler (roofline time has none)."
    )


def passes(captures: Iterable[Captured], analysis: Analysis) -> str:
    """The passes that kernels took, from the reports, else from ncu's logs."""
    counts = [r.measurement.passes for r in analysis.results if r.measurement.passes]
    if not counts:
        counts = [float(n) for c in captures for n in c.progress.passes or () if n]
    if not counts:
        return ""
    low, high = min(counts), max(counts)
    return f" ({low:.0f} passes)" if low == high else f" ({low:.0f} to {high:.0f} passes)"
