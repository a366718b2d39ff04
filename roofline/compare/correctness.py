"""Runs the user's own check of the results, and keeps nothing of it but how it ended."""

from __future__ import annotations

import re
import shlex
import time
from dataclasses import dataclass

from roofline.compare.model import Correctness
from roofline.errors import UsageError
from roofline.process import run_quietly
from roofline.text.names import last_part

TIMEOUT_S = 3600.0
_ABSOLUTE = re.compile(r"(?:^|(?<==))(?:/|~|[A-Za-z]:[\\/]).+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The outcome, fit to be shared, and what the program printed, which is not."""

    outcome: Correctness
    printed: str


def run_check(command: str, *, timeout_s: float = TIMEOUT_S) -> Checked:
    """Run ``command`` (split as a shell would, but without one).

    Raises:
        UsageError: it is empty or its quotes do not close.

    """
    try:
        argv = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"--check {command!r} cannot be split", why=str(error)) from error
    if not argv:
        raise UsageError("--check is empty", hint="--check 'pytest -q tests/test_gemm.py'")
    began = time.monotonic()
    done = run_quietly(argv, timeout_s=timeout_s)
    outcome = Correctness(
        command=shareable(argv),
        code=None if done is None else done.code,
        seconds=time.monotonic() - began,
        passed=done is not None and done.code == 0,
    )
    return Checked(outcome=outcome, printed="" if done is None else done.stdout + done.stderr)


def shareable(argv: list[str]) -> str:
    """A command without folders: absolute paths are cut to their last part."""
    return shlex.join(_ABSOLUTE.sub(lambda m: last_part(m[0]), word) for word in argv)
