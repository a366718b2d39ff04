"""From an analysis to what the user asked to see: choosing, rendering, and where it goes."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from roofline.cli import terminal
from roofline.errors import UsageError
from roofline.files import refuse_overwrite, whole_file
from roofline.model import Analysis
from roofline.view import Choice, Chosen, choose, matching

if TYPE_CHECKING:
    from roofline.render.documents import JoinedDocument
    from roofline.timeline.join import Joined
    from roofline.timeline.model import Selection

ENDINGS = {
    ".json": "json",
    ".csv": "csv",
    ".md": "markdown",
    ".markdown": "markdown",
    ".parquet": "parquet",
}
PLAIN_WIDTH = 120  # where there is no terminal to ask
WIDEST = 200  # longer lines are hard to read
# What a terminal or file that is not Unicode gets instead.
_ASCII = str.maketrans(
    {"…": "~", "µ": "u", "\N{MULTIPLICATION SIGN}": "x", "█": "#"}
    | dict.fromkeys("▏▎▍▌", " ")
    | dict.fromkeys("▋▊▉", "#")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is to be shown and where.

    ``selection`` is what was chosen from ``timeline`` before, where that was read already.
    """

    choice: Choice = field(default_factory=Choice)
    output_format: str | None = None
    output: Path | None = None
    plot: Path | None = None
    force: bool = False
    explain: str | None = None
    timeline: Path | None = None
    step: str | None = None
    selection: Selection | None = None

    @property
    def format(self) -> str:
        """As asked for, else by the ending of the output file, else a table."""
        ending = "" if self.output is None else self.output.suffix.lower()
        return self.output_format or ENDINGS.get(ending, "table")

    @property
    def file(self) -> Path | None:
        """The file to write; ``None`` for stdout."""
        return None if self.output is None or str(self.output) == "-" else self.output


def request_of(given: Mapping[str, Any]) -> Request:
    """What the options that ``analyze`` and ``profile`` share ask for."""
    return Request(
        output_format=given["output_format"],
        plot=given["plot"],
        force=given["force"],
        explain=given["explain"],
        timeline=given["timeline"],
        step=given["step"],
    )


def check(request: Request) -> None:
    """Refuse at once what could not be answered in the end.

    Raises:
        UsageError: options that exclude each other, or a file that must not be written.

    """
    if request.format == "parquet" and request.file is None:
        raise UsageError("Parquet is not text", hint="--format parquet --output FILE.parquet")
    if request.explain is not None and request.format != "table":
        by_rank = _rank(request.explain) is not None
        narrowed = "" if by_rank else f"--kernel {request.explain} "
        order = ", its groups in the order of the table" if by_rank else ""
        raise UsageError(
            f"--explain is for reading, not for {request.format}",
            hint=f"{narrowed}--format json holds the same evidence{order}",
        )
    if request.timeline is not None and request.format in ("csv", "parquet"):
        raise UsageError(
            f"a timeline has no columns in {request.format}", hint="--format json or markdown"
        )
    if request.step is not None and request.timeline is None:
        raise UsageError("--step is about a timeline", hint="--timeline FILE")
    if request.file is not None:
        refuse_overwrite(request.file, force=request.force)
    if request.plot is not None:
        from roofline.plot import check_path

        check_path(request.plot, force=request.force, option="--plot")
    if request.plot is not None and request.plot == request.file:
        raise UsageError(f"--plot and --output both name {request.plot}", hint="two names")


def answer(analysis: Analysis, request: Request) -> None:
    """Write what ``request`` asks for about ``analysis`` to its file or to stdout.

    Raises:
        UsageError: nothing matches, or something needed is not installed.

    """
    part = choose(analysis, request.choice)
    if not part.analysis.results:
        raise nothing_left(analysis, request.choice)
    joined = _joined(part.analysis, request)
    if request.format == "parquet" and request.file is not None:
        from roofline.render.flat import write_parquet

        with whole_file(request.file, force=request.force) as temporary:
            write_parquet(part, temporary, launches=request.choice.launches)
    else:
        write(_text(part, request, joined), request)
    if request.plot is not None:
        _draw(part, request.plot, request)


def _joined(analysis: Analysis, request: Request) -> Joined | None:
    if request.timeline is None:
        return None
    from roofline.timeline import load_timeline, select
    from roofline.timeline.join import join

    found = request.selection or select(load_timeline(request.timeline, step=request.step))
    return join(analysis, found)


