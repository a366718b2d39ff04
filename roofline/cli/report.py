"""``roofline report``: a folder with a pull-request comment and its plots."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from roofline.cli import options as opt
from roofline.cli.compare import (
    BASELINE,
    OF_TIMELINES,
    Comparing,
    analyze_side,
    check_count,
    draw,
    with_open_entry,
)
from roofline.cli.errors import say
from roofline.cli.options import REPORTS, File, Judging, Target
from roofline.compare.baseline import baseline_of, baseline_path, without_personal
from roofline.compare.history import Stage
from roofline.compare.model import Comparison
from roofline.errors import InputError, UsageError
from roofline.files import keep_inputs, refuse_overwrite, whole_folder
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
    top: int = opt.amount("--top N", type=opt.Whole(1, 10), default=10)
    comparing: Comparing = opt.shared(
        Comparing, **{name.replace("-", "_"): {"hidden": True} for name in OF_TIMELINES}
    )
    baseline: Path | None = opt.judged("--baseline DIR", BASELINE)
    record: Path | None = opt.judged("--record FILE.md", type=File())
    judging: Judging = opt.shared(Judging)
    target: Target = opt.shared(
        Target,
        path={"metavar": "DIR", "help": "The folder to write to; created if it does not exist."},
    )
    title: str = opt.written("--title TEXT", default="Roofline")
    image_base: str | None = opt.written("--image-base URL", type=str)
    no_picture: bool = opt.written("--no-picture")

    @property
    def compares(self) -> bool:
        """Whether there is a side before."""
        return self.baseline is not None or len(self.reports) == 2

    @property
    def names(self) -> tuple[str, ...]:
        """The files of the folder, in the order they are printed."""
        pictures = () if self.no_picture else PICTURES
        compared = ("compare.json",) if self.compares else ()
        return ("comment.md", PAGE, *pictures, "analysis.json", *compared)


@opt.typed_command(ReportOptions, "report")
def command(options: ReportOptions) -> int:
    """Write a pull-request comment with plots."""
    _check(options)
    sides = [analyze_side(path, options.judging) for path in options.reports]
    before, after = sides[0], sides[-1]
    if options.baseline is not None:
        keep_inputs([baseline_path(options.baseline, after)])
        before = baseline_of(options.baseline, after, shlex.quote(str(options.reports[0])))
    comparing, stated = with_open_entry(before, after, options.record, options.comparing)
    if options.record is not None and stated.closes is None:
        say(f"{options.record} has no open predictions of this BEFORE")
    comparison = comparing.compare(before, after) if options.compares else None
    with whole_folder(options.target.path, options.names, force=options.target.force) as folder:
        _write(without_personal(after), comparison, options, folder, stated)
    for name in options.names:
        click.echo(shown(str(options.target.path / name)))
    return InputError.exit_code if any(side.unread for side in sides) else 0


def _check(options: ReportOptions) -> None:
    comparing = options.comparing
    if options.baseline is None:
        check_count(options.reports, {1, 2}, "report takes one or two")
    else:
        check_count(options.reports, {1}, "report takes AFTER alone, as BEFORE is the baseline")
    base = options.image_base
    if base is not None and (options.no_picture or not re.fullmatch(r"https?://[^\s\"<>]+", base)):
        why = "there is no picture" if options.no_picture else "it is not an http(s) address"
        hint = "leave out one" if options.no_picture else "https://HOST/PATH of the pictures"
        raise UsageError(f"--image-base {base!r} cannot be used", why=why, hint=hint)
    given = {**comparing.given(), "record": options.record}
    unused = [f"--{name}" for name, asked in given.items() if asked]
    if unused and not options.compares:
        raise UsageError(
            f"{unused[0]} is for a comparison",
            why="one report has nothing to compare with",
            hint="report BEFORE AFTER -o DIR, or --baseline DIR",
        )
    if options.target.path.is_dir():
        for name in options.names:
            refuse_overwrite(options.target.path / name, force=options.target.force)
    if not options.no_picture:
        from roofline.plot import need_matplotlib

        need_matplotlib()  # says at once where it is missing


def _write(
    after: Analysis,
    comparison: Comparison | None,
    options: ReportOptions,
    folder: Path,
    stated: Stage,
) -> None:
    from roofline.render import comparison_json, json
    from roofline.render.history import made_when
    from roofline.render.pull_request import comment

    title = " ".join(options.title.split())
    pictures = not options.no_picture
    how: Any = {"picture": pictures, "image_base": options.image_base, "top": options.top}
    text = comment(after, comparison, title=title, remarks=tuple(made_when(stated)), **how)
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
