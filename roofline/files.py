"""Files of users: what may be read, and writing all of it or none, never over a file unasked."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from roofline.errors import InputError, UsageError

# What a file that is none is called, by the type bits of its mode.
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a block device",
    stat.S_IFSOCK: "a socket",
}


# --- reading ------------------------------------------------------------------------------------


def refuse_unreadable(path: Path) -> None:
    """Raise ``InputError`` where ``path`` is not a regular file, before a pipe could block.

    Whether it may be opened shows when it is; ``unreadable`` is the error for that.
    """
    if str(path) == "-":
        raise InputError("cannot read from stdin", why="only files are read", hint="name a file")
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise unreadable(path, error) from error
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "no regular file")
        hint = None if stat.S_ISDIR(mode) else "copy what comes out of it into a file first"
        raise InputError(f"cannot read {path}", why=f"it is {kind}", hint=hint)


def unreadable(path: Path, error: OSError) -> InputError:
    """The error for a file or folder that cannot be opened, with what to do about it."""
    return InputError(
        f"cannot read {path}", why=error.strerror or str(error), hint=_way_out(path, error)
    )


def read_text(path: Path) -> str:
    """The text of a regular file.

    Raises:
        InputError: it cannot be opened, is not a regular file, or is not UTF-8.

    """
    refuse_unreadable(path)
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise unreadable(path, error) from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"cannot read {path}", why="it is not text in UTF-8", hint=f"file {path}"
        ) from error


def _way_out(path: Path, error: OSError) -> str | None:
    if isinstance(error, PermissionError):
        return f"ls -ld {path} {path.parent}, then chmod or another user"
    if isinstance(error, FileNotFoundError):
        if path.is_symlink():
            return f"ls -l {path}: it is a link to something that is not there"
        return f"ls {path.parent} to see which files there are"
    if path.is_symlink():
        return f"ls -l {path}: it is a link"
    return None


# --- writing ------------------------------------------------------------------------------------


def refuse_overwrite(path: Path, *, force: bool) -> None:
    """Raise ``UsageError`` where writing to ``path`` cannot or must not begin.

    Called before long work, so that nobody waits for a result that cannot be kept. A pipe or a
    character device is written to and not replaced, so it needs no ``force``; a block device is
    refused with ``force`` too.
    """
    if str(path) == "-":
        raise UsageError("cannot write to '-'", why="it is no name", hint="name a file")
    mode = _mode(path)
    if mode is None:
        _refuse_parent(_target(path))
    elif stat.S_ISDIR(mode):
        raise UsageError(f"cannot write {path}", why="it is a folder", hint="name a file in it")
    elif not stat.S_ISREG(mode) and not _is_stream(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "no regular file")
        raise UsageError(f"cannot write {path}", why=f"it is {kind}", hint="name a file")
    elif stat.S_ISREG(mode) and not force:
        raise _exists(path)


@contextmanager
def whole_file(path: Path, *, force: bool = False) -> Iterator[Path]:
    """Give a temporary path beside ``path`` and move it there when the block succeeds.

    The temporary file has the same ending as ``path`` and is removed when the block fails. A
    link is followed. A pipe or a device gets the bytes when the block has succeeded.

    Raises:
        UsageError: ``path`` exists (without ``force``), is a folder, or cannot be written.

    """
    refuse_overwrite(path, force=force)
    mode = _mode(path)
    folder = None if mode is not None and _is_stream(mode) else _target(path).parent
    try:
        handle, name = tempfile.mkstemp(prefix=".roofline-", suffix=path.suffix, dir=folder)
    except OSError as error:
        raise _unwritable(path, error) from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        _put(temporary, path, force=force)
    except OSError as error:
        raise _unwritable(path, error) from error
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
    if str(folder) == "-":
        raise UsageError("cannot write to '-'", why="it is no name", hint="name a folder")
    mode = _mode(folder)
    if mode is not None and not stat.S_ISDIR(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "a file")
        raise UsageError(f"cannot write into {folder}", why=f"it is {kind}", hint="name a folder")
    for name in () if mode is None else wanted:
        refuse_overwrite(folder / name, force=force)
    try:
        parent = folder.parent if mode is None else folder
        with tempfile.TemporaryDirectory(prefix=".roofline-", dir=parent) as temporary:
            yield Path(temporary)
            folder.mkdir(exist_ok=True)
            for name in wanted:
                _put(Path(temporary) / name, folder / name, force=force)
    except OSError as error:
        raise UsageError(
            f"cannot write into {folder}",
            why=error.strerror or str(error),
            hint=None if folder.parent.is_dir() else f"mkdir -p {folder.parent}",
        ) from error


def _put(temporary: Path, path: Path, *, force: bool) -> None:
    """Move a finished file to its place; without ``force`` not over what came meanwhile."""
    mode = _mode(path)
    if mode is not None and _is_stream(mode):
        handle = os.open(path, os.O_WRONLY)  # neither made nor emptied
        with temporary.open("rb") as source, os.fdopen(handle, "wb") as sink:
            shutil.copyfileobj(source, sink)
        return
    refuse_overwrite(path, force=force)  # a device may have come meanwhile
    target = _target(path)
    temporary.chmod(0o666 & ~_umask())  # mkstemp makes files private; a result is not
    if force:
        temporary.replace(target)
        return
    try:
        os.link(temporary, target)
    except FileExistsError as error:
        raise _exists(path) from error
    except OSError:  # a file system without hard links: claim the name, then move over that
        try:
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError as error:
            raise _exists(path) from error
        temporary.replace(target)


def _mode(path: Path) -> int | None:
    """The mode of what ``path`` leads to; ``None`` where nothing is there."""
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _unwritable(path, error) from error


def _target(path: Path) -> Path:
    """Where a link leads, as a shell's redirection follows it; ``path`` itself if it is none."""
    return path.resolve() if path.is_symlink() else path


def _is_stream(mode: int) -> bool:
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


def _refuse_parent(path: Path) -> None:
    mode = _mode(path.parent)
    if mode is None or not stat.S_ISDIR(mode):
        raise UsageError(
            f"cannot write {path}",
            why=f"the folder {path.parent} does not exist",
            hint=f"mkdir -p {path.parent}",
        )
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise _unwritable(path, PermissionError(0, "its folder is not writable"))


def _exists(path: Path) -> UsageError:
    return UsageError(f"{path} exists already", hint="another name, or --force to write over it")


def _unwritable(path: Path, error: OSError) -> UsageError:
    denied = isinstance(error, PermissionError)
    hint = f"a name in a folder of your own; ls -ld {path.parent}" if denied else None
    return UsageError(f"cannot write {path}", why=error.strerror or str(error), hint=hint)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
