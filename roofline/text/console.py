"""rich, turned into text: one width, colours or none, nothing printed."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from roofline.kernel_names import printable
from roofline.model import Bound, Confidence

NARROWEST = 60
INDENT = 2  # of what stands under a heading

# Bound -> colour; the word is always there too. Told apart by the colour-blind, light and dark.
BOUND_STYLES = {
    Bound.BANDWIDTH: "bright_blue",
    Bound.COMPUTE: "yellow",
    Bound.LATENCY: "magenta",
    Bound.UNKNOWN: "dim",
}
CONFIDENCE_STYLES = {Confidence.HIGH: "", Confidence.MEDIUM: "", Confidence.LOW: "dim"}
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def to_text(parts: Iterable[RenderableType], *, width: int, color: bool) -> str:
    """``parts`` below each other, at most ``width`` columns wide, no blanks at line ends."""
    out = io.StringIO()
    console = Console(
        file=out,
        width=max(width, NARROWEST),
        force_terminal=color,
        color_system="standard" if color else None,
        no_color=not color,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    for part in parts:
        console.print(part)
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def bar(percent: float, width: int) -> str:
    """A bar of ``width`` cells for 0 to 100 %; more than 100 is full, the number says it."""
    eighths = round(min(max(percent, 0.0), 100.0) / 100 * width * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(width)


def bound(value: Bound) -> Text:
    """The word of a bound in its colour."""
    return Text.assemble((str(value), f"bold {BOUND_STYLES[value]}"))


def hanging(lead: str, text: Text | str, *, indent: int = 0) -> Table:
    """``text`` after ``lead``, its further lines set in as far as the first."""
    grid = Table.grid(padding=0)
    grid.add_column(width=indent + len(lead), no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(Text(" " * indent + lead), text if isinstance(text, Text) else Text(text))
    return grid


def line(text: str | Text) -> RenderableType:
    """A set-in line of a section."""
    return hanging("", text, indent=INDENT)


def lines(texts: Sequence[str | None]) -> Iterator[RenderableType]:
    """A line for each text that is there."""
    for text in texts:
        if text:
            yield line(text)


def bullet(text: str) -> RenderableType:
    """A line with a dash."""
    return hanging("- ", text, indent=INDENT)


def bullets(texts: Sequence[str]) -> Iterator[RenderableType]:
    """A line with a dash for each text."""
    for text in texts:
        yield bullet(printable(text))
