"""The launches of many reports: a few are read in this process, many by processes of their own."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from roofline.arguments import unless_none, whole
from roofline.errors import InputError, about
from roofline.files import uncollected
from roofline.model import Launch
from roofline.reports.decode import OnByte, Reader, launches
from roofline.reports.find import OnProgress, files_of, label_of

if TYPE_CHECKING:  # imported where there is much to read: it takes as long as reading some files
    from concurrent.futures import ProcessPoolExecutor

MOST_JOBS = 1024
_MOST_CPUS = 8  # more would wait for this process, which groups what they judge
# Starting processes takes as long as reading some megabytes.
POOL_BYTES = 1 << 23
_AHEAD = 4  # tasks a process that are done, or wait to be, before their turn
_TASK_FILES = 8  # handing over a file and its answer takes a tenth of the time of a small one

T = TypeVar("T")
Work = Callable[[Launch, str], T]  # of a launch and the name of its file


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchRead(Generic[T]):
    """What was made of one launch of the report at ``path``.

    ``origin`` is what the file says of who computed it.
    """

    path: Path
    origin: str | None
    value: T


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A report that cannot be read, or of which only the first launches could be."""

    path: Path
    error: InputError


Event = LaunchRead[T] | Refused


def read_all(
    *paths: str | Path,
    work: Work[T],
    kind: type[T],
    reader: Reader = "protobuf",
    jobs: int | None = None,
    on_progress: OnProgress | None = None,
) -> Generator[Event[T], None, None]:
    """Do ``work`` with each launch of the reports, in file order.

    What cannot be read is told in its place, paths that lead to no report first. Where there is
    much to read, up to ``jobs`` processes do so at once, 1 to 1024 (without it as many as there are
    CPUs, at most eight). For them ``work`` can be pickled, and makes a ``kind``, which msgspec can
    write. ``on_progress`` is told of (bytes read, bytes in all) as files are done.
    """
    whole(1, MOST_JOBS, **unless_none(jobs=jobs))
    refused: list[Refused] = []
    files = files_of(paths, lambda path, error: refused.append(Refused(path=path, error=error)))
    yield from refused
    sizes = [0] * len(files)
    for number, file in enumerate(files):
        with suppress(OSError):  # what it is shows when it is read
            sizes[number] = file.stat().st_size
    done, total = 0, sum(sizes)

    def tell(at: int = 0) -> None:
        if on_progress is not None:
            on_progress(done + at, total)

    tell()
    affinity = getattr(os, "sched_getaffinity", None)  # not on every system
    cpus = len(affinity(0)) if affinity else os.cpu_count() or 1
    count = min(jobs or min(_MOST_CPUS, cpus), len(files))
    if count > 1 and total >= POOL_BYTES:
        each = _by_processes(files, partial(_read, work=work, reader=reader), kind, count)
    else:
        each = (_events(file, work, reader, tell) for file in files)
    with uncollected(), closing(each):
        for size, events in zip(sizes, each, strict=True):
            yield from events
            done += size
            tell()


def _events(
    path: Path, work: Work[T], reader: Reader, on_byte: OnByte | None = None
) -> Iterator[Event[T]]:
    label = label_of(path)
    try:
        with about(path):
            for launch in launches(path, reader, on_byte):
                yield LaunchRead(path=path, origin=launch.origin, value=work(launch, label))
    except InputError as error:
        yield Refused(path=path, error=error)


# Of one file: who computed it, what was made of its launches, and the error that ended it. msgspec
# takes a quarter of pickle's time, which would be a sixth of all.
_Answer = tuple[str | None, bytes, InputError | None]


def _read(path: Path, *, work: Work[Any], reader: Reader) -> _Answer:
    events = list(_events(path, work, reader))
    found = [event for event in events if isinstance(event, LaunchRead)]
    packed = msgspec.msgpack.encode([event.value for event in found])
    error = next((event.error for event in events if isinstance(event, Refused)), None)
    return found[0].origin if found else None, packed, error


