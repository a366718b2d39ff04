"""Reading the reports of a command line: what failed is told, the rest is analysed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from roofline.cli.progress import reading
from roofline.errors import InputError
from roofline.model import Analysis, Rule
from roofline.specs.ceilings import Ceilings

if TYPE_CHECKING:
    from roofline.reports import Reader


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """The options of ``options.JUDGING`` as given."""

    specs: Path | None = None
    peaks: str | None = None
    rule: Rule = field(default_factory=Rule)
    jobs: int | None = None
    reader: Reader = "protobuf"


def judging(given: Mapping[str, Any]) -> Judging:
    """The options of ``options.JUDGING`` among others."""
    return Judging(
        specs=given["specs"],
        peaks=given["peaks"],
        rule=Rule(latency=given["latency_threshold"], balance=given["balance"]),
        jobs=given["jobs"],
        reader=given["reader"],
    )


def analyze_reports(reports: tuple[Path, ...], how: Judging) -> tuple[Analysis | None, int]:
    """Analyse what can be read, name on stderr what cannot, and count the latter.

    The analysis is ``None`` where nothing could be read.
    """
    from roofline.analysis import analyze
    from roofline.specs.ceilings import load_achieved, load_folder

    achieved: tuple[Ceilings, ...] = ()
    if how.peaks is not None:
        kept = how.peaks == "achieved"
        achieved = load_folder() if kept else (load_achieved(Path(how.peaks)),)
    failures: list[InputError] = []
    analysis: Analysis | None = None
    try:
        with reading("reports", percent=True) as tell:
            analysis = analyze(
                *reports,
                specs=how.specs,
                achieved=achieved,
                rule=how.rule,
                jobs=how.jobs,
                reader=how.reader,
                on_error=failures.append,
                on_progress=tell,
            )
    except InputError as error:  # nothing could be read; the failures say why, if there are any
        failures = failures or [error]
    for failure in failures:
        click.echo(f"roofline: {failure}", err=True)
    return analysis, len(failures)
