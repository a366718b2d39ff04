"""The ncu command line of a request. Pure: nothing is run or looked up here."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
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
NAMES_LIMIT = 200
_FLAGS = re.compile(r"\(\?[imsx]+\)")  # Perl's right in the middle, Python's error
_SIGNS = re.compile(r"[.\[\]{}()\\*+?^$]")


def command(
    request: CaptureRequest, ncu: Ncu, *, metrics: Iterable[str], report: Path, log: Path
) -> tuple[str, ...]:
    """The argument list that captures ``request`` into ``report`` (ncu adds the ending).

    Every default is spelled out, so that neither a config file nor another version of ncu
    changes what is measured.

    Raises:
        UsageError: this version of ncu lacks what the request needs.

    """
    export = str(report).replace("%", "%%")  # % starts a macro there
    files = ("--log-file", str(log), "--export", export)
    words = _options(request, ncu, metrics)
    return (str(ncu.path), *words, *files, *request.ncu_options, *request.program)


def question(request: CaptureRequest, ncu: Ncu, *, metrics: Iterable[str]) -> tuple[str, ...]:
    """The options of ``command`` for ncu to read: it lists its chips and runs nothing."""
    words = _options(request, ncu, metrics)
    return (str(ncu.path), *words, "--list-chips", *request.ncu_options)


def names_command(request: CaptureRequest, ncu: Ncu, *, report: Path, log: Path) -> tuple[str, ...]:
    """The argument list that notes which kernels run: one cheap pass, no filter, few launches."""
    bare = CaptureRequest(
        program=request.program,
        level=CaptureLevel.QUICK,
        collectives=request.collectives,
        launch_count=NAMES_LIMIT,
        devices=request.devices,
        lock_clocks=False,
        flush_caches=False,
    )
    return command(bare, ncu, metrics=NAMES_ONLY, report=report, log=log)


def shell(words: Iterable[str]) -> str:
    """``words`` quoted for a POSIX shell."""
    return shlex.join(words)


def _options(request: CaptureRequest, ncu: Ncu, metrics: Iterable[str]) -> list[str]:
    """The words between ncu and the program, but for the files and what the user adds."""
    _refuse(request, ncu.version)
    words = ["--config-file", "off"] if ncu.version.at_least(*SINCE["--config-file"]) else []
    words += ["--target-processes", "all", "--check-exit-code", "yes"]
    if request.devices is not None:
        words += ["--devices", request.devices]
    words += ["--replay-mode", str(request.replay)]
    if ncu.version.at_least(*SINCE["--graph-profiling"]):
        words += ["--graph-profiling", request.graphs]
    words += ["--cache-control", "all" if request.flush_caches else "none"]
    words += ["--clock-control", "base" if request.lock_clocks else "none"]
    if not request.by_range:
        words += ["--kernel-name-base", str(name_base(request))]
        if (wanted := name_filter(request)) is not None:
            words += ["--kernel-name", wanted]
    if request.per_config:
        words += ["--filter-mode", "per-launch-config"]
    words += ["--launch-skip", str(request.launch_skip)]
    if request.launch_count is not None:
        words += ["--launch-count", str(request.launch_count)]
    # Ranges begin at cudaProfilerStart by themselves, and ncu does not take the option there.
    if not request.by_range:
        words += ["--profile-from-start", "on" if request.from_start else "off"]
    if request.nvtx:
        words.append("--nvtx")
    words += [word for text in nvtx_filters(request.nvtx) for word in ("--nvtx-include", text)]
    chosen = "full" if request.level is CaptureLevel.FULL else request.section_set
    collected = [] if chosen is None else ["--set", chosen]
    collected += [word for name in request.sections for word in ("--section", name)]
    words += [*collected, "--apply-rules", "yes" if collected else "no", "--import-source", "no"]
    return [*words, "--metrics", ",".join(metrics)]


def _refuse(request: CaptureRequest, version: Version) -> None:
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
        year, minor = SINCE[option]
        if needed and not version.at_least(year, minor):
            raise UsageError(
                f"{ours} needs ncu {year}.{minor} or newer",
                why=f"this one is {version.text}",
                hint="leave it out, or name a newer one with --ncu",
            )


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
        compiled(_FLAGS.sub("", expression), option="--kernel")
    except UsageError as error:
        # What Python refuses and Boost takes: ncu itself decides then.
        python_only = ("look-behind", "bad escape", "unknown extension")
        if not any(text in str(error.why) for text in python_only):
            raise


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
