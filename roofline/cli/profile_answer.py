"""After a capture: what ``analyze`` says about the report, and how it was measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from roofline.capture.command import shell
from roofline.capture.request import CaptureRequest
from roofline.capture.run import Captured, Setting
from roofline.cli.answer import Request, answer
from roofline.cli.reports import analyze_reports
from roofline.errors import InputError
from roofline.model import Analysis

_REPLAYS = {
    "kernel": "each kernel was run again for every pass",
    "application": "the whole program was run again for every pass",
    "range": "ranges of calls were run again for every pass",
    "app-range": "the whole program was run again for every pass over a range",
}
_MANY = 5  # names that a message lists


def answer_about(
    captured: Captured,
    request: CaptureRequest,
    setting: Setting,
    wanted: Request,
    given: Mapping[str, Any],
) -> None:
    """Print the answer, then where the report is, how it was measured and what to type next."""
    analysis, _ = analyze_reports(
        (captured.report,),
        specs=given["specs"],
        peaks=given["peaks"],
        latency_threshold=wanted.latency_threshold,
        balance=wanted.balance,
    )
    if analysis is None:  # it was read a moment ago
        raise InputError(f"{captured.report} cannot be read any more")
    answer(analysis, wanted)
    # A format for programs stays alone on stdout.
    aside = wanted.format != "table"
    for line in afterwards(captured, request, setting, analysis):
        click.echo(line, err=aside)


def afterwards(
    captured: Captured, request: CaptureRequest, setting: Setting, analysis: Analysis
) -> list[str]:
    """The lines after the table."""
    log = f", log: {captured.log}" if captured.log is not None else ""
    lines = ["", f"Report: {captured.report} ({captured.launches} launches){log}"]
    if captured.partial is not None:
        lines.append(f"Partial: {captured.partial}")
    if request.launch_count == captured.launches and not request.per_config:
        lines.append(
            f"The limit of {request.launch_count} launches was reached; --launch-count raises it."
        )
    if captured.absent:
        shown = ", ".join(captured.absent[:_MANY])
        more = len(captured.absent) - _MANY
        lines.append(f"Not in the report: {shown}" + (f" and {more} more" if more > 0 else ""))
    lines.append(measured_how(captured, request, setting, analysis))
    report = str(captured.report)
    lines.append(f"Next: {shell(['roofline', 'analyze', report, '--explain', '1'])}")
    return lines


def measured_how(
    captured: Captured, request: CaptureRequest, setting: Setting, analysis: Analysis
) -> str:
    """One sentence on how the numbers came to be."""
    parts = [
        f"ncu {setting.ncu.version.text}, level {request.level}",
        _REPLAYS[request.replay] + passes(captured, analysis),
        "caches flushed before every pass" if request.flush_caches else "caches left warm",
        "clocks locked to base" if request.lock_clocks else "clocks not locked",
    ]
    return (
        f"Measured: {'; '.join(parts)}. Durations are under the profiler (roofline time has none)."
    )


def passes(captured: Captured, analysis: Analysis) -> str:
    """The passes that kernels took, from the report, else from ncu's log."""
    counts = [r.measurement.passes for r in analysis.results if r.measurement.passes]
    low, high = (min(counts), max(counts)) if counts else captured.progress.passes or (0, 0)
    if not high:
        return ""
    return f" ({low:.0f} passes)" if low == high else f" ({low:.0f} to {high:.0f} passes)"
