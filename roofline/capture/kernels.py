"""Kernel names: what ncu is asked to match."""

from __future__ import annotations

import re
from collections.abc import Iterable

from roofline.capture.request import CaptureRequest, NameBase
from roofline.errors import UsageError
from roofline.kernel_names import NO_COLLECTIVE, is_collective
from roofline.patterns import way_out

_FLAGS = re.compile(r"\(\?[imsx]+\)")  # Perl's right in the middle, Python's error
_SIGNS = re.compile(r"[.\[\]{}()\\*+?^$]")


def wants_collectives_in_vain(request: CaptureRequest) -> bool:
    """Whether the regular expression speaks of collectives and the request leaves them out."""
    if request.kernel_regex is None or request.collectives:
        return False
    return is_collective(_SIGNS.sub("", _FLAGS.sub("", request.kernel_regex)))


def name_base(request: CaptureRequest) -> NameBase:
    """The spelling to match: demangled, but the function's for whole names without arguments."""
    if request.name_base is not None:
        return request.name_base
    if request.kernels and not any("(" in name for name in request.kernels):
        return NameBase.FUNCTION
    return NameBase.DEMANGLED


def name_filter(request: CaptureRequest) -> str | None:
    """The argument of ncu's ``--kernel-name``; ``None`` to take every kernel.

    ncu's engine is Boost's with Perl syntax and searches; it has no way to exclude but a
    look-ahead.
    """
    if request.kernels:
        if len(request.kernels) == 1:
            return request.kernels[0]
        return "regex:^(?:" + "|".join(escape(name) for name in request.kernels) + ")$"
    wanted = request.kernel_regex
    if request.collectives:
        return None if wanted is None else f"regex:{wanted}"
    # [\s\S]* and not a bare search: the look-ahead stands at the name's start.
    rest = "" if wanted is None else rf"[\s\S]*(?:{wanted})"
    return f"regex:{NO_COLLECTIVE}{rest}"


def escape(name: str) -> str:
    """``name`` as a regular expression of Perl syntax that matches it and nothing else."""
    return re.sub(r"([.\[\]{}()\\*+?|^$])", r"\\\1", name)


def check_regex(expression: str) -> None:
    r"""Refuse what Python knows to be wrong, and Python's own syntax that ncu does not know.

    Raises:
        UsageError: ``expression`` cannot be matched by ncu.

    """
    if not expression:
        raise UsageError("--kernel is empty", hint="leave it out to take every kernel")
    if "(?P" in expression:
        raise UsageError(
            f"--kernel {expression!r}: ncu does not know (?P<name>...)",
            why="it matches with Boost's engine, in Perl syntax",
            hint="(?<name>...), or a group without a name",
        )
    try:
        re.compile(_FLAGS.sub("", expression))
    except re.error as error:
        if _is_python_only(error):
            return
        at = "" if error.pos is None else f" at character {error.pos + 1}"
        raise UsageError(
            f"--kernel {expression!r} is not a regular expression: {error.msg}{at}",
            hint=way_out(expression, "--kernel"),
        ) from error


def _is_python_only(error: re.error) -> bool:
    """What Python refuses and Boost takes: ncu itself decides then."""
    return any(text in error.msg for text in ("look-behind", "bad escape", "unknown extension"))


def nvtx_filters(ranges: Iterable[str]) -> tuple[str, ...]:
    """``--nvtx-include`` arguments for range names.

    A plain name stands for a push/pop range (``A/``, what PyTorch's and most code makes) and for
    a start/end range (``A``); what holds ncu's own signs is passed as it is.
    """
    filters: list[str] = []
    for name in ranges:
        if name.startswith("regex:") or any(sign in name for sign in "/[],*+"):
            filters.append(name)
        else:
            filters += [f"{name}/", name]
    return tuple(filters)
