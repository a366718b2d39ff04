"""One capture from request to report: run ncu, look at what it left, keep it or say why not."""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import re
import shlex
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from roofline.capture.command import NAMES_ONLY, command, names_request, wants_collectives_in_vain
from roofline.capture.failures import Failure, catalogue, failed, recognise
from roofline.capture.machine import Machine
from roofline.capture.request import CaptureRequest, Ncu
from roofline.errors import InputError, RooflineError, UsageError
from roofline.files import refuse_overwrite, temporary_folder
from roofline.model import Launch
from roofline.process import Completed, run_through
from roofline.reports import read

# Looking for kernel names runs the program a second time: only where that is quick.
NAMES_WITHIN_S, _NAMED = 60.0, 10
# How the remedies of failures.toml write the command of the user.
OURS = "roofline profile ..."
# The first line of our logs: they may be written over, and nothing else.
LOG_HEAD = "# log of roofline profile"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureSetup:
    """What a capture runs with, apart from the request.

    A run is ended after ``stall_s`` of silence during a replay and after ``limit_s`` altogether
    (seconds, ``None`` for never). ``command`` is what the user typed, for remedies that run it in
    another way; ``environment`` is that of ncu and the program. A program that runs on for
    ``linger_s`` after the last launch that was asked for is ended.
    """

    ncu: Ncu
    machine: Machine
    stall_s: float = 300.0
    limit_s: float | None = None
    tell: Callable[[str], None] = lambda _: None
    stdout_to_stderr: bool = False
    command: str = OURS
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    linger_s: float = math.inf

    @property
    def to_the_end(self) -> bool:
        """Whether the program is never ended because enough was seen."""
        return self.linger_s == math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """A report that was kept.

    ``passes`` are each kernel's by ncu's log; ``partial`` says why launches may be missing;
    ``stopped`` is the signal or limit that ended the run; ``absent`` are metrics that were asked
    for and are in no launch.
    """

    report: Path
    log: Path | None
    launches: int
    passes: tuple[int, ...] = ()
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
        run = _run(request, setup, folder, ending=report.suffix)
        # One that ncu finished is kept, even where it cannot be read here.
        if run.made is not None and (run.launches or run.unread):
            report = move_report(run.made, report.with_suffix(run.made.suffix), force=force)
        log = keep_log(run.done, run.watch.text, log_path(report))
        _hand_back(report, log)
    if not run.launches:
        failure, evidence = _diagnose(request, setup, run)
        if run.unread:
            evidence = f"{report}: {run.problem}"
        if names := _names_instead(failure, request, setup, run):
            failure = catalogue()["nothing_matched"]
        raise failed(failure, evidence, context=_place(setup), names=names, log=log)
    counted = [name for name in request.metrics if ":" not in name]
    found = [launch.metrics for launch in run.launches]
    return Captured(
        report=report,
        log=log,
        launches=len(run.launches),
        passes=tuple(count for _, count in run.watch.done),
        partial=_partial(run, setup.machine),
        stopped=run.done.stopped,
        absent=tuple(name for name in counted if not any(some.has(name) for some in found)),
    )


def launches_seen(
    request: CaptureRequest, setup: CaptureSetup
) -> tuple[list[tuple[Launch, float]], str | None]:
    """The program's launches in order, each with its time in s, and what ended the run.

    It is ended ``linger_s`` after the first. Fails as ``capture`` does.
    """
    with temporary_folder(None, Path(tempfile.gettempdir())) as folder:
        run = _run(names_request(request), setup, folder, count=1)
    if not run.launches:
        raise failed(*_diagnose(request, setup, run), context=_place(setup))
    times = (launch.metrics.number(NAMES_ONLY[0]) or 0.0 for launch in run.launches)
    return list(zip(run.launches, times, strict=True)), run.done.stopped


