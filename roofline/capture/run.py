"""One capture from request to report: run ncu, look at what it left, keep it or say why not."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from roofline.capture.command import command, names_command
from roofline.capture.failures import Found, catalogue, error_of, recognise
from roofline.capture.kernels import nearest, wants_collectives_in_vain
from roofline.capture.machine import Machine
from roofline.capture.output import check_output, keep_log, log_path, settle
from roofline.capture.progress import Progress, Watch
from roofline.capture.request import CaptureRequest, Ncu
from roofline.errors import InputError, RooflineError, UsageError
from roofline.model import Launch
from roofline.process import Ended, run_through
from roofline.reader import read

# Looking for kernel names runs the program a second time: only where that is quick.
NAMES_WITHIN_S = 60.0
_STOPS = {"stall": "replay_hang", "timeout": "timeout"}
_NO_DEPLOYMENT = "NV_COMPUTE_PROFILER_DISABLE_STOCK_FILE_DEPLOYMENT"
_INJECTION = "CUDA_INJECTION64_PATH"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """When a run is ended: silence during a replay, and altogether; seconds, ``None`` for never."""

    stall_s: float | None = 300.0
    total_s: float | None = None
    grace_s: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """A report that was kept.

    ``partial`` says why it may lack launches; ``absent`` are metrics that were asked for and are
    in no launch; ``stopped`` is the signal or limit that ended the run.
    """

    report: Path
    log: Path | None
    argv: tuple[str, ...]
    launches: int
    progress: Progress
    partial: str | None = None
    stopped: str | None = None
    absent: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a capture runs with, apart from the request."""

    ncu: Ncu
    machine: Machine
    metrics: tuple[str, ...]
    limits: Limits = Limits()
    tell: Callable[[str], None] = lambda _: None
    stdout_to_stderr: bool = False
    look_for_names: bool = True


def capture(request: CaptureRequest, setting: Setting, report: Path, *, force: bool) -> Captured:
    """Run ``request`` and leave a whole report at ``report``, its log beside it.

    Raises:
        CaptureError: ncu could not profile (a ``NcuFailedError`` that says why).
        ProgramError: the program failed and left nothing.
        UsageError: the files cannot be written.

    """
    check_output(report, force=force)
    with _workspace(report.parent) as folder:
        argv = command(
            request,
            setting.ncu,
            metrics=setting.metrics,
            report=folder / "report",
            log=folder / "ncu.log",
        )
        watch = Watch(
            folder / "ncu.log",
            stall_s=setting.limits.stall_s,
            limit_s=setting.limits.total_s,
            tell=setting.tell,
        )
        ended, text = _run(argv, request, setting, watch, folder / "ncu.log")
        launches, problem = _launches(folder / "report.ncu-rep")
        if not launches:
            log = keep_log(argv, text, ended, log_path(report))
            raise _failure(request, setting, ended, text, watch, problem, log)
        report = settle(folder / "report.ncu-rep", report, force=force)
        log = keep_log(argv, text, ended, log_path(report))
    return Captured(
        report=report,
        log=log,
        argv=argv,
        launches=len(launches),
        progress=watch.progress,
        partial=_partial(ended, text, setting.machine),
        stopped=ended.stopped,
        absent=_absent(setting.metrics, launches),
    )


def kernel_names(request: CaptureRequest, setting: Setting) -> tuple[str, ...]:
    """Run the program for the names of its kernels alone, in order of launch.

    Raises:
        CaptureError: as ``capture``.
        ProgramError: as ``capture``.

    """
    with _workspace(None) as folder:
        argv = names_command(request, setting.ncu, report=folder / "report", log=folder / "ncu.log")
        limits = setting.limits
        watch = Watch(
            folder / "ncu.log", stall_s=limits.stall_s, limit_s=limits.total_s, tell=setting.tell
        )
        ended, text = _run(argv, request, setting, watch, folder / "ncu.log")
        launches, problem = _launches(folder / "report.ncu-rep")
        if not launches:
            quiet = replace(setting, look_for_names=False)
            raise _failure(request, quiet, ended, text, watch, problem, None)
    return tuple(dict.fromkeys(launch.demangled or launch.name for launch in launches))


