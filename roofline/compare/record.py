"""The experiment record, a file that only grows, and the user's own check of the results."""

from __future__ import annotations

import hashlib
import re
import shlex
import time
import warnings
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

from roofline.compare.history import Stage, history
from roofline.compare.model import Correctness
from roofline.errors import InputError, RooflineWarning, UsageError
from roofline.files import read_text, refuse_overwrite, write_text
from roofline.model import Analysis
from roofline.patterns import command_words
from roofline.process import run_quietly
from roofline.text.names import last_part

NOT_STATED = "not stated"
SCHEMA = "roofline.experiment/1"
TIMEOUT_S = 3600.0
_HEAD = f'schema: "{SCHEMA}"'
_ABSOLUTE = re.compile(r"(?:^|(?<==))(?:/|~|[A-Za-z]:[\\/]).+")


def check_record(path: Path) -> None:
    """Refuse a file that is there and is not a record, or that cannot be written."""
    refuse_overwrite(path, force=True)
    if path.is_file() and _HEAD not in read_text(path):
        raise UsageError(
            f"{path} is not an experiment record",
            hint="another name; a record is only ever added to",
        )


def add_record(path: Path, entry: Callable[[int], str]) -> int:
    """Add an entry to the record at ``path``, given its number, and return that."""
    check_record(path)
    old = read_text(path) if path.is_file() else ""
    number = len(re.findall(f"^{re.escape(_HEAD)}$", old, re.MULTILINE)) + 1
    separator = "\n" if old else ""
    write_text(path, old + separator + entry(number), force=True)
    return number


def read_record(path: Path) -> tuple[Stage, ...]:
    """The heads of the entries of a record, in order.

    Raises:
        InputError: it cannot be read, or is no record.

    """
    import msgspec

    # People part their own words by a rule of the same three strokes.
    text = read_text(path)
    if text and not text.endswith("\n"):
        warnings.warn(f"{path} ends inside a line: it may be cut", RooflineWarning, stacklevel=2)
    parts = re.findall(r"^---$\n(\w+: .*?)(?=^---$|\Z)", text, flags=re.M | re.S)
    stages = []
    try:
        for part in (one for one in parts if re.search("^schema: ", one, re.M)):
            lines = (line.partition(": ") for line in part.splitlines())
            head = {key: msgspec.json.decode(value) for key, _, value in lines}
            if head.pop("schema", None) == SCHEMA:
                stage = msgspec.convert(head, Stage)
                datetime.fromisoformat(stage.recorded or "")
                if any(value is not None and value <= 0 for value in _divisors(stage)):
                    raise ValueError("a time or a ratio is not above 0")
                stages.append(stage)
    except (msgspec.MsgspecError, ValueError) as error:
        hint = "undo what was changed by hand between its lines of ---"
        what = f"{path}: the head of entry {len(stages) + 1} is damaged"
        raise InputError(what, why=str(error), hint=hint) from error
    if not stages:
        hint = "roofline predict BEFORE --record log.md"
        raise InputError(f"{path} is not an experiment record", hint=hint)
    return tuple(stages)


def _divisors(stage: Stage) -> Iterator[float | None]:
    """The times and ratios of a stage that others are divided by."""
    yield from (stage.before_s, stage.after_s, *(stage.program or ()), *(stage.launches or ()))
    yield from stage.sure or ()
    if (found := stage.at_ceilings) is not None:
        yield from (found.total_s, found.floor_s, found.worth_s, found.without_s)
    for one in stage.figures:
        yield from (one.ratio, one.low, one.high)


def opened(path: Path, digest: str | None) -> list[Stage]:
    """The open entries of a record about a BEFORE of that digest."""
    stages = history(read_record(path)) if path.is_file() and digest else ()
    return [one for one in stages if one.status == "open" and one.digest == digest]


def digest_of(analysis: Analysis) -> str | None:
    """The SHA-256 of its files together, whatever their names; ``None`` for a baseline."""
    files = [Path(source.file) for source in analysis.sources if source.file]
    each = sorted(hashlib.sha256(file.read_bytes()).hexdigest() for file in files)
    if not each:
        return None
    return each[0] if len(each) == 1 else hashlib.sha256("".join(each).encode()).hexdigest()


def run_check(command: str, *, timeout_s: float = TIMEOUT_S) -> tuple[Correctness, str]:
    """Run ``command``, split as a shell would but without one: how it ended and what it printed.

    The first is fit to be shared, the second is not. A UsageError where it cannot be split.
    """
    argv = command_words(command, "--check")
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
