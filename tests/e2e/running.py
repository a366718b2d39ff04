"""Running the command line in tests: in a shell, in this process, as somebody without rights."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from roofline.cli import cli

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "sample_reports" / "h100_mix.ncu-rep"
ROOFLINE = [sys.executable, "-m", "roofline"]


def shell(line: str, *words: object, **env: str) -> subprocess.CompletedProcess[str]:
    """Run ``line`` in bash; "$R" runs roofline, "$@" are ``words``."""
    line = line.replace("$R", f"{sys.executable} -m roofline")
    return subprocess.run(
        ["bash", "-c", line, "bash", *map(str, words)],
        cwd=ROOT,
        env=os.environ | env,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=120,
        check=False,
    )


def inside(
    words: Sequence[str], folder: Path, environment: Mapping[str, str], timeout_s: float = 60
) -> subprocess.CompletedProcess[str]:
    """What a process of ``python -m roofline`` in ``folder`` would answer, from this process.

    The programs that it starts get its streams as they are: files, in place of numbers 1 and 2.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, _as_they_were():
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        for number, file in ((1, out), (2, err)):
            os.dup2(file.fileno(), number)
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        signal.setitimer(signal.ITIMER_REAL, timeout_s)
        try:
            cli.main(list(words), prog_name="roofline")
        except SystemExit as ended:
            code = ended.code
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            sys.stdout.close()
            sys.stderr.close()
        said = []
        for file in (out, err):
            file.seek(0)
            said.append(file.read().decode())
    assert isinstance(code, int)
    return subprocess.CompletedProcess(["roofline", *words], code, *said)


@contextmanager
def _as_they_were() -> Iterator[None]:
    """Afterwards streams, folder and environment of this process are what they were."""
    sys.stdout.flush()
    sys.stderr.flush()
    streams, shown = (sys.stdout, sys.stderr), warnings.showwarning
    numbers, folder, environment = (os.dup(1), os.dup(2)), Path.cwd(), dict(os.environ)
    alarm = signal.signal(signal.SIGALRM, _too_long)
    try:
        yield
    finally:
        signal.signal(signal.SIGALRM, alarm)
        (sys.stdout, sys.stderr), warnings.showwarning = streams, shown
        for number, kept in zip((1, 2), numbers, strict=True):
            os.dup2(kept, number)
            os.close(kept)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)


def _too_long(*_: object) -> None:
    raise TimeoutError("the command line did not end")


def run(*words: object) -> Any:
    return CliRunner().invoke(cli, list(map(str, words)))


@contextmanager
def without_rights() -> Iterator[None]:
    """As somebody whom permissions stop, which root is not."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
