"""Can this machine profile: one check a line, each with its remedy. Nothing is profiled."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import tomllib
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
    INFO = "info"  # what could be installed, and is no fault
    WARN = "warn"
    FAIL = "fail"


# How each check can come out.
_ROWS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_Found = Iterator[tuple[str, dict[str, object]]]


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
    looks = (_gpu, _ncu, _permission, _owners, _temporary, _reader, _environment)
    facts = {"ncu": situation.ncu, "folder": situation.temporary, "reader": situation.reader}
    return tuple(_check(name, facts | own) for each in looks for name, own in each(situation))


def _check(name: str, facts: Mapping[str, object]) -> DoctorCheck:
    """A row of the table, filled with facts."""
    row = _ROWS[name]
    if "failure" in row:
        facts = {**facts, "you": catalogue()[row["failure"]].you}
    remedy = row.get("remedy", "{you}" if "failure" in row else None)
    return DoctorCheck(
        row.get("code", name),
        Status(row.get("status", "pass")),
        row["text"].format_map(facts),
        remedy and remedy.format_map(facts),
    )


def conclusion(checks: Iterable[DoctorCheck]) -> str:
    """One sentence: what this machine can do, and what to do next."""
    checks, command = tuple(checks), "roofline profile --kernel gemm python bench.py"
    if failed := [f"{each.text}; {each.remedy}" for each in checks if each.status is Status.FAIL]:
        saved = "saved reports can be analysed here: roofline analyze REPORT"
        return f"This machine cannot profile yet: {'; '.join([*failed, saved])}."
    for each in checks:
        if each.status is Status.WARN:
            return f"This machine may profile ({command}), but {each.text}: {each.remedy}."
    return f"This machine can profile: {command}."


def _gpu(situation: Situation) -> _Found:
    machine = situation.machine
    gpus = (f"{g.name} (compute capability {g.capability or 'unknown'})" for g in machine.gpus)
    name = "gpu" if machine.gpus else "gpu_silent" if machine.driver else "gpu_none"
    yield name, {"gpus": ", ".join(gpus), "driver": machine.driver or "unknown"}


def _ncu(situation: Situation) -> _Found:
    """Whether there is an ncu, it knows the GPU, and the driver is new enough for it."""
    ncu, machine = situation.ncu, situation.machine
    if not isinstance(ncu, Ncu):
        cause = ncu.failure.cause + (f": {ncu.evidence}" if ncu.evidence else "")
        yield "ncu_none", {"cause": cause, "you": ncu.failure.you}
        return
    yield "ncu", {}
    chips = [(gpu.name, chip_of(gpu.capability)) for gpu in machine.gpus]
    unknown = [(gpu, chip) for gpu, chip in chips if chip and chip.lower() not in situation.chips]
    if situation.chips and unknown:
        yield "ncu_gpu_unknown", {"gpu": unknown[0][0], "chip": unknown[0][1]}
        return
    if machine.gpus and situation.chips:
        yield "ncu_gpu", {}
    year, minor, _ = ncu.version
    built, served = _pair(TABLE["cuda"].get(f"{year}.{minor}")), _pair(machine.cuda)
    if built is not None and served is not None:
        name = "ncu_too_new" if built > served else "ncu_driver"
        name = "ncu_too_old" if built[0] < served[0] else name
        major, minor = served
        yield name, {"built": "{}.{}".format(*built), "served": f"{major}.{minor}", "major": major}


def _permission(situation: Situation) -> _Found:
    machine = situation.machine
    if not (machine.gpus or machine.driver):
        return
    failure = refine(catalogue()["permission"], machine)
    you = failure.you + (f"; administrator: {failure.admin}" if failure.admin else "")
    name = "permission_refused" if machine.admin_only else "permission_unknown"
    name = "permission_held" if machine.privileged else name
    name = "permission" if machine.admin_only is False else name
    yield name, {"cause": failure.cause, "you": you}


def _owners(situation: Situation) -> _Found:
    owners = ", ".join(name for name in situation.processes if name in TABLE["owners"])
    yield "counters_held" if owners else "counters", {"owners": owners}
    if MPS in situation.processes:
        yield "mps", {}


def _temporary(situation: Situation) -> _Found:
    folder = situation.temporary
    # A file of ncu up to 2025, and the folders of newer ones.
    newer = folder / "nvidia" / "nsight_compute"
    locks = (folder / "nsight-compute-lock", newer.parent, newer, *newer.glob("lock.*"))
    taken = [lock for lock in locks if lock.exists() and not os.access(lock, os.W_OK)]
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        yield "tmpdir_closed", {}
    elif taken:
        yield "tmpdir_locked", {"lock": taken[0]}
    else:
        free = shutil.disk_usage(folder).free
        yield "tmpdir_full" if free < _ROOM_BYTES else "tmpdir", {"free": f"{free / 1e9:.0f}"}


def _reader(situation: Situation) -> _Found:
    reader, ncu = situation.reader, situation.ncu
    have, name = _pair(reader), "reader_none" if reader is None else "reader_alone"
    if reader is not None and isinstance(ncu, Ncu):
        name = "reader_old" if have and have < ncu.version[:2] else "reader"
    yield name, {}


def _environment(situation: Situation) -> _Found:
    if "stubs" in situation.environment.get("LD_LIBRARY_PATH", ""):
        yield "stubs", {}
    if "CUDA_INJECTION64_PATH" in situation.environment:
        yield "injection", {}
    if missing := situation.missing:
        packages = " ".join(TABLE["extras"][extra] for extra in missing)
        yield "extras", {"extras": ", ".join(missing), "packages": packages}


def _pair(text: str | None) -> tuple[int, int] | None:
    """The first two numbers of a version; ``None`` where there are none."""
    found = re.match(r"(\d+)\.(\d+)(?![^.])", text or "")
    return (int(found[1]), int(found[2])) if found else None
