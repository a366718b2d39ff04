"""The ncu command line of a request. Pure: nothing is run or looked up here."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from pathlib import Path

from roofline.capture.request import CaptureLevel, CaptureRequest, NameBase, Ncu, Replay, Version
from roofline.errors import UsageError
from roofline.kernel_names import NO_COLLECTIVE, is_collective
from roofline.patterns import compiled

# Options younger than the oldest ncu that we take, by NVIDIA's release notes.
SINCE = {
    "--config-file": (2023, 1),
    "--graph-profiling": (2022, 4),
    "--filter-mode": (2022, 4),
    "app-range": (2023, 1),
}
NAMES_ONLY = ("gpu__time_duration.sum",)
_FLAGS = re.compile(r"\(\?[imsx]+\)")  # Perl's right in the middle, Python's error
_SIGNS = re.compile(r"[.\[\]{}()\\*+?^$]")


def command(
    request: CaptureRequest, ncu: Ncu, *, metrics: Iterable[str], report: Path, log: Path
) -> tuple[str, ...]:
    """The argument list that captures ``request`` into ``report`` (ncu adds the ending).

    Every default is spelled out, so that neither a config file nor another version of ncu
    changes what is measured. ``UsageError`` where this version of ncu lacks what is needed.
    """
    export = str(report).replace("%", "%%")  # % starts a macro there
    files = ("--log-file", str(log), "--export", export)
    words = _options(request, ncu.version, metrics)
    return (str(ncu.path), *words, *files, *request.ncu_options, *request.program)


def question(request: CaptureRequest, ncu: Ncu, *, metrics: Iterable[str]) -> tuple[str, ...]:
    """The options of ``command`` for ncu to read: it lists its chips and runs nothing."""
    words = _options(request, ncu.version, metrics)
    return (str(ncu.path), *words, "--list-chips", *request.ncu_options)


def names_request(request: CaptureRequest) -> CaptureRequest:
    """What notes which kernels run: with ``NAMES_ONLY`` one cheap pass, no filter, few launches."""
    return CaptureRequest(
        program=request.program,
        level=CaptureLevel.QUICK,
        collectives=request.collectives,
        launch_count=200,
        devices=request.devices,
        lock_clocks=False,
        flush_caches=False,
    )


def _options(request: CaptureRequest, version: Version, metrics: Iterable[str]) -> list[str]:
    """The words between ncu and the program, but for the files and what the user adds."""
    has = {option for option, since in SINCE.items() if version.at_least(*since)}
    _refuse(request, version, has)
    named = not request.by_range  # there is no kernel to choose in ranges
    count = request.launch_count
    chosen = "full" if request.level is CaptureLevel.FULL else request.section_set
    rows: list[tuple[str | None, ...]] = [  # a row that holds None is left out
        ("--config-file", "off" if "--config-file" in has else None),
        ("--target-processes", "all", "--check-exit-code", "yes"),
        ("--devices", request.devices),
        ("--replay-mode", request.replay),
        ("--graph-profiling", request.graphs if "--graph-profiling" in has else None),
        ("--cache-control", "all" if request.flush_caches else "none"),
        ("--clock-control", "base" if request.lock_clocks else "none"),
        ("--kernel-name-base", name_base(request) if named else None),
        ("--kernel-name", name_filter(request) if named else None),
        ("--filter-mode", "per-launch-config" if request.per_config else None),
        ("--launch-skip", str(request.launch_skip)),
        ("--launch-count", None if count is None else str(count)),
        # Ranges begin at cudaProfilerStart by themselves; ncu does not take the option there.
        ("--profile-from-start", ("on" if request.from_start else "off") if named else None),
        ("--nvtx" if request.nvtx else None,),
        *(("--nvtx-include", text) for name in request.nvtx for text in nvtx_filters(name)),
        ("--set", chosen),
        *(("--section", name) for name in request.sections),
        ("--apply-rules", "yes" if chosen is not None or request.sections else "no"),
        ("--import-source", "no", "--metrics", ",".join(metrics)),
    ]
    return [str(word) for row in rows if None not in row for word in row]


def _refuse(request: CaptureRequest, version: Version, has: Collection[str]) -> None:
    """Raise where options exclude each other, or ncu is older than one that is needed."""
    if request.by_range and (request.kernel_regex or request.kernels or request.per_config):
        raise UsageError(
            f"--replay {request.replay} profiles ranges, not kernels",
            why="so there is no kernel to choose or to count by grid",
            hint="--nvtx RANGE, or cudaProfilerStart in the program; leave out --kernel...",
        )
    if request.level is CaptureLevel.FULL and request.section_set is not None:
        raise UsageError(
            f"--level full and --set {request.section_set} exclude each other",
            why="ncu takes one set, and --level full is its set full",
        )
    for option, ours, needed in (
        ("--filter-mode", "--per-config", request.per_config),
        ("--graph-profiling", "--graphs graph", request.graphs == "graph"),
        ("app-range", "--replay app-range", request.replay is Replay.APP_RANGE),
    ):
        if needed and option not in has:
            what = "{} needs ncu {}.{} or newer".format(ours, *SINCE[option])
            hint = "leave it out, or name a newer one with --ncu"
            raise UsageError(what, why=f"this one is {version.text}", hint=hint)


# --- which kernels ------------------------------------------------------------------------------


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
    a start/end range (``A``); what holds ncu's own signs is passed as it is.
    """
    as_it_is = name.startswith("regex:") or any(sign in name for sign in "/[],*+")
    return (name,) if as_it_is else (f"{name}/", name)
