"""The ncu command line of a request. Pure: nothing is run or looked up here."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path

from roofline.capture.kernels import name_base, name_filter, nvtx_filters
from roofline.capture.levels import Level
from roofline.capture.request import CaptureRequest, Ncu, Replay, Version
from roofline.errors import UsageError

# Options younger than the oldest ncu that we take, by NVIDIA's release notes.
SINCE = {
    "--config-file": (2023, 1),
    "--graph-profiling": (2022, 4),
    "--filter-mode": (2022, 4),
    "app-range": (2023, 1),
}
NAMES_ONLY = ("gpu__time_duration.sum",)
NAMES_LIMIT = 200


def command(
    request: CaptureRequest,
    ncu: Ncu,
    *,
    metrics: Iterable[str],
    report: Path,
    log: Path,
) -> tuple[str, ...]:
    """The argument list that captures ``request`` into ``report`` (ncu adds the ending).

    Every default is spelled out, so that neither a config file nor another version of ncu
    changes what is measured.

    Raises:
        UsageError: this version of ncu lacks what the request needs.

    """
    words = list(option_words(request, ncu, metrics=metrics))
    words += ["--log-file", str(log), "--export", escape_macros(str(report))]
    return (*words, *request.ncu_options, *request.program)


def question(request: CaptureRequest, ncu: Ncu, *, metrics: Iterable[str]) -> tuple[str, ...]:
    """The options of ``command`` for ncu to read: it lists its chips and runs nothing.

    The program is left out, lest an ncu that does otherwise run it.

    Raises:
        UsageError: as ``command``.

    """
    words = option_words(request, ncu, metrics=metrics)
    return (*words, "--list-chips", *request.ncu_options)


def option_words(request: CaptureRequest, ncu: Ncu, *, metrics: Iterable[str]) -> tuple[str, ...]:
    """The words before the program, but for the files and what the user adds.

    Raises:
        UsageError: as ``command``.

    """
    refuse_too_new(request, ncu.version)
    if request.by_range and (request.kernel_regex or request.kernels or request.per_config):
        raise UsageError(
            f"--replay {request.replay} profiles ranges, not kernels",
            why="so there is no kernel to choose or to count by grid",
            hint="--nvtx RANGE, or cudaProfilerStart in the program; leave out --kernel...",
        )
    if request.level is Level.FULL and request.section_set is not None:
        raise UsageError(
            f"--level full and --set {request.section_set} exclude each other",
            why="ncu takes one set, and --level full is its set full",
        )
    words = [str(ncu.path)]
    for part in (_process, _replay, _choice, _ranges):
        words += part(request, ncu.version)
    return (*words, *_collection(request, metrics))


def names_command(request: CaptureRequest, ncu: Ncu, *, report: Path, log: Path) -> tuple[str, ...]:
    """The argument list that notes which kernels run: one cheap pass, no filter, few launches."""
    bare = CaptureRequest(
        program=request.program,
        level=Level.QUICK,
        collectives=request.collectives,
        launch_count=NAMES_LIMIT,
        devices=request.devices,
        lock_clocks=False,
        flush_caches=False,
    )
    return command(bare, ncu, metrics=NAMES_ONLY, report=report, log=log)


def refuse_too_new(request: CaptureRequest, version: Version) -> None:
    """Raise where the installed ncu is older than an option that the request cannot do without."""
    needs = {
        "--filter-mode": "--per-config" if request.per_config else None,
        "--graph-profiling": "--graphs graph" if request.graphs == "graph" else None,
        "app-range": "--replay app-range" if request.replay is Replay.APP_RANGE else None,
    }
    for option, ours in needs.items():
        year, minor = SINCE[option]
        if ours is not None and not version.at_least(year, minor):
            raise UsageError(
                f"{ours} needs ncu {year}.{minor} or newer",
                why=f"this one is {version.text}",
                hint="leave it out, or name a newer one with --ncu",
            )


def escape_macros(path: str) -> str:
    """``path`` as ncu's --export takes it: % starts a macro there."""
    return path.replace("%", "%%")


def shell(words: Iterable[str]) -> str:
    """``words`` quoted for a POSIX shell."""
    return shlex.join(words)


def _has(version: Version, option: str) -> bool:
    return version.at_least(*SINCE[option])


def _process(request: CaptureRequest, version: Version) -> list[str]:
    words = ["--config-file", "off"] if _has(version, "--config-file") else []
    words += ["--target-processes", "all", "--check-exit-code", "yes"]
    if request.devices is not None:
        words += ["--devices", request.devices]
    return words


def _replay(request: CaptureRequest, version: Version) -> list[str]:
    words = ["--replay-mode", str(request.replay)]
    if _has(version, "--graph-profiling"):
        words += ["--graph-profiling", request.graphs]
    return [
        *words,
        *("--cache-control", "all" if request.flush_caches else "none"),
        *("--clock-control", "base" if request.lock_clocks else "none"),
    ]


def _choice(request: CaptureRequest, _version: Version) -> list[str]:
    words = []
    if not request.by_range:
        words += ["--kernel-name-base", str(name_base(request))]
        if (wanted := name_filter(request)) is not None:
            words += ["--kernel-name", wanted]
    if request.per_config:
        words += ["--filter-mode", "per-launch-config"]
    words += ["--launch-skip", str(request.launch_skip)]
    if request.launch_count is not None:
        words += ["--launch-count", str(request.launch_count)]
    return words


def _ranges(request: CaptureRequest, _version: Version) -> list[str]:
    # Ranges begin at cudaProfilerStart by themselves, and ncu does not take the option there.
    start = "on" if request.from_start else "off"
    words = [] if request.by_range else ["--profile-from-start", start]
    if request.nvtx:
        words.append("--nvtx")
    for wanted in nvtx_filters(request.nvtx):
        words += ["--nvtx-include", wanted]
    return words


def _collection(request: CaptureRequest, metrics: Iterable[str]) -> list[str]:
    chosen = "full" if request.level is Level.FULL else request.section_set
    words = [] if chosen is None else ["--set", chosen]
    words += [word for name in request.sections for word in ("--section", name)]
    rules = "yes" if words else "no"
    return [*words, "--apply-rules", rules, "--import-source", "no", "--metrics", ",".join(metrics)]
