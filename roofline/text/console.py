"""rich, turned into text: one width, colours or none, nothing printed."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from roofline.kernel_names import printable
from roofline.model import Bound

NARROWEST = 60
INDENT = 2  # of what stands under a heading

# Bound -> colour; the word is always there too. Told apart by the colour-blind, light and dark.
BOUND_STYLES = {
    Bound.BANDWIDTH: "bright_blue",
    Bound.COMPUTE: "yellow",
    Bound.LATENCY: "magenta",
    Bound.UNKNOWN: "dim",
}
_COLOR = re.compile(r"\x1b\[[\d;]*m")
KEPT = "\ue000"  # a blank at which rich breaks no line
_UNIT = re.compile(r"(?<=\d) (?=%|[PTGMkmµn]?(?:s|B|FLOP|OP|Hz)\b)")
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def to_text(parts: Iterable[RenderableType], *, width: int, color: bool) -> str:
    """``parts`` below each other, at most ``width`` columns wide, no blanks at line ends."""
    out = io.StringIO()
    console = Console(
        file=out,
        width=max(width, NARROWEST),
        force_terminal=color,
        force_jupyter=False,  # in a notebook rich would show each part, and write nothing
        color_system="standard" if color else None,
        no_color=not color,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    for part in parts:
        console.print(part)
    lines = out.getvalue().replace(KEPT, " ").splitlines()
    return "".join(f"{_trimmed(line)}\n" for line in lines)


def _trimmed(line: str) -> str:
    """Without blanks at its end, and with the colours there."""
    line, colors = line.rstrip(" "), ""
    while line.endswith("m") and _COLOR.fullmatch(line, at := max(line.rfind("\x1b"), 0)):
        line, colors = line[:at].rstrip(" "), line[at:] + colors
    return line + colors


def bar(percent: float, width: int) -> str:
    """A bar of ``width`` cells for 0 to 100 %; more than 100 is full, the number says it."""
    eighths = round(min(max(percent, 0.0), 100.0) / 100 * width * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(width)


def bound(value: Bound) -> Text:
    """The word of a bound in its colour."""
    return Text.assemble((str(value), f"bold {BOUND_STYLES[value]}"))


def prose(text: str, style: str = "") -> Text:
    """A text of which no line begins with the unit of a number."""
    return Text(_UNIT.sub(KEPT, text), style=style)


def hanging(lead: str, text: Text | str, *, indent: int = 0, width: int | None = None) -> Table:
    """``text`` after ``lead``, its further lines set in as far as the first."""
    grid = Table.grid(padding=0)
    grid.add_column(width=indent + len(lead), no_wrap=True)
    grid.add_column(overflow="fold", max_width=width and width - indent - len(lead))
    grid.add_row(Text(" " * indent + lead), text if isinstance(text, Text) else prose(text))
    return grid


def table(*columns: str | Column, gap: int = 2) -> Table:
    """A table without rules; a title that begins with "-" is aligned right, with "+" folded."""
    return Table(
        *(_column(c) if isinstance(c, str) else c for c in columns),
        box=None,
        padding=(0, gap, 0, 0),
        pad_edge=False,
        header_style="bold",
    )


def _column(title: str) -> Column:
    match title[:1]:
        case "-":
            return Column(title[1:], justify="right")
        case "+":
            return Column(title[1:], overflow="fold")
    return Column(title)


def grid(columns: int) -> Table:
    """A table without heads; the last column, the longest, is folded, never cut."""
    made = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    for place in range(columns):
        made.add_column(no_wrap=place < columns - 1, overflow="fold")
    return made


def indented(part: RenderableType) -> RenderableType:
    """What stands under a heading, set in."""
    return Padding(part, (0, 0, 0, INDENT))


def bullet(text: str) -> RenderableType:
    """A set-in line with a dash."""
    return hanging("- ", printable(text), indent=INDENT)


def lines(*texts: str | Text | None) -> Iterator[RenderableType]:
    """A set-in line for each text that is there."""
    return (hanging("", text, indent=INDENT) for text in texts if text)


def section(title: str, body: Iterable[RenderableType]) -> Iterator[RenderableType]:
    """A heading after an empty line, and what stands below it; nothing where that is nothing."""
    below = list(body)
    if below:
        yield from (Text(f"\n{title}", style="bold"), *below)
