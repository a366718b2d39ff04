"""What ``roofline profile`` does once its options are read: plan, run ncu, and answer."""

from __future__ import annotations

import hashlib
import os
import re
import signal
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from shlex import join as shell
from typing import Any

import click

from roofline import wall_time
from roofline.capture.command import command as ncu_command
from roofline.capture.failures import NcuFailedError, ProgramFailedError
from roofline.capture.levels import CHIP_OF_CAPABILITY, chip_of, metrics_of, table
from roofline.capture.machine import model_names
from roofline.capture.preflight import ask, check_command, find_ncu
from roofline.capture.request import CaptureRequest, NameBase, Ncu, Version
from roofline.capture.run import (
    TAKEN,
    Captured,
    CaptureSetup,
    capture,
    check_output,
    free_names,
    log_path,
    numbered,
)
from roofline.cli.analyze import Showing, analyze_reports, answer
from roofline.cli.errors import say
from roofline.cli.options import Judging
from roofline.cli.output import Output, progress
from roofline.errors import InputError, RooflineError, UsageError
from roofline.files import whole_file
from roofline.foreign import shown
from roofline.model import Analysis, Device
from roofline.process import run_quietly
from roofline.render import capture as render
from roofline.render import selection as text
from roofline.render.joined import covered
from roofline.specs import load
from roofline.text import names, numbers
from roofline.text.notes import note_text
from roofline.timeline import load_timeline, select
from roofline.timeline.join import coverage
from roofline.timeline.model import Basis, Criteria, KernelShare, ProfileRequest, Selection
from roofline.view import Choice
from roofline.wall_time import ProgramTimes

