"""What one process reads of reports: parts of a large one, or several small ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from roofline.errors import InputError
from roofline.measure import measure
from roofline.model import Measurement
from roofline.reader.report import Part, read_part, whole
from roofline.reports import label_of

# Of a report, for one process: up to 450 MB of memory and some seconds, which outweigh what
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
    """A report that cannot be read, or not to its end."""

    path: Path
    error: InputError


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
            yield Refused(path=item.path, error=error)


def batches(files: Iterable[Path]) -> Iterator[Batch]:
    """What one process should read: parts of a large report, or several small ones."""
    batch: list[Item] = []
    room = PART_BYTES
    for item in chain.from_iterable(map(_items, files)):
        weight = 0 if isinstance(item, Refused) else _of_part(item, item.summary.content_bytes)
        if batch and weight > room:
            yield tuple(batch)
            batch, room = [], PART_BYTES
        batch.append(item)
        room -= weight
    if batch:
        yield tuple(batch)


def _items(file: Path) -> tuple[Item, ...]:
    try:
        part = whole(file)
    except InputError as error:
        return (Refused(path=file, error=error),)
    count = -(-part.summary.content_bytes // PART_BYTES)
    size = -(-len(part.results) // count)
    summary = replace(part.summary, results=())
    return tuple(
        Part(path=file, summary=summary, first=at, results=part.results[at : at + size])
        for at in range(0, len(part.results), size)
    )


def _of_part(part: Part, amount: int) -> int:
    """The part's share of an ``amount`` of the whole file."""
    return amount * len(part.results) // part.summary.found


def share(item: Item) -> int:
    """Bytes of its file that are done when ``item`` is."""
    if isinstance(item, Refused):
        return bytes_of(item.path)
    return _of_part(item, item.summary.size_bytes)


def bytes_of(path: Path) -> int:
    """The size of a file; 0 where it has none to tell."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