def kernels_seen(request: CaptureRequest, setup: CaptureSetup) -> tuple[str, ...]:
    """A line for each kernel of the program, most time first; fails as ``capture`` does."""
    times: dict[str, list[float]] = {}
    for launch, lasted in launches_seen(request, replace(setup, linger_s=math.inf))[0]:
        times.setdefault(launch.demangled or launch.name, []).append(lasted)
    seen = sorted(times.items(), key=lambda kernel: -sum(kernel[1]))
    return tuple(f"{1e3 * sum(t):10.3f} ms {len(t):6} x  {name}" for name, t in seen)


# --- a run of ncu -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _NcuRun:
    """How ncu ended, its log, and the launches that it left or why they cannot be read.

    ``made`` is the report, in the folder of the run.
    """

    done: Completed
    watch: Watch
    made: Path | None
    launches: Sequence[Launch]
    problem: str | None

    @property
    def unread(self) -> bool:
        """Whether ncu finished a report that cannot be read here."""
        return self.problem is not None and _FINISHED.search(self.watch.text) is not None

    def recognised(self, machine: Machine) -> tuple[Failure, str | None]:
        """Why it failed, and the line that shows it."""
        log, stderr = self.watch.text.splitlines(), self.done.stderr.splitlines()
        return recognise(log, stderr, machine, exit_code=self.done.code)


def _run(
    request: CaptureRequest,
    setup: CaptureSetup,
    folder: Path,
    *,
    ending: str = ".ncu-rep",
    count: int | None = None,
) -> _NcuRun:
    """Run ncu, which writes ``report.ncu-rep`` and ``ncu.log`` into ``folder``.

    Of ``count`` launches, else as many as the request wants, is how long the program lingers.
    """
    log, report = folder / "ncu.log", folder / f"report{ending}"
    argv = command(request, setup.ncu, report=report, log=log)
    watch = Watch(log, setup, count or request.last)
    done = run_through(
        argv,
        env=child_environment(setup.environment, request),
        stdout_to_stderr=setup.stdout_to_stderr,
        watch=watch,
    )
    if done is None:
        raise failed("ncu_broken", evidence=argv[0])
    watch()
    made, launches, problem = _read(_made(folder, watch.text))
    return _NcuRun(done=done, watch=watch, made=made, launches=launches, problem=problem)


def _read(made: Path | None) -> tuple[Path | None, list[Launch], str | None]:
    """A report, under the ending that fits, with its launches or why it cannot be read."""
    try:
        return made, [] if made is None else list(read(made)), None
    except InputError as error:
        kind = getattr(error.__cause__, "code", None)
        if kind == "renamed" and made is not None:  # this ncu compresses under any name
            other = ".ncu-rep" if made.suffix == ".ncu-repz" else ".ncu-repz"
            return _read(made.rename(made.with_suffix(other)))
        return made, [], None if kind == "no results" else error.why or error.what


# ==PROF== Report: /tmp/x/report.ncu-rep
_FINISHED = re.compile(r"^==PROF== Report: *(\S.*?) *$", re.MULTILINE)


def _made(folder: Path, log: str) -> Path | None:
    """The report: what ncu's log says, else what looks like one."""
    said = [Path(name) for name in _FINISHED.findall(log)]
    found = [path for path in (*said, *sorted(folder.glob("report*rep*"))) if path.is_file()]
    return next((path for path in found if path.parent.resolve() == folder.resolve()), None)


# Other users of the counters: a tool's library, and the daemon mode of PyTorch's profiler.
_OTHERS = ("CUDA_INJECTION64_PATH", "KINETO_USE_DAEMON")


def child_environment(environment: Mapping[str, str], request: CaptureRequest) -> dict[str, str]:
    """The environment for ncu: without another tool's injection, and no files put into HOME."""
    child = {key: text for key, text in environment.items() if key not in _OTHERS}
    if not request.sections:
        child.setdefault("NV_COMPUTE_PROFILER_DISABLE_STOCK_FILE_DEPLOYMENT", "1")
    return child


# --- its progress -------------------------------------------------------------------------------

