"""The experiment record, a file that only grows, and the user's own check of the results."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from roofline.compare.model import Correctness
from roofline.errors import UsageError
from roofline.files import refuse_overwrite, write_text
from roofline.process import run_quietly
from roofline.text.names import last_part

SCHEMA = "roofline.experiment/1"
TIMEOUT_S = 3600.0
_HEAD = f'schema: "{SCHEMA}"'
_ABSOLUTE = re.compile(r"(?:^|(?<==))(?:/|~|[A-Za-z]:[\\/]).+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What only the experimenter knows; ``when`` is a date and time in UTC (ISO 8601)."""

    when: str
    problem: str | None = None
    hypothesis: str | None = None
    intervention: str | None = None


def check_record(path: Path) -> None:
    """Refuse a file that is there and is not a record, or that cannot be written."""
    refuse_overwrite(path, force=True)
    if path.is_file() and _HEAD not in _text(path):
        raise UsageError(
            f"{path} is not an experiment record",
            hint="another name; a record is only ever added to",
        )


def add_record(path: Path, entry: Callable[[int], str]) -> int:
    """Add an entry to the record at ``path``, given its number, and return that."""
    check_record(path)
    old = _text(path) if path.is_file() else ""
    number = len(re.findall(f"^{re.escape(_HEAD)}$", old, re.MULTILINE)) + 1
    separator = "\n" if old else ""
    write_text(path, old + separator + entry(number), force=True)
    return number


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot add to {path}", why=str(error)) from error


def run_check(command: str, *, timeout_s: float = TIMEOUT_S) -> tuple[Correctness, str]:
    """Run ``command``, split as a shell would but without one: how it ended and what it printed.

    The first is fit to be shared, the second is not. A UsageError where it cannot be split.
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
    return outcome, "" if done is None else done.stdout + done.stderr


def shareable(argv: list[str]) -> str:
    """A command without folders: absolute paths are cut to their last part."""
    return shlex.join(_ABSOLUTE.sub(lambda m: last_part(m[0]), word) for word in argv)
