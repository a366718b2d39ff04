"""What ``roofline profile`` does once its options are read: plan, run ncu, and answer."""

from __future__ import annotations

import hashlib
import math
import os
import re
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from shlex import join as shell
from typing import Any

import click

from roofline import wall_time
from roofline.capture import preflight
from roofline.capture.command import command as ncu_command
from roofline.capture.command import wants_collectives_in_vain
from roofline.capture.failures import NcuFailedError, RecognisedError, failed
from roofline.capture.levels import CHIP_OF_CAPABILITY, chip_of, table
from roofline.capture.machine import TABLE, look, model_names
from roofline.capture.request import CaptureRequest, Ncu, Version
from roofline.capture.run import (
    TAKEN,
    Captured,
    CaptureSetup,
    capture,
    check_output,
    free_names,
    kernels_seen,
    log_path,
    numbered,
)
from roofline.cli.analyze import Showing, analyze_reports, answer
from roofline.cli.errors import say
from roofline.cli.output import progress
from roofline.cli.profile import OF_TIMELINE, ProfileOptions
from roofline.errors import InputError, RooflineError, UsageError
from roofline.files import whole_file
from roofline.foreign import shown
from roofline.kernel_names import families, is_collective
from roofline.model import Analysis, Device
from roofline.process import become, run_quietly
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
        return self.failure.failure.code if isinstance(self.failure, RecognisedError) else None

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


# --- the whole way ------------------------------------------------------------------------------


def profile(options: ProfileOptions, base: CaptureRequest) -> int:
    """Plan the runs of ncu, or run it and answer; the exit code."""
    selection = None if options.looks else _selection(options, base)
    times = None if options.time_file is None else wall_time.read_times(options.time_file)
    runs = runs_of(base, selection, options.output.output)
    if not options.list_kernels:
        _check_files(runs, options)
    advice, absent = _check_program(options, selection, base.devices)
    if options.dry_run:
        click.echo(shown("\n".join(_plan(runs, options, selection, advice, absent))))
        return 0
    base, setting = _look_up(base, options)
    runs = runs_of(base, selection, options.output.output)
    for run in runs:  # ncu reads its command lines before anything runs
        preflight.check_command(run.request, setting.ncu)
    if selection is None:
        _tell_choice(base, setting)
    if options.list_kernels:
        click.echo("\n".join(kernels_seen(base, setting)))
        return 0
    if options.time:
        times = _timed(options.program, options.timeout)
    if options.looks:
        options, selection = _look(options, base, setting, runs[0].report)
        runs = runs_of(base, selection, options.output.output)
        _check_files(runs, options)
        for run in runs:
            preflight.check_command(run.request, setting.ncu)
    runs = _capture_all(runs, setting, force=options.output.force)
    if any(run.captured for run in runs):
        _answer(runs, setting.ncu, selection, times, options)
    return exit_code(runs)


# --- before the program starts ----------------------------------------------------------------


def criteria_of(**asked: Any) -> Criteria:
    """What makes kernels worth profiling; ``None`` is the usual value."""
    return Criteria(**{name: value for name, value in asked.items() if value is not None})


def _selection(options: ProfileOptions, base: CaptureRequest) -> Selection | None:
    """What the timeline shows to be worth profiling; other ranks become the program here."""
    showing = options.showing
    if showing.timeline is None:
        _leave_other_ranks(options, 1)
        return None
    if base.by_range or base.graphs == "graph":
        option = f"--replay {base.replay}" if base.by_range else "--graphs graph"
        raise UsageError(
            f"--timeline and {option} exclude each other",
            why="a timeline names kernels, and ncu sees none there",
            hint="--replay application, if kernels talk to the host",
        )
    if showing.timeline.is_dir():
        raise InputError(
            f"cannot profile by {showing.timeline}",
            why="it is a folder, and --timeline takes the file of one rank",
            hint=f"{_select_command(showing)}, which names the file that matters most",
        )
    timeline = load_timeline(showing.timeline, step=showing.step)
    asked = criteria_of(**{name: getattr(options, name) for name in OF_TIMELINE})
    selection = select(timeline, asked)
    if (device := _driven(options.rank, selection, base.devices)) != selection.device:
        selection = select(timeline, replace(asked, device=device))
    _leave_other_ranks(options, len(selection.requests))
    loud = sys.stderr.isatty() and not options.quiet
    for line in text.warning(selection) or (islice(text.head(selection), 2) if loud else ()):
        say(line)
    if not selection.requests:
        raise _nothing_to_profile(selection, showing, options.min_share)
    return selection


