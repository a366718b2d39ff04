"""The options of ``roofline profile`` but for the choice of kernels, by what they decide."""

from __future__ import annotations

import click

from roofline.capture.request import CaptureLevel, Replay
from roofline.cli import options

seconds = options.Number(min=0, min_open=True)

COLLECTING = (
    click.option(
        "--level",
        type=click.Choice([level.value for level in CaptureLevel]),
        default=CaptureLevel.STANDARD.value,
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
        type=options.File(),
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
