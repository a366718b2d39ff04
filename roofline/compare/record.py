"""The experiment record, a file that only grows, and the user's own check of the results."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from roofline.compare.model import Correctness
from roofline.errors import InputError, UsageError
from roofline.files import read_text, refuse_overwrite, write_text
from roofline.model import Analysis
from roofline.process import run_quietly
from roofline.text.names import last_part

NOT_STATED = "not stated"
_STATED = ("problem", "hypothesis", "intervention")
SCHEMA = "roofline.experiment/1"
TIMEOUT_S = 3600.0
_HEAD = f'schema: "{SCHEMA}"'
_ABSOLUTE = re.compile(r"(?:^|(?<==))(?:/|~|[A-Za-z]:[\\/]).+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What only the experimenter knows; ``when`` is a date and time in UTC (ISO 8601).

    ``predictions`` are as typed, "--expect gemm=2x"; ``digest`` is that of BEFORE's files,
    ``after_digest`` of AFTER's.
    ``closes`` is the number of the open entry that an entry judges, ``stated`` when that was made.
    """

    when: str
    problem: str | None = None
    hypothesis: str | None = None
    intervention: str | None = None
    predictions: tuple[str, ...] = ()
    digest: str | None = None
    after_digest: str | None = None
    closes: int | None = None
    stated: str | None = None


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


def read_record(path: Path) -> tuple[dict[str, Any], ...]:
    """The heads of the entries of a record, in order.

    Raises:
        InputError: it cannot be read, or is no record.

    """
    parts = re.split(r"^---$\n?", read_text(path), flags=re.MULTILINE)
    heads = []
    try:
        for part in parts[1::2]:
            lines = (line.partition(": ") for line in part.splitlines())
            heads.append({key: json.loads(value) for key, _, value in lines})
    except ValueError as error:
        raise _damaged(path, error) from error
    if not heads or any(head.get("schema") != SCHEMA for head in heads):
        raise InputError(
            f"{path} is not an experiment record", hint="roofline predict BEFORE --record log.md"
        )
    return tuple(heads)


def _damaged(path: Path, error: Exception) -> InputError:
    hint = "undo what was changed by hand between its lines of ---"
    return InputError(f"{path}: a head is damaged", why=str(error), hint=hint)


def opened(path: Path, digest: str | None) -> Statement | None:
    """The last open entry of a record about a BEFORE of that digest; ``None`` without one."""
    heads = read_record(path) if path.is_file() else ()
    try:
        closed = {head.get("closes") for head in heads}
        for head in reversed(heads):
            is_open = head.get("status") == "open" and head["entry"] not in closed
            if is_open and digest is not None and head.get("digest") == digest:
                datetime.fromisoformat(head["recorded"])
                return Statement(
                    when=head["recorded"],
                    **{key: None if head[key] == NOT_STATED else head[key] for key in _STATED},
                    predictions=tuple(map(str, head["predictions"])),
                    closes=head["entry"],
                    stated=head["recorded"],
                )
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(path, error) from error
    return None


def digest_of(analysis: Analysis) -> str | None:
    """The SHA-256 of its files together, whatever their names; ``None`` for a baseline."""
    files = [Path(source.file) for source in analysis.sources if source.file]
    each = sorted(hashlib.sha256(file.read_bytes()).hexdigest() for file in files)
    if not each:
        return None
    return each[0] if len(each) == 1 else hashlib.sha256("".join(each).encode()).hexdigest()


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        hint = "--record with another file"
        raise UsageError(f"cannot add to {path}", why=str(error), hint=hint) from error


def run_check(command: str, *, timeout_s: float = TIMEOUT_S) -> tuple[Correctness, str]:
    """Run ``command``, split as a shell would but without one: how it ended and what it printed.

    The first is fit to be shared, the second is not. A UsageError where it cannot be split.
    """
    try:
        argv = shlex.split(command)
    except ValueError as error:
        what = f"--check {command!r} cannot be split"
        raise UsageError(what, why=str(error), hint="close what is quoted") from error
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