_ENDED = "The program was ended after the last kernel; --until program lets it run on."
_MANY = 5  # names that a message lists
_TIMED = (1, 3)  # runs of --time: to warm up, and for the record
_TIMED_S = 3600.0  # for each, without --timeout
# The chips that the plan shows where none is known: one of each generation.
_SHOWN = ("TU102", "GA100", "GA102", "AD102", "GH100", "GB100", "GB202")
_ELSE = "GH100"
# Without an ncu the plan is for one that takes every option.
_NEWEST = Ncu(path=Path("ncu"), version=Version(year=9999, minor=0, text="any"), how="none found")
# Failures that are about the kernels of one run: the next run may well succeed.
_NOT_MET = frozenset({"nothing_matched", "nothing_launched"})
_OF_ITS_KERNELS = _NOT_MET | {"replay_hang", "prepare_failed", "replay_memory"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of ncu; ``wanted`` is what a timeline asks of it.

    What became of it is ``captured`` or ``failure``, or nothing where it was not started.
    """

    request: CaptureRequest
    report: Path
    wanted: ProfileRequest | None = None
    captured: Captured | None = None
    failure: RooflineError | None = None

    @property
    def kernels(self) -> str:
        """The functions that the timeline asks for."""
        chosen = () if self.wanted is None else self.wanted.kernels
        return ", ".join(dict.fromkeys(names.printable(k.base_name) for k in chosen))

    @property
    def about(self) -> str | None:
        """What the timeline asks for, and how sure it is that the run meets it."""
        return None if self.wanted is None else f"{self.kernels}: {text.launches(self.wanted)}"

    @property
    def failure_code(self) -> str | None:
        """The code of a failure that was recognised."""
        if isinstance(self.failure, NcuFailedError | ProgramFailedError):
            return self.failure.diagnosis.failure.code
        return None

    @property
    def exit_code(self) -> int:
        """Of its failure, or of the signal that ended it, else 0."""
        if self.failure is not None:
            return self.failure.exit_code
        stopped = (self.captured and self.captured.stopped) or ""
        return 128 + int(getattr(signal, stopped)) if stopped.startswith("SIG") else 0


def exit_code(runs: Iterable[Run]) -> int:
    """Of the signal that ended a run, else of the first failure, else 0."""
    codes = [run.exit_code for run in runs if run.exit_code]
    return next((code for code in codes if code > 128), codes[0] if codes else 0)


# --- before the program starts ----------------------------------------------------------------


def read(timeline: Path, *, step: str | None, **asked: Any) -> Selection:
    """The kernels of the timeline that are worth profiling; ``None`` is the usual value."""
    criteria = Criteria(**{name: value for name, value in asked.items() if value is not None})
    return select(load_timeline(timeline, step=step), criteria)


def look_at(
    base: CaptureRequest, setting: CaptureSetup, report: Path, how: str, seconds: float
) -> Path:
    """A trace of the program's kernels, beside the report: of now, or of an earlier look.

    Raises:
        CaptureError: nobody could look.
        InputError: no kernel ran.

    """
    from roofline.capture import look
    from roofline.timeline.trace import SEEN, packed, program_of

    place = _look_of(report)
    digest = hashlib.sha256("\0".join(base.program).encode("utf-8", "surrogateescape")).hexdigest()
    before = program_of(place)
    if how == "auto" and before == digest and not _changed_since(place, base.program):
        say(f"Kernels as seen before ({place}); --look again looks again")
        return place
    try:
        seen = look.look_at(base, setting, how, seconds, say)
    except look.LookInterrupted as stop:
        raise click.exceptions.Exit(128 + int(getattr(signal, stop.signal))) from stop
    with whole_file(place, force=True) as made:
        made.write_bytes(packed(seen.timeline, **{SEEN: {"program": digest, "by": seen.by}}))
    return place


def check_files(runs: Sequence[Run], *, force: bool, looked: bool) -> None:
    """Raise ``UsageError`` where a report or what is seen would replace somebody's file."""
    from roofline.timeline.trace import program_of

    for run in runs:
        check_output(run.report, force=force)
    place = _look_of(runs[0].report)
    if looked and place.exists() and program_of(place) is None:
        raise UsageError(f"{place} is not of roofline", hint="another name: -o REPORT")


def _look_of(report: Path) -> Path:
    return report.with_name(re.sub(r"-\d+$", "", report.stem) + ".look.json.gz")


def _changed_since(place: Path, program: Sequence[str]) -> bool:
    """Whether a file that the program's words name is younger."""
    files = [Path(word) for word in program if Path(word).is_file()]
    return any(file.stat().st_mtime > place.stat().st_mtime for file in files)


def chosen_of(trace: Path, *, step: str | None, **asked: Any) -> Selection:
    """The kernels of a look that are profiled; says what they stand for."""
    selection = read(trace, step=step, **asked)
    criteria = selection.asked
    if not selection.requests:
        ran = dict.fromkeys(names.printable(k.base_name) for k in selection.kernels)
        why = f"most time takes {', '.join(islice(ran, _MANY))}" if ran else "all are under 2 µs"
        what, hint = "no kernel is worth profiling", "more work in the program"
        if criteria.kernels and not criteria.matching(selection.kernels):
            what = f"no kernel that ran matches --kernel {', '.join(criteria.kernels)}"
            hint = "a word of one of these, or none"
        elif criteria.min_share or not criteria.cover:
            hint = "a lower --min-share, or a higher --cover"
        raise InputError(what, why=why, hint=hint)
    covers = covered(coverage(selection, selection.chosen), selection)
    say(f"Chosen: {covers}; {numbers.plural(len(selection.requests), 'run')} under ncu")
    return selection


def runs_of(base: CaptureRequest, selection: Selection | None, output: Path | None) -> list[Run]:
    """A run for each that a timeline asks for, or the one of ``base`` where none chooses."""
    wanted = () if selection is None else selection.requests
    count = max(len(wanted), 1)
    names = free_names(base.program, count) if output is None else numbered(output, count)
    if selection is None or not wanted:
        return [Run(request=base, report=names[0])]
    seen = (*selection.selected.kernels, *selection.selected.apart)
    return [
        Run(request=request_for(base, one, seen), report=report, wanted=one)
        for one, report in zip(wanted, names, strict=True)
    ]


def check_commands(runs: Sequence[Run], setting: CaptureSetup) -> None:
    """Have ncu read its command lines before anything runs."""
    for run in runs:
        check_command(run.request, setting.ncu, ask)


def timed(program: Sequence[str], limit_s: float | None) -> ProgramTimes:
    """What the program takes without ncu, from runs whose output is hidden."""
    say(f"Timing without ncu: {_TIMED[0]} run to warm up, then {_TIMED[1]}; output is hidden")
    with progress("runs", verb="Timing") as tell:
        times = wall_time.time_program(
            program,
            lambda argv: run_quietly(argv, timeout_s=limit_s or _TIMED_S),
            warmup=_TIMED[0],
            repeats=_TIMED[1],
            tell=tell,
        )
    inside = wall_time.instrumentation(os.environ, tuple(wall_time.ancestors()))
    return replace(times, instrumented=inside)


def request_for(
    base: CaptureRequest, wanted: ProfileRequest, seen: Sequence[KernelShare] = ()
) -> CaptureRequest:
    """``base`` for the launches of ``wanted``; ``seen`` are all kernels of the timeline."""
    mangled = wanted.name_base == "mangled"
    named = [k.mangled if mangled else k.base_name for k in seen]
    return replace(
        base,
        kernel_regex=None,
        families=(),
        kernels=wanted.names,
        name_base=NameBase(wanted.name_base),
        launch_skip=wanted.launch_skip or 0,
        launch_count=wanted.launch_count,
        per_config=wanted.per_config,
        configs=sum(name in wanted.names for name in named) or None,
        nvtx=() if wanted.nvtx is None else (wanted.nvtx,),
    )


def tell_selection(selection: Selection, *, loud: bool) -> None:
    """The answer of the timeline: always where no kernel comes first, else as talk."""
    for line in text.warning(selection) or (islice(text.head(selection), 2) if loud else ()):
        say(line)


def nothing_to_profile(
    selection: Selection, showing: Showing, min_share: float | None
) -> InputError:
    """The error where no kernel is worth ncu."""
    what = f"no kernel of {names.printable(selection.file)} is worth profiling"
    hint = f"{select_command(showing)} shows where the time goes"
    if not selection.kernels:
        why = "all that ran is communication, copies or kernels under 2 µs"
        return InputError(what, why=why, hint=hint)
    wall = selection.selected.use is not None
    shares = [((k.wall_share if wall else k.kernel_share) or 0, k) for k in selection.kernels]
    share, most = max(shares, key=lambda found: found[0])
    asked = Criteria().min_share if min_share is None else min_share
    why = (
        f"none takes {100 * asked:g} % of {'the wall time' if wall else 'kernel time'}; "
        f"the most is {names.printable(most.base_name)} with {numbers.share(share)}"
    )
    return InputError(what, why=why, hint=f"{hint}; a lower --min-share profiles it anyway")


def select_command(showing: Showing) -> str:
    """``roofline select`` for the same timeline."""
    return shell(["roofline", "select", str(showing.timeline), *_step(showing)])


def _step(showing: Showing) -> list[str]:
    return [] if showing.step is None else ["--step", showing.step]


# --- the plan of --dry-run --------------------------------------------------------------------


def plan(
    runs: Sequence[Run],
    ncu_path: str | None,
    chip: str | None,
    *,
    looked: bool,
    absent: str | None,
    advice: str | None,
    seen: Device | None,
) -> str:
    """The command lines of ncu and their cost by chip; ncu only tells its version and options.

    ``absent`` says why the program cannot be run here, ``advice`` what to run in its place, as ncu
    would hang; ``seen`` is the GPU of a timeline.
    """
    lines = [] if absent is None else [f"# {absent}; a real run needs it"]
    if looked:
        lines.append("# a real run first looks which kernels take the time, and profiles those;")
        lines.append("# the command is that of --look none")
    request = runs[0].request
    try:
        ncu = find_ncu(ncu_path)
    except NcuFailedError as error:
        ncu = _NEWEST
        lines.append(f"# {error.diagnosis.failure.cause}; the command is for a recent ncu")
    chips = (_known_chip(chip),) if chip else _chips_of(Device(name=n) for n in model_names())
    if not chips and seen is not None and (chips := _chips_of([seen])):
        gpu = names.printable(seen.name or seen.compute_capability or "")
        lines.append(
            f"# no GPU is known here; the command is for {chips[0]}, of the timeline: {gpu}"
        )
    elif not chips:
        lines.append(f"# no GPU is known here; the command is for {_ELSE}, --chip NAME for another")
        lines.append("# (a real run asks the driver and ncu what there is)")
    metrics = metrics_of(
        request.level,
        chips or (_ELSE,),
        request.metrics,
        patched=request.patched,
        version=ncu.version,
    )
    older = [c for c in chips if c not in table()]
    if older:
        lines.append(
            f"# {older[0]} is too old for the pass table: a real run asks ncu what it counts"
        )
    if advice is not None:
        lines.append(f"# {advice}")
    for number, run in enumerate(runs, 1):
        if run.about is not None:
            lines.append(f"# run {number} of {len(runs)}: {run.about}")
        if advice is not None:
            continue
        words = ncu_command(
            replace(run.request, metrics=metrics), ncu, report=run.report, log=log_path(run.report)
        )
        lines.append(shell(words))
    return "\n".join([*lines, "", *render.costs(request, chips or _SHOWN)])


def _known_chip(name: str) -> str:
    """NVIDIA's name of the chip that ``name`` means: a chip, or a GPU's name."""
    chips = {*table(), *CHIP_OF_CAPABILITY.values()}
    if name.upper() in chips:
        return name.upper()
    with suppress(UsageError):  # no GPU of this name either
        chip = chip_of(load().meant(name)[0].compute_capability)
        if chip is not None:
            return chip
    hint = f"one of {', '.join(sorted(chips))}, or a GPU's name"
    raise UsageError(f"--chip {name}: not known", hint=hint)


def _chips_of(gpus: Iterable[Device]) -> tuple[str, ...]:
    """The chips of GPUs, as far as these tell or the registry knows them."""
    known = [(gpu.compute_capability, load().find(gpu).spec) for gpu in gpus]
    told = (own or (None if spec is None else spec.compute_capability) for own, spec in known)
    chips = map(chip_of, told)
    return tuple(dict.fromkeys(chip for chip in chips if chip))


# --- ncu runs ---------------------------------------------------------------------------------


def capture_all(runs: Sequence[Run], setting: CaptureSetup, *, force: bool) -> list[Run]:
    """One capture after the other, until one is stopped or fails for a reason all would share.

    Raises:
        RooflineError: the only one failed.

    """
    ended: list[Run] = []
    for number, run in enumerate(runs, 1):
        title = f"run {number} of {len(runs)} ({run.kernels})"
        where = f"{title}: " if len(runs) > 1 else ""
        say(where + render.ending(run.request, setting.linger_s, counted=run.wanted is not None))
        try:
            captured = capture(run.request, setting, run.report, force=force)
        except RooflineError as error:
            ended.append(replace(run, failure=error))
            code = ended[-1].failure_code
            if code in _NOT_MET and run.wanted and run.wanted.basis is Basis.ESTIMATED:
                skipped = run.request.launch_skip
                say(f"{skipped} launches were skipped; a smaller --warmup-steps skips fewer")
            if len(runs) == 1:
                raise
            say(f"{title}: {error}")
            if code not in _OF_ITS_KERNELS:
                break
        else:
            ended.append(replace(run, captured=captured))
            if ended[-1].exit_code:
                break
    return [*ended, *runs[len(ended) :]]


def answer_about(
    runs: Sequence[Run],
    ncu: Ncu,
    selection: Selection | None,
    times: ProgramTimes | None,
    showing: Showing,
    judging: Judging,
    output: Output,
) -> None:
    """The answer of ``analyze``, then where the reports are, how it was measured and what next."""
    reports = [run.captured.report for run in runs if run.captured]
    analysis, _ = analyze_reports(reports, judging)
    if analysis is None:  # they were read a moment ago
        what = f"{', '.join(map(str, reports))} cannot be read any more"
        raise InputError(what, hint="the same command again")
    answer(analysis, Choice(), showing, output, selection)
    words = ["roofline", "analyze", *map(str, reports)]
    if showing.timeline is None:
        words += ["--explain", "1"]
    else:
        words += ["--timeline", str(showing.timeline), *_step(showing)]
    beside = () if times is None else (render.beside(times, analysis),)
    for line in ("", *beside, *_afterwards(runs, ncu, analysis), f"Next: {shell(words)}"):
        # A format for programs stays alone on stdout.
        click.echo(shown(line), err=output.format != "table")


def _afterwards(runs: Sequence[Run], ncu: Ncu, analysis: Analysis) -> Iterator[str]:
    """Where reports are, what is missing and why, what is not sure, and how it was measured."""
    absent: dict[str, None] = {}
    logged: list[int] = []
    for run in runs:
        if run.captured is None:
            continue
        captured, request = run.captured, run.request
        absent |= dict.fromkeys(captured.absent)
        logged += captured.passes
        log = f", log: {captured.log}" if captured.log is not None else ""
        yield f"Report: {captured.report} ({numbers.plural(captured.launches, 'launch')}){log}"
        if run.about is not None:
            yield f"  {run.about}"
        if said := _ENDED if captured.stopped == TAKEN else captured.partial:
            yield said if said == _ENDED else f"Partial: {said}"
        # A count that was computed is not a limit.
        count = None if run.wanted or request.per_config else request.launch_count
        if count == captured.launches:
            limit = numbers.plural(count, "launch")
            yield f"The limit of {limit} was reached; --launch-count raises it."
    for run in runs:
        if run.failure is not None:
            code = f" [{run.failure_code}]" if run.failure_code else ""
            yield f"Partial: no report of {run.kernels}: {run.failure.what}{code}"
        elif run.captured is None:
            yield f"Partial: {run.kernels} was not started"
    noted = dict.fromkeys(note_text(n) for run in runs if run.wanted for n in run.wanted.notes)
    yield from (f"Note: {names.printable(line)}" for line in noted)
    if absent:
        yield f"Not in the report: {names.few(absent, _MANY)}"
    first = next(run.request for run in runs if run.captured)
    yield render.measured(first, ncu, analysis, logged)
