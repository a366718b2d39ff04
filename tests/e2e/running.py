"""Running the command line in tests: in a shell, in this process, as somebody without rights."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
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
