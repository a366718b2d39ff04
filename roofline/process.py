"""The one seam to other programs: nothing else here imports ``subprocess``."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """A finished program: its exit code (negative for a signal) and what it printed."""

    argv: tuple[str, ...]
    code: int
    stdout: str
    stderr: str


def run_quietly(
    argv: Sequence[str], *, timeout_s: float = 60, env: Mapping[str, str] | None = None
) -> Completed | None:
    """Run ``argv`` (no shell, no input) and keep what it prints; ``None`` where it cannot start.

    A program that runs longer than ``timeout_s`` is killed and answers code -9.
    """
    try:
        done = subprocess.run(
            list(argv),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            env=None if env is None else dict(env),
            check=False,
        )
    except OSError:
        return None
    except subprocess.TimeoutExpired:
        return Completed(argv=tuple(argv), code=-9, stdout="", stderr="timed out")
    return Completed(argv=tuple(argv), code=done.returncode, stdout=done.stdout, stderr=done.stderr)
