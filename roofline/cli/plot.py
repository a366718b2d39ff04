"""``roofline plot``: saved reports to a picture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from roofline.cli import options as opt
from roofline.cli.analyze import analyze_reports, chosen
from roofline.cli.errors import say
from roofline.cli.options import MERGE, REPORTS, Choosing, Judging, Number, Target
from roofline.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotOptions:
    """``roofline plot``."""

    reports: tuple[Path, ...] = opt.argument("REPORT...", **REPORTS)
    choosing: Choosing = opt.shared(Choosing)
    merge: bool = opt.which(*MERGE)
    judging: Judging = opt.shared(Judging)
    target: Target = opt.shared(
        Target,
        path={
            "help": "The picture: .png, .svg, .pdf, or .html for a page with tooltips and a table."
        },
    )
    theme: str | None = opt.written(
        "--theme light|dark",
        "Colours.  [default: light; in HTML as the reader's browser is set]",
    )
    title: str | None = opt.written("--title TEXT", "Title.  [default: the reports' names]")
    width: int = opt.written(
        "--width PX", "Width in pixels.", type=click.IntRange(min=480, max=4000), default=900
    )
    height: int | None = opt.written(
        "--height PX",
        "Height in pixels; rows and keys take their part, the chart the rest.",
        type=click.IntRange(min=300, max=8000),
    )
    scale: float = opt.written(
        "--scale N",
        "PNG only: N times as many pixels, everything larger (2 for dense screens).",
        type=Number(min=0.5, max=4),
        default=1.0,
    )
    levels: bool | None = opt.written(
        "--levels/--no-levels",
        "Also mark each kernel at its L2 and L1 intensity, if these bytes were measured.  "
        "[default: for up to five kernels]",
        default=None,
    )
    no_datasheet: bool = opt.written(
        "--no-datasheet", "Leave out the dashed roofs of the datasheet."
    )


@opt.typed_command(PlotOptions, "plot")
def command(options: PlotOptions) -> int:
    """Draw the roofline of saved reports.

    \b
    Examples:
      roofline plot report.ncu-rep -o roofline.png
      roofline plot report.ncu-rep -o roofline.svg --theme dark --top 10
      roofline plot runs/ -o roofline.html --kernel gemm
      roofline plot report.ncu-rep -o slide.png --width 1200 --height 700 --scale 2

    REPORT is an .ncu-rep file, a folder (searched recursively) or a glob pattern. Kernels without
    measured operations or DRAM bytes are drawn below the roofline, by how busy their units were.
    """
    from roofline.plot import Options, check_path, picture, save

    target, force = options.target.path, options.target.force
    check_path(target, force=force, option="-o")
    analysis, failures = analyze_reports(options.reports, options.judging, merge=options.merge)
    if analysis is not None:
        part = chosen(analysis, options.choosing)
        drawing = Options(
            theme=options.theme or "light",
            title=options.title,
            width_px=options.width,
            height_px=options.height,
            launches=options.choosing.launches,
            levels=options.levels,
            datasheet=not options.no_datasheet,
        )
        both, scale = options.theme is None, options.scale
        save(picture(part, drawing), target, scale=scale, force=force, both_themes=both)
        say(f"Wrote {target}", prefix="")
    return InputError.exit_code if failures else 0
