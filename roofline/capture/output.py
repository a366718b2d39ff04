"""Where a capture leaves its report and log, without taking the place of anything."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from roofline.capture.command import shell
from roofline.errors import UsageError
from roofline.files import refuse_overwrite
from roofline.process import Ended

# ncu's log begins with this line of ours, so that a log may be written over and nothing else.
LOG_HEAD = "# log of roofline profile"


def free_name(program: Sequence[str], folder: Path = Path()) -> Path:
    """A report name after the program that nothing has yet: ``bench.ncu-rep``, ``bench-2...``."""
    return free_names(program, 1, folder)[0]


def free_names(program: Sequence[str], count: int, folder: Path = Path()) -> tuple[Path, ...]:
    """As ``free_name``, for ``count`` captures of one program."""
    script = next((word for word in program if word.endswith(".py")), program[0])
    stem = Path(script).name.removesuffix(".py") or "program"
    number = 1
    while True:
        name = stem if number == 1 else f"{stem}-{number}"
        paths = numbered(folder / f"{name}.ncu-rep", count)
        if all(_is_free(path) for path in paths):
            return paths
        number += 1


def numbered(report: Path, count: int) -> tuple[Path, ...]:
    """Names for ``count`` captures: ``report`` itself for one, else ``bench-1.ncu-rep`` and on."""
    if count == 1:
        return (report,)
    return tuple(
        report.with_name(f"{report.stem}-{number}{report.suffix}") for number in range(1, count + 1)
    )


def _is_free(report: Path) -> bool:
    return not report.exists() and (not log_path(report).exists() or is_log(log_path(report)))


def settle(made: Path, report: Path, *, force: bool) -> Path:
    """Move a finished report to its place; to a free name beside it if that was taken meanwhile.

    Raises:
        UsageError: it cannot be moved there.

    """
    while report.exists() and not force:
        report = free_name([report.name.removesuffix(".ncu-rep")], report.parent)
    try:
        return made.replace(report)
    except OSError as error:
        raise UsageError(f"cannot write {report}", why=error.strerror) from error


def log_path(report: Path) -> Path:
    """Where the log of ``report`` is."""
    return report.with_name(report.name + ".log")


def check_output(report: Path, *, force: bool) -> None:
    """Refuse, before anything runs, what could not be written in the end.

    Raises:
        UsageError: the report exists (without ``force``) or cannot be, or its log is another file.

    """
    if report.suffix != ".ncu-rep":
        raise UsageError(f"{report} is no name for a report", hint=f"{report}.ncu-rep")
    refuse_overwrite(report, force=force)
    log = log_path(report)
    if log.exists() and not force and not is_log(log):
        raise UsageError(f"{log} exists and is no log of ours", hint="another name, or --force")
    if not os.access(report.parent, os.W_OK):
        raise UsageError(f"cannot write to the folder {report.parent}", hint="-o in another folder")


def keep_log(argv: Sequence[str], text: Sequence[str], ended: Ended, log: Path) -> Path | None:
    """Write the log beside the report: the command, what ncu wrote, and its part of stderr.

    ``None`` where that fails: a full disk must not hide what there is to say.
    """
    library = [line for line in ended.stderr.splitlines() if line.startswith("==")]
    lines = [LOG_HEAD, f"$ {shell(argv)}", *text, *library, f"# exit code {ended.code}"]
    try:
        log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    except OSError:
        return None
    return log


def is_log(path: Path) -> bool:
    """Whether ``path`` is a log of ours, which may be written over."""
    with contextlib.suppress(OSError), path.open(encoding="utf-8", errors="replace") as file:
        return file.readline().rstrip("\n") == LOG_HEAD
    return False
