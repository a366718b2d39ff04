"""What can go wrong, each kind with the exit code that the command line ends with."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import ClassVar


class RooflineError(Exception):
    """A failure that a person can do something about: what and where, why, what to type next."""

    exit_code: ClassVar[int] = 2

    def __init__(
        self,
        what: str,
        *,
        why: str | None = None,
        hint: str | None = None,
        details: Sequence[str] = (),
    ) -> None:
        super().__init__(what)
        self.what, self.why, self.hint, self.details = what, why, hint, tuple(details)

    def __str__(self) -> str:
        lines = [self.what if self.why is None else f"{self.what}: {self.why}"]
        lines += [f"  {detail}" for detail in self.details]
        if self.hint is not None:
            lines.append(f"  try: {self.hint}")
        if not _typed.get():
            lines = list(map(in_python, lines))
        return "\n".join(map(one_line, lines))


# Whether messages are for somebody who types a command.
_typed = ContextVar("_typed", default=False)
# What options are called as arguments of functions.
ARGUMENTS = {"kernel": "kernels", "kernel-name": "kernel_names", "map": "maps", "if": "moves"}
ARGUMENTS |= {
    name: name.replace("-", "_")
    for name in (
        "allow because by communication device dpi dtype end expect fail-on force jobs keep level "
        "min-share ncu noise reader region sort specs start step step-at timeline top view "
        "warmup-steps"
    ).split()
}
_NAMES = "|".join(ARGUMENTS)
_VALUE = r"'[^']*'|\w+=[\w.]*\w|[A-Z]+\b|\d+(?![\w.])|(?:gpu|kind|rule|all)\b"
_OPTION = re.compile(rf"--({_NAMES})(?![\w-])(?: ({_VALUE})((?: --\1 (?:{_VALUE}))*))?")
_COMMAND = re.compile(r"\b(?:roofline|ncu|nsys|pip) ")


@contextmanager
def typed() -> Iterator[None]:
    """Let messages name options of the command line, in the block."""
    token = _typed.set(True)
    try:
        yield
    finally:
        _typed.reset(token)


def in_python(text: str) -> str:
    """``text`` with arguments in place of options, but for a command that is to be typed."""
    command = _COMMAND.search(text)
    end = len(text) if command is None else command.start()
    return _OPTION.sub(_argument, text[:end]) + text[end:]


def _argument(option: re.Match[str]) -> str:
    name = ARGUMENTS[option[1]]
    if option[1] == "force":
        return "force=True"
    if option[2] is None:
        return name
    values = [option[2], *re.findall(_VALUE, option[3])]
    said = [v if v.isdecimal() else f'"{v.strip(chr(39))}"' for v in values]
    return f"{name}={said[0] if len(said) == 1 else '[' + ', '.join(said) + ']'}"


def one_line(text: str) -> str:
    """``text`` with what would break its line or steer a terminal written as escapes.

    A file may be called anything, and its name stands in messages.
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode("ascii")
        for c in text
    )


def why_unparsed(error: Exception) -> str:
    """Why a text could not be parsed; Python's words for endless nesting are about itself."""
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


class RooflineWarning(UserWarning):
    """Something that was left out of account, and that leaves the answer right; said on stderr."""


class GateError(RooflineError):
    """A condition that the user asked to be held does not hold."""

    exit_code = 1


class UsageError(RooflineError):
    """The command as typed makes no sense."""

    exit_code = 2


class ArgumentError(UsageError, TypeError, ValueError):
    """An argument of a function is of the wrong type, out of range, or not a known word."""


class NoKernelError(UsageError, KeyError, IndexError):
    """No kernel is called so, or has that place."""


class InputError(RooflineError):
    """An input cannot be read, or holds no kernels."""

    exit_code = 3


@contextmanager
def about(path: object) -> Iterator[None]:
    """Make memory that runs out the refusal of ``path``, and have any fault name it."""
    try:
        yield
    except RooflineError:
        raise
    except MemoryError as error:
        hint = "more memory, or --jobs 1 where many files are read"
        raise InputError(f"cannot read {path}", why="memory ran out", hint=hint) from error
    except Exception as error:
        error.add_note(str(path))
        raise


class CaptureError(RooflineError):
    """Nsight Compute could not profile."""

    exit_code = 4


class ProgramError(RooflineError):
    """The profiled program itself failed and left nothing to analyse."""

    exit_code = 5
