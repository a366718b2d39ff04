"""Whether there is a program to run, found out before anything is started."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from roofline.capture.failures import failed


def check_program(word: str, environment: Mapping[str, str]) -> None:
    """Refuse a program that neither PATH nor the current folder holds.

    What ncu would take is taken: a plain name is looked for in the current folder too.

    Raises:
        ProgramError: there is no such executable.

    """
    path = Path(word)
    if shutil.which(word, path=environment.get("PATH")):
        return
    if path.is_file() and os.access(path, os.X_OK):
        return
    raise failed("program_missing", evidence=f"{word}: {_why(path)}")


def _why(path: Path) -> str:
    if path.is_dir():
        return "a folder"
    if path.exists():
        return "not executable"
    return (
        "not on PATH and not in this folder" if path.name == str(path) else "there is no such file"
    )
