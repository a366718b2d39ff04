"""The look before a capture: which kernels the program launches, and how long they take.

nsys sees them at full speed, or PyTorch's own profiler, started inside the program; else ncu sees
them one by one, in a single pass.
"""

from __future__ import annotations

import math
import os
import re
import secrets
import shlex
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib.resources import files
from itertools import takewhile
from pathlib import Path

import numpy as np

from roofline.capture.machine import TABLE
from roofline.capture.preflight import candidates
from roofline.capture.request import CaptureRequest
from roofline.capture.run import CaptureSetup, child_environment, launches_seen
from roofline.capture.torch_hook import FOLDER, SECONDS
from roofline.counters.device import device_of
from roofline.errors import InputError, ProgramError, UsageError
from roofline.files import temporary_folder
from roofline.process import Completed, run_quietly, run_through, running_below
from roofline.timeline import load_timeline
from roofline.timeline.events import Events, Interner, Timeline, Work, identity

_RECORD = "roofline profile --timeline FILE, with a timeline of the program"


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What was seen, and ``by`` whom."""

    timeline: Timeline
    by: str


class LookInterrupted(Exception):  # noqa: N818  # no error: nothing is to be said
    """The ``signal`` that we were sent ended the run."""

    def __init__(self, signal: str) -> None:
        super().__init__(signal)
        self.signal = signal


def look_at(
    request: CaptureRequest,
    setup: CaptureSetup,
    how: str,
    seconds: float,
    say: Callable[[str], None],
) -> Look:
    """What the first saw that could: nsys, PyTorch, ncu, or ``how`` alone where it is one of them.

    The program is ended once it used a GPU for ``seconds``, unless it may run to its end.

    Raises:
        CaptureError: ncu could not look.
        InputError: no kernel was seen.
        LookInterrupted: a signal ended it.
        ProgramError: the program failed, or used no GPU, and nothing was seen.
        UsageError: the one that was asked for cannot look here.

    """
    end = "runs to its end"
    if not setup.to_the_end:
        end = f"is ended {seconds:g} s after it first uses a GPU (--until program lets it run on)"
    if how in ("auto", "again") and not (setup.machine.gpus or setup.machine.driver):
        how = "ncu"  # which says what is wrong; others would only run the program
    failure = InputError("nobody can look", hint=_RECORD)
    for number, (who, by) in enumerate(_ways(how, request.program)):
        if number:
            say(f"{failure.what}: {failure.why}")
        say(f"Looking with {who}; the program {end}")
        try:
            return by(request, setup, seconds)
        except InputError as error:
            failure = error
    raise failure


def _ways(how: str, program: Sequence[str]) -> Iterator[tuple[str, Callable[..., Look]]]:
    """Who can look, best first; of ``how`` ("nsys", "torch", "ncu") that one alone."""
    if how not in ("torch", "ncu"):
        if nsys := find_nsys():
            yield f"nsys {nsys.version} at full speed", partial(by_nsys, nsys)
        elif how == "nsys":
            raise UsageError("--look nsys: no nsys of 2022 or later", hint="ROOFLINE_NSYS=FILE")
    if how not in ("nsys", "ncu"):
        if python_with_torch(program, os.environ):
            yield "PyTorch's profiler inside the program, at full speed", by_torch
        elif how == "torch":
            why = "the program is no Python that has it, or python -I, -E or -S lets nothing in"
            raise UsageError("--look torch: no PyTorch inside", why=why, hint="--look ncu")
    if how not in ("nsys", "torch"):
        yield "ncu, kernel by kernel", by_ncu


# --- the program of a look ----------------------------------------------------------------------

# Why a run was ended: seen enough of, or used no GPU, or a tool that outlived the program.
LOOKED, IDLE, HUNG = "looked", "no GPU", "hung"
_ON_GPU = re.compile(r"/dev/(?:nvidia\d|dxg$|nvhost|nvgpu)")
_PATIENCE_S = 600.0  # for a program to load what it needs before it uses a GPU
_WRITE_S = 120.0  # for what was seen to be written
_ROOM_BYTES = 200_000_000
_EACH_S = 0.5


def _since(moment: float | None) -> float:
    return -math.inf if moment is None else time.monotonic() - moment


class _Program:
    """What runs below us, or below what ``file`` notes: since when it has a GPU, or is over."""

    def __init__(self, file: Path | None = None) -> None:
        self.file = file
        self.began = self.looked = time.monotonic()
        self.on_gpu: float | None = None
        self.ended: float | None = None

    def look(self) -> None:
        """Look what it does, twice a second; where there is no /proc, it has a GPU at once."""
        if self.ended is not None or _since(self.looked) < _EACH_S:
            return
        self.looked, processes, first = time.monotonic(), running_below(os.getpid()), os.getpid()
        if self.file is not None:
            noted = self.file.read_text().strip() if self.file.exists() else ""
            if not noted:
                return
            first = int(noted)
            if processes and first not in processes:
                self.ended = self.looked
        if self.on_gpu is None:
            its = {first, *running_below(first)} & processes
            opened = (file for one in its for file in _files_of(one))
            if not processes or any(map(_ON_GPU.search, opened)):
                self.on_gpu = self.looked

    def idle(self) -> str | None:
        """A reason to end it where it has used no GPU for long."""
        return IDLE if self.on_gpu is None and _since(self.began) > _PATIENCE_S else None


def _files_of(process: int) -> Iterator[str]:
    """What a process has open; nothing where it has ended, or is somebody else's."""
    with suppress(OSError):
        for entry in Path(f"/proc/{process}/fd").iterdir():
            with suppress(OSError):
                yield str(entry.readlink())


