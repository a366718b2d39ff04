"""Why a capture failed, as one message: cause, evidence, who can do what, and what to use."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from roofline.capture.machine import Machine
from roofline.errors import CaptureError, ProgramError

# ncu words a missing permission like one of these too; the machine tells which it is.
_DOUBTFUL = "counters_taken"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One row of ``failures.toml``: a cause with a code of its own."""

    code: str
    cause: str
    you: str
    tokens: tuple[str, ...] = ()
    admin: str | None = None
    meanwhile: str | None = None
    exit: int = 4
    where: str = "ncu"
    rank: str = "cause"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A failure, recognised: the line that shows it and the places where it happened."""

    failure: Failure
    evidence: str | None = None
    context: str | None = None
    names: tuple[str, ...] = field(default=())
    log: str | None = None

    def text(self) -> str:
        """All of it for a person, one fact a line."""
        failure = self.failure
        lines = [f"{failure.cause} [{failure.code}]"]
        parts = (
            ("evidence", self.evidence),
            ("where", self.context),
            ("try", failure.you),
            ("administrator", failure.admin),
            ("meanwhile", failure.meanwhile),
            ("log", self.log),
        )
        lines += [f"  {label}: {value}" for label, value in parts if value]
        if self.names:
            lines += ["  kernels that ran:", *(f"    {name}" for name in self.names)]
        return "\n".join(lines)


class NcuFailedError(CaptureError):
    """ncu could not profile; ``found`` says why."""

    def __init__(self, found: Found) -> None:
        super().__init__(found.failure.cause)
        self.found = found

    def __str__(self) -> str:
        return self.found.text()


class ProgramFailedError(ProgramError):
    """The program failed and left nothing; ``found`` says how."""

    def __init__(self, found: Found) -> None:
        super().__init__(found.failure.cause)
        self.found = found

    def __str__(self) -> str:
        return self.found.text()


@cache
def catalogue() -> Mapping[str, Failure]:
    """All failures by code, in the order of the table."""
    text = (files("roofline.capture") / "failures.toml").read_text(encoding="utf-8")
    rows = tomllib.loads(text)["failure"]
    return {row["code"]: Failure(**(row | {"tokens": tuple(row["tokens"])})) for row in rows}


def error_of(found: Found) -> NcuFailedError | ProgramFailedError:
    """The exception whose exit code fits."""
    return ProgramFailedError(found) if found.failure.exit == 5 else NcuFailedError(found)


def failed(code: str, evidence: str | None = None) -> NcuFailedError | ProgramFailedError:
    """The exception for a failure that needs no recognising."""
    return error_of(Found(failure=catalogue()[code], evidence=evidence))


def recognise(
    log: Sequence[str], stderr: Sequence[str], machine: Machine, *, exit_code: int
) -> tuple[Failure, str | None]:
    """The cause of a failed run, and the line that shows it.

    ``log`` is what ncu wrote, ``stderr`` what the program and ncu's injected library wrote. The
    first error is the cause and what follows it is consequence, so errors of the library come
    first; only lines that ncu marked count, lest a program's own words be taken for ncu's.
    """
    errors = [line for line in (*stderr, *log) if line.startswith("==ERROR==")]
    warnings = [line for line in (*stderr, *log) if line.startswith("==WARNING==")]
    own = [line for line in stderr if not line.startswith("==")]
    for lines, where, rank in (
        (errors, "ncu", "cause"),
        (_unmarked(log), "ncu", "cause"),
        (errors, "ncu", "vague"),
        (own, "program", "cause"),
        (warnings, "ncu", "cause"),
        (errors, "ncu", "consequence"),
        (warnings, "ncu", "consequence"),
    ):
        found = _first(lines, where, rank)
        if found is not None:
            failure, line = found
            return refine(failure, machine), _evidence(failure, line, own)
    code = "program_killed" if exit_code < 0 else "report_missing"
    return catalogue()[code], own[-1] if own else None


def refine(failure: Failure, machine: Machine) -> Failure:
    """Tell apart who refuses the counters: every place has its own remedy."""
    if failure.code == _DOUBTFUL and machine.counters_closed:
        failure = catalogue()["permission"]
    if failure.code != "permission":
        return failure
    for code, applies in (
        ("permission_wsl", machine.wsl),
        ("permission_cloud", machine.provider is not None),
        ("permission_container", machine.container is not None),
        ("permission_mig", machine.mig),
    ):
        if applies:
            return catalogue()[code]
    return failure


def _unmarked(log: Iterable[str]) -> list[str]:
    """Lines of ncu without a mark: continuations of a message, a path on a line of its own."""
    return [line for line in log if line and not line.startswith("==")]


def _first(lines: Iterable[str], where: str, rank: str) -> tuple[Failure, str] | None:
    rows = [row for row in catalogue().values() if (row.where, row.rank) == (where, rank)]
    for line in lines:
        for row in rows:
            if any(token in line for token in row.tokens):
                return row, line
    return None


def _evidence(failure: Failure, line: str, own: Sequence[str]) -> str:
    """The line, and for a program's failure its own last words, which say more."""
    said = line.strip()
    if failure.rank == "consequence" and failure.exit == 5 and (last := _last_words(own)):
        return f"{said} Its last line: {last}"
    return said


def _last_words(lines: Sequence[str]) -> str | None:
    return next((line.strip() for line in reversed(lines) if line.strip()), None)
