"""Before anything is profiled: find ncu and the program, and fit the request to the machine."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from roofline.capture.command import question
from roofline.capture.failures import Diagnosis, catalogue, error_of, failed
from roofline.capture.levels import chip_of, metrics_of
from roofline.capture.machine import Ask, Machine
from roofline.capture.request import CaptureRequest, Ncu, Version
from roofline.errors import UsageError
from roofline.process import Completed, run_quietly

# Newest first within each: the year is in the folder's name.
INSTALLED = (
    "opt/nvidia/nsight-compute/*/ncu",
    "usr/local/cuda/bin/ncu",
    "usr/local/cuda-*/bin/ncu",
    "usr/lib/nsight-compute/ncu",
    "usr/local/NVIDIA-Nsight-Compute*/ncu",
    "opt/nvidia/hpc_sdk/*/*/compilers/bin/ncu",
)
# `-k regex:` with --kernel-name-base, and the metric names that the levels use.
OLDEST = (2022, 1)
_VERSION = re.compile(r"^Version (\d{4})\.(\d+)(?:\.(\d+))?", re.MULTILINE)


def ask(arguments: list[str]) -> Completed | None:
    """Run ncu for an answer of its own, in the C locale."""
    return run_quietly(arguments, timeout_s=60, env={**os.environ, "LC_ALL": "C"})


# --- ncu and the program ------------------------------------------------------------------------


def find_ncu(
    asked: str | None = None,
    environment: Mapping[str, str] | None = None,
    *,
    root: Path = Path("/"),
    ask: Ask = ask,
) -> Ncu:
    """The first ncu that answers ``--version``; a name on the path alone proves nothing.

    Raises:
        CaptureError: there is none, or the one asked for does not answer, or it is too old.

    """
    environment = os.environ if environment is None else environment
    tried = []
    for path, how in candidates(asked, environment, root):
        located = shutil.which(path, path=environment.get("PATH"))
        answer = ask([located, "--version"]) if located else None
        version = parse_version(answer.stdout) if answer else None
        if located is None:
            tried.append(f"{path} ({how}): not there, or not executable")
        elif answer is None:
            tried.append(f"{path} ({how}): cannot be started")
        elif version is None:
            said = (answer.stderr.strip() or answer.stdout.strip() or "nothing").splitlines()[-1]
            tried.append(f"{path} ({how}): --version answered {answer.code}, {said!r}")
        elif not version.at_least(*OLDEST):
            raise failed("ncu_too_old", evidence=f"{located} is ncu {version.text}")
        else:
            return Ncu(path=Path(located), version=version, how=how)
    raise failed("ncu_broken", "; ".join(tried)) if tried else failed("ncu_missing")


def candidates(
    asked: str | None, environment: Mapping[str, str], root: Path = Path("/")
) -> Iterator[tuple[str, str]]:
    """Paths to try and how each was found; one that was asked for is the only one."""
    if asked:
        yield asked, "--ncu"
        return
    if named := environment.get("ROOFLINE_NCU"):
        yield named, "ROOFLINE_NCU"
        return
    if on_path := shutil.which("ncu", path=environment.get("PATH")):
        yield on_path, "PATH"
    for pattern in INSTALLED:
        for found in sorted(root.glob(pattern), reverse=True):
            yield str(found), "install folder"


def parse_version(text: str) -> Version | None:
    """The version in what ``ncu --version`` prints."""
    found = _VERSION.search(text)
    if found is None:
        return None
    year, minor, patch = (int(part or 0) for part in found.groups())
    return Version(year=year, minor=minor, text=f"{year}.{minor}.{patch}")


def check_program(word: str, environment: Mapping[str, str]) -> None:
    """Raise ``ProgramError`` for a program that is neither on PATH nor, as ncu looks, here."""
    path = Path(word)
    if shutil.which(word, path=environment.get("PATH")):
        return
    if path.is_file() and os.access(path, os.X_OK):
        return
    if path.exists():
        why = "a folder" if path.is_dir() else "not executable"
    else:
        why = "no such file" if os.sep in word else "not on PATH and not in this folder"
    raise failed("program_missing", evidence=f"{word}: {why}")


# --- the request on this machine ----------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedRequest:
    """A request fitted to a machine; ``notes`` say what was changed and why."""

    request: CaptureRequest
    metrics: tuple[str, ...]
    notes: tuple[str, ...] = ()


def fit(request: CaptureRequest, ncu: Ncu, machine: Machine, ask: Ask = ask) -> FittedRequest:
    """Fit ``request`` to ``machine``, asking ncu which of the metrics it knows."""
    chips = chips_of(machine, request.devices)
    listed = known_to(ncu, chips, ask)
    metrics = metrics_of(request.level, chips, request.metrics, listed, patched=request.patched)
    notes = []
    if len(chips) > 1:
        notes.append(f"several kinds of GPU ({', '.join(chips)}): what all of them count; --device")
    if not chips:
        notes.append("the GPU is not known: only what every GPU counts is collected")
    if not request.patched:
        notes.append("operations by precision are not collected: ncu cannot for ranges and graphs")
    if machine.mig and request.lock_clocks:
        request = replace(request, lock_clocks=False)
        notes.append("MIG: clocks cannot be locked, --clock-control none is used")
    return FittedRequest(request=request, metrics=metrics, notes=tuple(notes))


def chips_of(machine: Machine, devices: str | None) -> tuple[str, ...]:
    """The distinct chips of the GPUs that may be profiled, in order.

    Raises:
        UsageError: --device names a GPU that is not there.

    """
    gpus = {str(gpu.index): gpu for gpu in machine.gpus}
    wanted = [name.strip() for name in devices.split(",")] if devices and gpus else list(gpus)
    if missing := [name for name in wanted if name not in gpus]:
        raise UsageError(
            f"--device {devices}: there is no GPU {', '.join(missing)}",
            hint=f"of {', '.join(sorted(gpus))}",
        )
    found = (chip_of(gpus[name].capability) for name in gpus if name in wanted)
    return tuple(dict.fromkeys(chip for chip in found if chip))


def known_to(ncu: Ncu, chips: Sequence[str], ask: Ask = ask) -> frozenset[str] | None:
    """Base names that ncu knows on all of ``chips`` (on the GPUs here if that is empty).

    ``None`` where ncu does not say, which is no error: it may know chips by other names.
    """
    lists = []
    for words in [["--chips", chip.lower()] for chip in chips] or [[]]:
        answer = ask([str(ncu.path), "--query-metrics", *words])
        lists.append(parse_names(answer.stdout if answer else ""))
    return frozenset.intersection(*lists) if all(lists) else None


def parse_names(text: str) -> frozenset[str]:
    """The first column of ``ncu --query-metrics``: names have two underscores together."""
    words = (line.split()[0] for line in text.splitlines() if line[:1].strip())
    return frozenset(word for word in words if "__" in word)


# --- the command line ---------------------------------------------------------------------------

_REFUSALS = ("option_unknown", "section_unknown")
_REGEX = "Invalid regex provided to --kernel option."
_DEVICE = "in the --devices option"


def check_command(
    request: CaptureRequest, ncu: Ncu, metrics: Iterable[str], ask: Ask = ask
) -> None:
    """Let ncu read its whole command line: it does so before it lists chips, and then ends.

    ncu prints such errors to stdout, before it opens its log; in a real run they could not be
    told from what the program prints. Errors about anything else are left to the run itself.

    Raises:
        UsageError: ncu refuses the regular expression or the devices.
        CaptureError: it refuses another option.

    """
    answer = ask(list(question(request, ncu, metrics=metrics)))
    said = "" if answer is None else answer.stdout + answer.stderr
    if _REGEX in said:
        why = said.partition(_REGEX)[2].strip().partition(" The error occurred")[0].strip()
        raise UsageError(
            f"--kernel {request.kernel_regex!r}: ncu does not take it",
            why=why.rstrip(".") or None,
            hint="Perl syntax; escape what is meant literally",
        )
    for line in said.splitlines():
        if not line.startswith("==ERROR=="):
            continue
        if _DEVICE in line:
            why = line.removeprefix("==ERROR==").strip().rstrip(".")
            raise UsageError(f"--device {request.devices}: ncu does not take it", why=why)
        for failure in map(catalogue().__getitem__, _REFUSALS):
            if any(token in line for token in failure.tokens) and "--list-chips" not in line:
                context = f"ncu {ncu.version.text}, before the program was started"
                raise error_of(Diagnosis(failure=failure, evidence=line.strip(), context=context))
