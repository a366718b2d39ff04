"""Users' files: read what is readable, write whole files or none, overwrite only on request."""

from __future__ import annotations

import gc
import io
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial
from pathlib import Path
from shlex import quote

from roofline.errors import InputError, UsageError

UNPACKED = "ROOFLINE_MAX_UNPACKED"
TEMPORARY = ".roofline-"  # how the names of temporary folders begin
_inputs: ContextVar[list[Path] | None] = ContextVar("inputs", default=None)


def settings_folder(name: str) -> Path:
    """A folder in that of the user's settings of roofline; it need not exist."""
    linux: bool = sys.platform == "linux"
    if linux:  # as platformdirs says, which takes 12 ms to import
        return _settings(name, os.environ.get("XDG_CONFIG_HOME", ""), os.environ.get("HOME"))
    from platformdirs import user_config_path

    return user_config_path("roofline", appauthor=False) / name


@cache  # it is asked for by the launch
def _settings(name: str, config: str, _home: str | None) -> Path:
    config = config.strip()
    config = config if config.startswith("/") else os.path.expanduser("~/.config")  # noqa: PTH111
    return Path(config, "roofline", name)


@contextmanager
def uncollected() -> Iterator[None]:
    """Look for no cycles: what is read has none, and looking takes a tenth of the time or more."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


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
        hint = "a file in it" if stat.S_ISDIR(mode) else "copy its output into a file first"
        raise InputError(f"cannot read {path}", why=_kind(mode), hint=hint)


def unreadable(path: Path, error: OSError) -> InputError:
    """The error for a file or folder that cannot be opened, with what to do about it."""
    why, hint = error.strerror or str(error), f"ls -ld {quote(str(path))}"
    if isinstance(error, PermissionError):
        both = f"{quote(str(path))} {quote(str(path.parent))}"
        hint = f"ls -ld {both}, then chmod or another user"
    elif isinstance(error, FileNotFoundError) and path.is_symlink():
        why = "it is a link to something that is not there"
    elif isinstance(error, FileNotFoundError):
        hint = f"ls {quote(str(path.parent))} to see which files there are"
    return InputError(f"cannot read {path}", why=why, hint=hint)


@contextmanager
def opened(path: Path) -> Iterator[io.BufferedReader]:
    """Open a regular file; ``InputError`` where there is none, or it cannot be read."""
    refuse_unreadable(path)
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise unreadable(path, error) from error


def read_text(path: Path) -> str:
    """The text of a regular file; ``InputError`` where there is none in UTF-8."""
    try:
        # Excel writes a byte-order mark.
        with opened(path) as file, io.TextIOWrapper(file, encoding="utf-8-sig") as text:
            return text.read()
    except UnicodeDecodeError as error:
        why = "it is not text in UTF-8"
        raise InputError(f"cannot read {path}", why=why, hint=f"file {quote(str(path))}") from error


def unpacked_limit(packed: int) -> int:
    """How many bytes ``packed`` compressed ones may become: 100 times as many, or 16 MB.

    ``ROOFLINE_MAX_UNPACKED`` ("8GB", or bytes) replaces both; ``UsageError`` where it is no size.
    """
    if not (asked := os.environ.get(UNPACKED)):
        return max(16_000_000, 100 * packed)
    size = re.fullmatch(r"(\d{1,15})\s*([kMGT]?)B?", asked.strip())
    if size is None:
        raise UsageError(f"{UNPACKED}={asked!r} is not a size", hint=f"{UNPACKED}=8GB")
    return int(float(size[1]) * 1000.0 ** " kMGT".index(size[2] or " "))


def too_large(path: Path, limit: int) -> InputError:
    """The error for a compressed file that holds more than ``unpacked_limit`` allows."""
    held = f"it unpacks to more than {limit / 1e6:,.0f} MB"
    more = f"{UNPACKED}={max(limit * 4 // 10**9, 1)}GB before the command, if you trust the file"
    return InputError(f"cannot read {path}", why=held, hint=more)


@contextmanager
def inputs_kept(*inputs: Path) -> Iterator[None]:
    """Let nothing in the block write over ``inputs``, whatever they are called, even by force."""
    token = _inputs.set([*(_inputs.get() or ()), *inputs])
    try:
        yield
    finally:
        _inputs.reset(token)


def keep_inputs(found: Iterable[Path]) -> None:
    """Keep also these, which a folder or a pattern holds, until the block around ends."""
    if (kept := _inputs.get()) is not None:
        kept += found


def refuse_overwrite(path: Path, *, force: bool) -> None:
    """Raise ``UsageError`` where writing to ``path`` cannot or must not begin.

    Called before long work, so that nobody waits for a result that cannot be kept.
    """
    if str(path) == "-":
        raise UsageError("cannot write to '-'", why="it is not a file's name", hint="name a file")
    target, mode = _target(path), None
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        if not (folder := target.parent).is_dir():
            why = f"the folder {folder} does not exist"
            raise UsageError(
                f"cannot write {target}", why=why, hint=f"mkdir -p {quote(str(folder))}"
            ) from None
    except OSError as error:
        raise _unwritable(path, error) from error
    if mode is not None and not stat.S_ISREG(mode):
        hint = "name a file in it" if stat.S_ISDIR(mode) else "name a file"
        raise UsageError(f"cannot write {path}", why=_kind(mode), hint=hint)
    if (one := next(filter(partial(_same, path), _inputs.get() or ()), None)) is not None:
        why = f"it is the same file as the input {one}"
        raise UsageError(f"cannot write {path}", why=why, hint="another name")
    if mode is not None and not force:
        raise _exists(path)
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise _unwritable(target, PermissionError(0, "its folder is not writable"))


@contextmanager
def whole_file(path: Path, *, force: bool = False) -> Iterator[Path]:
    """Give a path in a temporary folder beside ``path``; the file moves when the block succeeds.

    The temporary file has the name of ``path``. A link is followed. ``UsageError`` where ``path``
    exists (without ``force``) or cannot be written.
    """
    refuse_overwrite(path, force=force)
    with temporary_folder(_target(path).parent, path) as folder:
        made = folder / path.name
        yield made
        _move(made, path, force=force)


def write_text(path: Path, text: str, *, force: bool = False) -> None:
    """Write ``text`` as UTF-8 to ``path``, whole or not at all."""
    with whole_file(path, force=force) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextmanager
def whole_folder(folder: Path, names: Iterable[str], *, force: bool = False) -> Iterator[Path]:
    """Give an empty folder; its files ``names`` move to ``folder`` when the block succeeds.

    ``folder`` is made where it is not there; other files in it stay. Raises as ``whole_file``.
    """
    there = folder.is_dir()
    if folder.exists() and not there:
        raise UsageError(f"cannot write into {folder}", why="it is a file", hint="name a folder")
    places = [folder / name for name in names]
    for place in places if there else [folder]:
        refuse_overwrite(place, force=force)
    with temporary_folder(folder if there else folder.parent, folder) as temporary:
        yield temporary
        folder.mkdir(exist_ok=True)
        for place in places:
            _move(temporary / place.name, place, force=force)


@contextmanager
def temporary_folder(parent: Path | None, wanted: Path) -> Iterator[Path]:
    """A folder in ``parent`` that is gone afterwards; errors are of writing ``wanted``."""
    from tempfile import TemporaryDirectory  # only where something is written

    try:
        with TemporaryDirectory(None, TEMPORARY, parent, ignore_cleanup_errors=True) as made:
            yield Path(made)
    except OSError as error:
        raise _unwritable(wanted, error) from error


def _move(made: Path, path: Path, *, force: bool) -> None:
    """Move a finished file to its place; without ``force`` not over what came meanwhile."""
    target = _target(path)
    if not force:
        try:  # claim the name: to move is to replace
            target.touch(exist_ok=False)
        except FileExistsError as error:
            raise _exists(path) from error
    made.replace(target)


def _target(path: Path) -> Path:
    """Where a link leads, as a shell's redirection follows it; ``path`` itself if it is none."""
    # Path.resolve fails on loops, and Path.is_symlink on names that are too long.
    return Path(os.path.realpath(path)) if os.path.islink(path) else path  # noqa: PTH114


def _kind(mode: int) -> str:
    return "it is a folder" if stat.S_ISDIR(mode) else "it is not a regular file"


def _same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:  # one is not there yet, or is no name
        return os.path.realpath(path) == os.path.realpath(other)


def _exists(path: Path) -> UsageError:
    return UsageError(f"{path} exists already", hint="another name, or --force to write over it")


def _unwritable(path: Path, error: OSError) -> UsageError:
    folder = quote(str(path.parent))
    hint = f"another name or folder; df -h {folder}, ls -ld {folder}"
    return UsageError(f"cannot write {path}", why=error.strerror or str(error), hint=hint)
