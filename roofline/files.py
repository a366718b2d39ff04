"""Writing files: all of it or none, and never over somebody's file unasked."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from roofline.errors import UsageError


def refuse_overwrite(path: Path, *, force: bool) -> None:
    """Raise ``UsageError`` where writing to ``path`` cannot or must not begin.

    Called before long work, so that nobody waits for a result that cannot be kept.
    """
    if path.is_dir():
        raise UsageError(f"cannot write {path}", why="it is a folder", hint="name a file in it")
    if not path.parent.is_dir():
        raise UsageError(
            f"cannot write {path}",
            why=f"the folder {path.parent} does not exist",
            hint=f"mkdir -p {path.parent}",
        )
    if path.exists() and not force:
        raise UsageError(f"{path} exists already", hint="another name, or --force to write over it")


@contextmanager
def whole_file(path: Path, *, force: bool = False) -> Iterator[Path]:
    """Give a temporary path beside ``path`` and move it there when the block succeeds.

    The temporary file has the same ending as ``path`` and is removed when the block fails.

    Raises:
        UsageError: ``path`` exists (without ``force``), is a folder, or cannot be written.

    """
    refuse_overwrite(path, force=force)
    try:
        handle, name = tempfile.mkstemp(prefix=".roofline-", suffix=path.suffix, dir=path.parent)
    except OSError as error:
        raise UsageError(f"cannot write {path}", why=error.strerror) from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())  # mkstemp makes files private; a result is not
        temporary.replace(path)
    except OSError as error:
        raise UsageError(f"cannot write {path}", why=error.strerror or str(error)) from error
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str, *, force: bool = False) -> None:
    """Write ``text`` as UTF-8 to ``path``, whole or not at all."""
    with whole_file(path, force=force) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextmanager
def whole_folder(folder: Path, names: Iterable[str], *, force: bool = False) -> Iterator[Path]:
    """Give an empty folder; its files ``names`` move to ``folder`` when the block succeeds.

    ``folder`` is made where it is not there; other files in it stay.

    Raises:
        UsageError: one of ``names`` exists (without ``force``), or ``folder`` cannot be written.

    """
    wanted = tuple(names)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"cannot write into {folder}", why="it is a file", hint="name a folder")
    for name in wanted if folder.is_dir() else ():
        refuse_overwrite(folder / name, force=force)
    try:
        parent = folder if folder.is_dir() else folder.parent
        with tempfile.TemporaryDirectory(prefix=".roofline-", dir=parent) as temporary:
            yield Path(temporary)
            folder.mkdir(exist_ok=True)
            for name in wanted:
                (Path(temporary) / name).replace(folder / name)
    except OSError as error:
        raise UsageError(
            f"cannot write into {folder}",
            why=error.strerror or str(error),
            hint=None if folder.parent.is_dir() else f"mkdir -p {folder.parent}",
        ) from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
