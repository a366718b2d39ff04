"""``roofline.profile``: a function or a program under ncu, from Python."""

from __future__ import annotations

import builtins
import os
import pickle
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from roofline.analysis import analyze
from roofline.arguments import checked, number, several, unless_none, whole, word
from roofline.capture.command import chosen, region_range
from roofline.capture.machine import look
from roofline.capture.preflight import ask, check_command, check_program, find_ncu, fit
from roofline.capture.request import DEFAULT_LAUNCH_COUNT, CaptureLevel, CaptureRequest
from roofline.capture.run import CaptureSetup, capture
from roofline.errors import ArgumentError, ProgramError, RooflineError, UsageError
from roofline.model import Analysis
from roofline.regions import Region

# The folder of the call that a process was started for; it holds the answers of earlier calls.
CHILD = "ROOFLINE_CALL"
_DONE = "done"
_OF_PYTEST = ("PYTEST_ADDOPTS", "PYTEST_CURRENT_TEST", "PYTEST_XDIST_")
# The test (or "" for none) -> the answers of the calls in it so far: a child meets them again.
_answers: dict[str, list[Analysis]] = {}


@checked
def profile(
    target: Callable[[], object] | Sequence[str | Path],
    kernels: str | Sequence[str] = (),
    *,
    region: str | None = None,
    launch_count: int | None = DEFAULT_LAUNCH_COUNT,
    launch_skip: int = 0,
    level: str = "standard",
    warmup: int = 1,
    report: str | Path | None = None,
    ncu: str | None = None,
    timeout_s: float | None = None,
) -> Analysis:
    """Run a function or a program under ncu, and analyse its kernels.

    A function runs in a new process, as ncu cannot attach to one that runs: a script, or the test
    that pytest is in, is run again up to this call; from a notebook the function itself is sent
    (cloudpickle is needed for one that is not imported from a file).

    Args:
        target: a function without arguments, or the words of a command.
        kernels: as ``--kernel``: regular expressions, or families such as "gemm".
        region: of a program, only what is launched in ``roofline.region(region)``.
        launch_count: at most so many launches; ``None`` for no limit.
        launch_skip: matching launches to leave out before them.
        level: "quick", "lean", "standard" or "full".
        warmup: calls of the function before the one that is profiled.
        report: where the report is kept; without it, until this process ends.
        ncu: the ncu to run.
        timeout_s: the run is ended after this time (seconds).

    Raises:
        CaptureError: ncu could not profile.
        ProgramError: the function or the program failed.
        UsageError: the function cannot be had in another process.
        ArgumentError: an argument is out of range, or not a known word.

    """
    word([*CaptureLevel], level=level)
    if not callable(target) and not target:
        raise ArgumentError("target is empty", hint='target=["python", "bench.py"]')
    whole(1, **unless_none(launch_count=launch_count))
    whole(0, launch_skip=launch_skip, warmup=warmup)
    number(0, above=True, hint="60 for a minute", **unless_none(timeout_s=timeout_s))
    environment: dict[str, str] = {}
    nvtx = () if region is None else (region_range(region),)
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    done, folder = None, _kept() / str(len(list(_kept().iterdir())))
    answers = _answers.setdefault(test, [])
    place = len(answers) + 1
    if (asked := os.environ.get(CHILD)) is not None:
        answers.append(_in_child(target, place, warmup, Path(asked)))
        return answers[-1]
    folder.mkdir()
    if callable(target):
        for earlier, answer in enumerate(answers, 1):
            (folder / str(earlier)).write_bytes(pickle.dumps(answer))
        program, environment = _again(target, place, warmup, test, folder)
        nvtx, done = (region_range(_name(place)),), folder / _DONE
    else:
        program = tuple(map(str, target))
    request = CaptureRequest(
        program=program,
        level=CaptureLevel(level),
        **chosen(several(kernels)),
        nvtx=nvtx,
        launch_skip=launch_skip,
        launch_count=launch_count,
    )
    check_program(program, os.environ)
    found, machine = find_ncu(ncu), look()
    request, _ = fit(request, found, machine)
    check_command(request, found, ask)
    setup = CaptureSetup(
        ncu=found,
        machine=machine,
        limit_s=timeout_s,
        stdout_to_stderr=True,
        environment=environment or os.environ,
    )
    kept = folder / "report.ncu-rep" if report is None else Path(report)
    try:
        captured = capture(request, setup, kept, force=report is None)
    except RooflineError as error:
        if done is None or done.exists():
            raise
        raise _failed(target, str(error)) from error
    if done is not None and not done.exists():
        raise _failed(target, captured.partial)
    answers.append(analyze(captured.report))
    return answers[-1]


def _failed(target: object, why: str | None) -> ProgramError:
    name = getattr(target, "__qualname__", repr(target))
    hint = f"{name} alone, without ncu"
    return ProgramError(f"{name} did not end in the process under ncu", why=why, hint=hint)


def _name(number: int) -> str:
    return f"call-{number}"


@cache
def _kept() -> Path:
    """A folder that goes when this process ends."""
    folder = tempfile.TemporaryDirectory(prefix="roofline-")
    _kept.folder = folder  # type: ignore[attr-defined]
    return Path(folder.name)


# --- the process under ncu ----------------------------------------------------------------------


def _again(
    function: Callable[[], object], number: int, warmup: int, test: str, folder: Path
) -> tuple[tuple[str, ...], dict[str, str]]:
    """The command that comes to this call again, and its environment."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(_OF_PYTEST)}
    environment[CHILD] = str(folder)
    if test:
        plugin = sys.modules.get("roofline.pytest_plugin")
        options = getattr(plugin, "child_options", ())
        return (sys.executable, "-m", "pytest", test, *options), environment
    if not (hasattr(sys, "ps1") or hasattr(builtins, "get_ipython")):
        return (sys.executable, *sys.orig_argv[1:]), environment
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    (folder / "function").write_bytes(_pickled(function))
    code = f"from roofline.trial import run_sent; run_sent({number}, {warmup})"
    return (sys.executable, "-c", code), environment


def _pickled(function: Callable[[], object]) -> bytes:
    hint = "put it into a file and import it, or: pip install cloudpickle"
    try:
        import cloudpickle  # type: ignore[import-not-found]
    except ImportError:
        if getattr(function, "__module__", None) == "__main__":
            raise UsageError("the function is in this session alone", hint=hint) from None
        cloudpickle = pickle
    try:
        sent: bytes = cloudpickle.dumps(function)
    except Exception as error:
        why = f"it cannot be sent to another process: {error}"
        raise UsageError("the function is in this session alone", why=why, hint=hint) from error
    return sent


def run_sent(number: int, warmup: int) -> None:
    """In the process under ncu: run the function that the folder holds."""
    folder = Path(os.environ[CHILD])
    function = pickle.loads((folder / "function").read_bytes())  # noqa: S301  # our own
    _in_child(function, number, warmup, folder)


def _in_child(function: Any, number: int, warmup: int, folder: Path) -> Analysis:
    """What an earlier call answered; or run the function to be profiled, and end."""
    earlier = folder / str(number)
    if earlier.exists():
        answer: Any = pickle.loads(earlier.read_bytes())  # noqa: S301  # our own
        assert isinstance(answer, Analysis)
        return answer
    for _ in range(warmup):
        function()
    with Region(_name(number)):
        function()
    (folder / _DONE).touch()
    if "PYTEST_CURRENT_TEST" in os.environ:
        sys.modules["pytest"].exit("profiled", returncode=0)
    raise SystemExit(0)
