"""``roofline profile``: a program under ncu, and the answer about its kernels."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import click

from roofline.capture.command import check_regex, shell, wants_collectives_in_vain
from roofline.capture.command import command as ncu_command
from roofline.capture.failures import NcuFailedError, failed
from roofline.capture.levels import CHIP_OF_CAPABILITY, chip_of, metrics_of, table
from roofline.capture.machine import Gpu, look, model_names
from roofline.capture.preflight import ask, check_command, check_program, find_ncu, fit
from roofline.capture.ranks import is_chosen
from roofline.capture.request import (
    DEFAULT_LAUNCH_COUNT,
    CaptureLevel,
    CaptureRequest,
    NameBase,
    Ncu,
    Replay,
    Version,
)
from roofline.capture.run import (
    CaptureSetup,
    check_output,
    free_names,
    kernel_names,
    log_path,
    numbered,
)
from roofline.cli import profile_timeline as timeline
from roofline.cli.analyze import Showing, analyze_reports, answer, check
from roofline.cli.errors import say
from roofline.cli.options import (
    FORMATS,
    GROUPS,
    PROGRAM,
    Judging,
    Parsed,
    amount,
    argument,
    expert,
    shared,
    typed_command,
    which,
)
from roofline.cli.output import Output
from roofline.cli.profile_timeline import Outcome, Run
from roofline.errors import InputError, UsageError
from roofline.kernel_names import is_collective
from roofline.model import Analysis, Device
from roofline.process import become
from roofline.render import capture as render
from roofline.specs import load
from roofline.timeline.model import ProfileRequest, Selection
from roofline.view import Choice

# What chooses the kernels: options of a timeline, and those that it leaves no room for.
_OF_TIMELINE = {"--top": "top", "--min-share": "min_share", "--warmup-steps": "warmup_steps"}
_BY_HAND = {
    "--kernel": "kernels",
    "--kernel-name": "kernel_names",
    "--name-base": "name_base",
    "--collectives": "collectives",
    "--launch-skip": "launch_skip",
    "--launch-count": "launch_count",
    "--per-config": "per_config",
    "--nvtx": "nvtx",
    "--capture-range": "capture_range",
    "--list-kernels": "list_kernels",
}
_MANY = 5  # names that a message lists
# The chips that the plan shows where none is known: one of each generation.
SHOWN = ("TU102", "GA100", "GA102", "AD102", "GH100", "GB100", "GB202")
ELSE = "GH100"
# Without an ncu the plan is for one that takes every option.
_NEWEST = Version(year=2100, minor=1, text="any")


def _perl(text: str) -> str:
    check_regex(text)
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileOptions:
    """``roofline profile``; ``None`` where an option was not given and has a default."""

    kernels: tuple[str, ...] = which(
        "-k --kernel --kernel-regex RE...",
        "Kernels in whose demangled name RE is found (Perl syntax, case counts). Repeatable.",
        type=Parsed("regex", _perl),
    )
    kernel_names: tuple[str, ...] = which(
        "--kernel-name NAME...",
        "Exactly this function; with arguments, this whole signature. Repeatable.",
    )
    devices: tuple[str, ...] = which(
        "--device X...", "Only this GPU: its index, or a part of its name. Repeatable."
    )
    nvtx: tuple[str, ...] = which(
        "--nvtx RANGE...",
        "Only in this NVTX range: a name (push/pop or start/end), or ncu's own expression.",
    )
    capture_range: bool = which(
        "--capture-range", "Only between cudaProfilerStart and cudaProfilerStop."
    )
    collectives: bool = which(
        "--collectives",
        "Also kernels that wait for other GPUs (NCCL, NVSHMEM, all-reduce): under ncu they "
        "hang unless their peers run too.",
    )
    rank: int | None = which(
        "--rank INDEX",
        "In a parallel job, profile rank N and run the others bare. roofline goes inside the "
        "launcher: mpirun -n 8 roofline profile --rank 0 ./app.",
    )
    showing: Showing = shared(
        Showing,
        timeline={
            "group": GROUPS[0],
            "help": "Profile the kernels that 'roofline select' picks from this timeline of the "
            "same program, in as few runs as possible; the answer says what each could gain for "
            "a step.",
        },
        step={"group": GROUPS[0]},
    )
    launch_skip: int | None = amount(
        "-s --launch-skip COUNT", "Skip the first N matching launches.  [default: 0]"
    )
    launch_count: int | None = amount(
        "-c --launch-count COUNT",
        "Profile at most N launches; 0 is no limit.  "
        f"[default: {DEFAULT_LAUNCH_COUNT}; 1 for each with --per-config]",
    )
    per_config: bool = amount("--per-config", "Count launches for each grid and block.")
    level: str = amount(
        "--level",
        "quick: duration, DRAM, issue slots, operations (1 hardware pass); standard: all "
        "that a verdict needs (at most 7); full: NVIDIA's set as well (30 to 49 in all).",
        type=click.Choice([level.value for level in CaptureLevel]),
        default=CaptureLevel.STANDARD.value,
    )
    top: int | None = amount("--top N", "With --timeline: at most N kernels.  [default: 5]")
    min_share: float | None = amount(
        "--min-share PERCENT",
        "With --timeline: kernels with at least this share of the wall time.  [default: 1]",
    )
    timeout: float | None = amount("--timeout SECONDS", "End the run after this time.")
    dry_run: bool = amount(
        "--dry-run", "Print ncu's command line and its cost; run only ncu --version."
    )
    list_kernels: bool = amount(
        "--list-kernels",
        "Print the names of the kernels that the program launches (the first 200), and "
        "profile nothing.",
    )
    judging: Judging = shared(Judging)
    output: Output = shared(
        Output,
        asked_format={
            "type": click.Choice([name for name in FORMATS if name != "parquet"]),
            "help": "Format of the answer; with any but table the program's output goes to "
            "stderr.  [default: table]",
        },
        output={
            "metavar": "REPORT",
            "help": "The report.  [default: named after PROGRAM, in this folder]",
        },
    )
    name_base: str | None = expert(
        "--name-base",
        "The spelling that is matched.  [default: demangled; function for --kernel-name]",
        type=click.Choice([base.value for base in NameBase]),
    )
    warmup_steps: int | None = expert(
        "--warmup-steps COUNT",
        "With --timeline: steps to skip where the timeline does not show which launch of "
        "the process it saw.  [default: 2]",
    )
    metrics: tuple[str, ...] = expert(
        "--metrics NAMES...", "More metrics, by ncu's names, separated by commas."
    )
    sections: tuple[str, ...] = expert("--section NAME...", "One more section. Repeatable.")
    section_set: str | None = expert("--set NAME", "A set of sections as well.")
    replay: str = expert(
        "--replay",
        "How metrics that need several passes are collected: the kernel runs again, or the "
        "whole program.",
        type=click.Choice([replay.value for replay in Replay]),
        default=Replay.KERNEL.value,
    )
    graphs: str = expert(
        "--graphs",
        "CUDA graphs kernel by kernel, or each as one.",
        type=click.Choice(["node", "graph"]),
        default="node",
    )
    clock_control: str = expert(
        "--clock-control",
        "Lock the GPU's clocks at base, or leave them as they are.",
        type=click.Choice(["base", "none"]),
        default="base",
    )
    cache_control: str = expert(
        "--cache-control",
        "Flush all caches before every pass, or leave them warm.",
        type=click.Choice(["all", "none"]),
        default="all",
    )
    ncu: str | None = expert("--ncu PATH", "The ncu to run.  [default: found]")
    ncu_options: tuple[str, ...] = expert(
        "--ncu-arg WORD...", "Extra argument for ncu, as --ncu-arg=--option=value. Repeatable."
    )
    stall_timeout: float = expert(
        "--stall-timeout SECONDS",
        "End the run if ncu shows no progress inside a kernel for this time.",
        default=300.0,
    )
    chip: str | None = expert(
        "--chip NAME", "With --dry-run: for this chip (gh100) or GPU, not the one that is here."
    )
    quiet: bool = expert("--quiet", "No progress on stderr.")
    program: tuple[str, ...] = argument("[--] PROGRAM [ARGS]...", **PROGRAM)

    @property
    def report(self) -> Path | None:
        """The report asked for: ``--output`` is not about the answer here."""
        return self.output.output

    @property
    def answer(self) -> Output:
        """Where the answer goes."""
        return replace(self.output, output=None)


@typed_command(ProfileOptions, "profile", allow_interspersed_args=False)
def command(options: ProfileOptions) -> int:
    """Run PROGRAM under ncu for the chosen kernels, and name what limits each.

    \b
    Examples:
      roofline profile --kernel gemm python bench.py
      roofline profile -k 'softmax|layer_?norm' --launch-skip 20 python train.py
      roofline profile --per-config --nvtx forward -o fwd.ncu-rep -- python bench.py --batch 8
      roofline profile --timeline trace.json.gz -- python train.py
      roofline profile --timeline report.sqlite --step 'iteration \\d+' --top 3 --dry-run -- ./app
      roofline profile --level quick --dry-run ./app
      roofline profile --list-kernels ./app
      mpirun -n 8 roofline profile --rank 0 ./app

    Options of roofline end at the first word that is not one; the rest reaches the program
    untouched. Its output is shown as it comes. The report and ncu's log are kept, and the answer
    is what 'roofline analyze' says about the report. Kernels that wait for other GPUs are left
    out without --collectives. With --timeline, a timeline chooses the kernels.

    Exit codes: 3 nothing in the timeline is worth it; 4 ncu could not profile; 5 the program
    failed and left nothing; 128 + N where signal N ended the run.
    """
    _check(options)
    base = _request(options)
    selection = _selection(options, base)
    planned = () if selection is None else selection.requests
    count = max(len(planned), 1)
    names = free_names(base.program, count)
    reports = names if options.report is None else numbered(options.report, count)
    if options.dry_run:
        click.echo(_plan(timeline.runs_of(base, planned, reports), options), nl=False)
        return 0
    if not options.list_kernels:
        for report in reports:
            check_output(report, force=options.output.force)
    base, setting = _look_up(base, options)
    runs = timeline.runs_of(base, planned, reports)
    for run in runs:
        check_command(run.request, setting.ncu, setting.metrics, ask)
    if selection is None:
        _tell_choice(base, setting)
    if options.list_kernels:
        click.echo("\n".join(kernel_names(base, setting)))
        return 0
    outcome = timeline.capture_all(runs, setting, force=options.output.force)
    if outcome.done:
        _answer(outcome, setting, options, selection)
    return outcome.exit_code


# --- before the program starts ----------------------------------------------------------------


def _selection(options: ProfileOptions, base: CaptureRequest) -> Selection | None:
    """What the timeline shows to be worth profiling; other ranks become the program here.

    Raises:
        InputError: the timeline cannot be read, or nothing in it is worth profiling.
        UsageError: options do not go together.

    """
    showing = options.showing
    if showing.timeline is None:
        _leave_other_ranks(options, ())
        return None
    timeline.check_kernels_can_be_chosen(base)
    selection = timeline.read(
        showing.timeline,
        step=showing.step,
        top=options.top,
        min_share=options.min_share,
        warmup_steps=options.warmup_steps,
    )
    _leave_other_ranks(options, selection.requests)
    timeline.tell(selection, loud=sys.stderr.isatty() and not options.quiet)
    if not selection.requests:
        raise timeline.nothing_to_profile(selection, showing, options.min_share)
    return selection


def _check(options: ProfileOptions) -> None:
    """Refuse at once what does not go together.

    Raises:
        UsageError: with the two options, and which to leave out.

    """
    if not options.program[0]:
        raise UsageError("the program's name is empty")
    if options.kernels and options.kernel_names:
        raise UsageError("--kernel and --kernel-name exclude each other", hint="one of them")
    if options.chip is not None and not options.dry_run:
        raise UsageError("--chip is for --dry-run", why="the GPU that is here decides otherwise")
    timeline_chooses = options.showing.timeline is not None
    for name, field in (_BY_HAND if timeline_chooses else _OF_TIMELINE).items():
        value = getattr(options, field)
        if value is None or value is False or value == ():
            continue
        if not timeline_chooses:
            raise UsageError(f"{name} is about a timeline", hint="--timeline FILE")
        raise UsageError(
            f"--timeline and {name} exclude each other",
            why="the timeline says which launches to profile",
            hint="one of them; 'roofline select' prints commands that you can change",
        )
    check(options.showing, options.answer)


def _request(options: ProfileOptions) -> CaptureRequest:
    """What the options ask ncu for."""
    count = options.launch_count
    if count is None:
        count = 1 if options.per_config else DEFAULT_LAUNCH_COUNT
    names = (name.strip() for words in options.metrics for name in words.split(","))
    many = len(options.kernels) > 1
    patterns = [f"(?:{pattern})" if many else pattern for pattern in options.kernels]
    return CaptureRequest(
        program=options.program,
        level=CaptureLevel(options.level),
        kernel_regex="|".join(patterns) or None,
        kernels=options.kernel_names,
        name_base=NameBase(options.name_base) if options.name_base else None,
        collectives=options.collectives,
        launch_skip=options.launch_skip or 0,
        launch_count=count or None,
        per_config=options.per_config,
        nvtx=options.nvtx,
        from_start=not options.capture_range,
        devices=_devices(options),
        metrics=tuple(name for name in names if name),
        sections=options.sections,
        section_set=options.section_set,
        replay=Replay(options.replay),
        lock_clocks=options.clock_control == "base",
        flush_caches=options.cache_control == "all",
        graphs=options.graphs,
        ncu_options=options.ncu_options,
    )


def _devices(options: ProfileOptions) -> str | None:
    """Ncu's list of the GPUs that are asked for.

    Raises:
        UsageError: a word is neither an index nor a part of the name of a GPU that is here.

    """
    words = [word.strip() for text in options.devices for word in text.split(",")]
    gpus: tuple[Gpu, ...] = ()
    if not all(word.isdecimal() for word in words):
        if options.dry_run:
            raise UsageError("--dry-run does not ask which GPUs are here", hint="--device 0")
        gpus = look().gpus
    found: list[int] = []
    for word in words:
        fits = [gpu.index for gpu in gpus if word and word.casefold() in gpu.name.casefold()]
        if not (word.isdecimal() or fits):
            there = ", ".join(f"{gpu.index} ({gpu.name})" for gpu in gpus)
            raise UsageError(
                f"--device {word}: no GPU of this name is here",
                hint=f"one of {there}" if there else "its index: --device 0",
            )
        found += [int(word)] if word.isdecimal() else fits
    return ",".join(map(str, dict.fromkeys(found))) or None


def _leave_other_ranks(options: ProfileOptions, planned: Sequence[ProfileRequest]) -> None:
    """Become the program where this is another rank; every rank reads the timeline alike."""
    if options.rank is None:
        return
    if len(planned) > 1:
        raise UsageError(
            f"--rank with --timeline: {len(planned)} runs are needed",
            why="the other ranks would run only once",
            hint=f"{timeline.select_command(options.showing)}, and one parallel job for each "
            "command; or a smaller --top",
        )
    needless = options.showing.timeline is not None and not planned
    if options.dry_run or needless or is_chosen(options.rank, options.program, os.environ):
        return
    try:
        become(options.program)
    except OSError as error:
        evidence = f"{options.program[0]}: {error.strerror}"
        raise failed("program_missing", evidence=evidence) from error


def _look_up(
    request: CaptureRequest, options: ProfileOptions
) -> tuple[CaptureRequest, CaptureSetup]:
    """Find program and ncu, look at the machine, fit the request to it; nothing is profiled.

    Raises:
        ProgramError: there is no such program.
        CaptureError: there is no ncu.

    """
    check_program(request.program[0], os.environ)
    ncu = find_ncu(options.ncu)
    machine = look()
    fitted = fit(request, ncu, machine, ask)
    for note in fitted.notes:
        say(note)
    return fitted.request, CaptureSetup(
        ncu=ncu,
        machine=machine,
        metrics=fitted.metrics,
        stall_s=options.stall_timeout,
        limit_s=options.timeout,
        tell=_silence if options.quiet or not sys.stderr.isatty() else say,
        stdout_to_stderr=options.answer.format != "table" or options.list_kernels,
    )


def _silence(_text: str) -> None:
    pass


def _tell_choice(request: CaptureRequest, setting: CaptureSetup) -> None:
    """What a person should know about the choice of kernels."""
    tell = setting.tell
    if any(is_collective(name) for name in request.kernels) or request.collectives:
        say("collectives are profiled: one whose peers do not run hangs (--stall-timeout)")
    elif wants_collectives_in_vain(request):
        say("collectives are left out, also those that --kernel asks for; --collectives takes them")
    elif request.omits_collectives:
        tell("collectives (NCCL, NVSHMEM, all-reduce ...) are left out; --collectives takes them")
    if request.launch_count is not None:
        what = "launches of each grid and block" if request.per_config else "launches"
        tell(f"at most {request.launch_count} {what}; --launch-count changes that")


# --- the plan of --dry-run --------------------------------------------------------------------


def _plan(runs: Sequence[Run], options: ProfileOptions) -> str:
    """The command lines of ncu and their cost by chip; only ``ncu --version`` is run.

    Raises:
        UsageError: no chip of this name is known.

    """
    lines = []
    request = runs[0].request
    try:
        ncu = find_ncu(options.ncu)
    except NcuFailedError as error:
        ncu = Ncu(path=Path("ncu"), version=_NEWEST, how="none found")
        lines.append(f"# {error.diagnosis.failure.cause}; the command is for a recent ncu")
    chips = (_known_chip(options.chip),) if options.chip else _chips_here()
    if not chips:
        lines.append(f"# no GPU is known here; the command is for {ELSE}, --chip NAME for another")
        lines.append("# (a real run asks the driver and ncu what there is)")
    metrics = metrics_of(request.level, chips or (ELSE,), request.metrics, patched=request.patched)
    for number, run in enumerate(runs, 1):
        if run.about is not None:
            lines.append(f"# run {number} of {len(runs)}: {run.about}")
        report, log = run.report.with_suffix(""), log_path(run.report)
        words = ncu_command(run.request, ncu, metrics=metrics, report=report, log=log)
        lines.append(shell(words))
    return "\n".join([*lines, "", *render.costs(request, chips or SHOWN)]) + "\n"


def _known_chip(name: str) -> str:
    """NVIDIA's name of the chip that ``name`` means: a chip, or a GPU's name.

    Raises:
        UsageError: the table of passes has no such chip.

    """
    if name.upper() in table():
        return name.upper()
    older = name.upper() in CHIP_OF_CAPABILITY.values()
    with suppress(UsageError):  # no GPU of this name either
        chip = chip_of(load().named(name).compute_capability)
        if chip is not None:
            return chip
    raise UsageError(
        f"--chip {name}: {'too old for the pass table' if older else 'not known'}",
        why="a real run on it asks ncu what it counts" if older else None,
        hint=f"one of {', '.join(sorted(table()))}, or a GPU's name",
    )


def _chips_here() -> tuple[str, ...]:
    """The chips of the GPUs that the driver lists in files, as far as the registry knows them."""
    names = model_names()
    if not names:
        return ()
    registry = load()
    specs = [registry.find(Device(name=name)).spec for name in names]
    chips = (chip_of(spec.compute_capability) for spec in specs if spec is not None)
    return tuple(dict.fromkeys(chip for chip in chips if chip))


# --- the answer -------------------------------------------------------------------------------


def _answer(
    outcome: Outcome, setting: CaptureSetup, options: ProfileOptions, selection: Selection | None
) -> None:
    """The answer of ``analyze``, then where the reports are, how it was measured and what next."""
    reports = [done.captured.report for done in outcome.done]
    analysis, _ = analyze_reports(reports, options.judging)
    if analysis is None:  # they were read a moment ago
        raise InputError(f"{', '.join(map(str, reports))} cannot be read any more")
    answer(analysis, Choice(), options.showing, options.answer, selection)
    for line in _afterwards(outcome, setting, options.showing, analysis):
        # A format for programs stays alone on stdout.
        click.echo(line, err=options.answer.format != "table")


def _afterwards(
    outcome: Outcome, setting: CaptureSetup, showing: Showing, analysis: Analysis
) -> Iterator[str]:
    yield ""
    for done in outcome.done:
        captured, request = done.captured, done.run.request
        log = f", log: {captured.log}" if captured.log is not None else ""
        yield f"Report: {captured.report} ({captured.launches} launches){log}"
        if done.run.about is not None:
            yield f"  {done.run.about}"
        if captured.partial is not None:
            yield f"Partial: {captured.partial}"
        # A count that was computed is not a limit.
        limited = done.run.wanted is None and not request.per_config
        if limited and request.launch_count == captured.launches:
            yield (
                f"The limit of {request.launch_count} launches was reached; "
                "--launch-count raises it."
            )
    yield from timeline.remarks_on(outcome)
    if absent := list(dict.fromkeys(name for d in outcome.done for name in d.captured.absent)):
        more = len(absent) - _MANY
        shown = ", ".join(absent[:_MANY])
        yield f"Not in the report: {shown}" + (f" and {more} more" if more > 0 else "")
    logged = [n for done in outcome.done for n in done.captured.progress.passes or ()]
    yield render.measured(outcome.done[0].run.request, setting.ncu, analysis, logged)
    words = ["roofline", "analyze", *(str(done.captured.report) for done in outcome.done)]
    if showing.timeline is None:
        words += ["--explain", "1"]
    else:
        words += ["--timeline", str(showing.timeline)]
        words += [] if showing.step is None else ["--step", showing.step]
    yield f"Next: {shell(words)}"
