"""Saved reports to launches."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from roofline.errors import InputError
from roofline.model import Kind, Launch
from roofline.reader.action import ActionMetrics
from roofline.repfile import Found, Summary, Workload, require_whole
from roofline.reports import OnError, expand, report_or_raise

_COMPUTED = "computed by "
_KINDS = {Workload.KERNEL: Kind.KERNEL, Workload.RANGE: Kind.RANGE, Workload.GRAPH: Kind.GRAPH}

# Of a file: bytes and time of the last change (inodes vary on some network file systems); ``None``
# where there is none.
Version = tuple[int, int] | None
OnProgress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Consecutive results of a report: ``results``, of which the first is number ``first``.

    ``summary`` is of the whole file, but for the lists of its results, ``sizes`` are bytes of each
    result here, and ``version`` tells the file from one that has taken its place.
    """

    path: Path
    summary: Summary
    first: int
    results: tuple[Found, ...]
    sizes: tuple[int, ...]
    version: Version

    def __getitem__(self, some: slice) -> Part:
        """A part of this one."""
        start, stop, _ = some.indices(len(self.results))
        return replace(
            self,
            first=self.first + start,
            results=self.results[start:stop],
            sizes=self.sizes[start:stop],
        )

    @property
    def last(self) -> bool:
        """Whether the file ends with it."""
        return self.first + len(self.results) == self.summary.found


def whole(path: Path) -> Part:
    """A report in one part.

    Raises:
        InputError: it is no whole report, or holds no kernels.

    """
    version = _version(path)
    summary = require_whole(path)
    return Part(
        path=path,
        summary=replace(summary, results=(), result_bytes=()),
        first=0,
        results=summary.results,
        sizes=summary.result_bytes,
        version=version,
    )


def _version(path: Path) -> Version:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns


def files_of(paths: Sequence[str | Path], on_error: OnError | None) -> list[Path]:
    """Each report that names, folders and patterns mean, once."""
    return list(dict.fromkeys(file for path in paths for file in expand(path, on_error)))


def read(
    *paths: str | Path,
    on_error: OnError | None = None,
    on_progress: OnProgress | None = None,
) -> Iterator[Launch]:
    """Give the launches of reports, in file order.

    All is read in this process, which keeps what ncu_report has parsed of every launch: ten
    times the bytes of the files and more. ``roofline.analyze`` does not.

    Args:
        paths: files, folders (searched through for reports) and glob patterns.
        on_error: called with each file that cannot be read; without it the first one raises.
        on_progress: called with (files done, files in all) before each file and at the end.

    Raises:
        InputError: a file cannot be read or holds no kernels, or a pattern matches nothing.

    """
    files = files_of(paths, on_error)
    for done, file in enumerate(files):
        if on_progress is not None:
            on_progress(done, len(files))
        try:
            yield from read_part(whole(file))
        except InputError as error:
            report_or_raise(error, on_error)
    if on_progress is not None:
        on_progress(len(files), len(files))


def read_part(part: Part) -> Iterator[Launch]:
    """Give the launches of a part of a report, in file order.

    Raises:
        InputError: ncu_report gives another number of results than the file holds, or one
            without a name, or the file is not the one that was looked at.

    """
    context = _load(part.path)
    _require_same(part)
    spans = [context.range_by_idx(number) for number in range(context.num_ranges())]
    places = [(number, i) for number, span in enumerate(spans) for i in range(span.num_actions())]
    powers: dict[str, int | None] = {}
    for found, place in zip(part.results, places[part.first :], strict=False):
        action = spans[place[0]].action_by_idx(place[1])
        yield _launch(part, found, place, action, powers)
    _require_same(part)
    if part.last and len(places) != part.summary.found:
        raise InputError(
            f"cannot read all of {part.path}",
            why=f"it holds {part.summary.found} results, {len(places)} could be loaded",
            hint=_reader_hint(part.summary),
        )


def _require_same(part: Part) -> None:
    if _version(part.path) != part.version:
        raise InputError(
            f"cannot read all of {part.path}",
            why="it was replaced or changed while it was read",
            hint="read it again when nothing writes to it",
        )


def _load(path: Path) -> Any:
    import ncu_report  # not needed for --help

    try:
        context = ncu_report.load_report(_plain_name(path))
    except Exception as error:
        raise InputError(f"cannot read {path}", why=f"ncu_report says: {error}") from error
    return context


def _plain_name(path: Path) -> str:
    """A name of ``path`` that ncu_report can open: it takes UTF-8 and no other bytes."""
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError:
        folder = _links()
        link = folder / f"{len(list(folder.iterdir()))}{path.suffix}"
        link.symlink_to(path.absolute())
        return str(link)
    return str(path)


@cache
def _links() -> Path:
    """A folder for links to reports with such names; kept, as values are read when asked for."""
    folder = tempfile.mkdtemp(prefix="roofline-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _reader_hint(summary: Summary) -> str:
    written = f" (it was written by ncu {summary.ncu_version})" if summary.ncu_version else ""
    return f"pip install --upgrade ncu-report, in case the file is newer than it{written}"


def _launch(
    part: Part,
    found: Found,
    place: tuple[int, int],
    action: Any,
    powers: dict[str, int | None],
) -> Launch:
    name, summary = action.name(), part.summary
    if name is None and found.workload is Workload.KERNEL:
        raise InputError(
            f"cannot read all of {part.path}",
            why=f"result {place[1]} of range {place[0]} has no name and no metrics",
            hint=_reader_hint(summary),
        )
    kind = _KINDS.get(found.workload, Kind.KERNEL)
    return Launch(
        source=str(part.path),
        range=place[0],
        index=place[1],
        kind=kind,
        name=name or str(kind),
        demangled=action.name(action.NameBase_DEMANGLED) or name or str(kind),
        metrics=ActionMetrics(action, summary.strings, powers),
        nvtx=_nvtx(action),
        process=found.process,
        ncu_version=summary.ncu_version,
        settings=summary.settings,
        # Other comments are somebody's words, and may be personal.
        origin=summary.comment if summary.comment.startswith(_COMPUTED) else None,
    )


def _nvtx(action: Any) -> tuple[str, ...]:
    """Names of the open NVTX ranges, outermost first; ranges of a named domain as domain@name."""
    state = action.nvtx_state()
    names: list[str] = []
    for number in state.domains() if state is not None else ():
        domain = state.domain_by_id(number)
        prefix = "" if domain.name() == "<default domain>" else f"{domain.name()}@"
        ranges = (*domain.start_end_ranges(), *domain.push_pop_ranges())
        names += [prefix + name for name in ranges]
    return tuple(names)
