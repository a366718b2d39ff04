"""Reports to measurements: a little of it in this process, a lot in processes of its own.

ncu_report keeps what it has parsed of a result until the process ends, ten times the bytes of the
file and more. So much is read in parts, each by a process that ends with it: what they take is
bounded, however large the reports, and every CPU can help.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from itertools import chain, islice
from pathlib import Path

from roofline.errors import InputError, UsageError
from roofline.process import Answer, ask_each
from roofline.reader.batch import Batch, Event, Refused, batches, bytes_of, events_of, halves, share
from roofline.reader.packing import pack, unpack
from roofline.reader.report import OnProgress, Part, files_of
from roofline.reader.worker import READY
from roofline.reports import OnError

MOST_JOBS = 1024
_MOST_CPUS = 8  # more would wait for this process, which judges what they measure
_WORKER = "import sys; sys.path[:] = {path!r}; from roofline.reader import worker; worker.main()"


def survey(
    *paths: str | Path,
    jobs: int | None = None,
    on_error: OnError | None = None,
    on_progress: OnProgress | None = None,
) -> Generator[Event, None, None]:
    """Measure the launches of reports, in file order; what cannot be read is told in its place.

    Args:
        paths: files, folders (searched through for reports) and glob patterns.
        jobs: processes that may read at once where there is much to read; without it as many as
            there are CPUs, at most eight.
        on_error: called with each path that leads to no report; without it the first one raises.
        on_progress: called with (bytes read, bytes in all) as parts are done.

    Raises:
        InputError: a path leads to no report.
        UsageError: ``jobs`` is no whole number from 1 to 1024.

    """
    if jobs is not None and not (type(jobs) is int and 1 <= jobs <= MOST_JOBS):
        raise UsageError(f"jobs is {jobs!r}", why=f"it is a whole number from 1 to {MOST_JOBS}")
    files = files_of(paths, on_error)
    total, done = sum(map(bytes_of, files)), 0
    lost: set[Path] = set()
    for batch, events in _answers(batches(files), jobs or min(_MOST_CPUS, _cpus())):
        if on_progress is not None:
            on_progress(done, total)
        if not lost.issuperset(item.path for item in batch):  # else asking again is in vain
            yield from _first_losses(events, lost)
        done += sum(map(share, batch))
    if on_progress is not None:
        on_progress(total, total)


def _first_losses(events: Iterable[Event], lost: set[Path]) -> Iterator[Event]:
    """Drop what comes after a refusal of the same file."""
    for event in events:
        if event.path not in lost:
            if isinstance(event, Refused):
                lost.add(event.path)
            yield event


def _answers(todo: Iterator[Batch], jobs: int) -> Iterator[tuple[Batch, Iterable[Event]]]:
    """What each batch holds, in order; a single one is read here."""
    ahead = tuple(islice(todo, 2))
    todo = chain(ahead, todo)
    if len(ahead) < 2 or not _has_python():
        return ((batch, events_of(batch)) for batch in todo)
    return _Readers().answers(todo, jobs)


class _Readers:
    """Processes that read for this one.

    Once one of them has begun, they can be started: what ends later without having begun has died,
    and this process must not take on what it died of.
    """

    def __init__(self) -> None:
        path = [place for place in sys.path if isinstance(place, str)]  # as Python itself has it
        self._argv = (sys.executable, "-c", _WORKER.format(path=path))
        self._begun = False

    def answers(self, todo: Iterable[Batch], jobs: int) -> Iterator[tuple[Batch, Iterable[Event]]]:
        """What each batch holds, in order."""
        sent: deque[Batch] = deque()

        def packed() -> Iterator[bytes]:
            for batch in todo:
                sent.append(batch)
                yield pack(batch)

        with closing(ask_each(self._argv, packed(), at_once=jobs)) as answers:
            for answer in answers:
                batch = sent.popleft()
                yield batch, self._events(batch, answer)

    def _events(self, batch: Batch, answer: Answer) -> Iterator[Event]:
        """What a process says of its batch; of what it dies of, more processes say what it is."""
        _, ready, packed = answer.stdout.partition(READY)
        self._begun = self._begun or bool(ready)
        if answer.code == 127 or not (self._begun or answer.code < 0):
            yield from events_of(batch)  # for want of processes, or of any that are ours
            return
        found = _unpacked(packed) if answer.code == 0 else None
        if found is not None:
            yield from found
            return
        smaller = halves(batch)
        if smaller is not None:
            yield from self._one_by_one(smaller)
            return
        (item,) = batch
        yield item if isinstance(item, Refused) else _fatal(item, answer)

    def _one_by_one(self, todo: Iterable[Batch]) -> Iterator[Event]:
        lost: set[Path] = set()
        for batch in todo:
            if not lost.issuperset(item.path for item in batch):
                for _, events in self.answers((batch,), jobs=1):
                    yield from _first_losses(events, lost)


def _unpacked(data: bytes) -> list[Event] | None:
    try:
        found: list[Event] = unpack(data)
    except ValueError:
        return None
    return found


def _fatal(part: Part, answer: Answer) -> Refused:
    """The refusal of a single result."""
    said = answer.stderr.strip().rpartition("\n")[2]
    how = f"exit code {answer.code}" if answer.code >= 0 else f"signal {-answer.code}"
    number, count = part.first + 1, part.summary.found
    error = InputError(
        f"cannot read {'all of ' if part.first else ''}{part.path}",
        why=f"the process that read result {number:,} of {count:,} ended with {how}"
        + (f": {said}" if said else ""),
        hint="more memory, or pip install --upgrade ncu-report",
    )
    return Refused(path=part.path, error=error, results=count)


def _has_python() -> bool:
    """Whether this program's interpreter can be started once more."""
    return bool(sys.executable) and not getattr(sys, "frozen", False)


def _cpus() -> int:
    """CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
