"""Why a capture failed, as one message: cause, evidence, who can do what, and what to use."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from roofline.capture.machine import Machine
from roofline.errors import CaptureError, ProgramError, RooflineError


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

    def means(self, line: str) -> bool:
        """Whether a line holds one of the tokens; case does not count, "..." is any text."""
        gaps = (".*".join(map(re.escape, token.split("..."))) for token in self.tokens)
        return any(re.search(gap, line, re.IGNORECASE) for gap in gaps)


class RecognisedError(RooflineError):
    """An error by a ``failure`` that was recognised: one fact a line.

    The line that shows it is the ``evidence``, ``context`` where it happened, ``names`` what ran.
    """

    def __init__(
        self,
        failure: Failure,
        evidence: str | None = None,
        *,
        context: str | None = None,
        names: Sequence[str] = (),
        log: Path | None = None,
    ) -> None:
        facts = {
            "evidence": evidence,
            "where": context,
            "administrator": failure.admin,
            "meanwhile": failure.meanwhile,
            "log": log,
        }
        details = [f"{label}: {fact}" for label, fact in facts.items() if fact]
        details += ["kernels that ran:", *(f"  {name}" for name in names)] if names else []
        super().__init__(f"{failure.cause} [{failure.code}]", details=details, hint=failure.you)
        self.failure, self.evidence = failure, evidence


class NcuFailedError(RecognisedError, CaptureError):
    """ncu could not profile; ``failure`` says why."""


class ProgramFailedError(RecognisedError, ProgramError):
    """The program failed and left nothing; ``failure`` says how."""


@cache
def catalogue() -> Mapping[str, Failure]:
    """All failures by code, in the order of the table."""
    import msgspec  # not for --help

    text = (files("roofline.capture") / "failures.toml").read_bytes()
    rows = msgspec.toml.decode(text, type=dict[str, list[Failure]])["failure"]
    return {row.code: row for row in rows}


def failed(what: Failure | str, evidence: str | None = None, **facts: Any) -> RecognisedError:
    """The exception whose exit code fits, for a failure or its code."""
    failure = catalogue()[what] if isinstance(what, str) else what
    program = failure.exit == ProgramError.exit_code
    return (ProgramFailedError if program else NcuFailedError)(failure, evidence, **facts)


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
    # Continuations of a message, a path on a line of its own.
    unmarked = [line for line in log if line and not line.startswith("==")]
    own = [line for line in stderr if not line.startswith("==")]
    places = (
        (errors, "ncu", "cause"),
        (unmarked, "ncu", "cause"),
        (errors, "ncu", "vague"),
        (own, "program", "cause"),
        (warnings, "ncu", "cause"),
        (errors, "ncu", "consequence"),
        (warnings, "ncu", "consequence"),
    )
    for lines, *kind in places:
        rows = [row for row in catalogue().values() if [row.where, row.rank] == kind]
        for line, failure in itertools.product(lines, rows):
            if not failure.means(line):
                continue
            # A line that ends in a colon only announces the one that says what is wrong.
            after = (text for text in lines[lines.index(line) :] if not text.rstrip().endswith(":"))
            evidence, said = next(after, line).strip(), [text for text in own if text.strip()]
            # The last words of a program that failed say more than ncu does.
            if failure.rank == "consequence" and failure.exit == ProgramError.exit_code and said:
                evidence += f" Its last line: {said[-1].strip()}"
            return refine(failure, machine), evidence
    if exit_code < 0:  # ncu's own end: what kills the program is in ncu's log
        return catalogue()["ncu_crashed"], f"ncu was ended by signal {-exit_code}"
    return catalogue()["report_missing"], own[-1] if own else None


def refine(failure: Failure, machine: Machine) -> Failure:
    """Tell apart who refuses the counters: every place has its own remedy.

    ncu words a missing permission like counters that somebody else holds; the machine tells.
    """
    doubtful = failure.code in ("counters_taken", "counter_library") and machine.counters_closed
    if failure.code != "permission" and not doubtful:
        return failure
    places = {
        "permission_wsl": machine.wsl,
        "permission_cloud": machine.provider is not None,
        "permission_container": machine.container is not None,
        "permission_mig": machine.mig,
    }
    return catalogue()[next((code for code, here in places.items() if here), "permission")]
