"""The look before a capture: which kernels the program launches, and how long they take.

nsys sees them at full speed; else ncu sees them one by one, in a single pass.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from roofline.capture.request import CaptureRequest
from roofline.capture.run import CaptureSetup, launches_seen, time_of
from roofline.counters.device import device_of
from roofline.errors import InputError, ProgramError
from roofline.files import temporary_folder
from roofline.process import run_inside, run_quietly
from roofline.timeline import load_timeline
from roofline.timeline.events import Events, Interner, Timeline, Work, identity

LOOKED = "looked"  # why a run was ended that had been seen enough of
_NSYS = ("opt/nvidia/nsight-systems/*/bin/nsys", "usr/local/cuda*/bin/nsys")
_LISTED = re.compile(r"^[ \t]+(?:-\w, )?(--[a-z][a-z-]*)", re.MULTILINE)
_NEEDED = ("--session-new", "--cuda-graph-trace")  # what those before 2022 lack
_GENERATED = re.compile(r"^Generated:\s*((?:\n[ \t]+\S.*)+)", re.MULTILINE)
# Options of nsys, each used where this one lists it.
_OPTIONS = (
    "--trace=cuda,nvtx --sample=none --cpuctxsw=none --cuda-graph-trace=node "
    "--cuda-memory-usage=false --cuda-event-trace=false --wait=primary --stop-on-exit=true "
    "--kill=none --stats=false --show-output=true --force-overwrite=true"
).split()


@dataclass(frozen=True, slots=True, kw_only=True)
class Nsys:
    """An nsys that can be used, and the ``options`` of its ``profile``."""

    path: str
    version: str
    options: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What was seen, ``by`` whom; ``stopped`` is the signal that ended the run."""

    timeline: Timeline
    by: str
    stopped: str | None = None


def find_nsys(environment: Mapping[str, str] = os.environ, root: Path = Path("/")) -> Nsys | None:
    """The first nsys that is new enough: of ROOFLINE_NSYS, on PATH, or installed."""
    named = environment.get("ROOFLINE_NSYS")
    found = [named or "nsys"]
    if not named:
        found += [str(p) for where in _NSYS for p in sorted(root.glob(where), reverse=True)]
    for name in found:
        path = shutil.which(name, path=environment.get("PATH"))
        said = None if path is None else run_quietly([path, "profile", "--help"])
        options = frozenset(_LISTED.findall(said.stdout if said else ""))
        if path is None or not options.issuperset(_NEEDED):
            continue
        answer = run_quietly([path, "--version"])
        version = re.search(r"\d{4}\.\d+(\.\d+)?", answer.stdout if answer else "")
        return Nsys(path=path, version=version[0] if version else "", options=options)
    return None


def by_nsys(
    request: CaptureRequest, setup: CaptureSetup, nsys: Nsys, seconds: float, *, until_end: bool
) -> Look:
    """Run the program under nsys, and end it after so many ``seconds`` unless ``until_end``.

    Raises:
        InputError: nsys saw nothing, and why.
        ProgramError: the program failed, and nothing was seen.

    """
    session, began = f"roofline-{os.getpid()}-{secrets.token_hex(4)}", time.monotonic()
    stopped: list[str] = []
    with temporary_folder(None, Path(tempfile.gettempdir())) as folder:

        def watch() -> str | None:
            if stopped or time.monotonic() - began < seconds:
                return None
            said = run_quietly([nsys.path, "stop", f"--session={session}"], timeout_s=120)
            stopped.append("" if said is None else said.stdout)
            return None if until_end else LOOKED

        def tool(out: int, err: int) -> tuple[str, ...]:
            options = (word for word in _OPTIONS if word.partition("=")[0] in nsys.options)
            script = f'exec "$@" 1>&{out} 2>&{err} {out}>&- {err}>&-'
            files = (f"--session-new={session}", f"--output={folder / 'look'}")
            shell = ("/bin/sh", "-c", script, "roofline")
            return (nsys.path, "profile", *options, *files, *shell, *request.program)

        done = run_inside(
            tool,
            folder / "nsys.log",
            stdout_to_stderr=setup.stdout_to_stderr,
            watch=watch,
            grace_s=setup.grace_s,
        )
        if done is None:
            raise InputError("nsys saw nothing", why=f"{nsys.path} cannot be started")
        try:
            timeline = _exported(nsys, done.stdout + "".join(stopped))
        except InputError as error:
            ended = done.stopped or stopped
            if done.code and not ended:
                how = f"it ended with exit code {done.code} before any kernel was seen"
                raise ProgramError("the program failed", why=how) from error
            raise
    signal = done.stopped if done.stopped != LOOKED else None
    return Look(timeline=timeline, by=f"nsys {nsys.version}", stopped=signal)


def _exported(nsys: Nsys, said: str) -> Timeline:
    """What the report holds, which is where nsys says it is, if it made one."""
    files = [Path(line.strip()) for block in _GENERATED.findall(said) for line in block.split("\n")]
    report = next((f for f in files if f.suffix == ".nsys-rep" and f.is_file()), None)
    if report is None:
        made = any(f.suffix == ".qdstrm" and f.is_file() for f in files)
        why = "its part that makes reports is missing" if made else "it made no report"
        raise InputError("nsys saw nothing", why=why)
    try:
        return load_timeline(report, nsys=nsys.path)
    finally:
        report.unlink()


def by_ncu(request: CaptureRequest, setup: CaptureSetup) -> Look:
    """Run the program under ncu, one cheap pass a launch; fails as ``capture`` does.

    Launches are set end to end: what runs at the same time is not seen.
    """
    launches, stopped = launches_seen(request, setup)
    devices = [device_of(x.metrics) for x in launches]
    kernels = Interner()
    which = [kernels[x.demangled or x.name, x.grid, x.block] for x in launches]
    lasted = np.array([round(1e9 * time_of(x)) for x in launches], dtype=np.int64)
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
        stopped=stopped,
    )
