"""``roofline profile``: a program under ncu, and the answer about its kernels."""

from __future__ import annotations

import math
import os
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from roofline.capture.command import check_regex, chosen, region_range, wants_collectives_in_vain
from roofline.capture.failures import NcuFailedError, failed
from roofline.capture.machine import look
from roofline.capture.preflight import (
    advice_on_launcher,
    ask,
    check_program,
    find_ncu,
    fit,
    is_chosen,
    outside_job,
)
from roofline.capture.request import (
    DEFAULT_LAUNCH_COUNT,
    CaptureLevel,
    CaptureRequest,
    NameBase,
    Replay,
)
from roofline.cli import completion
from roofline.cli import options as opt
from roofline.cli.analyze import Showing, check
from roofline.cli.errors import say
from roofline.cli.options import FORMATS, GROUPS, PROGRAM, Judging, Share
from roofline.cli.output import Output
from roofline.errors import InputError, UsageError
from roofline.foreign import shown
from roofline.kernel_names import families, is_collective
from roofline.process import become, reads_a_pipe
from roofline.wall_time import read_times

if TYPE_CHECKING:
    from roofline.capture.run import CaptureSetup
    from roofline.timeline.model import Selection

# Fields that choose the kernels: by a timeline, and those that it leaves no room for.
_OF_TIMELINE = ("top", "min_share", "warmup_steps", "cover")
_OF_LOOK = ("kernel", "exact_regex", "collectives")  # which a look takes, and a timeline does not
_EXCLUSIVE = (
    ("kernel", "kernel_name"),
    ("first", "launch_count"),
    ("time", "time_file"),
    *(("time", other) for other in ("rank", "dry_run", "list_kernels")),
    *(("time_file", other) for other in ("rank", "dry_run", "list_kernels")),
    ("dry_run", "list_kernels"),
    ("first", "per_config"),
    *(
        ("list_kernels", other)
        for other in (
            "kernel kernel_name first launch_skip launch_count per_config nvtx region "
            "capture_range output explain plot page chart asked_format as_json"
        ).split()
    ),
)
_WHY = {
    "look": "the other one says which launches to profile",
    "until": "no number says then which launch is the last",
    "list_kernels": "--list-kernels lists all kernels and profiles none",
}
# Fields that say nothing without one of others.
_NEEDS = {"exact_regex": ("kernel",), "name_base": ("kernel", "kernel_name")}
# Fields that a request has under the same name.
_SAME = (
    "program collectives per_config sections section_set clock_control cache_control rules graphs "
    "ncu_options"
).split()
_BY_HAND = (
    "kernel exact_regex kernel_name name_base collectives launch_skip launch_count per_config nvtx "
    "region capture_range list_kernels first"
).split()