@contextlib.contextmanager
def _workspace(beside: Path | None) -> Iterator[Path]:
    """A private folder that is gone afterwards, whatever happens."""
    try:
        folder = Path(tempfile.mkdtemp(prefix=".roofline-", dir=beside and beside.resolve()))
    except OSError as error:
        raise UsageError(f"cannot write to {beside}", why=error.strerror) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(
    argv: Sequence[str], request: CaptureRequest, setting: Setting, watch: Watch, log: Path
) -> tuple[Ended, list[str]]:
    """Run ncu; how it ended and what it wrote to its log."""
    ended = run_through(
        argv,
        env=child_environment(os.environ, request),
        stdout_to_stderr=setting.stdout_to_stderr,
        watch=watch,
        grace_s=setting.limits.grace_s,
    )
    if ended is None:
        raise error_of(Found(failure=catalogue()["ncu_broken"], evidence=argv[0]))
    watch()
    try:
        text = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        text = []
    return ended, text


def child_environment(environment: Mapping[str, str], request: CaptureRequest) -> dict[str, str]:
    """The environment for ncu: without another tool's injection, and no files put into HOME."""
    child = {name: value for name, value in environment.items() if name != _INJECTION}
    if not request.sections:
        child.setdefault(_NO_DEPLOYMENT, "1")
    return child


def _launches(report: Path) -> tuple[list[Launch], str | None]:
    """What a report holds, or why it cannot be read; both empty where there is none."""
    if not report.exists():
        return [], None
    try:
        return list(read(report)), None
    except InputError as error:
        return [], error.why or error.what


def _failure(
    request: CaptureRequest,
    setting: Setting,
    ended: Ended,
    text: Sequence[str],
    watch: Watch,
    problem: str | None,
    log: Path | None,
) -> Exception:
    """The exception for a run that left no launches."""
    table = catalogue()
    names: tuple[str, ...] = ()
    failure, evidence = recognise(
        text, ended.stderr.splitlines(), setting.machine, exit_code=ended.code
    )
    weak = failure.rank == "consequence" or failure.code == "report_missing"
    if ended.stopped is not None:
        failure, evidence = (
            table[_STOPS.get(ended.stopped, "interrupted")],
            _stop_evidence(ended.stopped, watch.progress),
        )
    elif problem is not None and weak:
        failure, evidence = table["report_unreadable"], problem
    elif failure.code == "nothing_launched" and wants_collectives_in_vain(request):
        failure, evidence = table["collectives_left_out"], f"--kernel-regex {request.kernel_regex}"
    elif failure.code in ("nothing_launched", "report_missing"):
        names = _names_if_quick(request, setting, watch)
        if names:
            failure = table["nothing_matched"]
    return error_of(
        Found(
            failure=failure,
            evidence=evidence,
            context=f"ncu {setting.ncu.version.text}, {setting.machine.describe()}".rstrip(", "),
            names=names,
            log=None if log is None else str(log),
        )
    )


def _stop_evidence(stopped: str, progress: Progress) -> str:
    inside = f", in kernel {progress.current}" if progress.current else ""
    return f"{stopped} after {len(progress.done)} kernels{inside}"


def _names_if_quick(request: CaptureRequest, setting: Setting, watch: Watch) -> tuple[str, ...]:
    """The kernels nearest to what was asked for, if finding out does not take long."""
    filtered = request.kernels or request.kernel_regex or request.nvtx or not request.from_start
    if not setting.look_for_names or not filtered or watch.elapsed_s > NAMES_WITHIN_S:
        return ()
    setting.tell("nothing matched; running the program once more to see which kernels it launches")
    limits = Limits(stall_s=30.0, total_s=2 * NAMES_WITHIN_S)
    quiet = replace(setting, limits=limits, look_for_names=False, stdout_to_stderr=True)
    try:
        return nearest(request, kernel_names(request, replace(quiet, tell=lambda _: None)))
    except RooflineError:  # the first failure is the one to report
        return ()


def _partial(ended: Ended, text: Sequence[str], machine: Machine) -> str | None:
    """Why a report that loads may not be all of it."""
    if ended.stopped is not None:
        return f"the run was ended early ({ended.stopped})"
    if ended.code == 0:
        return None
    failure, evidence = recognise(text, ended.stderr.splitlines(), machine, exit_code=ended.code)
    return f"{failure.cause} [{failure.code}]" + (f": {evidence}" if evidence else "")


def _absent(metrics: Sequence[str], launches: Sequence[Launch]) -> tuple[str, ...]:
    return tuple(
        name
        for name in metrics
        if ":" not in name and not any(launch.metrics.has(name) for launch in launches)
    )
