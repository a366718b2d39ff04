"""``roofline profile``: a program under ncu, and the answer about its kernels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import click
from click.core import ParameterSource

from roofline.capture.command import chosen, region_range
from roofline.capture.machine import look
from roofline.capture.request import (
    DEFAULT_LAUNCH_COUNT,
    NAME_BASES,
    REPLAYS,
    CaptureLevel,
    CaptureRequest,
)
from roofline.cli import completion
from roofline.cli import options as opt
from roofline.cli.analyze import Showing, check
from roofline.cli.options import FORMATS, GROUPS, PROGRAM, Judging, Share
from roofline.cli.output import Output
from roofline.errors import UsageError
from roofline.process import reads_a_pipe

# Fields that choose the kernels by a timeline.
OF_TIMELINE = ("top", "min_share", "warmup_steps", "cover")
# What says by itself which launches are profiled; a look takes some of it, a timeline nothing.
_OF_LOOK = {"--kernel", "--exact-regex", "--collectives"}
_BY_HAND = (
    "--kernel --exact-regex --kernel-name --name-base --collectives --launch-skip --launch-count "
    "--per-config --nvtx --region --capture-range --list-kernels --first"
).split()
_EXCLUSIVE = (
    ("--kernel", "--kernel-name"),
    ("--first", "--launch-count"),
    ("--time", "--time-file"),
    *product(("--time", "--time-file"), ("--rank", "--dry-run", "--list-kernels")),
    ("--dry-run", "--list-kernels"),
    ("--first", "--per-config"),
    *product(
        ["--list-kernels"],
        (
            "--kernel --kernel-name --first --launch-skip --launch-count --per-config --nvtx "
            "--region --capture-range --output --explain --plot --page --chart --format --json"
        ).split(),
    ),
)
_WHY = {
    "--look": "the other one says which launches to profile",
    "--until": "no number says then which launch is the last",
    "--list-kernels": "--list-kernels lists all kernels and profiles none",
}
# Options that say nothing without one of others.
_NEEDS = {"--exact-regex": ("--kernel",), "--name-base": ("--kernel", "--kernel-name")}
# Fields that a request has under the same name.
_SAME = (
    "program collectives per_config sections section_set clock_control cache_control rules graphs "
    "ncu_options name_base replay"
).split()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileOptions:
    """``roofline profile``; ``None`` where an option was not given and has a default."""

    kernel: tuple[str, ...] = opt.which(
        "-k --kernel --kernels --kernel-regex RE...", type=str, shell_complete=completion.families
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
    name_base: str | None = opt.expert(f"--name-base {'|'.join(NAME_BASES)}")
    warmup_steps: int | None = opt.expert("--warmup-steps COUNT")
    metrics: tuple[str, ...] = opt.expert("--metrics NAMES...")
    sections: tuple[str, ...] = opt.expert("--section NAME...")
    section_set: str | None = opt.expert("--set NAME")
    rules: bool = opt.expert("--rules")
    replay: str = opt.expert(f"--replay {'|'.join(REPLAYS)}", default=REPLAYS[0])
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
    def looks(self) -> bool:
        """Whether the program is looked at first, once that was checked."""
        return self.look != "none"

    @property
    def answer(self) -> Output:
        """Where the answer goes: ``--output`` is the report here."""
        return replace(self.output, output=None)


@opt.typed_command(ProfileOptions, "profile", allow_interspersed_args=False)
def command(options: ProfileOptions) -> int:
    """Run PROGRAM under ncu for the chosen kernels, and name what limits each."""
    from roofline.cli import profile_run

    options = _checked(options)
    return profile_run.profile(options, _request(options))


def _checked(options: ProfileOptions) -> ProfileOptions:
    """The options, without a look where nobody may; what does not go together is refused."""
    if not options.program[0]:
        raise UsageError("the program's name is empty", hint="roofline profile python bench.py")
    given = _given()
    # What says, without a look, which launches are profiled.
    otherwise = [word for word in _BY_HAND if word in given and word not in _OF_LOOK]
    otherwise += [word for word in ("--timeline", "--rank") if word in given]
    replay = [] if options.replay == REPLAYS[0] else [f"--replay {options.replay}"]
    otherwise += replay + ["--graphs graph"] * (options.graphs == "graph")
    # What leaves open which launch is the last.
    uncounted = replay + [word for word in ("--per-config", "--list-kernels") if word in given]
    uncounted += ["--launch-count 0"] * (options.launch_count == 0)
    pairs = [pair for pair in _EXCLUSIVE if given.issuperset(pair)]
    if "--look" in given and options.look != "none":
        pairs += [("--look", other) for other in otherwise]
    if "--until" in given and options.until != "program":
        pairs += [("--until", other) for other in uncounted]
    _check_words(given, pairs)
    unlooked = otherwise + ["--look none"] * (options.look == "none")
    looked = not unlooked and not (options.look == "auto" and reads_a_pipe())
    if not looked:
        _check_unlooked(given, f"leave out {', '.join(unlooked)}" if unlooked else "--look ncu")
    if options.chip is not None and not options.dry_run:
        why = "a run takes the GPU of this machine"
        raise UsageError("--chip needs --dry-run", why=why, hint="add --dry-run, or leave it out")
    if options.time and reads_a_pipe():
        why = "its runs would find the pipe that the program reads empty"
        raise UsageError("--time needs several runs", why=why, hint="--time-file FILE")
    # The source goes into the report, explained or not.
    check(replace(options.showing, source=False), options.answer)
    return options if looked else replace(options, look="none")


def _given() -> set[str]:
    """The options that were typed, by their first long spelling."""
    typed, source = ParameterSource.COMMANDLINE, click.get_current_context().get_parameter_source
    options = [p for p in click.get_current_context().command.params if isinstance(p, click.Option)]
    given = [param for param in options if source(param.name or "") is typed]
    return {next(word for word in param.opts if word[:2] == "--") for param in given}


def _check_words(given: set[str], pairs: Iterable[tuple[str, str]]) -> None:
    """Refuse ``pairs``, each of which excludes the other, and what would do nothing alone."""
    for one, other in pairs:
        what = f"{one} and {other} exclude each other"
        raise UsageError(what, why=_WHY.get(other, _WHY.get(one)), hint="one of them")
    for word in (word for word in _BY_HAND if "--timeline" in given and word in given):
        raise UsageError(
            f"--timeline and {word} exclude each other",
            why="the timeline says which launches to profile",
            hint="one of them; 'roofline select' prints commands that you can change",
        )
    for word, others in _NEEDS.items():
        if word in given and given.isdisjoint(others):
            needed = " or ".join(others)
            raise UsageError(f"{word} needs {needed}", hint=f"{needed} NAME")


def _check_unlooked(given: set[str], way: str) -> None:
    """Refuse what is for a look alone, or for a timeline."""
    words = {f"--{field.replace('_', '-')}" for field in OF_TIMELINE}
    for word in sorted(given & {"--look-seconds", *words}):
        if word == "--look-seconds":
            raise UsageError(f"{word} needs a look", hint=way)
        if "--timeline" not in given:
            what = f"{word} needs a timeline or a look"
            raise UsageError(what, hint=f"{way}, or --timeline FILE")


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
        launch_skip=options.launch_skip or 0,
        launch_count=count or None,
        nvtx=(*options.nvtx, *map(region_range, options.region)),
        from_start=not options.capture_range,
        devices=_devices(options),
        metrics=tuple(name for name in names if name),
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
