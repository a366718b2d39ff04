"""Reading the reports of a command line: what failed is told, the rest is analysed."""

from __future__ import annotations

from pathlib import Path

import click

from roofline.achieved import Ceilings
from roofline.cli.progress import reading
from roofline.errors import InputError
from roofline.model import Analysis


def analyze_reports(
    reports: tuple[Path, ...],
    *,
    specs: Path | None,
    peaks: str | None,
    latency_threshold: float,
    balance: float,
) -> tuple[Analysis | None, int]:
    """Analyse what can be read, name on stderr what cannot, and count the latter.

    The analysis is ``None`` where nothing could be read.
    """
    from roofline.achieved import load_achieved, load_folder
    from roofline.analysis import analyze

    achieved: tuple[Ceilings, ...] = ()
    if peaks is not None:
        achieved = load_folder() if peaks == "achieved" else (load_achieved(Path(peaks)),)
    failures: list[InputError] = []
    analysis: Analysis | None = None
    try:
        with reading() as tell:
            analysis = analyze(
                *reports,
                specs=specs,
                achieved=achieved,
                latency_threshold=latency_threshold,
                balance=balance,
                on_error=failures.append,
                on_progress=tell,
            )
    except InputError as error:  # nothing could be read; the failures say why, if there are any
        failures = failures or [error]
    for failure in failures:
        click.echo(f"roofline: {failure}", err=True)
    return analysis, len(failures)
