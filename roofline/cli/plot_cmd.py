"""``roofline plot``: saved reports to a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from roofline.cli import options
from roofline.cli.answer import nothing_left
from roofline.cli.reports import analyze_reports, judging
from roofline.errors import InputError
from roofline.view import choose

_output = click.option(
    "-o",
    "--output",
    metavar="FILE",
    required=True,
    type=options.File(),
    help="The picture: .png, .svg, .pdf, or .html for a page with tooltips and a table.",
)
_theme = click.option(
    "--theme",
    type=click.Choice(["light", "dark"]),
    help="Colours; light unless said, and a page of HTML follows its reader's setting.",
)
_title = click.option("--title", metavar="TEXT", help="Title; else the names of the reports.")
_width = click.option(
    "--width",
    metavar="PX",
    type=click.IntRange(min=480, max=4000),
    default=900,
    show_default=True,
    help="Width in pixels.",
)
_height = click.option(
    "--height",
    metavar="PX",
    type=click.IntRange(min=300, max=8000),
    help="Height in pixels, met by the size of the chart; rows and keys take what they need.",
)
_scale = click.option(
    "--scale",
    metavar="N",
    type=options.Number(min=0.5, max=4),
    default=1.0,
    show_default=True,
    help="PNG only: that many times the pixels, with everything larger (2 for dense screens).",
)
_levels = click.option(
    "--levels/--no-levels",
    default=None,
    help="Also mark each kernel at its L2 and L1 intensity, where the bytes were measured. "
    "[default: for up to five kernels]",
)
_datasheet = click.option(
    "--no-datasheet", is_flag=True, help="Leave out the dashed roofs of the datasheet."
)


@click.command("plot")
@options.reports
@options.all_of(
    _output,
    options.force,
    _theme,
    _title,
    _width,
    _height,
    _scale,
    _levels,
    _datasheet,
    options.launches,
    *options.CHOOSING,
    *options.JUDGING,
)
@click.pass_context
def command(ctx: click.Context, /, reports: tuple[Path, ...], **given: Any) -> None:
    """Draw the roofline of saved reports.

    REPORT is an .ncu-rep file, a folder (searched through) or a glob pattern. Kernels whose
    operations or DRAM bytes were not measured are shown below the roofline, by how busy their
    units were; a report that has neither, as --set basic leaves, is drawn like that altogether.

    \b
    Examples:
      roofline plot report.ncu-rep -o roofline.png
      roofline plot report.ncu-rep -o roofline.svg --theme dark --top 10
      roofline plot runs/ -o roofline.html --kernel gemm
      roofline plot report.ncu-rep -o slide.png --width 1200 --height 700 --scale 2
    """
    from roofline.plot import Options, check_path, picture, save

    output: Path = given["output"]
    check_path(output, force=given["force"], option="-o")
    analysis, failures = analyze_reports(reports, judging(given))
    if analysis is not None:
        choice = options.choice(given)
        part = choose(analysis, choice)
        if not part.analysis.results:
            raise nothing_left(analysis, choice)
        drawing = Options(
            theme=given["theme"] or "light",
            title=given["title"],
            width_px=given["width"],
            height_px=given["height"],
            launches=given["launches"],
            levels=given["levels"],
            datasheet=not given["no_datasheet"],
        )
        save(
            picture(part, drawing),
            output,
            scale=given["scale"],
            force=given["force"],
            both_themes=given["theme"] is None,
        )
        click.echo(f"Wrote {output}", err=True)
    if failures:
        ctx.exit(InputError.exit_code)
