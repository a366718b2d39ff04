"""``roofline analyze``: saved reports to a ranked answer, and what other commands share of it."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from roofline.api import chosen
from roofline.cli import completion
from roofline.cli import options as opt
from roofline.cli.errors import say_failure
from roofline.cli.options import MERGE, REPORTS, Choosing, Judging
from roofline.cli.output import Output, progress
from roofline.errors import InputError, UsageError
from roofline.files import uncollected, whole_file
from roofline.model import Analysis, Details, Group, Kind
from roofline.view import Choice, Chosen, matching, no_kernel

if TYPE_CHECKING:
    from roofline.reports import Reader
    from roofline.specs.ceilings import Ceilings
    from roofline.timeline.join import Joined
    from roofline.timeline.model import Selection


@dataclass(frozen=True, slots=True, kw_only=True)
class Showing:
    """What is shown of an analysis beside its table; ``profile`` has the same."""

    explain: str | None = opt.written("--explain KERNEL", shell_complete=completion.kernels)
    everything: bool = opt.written("--all")
    source: bool = opt.written("--source")
    plot: Path | None = opt.written("--plot FILE")
    page: Path | None = opt.written("--page FILE.html")
    chart: bool = opt.written("--chart")
    timeline: Path | None = opt.judged("--timeline FILE", once=True)
    step: str | None = opt.judged("--step RE", type=str)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalyzeOptions:
    """``roofline analyze``."""

    reports: tuple[Path, ...] = opt.argument("REPORT...", **REPORTS)
    choosing: Choosing = opt.shared(Choosing)
    merge: bool = opt.which(*MERGE)
    showing: Showing = opt.shared(Showing)
    judging: Judging = opt.shared(Judging)
    output: Output = opt.shared(Output)


@opt.typed_command(AnalyzeOptions, "analyze")
def command(options: AnalyzeOptions) -> int:
    """Rank the kernels of saved reports, and name what limits each."""
    check(options.showing, options.output)
    analysis = analyze_reports(options.reports, options.judging, merge=options.merge)
    reader = options.judging.reader
    answer(analysis, options.choosing, options.showing, options.output, reader=reader)
    return InputError.exit_code if analysis.unread else 0


def analyze_reports(reports: Iterable[Path], judging: Judging, *, merge: bool = False) -> Analysis:
    """Analyse what can be read and name on stderr what cannot; that ends it where it is all."""
    # Not at the top, as help needs neither readers nor registry.
    from roofline.analysis import analyze

    achieved = ceilings(judging.peaks)
    failures: list[InputError] = []
    try:
        with uncollected(), progress("reports", percent=True) as tell:
            analysis = analyze(
                *reports,
                specs=judging.specs,
                achieved=achieved,
                rule=judging.rule,
                merge=merge,
                jobs=judging.jobs,
                reader=judging.reader,
                on_error=failures.append,
                on_progress=tell,
            )
            gc.freeze()  # it is kept until the command ends
    except InputError as error:  # nothing could be read; the failures say why, if there are any
        if not failures:
            raise
        raise click.exceptions.Exit(error.exit_code) from error
    finally:
        for failure in failures:
            say_failure(str(failure))
    return analysis


def ceilings(peaks: Path | None) -> tuple[Ceilings, ...]:
    """The measured ceilings that --peaks names."""
    from roofline.specs.ceilings import load_achieved, load_folder

    if peaks is None:
        return ()
    return load_folder() if str(peaks) == "achieved" else (load_achieved(peaks),)


def check(showing: Showing, output: Output) -> None:
    """Refuse before long work what could not be answered in the end."""
    output.check(plots=True)
    form, wanted = output.format, showing.explain
    if wanted is not None and form not in ("table", "json"):
        hint = f"--explain {wanted} --format json"
        raise UsageError(f"--explain cannot be written as {form}", hint=hint)
    if showing.everything and wanted is None:
        raise UsageError("--all needs a kernel to explain", hint="--explain KERNEL --all")
    if showing.source and wanted is None:
        raise UsageError("--source needs a kernel to explain", hint="--explain KERNEL")
    if showing.timeline is not None and form in ("csv", "parquet"):
        raise UsageError(
            f"--timeline cannot be written as {form}", hint="--format json or markdown"
        )
    if showing.step is not None and showing.timeline is None:
        raise UsageError("--step needs a timeline", hint="--timeline FILE")
    if showing.chart and form != "table":
        raise UsageError(f"--chart is for a terminal, not for {form}", hint="--plot roofline.svg")
    _check_pictures(showing, output)


def _check_pictures(showing: Showing, output: Output) -> None:
    for path, option in ((showing.plot, "--plot"), (showing.page, "--page")):
        if path is None:
            continue
        from roofline.plot import check_path

        if option == "--page" and path.suffix.lower() != ".html":
            hint = f"--page {path.with_suffix('.html')}"
            raise UsageError(f"cannot write the page to {path}: it is HTML", hint=hint)
        check_path(path, force=output.force, option=option)


def answer(
    analysis: Analysis,
    choice: Choice,
    showing: Showing,
    output: Output,
    selection: Selection | None = None,
    reader: Reader = "protobuf",
) -> None:
    """Write the answer about the ``choice`` of ``analysis``, and draw it where that is asked.

    ``selection`` is what was chosen from the timeline, where that was read already.
    """
    part = chosen(analysis, choice)
    joined = None
    if showing.timeline is not None:
        from roofline.timeline import load_timeline, select
        from roofline.timeline.join import join

        selection = selection or select(load_timeline(showing.timeline, step=showing.step))
        joined = join(part.analysis, selection)
    if output.format == "parquet" and output.file is not None:
        from roofline.render.flat import write_parquet

        with whole_file(output.file, force=output.force) as temporary:
            write_parquet(part, temporary, launches=choice.launches)
    else:
        output.write_all(_text(part, choice, showing, output, joined, reader))
    for path in filter(None, (showing.plot, showing.page)):
        from roofline.plot import Options, write

        write(part, path, Options(launches=choice.launches), force=output.force)


def _text(
    part: Chosen,
    choice: Choice,
    showing: Showing,
    output: Output,
    joined: Joined | None,
    reader: Reader,
) -> Iterable[str]:
    # Renderers are imported here: each run needs one of them.
    explained: tuple[Group, ...] = ()
    details: Details | None = None
    if showing.explain is not None:
        explained = _explained(part, showing.explain)
        if explained[0].result.measurement.kind is not Kind.FIGURES:
            details = _details(part, explained[0], reader, source=showing.source)
    if output.format == "json":
        from roofline.render import json

        place = part.analysis.groups.index(explained[0]) if explained else -1
        return json.chunks(part, joined, {place: details} if details else {})
    if output.format == "csv":
        from roofline.render.flat import to_csv

        return [to_csv(part, launches=choice.launches)]
    from roofline.render import joined as gains

    width, color = output.width(), output.color
    if output.format == "markdown":
        from roofline.render import markdown

        limit = choice.top or markdown.ROWS
        text = markdown.render(part, launches=choice.launches, limit=limit)
        if joined is not None:
            text += f"\n### What it buys a step of {joined.selection.file}\n\n"
            text += gains.markdown(joined)
        return [text]
    if explained:
        from roofline.render import explain

        text = explain.render(
            explained[0],
            rank=1 + part.analysis.groups.index(explained[0]),
            # The text of source lines stands beside the instructions.
            everything=showing.everything or showing.source,
            others=explained[1:],
            details=details,
            width=width,
            color=color,
        )
    else:
        from roofline.render import table

        limit = choice.top or table.ROWS
        text = table.render(part, launches=choice.launches, limit=limit, width=width, color=color)
    chunks = [text]
    if joined is not None:
        chunks += ["\n", gains.render(joined, width=width, color=color)]
    if showing.chart:
        from roofline.plot import terminal

        launches = choice.launches and not explained
        chunks.append(terminal.render(part, launches=launches, width=width, color=color))
    return chunks


def _explained(part: Chosen, wanted: str) -> tuple[Group, ...]:
    """The kernel that is meant, and others that the same words mean."""
    groups = part.analysis.groups
    if not _is_rank(wanted):
        found = matching(part.analysis, wanted)
    elif 0 < int(wanted) <= len(groups):
        found = (groups[int(wanted) - 1],)
    else:
        ranks = "the only rank is 1" if len(groups) == 1 else f"ranks are 1 to {len(groups)}"
        raise UsageError(f"no kernel has rank {int(wanted)}", why=ranks, hint="--explain 1")
    if not found:
        raise no_kernel(part.analysis, wanted, "--explain")
    return found


def _details(part: Chosen, group: Group, reader: Reader, *, source: bool) -> Details:
    from roofline.analysis import details_of

    return details_of(part.analysis, group.launches, reader, source=source)


def most_details(part: Chosen, count: int, reader: Reader) -> dict[int, Details]:
    """Those of the kernels with most time, by their places."""
    order = sorted(range(len(part.analysis.groups)),
                   key=lambda place: -(part.analysis.groups[place].total_s or 0.0))  # fmt: skip
    return {
        place: _details(part, part.analysis.groups[place], reader, source=True)
        for place in order[:count]
    }


def _is_rank(wanted: str) -> bool:
    """Whether ``wanted`` is a rank of the table: no kernel's name is a number."""
    return re.fullmatch(r"-?[0-9]{1,9}", wanted) is not None
