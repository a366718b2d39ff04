"""What one process reads of reports: parts of a large one, or several small ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from roofline.counters.measure import measure
from roofline.errors import InputError
from roofline.model import Measurement
from roofline.reader.report import Part, read_part, whole
from roofline.reports import label_of

# Of reports, for one process: half a gigabyte of memory and some seconds, which outweigh what
# starting a process costs.
PART_BYTES = 1 << 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A launch of the report at ``path``; ``origin`` is what the file says of who computed it."""

    path: Path
    origin: str | None
    measurement: Measurement


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A report that cannot be read, or not to its end; ``results`` is how many it holds."""

    path: Path
    error: InputError
    results: int = 0


Item = Part | Refused
Batch = tuple[Item, ...]
Event = Measured | Refused


def events_of(batch: Batch) -> Iterator[Event]:
    """Read a batch here; what cannot be read is told in its place."""
    for item in batch:
        if isinstance(item, Refused):
            yield item
            continue
        label = label_of(item.path)
        try:
            for launch in read_part(item):
                measured = measure(launch, source=label)
                yield Measured(path=item.path, origin=launch.origin, measurement=measured)
        except InputError as error:
            yield Refused(path=item.path, error=error, results=item.summary.found)


def batches(files: Iterable[Path]) -> Iterator[Batch]:
    """What one process should read: no more than ``PART_BYTES``, but for a single result."""
    batch: list[Item] = []
    room = PART_BYTES
    for item in chain.from_iterable(map(_items, files)):
        weight = 0 if isinstance(item, Refused) else sum(item.sizes)
        if batch and weight > room:
            yield tuple(batch)
            batch, room = [], PART_BYTES
        batch.append(item)
        room -= weight
    if batch:
        yield tuple(batch)


def _items(file: Path) -> Iterator[Item]:
    try:
        part = whole(file)
    except InputError as error:
        yield Refused(path=file, error=error)
        return
    start, room = 0, PART_BYTES
    for number, size in enumerate(part.sizes):
        if size > room and number > start:
            yield part[start:number]
            start, room = number, PART_BYTES
        room -= size
    yield part[start:]


def halves(batch: Batch) -> tuple[Batch, Batch] | None:
    """A batch as two; ``None`` where it is a single result."""
    item, middle = batch[0], len(batch) // 2
    if middle:
        return batch[:middle], batch[middle:]
    if isinstance(item, Refused) or len(item.results) < 2:
        return None
    middle = len(item.results) // 2
    return (item[:middle],), (item[middle:],)


def share(item: Item) -> int:
    """Bytes of its file that are done when ``item`` is."""
    if isinstance(item, Refused):
        return bytes_of(item.path)
    return item.summary.size_bytes * len(item.results) // item.summary.found


def bytes_of(path: Path) -> int:
    """The size of a file; 0 where it has none to tell."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