def _perl(text: str) -> str:
    check_regex(text)
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileOptions:
    """``roofline profile``; ``None`` where an option was not given and has a default."""

    kernel: tuple[str, ...] = opt.which(
        "-k --kernel --kernels --kernel-regex RE...", type=_perl, shell_complete=completion.families
    )
    exact_regex: bool = opt.which("--exact-regex", opt.EXACT)
    kernel_name: tuple[str, ...] = opt.which("--kernel-name NAME...")
    devices: tuple[str, ...] = opt.which("--device X...")
    nvtx: tuple[str, ...] = opt.which("--nvtx RANGE...")
    region: tuple[str, ...] = opt.which("--region NAME...")
    capture_range: bool = opt.which("--capture-range")
    collectives: bool = opt.which("--collectives")
    rank: int | None = opt.which("--rank INDEX")
    showing: Showing = opt.shared(
        Showing,
        timeline={
            "group": GROUPS[0],
            "help": "Profile the kernels that 'roofline select' picks from this timeline of the "
            "same program, in as few runs as possible, and say how much each could speed up a "
            "step.",
        },
        step={"group": GROUPS[0]},
        source={
            "help": "Put the program's source files into the report (nvcc -lineinfo); with "
            "--explain, show them.",
        },
    )
    launch_skip: int | None = opt.amount("-s --launch-skip COUNT")
    launch_count: int | None = opt.amount(
        "-c --launch-count COUNT",
        "Profile at most COUNT launches; 0 is no limit.  "
        f"[default: {DEFAULT_LAUNCH_COUNT}; 1 for each with --per-config]",
    )
    first: int | None = opt.amount("--first N")
    look: str = opt.amount(
        "--look auto|again|nsys|torch|ncu|none",
        default="auto",
        show_default=False,
        envvar="ROOFLINE_LOOK",
    )
    look_seconds: float = opt.amount("--look-seconds SECONDS", default=20.0)
    cover: float | None = opt.amount("--cover PERCENT", type=Share(0, 100))
    until: str = opt.amount("--until launches|minute|program", default="minute")
    per_config: bool = opt.amount("--per-config")
    level: str = opt.amount(
        f"--level {'|'.join(CaptureLevel)}", default=CaptureLevel.STANDARD.value
    )
    top: int | None = opt.amount("--top N")
    min_share: float | None = opt.amount("--min-share PERCENT", type=Share(0, 100))
    timeout: float | None = opt.amount("--timeout SECONDS")
    time: bool = opt.amount("--time")
    time_file: Path | None = opt.amount("--time-file FILE")
    dry_run: bool = opt.amount("--dry-run")
    list_kernels: bool = opt.amount("--list-kernels")
    judging: Judging = opt.shared(Judging)
    output: Output = opt.shared(
        Output,
        asked_format={
            "type": click.Choice([name for name in FORMATS if name != "parquet"]),
            "help": "Format of the answer; with any but table the program's output goes to "
            "stderr.  [default: table]",
        },
        output={
            "metavar": "REPORT",
            "help": "The report.  [default: named after PROGRAM, in this folder, with a number "
            "where there is one]",
        },
    )
    name_base: str | None = opt.expert(f"--name-base {'|'.join(NameBase)}")
    warmup_steps: int | None = opt.expert("--warmup-steps COUNT")
    metrics: tuple[str, ...] = opt.expert("--metrics NAMES...")
    sections: tuple[str, ...] = opt.expert("--section NAME...")
    section_set: str | None = opt.expert("--set NAME")
    rules: bool = opt.expert("--rules")
    replay: str = opt.expert(f"--replay {'|'.join(Replay)}", default=Replay.KERNEL.value)
    graphs: str = opt.expert("--graphs node|graph", default="node")
    clock_control: str = opt.expert("--clock-control base|boost|force-boost|none", default="base")
    cache_control: str = opt.expert("--cache-control all|none", default="all")
    ncu: str | None = opt.expert("--ncu PATH")
    ncu_options: tuple[str, ...] = opt.expert("--ncu-arg WORD...")
    stall_timeout: float = opt.expert("--stall-timeout SECONDS", default=300.0)
    chip: str | None = opt.expert("--chip NAME", shell_complete=completion.chips)
    quiet: bool = opt.expert("--quiet")
    program: tuple[str, ...] = opt.argument("[--] PROGRAM [ARGS]...", **PROGRAM)

    @property
    def answer(self) -> Output:
        """Where the answer goes: ``--output`` is the report here."""
        return replace(self.output, output=None)


@opt.typed_command(ProfileOptions, "profile", allow_interspersed_args=False)
def command(options: ProfileOptions) -> int:
    """Run PROGRAM under ncu for the chosen kernels, and name what limits each."""
    from roofline.capture.run import kernels_seen
    from roofline.cli import profile_run

    _check(options)
    base, looked = _request(options), _looks(options)
    selection = None if looked else _selection(options, base)
    times = None if options.time_file is None else read_times(options.time_file)
    runs = profile_run.runs_of(base, selection, options.output.output)
    force = options.output.force
    if not options.list_kernels:
        profile_run.check_files(runs, force=force, looked=looked)
    advice, absent = _check_program(options, selection, base.devices)
    if options.dry_run:
        seen = None if selection is None else selection.selected.device
        lines = profile_run.plan(
            runs, options.ncu, options.chip, looked=looked, absent=absent, advice=advice, seen=seen
        )
        click.echo(shown(lines))
        return 0
    base, setting = _look_up(base, options)
    runs = profile_run.runs_of(base, selection, options.output.output)
    profile_run.check_commands(runs, setting)
    if selection is None:
        _tell_choice(base, setting)
    if options.list_kernels:
        click.echo("\n".join(kernels_seen(base, setting)))
        return 0
    if options.time:
        times = profile_run.timed(options.program, options.timeout)
    if looked:
        options, selection = _look(options, base, setting, runs[0].report)
        runs = profile_run.runs_of(base, selection, options.output.output)
        profile_run.check_files(runs, force=force, looked=True)
        profile_run.check_commands(runs, setting)
    runs = profile_run.capture_all(runs, setting, force=force)
    if any(run.captured for run in runs):
        profile_run.answer_about(
            runs, setting.ncu, selection, times, options.showing, options.judging, options.answer
        )
    return profile_run.exit_code(runs)


def _check(options: ProfileOptions) -> None:
    """Refuse at once what does not go together."""
    if not options.program[0]:
        raise UsageError("the program's name is empty", hint="roofline profile python bench.py")
    _check_pairs(options, _given())
    if not _looks(options):
        _check_unlooked(options, _given())
    if options.chip is not None and not options.dry_run:
        why = "a run takes the GPU of this machine"
        raise UsageError("--chip needs --dry-run", why=why, hint="add --dry-run, or leave it out")
    if options.time and reads_a_pipe():
        why = "its runs would find the pipe that the program reads empty"
        raise UsageError("--time needs several runs", why=why, hint="--time-file FILE")
    # The source goes into the report, explained or not.
    check(replace(options.showing, source=False), options.answer)