def _unpacked(path: Path, answer: _Answer, kind: type[T]) -> Iterator[Event[T]]:
    origin, packed, error = answer
    for value in msgspec.msgpack.decode(packed, type=list[kind]):  # type: ignore[valid-type]
        yield LaunchRead(path=path, origin=origin, value=value)
    if error is not None:
        yield Refused(path=path, error=error)


def _by_processes(
    files: Sequence[Path], read: Callable[[Path], _Answer], kind: type[T], count: int
) -> Generator[Iterator[Event[T]], None, None]:
    """What each file holds, in order.

    Of a process that dies it is not known which file it died of: the first without an answer is
    read again, alone, and refused if that process dies, too.
    """
    from concurrent.futures.process import BrokenProcessPool

    left, again = deque(files), False
    while left:
        some = [left[0]] if again else list(left)
        # Few files a task where there are few: no process waits for another at the end.
        size = max(1, min(_TASK_FILES, len(some) // (_AHEAD * count)))
        with _processes(1 if again else count, read) as pool:
            try:
                tasks = (some[i : i + size] for i in range(0, len(some), size))
                todo = (pool.submit(_read_here, task) for task in tasks)
                with _nothing_inherited():  # the first tasks start all processes
                    futures = deque(islice(todo, _AHEAD * count))
                while futures:
                    answers = futures.popleft().result()
                    futures.extend(islice(todo, 1))
                    for answer in answers:
                        yield _unpacked(left.popleft(), answer, kind)
                again = False
            except BrokenProcessPool:
                if again:
                    why, hint = "the process that read it died", "more memory, or --jobs 1"
                    error = InputError(f"cannot read {left[0]}", why=why, hint=hint)
                    yield iter([Refused(path=left.popleft(), error=error)])
                again = not again


@contextmanager
def _processes(count: int, read: Callable[[Path], _Answer]) -> Iterator[ProcessPoolExecutor]:
    """Processes that end with the block, and at once where an error or an interrupt ends it."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    context = get_context("fork" if _alone() else "spawn")
    pool = ProcessPoolExecutor(count, mp_context=context, initializer=_begin, initargs=(read,))
    try:
        yield pool
    except BaseException:
        for process in (pool._processes or {}).values():  # noqa: SLF001  # public from 3.14 on
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _alone() -> bool:
    """Whether this process has one thread, so that none can hold a lock when it is forked.

    A process that is forked need not import anything, which takes as long as reading fifty reports.
    """
    try:
        return len(list(Path("/proc/self/task").iterdir())) == 1
    except OSError:  # not Linux
        return False


@contextmanager
def _nothing_inherited() -> Iterator[None]:
    """Keep from processes that are started what is this one's alone.

    The main module is the caller's, and may do its work again when it is imported; an interrupt of
    the terminal is for this process, which ends the others.
    """
    main, set_mask = sys.modules["__main__"], getattr(signal, "pthread_sigmask", None)
    mask = set_mask and set_mask(signal.SIG_BLOCK, {signal.SIGINT})
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
        if set_mask:
            set_mask(signal.SIG_SETMASK, mask)


_reads: list[Callable[[Path], _Answer]] = []  # in a process that reads: how, sent once


def _read_here(files: Sequence[Path]) -> list[_Answer]:
    return [_reads[0](file) for file in files]


def _begin(read: Callable[[Path], _Answer]) -> None:
    """Keep how files are read, and end when the process that started this one is gone."""
    from multiprocessing import parent_process

    _reads[:] = [read]
    for number in signal.valid_signals():  # a fork has the handlers of the caller
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)

    def end_with_parent() -> None:
        if (parent := parent_process()) is not None:
            parent.join()
        os._exit(1)

    gc.disable()  # what is read has no cycles, and looking for some takes a tenth of the time
    threading.Thread(target=end_with_parent, daemon=True).start()
