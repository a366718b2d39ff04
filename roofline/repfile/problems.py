"""What can be wrong with a file that should be a report, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from roofline.repfile import wire
from roofline.repfile.container import ContainerError
from roofline.repfile.schema import ZSTD_MAGIC

# How files begin that people take for reports -> what they are, and what to do with them.
IMPOSTORS: tuple[tuple[bytes, str, str | None], ...] = (
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
    "junk": "copy it again: something was appended to it",
    "magic": "a file that ends in .ncu-rep or .ncu-repz",
    "empty": "capture again",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why a file is not a whole report.

    ``code`` is "empty", "magic" (not a report), "cut", "junk" (whole, with something behind it),
    "renamed" (compressed or not against its ending), "damaged" (whole blocks of what is no
    message) or "no results".
    """

    code: str
    text: str
    hint: str | None = None


def broken(error: ContainerError, head: bytes) -> Problem:
    """What is wrong with a file whose container is not whole; ``head`` is how it begins."""
    problem = _impostor(head) if error.code == "magic" else None
    return problem or Problem(code=error.code, text=str(error), hint=_HINTS.get(error.code))


def damaged(error: wire.WireError) -> Problem:
    """What is wrong with a report whose blocks are whole and whose messages are not."""
    return Problem(
        code="damaged", text=f"bytes in it are damaged ({error})", hint="copy it again, or capture"
    )


def _impostor(head: bytes) -> Problem | None:
    for prefix, text, hint in IMPOSTORS:
        if head.lstrip().startswith(prefix):
            return Problem(code="magic", text=text, hint=hint)
    return None


def contradiction(path: Path, head: bytes) -> Problem | None:
    """A whole report that ncu_report would still not load, for its ending alone."""
    compressed = head.startswith(ZSTD_MAGIC)
    if compressed == (path.suffix == ".ncu-repz"):
        return None
    wanted = ".ncu-repz" if compressed else ".ncu-rep"
    if not compressed and path.suffix != ".ncu-repz":
        return None
    state = "compressed" if compressed else "not compressed"
    return Problem(
        code="renamed",
        text=f"it is {state}, which its ending {path.suffix or '(none)'} does not say",
        hint=f"mv {path} {path.with_suffix(wanted)}",
    )