def _driven(rank: int | None, selection: Selection, devices: str | None) -> int:
    """The device whose kernels are profiled: of ``rank``, or asked for, where that is known."""
    if rank is None or rank >= len(selection.driven):
        asked = [d for d in selection.driven if str(d) == devices]
        return asked[0] if asked else selection.device
    device = selection.driven[rank]
    if devices is not None and str(device) not in devices.split(","):
        raise UsageError(
            f"--rank {rank} and --device {devices} do not fit",
            why=f"each GPU of the timeline has a process of its own, this rank's is {device}",
            hint=f"--rank {rank} alone",
        )
    return device


def _leave_other_ranks(options: ProfileOptions, runs: int) -> None:
    """Become the program where this is another rank; every rank reads the timeline alike."""
    if options.rank is None:
        return
    if runs > 1:
        raise UsageError(
            f"--rank with --timeline: {runs} runs are needed",
            why="the other ranks would run only once",
            hint=f"{_select_command(options.showing)}, and one parallel job for each command; or a "
            "smaller --top",
        )
    chosen = preflight.is_chosen(options.rank, os.environ) if runs else True
    if chosen is None and not options.dry_run:
        # ncu around a whole job would take each rank in turn and hang in the first collective.
        inside = preflight.command_in_launcher(options.rank, options.program, _words_of(options))
        raise UsageError(
            f"--rank {options.rank}: this process is not a rank of a parallel job",
            why=f"none of {', '.join(TABLE['ranks'])} is set",
            hint=f"put roofline inside the launcher: {inside}; or --dry-run, which needs none",
        )
    if chosen is not False:
        return
    if options.dry_run:
        said = f"# only rank {options.rank} is profiled; this one runs the program alone"
        click.echo(said, err=True)
        raise click.exceptions.Exit(0)
    try:
        become(options.program)
    except OSError as error:
        evidence = f"{options.program[0]}: {error.strerror}"
        raise failed("program_missing", evidence=evidence) from error


def _check_program(
    options: ProfileOptions, selection: Selection | None, devices: str | None
) -> tuple[str | None, str | None]:
    """Refuse what cannot be run under ncu; what to say of a launcher, and of a program not here."""
    ours, rank, assumed = _words_of(options), None, ""
    if selection is not None and (devices is None or devices.isdecimal()):
        device = selection.device if devices is None else int(devices)
        rank = selection.rank_of(device)
        if rank is not None and selection.rank is None:
            ours = _without("--device", ours)  # the process of one rank may number GPUs anew
            assumed = f"rank {rank} is assumed to drive device {device} of the timeline; "
    several = selection is not None and len(selection.devices) > 1
    advice = None
    if options.rank is not None:
        rank, assumed = options.rank, ""
    if options.rank is None or options.dry_run:
        advice = preflight.advice_on_launcher(options.program, ours, rank or 0, assumed)
    if advice is not None:
        if rank is None and (devices is not None or several):
            which = devices or ("" if selection is None else selection.device)
            what = f"which rank drives device {which} is not known"
            raise UsageError(what, hint="--rank N, with the rank whose process runs on it")
        say(advice)
    return advice, preflight.check_program(options.program, os.environ, elsewhere=options.dry_run)


def _words_of(options: ProfileOptions) -> list[str]:
    """The words before the program, for a run of the rank that is added to them."""
    words = [w for w in sys.argv[1 : -len(options.program)] if w != "--dry-run"]
    return ["roofline", *_without("--rank", words[:-1] if words[-1:] == ["--"] else words)]


def _without(option: str, words: list[str]) -> list[str]:
    pairs = zip(("", *words), words, strict=False)
    return [w for before, w in pairs if option not in (before, w.partition("=")[0])]


def _look_up(
    request: CaptureRequest, options: ProfileOptions
) -> tuple[CaptureRequest, CaptureSetup]:
    """Find ncu, look at the machine, fit the request to it; nothing is profiled."""
    machine = look()
    try:
        ncu = preflight.find_ncu(options.ncu)
    except NcuFailedError as error:
        if machine.gpus or machine.driver or error.failure.code != "ncu_missing":
            raise
        evidence = "no GPU, no driver and no ncu is here"
        if "--dry-run" in options.program:
            evidence += "; --dry-run went to PROGRAM: roofline's options stand before it"
        raise failed("no_driver", evidence=evidence) from error
    request, notes = preflight.fit(request, ncu, machine)
    for note in notes:
        say(note)
    # The command line of this process, for somebody else's shell.
    first, *words = sys.argv
    module = Path(first).name == "__main__.py"
    ours = [sys.executable, "-m", "roofline"] if module else [str(Path(first).absolute())]
    return request, CaptureSetup(
        ncu=ncu,
        machine=machine,
        stall_s=options.stall_timeout,
        limit_s=options.timeout,
        tell=say if sys.stderr.isatty() and not options.quiet else lambda _: None,
        stdout_to_stderr=options.answer.format != "table" or options.list_kernels,
        command=shell([*ours, *words]),
        linger_s={"launches": 0.0, "minute": 60.0}.get(options.until, math.inf),
    )


