"""Finding ncu: asked for, in the environment, on the path, or where NVIDIA installs it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from roofline.capture.failures import Failure, failed
from roofline.capture.request import Ncu, Version
from roofline.process import Completed, run_quietly

Run = Callable[[list[str]], Completed | None]

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
OLDEST = Version(year=2022, minor=1, text="2022.1")
_VERSION = re.compile(r"^Version (\d{4})\.(\d+)(?:\.(\d+))?\S*", re.MULTILINE)


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
    return Version(year=year, minor=minor, patch=patch, text=f"{year}.{minor}.{patch}")


def ask(arguments: list[str]) -> Completed | None:
    """Run ncu for an answer of its own, in the C locale."""
    return run_quietly(arguments, timeout_s=60, env={**os.environ, "LC_ALL": "C"})


def find_ncu(
    asked: str | None = None,
    environment: Mapping[str, str] | None = None,
    *,
    root: Path = Path("/"),
    run: Run = ask,
) -> Ncu:
    """The first ncu that answers ``--version``; a name on the path alone proves nothing.

    Raises:
        CaptureError: there is none, or the one asked for does not answer, or it is too old.

    """
    environment = os.environ if environment is None else environment
    tried = []
    for path, how in candidates(asked, environment, root):
        located = shutil.which(path, path=environment.get("PATH"))
        answer = run([located, "--version"]) if located else None
        version = parse_version(answer.stdout) if answer else None
        if located is None or version is None:
            tried.append(f"{path} ({how}): {_why(located, answer)}")
            continue
        if not version.at_least(OLDEST.year, OLDEST.minor):
            raise failed("ncu_too_old", evidence=f"{located} is ncu {version.text}")
        return Ncu(path=Path(located), version=version, how=how)
    raise failed(*_none_found(tried))


def _why(located: str | None, answer: Completed | None) -> str:
    if located is None:
        return "not there, or not executable"
    if answer is None:
        return "cannot be started"
    said = (answer.stderr.strip() or answer.stdout.strip() or "nothing").splitlines()[-1]
    return f"--version answered {answer.code}, {said!r}"


def _none_found(tried: list[str]) -> tuple[str, str | None]:
    return ("ncu_broken", "; ".join(tried)) if tried else ("ncu_missing", None)


__all__ = ["OLDEST", "Failure", "candidates", "find_ncu", "parse_version"]
