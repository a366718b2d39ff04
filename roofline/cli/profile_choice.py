"""Which kernels ``roofline profile`` is about: the user says, or a timeline does."""

from __future__ import annotations

from collections.abc import Collection

import click

from roofline.capture.request import DEFAULT_LAUNCH_COUNT, NameBase
from roofline.cli import options
from roofline.errors import UsageError

CHOOSING = (
    click.option(
        "--kernel-regex",
        metavar="REGEX",
        help="Kernels whose name this is found in (Perl syntax, case counts).",
    ),
    click.option(
        "--kernel",
        "kernels",
        metavar="NAME",
        multiple=True,
        help="The kernel of exactly this name: the function's, or with arguments the whole "
        "signature. Repeat for several.",
    ),
    click.option(
        "--name-base",
        type=click.Choice([base.value for base in NameBase]),
        help="The spelling that is matched  [default: demangled; function for --kernel NAME]",
    ),
    click.option(
        "--collectives/--no-collectives",
        default=False,
        show_default=True,
        help="Also kernels that wait for other GPUs (NCCL, NVSHMEM, all-reduce): under ncu they "
        "hang unless the peers are there.",
    ),
    click.option(
        "--launch-skip",
        metavar="N",
        type=click.IntRange(min=0),
        default=0,
        show_default=True,
        help="Leave out the first N launches that match.",
    ),
    click.option(
        "--launch-count",
        metavar="N",
        type=click.IntRange(min=0),
        help="At most N launches; 0 is no limit  "
        f"[default: {DEFAULT_LAUNCH_COUNT}; 1 for each with --per-config]",
    ),
    click.option(
        "--per-config",
        is_flag=True,
        help="Count launches for each grid and block by itself.",
    ),
    click.option(
        "--nvtx",
        metavar="RANGE",
        multiple=True,
        help="Only inside this NVTX range: a name (push/pop or start/end), or ncu's own "
        "expression.",
    ),
    click.option(
        "--from-start/--capture-range",
        default=True,
        show_default=True,
        help="From the beginning, or only between cudaProfilerStart and cudaProfilerStop.",
    ),
    click.option("--devices", metavar="LIST", help="Only these GPUs, by index: 0,1."),
    click.option(
        "--rank",
        metavar="N",
        type=click.IntRange(min=0),
        help="In a parallel job, profile rank N and run the others bare. roofline goes inside the "
        "launcher: mpirun -n 8 roofline profile --rank 0 ./app.",
    ),
)

# The defaults are those of roofline.timeline.model, whose import takes too long for --help.
FROM_TIMELINE = (
    click.option(
        "--from",
        "timeline",
        metavar="TIMELINE",
        type=options.File(),
        help="The kernels that 'roofline select' chooses from this timeline of the same program, "
        "in as few runs as meet them in steady state; what each could buy a step comes with the "
        "answer.",
    ),
    click.option(
        "--top",
        metavar="N",
        type=click.IntRange(min=1),
        default=5,
        show_default=True,
        help="With --from: at most N kernels.",
    ),
    click.option(
        "--min-share",
        metavar="PERCENT",
        type=options.Number(0, 100),
        default=1.0,
        show_default=True,
        help="With --from: only what takes at least this much of the wall time.",
    ),
    click.option(
        "--step",
        metavar="REGEX",
        help="With --from: the NVTX ranges or annotations that are the steps.  "
        "[default: ProfilerStep#N]",
    ),
    click.option(
        "--warmup-steps",
        metavar="N",
        type=click.IntRange(min=0),
        default=2,
        show_default=True,
        help="With --from: steps to skip where the timeline does not tell which launch of the "
        "process it saw.",
    ),
)

_BY_HAND = {
    "kernel_regex": "--kernel-regex",
    "kernels": "--kernel",
    "name_base": "--name-base",
    "collectives": "--collectives",
    "launch_skip": "--launch-skip",
    "launch_count": "--launch-count",
    "per_config": "--per-config",
    "nvtx": "--nvtx",
    "from_start": "--from-start/--capture-range",
    "list_kernels": "--list-kernels",
}
_WITH_TIMELINE = {
    "top": "--top",
    "min_share": "--min-share",
    "step": "--step",
    "warmup_steps": "--warmup-steps",
}


def check_who_chooses(typed: Collection[str]) -> None:
    """The timeline chooses the launches, or the user does; ``typed`` are parameters given.

    Raises:
        UsageError: both do, or an option is about a timeline and there is none.

    """
    if "timeline" not in typed:
        if wrong := [option for name, option in _WITH_TIMELINE.items() if name in typed]:
            raise UsageError(f"{wrong[0]} is about a timeline", hint="--from TIMELINE")
        return
    if wrong := [option for name, option in _BY_HAND.items() if name in typed]:
        raise UsageError(
            f"--from and {wrong[0]} exclude each other",
            why="the timeline says which launches to profile",
            hint="one of them; 'roofline select TIMELINE' prints commands that you can change",
        )
