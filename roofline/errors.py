"""What can go wrong, each kind with the exit code that the command line ends with."""

from __future__ import annotations

from typing import ClassVar


class RooflineError(Exception):
    """A failure that a person can do something about.

    Args:
        what: what failed and where, in one line.
        why: the cause, where it is known.
        hint: what to type or do next.

    """

    exit_code: ClassVar[int] = 2

    def __init__(self, what: str, *, why: str | None = None, hint: str | None = None) -> None:
        super().__init__(what)
        self.what, self.why, self.hint = what, why, hint

    def __str__(self) -> str:
        lines = [self.what if self.why is None else f"{self.what}: {self.why}"]
        if self.hint is not None:
            lines.append(f"  try: {self.hint}")
        return "\n".join(lines)


class GateError(RooflineError):
    """A condition that the user asked to be held does not hold."""

    exit_code = 1


class UsageError(RooflineError):
    """The command as typed makes no sense."""

    exit_code = 2


class InputError(RooflineError):
    """An input cannot be read, or holds no kernels."""

    exit_code = 3


class CaptureError(RooflineError):
    """Nsight Compute could not profile."""

    exit_code = 4


class ProgramError(RooflineError):
    """The profiled program itself failed and left nothing to analyse."""

    exit_code = 5
