"""``roofline report``: a folder with a pull-request comment and its plots."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from roofline.cli import options as opt
from roofline.cli.compare import Comparing, analyze_side, check_count, draw
from roofline.cli.options import REPORTS, Judging, Target
from roofline.compare.baseline import without_personal
from roofline.compare.model import Comparison
from roofline.errors import InputError, UsageError
from roofline.files import refuse_overwrite, whole_folder
from roofline.foreign import shown
from roofline.model import Analysis

PICTURES = {
    "roofline.svg": "light",
    "roofline.png": "light",
    "roofline-dark.svg": "dark",
    "roofline-dark.png": "dark",
}
PAGE = "page.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """``roofline report``."""

    reports: tuple[Path, ...] = opt.argument("REPORT [AFTER]", **REPORTS)
    top: int = opt.amount(
        "--top N", "Kernels in the table, at most 10.", type=click.IntRange(1, 10), default=10
    )
    comparing: Comparing = opt.shared(Comparing)
    judging: Judging = opt.shared(Judging)
    target: Target = opt.shared(
        Target,
        path={"metavar": "DIR", "help": "The folder to write to; created if it does not exist."},
    )
    title: str = opt.written("--title TEXT", "The comment's heading.", default="Roofline")
    no_picture: bool = opt.written("--no-picture", "Leave out the plots, which need matplotlib.")

    @property
    def names(self) -> tuple[str, ...]:
        """The files of the folder, in the order they are printed."""
        pictures = () if self.no_picture else PICTURES
        compared = ("compare.json",) if len(self.reports) == 2 else ()
        return ("comment.md", PAGE, *pictures, "analysis.json", *compared)


@opt.typed_command(ReportOptions, "report")
def command(options: ReportOptions) -> int:
    """Write a pull-request comment with plots.

    \b
    Examples:
      roofline report after.ncu-rep -o pr/
      roofline report before.ncu-rep after.ncu-rep -o pr/ --title 'Fused softmax' --top 5

    One REPORT is described; two are compared. DIR gets comment.md (it fits GitHub's limits, and
    its plots follow the reader's light or dark theme), page.html to explore, roofline.svg and
    .png with their dark variants, analysis.json and, for two reports, compare.json: all of them or
    none. They contain only names of kernels, GPUs and report files, and numbers.
    """
    _check(options)
    sides = [analyze_side(path, options.judging) for path in options.reports]
    first, after = sides[0][0], sides[-1][0]
    comparison = None
    if len(sides) == 2:
        comparison = options.comparing.compare(first, after)
    with whole_folder(options.target.path, options.names, force=options.target.force) as folder:
        _write(without_personal(after), comparison, options, folder)
    for name in options.names:
        click.echo(shown(str(options.target.path / name)))
    return InputError.exit_code if any(unreadable for _, unreadable in sides) else 0


def _check(options: ReportOptions) -> None:
    comparing = options.comparing
    check_count(options.reports, {1, 2}, "report takes one or two")
    if len(options.reports) == 1 and (comparing.maps or comparing.expect or comparing.because):
        raise UsageError(
            "one report has nothing to compare with", hint="report BEFORE AFTER -o DIR"
        )
    if options.target.path.is_dir():
        for name in options.names:
            refuse_overwrite(options.target.path / name, force=options.target.force)
    if not options.no_picture:
        from roofline.plot import need_matplotlib

        need_matplotlib()  # says at once where it is missing


def _write(
    after: Analysis, comparison: Comparison | None, options: ReportOptions, folder: Path
) -> None:
    from roofline.render import comparison_json, json
    from roofline.render.pull_request import comment

    title = " ".join(options.title.split())
    pictures = not options.no_picture
    text = comment(after, comparison, title=title, picture=pictures, top=options.top)
    (folder / "comment.md").write_text(text, encoding="utf-8")
    (folder / "analysis.json").write_text(json.render(after), encoding="utf-8")
    from roofline.plot import Options, write

    shown = after if comparison is None else comparison
    write(shown, folder / PAGE, Options(title=title))
    files = {folder / name: theme for name, theme in PICTURES.items()}
    if comparison is not None:
        text = comparison_json.render(comparison)
        (folder / "compare.json").write_text(text, encoding="utf-8")
    if not pictures:
        return
    if comparison is not None:
        draw(comparison, files, title=title)
    else:
        from roofline.plot import picture, save

        for theme in dict.fromkeys(files.values()):
            drawn = picture(after, Options(theme=theme, title=title))
            for path in (path for path, wanted in files.items() if wanted == theme):
                save(drawn, path)
