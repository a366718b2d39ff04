"""Expressions and commands that people type: a clear refusal, and which kernels they mean."""

from __future__ import annotations

import re
import shlex
import time
import warnings
from collections.abc import Iterable

from roofline.errors import UsageError
from roofline.kernel_names import family, family_words

# How often what an expression could repeat is tried.
_RUNS = (*range(4, 33), *range(40, 65, 8), *range(80, 129, 16), *range(160, 257, 32))
_LIMIT_S = 0.1  # of processor time for one of them; usual expressions take below a millisecond
_SHELL = ";&|<>"  # what a shell does not give to the program


def compiled(
    pattern: str | re.Pattern[str], *, flags: int = 0, option: str = ""
) -> re.Pattern[str]:
    """Compile an expression that somebody typed; ``option`` says where, for the message.

    Raises:
        UsageError: it is not a regular expression, or one that can take forever.

    """
    text = str(pattern)
    try:
        # Repeats of more than 2**32 are an OverflowError, brackets too deep a RecursionError.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what other versions of Python make of it
            found = re.compile(pattern, flags)
    except (re.error, OverflowError, RecursionError) as error:
        raise UsageError(
            f"{option} {text!r}".strip() + " is not a regular expression",
            why=str(error),
            hint=_way_out(text, option),
        ) from error
    if _endless(found):
        raise UsageError(
            f"{option} {text!r}".strip() + " can take forever",
            why="a repeat within a repeat, or several in a row, can fit a name in too many ways",
            hint="a+ instead of (a+)+, and fewer .*",
        )
    return found


def _endless(found: re.Pattern[str]) -> bool:
    """Whether runs of what the expression names take so long that its time grows without end.

    They grow step by step, so that none of them takes much longer than the limit.
    """
    if sum(map(found.pattern.count, "*+{|")) < 2:
        return False
    words = re.findall(r"[^\W_]+|[^\w*+?()\[\]{}|^$.\\]", found.pattern)[:16]
    for run in dict.fromkeys(("a", "0", "_", ":", " ", *words, *"".join(words)[:16])):
        for count in _RUNS:
            begin = time.process_time()
            found.search(run * (count // len(run)) + "\0")
            if time.process_time() - begin > _LIMIT_S:
                return True
    return False


def _way_out(text: str, option: str) -> str:
    word = text.strip("*?")
    if text[:1] in ("*", "?") and word.replace("_", "").isalnum():
        return f"a regular expression, not a glob: {word} is found anywhere"
    exact = "; --kernel-name is the exact name" if option == "--kernel" else ""
    return f"a backslash before ( ) [ ] * + ? that are meant literally{exact}"


def select(
    pattern: str | re.Pattern[str], names: Iterable[tuple[str, str]], *, letters: bool = False
) -> tuple[int, ...]:
    """Positions of the (name, demangled) that ``pattern`` means.

    An exact name wins over everything, then the words of families ("gemm", "gemm,norm") without
    ``letters``; else the pattern is a regular expression, searched in both.

    Raises:
        UsageError: ``pattern`` is neither a name nor a regular expression.

    """
    listed = list(names)
    text = pattern if isinstance(pattern, str) else pattern.pattern
    if exact := tuple(i for i, both in enumerate(listed) if text in both):
        return exact
    if not letters and (words := family_words(text)):
        return tuple(i for i, (name, full) in enumerate(listed) if family(full or name) in words)
    wanted = compiled(pattern)
    return tuple(i for i, both in enumerate(listed) if any(map(wanted.search, both)))


def command_words(command: str, option: str) -> list[str]:
    """The words of a command that somebody typed; no shell will run it.

    Raises:
        UsageError: something quoted is not closed, or the command needs a shell.

    """
    try:
        words = shlex.split(command)
        split = shlex.shlex(command, posix=True, punctuation_chars=_SHELL)
        split.whitespace_split, split.commenters = True, ""
        sign = next((word for word in split if word and not word.strip(_SHELL)), None)
    except ValueError as error:
        what = f"{option} {command!r} cannot be split"
        raise UsageError(what, why=str(error), hint="close what is quoted") from error
    if sign is not None:
        quoted = any(mark in command for mark in "'\"$`\\!")
        in_shell = "'bash FILE'" if quoted else f"\"bash -c '{command}'\""
        what, why = f"{option} {command!r} needs a shell ({sign})", "it is run without one"
        raise UsageError(what, why=why, hint=f"{option} {in_shell}")
    return words
