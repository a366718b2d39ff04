"""Can this machine profile: one check a line, each with its remedy. Nothing is profiled."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from roofline.capture.failures import NcuFailedError, catalogue, refine
from roofline.capture.levels import chip_of
from roofline.capture.machine import TABLE, Machine, look
from roofline.capture.preflight import ask, find_ncu
from roofline.capture.request import Ncu

MPS = "nvidia-cuda-mps"  # of nvidia-cuda-mps-control and -server, as far as the kernel keeps it
_ROOM_BYTES = 1 << 30


class Status(StrEnum):
    """How a check came out."""

    PASS = "pass"  # noqa: S105  # no password
    WARN = "warn"
    FAIL = "fail"


PASS, WARN, FAIL = Status


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """One check; ``code`` is stable, ``remedy`` says who can do what."""

    code: str
    status: Status
    text: str
    remedy: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """Everything that the checks look at; ``ncu`` is the failure where there is none.

    ``chips`` are those that ncu knows, lower case; empty where it was not asked. ``temporary`` is
    where ncu puts its files and its lock, ``reader`` the version of the installed ncu-report,
    ``missing`` are the extras of roofline that are not installed.
    """

    machine: Machine
    ncu: Ncu | NcuFailedError
    chips: frozenset[str] = frozenset()
    environment: Mapping[str, str]
    processes: tuple[str, ...] = ()
    temporary: Path
    reader: str | None = None
    missing: tuple[str, ...] = ()


def situation(asked: str | None = None) -> Situation:
    """What there is here; ``asked`` is the ncu to look at instead of the one found."""
    ncu: Ncu | NcuFailedError
    chips: frozenset[str] = frozenset()
    try:
        ncu = find_ncu(asked)
        answer = ask([str(ncu.path), "--list-chips"])
        words = (answer.stdout if answer else "").replace(",", " ").lower().split()
        chips = frozenset(word for word in words if word.isalnum())
    except NcuFailedError as error:
        ncu = error
    try:
        reader = version("ncu-report")
    except PackageNotFoundError:
        reader = None
    return Situation(
        machine=look(),
        ncu=ncu,
        chips=chips,
        environment=os.environ,
        processes=running(),
        temporary=Path(os.environ.get("TMPDIR") or tempfile.gettempdir()),
        reader=reader,
        missing=tuple(extra for extra, name in TABLE["extras"].items() if find_spec(name) is None),
    )


def running(root: Path = Path("/")) -> tuple[str, ...]:
    """Names of the processes that can be seen here."""
    names = set()
    for path in root.glob("proc/[0-9]*/comm"):
        with suppress(OSError):  # it has ended
            names.add(path.read_text(encoding="utf-8", errors="replace").strip())
    return tuple(sorted(names))


def examine(situation: Situation) -> tuple[DoctorCheck, ...]:
    """All checks, in the order in which they matter."""
    looks = (_gpu, _ncu, _permission, _owners, _temporary, _reader, _environment, _extras)
    return tuple(DoctorCheck(*row) for look_at in looks for row in look_at(situation))


def conclusion(checks: Iterable[DoctorCheck]) -> str:
    """One sentence: what this machine can do, and what to do next."""
    checks = tuple(checks)
    wrong = {status: [c for c in checks if c.status is status] for status in Status}
    if failed := wrong[FAIL]:
        saved = "; saved reports can be analysed here: roofline analyze REPORT"
        return f"This machine cannot profile yet: {failed[0].text}; {failed[0].remedy}{saved}."
    command = "roofline profile --kernel gemm python bench.py"
    if doubts := wrong[WARN]:
        return f"This machine may profile ({command}), but {doubts[0].text}: {doubts[0].remedy}."
    return f"This machine can profile: {command}."


_Rows = Iterator[tuple[str, Status, str] | tuple[str, Status, str, str | None]]


def _gpu(situation: Situation) -> _Rows:
    machine = situation.machine
    if machine.gpus:
        names = ", ".join(
            f"{gpu.name} (compute capability {gpu.capability or 'unknown'})" for gpu in machine.gpus
        )
        yield "gpu", PASS, f"{names}, driver {machine.driver or 'unknown'}"
    elif machine.driver:
        text = f"driver {machine.driver}, but nvidia-smi does not answer"
        remedy = "in a container, give it the capability 'utility'; the GPU may be lost (dmesg)"
        yield "gpu", WARN, text, remedy
    else:
        yield "gpu", FAIL, "no NVIDIA driver and no GPU", catalogue()["no_driver"].you


def _ncu(situation: Situation) -> _Rows:
    """Whether there is an ncu, it knows the GPU, and the driver is new enough for it."""
    ncu, machine = situation.ncu, situation.machine
    if not isinstance(ncu, Ncu):
        failure, evidence = ncu.diagnosis.failure, ncu.diagnosis.evidence
        yield "ncu", FAIL, failure.cause + (f": {evidence}" if evidence else ""), failure.you
        return
    name = f"ncu {ncu.version.text}"
    yield "ncu", PASS, f"{name} at {ncu.path} ({ncu.how})"
    for gpu in machine.gpus:
        chip = chip_of(gpu.capability)
        if situation.chips and chip and chip.lower() not in situation.chips:
            text = f"{name} does not know {gpu.name} ({chip})"
            yield "ncu_gpu", FAIL, text, catalogue()["gpu_unsupported"].you
            return
    if machine.gpus and situation.chips:
        yield "ncu_gpu", PASS, "ncu knows this GPU"
    year, minor, _ = ncu.version
    built, served = TABLE["cuda"].get(f"{year}.{minor}"), _pair(machine.cuda)
    if built is None or served is None:
        return
    text = "{} comes with CUDA {}.{}; the driver supports {}.{}".format(name, *built, *served)
    remedy = "the ncu of CUDA {}.{} or older (--ncu), or a newer driver: else NaN".format(*served)
    if built[0] < served[0]:
        remedy = f"the ncu of CUDA {served[0]} (--ncu): an older one may fail with a newer driver"
    fits = tuple(built) <= served and built[0] == served[0]
    yield ("ncu_driver", PASS, text) if fits else ("ncu_driver", WARN, text, remedy)


def _permission(situation: Situation) -> _Rows:
    machine = situation.machine
    if not (machine.gpus or machine.driver):
        return
    failure = refine(catalogue()["permission"], machine)
    remedy = failure.you + (f"; administrator: {failure.admin}" if failure.admin else "")
    if machine.admin_only is False:
        yield "permission", PASS, "the driver gives counters to every user"
    elif machine.privileged:
        yield "permission", PASS, "this process has the capability that counters need"
    elif machine.admin_only:
        yield "permission", FAIL, failure.cause, remedy
    else:
        text = "whether this user may use counters cannot be seen from here"
        yield "permission", WARN, text, f"if profiling is refused: {remedy}"


def _owners(situation: Situation) -> _Rows:
    if owners := [name for name in situation.processes if name in TABLE["owners"]]:
        text = f"may hold the counters: {', '.join(owners)}"
        yield "counters", WARN, text, catalogue()["counters_taken"].you
    else:
        yield "counters", PASS, "no other profiler (DCGM, CUPTI) holds the counters"
    if MPS in situation.processes:
        remedy = "end it while profiling: echo quit | nvidia-cuda-mps-control"
        yield "mps", WARN, "MPS shares the GPU: counters are those of all its clients", remedy


def _temporary(situation: Situation) -> _Rows:
    folder = situation.temporary
    # A file of ncu up to 2025, and the folders of newer ones.
    newer = folder / "nvidia" / "nsight_compute"
    locks = (folder / "nsight-compute-lock", newer.parent, newer, *newer.glob("lock.*"))
    taken = [lock for lock in locks if lock.exists() and not os.access(lock, os.W_OK)]
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        yield "tmpdir", FAIL, f"{folder} cannot be written", catalogue()["tmpdir"].you
    elif taken:
        yield "tmpdir", FAIL, f"{taken[0]} belongs to another user", catalogue()["lock_file"].you
    else:
        free = shutil.disk_usage(folder).free
        text = f"{folder} has {free / 1e9:.0f} GB free"
        remedy = "set TMPDIR to a folder with room: saved memory of kernels may go there"
        full = free < _ROOM_BYTES
        yield ("tmpdir", WARN, text, remedy) if full else ("tmpdir", PASS, text)


def _reader(situation: Situation) -> _Rows:
    reader, ncu = situation.reader, situation.ncu
    have = _pair(reader)
    if reader is None:
        yield "reader", FAIL, "ncu-report is missing", "pip install ncu-report"
    elif not isinstance(ncu, Ncu):
        yield "reader", PASS, f"ncu-report {reader} is installed"
    elif have and have < ncu.version[:2]:
        text = f"ncu-report {reader} is older than ncu {ncu.version.text}"
        yield "reader", WARN, text, "pip install --upgrade ncu-report"
    else:
        yield "reader", PASS, f"ncu-report {reader} is as new as ncu"


def _environment(situation: Situation) -> _Rows:
    if "stubs" in situation.environment.get("LD_LIBRARY_PATH", ""):
        text = "LD_LIBRARY_PATH names a folder of stub libraries"
        yield "stubs", WARN, text, "remove it: a stub libcuda.so has no driver behind"
    if "CUDA_INJECTION64_PATH" in situation.environment:
        text = "CUDA_INJECTION64_PATH is set by another tool"
        yield "injection", WARN, text, "roofline unsets it for what it profiles"


def _extras(situation: Situation) -> _Rows:
    if missing := situation.missing:
        text = f"extras that are not installed: {', '.join(missing)}"
        packages = " ".join(TABLE["extras"][extra] for extra in missing)
        yield "extras", PASS, text, f"pip install {packages}"


def _pair(text: str | None) -> tuple[int, int] | None:
    """The first two numbers of a version; ``None`` where there are none."""
    found = re.match(r"(\d+)\.(\d+)(?![^.])", text or "")
    return (int(found[1]), int(found[2])) if found else None