def _tell_choice(request: CaptureRequest, setting: CaptureSetup) -> None:
    """What a person should know about the choice of kernels."""
    for word in request.families:
        say(f"{word}: {families()[word]}; --exact-regex for the letters alone")
    if any(is_collective(name) for name in request.kernels) or request.collectives:
        say("collectives are profiled: one hangs if its peers do not run (--stall-timeout)")
    elif wants_collectives_in_vain(request):
        say("collectives are left out, also those that match --kernel; --collectives takes them")
    elif request.omits_collectives:
        left_out = "collectives (NCCL, NVSHMEM, all-reduce ...) are left out"
        setting.tell(f"{left_out}; --collectives takes them")


def _check_files(runs: Sequence[Run], options: ProfileOptions) -> None:
    """Raise ``UsageError`` where a report or what is seen would replace somebody's file."""
    from roofline.timeline.trace import program_of

    for run in runs:
        check_output(run.report, force=options.output.force)
    place = _look_of(runs[0].report)
    if options.looks and place.exists() and program_of(place) is None:
        raise UsageError(f"{place} is not of roofline", hint="another name: -o REPORT")


def _look_of(report: Path) -> Path:
    return report.with_name(re.sub(r"-\d+$", "", report.stem) + ".look.json.gz")


def _look(
    options: ProfileOptions, base: CaptureRequest, setting: CaptureSetup, report: Path
) -> tuple[ProfileOptions, Selection]:
    """See which kernels take the time, now or as seen before, and choose among them."""
    from roofline.capture.look import LookInterrupted, look_at
    from roofline.timeline.trace import SEEN, packed, program_of

    place = _look_of(report)
    digest = hashlib.sha256("\0".join(base.program).encode("utf-8", "surrogateescape")).hexdigest()
    files = [Path(word) for word in base.program if Path(word).is_file()]
    if (
        options.look == "auto"
        and program_of(place) == digest
        and not any(file.stat().st_mtime > place.stat().st_mtime for file in files)
    ):
        say(f"Kernels as seen before ({place}); --look again looks again")
    else:
        try:
            seen = look_at(base, setting, options.look, options.look_seconds, say)
        except LookInterrupted as stop:
            raise click.exceptions.Exit(128 + int(getattr(signal, stop.signal))) from stop
        with whole_file(place, force=True) as made:
            made.write_bytes(packed(seen.timeline, **{SEEN: {"program": digest, "by": seen.by}}))
    asked = criteria_of(
        top=options.top or 10,
        min_share=options.min_share or 0.0,
        warmup_steps=options.warmup_steps,
        kernels=options.kernel,
        letters=options.exact_regex,
        cover=0.9 if options.cover is None else options.cover,
    )
    selection = select(load_timeline(place, step=options.showing.step), asked)
    if not selection.requests:
        raise _nothing_chosen(selection)
    covers = covered(coverage(selection, selection.chosen), selection)
    say(f"Chosen: {covers}; {numbers.plural(len(selection.requests), 'run')} under ncu")
    return replace(options, showing=replace(options.showing, timeline=place)), selection


def _nothing_chosen(selection: Selection) -> InputError:
    """The error where no kernel of a look is worth ncu."""
    criteria = selection.asked
    ran = dict.fromkeys(names.printable(k.base_name) for k in selection.kernels)
    why = f"most time takes {', '.join(islice(ran, _MANY))}" if ran else "all are under 2 µs"
    what, hint = "no kernel is worth profiling", "more work in the program"
    if criteria.kernels and not criteria.matching(selection.kernels):
        what = f"no kernel that ran matches --kernel {', '.join(criteria.kernels)}"
        hint = "a word of one of these, or none"
    elif criteria.min_share or not criteria.cover:
        hint = "a lower --min-share, or a higher --cover"
    return InputError(what, why=why, hint=hint)


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


def _timed(program: Sequence[str], limit_s: float | None) -> ProgramTimes:
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
        name_base=wanted.name_base,
        launch_skip=wanted.launch_skip or 0,
        launch_count=wanted.launch_count,
        per_config=wanted.per_config,
        configs=sum(name in wanted.names for name in named) or None,
        nvtx=() if wanted.nvtx is None else (wanted.nvtx,),
    )


