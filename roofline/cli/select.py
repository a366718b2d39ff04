"""``roofline select``: from a timeline to the kernels worth profiling."""

from __future__ import annotations

import re
import sys
from collections import Counter
from dataclasses import dataclass
from inspect import signature
from os.path import realpath
from pathlib import Path
from typing import TYPE_CHECKING, cast

from roofline.api import parse_move, select
from roofline.cli import options as opt
from roofline.cli.errors import say, say_failure
from roofline.cli.options import REPORTS, Share
from roofline.cli.output import Output, answer_in
from roofline.errors import InputError, UsageError
from roofline.text import numbers
from roofline.timeline.model import Keep, Move

if TYPE_CHECKING:
    from roofline.timeline.model import Selection

FORMATS = ("table", "json", "markdown")
# What an option of the same name says to ``select``.
_ASKED = signature(select).parameters.keys() - {"timelines", "lanes", "on_error"}
_PERCENTILE = re.compile(r"p?(\d{1,3}(?:\.\d{1,9})?)")
_STEPS = re.compile(r"(\d+)(?:-(\d+))?")


def parse_time(text: str) -> int:
    """Nanoseconds of 1.2s, 350ms, 90us."""
    value = numbers.read(text, "s")
    if value is None:
        why = None
        if numbers.read(f"{text}s", "s") is not None:
            why = "it has no unit"
        elif numbers.read(text.removeprefix("-"), "s") is not None:
            why = "it is below 0"
        raise UsageError(f"{text!r} is not a time", why=why, hint="1.2s, 350ms or 90us")
    return min(round(value * 1e9), 1 << 62)


def parse_steps(text: str) -> Keep:
    """The words "inner" and "all", or the first and the last step of "3" or "2-5", from 1."""
    if text in ("inner", "all"):
        return cast(Keep, text)
    match = _STEPS.fullmatch(text)
    if match is None:
        what = f"--keep {text!r} is not inner, all, a number or a range"
        raise UsageError(what, hint="--keep 2-5")
    first, last = int(match[1]), int(match[2] or match[1])
    if not (first and last):
        most = max(first, last)
        why, hint = "steps count from 1", f"--keep 1-{most}" if most > 1 else "--keep 1"
        raise UsageError(f"--keep {text} is no step", why=why, hint=hint)
    if first > last:
        why = f"step {first} comes after step {last}"
        raise UsageError(f"--keep {text} is no range", why=why, hint=f"--keep {last}-{first}")
    return first, last


def parse_percentile(text: str) -> float:
    """A percentile: "p95" or "95"."""
    match = _PERCENTILE.fullmatch(text)
    if match is None or not 0 < float(match[1]) <= 100:
        raise UsageError(f"--step-at {text!r} is not a percentile", hint="p50, p95 or p100")
    return float(match[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectOptions:
    """``roofline select``."""

    timelines: tuple[Path, ...] = opt.argument("TIMELINE...", **REPORTS)
    device: tuple[str, ...] = opt.which("--device X...")
    step: str | None = opt.which("--step RE", type=str)
    keep: Keep = opt.which("--keep STEPS", type=parse_steps, default="inner")
    start: int | None = opt.which("--start TIME", type=parse_time)
    end: int | None = opt.which("--end TIME", type=parse_time)
    top: int = opt.amount("--top N", default=5)
    min_share: float = opt.amount("--min-share PERCENT", type=Share(0, 100), default=1.0)
    by: str = opt.judged("--by config|name|op|module|nvtx", default="config")
    communication: str | None = opt.judged("--communication RE")
    warmup_steps: int = opt.expert("--warmup-steps COUNT", default=2)
    step_at: float = opt.judged("--step-at PERCENTILE", type=parse_percentile, default="p50")
    moves: tuple[Move, ...] = opt.judged("--if MOVE...", type=parse_move)
    idle_causes: Path | None = opt.judged("--idle-causes FILE", type=Path)
    own_names: bool = opt.judged("--own-names")
    stream: bool = opt.expert("--stream")
    nsys: str | None = opt.expert("--nsys PATH")
    output: Output = answer_in(*FORMATS)
    plot: Path | None = opt.written("--plot FILE")


@opt.typed_command(SelectOptions, "select")
def command(options: SelectOptions) -> int:
    """Pick the kernels of a trace that are worth profiling."""
    from roofline.render import selection as render
    from roofline.render import selection_json
    from roofline.text.notes import note_text

    output = options.output
    local = output.format == "table" and output.file is None and sys.stdout.isatty()
    _check(options, local=local)
    refused: list[InputError] = []

    def refuse(error: InputError) -> None:
        refused.append(error)
        say_failure(str(error))

    paths = Counter(map(realpath, options.timelines))
    for path in {realpath(p): p for p in options.timelines if paths[realpath(p)] > 1}.values():
        say(f"warning: {path} is named more than once; it counts once")
    asked = {name: getattr(options, name) for name in _ASKED}
    asked["own_names"] |= local and options.by in ("module", "nvtx")
    try:
        selection = select(
            *options.timelines, **asked, lanes=options.plot is not None, on_error=refuse
        )
    except InputError:
        if not refused:
            raise
        return InputError.exit_code
    for note in selection.notes:
        if note.code == "truncated_rank":
            say(f"warning: {note_text(note)}")
    if options.plot is not None:
        draw(selection, options.plot, force=output.force)
    if output.format == "json":
        output.write(selection_json.render(selection))
    elif output.format == "markdown":
        output.write(render.markdown(selection))
    else:
        output.write(render.render(selection, width=output.width(), color=output.color))
    return InputError.exit_code if refused else 0


def _check(options: SelectOptions, *, local: bool) -> None:
    """Refuse before the work what cannot be answered; ``local``: on a terminal and in no file."""
    output = options.output
    output.check(FORMATS, plots=True)
    if options.step is not None and (options.start is not None or options.end is not None):
        raise UsageError("--step and --start/--end exclude each other", hint="one of them")
    if options.start is not None and options.end is not None and options.end <= options.start:
        start, end = (f"{ns / 1e9:.15g}s" for ns in (options.start, options.end))
        hint = f"--start {end} --end {start}" if start != end else "a later --end"
        raise UsageError(f"--end {end} is not after --start {start}", hint=hint)
    if options.own_names and not local:
        why = "names of your own ranges may be private, so no file or pipe gets them"
        raise UsageError("--own-names is for a table on a terminal", why=why, hint="leave it out")
    if options.plot is not None:
        from roofline.plot import check_path, need_matplotlib

        need_matplotlib()
        check_path(options.plot, force=output.force, option="--plot")


def draw(selection: Selection, path: Path, *, force: bool) -> None:
    """Draw the judged step; refused where a recording has no times."""
    from roofline.plot import picture, save

    if not selection.selected.lanes:
        why = "a summary, or a trace that ends in the middle, has no step"
        raise InputError(f"cannot draw {selection.file}", why=why, hint="leave out --plot")
    save(picture(selection), path, force=force)
