"""What ncu refuses in its command line, asked before the program starts.

ncu prints such errors to stdout, before it opens its log; there they cannot be told from what
the program prints, and the program's stdout passes untouched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from roofline.capture.command import question
from roofline.capture.failures import Found, catalogue, error_of
from roofline.capture.request import CaptureRequest, Ncu
from roofline.errors import UsageError
from roofline.process import Completed

_REFUSALS = ("option_unknown", "section_unknown")
_REGEX = "Invalid regex provided to --kernel option."
_DEVICE = "in the --devices option"


def check_with_ncu(
    request: CaptureRequest,
    ncu: Ncu,
    metrics: Iterable[str],
    run: Callable[[list[str]], Completed | None],
) -> None:
    """Let ncu read its whole command line: it does so before it lists chips, and then ends.

    Errors that are not about the command line are left to the run itself.

    Raises:
        UsageError: ncu refuses the regular expression or the devices.
        CaptureError: it refuses another option.

    """
    answer = run(list(question(request, ncu, metrics=metrics)))
    if answer is None:
        return
    said = answer.stdout + answer.stderr
    if _REGEX in said:
        raise _regex(request, said)
    for line in said.splitlines():
        if line.startswith("==ERROR=="):
            _refuse(line, request, ncu)


def _regex(request: CaptureRequest, said: str) -> UsageError:
    why = said.partition(_REGEX)[2].strip().partition(" The error occurred")[0].strip()
    return UsageError(
        f"--kernel-regex {request.kernel_regex!r}: ncu does not take it",
        why=why.rstrip(".") or None,
        hint="Perl syntax; escape what is meant literally",
    )


def _refuse(line: str, request: CaptureRequest, ncu: Ncu) -> None:
    if _DEVICE in line:
        why = line.removeprefix("==ERROR==").strip().rstrip(".")
        raise UsageError(f"--devices {request.devices}: ncu does not take it", why=why)
    for code in _REFUSALS:
        failure = catalogue()[code]
        if any(token in line for token in failure.tokens) and "--list-chips" not in line:
            context = f"ncu {ncu.version.text}, before the program was started"
            raise error_of(Found(failure=failure, evidence=line.strip(), context=context))