def _text(part: Chosen, request: Request, joined: Joined | None) -> Iterable[str]:
    launches = request.choice.launches
    # Renderers are imported here: each run needs one of them.
    if request.format == "json":
        from roofline.render import json

        return json.chunks(part, timeline=None if joined is None else _document(joined))
    if request.format == "csv":
        from roofline.render.flat import to_csv

        return iter([to_csv(part, launches=launches)])
    top = request.choice.top
    if request.format == "markdown":
        from roofline.render import markdown

        text = markdown.render(part, launches=launches, limit=top or markdown.ROWS)
        return iter([text, *_of_timeline(joined, request)])
    if request.explain is not None:
        text = _explanation(part, request.explain, request)
        return iter([text, *_of_timeline(joined, request)])
    from roofline.render import table

    text = table.render(
        part,
        launches=launches,
        limit=top or table.ROWS,
        width=width(request),
        color=color(request),
    )
    return iter([text, *_of_timeline(joined, request)])


def _document(joined: Joined) -> JoinedDocument:
    from roofline.render.joined import document

    return document(joined)


def _of_timeline(joined: Joined | None, request: Request) -> Iterator[str]:
    """What the timeline adds, below the rest."""
    if joined is None:
        return
    from roofline.render import joined as render

    if request.format == "markdown":
        yield f"\n### What it buys a step of {joined.selection.file}\n\n"
        yield render.markdown(joined)
    else:
        yield "\n" + render.render(joined, width=width(request), color=color(request))


def _explanation(part: Chosen, wanted: str, request: Request) -> str:
    from roofline.render import explain

    rank, groups = _rank(wanted), part.analysis.groups
    if rank is not None and not 0 < rank <= len(groups):
        ranks = "the only rank is 1" if len(groups) == 1 else f"ranks are 1 to {len(groups)}"
        raise UsageError(f"no kernel has rank {rank}", why=ranks, hint="--explain 1")
    found = matching(part.analysis, wanted) if rank is None else (groups[rank - 1],)
    if not found:
        hint = f"--explain {_nearest(part.analysis, wanted)}"
        raise UsageError(f"no kernel matches {wanted!r}", hint=hint)
    return explain.render(
        found[0],
        others=found[1:],
        rule=part.analysis.rule,
        width=width(request),
        color=color(request),
    )


def _rank(wanted: str) -> int | None:
    """``wanted`` as a rank of the table, if it is a number: no kernel's name is one."""
    return int(wanted) if re.fullmatch(r"-?[0-9]{1,9}", wanted) else None


def nothing_left(analysis: Analysis, choice: Choice) -> UsageError:
    """The error for a choice that nothing of ``analysis`` meets."""
    if choice.kernel is not None and not matching(analysis, choice.kernel.pattern):
        wanted = choice.kernel.pattern
        hint = f"--kernel {_nearest(analysis, wanted)}"
        return UsageError(f"no kernel matches {wanted!r}", hint=hint)
    devices = sorted({r.measurement.device.name or "unknown GPU" for r in analysis.results})
    if choice.device is not None:
        hint = f"--device with a part of one of these: {', '.join(devices)}"
        return UsageError(f"no launch on {choice.device!r}", hint=hint)
    return UsageError("nothing is left after filtering", hint="a lower --min-share")


def _nearest(analysis: Analysis, wanted: str) -> str:
    """The name that looks most like ``wanted``, and a few more."""
    names = list(dict.fromkeys(g.result.measurement.name for g in analysis.groups))
    word = re.sub(r"\W+", "", wanted)
    close = difflib.get_close_matches(word, names, n=3, cutoff=0.4) or names[:3]
    others = f", or one of {', '.join(close[1:])}" if len(close) > 1 else ""
    more = f" ({len(names)} names in all)" if len(names) > len(close) else ""
    return f"{close[0]}{others}{more}"


def _draw(part: Chosen, path: Path, request: Request) -> None:
    from roofline.plot import Options, picture, save

    save(picture(part, Options(launches=request.choice.launches)), path, force=request.force)


# --- where it goes ----------------------------------------------------------------------------


def write(chunks: Iterable[str], request: Request) -> None:
    """Write text to the file that ``request`` names, whole or not at all, or to stdout."""
    if request.file is None:
        for chunk in _encodable(chunks):
            click.echo(chunk, nl=False, color=color(request))
        return
    with (
        whole_file(request.file, force=request.force) as temporary,
        temporary.open("w", encoding="utf-8", newline="") as file,
    ):
        file.writelines(chunks)


def _encodable(chunks: Iterable[str]) -> Iterator[str]:
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    for chunk in chunks:
        try:
            chunk.encode(encoding)
        except UnicodeEncodeError:
            yield chunk.translate(_ASCII).encode(encoding, "replace").decode(encoding)
        else:
            yield chunk


def color(request: Request) -> bool:
    """Colours only for a terminal that wants them."""
    return request.file is None and terminal.wants_color()


def width(request: Request) -> int:
    """The columns that a table may take."""
    if request.file is not None:
        return PLAIN_WIDTH
    return min(terminal.columns(PLAIN_WIDTH), WIDEST)
