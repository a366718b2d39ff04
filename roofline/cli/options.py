"""Options and arguments that several commands share, as named objects; commands only list them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from roofline.model import Rule
from roofline.view import SORT_KEYS, Choice

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
Option = Callable[[Decorated], Decorated]

FORMATS = ("table", "json", "csv", "markdown", "parquet")


class Regex(click.ParamType[re.Pattern[str]]):
    """A Python regular expression; one that does not compile is wrong usage."""

    name = "regex"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> re.Pattern[str]:
        """Compile ``value``."""
        if isinstance(value, re.Pattern):
            return value
        try:
            return re.compile(value)
        except re.error as error:
            self.fail(f"{value!r} is not a regular expression: {error}", param, ctx)


class Number(click.FloatRange):
    """A number within a range; "nan" and "inf" are none, whatever the range."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Refuse what is not finite before the range is asked: nan is within any."""
        number = click.FLOAT.convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number", param, ctx)
        return float(super().convert(number, param, ctx))


class File(click.Path):
    """A name of a file or folder; whether it can be used is said by who uses it.

    click would end the command at the first that it cannot read, and hide the others.
    """

    def __init__(self) -> None:
        super().__init__(path_type=Path, readable=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse the empty name, which would mean the folder that one is in."""
        if not str(value):
            self.fail("the name is empty", param, ctx)
        return super().convert(value, param, ctx)


reports = click.argument("reports", metavar="REPORT...", nargs=-1, required=True, type=File())

# --- what is read and how it is judged --------------------------------------------------------
specs = click.option(
    "--specs",
    metavar="DIR",
    type=File(),
    help="A folder of hardware specs (TOML) to look into before the built-in ones.",
)
peaks = click.option(
    "--peaks",
    metavar="FILE",
    help="Ceilings measured by 'roofline specs measure' (TOML), shown as 'achieved'; the word "
    "'achieved' takes those that it has kept for each GPU.",
)
timeline = click.option(
    "--timeline",
    metavar="FILE",
    type=File(),
    help="A timeline of the same program (see 'roofline select'): what each kernel's floor would "
    "buy a step of it, and which of its kernels were not profiled.",
)
step = click.option(
    "--step",
    metavar="REGEX",
    help="With --timeline: the ranges that are the steps.  [default: ProfilerStep#N]",
)
latency_threshold = click.option(
    "--latency-threshold",
    metavar="PERCENT",
    type=Number(0, 100),
    default=Rule().latency,
    show_default=True,
    help="Below this utilisation of its busiest unit a kernel is latency-bound.",
)
balance = click.option(
    "--balance",
    metavar="POINTS",
    type=Number(0, 100),
    default=Rule().balance,
    show_default=True,
    help="Memory and compute this close together are called co-limited.",
)

jobs = click.option(
    "-j",
    "--jobs",
    metavar="N",
    type=click.IntRange(1, 1024),
    help="Processes that may read at once where there are many reports.  [default: one for each "
    "CPU, at most 8]",
)
reader = click.option(
    "--reader",
    type=click.Choice(("protobuf", "ncu-report")),
    default="protobuf",
    show_default=True,
    help="What decodes the reports; 'ncu-report' is NVIDIA's own package: slower, and the one to "
    "ask where values look wrong.",
)

# --- which kernels ----------------------------------------------------------------------------
kernel = click.option(
    "-k",
    "--kernel",
    metavar="REGEX",
    type=Regex(),
    help="Only kernels whose name or full C++ signature matches.",
)
device = click.option(
    "--device",
    metavar="NAME",
    help="Only launches on this GPU: its index in the report, or a part of its name.",
)
top = click.option(
    "--top",
    metavar="N",
    type=click.IntRange(min=1),
    help="Only the first N in the order of --sort.",
)
min_share = click.option(
    "--min-share",
    metavar="PERCENT",
    type=Number(0, 100),
    help="Only what took at least this much of the profiled time.",
)
sort = click.option(
    "--sort",
    type=click.Choice(list(SORT_KEYS)),
    default="time",
    show_default=True,
    help="Order; 'gain' is the time that reaching the nearest ceiling would save at most.",
)
launches = click.option(
    "--launches", is_flag=True, help="A line for every launch instead of one for each kernel."
)
explain = click.option(
    "--explain",
    metavar="KERNEL",
    help="All the evidence about one kernel, by its rank in the table, its name or a regular "
    "expression: numbers with their metrics, what would refute the verdict, what to try first "
    "and what that could buy at most.",
)

# --- where the answer goes --------------------------------------------------------------------
output_format = click.option(
    "-f",
    "--format",
    "output_format",
    type=click.Choice(FORMATS),
    help="How the answer is written, whatever the ending of --output. Without it the ending says: "
    ".json, .csv, .md, .parquet; any other is a table. Parquet needs --output.",
)
output = click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=File(),
    help="Write there instead of to the terminal; '-' is the terminal.",
)
plot = click.option(
    "--plot",
    metavar="FILE",
    type=File(),
    help="Also draw the roofline: .png, .svg, .pdf or .html by the ending.",
)
force = click.option("--force", is_flag=True, help="Write over files that exist.")

JUDGING = (specs, peaks, latency_threshold, balance, jobs, reader)
CHOOSING = (kernel, device, min_share, top, sort)


def choice(given: Mapping[str, Any]) -> Choice:
    """What the options of ``CHOOSING`` and ``--launches`` ask for, as click gives them."""
    share: float | None = given["min_share"]
    return Choice(
        kernel=given["kernel"],
        device=given["device"],
        min_share=None if share is None else share / 100,
        top=given["top"],
        sort=given["sort"],
        launches=given["launches"],
    )


def all_of(*options: Option[Any]) -> Option[Decorated]:
    """One decorator that adds ``options`` in the order given."""

    def decorate(function: Decorated) -> Decorated:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate
