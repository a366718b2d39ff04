"""The ncu command line of a request. Pure: nothing is run or looked up here."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from roofline.capture.request import CaptureLevel, CaptureRequest, Ncu
from roofline.errors import UsageError
from roofline.kernel_names import (
    COMMUNICATION,
    family_regex,
    family_words,
    is_collective,
    no_collective,
)
from roofline.kernel_names import families as all_families
from roofline.patterns import compiled
from roofline.regions import DOMAIN

# ncu's short spellings, in what a user passes on.
SHORT = {"-k": "--kernel-name", "-c": "--launch-count", "-s": "--launch-skip", "-o": "--export"}
# Options that may stand twice, so that the user's and ours add up.
_REPEATED = frozenset(("--section", "--nvtx-include", "--nvtx-exclude"))
NAMES_ONLY = ("gpu__time_duration.sum",)
_FLAGS = re.compile(r"\(\?[imsx]+\)")  # Perl's right in the middle, Python's error
_SIGNS = re.compile(r"[.\[\]{}()\\*+?^$]")


def command(request: CaptureRequest, ncu: Ncu, *, report: Path, log: Path) -> tuple[str, ...]:
    """The argument list that captures ``request`` into ``report``.

    Every default that this ncu lists is spelled out, so that neither a config file nor another
    version changes what is measured. ``UsageError`` where it does not list what is needed.
    """
    export = str(report).replace("%", "%%")  # % starts a macro there
    files = ("--log-file", str(log), "--export", export)
    words = _options(request, ncu)
    return (str(ncu.path), *words, *files, *request.ncu_options, *request.program)


def question(request: CaptureRequest, ncu: Ncu) -> tuple[str, ...]:
    """The options of ``command`` for ncu to read: it lists its chips and runs nothing."""
    words = _options(request, ncu)
    return (str(ncu.path), *words, "--list-chips", *request.ncu_options)


def names_request(request: CaptureRequest) -> CaptureRequest:
    """What notes which kernels run, and how long, in one cheap pass without a filter."""
    return CaptureRequest(
        program=request.program,
        level=CaptureLevel.QUICK,
        metrics=NAMES_ONLY,
        collectives=request.collectives,
        launch_count=None,
        devices=request.devices,
        clock_control="none",
        cache_control="none",
    )


def _options(request: CaptureRequest, ncu: Ncu) -> list[str]:
    """The words between ncu and the program, but for the files and what the user adds."""
    _refuse(request, ncu)
    named = not request.by_range  # there is no kernel to choose in ranges
    count = request.launch_count
    chosen = "full" if request.level is CaptureLevel.FULL else request.section_set
    if request.rules and chosen is None and not request.sections:
        chosen = "basic"  # rules are about sections
    rules = chosen is not None or request.sections
    rows: list[tuple[str | None, ...]] = [  # a row that holds None is left out
        ("--config-file", "off"),
        ("--target-processes", "all"),
        ("--check-exit-code", "yes"),
        ("--devices", request.devices),
        ("--replay-mode", request.replay),
        ("--app-replay-mode", "strict" if request.replay == "application" else None),
        ("--graph-profiling", request.graphs),
        ("--cache-control", request.cache_control),
        ("--clock-control", request.clock_control),
        ("--pipeline-boost-state", "stable"),
        ("--rename-kernels", "off"),  # names as they are, in what is matched and what is kept
        ("--kernel-name-base", name_base(request) if named else None),
        ("--kernel-name", name_filter(request) if named else None),
        ("--filter-mode", "per-launch-config" if request.per_config else None),
        ("--launch-skip", str(request.launch_skip)),
        ("--launch-count", None if count is None else str(count)),
        # Ranges begin at cudaProfilerStart by themselves; ncu does not take the option there.
        ("--profile-from-start", ("on" if request.from_start else "off") if named else None),
        ("--nvtx",) if request.nvtx else (None,),
        # A backward pass runs in another thread than the one that opened the range.
        ("--nvtx-push-pop-scope", "process" if request.nvtx else None),
        *(("--nvtx-include", text) for name in request.nvtx for text in nvtx_filters(name)),
        ("--set", chosen),
        *(("--section", name) for name in request.sections),
        ("--apply-rules", "yes" if rules else "no"),
        ("--import-source", "yes" if request.source else "no"),
        ("--metrics", ",".join(request.metrics)),
    ]
    given = _given(request.ncu_options)
    words: list[str] = []
    for row in rows:
        option = row[0]
        if option is None or None in row or not ncu.takes(option):
            continue
        # ncu takes the beginning of an option for the option.
        theirs = any(
            name == option or (option.startswith(name) and not ncu.takes(name)) for name in given
        )
        if option in _REPEATED or not theirs:
            words += map(str, row)
    return words


def _given(words: Iterable[str]) -> frozenset[str]:
    """The options among the user's own words for ncu, which replace ours."""
    names = (word.partition("=")[0] if word[:2] == "--" else word[:2] for word in words)
    given = frozenset(SHORT.get(name, name) for name in names if name[:1] == "-" and name != "--")
    for option, ours in (("--export", "-o REPORT"), ("--log-file", "the log lies at REPORT.log")):
        if any(option.startswith(name) and name[:2] == "--" for name in given):
            raise UsageError(f"--ncu-arg: roofline passes {option} itself", hint=ours)
    return frozenset(name for name in given if name[:2] == "--")


def _refuse(request: CaptureRequest, ncu: Ncu) -> None:
    """Raise where options exclude each other, or ncu does not list one that is needed."""
    chosen = request.kernel_regex or request.families or request.kernels
    if request.by_range and (chosen or request.per_config):
        raise UsageError(
            f"--replay {request.replay} profiles ranges, not kernels",
            why="so there is no kernel to choose or to count by grid",
            hint="--nvtx RANGE, or cudaProfilerStart in the program; without the choice of kernels",
        )
    if request.level is CaptureLevel.FULL and request.section_set is not None:
        raise UsageError(
            f"--level full and --set {request.section_set} exclude each other",
            why="ncu takes one set, and --level full is its set full",
            hint="leave out one of the two",
        )
    clocks = request.clock_control
    for ours, needed, option, value in (
        ("--per-config", request.per_config, "--filter-mode", "per-launch-config"),
        ("--graphs graph", request.graphs == "graph", "--graph-profiling", "graph"),
        (f"--replay {request.replay}", True, "--replay-mode", request.replay),
        (f"--clock-control {clocks}", True, "--clock-control", clocks),
        ("--source", request.source, "--import-source", ""),
    ):
        if needed and not ncu.takes(option, value):
            why = f"{ncu} does not list {option} {value}".rstrip()
            hint = "leave it out, or name a newer ncu with --ncu"
            raise UsageError(f"{ours} needs another ncu", why=why, hint=hint)


# --- which kernels ------------------------------------------------------------------------------


def chosen(kernels: Iterable[str], *, exact: bool = False) -> dict[str, Any]:
    """The fields of a request for words of --kernel: expressions, or families unless ``exact``."""
    letters: list[str] = []
    families: dict[str, None] = {}
    for text in kernels:
        check_regex(text)
        words = () if exact else family_words(text)
        parts, known = [word.strip() for word in text.split(",")], all_families()
        if not (words or exact) and not known.keys().isdisjoint(parts):
            strange = next(word for word in parts if word not in known)
            hint = f"some of {', '.join(known)}; --exact-regex searches for these letters"
            raise UsageError(f"--kernel {text!r}: {strange!r} is no family of kernels", hint=hint)
        families |= dict.fromkeys(words)
        letters += [] if words else [text]
    patterns = [f"(?:{text})" if len(letters) > 1 else text for text in letters]
    return {"kernel_regex": "|".join(patterns) or None, "families": tuple(families)}


def wants_collectives_in_vain(request: CaptureRequest) -> bool:
    """Whether the regular expression speaks of collectives and the request leaves them out."""
    if request.collectives or COMMUNICATION in request.families:
        return not request.collectives
    if request.kernel_regex is None:
        return False
    return is_collective(_SIGNS.sub("", _FLAGS.sub("", request.kernel_regex)))


def name_base(request: CaptureRequest) -> str:
    """The spelling to match: demangled, but the function's for whole names without arguments."""
    if request.name_base is not None:
        return request.name_base
    if request.kernels and not any("(" in name for name in request.kernels):
        return "function"
    return "demangled"


def name_filter(request: CaptureRequest) -> str | None:
    """The argument of ncu's ``--kernel-name``; ``None`` to take every kernel.

    ncu's engine is Boost's with Perl syntax and searches; it has no way to exclude but a
    look-ahead.
    """
    if request.kernels:
        if len(request.kernels) == 1:
            return request.kernels[0]
        return "regex:^(?:" + "|".join(escape(name) for name in request.kernels) + ")$"
    both = (request.kernel_regex, family_regex(request.families) if request.families else None)
    ways = [way for way in both if way is not None]
    wanted = "|".join(f"(?:{way})" if len(ways) > 1 else way for way in ways) or None
    if request.collectives:
        return None if wanted is None else f"regex:{wanted}"
    # [\s\S]* and not a bare search: the look-ahead stands at the name's start.
    rest = "" if wanted is None else rf"[\s\S]*(?:{wanted})"
    return f"regex:{no_collective()}{rest}"


def escape(name: str) -> str:
    """``name`` as a regular expression of Perl syntax that matches it and nothing else."""
    return re.sub(r"([.\[\]{}()\\*+?|^$])", r"\\\1", name)


def check_regex(expression: str) -> None:
    """Refuse what Python knows to be wrong, and Python's own syntax that ncu does not know."""
    if not expression:
        raise UsageError("--kernel is empty", hint="leave it out to take every kernel")
    if "(?P" in expression:
        raise UsageError(
            f"--kernel {expression!r}: ncu does not know (?P<name>...)",
            why="it matches with Boost's engine, in Perl syntax",
            hint="(?<name>...), or a group without a name",
        )
    try:
        compiled(_FLAGS.sub("", expression), option="--kernel")
    except UsageError as error:
        # What Python refuses and Boost takes: ncu itself decides then.
        if not re.search("look-behind|bad escape|unknown extension", str(error.why)):
            raise


def nvtx_filters(name: str) -> tuple[str, ...]:
    """``--nvtx-include`` arguments for a range.

    A plain name stands for a push/pop range (``A/``, what PyTorch's and most code makes) and for
    a start/end range (``A``); what holds ncu's own signs, or is a region, is passed as it is.
    """
    as_it_is = name.startswith(("regex:", f"{DOMAIN}@")) or any(sign in name for sign in "/[],*+")
    return (name,) if as_it_is else (f"{name}/", name)


def region_range(name: str) -> str:
    """The range of ``roofline.region(name)`` in ncu's syntax: start/end, in its own domain."""
    if not name:
        raise UsageError("--region is empty", hint="the name in roofline.region(NAME)")
    return f"{DOMAIN}@" + re.sub(r"([\\@,\[\]/*+])", r"\\\1", name)