def _nothing_to_profile(
    selection: Selection, showing: Showing, min_share: float | None
) -> InputError:
    """The error where no kernel is worth ncu."""
    what = f"no kernel of {names.printable(selection.file)} is worth profiling"
    hint = f"{_select_command(showing)} shows where the time goes"
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


def _select_command(showing: Showing) -> str:
    """``roofline select`` for the same timeline."""
    return shell(["roofline", "select", *_timeline_of(showing)])


def _timeline_of(showing: Showing) -> list[str]:
    step = [] if showing.step is None else ["--step", showing.step]
    return [str(showing.timeline), *step]


# --- the plan of --dry-run --------------------------------------------------------------------


def _plan(
    runs: Sequence[Run],
    options: ProfileOptions,
    selection: Selection | None,
    advice: str | None,
    absent: str | None,
) -> Iterator[str]:
    """The command lines of ncu and their cost by chip; ncu only tells its version and options.

    ``advice`` says what to run in place of the program, as ncu would hang, ``absent`` why it cannot
    be run here.
    """
    if absent is not None:
        yield f"# {absent}; a real run needs it"
    if options.looks:
        yield "# a real run first looks which kernels take the time, and profiles those;"
        yield "# the command is that of --look none"
    try:
        ncu = preflight.find_ncu(options.ncu)
    except NcuFailedError as error:
        ncu = _NEWEST
        yield f"# {error.failure.cause}; the command is for a recent ncu"
    chips, notes = _chips_planned(options, selection)
    yield from notes
    if advice is not None:
        yield f"# {advice}"
    for number, run in enumerate(runs, 1):
        if run.about is not None:
            yield f"# run {number} of {len(runs)}: {run.about}"
        if advice is None:
            request = preflight.with_metrics(run.request, chips or (_ELSE,), ncu)
            log = log_path(run.report)
            yield shell(ncu_command(request, ncu, report=run.report, log=log))
    yield from ("", *render.costs(runs[0].request, chips or _SHOWN))


def _chips_planned(
    options: ProfileOptions, selection: Selection | None
) -> tuple[tuple[str, ...], list[str]]:
    """The chips that a plan is for, and what is to be said of them."""
    here = (Device(name=name) for name in model_names())
    chips = (_known_chip(options.chip),) if options.chip else _chips_of(here)
    seen = None if selection is None else selection.selected.device
    notes, nowhere = [], "# no GPU is known here; the command is for"
    if not chips and seen is not None and (chips := _chips_of([seen])):
        gpu = names.printable(seen.name or seen.compute_capability or "")
        notes = [f"{nowhere} {chips[0]}, of the timeline: {gpu}"]
    elif not chips:
        notes = [f"{nowhere} {_ELSE}, --chip NAME for another"]
        notes += ["# (a real run asks the driver and ncu what there is)"]
    if older := [chip for chip in chips if chip not in table()]:
        why = "is too old for the pass table: a real run asks ncu what it counts"
        notes.append(f"# {older[0]} {why}")
    return chips, notes


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


def _capture_all(runs: Sequence[Run], setting: CaptureSetup, *, force: bool) -> list[Run]:
    """One capture after the other, until one is stopped or fails for a reason all would share."""
    ended: list[Run] = []
    for number, run in enumerate(runs, 1):
        title = f"run {number} of {len(runs)} ({run.kernels})"
        where = f"{title}: " if len(runs) > 1 else ""
        say(where + render.ending(run.request, setting.linger_s, counted=run.wanted is not None))
        try:
            captured = capture(run.request, setting, run.report, force=force)
            ended.append(replace(run, captured=captured))
        except RooflineError as error:
            ended.append(replace(run, failure=error))
            estimated = run.wanted is not None and run.wanted.basis is Basis.ESTIMATED
            if ended[-1].failure_code in _NOT_MET and estimated:
                skipped = run.request.launch_skip
                say(f"{skipped} launches were skipped; a smaller --warmup-steps skips fewer")
            if len(runs) == 1:
                raise
            say(f"{title}: {error}")
        if ended[-1].exit_code and ended[-1].failure_code not in _OF_ITS_KERNELS:
            break
    return [*ended, *runs[len(ended) :]]


def _answer(
    runs: Sequence[Run],
    ncu: Ncu,
    selection: Selection | None,
    times: ProgramTimes | None,
    options: ProfileOptions,
) -> None:
    """The answer of ``analyze``, then where the reports are, how it was measured and what next."""
    reports = [run.captured.report for run in runs if run.captured]
    showing, output = options.showing, options.answer
    analysis = analyze_reports(reports, options.judging)
    answer(analysis, Choice(), showing, output, selection)
    more = ["--timeline", *_timeline_of(showing)] if showing.timeline else ["--explain", "1"]
    words = ["roofline", "analyze", *map(str, reports), *more]
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
