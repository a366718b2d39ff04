"""``.nsys-rep``: the format is closed, so the user's own ``nsys export`` reads it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from roofline.errors import InputError
from roofline.process import run_quietly
from roofline.timeline.events import Timeline
from roofline.timeline.nsys_sqlite import read_sqlite

TIMEOUT_S = 1800.0


def read_report(path: Path, *, step: str | None = None, nsys: str | None = None) -> Timeline:
    """Export ``path`` to a temporary SQLite file and read that.

    Args:
        path: the report.
        step: regular expression for the NVTX ranges that are steps.
        nsys: the program; found on PATH where not given.

    Raises:
        InputError: there is no nsys, it cannot read the report, or the report has no kernels.

    """
    program = nsys or shutil.which("nsys")
    by_hand = f"nsys export --type sqlite {path.name}, where it was recorded"
    if program is None:
        raise InputError(
            f"{path.name} cannot be read", why="there is no nsys on PATH to export it", hint=by_hand
        )
    with tempfile.TemporaryDirectory(prefix="roofline-") as folder:
        export = Path(folder) / "export.sqlite"
        argv = [program, "export", "--type", "sqlite", "--output", str(export), str(path)]
        done = run_quietly(argv, timeout_s=TIMEOUT_S)
        if done is None:
            raise InputError(f"{program} cannot be run", hint="--nsys FILE names another one")
        if done.code != 0 or not export.exists():
            raise InputError(
                f"{path.name} cannot be exported",
                why=_reason(done.code, done.stdout + done.stderr),
                hint=by_hand,
            )
        return read_sqlite(export, step=step, label=path.name)


def _reason(code: int, said: str) -> str:
    """In our words: what nsys prints names folders and users."""
    if "newer than your current version" in said:
        return "it was recorded by a newer Nsight Systems than the one here"
    if code == -9:
        return f"nsys export was killed or took more than {TIMEOUT_S / 60:.0f} minutes"
    return f"nsys export ended with code {code}"
