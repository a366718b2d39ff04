"""``roofline select``: from a timeline to the kernels worth profiling."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from roofline.cli import options
from roofline.cli.answer import Request, check, color, width, write

if TYPE_CHECKING:
    from roofline.timeline.model import Selection, SelectOptions

FORMATS = ("table", "json", "markdown")
_UNITS_NS = {"": 10**9, "s": 10**9, "ms": 10**6, "us": 10**3, "µs": 10**3, "ns": 1}
_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(s|ms|us|µs|ns)?")
_STEPS = re.compile(r"(\d+)(?:-(\d+))?")


class Time(click.ParamType[int]):
    """A time since the beginning of the recording: 1.2s, 350ms; a bare number is seconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """In nanoseconds."""
        match = _TIME.fullmatch(str(value))
        if match is None:
            self.fail(f"{value!r} is not a time: 1.2s, 350ms, 90us", param, ctx)
        return round(float(match[1]) * _UNITS_NS[match[2] or ""])


class Steps(click.ParamType[str | tuple[int, int]]):
    """Which steps count: inner, all, 3, or 2-5."""

    name = "steps"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> str | tuple[int, int]:
        """A word, or the first and the last step, from 1."""
        if value in ("inner", "all"):
            return str(value)
        match = _STEPS.fullmatch(str(value))
        if match is None:
            self.fail(f"{value!r} is neither inner, all, a number nor a range like 2-5", param, ctx)
        return int(match[1]), int(match[2] or match[1])


@click.command("select")
@click.argument("timeline", metavar="TIMELINE", type=options.File())
@click.option(
    "--top",
    metavar="N",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="Choose at most N kernels.",
)
@click.option(
    "--min-share",
    metavar="PERCENT",
    type=options.Number(0, 100),
    default=1.0,
    show_default=True,
    help="Choose only what takes at least this much of the wall time.",
)
@click.option(
    "--device",
    metavar="N",
    type=int,
    help="Rank the kernels of this GPU.  [default: the one with most kernel time]",
)
@click.option(
    "--step",
    metavar="REGEX",
    help="NVTX ranges or annotations of this name are the steps.  [default: ProfilerStep#N]",
)
@click.option(
    "--keep",
    metavar="STEPS",
    type=Steps(),
    default="inner",
    show_default=True,
    help="Steps that count: 'inner' leaves out the first and the last of three or more; 'all'; "
    "a number; a range like 2-5. Numbers are in order of time, from 1.",
)
@click.option(
    "--from",
    "start",
    metavar="TIME",
    type=Time(),
    help="Instead of steps, the time from here: 1.2s, 350ms.",
)
@click.option("--to", "end", metavar="TIME", type=Time(), help="... to here.")
@click.option(
    "--by",
    type=click.Choice(["config", "name"]),
    default="config",
    show_default=True,
    help="Tell kernels apart by name, grid and block, or by name alone.",
)
@click.option(
    "--communication",
    metavar="REGEX",
    help="More kernels that wait for other GPUs, by name, case ignored: beside NCCL, NVSHMEM, "
    "all-reduce and their like.",
)
@click.option(
    "--warmup-steps",
    metavar="N",
    type=click.IntRange(min=0),
    default=2,
    show_default=True,
    help="Steps to skip before the launch that is profiled, where the timeline does not tell "
    "which launch of the process it saw.",
)
@click.option(
    "--stream",
    is_flag=True,
    help="Read JSON in small pieces: within 150 MB, without the host's operators.",
)
@click.option("--nsys", metavar="PATH", help="The nsys that exports .nsys-rep.  [default: on PATH]")
@click.option(
    "-f",
    "--format",
    "output_format",
    type=click.Choice(FORMATS),
    help="How the answer is written.  [default: by the ending of --output, else table]",
)
@options.output
@options.force
def command(timeline: Path, **given: Any) -> None:
    """Pick the kernels of a trace that are worth profiling.

    TIMELINE is an Nsight Systems SQLite export, an .nsys-rep (through your nsys), a CSV of nsys
    stats, a PyTorch profiler trace or a JAX trace (.json, .json.gz). The answer says first
    whether gaps, copies or communication matter more than any kernel, then what each kernel could
    buy at most, and prints the commands that profile the chosen ones in steady state.

    \b
    Examples:
      roofline select trace.json.gz
      roofline select report.sqlite --step 'iteration \\d+' --top 3
      roofline select report.nsys-rep --from 12s --to 13.5s --device 1
      roofline select trace.json --format json --output selection.json
    """
    request = Request(
        output_format=given["output_format"], output=given["output"], force=given["force"]
    )
    check(request)
    _check_ending(request)
    from roofline.timeline import load_timeline, select

    asked = _options(given)
    found = load_timeline(timeline, step=given["step"], stream=given["stream"], nsys=given["nsys"])
    write([_text(select(found, asked), request)], request)


def _check_ending(request: Request) -> None:
    """Refuse a file whose ending asks for what a selection is not written as."""
    from roofline.errors import UsageError

    if request.format not in FORMATS:
        raise UsageError(
            f"a selection is not written as {request.format}",
            hint="--output with .json or .md, or --format table, json or markdown",
        )


def _options(given: dict[str, Any]) -> SelectOptions:
    from roofline.errors import UsageError
    from roofline.timeline.model import SelectOptions

    window = given["start"] is not None or given["end"] is not None
    if given["step"] is not None and window:
        raise UsageError("--step and --from/--to exclude each other", hint="one of them")
    return SelectOptions(
        top=given["top"],
        min_share=given["min_share"] / 100,
        device=given["device"],
        keep=given["keep"],
        start=given["start"],
        end=given["end"],
        by_name=given["by"] == "name",
        warmup_steps=given["warmup_steps"],
        communication=given["communication"],
    )


def _text(selection: Selection, request: Request) -> str:
    if request.format == "json":
        from roofline.render import selection_json

        return selection_json.render(selection)
    from roofline.render.selection import markdown, render

    if request.format == "markdown":
        return markdown(selection)
    return render(selection, width=width(request), color=color(request))