@contextmanager
def _folder() -> Iterator[Path]:
    """A folder for what is recorded, which holds personal data: it is gone afterwards."""
    parent = Path(tempfile.gettempdir())
    if shutil.disk_usage(parent).free < _ROOM_BYTES:
        why = f"{parent} has less than 200 MB of room"
        raise InputError("nothing was recorded", why=why, hint="TMPDIR=FOLDER with more room")
    with temporary_folder(None, parent) as folder:
        yield folder


def _over(setup: CaptureSetup) -> str:
    setup.tell("enough was seen; the program is ended")
    return LOOKED


def _seen(done: Completed | None, who: str, read: Callable[[], Timeline]) -> Look:
    """What a run showed; where a program failed by itself and showed nothing, that is why."""
    stopped = "" if done is None else done.stopped or ""
    if stopped.startswith("SIG"):
        raise LookInterrupted(stopped)
    if stopped == IDLE:
        why = f"it opened none in {_PATIENCE_S / 60:.0f} minutes"
        hint = "--until program lets it run on"
        raise ProgramError("the program uses no GPU", why=why, hint=hint)
    why = "it did not end when the program did" if stopped == HUNG else "it cannot be started"
    try:
        if done is not None and stopped != HUNG:
            return Look(timeline=read(), by=who)
    except InputError as error:
        if done is not None and done.code and not stopped:
            how = f"it ended with exit code {done.code} before any kernel was seen"
            hint = "the program alone, without roofline"
            raise ProgramError("the program failed", why=how, hint=hint) from error
        why = error.why or error.what
    raise InputError(f"{who} saw nothing", why=why, hint=_RECORD)


# --- nsys -----------------------------------------------------------------------------------------

