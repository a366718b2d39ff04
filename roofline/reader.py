"""Saved reports to launches: the only module that imports ncu_report."""

from __future__ import annotations

import atexit
import math
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from roofline.counters.si import exponent, scaled
from roofline.errors import InputError
from roofline.launch import Launch
from roofline.model import Kind, Note
from roofline.repfile import Found, Summary, Workload, require_whole
from roofline.reports import OnError, expand, report_or_raise

# What an empty unit stands for, in metrics whose unit some versions of ncu leave out.
_IMPLIED = {"gpu__time_duration": "ns"}
# Their unit is in their names; asking for it costs as much as the value.
_PERCENTAGES = (".pct_of_peak_sustained_elapsed", ".pct_of_peak_sustained_active", ".pct")
_COMPUTED = "computed by "
_KINDS = {Workload.KERNEL: Kind.KERNEL, Workload.RANGE: Kind.RANGE, Workload.GRAPH: Kind.GRAPH}

OnProgress = Callable[[int, int], None]


def read(
    *paths: str | Path,
    on_error: OnError | None = None,
    on_progress: OnProgress | None = None,
) -> Iterator[Launch]:
    """Give the launches of reports, in file order.

    Args:
        paths: files, folders (searched through for reports) and glob patterns.
        on_error: called with each file that cannot be read; without it the first one raises.
        on_progress: called with (files done, files in all) before each file and at the end.

    Raises:
        InputError: a file cannot be read or holds no kernels, or a pattern matches nothing.

    """
    files = list(dict.fromkeys(file for path in paths for file in expand(path, on_error)))
    for done, file in enumerate(files):
        if on_progress is not None:
            on_progress(done, len(files))
        try:
            yield from _read_file(file)
        except InputError as error:
            report_or_raise(error, on_error)
    if on_progress is not None:
        on_progress(len(files), len(files))


def _read_file(path: Path) -> Iterator[Launch]:
    summary = require_whole(path)
    context = _load(path)
    results = iter(summary.results)
    powers: dict[str, int | None] = {}
    found = 0
    for range_index in range(context.num_ranges()):
        span = context.range_by_idx(range_index)
        for index in range(span.num_actions()):
            action = span.action_by_idx(index)
            yield _launch(path, summary, next(results, None), (range_index, index), action, powers)
            found += 1
    if found != summary.found:
        raise InputError(
            f"cannot read all of {path}",
            why=f"it holds {summary.found} results, {found} could be loaded",
            hint=_reader_hint(summary),
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
    path: Path,
    summary: Summary,
    found: Found | None,
    place: tuple[int, int],
    action: Any,
    powers: dict[str, int | None],
) -> Launch:
    name = action.name()
    if name is None and found is not None and found.workload is Workload.KERNEL:
        raise InputError(
            f"cannot read all of {path}",
            why=f"result {place[1]} of range {place[0]} has no name and no metrics",
            hint=_reader_hint(summary),
        )
    kind = _KINDS.get(found.workload, Kind.KERNEL) if found else Kind.KERNEL
    return Launch(
        source=str(path),
        range=place[0],
        index=place[1],
        kind=kind,
        name=name or str(kind),
        demangled=action.name(action.NameBase_DEMANGLED) or name or str(kind),
        metrics=ActionMetrics(action, summary.strings, powers),
        nvtx=_nvtx(action),
        process=found.process if found else None,
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


@cache
def _numeric_kinds() -> frozenset[int]:
    from ncu_report import IMetric

    return frozenset(
        (
            IMetric.ValueKind_FLOAT,
            IMetric.ValueKind_DOUBLE,
            IMetric.ValueKind_UINT32,
            IMetric.ValueKind_UINT64,
        )
    )


def _unit(name: str, metric: Any) -> str:
    if name.endswith(_PERCENTAGES):
        return "%"
    unit: str = metric.unit() or _IMPLIED.get(name.partition(".")[0], "")
    return unit


class ActionMetrics:
    """The metrics of one result, read when asked for and converted to SI.

    Args:
        action: the result as ncu_report gives it.
        listed: the file's table of metric names. Most names that are asked for are in no result
            of a file, and asking a set is cheaper than asking the action.
        powers: the powers of ten to SI that results of the file have told so far, by metric name
            (``None``: a unit that is not known); a name has one unit throughout a file.

    """

    def __init__(self, action: Any, listed: frozenset[str], powers: dict[str, int | None]) -> None:
        self._action, self._find = action, action.metric_by_name
        self._listed, self._powers = listed, powers
        self._unknown_units: dict[str, str] = {}

    def number(self, name: str) -> float | None:
        """See ``launch.Metrics``."""
        metric = self._find(name) if name in self._listed else None
        if metric is None:
            return None
        value: float = metric.as_double()
        if not math.isfinite(value):
            return None
        # What is no number answers 0 too.
        if value == 0.0 and metric.kind() not in _numeric_kinds():
            return None
        try:
            power = self._powers[name]
        except KeyError:
            power = self._powers[name] = exponent(_unit(name, metric))
        if power is None:
            self._unknown_units[_unit(name, metric)] = name
            return None
        return scaled(value, power) if power else value

    def text(self, name: str) -> str | None:
        """See ``launch.Metrics``."""
        metric = self._find(name) if name in self._listed else None
        value = None if metric is None else metric.value()
        return value if isinstance(value, str) else None

    def has(self, name: str) -> bool:
        """See ``launch.Metrics``."""
        return name in self._listed and self._find(name) is not None

    def any_of(self, names: frozenset[str]) -> bool:
        """See ``launch.Metrics``."""
        return any(self._find(name) is not None for name in names & self._listed)

    def instances(self, name: str) -> Mapping[str, float]:
        """See ``launch.Metrics``."""
        metric = self._find(name) if name in self._listed else None
        if metric is None or not metric.has_correlation_ids():
            return {}
        identities = metric.correlation_ids()
        found: dict[str, float] = {}
        for i in range(metric.num_instances()):
            value = metric.as_double(i)
            if math.isfinite(value):
                key = str(identities.value(i))
                found[key] = found.get(key, 0.0) + value
        return found

    def sass(self, address: str) -> str | None:
        """See ``launch.Metrics``."""
        line = self._action.sass_by_pc(int(address)) if address.isdigit() else None
        return line or None

    def names(self) -> frozenset[str]:
        """See ``launch.Metrics``."""
        return frozenset(self._action.metric_names())

    @cached_property
    def rules(self) -> Mapping[str, str]:
        """NVIDIA's own stored verdicts, rule identifier -> title; empty titles are errors."""
        found = {}
        for rule in self._action.rule_results_as_dicts():
            title = rule.get("rule_message", {}).get("title")
            if title:
                found[rule["rule_identifier"]] = title
        return found

    def notes(self) -> tuple[Note, ...]:
        """See ``launch.Metrics``."""
        return tuple(
            Note(code="unknown_unit", text=f"{name} is in {unit!r}, which is not known; left out")
            for unit, name in self._unknown_units.items()
        )
