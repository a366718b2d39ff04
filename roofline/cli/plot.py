"""``roofline plot``: saved reports to a picture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from roofline.api import chosen
from roofline.cli import options as opt
from roofline.cli.analyze import analyze_reports, most_details
from roofline.cli.errors import say
from roofline.cli.options import MERGE, REPORTS, Choosing, Judging, Number, Size, Target
from roofline.errors import InputError, one_line


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotOptions:
    """``roofline plot``."""

    reports: tuple[Path, ...] = opt.argument("REPORT...", **REPORTS)
    choosing: Choosing = opt.shared(Choosing)
    merge: bool = opt.which(*MERGE)
    judging: Judging = opt.shared(Judging)
    target: Target = opt.shared(
        Target,
        path={"help": "The picture: .png, .svg, .pdf, or .html for a page to explore."},
    )
    views: tuple[str, ...] = opt.written("--view roofline|units|gain...")
    levels: tuple[str, ...] = opt.written("--level l2|l1...")
    theme: str | None = opt.written("--theme light|dark|paper")
    title: str | None = opt.written("--title TEXT")
    size: tuple[int, int | None] = opt.written(
        "--size WIDTH[xHEIGHT]", type=Size(), default=(900, None), show_default=False
    )
    dpi: float = opt.written("--dpi N", type=Number(min=36, max=600), default=72.0)
    instructions: int = opt.written("--instructions N", type=opt.Whole(0, 100), default=0)
    no_datasheet: bool = opt.written("--no-datasheet")


@opt.typed_command(PlotOptions, "plot")
def command(options: PlotOptions) -> int:
    """Draw what limits the kernels of saved reports."""
    from roofline.plot import Options, check_path, write

    target, force = options.target.path, options.target.force
    check_path(target, force=force, option="-o")
    analysis = analyze_reports(options.reports, options.judging, merge=options.merge)
    part = chosen(analysis, options.choosing)
    drawing = Options(
        theme=options.theme or "light",
        title=options.title,
        width_px=options.size[0],
        height_px=options.size[1],
        launches=options.choosing.launches,
        views=options.views,
        levels=options.levels,
        datasheet=not options.no_datasheet,
    )
    both, dpi = options.theme is None, options.dpi
    details = most_details(part, options.instructions, options.judging.reader)
    write(part, target, drawing, dpi=dpi, force=force, both_themes=both, details=details)
    say(f"Wrote {one_line(str(target))}", prefix="")
    return InputError.exit_code if analysis.unread else 0
