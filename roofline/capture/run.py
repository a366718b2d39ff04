"""One capture from request to report: run ncu, look at what it left, keep it or say why not."""

from __future__ import annotations

import contextlib
import difflib
import itertools
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from roofline.capture.command import command, names_command, shell, wants_collectives_in_vain
from roofline.capture.failures import Diagnosis, Failure, catalogue, error_of, failed, recognise
from roofline.capture.machine import Machine
from roofline.capture.request import CaptureRequest, Ncu
from roofline.errors import InputError, RooflineError, UsageError
from roofline.files import refuse_overwrite, temporary_folder
from roofline.model import Launch
from roofline.process import Completed, run_through
from roofline.reports import read

# Looking for kernel names runs the program a second time: only where that is quick.
NAMES_WITHIN_S = 60.0
# The first line of our logs: they may be written over, and nothing else.
LOG_HEAD = "# log of roofline profile"
_STOPS = {"stall": "replay_hang", "timeout": "timeout"}
_NO_DEPLOYMENT = "NV_COMPUTE_PROFILER_DISABLE_STOCK_FILE_DEPLOYMENT"
_INJECTION = "CUDA_INJECTION64_PATH"
_LITERAL = re.compile(r"[A-Za-z0-9_]{3,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureSetup:
    """What a capture runs with, apart from the request.

    A run is ended after ``stall_s`` of silence during a replay and after ``limit_s`` altogether
    (seconds, ``None`` for never); ncu then has ``grace_s`` to write what it has.
    """

    ncu: Ncu
    machine: Machine
    metrics: tuple[str, ...]
    stall_s: float | None = 300.0
    limit_s: float | None = None
    grace_s: float = 10.0
    tell: Callable[[str], None] = lambda _: None
    stdout_to_stderr: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """A report that was kept.

    ``partial`` says why it may lack launches; ``absent`` are metrics that were asked for and are
    in no launch; ``stopped`` is the signal or limit that ended the run.
    """

    report: Path
    log: Path | None
    launches: int
    progress: Progress
    partial: str | None = None
    stopped: str | None = None
    absent: tuple[str, ...] = ()


def capture(request: CaptureRequest, setup: CaptureSetup, report: Path, *, force: bool) -> Captured:
    """Run ``request`` and leave a whole report at ``report``, its log beside it.

    Raises:
        CaptureError: ncu could not profile (a ``NcuFailedError`` that says why).
        ProgramError: the program failed and left nothing.
        UsageError: the files cannot be written.

    """
    check_output(report, force=force)
    with temporary_folder(report.parent.resolve(), report) as folder:
        made = folder / "report.ncu-rep"
        argv = command(
            request,
            setup.ncu,
            metrics=setup.metrics,
            report=made.with_suffix(""),
            log=folder / "ncu.log",
        )
        run = _run(argv, request, setup, folder)
        if not run.launches:
            diagnosis = _diagnose(request, setup, run)
            log = keep_log(run.done, run.log, log_path(report))
            diagnosis = replace(diagnosis, log=None if log is None else str(log))
            raise error_of(_with_names(diagnosis, request, setup, run))
        report = move_report(made, report, force=force)
        log = keep_log(run.done, run.log, log_path(report))
    return Captured(
        report=report,
        log=log,
        launches=len(run.launches),
        progress=run.progress,
        partial=_partial(run, setup.machine),
        stopped=run.done.stopped,
        absent=tuple(
            name
            for name in setup.metrics
            if ":" not in name and not any(launch.metrics.has(name) for launch in run.launches)
        ),
    )


def kernel_names(request: CaptureRequest, setup: CaptureSetup) -> tuple[str, ...]:
    """The names of the program's kernels, in order of launch; fails as ``capture`` does."""
    with temporary_folder(None, Path(tempfile.gettempdir())) as folder:
        argv = names_command(request, setup.ncu, report=folder / "report", log=folder / "ncu.log")
        run = _run(argv, request, setup, folder)
    if not run.launches:
        raise error_of(_diagnose(request, setup, run))
    return tuple(dict.fromkeys(launch.demangled or launch.name for launch in run.launches))


# --- a run of ncu -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _NcuRun:
    """How ncu ended and what it left: its log, and launches or why they cannot be read."""

    done: Completed
    log: Sequence[str]
    launches: Sequence[Launch] = ()
    problem: str | None = None
    progress: Progress
    elapsed_s: float


def _run(
    argv: Sequence[str], request: CaptureRequest, setup: CaptureSetup, folder: Path
) -> _NcuRun:
    """Run ncu, which writes ``report.ncu-rep`` and ``ncu.log`` into ``folder``."""
    log, report = folder / "ncu.log", folder / "report.ncu-rep"
    watch = Watch(log, stall_s=setup.stall_s, limit_s=setup.limit_s, tell=setup.tell)
    done = run_through(
        argv,
        env=child_environment(os.environ, request),
        stdout_to_stderr=setup.stdout_to_stderr,
        watch=watch,
        grace_s=setup.grace_s,
    )
    if done is None:
        raise failed("ncu_broken", evidence=argv[0])
    watch()
    launches, problem = [], None
    if report.exists():
        try:
            launches = list(read(report))
        except InputError as error:
            problem = error.why or error.what
    return _NcuRun(
        done=done,
        log=watch.text.splitlines(),
        launches=launches,
        problem=problem,
        progress=watch.progress,
        elapsed_s=watch.elapsed_s,
    )


def child_environment(environment: Mapping[str, str], request: CaptureRequest) -> dict[str, str]:
    """The environment for ncu: without another tool's injection, and no files put into HOME."""
    child = {name: value for name, value in environment.items() if name != _INJECTION}
    if not request.sections:
        child.setdefault(_NO_DEPLOYMENT, "1")
    return child


# --- its progress -------------------------------------------------------------------------------

# ==PROF== Profiling "sobel" - 0 (1/2): 0%....50%....100% - 9 passes      (counts vary by version)
_PROFILING = re.compile(
    r'^==PROF== Profiling "(?P<name>[^"\n]*)"[^:\n]*:(?P<rest>.*)$', re.MULTILINE
)
_PASSES = re.compile(r"100% - (\d+) pass")


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Kernels done as (name, passes), and the one under way.

    Names are as ncu prints them here: cut in the middle when long, good for people only.
    """

    done: tuple[tuple[str, int], ...] = ()
    current: str | None = None

    @property
    def passes(self) -> tuple[int, int] | None:
        """Fewest and most passes that a kernel took."""
        counts = [count for _, count in self.done]
        return (min(counts), max(counts)) if counts else None


def parse(text: str) -> Progress:
    """The progress that a log tells; the last kernel without its passes is the one under way."""
    done, current = [], None
    for match in _PROFILING.finditer(text):
        passes = _PASSES.search(match["rest"])
        if passes:
            done.append((match["name"], int(passes[1])))
        current = None if passes else match["name"]
    return Progress(done=tuple(done), current=current)


class Watch:
    """Follows a log: tells of kernels as they are done, and of a run that must be ended.

    Calling it answers ``None``, "stall" (no sign of life for ``stall_s`` while a kernel is
    replayed: a program may be silent for hours by itself) or "timeout" (``limit_s`` is over).
    """

    def __init__(
        self,
        log: Path,
        *,
        stall_s: float | None,
        limit_s: float | None,
        tell: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._log, self._tell, self._clock = log, tell, clock
        self._stall_s, self._limit_s = stall_s, limit_s
        self._started = self._alive = clock()
        self.text, self.progress = "", Progress()

    def __call__(self) -> str | None:
        """Read what is new; a reason to end the run, or ``None``."""
        now = self._clock()
        with contextlib.suppress(OSError):  # there is no log yet
            text = self._log.read_text(encoding="utf-8", errors="replace")
            if text != self.text:
                self._alive = now
                self._follow(text)
        if self._limit_s is not None and now - self._started >= self._limit_s:
            return "timeout"
        silent = self._stall_s is not None and now - self._alive >= self._stall_s
        return "stall" if silent and self.progress.current is not None else None

    @property
    def elapsed_s(self) -> float:
        """Seconds since the watch began."""
        return self._clock() - self._started

    def _follow(self, text: str) -> None:
        told = len(self.progress.done)
        self.text, self.progress = text, parse(text)
        for number, (name, passes) in enumerate(self.progress.done[told:], start=told + 1):
            self._tell(f"profiled {number}: {name} ({passes} passes)")


# --- why it failed ------------------------------------------------------------------------------


def _diagnose(request: CaptureRequest, setup: CaptureSetup, run: _NcuRun) -> Diagnosis:
    """Why a run left no launches."""
    table, stopped = catalogue(), run.done.stopped
    failure, evidence = _recognise(run, setup.machine)
    weak = failure.rank == "consequence" or failure.code == "report_missing"
    if stopped is not None:
        current = run.progress.current
        failure = table[_STOPS.get(stopped, "interrupted")]
        evidence = f"{stopped} after {len(run.progress.done)} kernels"
        evidence += f", in kernel {current}" if current else ""
    elif run.problem is not None and weak:
        failure, evidence = table["report_unreadable"], run.problem
    elif failure.code == "nothing_launched" and wants_collectives_in_vain(request):
        failure, evidence = table["collectives_left_out"], f"--kernel {request.kernel_regex}"
    context = f"ncu {setup.ncu.version.text}, {setup.machine.describe()}".rstrip(", ")
    return Diagnosis(failure=failure, evidence=evidence, context=context)


def _partial(run: _NcuRun, machine: Machine) -> str | None:
    """Why a report that loads may not be all of it."""
    if run.done.stopped is not None:
        return f"the run was ended early ({run.done.stopped})"
    if run.done.code == 0:
        return None
    failure, evidence = _recognise(run, machine)
    return f"{failure.cause} [{failure.code}]" + (f": {evidence}" if evidence else "")


def _recognise(run: _NcuRun, machine: Machine) -> tuple[Failure, str | None]:
    return recognise(run.log, run.done.stderr.splitlines(), machine, exit_code=run.done.code)


def _with_names(
    diagnosis: Diagnosis, request: CaptureRequest, setup: CaptureSetup, run: _NcuRun
) -> Diagnosis:
    """Add the kernels nearest to what was asked for, if finding out does not take long."""
    filtered = request.kernels or request.kernel_regex or request.nvtx or not request.from_start
    if diagnosis.failure.code not in ("nothing_launched", "report_missing"):
        return diagnosis
    if not filtered or run.elapsed_s > NAMES_WITHIN_S:
        return diagnosis
    setup.tell("nothing matched; running the program once more to see which kernels it launches")
    quiet = replace(
        setup, stall_s=30.0, limit_s=2 * NAMES_WITHIN_S, stdout_to_stderr=True, tell=lambda _: None
    )
    try:
        names = nearest(request, kernel_names(request, quiet))
    except RooflineError:  # the first failure is the one to report
        return diagnosis
    return replace(diagnosis, failure=catalogue()["nothing_matched"], names=names)


def nearest(request: CaptureRequest, names: Iterable[str], *, limit: int = 5) -> tuple[str, ...]:
    """The kernels among ``names`` that come nearest to what was asked for, best first."""
    asked = [*request.kernels, *_LITERAL.findall(request.kernel_regex or "")]

    def distance(name: str) -> float:
        """How little of the best of ``asked`` occurs in ``name`` in one piece."""
        low = name.lower()
        matches = (
            difflib.SequenceMatcher(None, wanted.lower(), low, autojunk=False)
            .find_longest_match()
            .size
            / len(wanted)
            for wanted in asked
        )
        return -max(matches, default=0.0)

    return tuple(sorted(dict.fromkeys(names), key=distance)[:limit])


# --- its files ----------------------------------------------------------------------------------


def free_names(program: Sequence[str], count: int, folder: Path = Path()) -> tuple[Path, ...]:
    """Names for ``count`` reports that nothing has yet: ``bench.ncu-rep``, ``bench-2.ncu-rep``."""
    script = next((word for word in program if word.endswith(".py")), program[0])
    stem = Path(script).name.removesuffix(".py") or "program"
    names = itertools.chain([stem], (f"{stem}-{number}" for number in itertools.count(2)))
    choices = (numbered(folder / f"{name}.ncu-rep", count) for name in names)
    return next(
        paths
        for paths in choices
        if not any(path.exists() or _foreign(log_path(path)) for path in paths)
    )


def numbered(report: Path, count: int) -> tuple[Path, ...]:
    """Names for ``count`` captures: ``report`` itself for one, else ``bench-1.ncu-rep`` and on."""
    if count == 1:
        return (report,)
    stem, ending = report.stem, report.suffix
    return tuple(report.with_name(f"{stem}-{number}{ending}") for number in range(1, count + 1))


def log_path(report: Path) -> Path:
    """Where the log of ``report`` is."""
    return report.with_name(report.name + ".log")


def check_output(report: Path, *, force: bool) -> None:
    """Raise ``UsageError``, before anything runs, where report or log could not be written."""
    if report.suffix != ".ncu-rep":
        why = "a report's name ends in .ncu-rep"
        raise UsageError(f"cannot write {report}", why=why, hint=f"{report}.ncu-rep")
    refuse_overwrite(report, force=force)
    log = log_path(report)
    if _foreign(log) and not force:
        raise UsageError(f"{log} is not a log of roofline", hint="another name, or --force")
    if not os.access(report.parent, os.W_OK):
        raise UsageError(f"cannot write to the folder {report.parent}", hint="-o in another folder")


def move_report(made: Path, report: Path, *, force: bool) -> Path:
    """Move a finished report to its place; to a free name beside it if that was taken meanwhile."""
    if report.exists() and not force:
        (report,) = free_names([report.name.removesuffix(".ncu-rep")], 1, report.parent)
    try:
        return made.replace(report)
    except OSError as error:
        raise UsageError(f"cannot write {report}", why=error.strerror) from error


def keep_log(done: Completed, text: Sequence[str], log: Path) -> Path | None:
    """Write the log beside the report: the command, what ncu wrote, and its part of stderr.

    ``None`` where that fails: a full disk must not hide the answer.
    """
    library = [line for line in done.stderr.splitlines() if line.startswith("==")]
    lines = [LOG_HEAD, f"$ {shell(done.argv)}", *text, *library, f"# exit code {done.code}"]
    try:
        log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    except OSError:
        return None
    return log


def _foreign(log: Path) -> bool:
    """Whether there is a file at ``log`` that is not one of our logs."""
    if not log.exists():
        return False
    with contextlib.suppress(OSError), log.open(encoding="utf-8", errors="replace") as file:
        return file.readline().rstrip("\n") != LOG_HEAD
    return True
