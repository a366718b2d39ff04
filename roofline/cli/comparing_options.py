"""Options of ``compare`` and ``report``, as named objects; the commands only list them."""

from __future__ import annotations

import click

from roofline.cli import options

FILE = options.File()

# --- what both take ---------------------------------------------------------------------------
maps = click.option(
    "--map",
    "maps",
    metavar="OLD=NEW",
    multiple=True,
    help="Pair kernel OLD of BEFORE with NEW of AFTER: names or regular expressions. Several that "
    "share a kernel are one pair: --map a=fused --map b=fused.",
)
allow = click.option(
    "--allow",
    metavar="CODE",
    multiple=True,
    help="Compare in spite of a refusal: gpu, kind (kernel against range results), rule, or all.",
)
noise = click.option(
    "--noise",
    metavar="PERCENT",
    type=options.Number(0, 100),
    help="Take differences up to this for noise. Without it: the spread of repeated launches "
    "(at least 1), else 3, and 5 for kernels under 20 us.",
)
expect = click.option(
    "--expect",
    metavar="KERNEL=FACTORx",
    multiple=True,
    help="What was predicted, 'gemm=1.4x' (at least) or 'gemm=same': judged confirmed, refuted or "
    "not testable.",
)
because = click.option(
    "--because",
    metavar="[KERNEL=]CAUSE",
    multiple=True,
    help="The cause claimed: bandwidth, compute, latency, bytes, operations, occupancy, precision "
    "or a unit (dram, l2, l1, fp64, ...). Judged for what got faster.",
)
timeline = click.option(
    "--timeline",
    metavar="FILE",
    type=options.File(),
    help="A timeline of BEFORE (nsys or torch): says what each change does for the whole step.",
)
COMPARING = (maps, allow, noise, expect, because, timeline)

# --- what compare alone takes --------------------------------------------------------------------
GATES = (
    click.option(
        "--fail-on",
        metavar="CONDITION",
        multiple=True,
        help="Exit with 1 where it is true: regression=5%, 'gemm: time>120us', 'dram<70%', "
        "bound=latency, gone. A kernel's name or regular expression goes before a colon.",
    ),
    click.option("--junit", metavar="FILE", type=FILE, help="Write the gates as JUnit XML."),
    click.option(
        "--baseline",
        metavar="DIR",
        type=FILE,
        help="Take BEFORE from this folder, which holds one JSON file a GPU.",
    ),
    click.option(
        "--update-baseline",
        is_flag=True,
        help="Make AFTER the new baseline, unless a gate failed.",
    ),
)
RECORD = (
    click.option(
        "--record",
        metavar="FILE.md",
        type=FILE,
        help="Add an entry to this experiment record; never overwrites one.",
    ),
    click.option("--problem", metavar="TEXT", help="For the record: what was wrong."),
    click.option("--hypothesis", metavar="TEXT", help="For the record: why it should help."),
    click.option("--intervention", metavar="TEXT", help="For the record: what was changed."),
    click.option(
        "--check",
        metavar="COMMAND",
        help="Run this to see that the results are still right; a failure ends in exit code 1.",
    ),
)
TIMES = (
    click.option(
        "--time-before",
        metavar="FILE",
        type=FILE,
        help="What 'roofline time' measured before, without a profiler.",
    ),
    click.option("--time-after", metavar="FILE", type=FILE, help="The same, after."),
)
output_format = click.option(
    "-f",
    "--format",
    "output_format",
    type=click.Choice(["table", "json", "markdown"]),
    default="table",
    show_default=True,
    help="How the answer is written.",
)
top = click.option(
    "--top", metavar="N", type=click.IntRange(min=1), default=10, show_default=True,
    help="Kernels shown; JSON and gates have all.",
)  # fmt: skip
