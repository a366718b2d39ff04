"""Can this machine profile: one check a line, each with its remedy. Nothing is profiled."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from roofline.capture.chips import chip_of
from roofline.capture.failures import NcuFailedError, catalogue, refine
from roofline.capture.machine import Machine
from roofline.capture.releases import cuda_of, dots, pair
from roofline.capture.request import Ncu

# Processes that may hold the counters, by the first 15 characters that the kernel keeps.
OWNERS = (
    "nv-hostengine",
    "dcgm-exporter",
    "nsys",
    "nsys-launcher",
    "ncu",
    "nv-nsight-cu-cl",
    "ngfx",
)
_ROOM_BYTES = 1 << 30
_LOCK = "nsight-compute-lock"


class Status(StrEnum):
    """How a check came out."""

    PASS = "pass"  # noqa: S105  # no password
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check; ``code`` is stable, ``remedy`` says who can do what."""

    code: str
    status: Status
    text: str
    remedy: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """Everything that the checks look at; ``ncu`` is the failure where there is none.

    ``chips`` are those that ncu knows, lower case; empty where it was not asked.
    """

    machine: Machine
    ncu: Ncu | NcuFailedError
    chips: frozenset[str] = frozenset()
    environment: Mapping[str, str]
    processes: tuple[str, ...] = ()
    temporary: Path
    reader: str | None = None


def running(root: Path = Path("/")) -> tuple[str, ...]:
    """Names of the processes that can be seen here."""
    names = set()
    for path in root.glob("proc/[0-9]*/comm"):
        try:
            names.add(path.read_text(encoding="utf-8", errors="replace").strip())
        except OSError:
            continue
    return tuple(sorted(names))


def reader_version() -> str | None:
    """The installed ncu-report, "2026.3.1"."""
    try:
        return version("ncu-report")
    except PackageNotFoundError:
        return None


def temporary_folder(environment: Mapping[str, str]) -> Path:
    """Where ncu puts its temporary files and its lock."""
    return Path(environment.get("TMPDIR") or tempfile.gettempdir())


def examine(situation: Situation) -> tuple[Check, ...]:
    """All checks, in the order in which they matter."""
    rows: tuple[Callable[[Situation], Iterator[Check]], ...] = (
        _gpu,
        _ncu,
        _fit,
        _permission,
        _owners,
        _temporary,
        _reader,
        _environment,
    )
    return tuple(check for row in rows for check in row(situation))


def _check(code: str, status: Status, text: str, remedy: str | None = None) -> Check:
    return Check(code=code, status=status, text=text, remedy=remedy)


def _gpu(situation: Situation) -> Iterator[Check]:
    machine = situation.machine
    if machine.gpus:
        names = ", ".join(
            f"{gpu.name} (compute capability {gpu.capability or 'unknown'})" for gpu in machine.gpus
        )
        yield _check("gpu", Status.PASS, f"{names}, driver {machine.driver or 'unknown'}")
    elif machine.driver:
        text = f"driver {machine.driver}, but nvidia-smi does not answer"
        remedy = "in a container, give it the capability 'utility'; the GPU may be lost (dmesg)"
        yield _check("gpu", Status.WARN, text, remedy)
    else:
        yield _check(
            "gpu", Status.FAIL, "no NVIDIA driver and no GPU", catalogue()["no_driver"].you
        )


def _ncu(situation: Situation) -> Iterator[Check]:
    ncu = situation.ncu
    if isinstance(ncu, Ncu):
        yield _check("ncu", Status.PASS, f"ncu {ncu.version.text} at {ncu.path} ({ncu.how})")
        return
    found = ncu.found
    text = found.failure.cause + (f": {found.evidence}" if found.evidence else "")
    yield _check("ncu", Status.FAIL, text, found.failure.you)


