"""The options of ``roofline profile``, by what they decide."""

from __future__ import annotations

from pathlib import Path

import click

from roofline.capture.levels import Level
from roofline.capture.request import DEFAULT_LAUNCH_COUNT, NameBase, Replay
from roofline.cli import options

seconds = click.FloatRange(min=0, min_open=True)

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

COLLECTING = (
    click.option(
        "--level",
        type=click.Choice([level.value for level in Level]),
        default=Level.STANDARD.value,
        show_default=True,
        help="quick: duration, DRAM, issue slots, operations (1 hardware pass); standard: all "
        "that a verdict needs (at most 7); full: NVIDIA's set and that (30 to 49 in all).",
    ),
    click.option(
        "--metrics",
        metavar="NAMES",
        multiple=True,
        help="More metrics, by ncu's names, separated by commas.",
    ),
    click.option("--section", "sections", metavar="NAME", multiple=True, help="A section too."),
    click.option("--set", "section_set", metavar="NAME", help="A set of sections too."),
    click.option(
        "--replay",
        type=click.Choice([replay.value for replay in Replay]),
        default=Replay.KERNEL.value,
        show_default=True,
        help="How several passes are had: run the kernel again, or the whole program.",
    ),
    click.option(
        "--graphs",
        type=click.Choice(["node", "graph"]),
        default="node",
        show_default=True,
        help="CUDA graphs kernel by kernel, or each as one.",
    ),
    click.option(
        "--clock-control",
        type=click.Choice(["base", "none"]),
        default="base",
        show_default=True,
        help="Lock the GPU's clocks at base, or leave them as they are.",
    ),
    click.option(
        "--cache-control",
        type=click.Choice(["all", "none"]),
        default="all",
        show_default=True,
        help="Flush all caches before every pass, or leave them warm.",
    ),
)

RUNNING = (
    click.option("--ncu", metavar="PATH", help="The ncu to use instead of the one found."),
    click.option(
        "--ncu-arg",
        "ncu_options",
        metavar="WORD",
        multiple=True,
        help="One more word for ncu's command line, as --ncu-arg=--option=value.",
    ),
    click.option(
        "--stall-timeout",
        metavar="SECONDS",
        type=seconds,
        default=300.0,
        show_default=True,
        help="End the run when ncu shows no progress inside a kernel for so long.",
    ),
    click.option(
        "--timeout", metavar="SECONDS", type=seconds, help="End the run after so long in all."
    ),
    click.option(
        "--dry-run",
        is_flag=True,
        help="Print ncu's command line and what it would cost, and run nothing but ncu --version.",
    ),
    click.option(
        "--chip",
        metavar="NAME",
        help="With --dry-run: for this chip (gh100) instead of the one here.",
    ),
    click.option(
        "--list-kernels",
        is_flag=True,
        help="Print the names of the kernels that the program launches (the first 200), and "
        "profile nothing.",
    ),
    click.option("--quiet", is_flag=True, help="No progress on stderr."),
)

ANSWERING = (
    click.option(
        "-o",
        "--output",
        metavar="REPORT",
        type=click.Path(path_type=Path),
        help="Where the report goes  [default: named after PROGRAM, in this folder]",
    ),
    options.force,
    click.option(
        "-f",
        "--format",
        "output_format",
        type=click.Choice([name for name in options.FORMATS if name != "parquet"]),
        help="How the answer is written. With another than table the program's own output goes to "
        "stderr.",
    ),
    options.plot,
    options.explain,
    *options.JUDGING,
)