def _check_pairs(options: ProfileOptions, given: set[str]) -> None:
    """Refuse what excludes each other, and what would do nothing alone."""
    pairs = [pair for pair in _EXCLUSIVE if given.issuperset(pair)]
    if "look" in given and options.look != "none":
        pairs += [("look", other) for other in _otherwise(options)]
    if "until" in given and options.until != "program" and (uncounted := _uncounted(options)):
        pairs.append(("until", uncounted))
    for one, other in pairs:
        what = f"{_spelling(one)} and {_spelling(other)} exclude each other"
        raise UsageError(what, why=_WHY.get(other, _WHY.get(one)), hint="one of them")
    for field in (f for f in _BY_HAND if "timeline" in given and f in given):
        raise UsageError(
            f"--timeline and {_spelling(field)} exclude each other",
            why="the timeline says which launches to profile",
            hint="one of them; 'roofline select' prints commands that you can change",
        )
    for field, others in _NEEDS.items():
        if field in given and given.isdisjoint(others):
            needed = " or ".join(map(_spelling, others))
            raise UsageError(f"{_spelling(field)} needs {needed}", hint=f"{needed} NAME")


def _check_unlooked(options: ProfileOptions, given: set[str]) -> None:
    """Refuse what is for a look alone, or for a timeline."""
    for field in sorted(given.intersection((*_OF_TIMELINE, "look_seconds"))):
        others = [*_otherwise(options), *(["look none"] if options.look == "none" else [])]
        left = ", ".join(map(_spelling, others))
        ways = [f"leave out {left}"] if left else ["--look ncu"]
        if field == "look_seconds":
            raise UsageError("--look-seconds needs a look", hint=ways[0])
        if "timeline" not in given:
            what = f"{_spelling(field)} needs a timeline or a look"
            raise UsageError(what, hint=f"{ways[0]}, or --timeline FILE")


def _given() -> set[str]:
    """The fields whose options were typed."""
    typed, source = ParameterSource.COMMANDLINE, click.get_current_context().get_parameter_source
    return {name for name in click.get_current_context().params if source(name) is typed}


def _otherwise(options: ProfileOptions) -> Iterator[str]:
    """What says, without a look, which launches are profiled."""
    given = _given()
    yield from (field for field in _BY_HAND if field in given and field not in _OF_LOOK)
    yield from (name for name in ("timeline", "rank") if name in given)
    if options.replay != Replay.KERNEL:
        yield f"replay {options.replay}"
    if options.graphs == "graph":
        yield "graphs graph"


def _uncounted(options: ProfileOptions) -> str | None:
    """What leaves open which launch is the last."""
    if options.replay != Replay.KERNEL:
        return f"replay {options.replay}"
    fields = ("per_config", "list_kernels")
    all_of_them = "launch_count 0" if options.launch_count == 0 else None
    return next((field for field in fields if getattr(options, field)), all_of_them)


def _spelling(field: str) -> str:
    """The option of a field; a value may follow."""
    name, *value = field.split()
    (option,) = (p for p in click.get_current_context().command.params if p.name == name)
    return " ".join([next(word for word in option.opts if word[:2] == "--"), *value])


def _looks(options: ProfileOptions) -> bool:
    """Whether the program is looked at first: nothing else says which launches are wanted."""
    return not (
        options.look == "none"
        or any(_otherwise(options))
        or (options.look == "auto" and reads_a_pipe())
    )


def _look(
    options: ProfileOptions, base: CaptureRequest, setting: CaptureSetup, report: Path
) -> tuple[ProfileOptions, Selection]:
    """See which kernels take the time, and choose among them."""
    from roofline.cli import profile_run

    trace = profile_run.look_at(base, setting, report, options.look, options.look_seconds)
    options = replace(options, showing=replace(options.showing, timeline=trace))
    selection = profile_run.chosen_of(
        trace,
        step=options.showing.step,
        top=options.top or 10,
        min_share=options.min_share or 0.0,
        warmup_steps=options.warmup_steps,
        kernels=options.kernel,
        letters=options.exact_regex,
        cover=0.9 if options.cover is None else options.cover,
    )
    return options, selection


