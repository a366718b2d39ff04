"""How a command ends, whatever it is: which exit code, and one message on stderr at most."""

from __future__ import annotations

import errno
import io
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NoReturn, TextIO

import click

from roofline.errors import InputError, RooflineError, RooflineWarning, UsageError, one_line

if TYPE_CHECKING:
    from typing_extensions import Buffer

INTERRUPTED = 130  # 128 + SIGINT, as shells count
PIPE_CLOSED = 141  # 128 + SIGPIPE: who read us has gone, which is no news
_NO_ARGUMENTS: type[Exception] | tuple[()] = getattr(click.exceptions, "NoArgsIsHelpError", ())


@contextmanager
def well() -> Iterator[None]:
    """Turn whatever ends the block into a message and click's ``Exit`` with its code.

    An error of the system that names a file is about that file, which then cannot be read: where
    one is written, ``roofline.files`` has its say.
    """
    try:
        yield
    except _NO_ARGUMENTS:
        raise
    except RooflineError as error:
        _end(str(error), error.exit_code, error)
    except click.ClickException as error:
        _end(_usage(error), error.exit_code, error)
    except (KeyboardInterrupt, click.Abort) as error:
        _end("interrupted", INTERRUPTED, error)
    except _StdoutError as error:
        _let_go_of_stdout()
        if error.errno == errno.EPIPE:
            raise click.exceptions.Exit(PIPE_CLOSED) from error
        why = "it is closed" if error.errno == errno.EBADF else error.strerror
        lost = UsageError("cannot write the answer to stdout", why=why)
        _end(str(lost), lost.exit_code, error)
    except MemoryError as error:
        full = InputError("memory ran out", hint="fewer reports at once, or --jobs 1")
        _end(str(full), full.exit_code, error)
    except OSError as error:
        if error.filename is None:
            raise
        cannot = InputError(f"cannot use {os.fsdecode(error.filename)}", why=error.strerror)
        _end(str(cannot), cannot.exit_code, error)


def _end(text: str, code: int, cause: BaseException) -> NoReturn:
    click.echo(f"roofline: {text}", err=True)
    raise click.exceptions.Exit(code) from cause


def _usage(error: click.ClickException) -> str:
    """Click's errors in the form of our own."""
    message = one_line(error.format_message()).rstrip(".")
    context = getattr(error, "ctx", None)
    if not isinstance(error, click.UsageError) or context is None:
        return message
    return f"{message}\n  try: {context.command_path} --help"


# --- streams ------------------------------------------------------------------------------------


class _StdoutError(OSError):
    """The answer could not be written."""


class _Stdout(io.FileIO):
    """Tells its errors from those of other files."""

    def write(self, data: Buffer, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            raise _StdoutError(error.errno, error.strerror) from error


class _Stderr(io.FileIO):
    """Drops what cannot be said, as its reader is gone or its disk is full."""

    def write(self, data: Buffer, /) -> int:
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes


def prepare_streams() -> None:
    """Make stdin, stdout and stderr such that nothing below needs to think of them.

    One that is closed (``2>&-``, a daemon, cron) is opened on the null device, so that no file
    gets its number; writing to a closed stdout still fails, as the answer would be lost. What
    cannot be said on stderr is dropped: talk must not cost the answer.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_WRONLY if number == 2 else os.O_RDONLY)
    # Streams that somebody has put in place of the process's own are left alone.
    if sys.stdout is sys.__stdout__:
        sys.stdout = _wrapped(_Stdout(1, "w", closefd=False), sys.__stdout__, "strict")
    if sys.stderr is sys.__stderr__:
        sys.stderr = _wrapped(_Stderr(2, "w", closefd=False), sys.__stderr__, "backslashreplace")
    warnings.showwarning = _show_warning


def _wrapped(raw: io.FileIO, like: TextIO | None, errors: str) -> io.TextIOWrapper:
    """A text stream over ``raw`` with the settings of ``like``, where there is one."""
    old = like if isinstance(like, io.TextIOWrapper) else None
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding="utf-8" if old is None else old.encoding,
        errors=errors if old is None else old.errors,
        line_buffering=old is None or old.line_buffering,
        write_through=old is not None and old.write_through,
    )


_show_others = warnings.showwarning


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Ours as a line of talk, others as Python shows them."""
    if issubclass(category, RooflineWarning):
        click.echo(f"roofline: {message}", err=True)
    else:
        _show_others(message, category, filename, lineno, file, line)


def _let_go_of_stdout() -> None:
    """Let what is left in its buffer go nowhere, or Python complains of it when it ends."""
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
