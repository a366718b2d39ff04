"""Whether a file is a whole report, and what its container says of the capture."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from pathlib import Path

from roofline.errors import InputError
from roofline.reports.container import Block, ContainerError, Walk
from roofline.reports.fields import numbers

# How files begin that people take for reports -> what they are, and what to do with them.
_OTHERS: tuple[tuple[bytes, str, str | None], ...] = (
    (b"SQLite format 3\0", "it is an SQLite database", "roofline select, if nsys exported it"),
    (b"version https://git-lfs", "it is a Git LFS pointer, not the file itself", "git lfs pull"),
    (b"PK\x03\x04", "it is a ZIP archive", "unpack it first"),
    (b"\x1f\x8b", "it is compressed with gzip", "gunzip it first"),
    (b"<!DOCTYPE", "it is a web page", "download the raw file"),
    (b"<html", "it is a web page", "download the raw file"),
    (b"==PROF==", "it is what ncu printed, not its report", "capture with ncu -o NAME"),
    (b'"ID","Process ID"', "it is a CSV page of ncu", "the .ncu-rep that it came from"),
    (b"{", "it is JSON", "roofline select, if it is a PyTorch trace"),
    (b"\x7fELF", "it is a program", "roofline profile PROGRAM"),
)
_HINTS = {
    "cut": "copy it again, or capture again and let ncu end by itself",
    "junk": "copy it again: something was appended to it, or it is damaged",
    "magic": "a file that ends in .ncu-rep or .ncu-repz",
    "empty": "capture again",
}
_TARGETS = ("Nsight Compute Target", "Nsight Compute Host")


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why a file is not a whole report.

    ``code`` is "empty", "magic" (not a report), "cut", "junk" (whole, with something behind it, or
    damaged), "renamed" (compressed or not against its ending) or "no results".
    """

    code: str
    text: str
    hint: str | None = None

    def error(self, path: Path, *, partly: bool = False) -> InputError:
        """The problem as the error of the file at ``path``, of which some may have been read."""
        what = f"cannot read all of {path}" if partly else f"cannot read {path}"
        return InputError(what, why=self.text, hint=self.hint)


@dataclass(slots=True, kw_only=True)
class Summary:
    """A report without its values.

    ``found`` counts the results, of a broken file those before the break. ``versions`` maps
    providers ("Nsight Compute Target", "CUDA Version", ...) to versions, ``settings`` what the
    capture was told ("clock_control", "replay_mode", "sections", "activity"). ``names`` are those
    of the metrics in the order of their numbers; ``comment`` is what whoever made the file wrote
    into it.
    """

    version: int | None = None
    found: int = 0
    versions: dict[str, str] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    comment: str = ""
    compressed: bool = False
    problem: Problem | None = None

    @property
    def ncu_version(self) -> str | None:
        """The Nsight Compute that captured, "2024.1.1.0"; ``None`` where it is not stated."""
        words = next((w for name in _TARGETS if (w := self.versions.get(name, "").split())), None)
        return words[0] if words else None

    def add(self, block: Block) -> None:
        """Take in what a block's header says."""
        self.found += len(block.kinds)
        self.names += map(decoded, block.message.strings.text)
        if block.message.HasField("session"):
            session = block.message.session
            self.comment = self.comment or decoded(session.comment)
            self.versions |= {decoded(v.name): decoded(v.value) for v in session.versions}
            for settings in session.settings:
                said = {name: decoded(getattr(settings, name)) for name in numbers("Settings")}
                self.settings |= {name: text for name, text in said.items() if text}


def summarize(file: io.BufferedReader, path: Path) -> Summary:
    """Walk over an open report; what is wrong with it is said, not raised."""
    summary = Summary()
    try:
        walk = Walk(file)
        summary.version, summary.compressed = walk.version, walk.compressed
        for block in walk.blocks():
            summary.add(block)
        summary.problem = _renamed(path, compressed=walk.compressed) or _nothing(summary)
    except ContainerError as error:
        file.seek(0)
        summary.problem = broken(error, file.read(64))
    return summary


def require_whole(file: io.BufferedReader, path: Path) -> Summary:
    """Give the summary of an open report that is whole and holds results.

    Raises:
        InputError: it is not; the message says what it is instead and what to do.

    """
    summary = summarize(file, path)
    if summary.problem is not None:
        raise summary.problem.error(path)
    return summary


def broken(error: ContainerError, begin: bytes = b"") -> Problem:
    """What is wrong with a file whose container is not whole; ``begin`` is how it begins."""
    if error.code == "magic":
        for prefix, text, hint in _OTHERS:
            if begin.lstrip().startswith(prefix):
                return Problem(code="magic", text=text, hint=hint)
    return Problem(code=error.code, text=str(error), hint=_HINTS[error.code])


def _renamed(path: Path, *, compressed: bool) -> Problem | None:
    """Of a whole report: NVIDIA's reader goes by the ending, and finds nothing in this one."""
    if compressed == (path.suffix == ".ncu-repz"):
        return None
    state = "compressed" if compressed else "not compressed"
    return Problem(
        code="renamed",
        text=f"it is {state}, which its ending {path.suffix or '(none)'} does not say",
        hint=f"mv {path} {path.with_suffix('.ncu-repz' if compressed else '.ncu-rep')}",
    )


def _nothing(summary: Summary) -> Problem | None:
    if summary.found:
        return None
    return Problem(
        code="no results",
        text="it is whole, but no kernel was profiled into it",
        hint="capture again; roofline doctor says whether this machine can",
    )


def decoded(text: bytes) -> str:
    """Text of a report, which need not be UTF-8."""
    return text.decode("utf-8", "replace")