def _request(options: ProfileOptions) -> CaptureRequest:
    """What the options ask ncu for."""
    count = options.launch_count if options.first is None else options.first
    if count is None:
        count = 1 if options.per_config else DEFAULT_LAUNCH_COUNT
    names = (name.strip() for words in options.metrics for name in words.split(","))
    same = {name: getattr(options, name) for name in _SAME}
    return CaptureRequest(
        **same,
        **chosen(options.kernel, exact=options.exact_regex),
        level=CaptureLevel(options.level),
        kernels=options.kernel_name,
        name_base=NameBase(options.name_base) if options.name_base else None,
        launch_skip=options.launch_skip or 0,
        launch_count=count or None,
        nvtx=(*options.nvtx, *map(region_range, options.region)),
        from_start=not options.capture_range,
        devices=_devices(options),
        metrics=tuple(name for name in names if name),
        replay=Replay(options.replay),
        source=options.showing.source,
    )


def _devices(options: ProfileOptions) -> str | None:
    """Ncu's list of the GPUs that are asked for, by index or part of a name."""
    words = [word.strip() for text in options.devices for word in text.split(",")]
    by_name = not all(word.isdecimal() for word in words)
    if by_name and options.dry_run:
        raise UsageError("--dry-run does not ask which GPUs are here", hint="--device 0")
    names = [gpu.name for gpu in look().cuda_gpus] if by_name else []
    found: dict[int, None] = {}
    for word in words:
        fits = [at for at, name in enumerate(names) if word and word.casefold() in name.casefold()]
        if not (word.isdecimal() or fits):
            there = ", ".join(f"{at} ({name})" for at, name in enumerate(names))
            hint = f"one of {there}" if there else "its index: --device 0"
            raise UsageError(f"--device {word}: no GPU of this name is here", hint=hint)
        found |= dict.fromkeys([int(word)] if word.isdecimal() else fits)
    return ",".join(map(str, found)) or None


def _selection(options: ProfileOptions, base: CaptureRequest) -> Selection | None:
    """What the timeline shows to be worth profiling; other ranks become the program here."""
    from roofline.cli import profile_run

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
            hint=f"{profile_run.select_command(showing)}, which names the file that matters most",
        )
    asked = {name: getattr(options, name) for name in _OF_TIMELINE}
    selection = profile_run.read(showing.timeline, step=showing.step, **asked)
    if (device := _driven(options.rank, selection, base.devices)) != selection.device:
        asked["device"] = device
        selection = profile_run.read(showing.timeline, step=showing.step, **asked)
    _leave_other_ranks(options, len(selection.requests))
    profile_run.tell_selection(selection, loud=sys.stderr.isatty() and not options.quiet)
    if not selection.requests:
        raise profile_run.nothing_to_profile(selection, showing, options.min_share)
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
        from roofline.cli.profile_run import select_command

        raise UsageError(
            f"--rank with --timeline: {runs} runs are needed",
            why="the other ranks would run only once",
            hint=f"{select_command(options.showing)}, and one parallel job for each command; or a "
            "smaller --top",
        )
    chosen = is_chosen(options.rank, os.environ) if runs else True
    if chosen is None and not options.dry_run:
        raise outside_job(options.rank, options.program, _words_of(options))
    if chosen is not False:
        return
    if options.dry_run:  # of one rank alone
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
    if options.rank is None:
        advice = advice_on_launcher(options.program, ours, rank or 0, assumed)
    elif options.dry_run:
        advice = advice_on_launcher(options.program, ours, options.rank)
    if advice is not None:
        if options.rank is rank is None and (devices is not None or several):
            which = devices or ("" if selection is None else selection.device)
            what = f"which rank drives device {which} is not known"
            raise UsageError(what, hint="--rank N, with the rank whose process runs on it")
        say(advice)
    return advice, check_program(options.program, os.environ, elsewhere=options.dry_run)


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
    from roofline.capture.run import CaptureSetup

    machine = look()
    try:
        ncu = find_ncu(options.ncu)
    except NcuFailedError as error:
        if machine.gpus or machine.driver or error.diagnosis.failure.code != "ncu_missing":
            raise
        evidence = "no GPU, no driver and no ncu is here"
        if "--dry-run" in options.program:
            evidence += "; --dry-run went to PROGRAM: roofline's options stand before it"
        raise failed("no_driver", evidence=evidence) from error
    request, notes = fit(request, ncu, machine, ask)
    for note in notes:
        say(note)
    silent = options.quiet or not sys.stderr.isatty()
    return request, CaptureSetup(
        ncu=ncu,
        machine=machine,
        stall_s=options.stall_timeout,
        limit_s=options.timeout,
        tell=(lambda _text: None) if silent else say,
        stdout_to_stderr=options.answer.format != "table" or options.list_kernels,
        command=_typed(),
        linger_s={"launches": 0.0, "minute": 60.0}.get(options.until, math.inf),
    )


def _typed() -> str:
    """The command line of this process, for somebody else's shell."""
    first, *words = sys.argv
    module = Path(first).name == "__main__.py"
    ours = [sys.executable, "-m", "roofline"] if module else [str(Path(first).absolute())]
    return shlex.join([*ours, *words])


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
