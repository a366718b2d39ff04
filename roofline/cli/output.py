"""Where the answer goes: which format, to which file or to stdout, how wide, and in colours."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from roofline.cli import options as opt
from roofline.cli.options import FORMATS
from roofline.errors import UsageError
from roofline.files import refuse_overwrite, whole_file
from roofline.foreign import shown

_ENDINGS = {f".{form}": form for form in FORMATS} | {".md": "markdown"}
_OF_TABLES = frozenset({"", ".txt", ".text", ".log", ".out"})
PICTURES = frozenset({".png", ".svg", ".pdf", ".html"})
_NOT_TEXT = PICTURES | {".gif", ".htm", ".jpeg", ".jpg", ".ncu-rep", ".webp", ".xls", ".xlsx"}
PLAIN_WIDTH = 120  # where there is no terminal to ask
WIDEST = 200  # longer lines are hard to read
QUIET_S = 0.5  # shorter work shows no progress
# For a terminal or file that is not Unicode.
_ASCII = str.maketrans(
    {"…": "~", "µ": "u", "\N{MULTIPLICATION SIGN}": "x", "█": "#"}
    | dict.fromkeys("▏▎▍▌", " ")
    | dict.fromkeys("▋▊▉", "#")
    | dict(zip("─━┴┤│┊•", "-=+|||*", strict=True))
    | dict.fromkeys(map(chr, range(0x2800, 0x2900)), ".")  # dots of a chart
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """The options that say how and where the answer is written."""

    asked_format: str | None = opt.written(f"--format {'|'.join(FORMATS)}")
    as_json: bool = opt.written("--json")
    output: Path | None = opt.written("-o --output FILE")
    force: bool = opt.written("-f --force")

    @property
    def format(self) -> str:
        """As asked for, else by the ending of the file, else a table."""
        if self.as_json:
            return "json"
        ending = "" if self.output is None else self.output.suffix.lower()
        return self.asked_format or _ENDINGS.get(ending, "table")

    @property
    def file(self) -> Path | None:
        """The file to write; ``None`` for stdout."""
        return None if self.output is None or str(self.output) == "-" else self.output

    @property
    def color(self) -> bool:
        """Whether the answer has colours: on a terminal that shows them; NO_COLOR= says nothing."""
        if self.file is not None or os.environ.get("NO_COLOR"):
            return False
        able = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        return able or bool(os.environ.get("FORCE_COLOR"))

    def width(self, plain: int = PLAIN_WIDTH) -> int:
        """The columns that a table may take; ``plain`` where no terminal is asked."""
        if self.file is not None:
            return plain
        return min(shutil.get_terminal_size((plain, 40)).columns, max(WIDEST, plain))

    def check(self, formats: Collection[str] = FORMATS, *, plots: bool = False) -> None:
        """Refuse before long work what could not be written in the end.

        ``plots`` says that the command draws, too, with --plot.
        """
        if self.file is not None and self.file.suffix.lower() in _NOT_TEXT:
            drawn = plots and self.file.suffix.lower() in PICTURES
            hint = f"--plot {self.file}" if drawn else f"-o {self.file.with_suffix('.json')}"
            raise UsageError(f"cannot write this answer to {self.file}: it is text", hint=hint)
        if self.file is not None and not (self.as_json or self.asked_format):
            ending = self.file.suffix.lower()
            if ending not in _OF_TABLES and ending not in _ENDINGS:
                fitting = [one for one, form in _ENDINGS.items() if form in formats]
                fitting += sorted(PICTURES) if plots else []
                raise UsageError(
                    f"cannot tell the format of {self.file}",
                    why=f"no format ends in {ending}",
                    hint=f"--format table, or an ending: {', '.join(fitting)}, .txt",
                )
        if self.as_json and self.asked_format not in (None, "json"):
            what = f"--json and --format {self.asked_format} exclude each other"
            raise UsageError(what, hint="one of them")
        if self.format not in formats:
            *others, last = formats
            raise UsageError(
                f"this answer cannot be written as {self.format}",
                hint=f"--format {', '.join(others)} or {last}",
            )
        if self.format == "parquet" and self.file is None:
            raise UsageError("Parquet needs a file", hint="--format parquet --output FILE.parquet")
        if self.file is not None:
            refuse_overwrite(self.file, force=self.force)

    def write(self, *chunks: str) -> None:
        """Write text to the file, whole or not at all, or to stdout."""
        self.write_all(chunks)

    def answer(self, **forms: Callable[[], str]) -> None:
        """Write the one of ``forms`` whose name is the format."""
        self.write(forms[self.format]())

    def write_all(self, chunks: Iterable[str]) -> None:
        """As ``write``, for text that is made while it is written."""
        if self.file is None:
            for chunk in chunks:
                text = shown(chunk) if self.format in ("table", "markdown") else chunk
                click.echo(encodable(text), nl=False, color=self.color)
            return
        with (
            whole_file(self.file, force=self.force) as temporary,
            temporary.open("w", encoding="utf-8", newline="") as file,
        ):
            file.writelines(chunks)


def encodable(text: str) -> str:
    """``text`` in letters that stdout can show."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_ASCII).encode(encoding, "replace").decode(encoding)
    return text


def answer_in(*formats: str) -> Any:
    """A field for an ``Output`` that knows these formats."""
    return opt.shared(Output, asked_format={"type": click.Choice(formats)})


@contextmanager
def progress(
    noun: str, *, verb: str = "Reading", percent: bool = False
) -> Iterator[Callable[[int, int], None]]:
    """Give a callback that shows how far the block is, on a terminal's stderr alone.

    It takes how much is done of how much: counts, or with ``percent`` amounts.
    """
    began, shown = time.monotonic(), False
    seen = sys.stderr.isatty()

    def tell(done: int, total: int, /) -> None:
        nonlocal shown
        if seen and done < total and time.monotonic() - began > QUIET_S:
            shown = True
            far = f"{100 * done / total:.0f} %" if percent else f"{done:,} of {total:,}"
            click.echo(f"\r{verb} {noun}: {far} ", err=True, nl=False)

    try:
        yield tell
    finally:
        if shown:
            click.echo("\r\x1b[K", err=True, nl=False)
