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
    if shutil.which(word, path=environment.get("PATH")):
        return
    if os.access(word, os.X_OK) and Path(word).is_file():
        return
    raise failed("program_missing", evidence=f"{word}: {_why(word)}")


def _why(word: str) -> str:
    if os.access(word, os.F_OK):
        return "a folder" if Path(word).is_dir() else "not executable"
    return "no such file" if os.sep in word else "not on PATH and not in this folder"
