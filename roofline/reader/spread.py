"""Reports to measurements: a little of it in this process, a lot in processes of its own.

ncu_report keeps what it has parsed of a result until the process ends, ten times the bytes of the
file and more. So much is read in parts, each by a process that ends with it: what they take is
bounded, however large the reports, and every CPU can help.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path

from roofline.errors import InputError, UsageError
from roofline.process import Answer, ask_each
from roofline.reader.batch import (
    Batch,
    Event,
    Measured,
    Refused,
    batches,
    bytes_of,
    events_of,
    share,
)
from roofline.reader.packing import pack, unpack
from roofline.reader.report import OnProgress, files_of
from roofline.reports import OnError, report_or_raise

_MOST_JOBS = 8  # more would wait for this process, which judges what they measure
_WORKER = "import sys; sys.path[:] = {path!r}; from roofline.reader import worker; worker.main()"


def survey(
    *paths: str | Path,
    jobs: int | None = None,
    on_error: OnError | None = None,
    on_progress: OnProgress | None = None,
) -> Iterator[Measured]:
    """Measure the launches of reports, in file order.

    Args:
        paths: files, folders (searched through for reports) and glob patterns.
        jobs: processes that may read at once where there is much to read; without it as many as
            there are CPUs, at most eight.
        on_error: called with each file that cannot be read; without it the first one raises.
        on_progress: called with (bytes read, bytes in all) as parts are done.

    Raises:
        InputError: a file cannot be read or holds no kernels, or a pattern matches nothing.
        UsageError: ``jobs`` is below 1.

    """
    if jobs is not None and jobs < 1:
        raise UsageError(f"jobs is {jobs}", why="somebody has to read")
    files = files_of(paths, on_error)
    total, done = sum(map(bytes_of, files)), 0
    lost: set[Path] = set()
    for batch, events in _answers(batches(files), jobs):
        if on_progress is not None:
            on_progress(done, total)
        for event in events:
            if event.path in lost:
                continue
            if isinstance(event, Refused):
                lost.add(event.path)
                report_or_raise(event.error, on_error)
            else:
                yield event
        done += sum(map(share, batch))
    if on_progress is not None:
        on_progress(total, total)


def _answers(batches: Iterator[Batch], jobs: int | None) -> Iterator[tuple[Batch, Iterable[Event]]]:
    """What each batch holds, in order; a single one is read here."""
    ahead = tuple(islice(batches, 2))
    batches = chain(ahead, batches)
    if len(ahead) < 2 or not _has_python():
        return ((batch, events_of(batch)) for batch in batches)
    return _elsewhere(batches, jobs or min(_MOST_JOBS, _cpus()))


def _elsewhere(batches: Iterable[Batch], jobs: int) -> Iterator[tuple[Batch, Iterable[Event]]]:
    sent: deque[Batch] = deque()

    def packed() -> Iterator[bytes]:
        for batch in batches:
            sent.append(batch)
            yield pack(batch)

    argv = (sys.executable, "-c", _WORKER.format(path=sys.path))
    for answer in ask_each(argv, packed(), at_once=jobs):
        batch = sent.popleft()
        yield batch, _events(batch, answer)


def _events(batch: Batch, answer: Answer) -> Iterable[Event]:
    """What a process says of its batch; where it failed, which file it failed on."""
    if answer.code == 0:
        with suppress(ValueError):
            found: list[Event] = unpack(answer.stdout)
            return found
    if len(batch) > 1:
        alone = _elsewhere(((item,) for item in batch), jobs=1)
        return chain.from_iterable(events for _, events in alone)
    return (Refused(path=batch[0].path, error=_failed(batch[0].path, answer)),)


def _failed(path: Path, answer: Answer) -> InputError:
    said = answer.stderr.strip().rpartition("\n")[2]
    how = f"exit code {answer.code}" if answer.code >= 0 else f"signal {-answer.code}"
    return InputError(
        f"cannot read {path}",
        why=f"the process that read it ended with {how}{said and ': '}{said}",
        hint="--jobs 1, in case memory ran out; else upgrade ncu-report",
    )


def _has_python() -> bool:
    """Whether this program's interpreter can be started once more."""
    return bool(sys.executable) and not getattr(sys, "frozen", False)


def _cpus() -> int:
    """CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
