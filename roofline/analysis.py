"""From reports to an analysis: read, measure, find peaks, judge, group."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Hashable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from roofline.arguments import checked, several, whole
from roofline.counters.measure import measure
from roofline.errors import InputError
from roofline.figures import FIGURES, Point, measured
from roofline.files import uncollected
from roofline.fold import fold, key_of, quantities_of, shares
from roofline.model import (
    Analysis,
    Details,
    Group,
    Launch,
    Measurement,
    Note,
    Result,
    Rule,
    Source,
    Unread,
)
from roofline.playbook import plays
from roofline.reports import OnError, OnProgress, Reader, Refused, read_all
from roofline.reports.decode import launches
from roofline.reports.find import label_of, report_or_raise
from roofline.specs import Registry, load
from roofline.specs.ceilings import Ceilings, load_achieved
from roofline.specs.peaks import peak_set
from roofline.verdict.bounds import all_uses
from roofline.verdict.rule import judge


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """Turns measurements into results, always by the same rule and the same peaks."""

    registry: Registry
    achieved: Sequence[Ceilings] = ()
    rule: Rule = field(default_factory=Rule)

    def __call__(self, measurement: Measurement) -> Result:
        """Judge one measurement."""
        peaks, notes = peak_set(measurement, self.registry, self.achieved)
        units = all_uses(measurement, peaks)  # the computed ones too: the limiter may be one
        verdict = judge(measurement, peaks, self.rule, units)
        notes = tuple(dict.fromkeys((*measurement.notes, *notes)))
        if units != measurement.units or notes != measurement.notes:
            measurement = replace(measurement, units=units, notes=notes)
        return Result(measurement=measurement, peaks=peaks, verdict=verdict)


@checked
@uncollected()
def analyze(
    *paths: str | Path,
    points: Point | Sequence[Point] = (),
    specs: str | Path | None = None,
    achieved: str | Path | Ceilings | Sequence[str | Path | Ceilings] = (),
    rule: Rule | None = None,
    merge: bool = False,
    jobs: int | None = None,
    reader: Reader = "protobuf",
    on_error: OnError | None = None,
    on_progress: OnProgress | None = None,
) -> Analysis:
    """Analyse saved reports.

    Args:
        paths: ``.ncu-rep`` files, folders and glob patterns.
        points: kernels of which somebody states operations, bytes and time, judged beside them.
        specs: a folder with further hardware specs (TOML files).
        achieved: files of ``roofline specs measure`` (TOML), or the ceilings of such files; each
            launch takes those of its own device.
        rule: the numbers to judge by; without it NVIDIA's own.
        merge: sum a kernel over files; without it two captures of one kernel are two.
        jobs: processes that may read at once where there are many files, 1 to 1024; without it as
            many as there are CPUs, at most eight.
        reader: what decodes the reports: "protobuf", or "ncu-report", NVIDIA's own package.
        on_error: called with each file that cannot be read; without it the first one raises.
        on_progress: called with (bytes read, bytes in all) as reading goes on.

    Raises:
        InputError: a file cannot be read, no file held a kernel, or advice of the user's is wrong.
        ArgumentError: an argument is of another type, out of range, or not a known word.

    """
    stated = several(points)
    registry = load(None if specs is None else Path(specs))
    measured_peaks = [
        load_achieved(Path(one)) if isinstance(one, str | Path) else one
        for one in several(achieved)
    ]
    judge = Judge(registry=registry, achieved=measured_peaks, rule=rule or Rule())
    plays()  # the user's own entries are refused before anything is read
    results: list[Result] = []
    # Closed, it ends the processes that still read for it, whatever has come between.
    events = read_all(
        *paths,
        work=partial(judged, judge=judge),
        kind=Result,
        reader=reader,
        jobs=jobs,
        on_progress=on_progress,
    )
    unread: list[Unread] = []
    sources: dict[Path, Source] = {}
    labels: Counter[str] = Counter()
    with closing(events):
        for event in events:
            source = sources.get(event.path)
            if isinstance(event, Refused):
                report_or_raise(event.error, on_error)
                if source is not None:  # the first launches could be read
                    note = Note(code="partial", facts={"launches": source.launches})
                    sources[event.path] = replace(source, notes=(*source.notes, note))
                unread.append(_unread(event, source or _source(event.path, labels)))
                continue
            source = source or _source(event.path, labels, event.origin)
            sources[event.path] = replace(source, launches=source.launches + 1)
            results.append(_in_place(event.value, source, results))
    results += [judge(measured(point, judge.registry, i)) for i, point in enumerate(stated)]
    if stated:
        sources[Path()] = Source(path=FIGURES, launches=len(stated))
    if not results:
        raise InputError("no kernels to analyse", hint="a report that holds kernels")
    return Analysis(
        sources=tuple(sources.values()),
        results=tuple(results),
        groups=group(results, judge, merge=merge),
        rule=judge.rule,
        merged=merge,
        unread=tuple(unread),
    )


def judged(launch: Launch, source: str, judge: Judge) -> Result:
    """Measure and judge a launch of the file of that name."""
    return judge(measure(launch, source))


def _in_place(result: Result, source: Source, before: Sequence[Result]) -> Result:
    """The result under its source's name, with the peaks of the one before if they are equal.

    Long texts and peaks are the same in many launches; from another process each has its own.
    """
    measurement = result.measurement
    if measurement.source != source.path:
        measurement = replace(measurement, source=source.path)
    provenance: Any = measurement.provenance
    provenance.update({quantity: sys.intern(how) for quantity, how in provenance.items()})
    peaks = result.peaks
    if before and before[-1].peaks == peaks:
        peaks = before[-1].peaks
    return replace(result, measurement=measurement, peaks=peaks)


@checked
def details_of(
    analysis: Analysis,
    positions: int | Sequence[int],
    reader: Reader = "protobuf",
    *,
    source: bool = False,
) -> Details:
    """Read instructions and NVIDIA's rules of the longest of some launches.

    Args:
        analysis: what the launches are of; its files must still be there.
        positions: places in ``analysis.results``, at least one.
        reader: as in ``analyze``.
        source: whether to read the text of source lines too.

    Raises:
        InputError: the file cannot be read any more.
        ArgumentError: there is no such place, or none is given.

    """
    from roofline.counters.instructions import details  # few ask for it

    positions = several(positions)
    whole(1, **{"the number of positions": len(positions)})
    for position in positions:
        whole(0, len(analysis.results) - 1, position=position)
    launched = (analysis.results[position].measurement for position in positions)
    longest = max(launched, key=lambda m: m.duration_s or 0.0)
    file = next(s.file for s in analysis.sources if s.path == longest.source)
    launch = next(islice(launches(Path(file), reader), longest.index, None), None)
    if launch is None:
        why = "it holds fewer results than before"
        raise InputError(f"cannot read {file} again", why=why, hint="the same command again")
    return details(launch, source=source)


def _source(path: Path, labels: Counter[str], by: str | None = None) -> Source:
    """A file before its first launch; a number tells files of one name apart."""
    label = label_of(path) or str(path)
    labels[label] += 1
    if labels[label] > 1:
        label += f" ({labels[label]})"
    notes = () if by is None else (Note(code="computed", facts={"by": by}),)
    return Source(path=label, launches=0, notes=notes, file=str(path))


def _unread(event: Refused, source: Source) -> Unread:
    """What is said of it wherever the answer goes: without the folder, which may be personal."""
    why = (event.error.why or event.error.what).replace(source.file, source.path)
    return Unread(path=source.path, launches=source.launches, why=why)


def group(results: Sequence[Result], judge: Judge, *, merge: bool = False) -> tuple[Group, ...]:
    """Group launches by kernel and file, most time first; one without a duration comes last.

    With ``merge`` the launches of a kernel in all files are one group.
    """
    members: dict[Hashable, list[int]] = {}
    for position, result in enumerate(results):
        file = None if merge else result.measurement.source
        members.setdefault((file, key_of(result.measurement)), []).append(position)
    groups = [_group(results, positions, judge) for positions in members.values()]
    measured = [g.result.measurement for g in groups]
    parts = shares(measured, [g.total_s for g in groups], merged=merge)
    shared = [replace(g, share=part) for g, part in zip(groups, parts, strict=True)]
    return tuple(sorted(shared, key=lambda g: -(g.total_s or 0.0)))


def _group(results: Sequence[Result], positions: list[int], judge: Judge) -> Group:
    members = [results[i] for i in positions]
    durations = [d for r in members if (d := r.measurement.duration_s) is not None]
    bounds = dict(Counter(result.verdict.bound.value for result in members))
    return Group(
        result=members[0] if len(members) == 1 else judge(_whole(members, bounds)),
        launches=tuple(positions),
        total_s=sum(durations) if durations else None,
        min_s=min(durations, default=None),
        max_s=max(durations, default=None),
        share=None,
        bounds=bounds,
    )


def _whole(members: Sequence[Result], bounds: dict[str, int]) -> Measurement:
    """The sum of the launches of which most was measured, with a note where some differ."""
    everything = [r.measurement for r in members]
    timed = [m for m in everything if m.duration_s is not None] or everything
    # What a launch lacks it must not take from the others, whose numbers stay sums over sums.
    known = [quantities_of(m) for m in timed]
    most = max(known, key=len)
    measured = [m for m, quantities in zip(timed, known, strict=True) if quantities >= most]
    notes: list[Note] = []
    if len(bounds) > 1:
        notes.append(Note(code="mixed_verdicts", facts={"bounds": bounds}))
    if len(timed) < len(everything):
        facts = {"launches": len(everything) - len(timed), "of": len(everything)}
        notes.append(Note(code="launches_without_duration", facts=facts))
    if len(measured) < len(timed):
        lacking = most - frozenset.intersection(*known)
        counts = {"launches": len(measured), "of": len(everything)}
        which = {"quantities": tuple(sorted(lacking))}
        notes.append(Note(code="launches_measured_less", facts=counts | which))
    folded = fold(measured)
    return replace(folded, notes=(*folded.notes, *notes))