_LISTED = re.compile(r"^[ \t]+(?:-\w, )?(--[a-z][a-z-]*)", re.MULTILINE)
_NEEDED = ("--session-new", "--cuda-graph-trace")  # what those before 2022 lack
_GENERATED = re.compile(r"^Generated:\s*((?:\n[ \t]+\S.*)+)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Nsys:
    """An nsys that can be used, and the ``options`` of its ``profile``."""

    path: str
    version: str
    options: frozenset[str]


def find_nsys(environment: Mapping[str, str] = os.environ) -> Nsys | None:
    """The first nsys that is new enough: of ROOFLINE_NSYS, on PATH, or installed."""
    for name, _ in candidates("nsys", None, environment):
        path = shutil.which(name, path=environment.get("PATH"))
        said = None if path is None else run_quietly([path, "profile", "--help"])
        options = frozenset(_LISTED.findall(said.stdout if said else ""))
        if path is None or not options.issuperset(_NEEDED):
            continue
        answer = run_quietly([path, "--version"])
        version = re.search(r"\d{4}\.\d+(\.\d+)?", answer.stdout if answer else "")
        return Nsys(path=path, version=version[0] if version else "", options=options)
    return None


def by_nsys(nsys: Nsys, request: CaptureRequest, setup: CaptureSetup, seconds: float) -> Look:
    """Run the program under nsys, which ends once the program used a GPU for ``seconds``."""
    import fcntl  # which Windows lacks

    session = f"roofline-{os.getpid()}-{secrets.token_hex(4)}"
    stopped: list[str] = []
    with _folder() as folder:
        program = _Program(folder / "pid")

        def watch() -> str | None:
            program.look()
            if _since(program.ended) > _WRITE_S:
                return HUNG
            if stopped or _since(program.on_gpu) < seconds:
                return None if stopped or setup.to_the_end else program.idle()
            said = run_quietly([nsys.path, "stop", f"--session={session}"], timeout_s=_WRITE_S)
            stopped.append("" if said is None else said.stdout)
            return None if setup.to_the_end else _over(setup)

        options = (word for word in TABLE["nsys_options"] if word.partition("=")[0] in nsys.options)
        files = (f"--session-new={session}", f"--output={folder / 'look'}")
        # The program's output goes to where ours does, and nsys's own words to a log.
        ours = [fcntl.fcntl(each, fcntl.F_DUPFD, 3) for each in (1 + setup.stdout_to_stderr, 2)]
        script = 'echo $$ >"$0"; exec "$@" 1{} 2{}'.format(*map(_to, ours))
        shell = ("/bin/sh", "-c", script, str(folder / "pid"))
        try:
            run = run_through(
                (nsys.path, "profile", *options, *files, *shell, *request.program),
                env=child_environment(setup.environment, request),
                log=folder / "nsys.log",
                passed=ours,
                watch=watch,
            )
        finally:
            for each in ours:
                os.close(each)
        said = "" if run is None else run.stdout + "".join(stopped)
        return _seen(run, f"nsys {nsys.version}", lambda: _exported(nsys, said))


def _to(number: int) -> str:
    """A redirection to a descriptor; not every sh knows those of two digits."""
    return f">&{number} {number}>&-" if number < 10 else f">>/dev/fd/{number}"


def _exported(nsys: Nsys, said: str) -> Timeline:
    """What the report holds, which is where nsys says it is, if it made one."""
    files = [Path(line.strip()) for block in _GENERATED.findall(said) for line in block.split("\n")]
    report = next((f for f in files if f.suffix == ".nsys-rep" and f.is_file()), None)
    if report is None:
        made = any(f.suffix == ".qdstrm" and f.is_file() for f in files)
        why = "its part that makes reports is missing" if made else "it made no report"
        raise InputError(why, hint=_RECORD)
    try:
        return load_timeline(report, nsys=nsys.path)
    finally:
        report.unlink()


# --- PyTorch ------------------------------------------------------------------------------------

_HAS_TORCH = "import importlib.util as u, sys; sys.exit(not u.find_spec('torch'))"
_LATE_S = 30.0  # for other processes' traces; for torch to be imported once a GPU is used


def python_with_torch(program: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Whether PyTorch's profiler can be started inside: a Python that has it and lets us in."""
    path = shutil.which(program[0], path=environment.get("PATH"))
    python = [path or program[0]]
    if not re.match(r"python[\d.]*$", Path(program[0]).name):
        with suppress(OSError), Path(python[0]).open("rb") as file:
            first = file.readline(1 << 10).decode(errors="replace")
        python = shlex.split(first.removeprefix("#!")) if first.startswith("#!") else []
        program = python  # whose options are the script's
    flags = takewhile(lambda word: re.match("-[^-cm]", word), program[1:])
    if any(re.match("-[^WX]*[EIS]", flag) for flag in flags):  # these let no sitecustomize in
        return False
    if not any("python" in Path(word).name for word in python):
        return False
    answer = run_quietly([*python, "-c", _HAS_TORCH], env=environment)
    return answer is not None and answer.code == 0


def by_torch(request: CaptureRequest, setup: CaptureSetup, seconds: float) -> Look:
    """Run the program, and have PyTorch's profiler in it record ``seconds`` of its kernels.

    Of several processes, the one that recorded most is shown.
    """
    with _folder() as folder:
        program, first = _Program(), dict[str, float]()

        def watch() -> str | None:
            program.look()
            states, traces = _left(folder)
            for what in (*states.values(), *(["trace"] if traces else ())):
                first.setdefault(what, time.monotonic())
            if setup.to_the_end:
                return None
            recording = list(states.values()).count("cuda")
            late = (
                _since(first.get("trace")) > _LATE_S
                or _since(first.get("cuda")) > seconds + _WRITE_S
                or (not states and _since(program.on_gpu) > _LATE_S)
            )
            over = 0 < recording <= len(traces) or late
            return _over(setup) if over else None if recording else program.idle()

        hook = folder / "hook"
        hook.mkdir()
        source = files("roofline.capture").joinpath("torch_hook.py").read_bytes()
        (hook / "sitecustomize.py").write_bytes(source)
        environment = child_environment(setup.environment, request)
        paths = os.pathsep.join(filter(None, (str(hook), environment.get("PYTHONPATH"))))
        own = {"PYTHONPATH": paths, FOLDER: str(folder), SECONDS: str(seconds)}
        run = run_through(
            request.program,
            env=environment | own,
            stdout_to_stderr=setup.stdout_to_stderr,
            keep_stderr=False,
            watch=watch,
        )
        return _seen(run, "PyTorch's profiler", lambda: _recorded(folder))


def _recorded(folder: Path) -> Timeline:
    """The largest trace."""
    states, traces = _left(folder)
    if not traces:
        why = [text for state, text in TABLE["torch"].items() if state in ("", *states.values())]
        raise InputError(why[-1], hint=_RECORD)
    return load_timeline(max(traces, key=lambda trace: trace.stat().st_size))


def _left(folder: Path) -> tuple[dict[str, str], list[Path]]:
    """What the processes say of themselves, and the traces that are whole."""
    states = {file.stem: file.read_text() for file in folder.glob("*.state")}
    return states, list(folder.glob("*.json"))


# --- ncu ----------------------------------------------------------------------------------------


def by_ncu(request: CaptureRequest, setup: CaptureSetup, seconds: float) -> Look:
    """Run the program under ncu, one cheap pass a launch, for ``seconds`` from the first.

    Launches are set end to end: what runs at the same time is not seen. Fails as ``capture`` does.
    """
    linger_s = math.inf if setup.to_the_end else seconds
    timed, stopped = launches_seen(request, replace(setup, linger_s=linger_s))
    if (stopped or "").startswith("SIG"):
        raise LookInterrupted(str(stopped))
    devices = [device_of(x.metrics) for x, _ in timed]
    kernels = Interner()
    which = [kernels[x.demangled or x.name, x.grid, x.block] for x, _ in timed]
    lasted = np.array([round(1e9 * each) for _, each in timed], dtype=np.int64)
    end = np.cumsum(lasted + 1000)
    unknown = np.full(len(end), -1, dtype=np.int64)
    start, device = end - lasted, np.array([d.index or 0 for d in devices], dtype=np.int64)
    threads = np.zeros(len(end), dtype=np.int64)
    columns = (start, end, device, np.array(which, dtype=np.int64), start, start, threads, threads)
    return Look(
        timeline=Timeline(
            file="ncu",
            format="kineto",
            identities=tuple(
                identity(Work.KERNEL, name, grid=grid, block=block) for name, grid, block in kernels
            ),
            events=Events.of(*columns, unknown),
            devices={d.index or 0: d for d in devices},
            from_start=True,
        ),
        by="ncu, kernel by kernel",
    )