# ==PROF== Profiling "sobel" - 0 (1/2): 0%....50%....100% - 9 passes      (counts vary by version)
# ==PROF== Profiling "sobel" - 0: Application replay pass 3           (a pass that is over)
_PROFILING = re.compile(r'^==PROF== Profiling "([^"\n]*)"([^:\n]*):(.*)$', re.MULTILINE)
_PASSES = re.compile(r"100% - (\d+) pass|replay pass (\d+)")


def parse(text: str) -> tuple[tuple[tuple[str, int], ...], str | None]:
    """Kernels done as (name, passes) by a log, and the one under way: its passes are not told yet.

    Names are as ncu prints them here: cut in the middle when long, good for people only. In
    application replay a kernel is done, for all that is known, with each of its passes.
    """
    done: dict[object, tuple[str, int]] = {}
    current = None
    for number, (name, which, rest) in enumerate(_PROFILING.findall(text)):
        if passes := _PASSES.search(rest):
            # The passes of a replayed application come line by line; all else is one line.
            done[number if passes[1] else (name, which)] = name, int(passes[1] or passes[2])
        current = None if passes else name
    return tuple(done.values()), current


TAKEN = "launches"  # why a run was ended that had all that was asked for


class Watch:
    """Follows a log: tells of kernels as they are done, and of a run that must be ended.

    Calling it answers ``None``, "stall" (no sign of life for ``stall_s`` while a kernel is
    replayed: a program may be silent for hours by itself), "timeout" (``limit_s`` is over) or
    ``TAKEN`` (``linger_s`` have passed since ``count`` kernels were done).
    """

    def __init__(
        self,
        log: Path,
        setup: CaptureSetup,
        count: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.log, self.setup, self.count, self.clock = log, setup, count, clock
        self.started = self.alive = clock()
        self.taken: float | None = None
        self.text, (self.done, self.current) = "", parse("")

    def __call__(self) -> str | None:
        """Read what is new; a reason to end the run, or ``None``."""
        now, text = self.clock(), self.text
        with contextlib.suppress(OSError):  # there is no log yet
            text = self.log.read_text(encoding="utf-8", errors="replace")
        if text != self.text:
            told = len(self.done)
            self.alive, self.text = now, text
            self.done, self.current = parse(text)
            for number, (name, passes) in enumerate(self.done[told:], start=told + 1):
                self.setup.tell(f"profiled {number}: {name} ({passes} passes)")
        if self.setup.limit_s is not None and now - self.started >= self.setup.limit_s:
            return "timeout"
        if self.taken is None and self.count is not None and len(self.done) >= self.count:
            self.taken = now
        if self.taken is not None and now - self.taken >= self.setup.linger_s:
            self.setup.tell("enough was profiled; the program is ended")
            return TAKEN
        silent = now - self.alive >= self.setup.stall_s
        return "stall" if silent and self.current is not None else None


# --- why it failed ------------------------------------------------------------------------------


def _diagnose(
    request: CaptureRequest, setup: CaptureSetup, run: _NcuRun
) -> tuple[Failure, str | None]:
    """Why a run left no launches, and what shows it."""
    table, stopped = catalogue(), run.done.stopped
    failure, evidence = run.recognised(setup.machine)
    weak = failure.rank == "consequence" or failure.code == "report_missing"
    if stopped is not None:
        stops = {"stall": "replay_hang", "timeout": "timeout"}
        failure, current = table[stops.get(stopped, "interrupted")], run.watch.current
        evidence = f"{stopped} after {len(run.watch.done)} kernels"
        evidence += f", in kernel {current}" if current else ""
    elif run.unread:
        failure = table["report_unread"]
    elif run.problem is not None and weak:
        failure, evidence = table["report_unreadable"], run.problem
    elif failure.code == "nothing_launched" and wants_collectives_in_vain(request):
        failure, evidence = table["collectives_left_out"], f"--kernel {request.kernel_regex}"
    return replace(failure, you=failure.you.replace(OURS, setup.command)), evidence


def _place(setup: CaptureSetup) -> str:
    return f"{setup.ncu}, {setup.machine.describe()}".rstrip(", ")


def _partial(run: _NcuRun, machine: Machine) -> str | None:
    """Why a report that loads may not be all of it."""
    if run.done.stopped == TAKEN:
        return None
    if run.done.stopped is not None:
        return f"the run was ended early ({run.done.stopped})"
    if run.done.code == 0:
        return None
    failure, evidence = run.recognised(machine)
    return f"{failure.cause} [{failure.code}]" + (f": {evidence}" if evidence else "")


def _names_instead(
    failure: Failure, request: CaptureRequest, setup: CaptureSetup, run: _NcuRun
) -> Sequence[str]:
    """The kernels that did run, most time first, if finding out does not take long."""
    chosen = request.kernels or request.kernel_regex or request.families
    filtered = chosen or request.nvtx or not request.from_start
    slow = run.watch.clock() - run.watch.started > NAMES_WITHIN_S
    empty = failure.code in ("nothing_launched", "report_missing")
    if not empty or not filtered or slow:
        return ()
    setup.tell("nothing matched; running the program once more to see which kernels it launches")
    quiet = replace(
        setup, stall_s=30.0, limit_s=2 * NAMES_WITHIN_S, stdout_to_stderr=True, tell=lambda _: None
    )
    with contextlib.suppress(RooflineError):  # the first failure is the one to report
        return kernels_seen(request, quiet)[:_NAMED]
    return ()


# --- its files ----------------------------------------------------------------------------------


def free_names(program: Sequence[str], count: int, folder: Path = Path()) -> tuple[Path, ...]:
    """Names for ``count`` reports that nothing has yet: ``bench.ncu-rep``, ``bench-2.ncu-rep``."""
    script = next((word for word in program if word.endswith(".py")), program[0])
    stem = Path(script).name.removesuffix(".py") or "program"
    names = itertools.chain([stem], (f"{stem}-{number}" for number in itertools.count(2)))
    choices = (numbered(folder / f"{name}.ncu-rep", count) for name in names)
    return next(c for c in choices if not any(p.exists() or _foreign(log_path(p)) for p in c))


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
    if report.suffix not in (".ncu-rep", ".ncu-repz"):
        why = "a report's name ends in .ncu-rep or .ncu-repz"
        raise UsageError(f"cannot write {report}", why=why, hint=f"{report}.ncu-rep")
    refuse_overwrite(report, force=force)
    log = log_path(report)
    if _foreign(log) and not force:
        raise UsageError(f"{log} is not a log of roofline", hint="another name, or --force")


def move_report(made: Path, report: Path, *, force: bool) -> Path:
    """Move a finished report to its place; to a free name beside it if that was taken meanwhile."""
    if report.exists() and not force:
        others = (report.with_stem(f"{report.stem}-{number}") for number in itertools.count(2))
        report = next(other for other in others if not other.exists())
    return made.replace(report)


def _hand_back(*paths: Path | None) -> None:
    """Give files to the user behind sudo."""
    user, group = (os.environ.get(name, "") for name in ("SUDO_UID", "SUDO_GID"))
    if os.geteuid() == 0 and user.isdigit() and group.isdigit():
        for path in filter(None, paths):
            with contextlib.suppress(OSError):  # it is not there
                os.chown(path, int(user), int(group))


def keep_log(done: Completed, text: str, log: Path) -> Path | None:
    """Write the log beside the report: the command, what ncu wrote, and its part of stderr.

    ``None`` where that fails: a full disk must not hide the answer.
    """
    library = (line for line in done.stderr.splitlines() if line.startswith("=="))
    lines = [LOG_HEAD, f"$ {shlex.join(done.argv)}", *text.splitlines(), *library]
    lines.append(f"# exit code {done.code}")
    try:
        log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    except OSError:
        return None
    return log


def _foreign(log: Path) -> bool:
    """Whether there is a file at ``log`` that is not one of our logs."""
    try:
        with log.open(encoding="utf-8", errors="replace") as file:
            return file.readline().rstrip("\n") != LOG_HEAD
    except OSError:
        return log.exists()
