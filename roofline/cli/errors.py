"""How a command ends: the exit code, and at most one message on stderr."""

from __future__ import annotations

import difflib
import errno
import os
import shlex
import sys
import traceback
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath
from typing import Any, NoReturn, TextIO

import click

from roofline.errors import (
    CaptureError,
    InputError,
    ProgramError,
    RooflineError,
    RooflineWarning,
    UsageError,
    one_line,
    typed,
)
from roofline.foreign import shown

INTERRUPTED = 130  # 128 + SIGINT, as shells count
PIPE_CLOSED = 141  # 128 + SIGPIPE: the reader of our answer has gone, which needs no message
OUR_FAULT = 70  # EX_SOFTWARE of sysexits.h
# Errors of a stream that has no name; others without a file name are faults of ours.
_LOST = {errno.EPIPE, errno.ENOSPC, errno.EBADF, errno.EIO, errno.EFBIG, errno.EDQUOT}
_WITH_VALUES = {  # what is often typed without the value that it takes
    one: f"{one} {value}"
    for one, value in {
        "--plot": "roofline.png",
        "--explain": "1",
        "--page": "roofline.html",
        "-o": "FILE",
        "--output": "FILE",
    }.items()
}
# Gates annotate each by itself.
_ANNOTATED = {e.exit_code for e in (UsageError, InputError, CaptureError, ProgramError)}
_NO_ARGUMENTS: type[Exception] | tuple[()] = getattr(click.exceptions, "NoArgsIsHelpError", ())


def say(text: str, *, prefix: str = "roofline: ", command: bool = False) -> None:
    """Write a line to stderr; where nobody can read it, it is dropped and the answer is not.

    A log takes it for text whatever it says, unless it is a ``command`` to the log.
    """
    try:
        click.echo(text if command else shown(f"{prefix}{text}"), err=True)
    except OSError:
        _let_go(sys.stderr)


def say_failure(text: str, kind: str = "error") -> None:
    """Say what ends the command or leaves out an input, also as an annotation on GitHub."""
    say(text)
    if os.environ.get("GITHUB_ACTIONS") == "true":
        data = shown(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
        say(f"::{kind} title=roofline::{data}", command=True)


@contextmanager
def handled(words: Sequence[str] = ()) -> Iterator[None]:
    """Turn whatever ends the block into a message and click's ``Exit`` with its code.

    ``words`` are what was typed: the files among them are named where a fault names none.
    """
    with typed():
        yield from _handled(words)


def _handled(words: Sequence[str]) -> Iterator[None]:
    try:
        yield
    except (click.exceptions.Exit, _NO_ARGUMENTS):  # type: ignore[misc]
        raise
    except RooflineError as error:
        _end(str(error), error.exit_code, error)
    except click.ClickException as error:
        # Some of click's errors end with 1, which is for gates alone.
        _end(_usage(error), max(error.exit_code, UsageError.exit_code), error)
    except (KeyboardInterrupt, click.Abort) as error:
        _end("interrupted", INTERRUPTED, error)
    except MemoryError as error:
        full = InputError("memory ran out", hint="fewer reports at once, or --jobs 1")
        _end(str(full), full.exit_code, error)
    except OSError as error:
        _system(error, words)
    except Exception as error:  # noqa: BLE001  # whatever it is, it is ours
        _fault(error, words)


def _end(text: str, code: int, cause: BaseException) -> NoReturn:
    (say_failure if code in _ANNOTATED else say)(text)
    raise click.exceptions.Exit(code) from cause


def _system(error: OSError, words: Sequence[str]) -> NoReturn:
    """An error of the system that names a file is about reading it: files.py tells of writing."""
    if error.filename is not None:
        name = os.fsdecode(error.filename)
        cannot = InputError(
            f"cannot use {name}", why=error.strerror, hint=f"ls -ld {shlex.quote(name)}"
        )
        _end(str(cannot), cannot.exit_code, error)
    if error.errno not in _LOST:
        _fault(error, words)
    _let_go(sys.stdout)
    if error.errno == errno.EPIPE:
        raise click.exceptions.Exit(PIPE_CLOSED) from error
    why = "it is closed" if error.errno == errno.EBADF else error.strerror
    lost = UsageError("cannot write the answer to stdout", why=why, hint="-o FILE")
    _end(str(lost), lost.exit_code, error)


def _fault(error: Exception, words: Sequence[str]) -> NoReturn:
    if isinstance(error.__cause__, KeyboardInterrupt | SystemExit):
        raise error.__cause__  # as __main__ explains
    if os.environ.get("ROOFLINE_DEBUG"):
        say("".join(traceback.format_exception(error)), prefix="")
    _end(fault(error, words), OUR_FAULT, error)


def fault(error: Exception, words: Sequence[str] = ()) -> str:
    """The message of an exception that nobody expected: where it was, and about which files."""
    last = traceback.extract_tb(error.__traceback__)[-1:]
    place = "".join(f" ({PurePath(at.filename).name}, line {at.lineno})" for at in last)
    said = " ".join(str(error).split())[:300]
    files = getattr(error, "__notes__", None) or [w for w in words if os.path.isfile(w)]  # noqa: PTH113  # it takes any
    ours = RooflineError(
        "a fault of roofline",
        why=f"{type(error).__name__}: {said}{place}",
        details=[f"input: {file}" for file in dict.fromkeys(files)],
        hint="report it with this message and the lines that ROOFLINE_DEBUG=1 adds",
    )
    return str(ours)


def _usage(error: click.ClickException) -> str:
    """The text of click's errors in the form of ours."""
    message = one_line(error.format_message()).rstrip(".")
    context = getattr(error, "ctx", None)
    if not isinstance(error, click.UsageError) or context is None:
        return message
    hint = f"{context.command_path} --help"
    if isinstance(error, click.BadOptionUsage) and "requires an argument" in message:
        hint = _WITH_VALUES.get(error.option_name, hint)
    missing = error.param if isinstance(error, click.MissingParameter) else None
    if missing is not None and "-o" in missing.opts:
        hint = "-o roofline.png" if context.info_name == "plot" else f"-o {missing.metavar}"
    return f"{message}\n  try: {hint}"


def no_such_command(word: str, names: Iterable[str]) -> UsageError:
    """The error for a command that does not exist, with the nearest that does."""
    near = difflib.get_close_matches(word, list(names), n=1)
    hint = f"roofline {near[0]}" if near else "roofline --help"
    if not near and Path(word).exists():
        file = shlex.quote(word)
        hint = f"roofline analyze {file} for reports, roofline select {file} for timelines"
    return UsageError(f"No such command {word!r}", hint=hint)


def prepare_streams() -> None:
    """Show our warnings as messages, and stand in for closed streams.

    A stream that the caller closed is opened on the null device, so that no file gets its number;
    stdout only for reading, so that an answer that would be lost is an error.
    """
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    warnings.showwarning = _show_warning


_show_others = warnings.showwarning


def _show_warning(
    message: Warning | str, category: type[Warning], *where: Any, **more: Any
) -> None:
    """Ours as a message, others as Python shows them."""
    if issubclass(category, RooflineWarning):
        say_failure(str(message), "warning")
    else:
        _show_others(message, category, *where, **more)


def _let_go(stream: TextIO) -> None:
    """Drop what is left in the stream's buffer, or Python complains about it when it ends."""
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
