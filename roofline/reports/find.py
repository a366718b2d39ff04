"""Which report files a name, a folder or a pattern means."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from shlex import quote

from roofline.errors import InputError, RooflineWarning
from roofline.files import TEMPORARY, keep_inputs, unreadable
from roofline.foreign import printable
from roofline.reports.fields import MAGIC

SUFFIXES = (".ncu-rep", ".ncu-repz", ".nsight-cuprof-report")
# A report that somebody compressed: it is refused and not passed over.
_COMPRESSED = re.compile(r"(.+\.ncu-repz?)\.(gz|zst|xz|bz2|zip)", re.IGNORECASE)
_UNFINISHED = (".part", ".partial")  # of copies: such a report may be empty yet

OnError = Callable[[InputError], None]
OnRefused = Callable[[Path, InputError], None]
OnProgress = Callable[[int, int], None]


def report_or_raise(error: InputError, on_error: OnError | None) -> None:
    """Tell ``on_error``; raise where there is none to tell."""
    if on_error is None:
        raise error
    on_error(error)


def _raise(_: Path, error: InputError) -> None:
    raise error


def files_of(paths: Iterable[str | Path], on_refused: OnRefused = _raise) -> list[Path]:
    """Each report that files, folders and glob patterns name, once; sorted within each of these.

    ``on_refused`` is told of paths that lead to no report; without it the first one raises.
    """
    found: dict[Path, None] = {}
    for path in paths:
        try:
            found |= dict.fromkeys(_expand(path, on_refused))
        except InputError as error:
            on_refused(Path(path), error)
        except OSError as error:
            on_refused(Path(path), unreadable(Path(error.filename or path), error))
    keep_inputs(found)
    return list(found)


def _expand(path: str | Path, on_refused: OnRefused) -> list[Path]:
    if not str(path):
        raise InputError("a report's name is empty", hint=". for the folder that one is in")
    given = Path(path)
    if given.is_dir():
        refused: list[OSError] = []
        found = sorted(_within(given, refused.append))
        for error in refused:
            on_refused(Path(error.filename), unreadable(Path(error.filename), error))
        if not found and not refused:
            hint = f"a folder of .ncu-rep files; of timelines: roofline select {quote(str(given))}"
            raise InputError(f"no reports in {given}", why="no .ncu-rep file in it", hint=hint)
        return found
    if given.suffix in (".nsys-rep", ".qdrep"):
        what = f"{given} is a timeline of Nsight Systems"
        hint = f"roofline select {quote(str(given))}"
        raise InputError(what, why="it holds no counters of kernels", hint=hint)
    if not any(letter in str(path) for letter in "*?[") or given.exists() or given.is_symlink():
        return [given]
    anchor = Path(given.anchor) if given.is_absolute() else Path()
    try:
        matches = sorted(anchor.glob(str(given.relative_to(given.anchor))))
    except ValueError as error:
        hint = "** between slashes, as in runs/**/*.ncu-rep"
        raise InputError(f"{given} is no pattern", why=str(error), hint=hint) from error
    if not matches:
        raise InputError(f"no report matches {given}", hint="ls to see which files there are")
    return files_of(matches, on_refused)


def _within(given: Path, on_error: Callable[[OSError], None]) -> Iterator[Path]:
    """The reports in a folder; a warning names what looks like one and is none by its name."""
    others: list[Path] = []
    for place, folders, files in os.walk(given, onerror=on_error):
        # What a killed run of ours left is no report.
        folders[:] = [one for one in folders if not one.startswith(TEMPORARY)]
        named = {name for name in files if Path(name).suffix.lower() in SUFFIXES}
        packed = {
            name for name in files if (of := _COMPRESSED.fullmatch(name)) and of[1] not in files
        }
        yield from (Path(place, name) for name in named | packed)
        if not (folders or files) and Path(place).suffix.lower() in SUFFIXES:
            yield Path(place)  # as a mount makes where the file was not there
        # Beside reports alone: to open all files of a large tree would take long.
        near = named or Path(place) == given
        rest = (Path(place, name) for name in files if near or "ncu-rep" in name)
        others += (path for path in rest if path.name not in named and _begins_as_report(path))
    if others:
        few = [quote(str(path)) for path in sorted(others)[:3]] + ["..."] * (len(others) > 3)
        what = (
            f"reports left out of {given}, as their names do not end in .ncu-rep: {', '.join(few)}"
        )
        warnings.warn(what, RooflineWarning, stacklevel=2)


def _begins_as_report(path: Path) -> bool:
    if path.suffix in _UNFINISHED and Path(path.stem).suffix.lower() in SUFFIXES:
        return True
    with suppress(OSError):
        if path.is_file():  # a pipe would be waited for
            with path.open("rb") as file:
                return file.read(len(MAGIC)) == MAGIC
    return False


def label_of(path: Path) -> str:
    """A file's name as text: its bytes may be no UTF-8, or the locale may not know them."""
    return printable(os.fsencode(path.name).decode("utf-8", "replace"))
