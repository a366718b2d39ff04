"""``roofline report``: a folder with what one attaches to a pull request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from roofline.cli import comparing, comparing_options, options
from roofline.cli.reports import judging
from roofline.errors import InputError, UsageError
from roofline.files import refuse_overwrite, whole_folder
from roofline.model import Analysis

if TYPE_CHECKING:
    from roofline.compare.model import Comparison

PICTURES = {
    "roofline.svg": "light",
    "roofline.png": "light",
    "roofline-dark.svg": "dark",
    "roofline-dark.png": "dark",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Content:
    """What the folder gets; without ``comparison`` it is about ``after`` alone."""

    after: Analysis
    comparison: Comparison | None
    title: str
    top: int
    picture: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The files, in the order they are spoken of."""
        pictures = PICTURES if self.picture else ()
        return (
            "comment.md",
            *pictures,
            "analysis.json",
            *(("compare.json",) if self.comparison else ()),
        )


@click.command("report")
@click.argument("reports", metavar="REPORT [AFTER]", nargs=-1, required=True, type=options.File())
@click.option(
    "-o",
    "--output",
    "folder",
    metavar="DIR",
    required=True,
    type=options.File(),
    help="The folder to write into; made where it is not there.",
)
@click.option("--title", metavar="TEXT", default="Roofline", show_default=True, help="Its heading.")
@click.option(
    "--top",
    metavar="N",
    type=click.IntRange(1, 10),
    default=10,
    show_default=True,
    help="Kernels in the table, at most 10.",
)
@click.option("--no-picture", is_flag=True, help="Leave the pictures out (matplotlib draws them).")
@options.all_of(options.force, *comparing_options.COMPARING, *options.JUDGING)
@click.pass_context
def command(ctx: click.Context, /, reports: tuple[Path, ...], **given: Any) -> None:
    """Write what one attaches to a pull request: Markdown, pictures, JSON.

    One REPORT is described; two are compared. DIR gets comment.md (fits GitHub's limits and shows
    the pictures by relative link, light or dark as the reader's theme is), roofline.svg and .png
    with their dark variants, analysis.json and, of two, compare.json: all of them or none. Names
    of kernels and GPUs and numbers are in it, nothing else of the reports.

    \b
    Examples:
      roofline report after.ncu-rep -o pr/
      roofline report before.ncu-rep after.ncu-rep -o pr/ --title 'Fused softmax' --top 5
    """
    _check_options(reports, given)
    how = judging(given)
    sides = [comparing.analyze_side(path, how) for path in reports]
    comparison = _compare([s[0] for s in sides], given)
    content = _Content(
        after=sides[-1][0],
        comparison=comparison,
        title=" ".join(given["title"].split()),
        top=given["top"],
        picture=not given["no_picture"],
    )
    with whole_folder(given["folder"], content.names, force=given["force"]) as folder:
        _write(content, folder)
    for name in content.names:
        click.echo(given["folder"] / name)
    if any(unreadable for _, unreadable in sides):
        ctx.exit(InputError.exit_code)


def _check_options(reports: Sequence[Path], given: dict[str, Any]) -> None:
    if len(reports) > 2:
        raise UsageError(
            f"{len(reports)} captures were named",
            why="report takes one or two",
            hint="a folder or a quoted glob pattern holds several reports of one side",
        )
    if len(reports) == 1 and any(given[name] for name in ("maps", "expect", "because")):
        raise UsageError("one report compares with nothing", hint="report BEFORE AFTER -o DIR")
    names = ("comment.md", "analysis.json", *(("compare.json",) if len(reports) == 2 else ()))
    folder: Path = given["folder"]
    if folder.is_dir():
        for name in (*names, *(() if given["no_picture"] else PICTURES)):
            refuse_overwrite(folder / name, force=given["force"])
    if not given["no_picture"]:
        import roofline.plot  # noqa: F401  # says at once where matplotlib is missing


def _compare(sides: Sequence[Analysis], given: dict[str, Any]) -> Comparison | None:
    if len(sides) == 1:
        return None
    from roofline.compare.judge import compare

    return compare(sides[0], sides[1], comparing.compare_options(given, sides[0]))


def _write(content: _Content, folder: Path) -> None:
    from roofline.compare.baseline import without_personal
    from roofline.render import comparison_json, json
    from roofline.render.pull_request import comment

    shared = without_personal(content.after)
    text = comment(
        shared,
        content.comparison,
        title=content.title,
        picture=content.picture,
        top=content.top,
    )
    (folder / "comment.md").write_text(text, encoding="utf-8")
    (folder / "analysis.json").write_text(json.render(shared), encoding="utf-8")
    if content.comparison is not None:
        text = comparison_json.render(content.comparison)
        (folder / "compare.json").write_text(text, encoding="utf-8")
    if content.picture:
        files = {folder / name: theme for name, theme in PICTURES.items()}
        if content.comparison is not None:
            comparing.draw(content.comparison, files, title=content.title)
        else:
            _draw(shared, files, content.title)


def _draw(analysis: Analysis, files: dict[Path, str], title: str) -> None:
    from roofline.plot import Options, picture, save

    for path, theme in files.items():
        save(picture(analysis, Options(theme=theme, title=title)), path)