def _fit(situation: Situation) -> Iterator[Check]:
    """Whether ncu knows the GPU, and whether it is no newer than the driver."""
    ncu, machine = situation.ncu, situation.machine
    if not isinstance(ncu, Ncu):
        return
    for gpu in machine.gpus:
        chip = chip_of(gpu.capability or "")
        if situation.chips and chip and chip.lower() not in situation.chips:
            text = f"ncu {ncu.version.text} does not know {gpu.name} ({chip})"
            yield _check("ncu_gpu", Status.FAIL, text, catalogue()["gpu_unsupported"].you)
            return
    if machine.gpus and situation.chips:
        yield _check("ncu_gpu", Status.PASS, "ncu knows this GPU")
    built, served = cuda_of(ncu), pair(machine.cuda)
    if built is None or served is None:
        return
    text = f"ncu {ncu.version.text} is of CUDA {dots(built)}, the driver serves {dots(served)}"
    if built <= served:
        yield _check("ncu_driver", Status.PASS, text)
    else:
        remedy = f"an ncu of CUDA {dots(served)} or older (--ncu), or a newer driver: NaN otherwise"
        yield _check("ncu_driver", Status.WARN, text, remedy)


def _permission(situation: Situation) -> Iterator[Check]:
    machine = situation.machine
    if not (machine.gpus or machine.driver):
        return
    if machine.admin_only is False:
        yield _check("permission", Status.PASS, "the driver gives counters to every user")
        return
    if machine.privileged:
        text = "this process has the capability that counters need"
        yield _check("permission", Status.PASS, text)
        return
    failure = refine(catalogue()["permission"], machine)
    remedy = failure.you + (f"; administrator: {failure.admin}" if failure.admin else "")
    if machine.admin_only:
        yield _check("permission", Status.FAIL, failure.cause, remedy)
    else:
        text = "whether this user may use counters cannot be seen from here"
        yield _check("permission", Status.WARN, text, f"if profiling is refused: {remedy}")


def _owners(situation: Situation) -> Iterator[Check]:
    owners = [name for name in situation.processes if name in OWNERS]
    if owners:
        text = f"may hold the counters: {', '.join(owners)}"
        yield _check("counters", Status.WARN, text, catalogue()["counters_taken"].you)
    else:
        yield _check("counters", Status.PASS, "no other owner of the counters can be seen")


def _temporary(situation: Situation) -> Iterator[Check]:
    folder = situation.temporary
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        yield _check(
            "tmpdir", Status.FAIL, f"{folder} cannot be written", catalogue()["tmpdir"].you
        )
        return
    lock = folder / _LOCK
    if lock.exists() and not os.access(lock, os.W_OK):
        failure = catalogue()["lock_file"]
        yield _check("tmpdir", Status.FAIL, f"{lock} belongs to another user", failure.you)
        return
    free = shutil.disk_usage(folder).free
    text = f"{folder} has {free / 1e9:.0f} GB free"
    if free < _ROOM_BYTES:
        remedy = "set TMPDIR to a folder with room: saved memory of kernels may go there"
        yield _check("tmpdir", Status.WARN, text, remedy)
    else:
        yield _check("tmpdir", Status.PASS, text)


def _reader(situation: Situation) -> Iterator[Check]:
    reader = situation.reader
    if reader is None:
        yield _check("reader", Status.FAIL, "ncu-report is missing", "pip install ncu-report")
        return
    have = pair(reader)
    if isinstance(situation.ncu, Ncu) and have is not None:
        ncu = situation.ncu.version
        if have < (ncu.year, ncu.minor):
            text = f"ncu-report {reader} is older than ncu {ncu.text}"
            yield _check("reader", Status.WARN, text, "pip install --upgrade ncu-report")
            return
    yield _check("reader", Status.PASS, f"ncu-report {reader} is there, and no older than ncu")


def _environment(situation: Situation) -> Iterator[Check]:
    environment = situation.environment
    if "stubs" in environment.get("LD_LIBRARY_PATH", ""):
        text = "LD_LIBRARY_PATH names a folder of stub libraries"
        yield _check(
            "stubs", Status.WARN, text, "remove it: a stub libcuda.so has no driver behind"
        )
    if "CUDA_INJECTION64_PATH" in environment:
        text = "CUDA_INJECTION64_PATH is set by another tool"
        yield _check("injection", Status.WARN, text, "roofline unsets it for what it profiles")
