"""What the commands do, as functions: ``plot``, ``compare``, ``select`` of ``roofline``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from roofline.arguments import checked, number, of_type, several, share, unless_none, whole, word
from roofline.display import Displayed, Shown
from roofline.errors import InputError, UsageError
from roofline.files import inputs_kept, keep_inputs
from roofline.kernel_names import few
from roofline.model import Analysis, Details, Rule
from roofline.patterns import compiled
from roofline.view import Choice, Chosen, choose, is_named, matching, no_kernel

if TYPE_CHECKING:
    from roofline.compare.model import Comparison, KernelPair
    from roofline.compare.predictions import Expectation
    from roofline.timeline.events import Timeline
    from roofline.timeline.model import By, Keep, Move, Selection

_FACTOR = re.compile(r"(\d{1,30}(?:\.\d{1,30})?|\.\d{1,30})x|0")
Named = tuple[str, str | float]  # a kernel (or part of a step) and what becomes of it
_Parsed = TypeVar("_Parsed")
_LOOKED_AT = 3  # pairs whose samples are read by instruction


# --- plot -------------------------------------------------------------------------------------


@checked
@inputs_kept()
def plot(
    shown: Displayed | str | Path,
    path: str | Path | None = None,
    *,
    view: str | Sequence[str] = (),
    kernels: str | re.Pattern[str] | Sequence[str | re.Pattern[str]] = (),
    kernel_names: str | Sequence[str] = (),
    devices: str | int | Sequence[str | int] = (),
    min_share: float | None = None,
    top: int | None = None,
    sort: str = "time",
    launches: bool = False,
    force: bool = False,
    dpi: float = 72,
    **options: Any,
) -> Shown:
    """Draw reports, a timeline, or what was made of them, as ``roofline plot`` does.

    Args:
        shown: an analysis, a kernel, a launch, a comparison or a selection; or a report, folder,
            glob pattern or timeline.
        path: a file to write: .png, .svg or .pdf, or .html for the page, which is then returned.
        view: "roofline", "units" or "gain", or several.
        kernels: of an analysis, regular expressions or families such as "gemm".
        kernel_names: whole names.
        devices: parts of names of GPUs, or indices.
        min_share: of the time profiled, 0 to 1.
        top: so many in the order of ``sort``, at least 1.
        sort: "time", "gain", "utilization", "intensity", "count" or "name".
        launches: launches instead of kernels.
        force: write over ``path``.
        dpi: dots an inch of a PNG, 36 to 600.
        options: further fields of ``roofline.plot.Options``: ``theme``, ``title``, ``width_px``,
            ``height_px``, ``levels``, ``datasheet``.

    Raises:
        ArgumentError: an argument is out of range, or not a known word.
        UsageError: nothing is left to draw, ``path`` exists, or matplotlib is not installed.
        InputError: a file cannot be read.

    """
    from roofline import notebook
    from roofline.analysis import analyze
    from roofline.plot import check_path, save
    from roofline.timeline.load import is_timeline

    number(36, 600, hint="72", dpi=dpi)
    choice = Choice(
        kernels=tuple(compiled(one) for one in several(kernels)),
        kernel_names=several(kernel_names),
        devices=tuple(map(str, several(devices))),
        min_share=min_share,
        top=top,
        sort=sort,
        launches=launches,
    )
    if isinstance(shown, Analysis):
        keep_inputs(Path(source.file) for source in shown.sources)
    elif not isinstance(shown, Displayed):
        keep_inputs([Path(shown)])
    if path is not None:
        check_path(Path(path), force=force)
    if not isinstance(shown, Displayed):
        shown = select(shown) if is_timeline(Path(shown)) else analyze(shown)
    value: Displayed | Chosen = shown
    if isinstance(shown, Analysis):
        value = chosen(shown, choice)
        options["launches"] = launches
    elif choice != Choice():
        raise UsageError(
            "only of an analysis kernels can be chosen",
            hint="leave out the options that choose some",
        )
    if path is not None and Path(path).suffix.lower() == ".html":
        page = notebook.page(value, view, **options)
        page.save(path, force=force)
        return page
    drawn = notebook.plot(value, view, **options)
    if path is not None:
        save(drawn, Path(path), dpi=dpi, force=force)
    return drawn


def chosen(analysis: Analysis, choice: Choice) -> Chosen:
    """What ``choice`` leaves of ``analysis``: a ``UsageError`` where that is nothing."""
    part = choose(analysis, choice)
    if part.analysis.results:
        return part
    for pattern in choice.kernels:
        if choice.exact_regex or not matching(analysis, pattern.pattern):
            raise no_kernel(analysis, pattern.pattern, "--kernel")
    for name in choice.kernel_names:
        if not any(is_named(r.measurement, name) for r in analysis.results):
            raise no_kernel(analysis, name, "--kernel-name")
    if choice.devices:
        devices = sorted({r.measurement.device.name or "unknown GPU" for r in analysis.results})
        raise UsageError(
            f"no launch on {few([*map(repr, choice.devices)], joint=' or ')}",
            hint=f"a part of one of these: {few(devices)}",
        )
    raise UsageError("nothing is left after filtering", hint="a lower --min-share")


# --- compare ----------------------------------------------------------------------------------


@checked
def compare(
    before: Analysis | str | Path,
    after: Analysis | str | Path,
    *,
    maps: str | Mapping[str, str] | Iterable[str | tuple[str, str]] = (),
    expect: str | Mapping[str, str | float] | Iterable[str | Named | Expectation] = (),
    because: str | Mapping[str, str] | Iterable[str | Named | Expectation] = (),
    noise: float | None = None,
    timeline: str | Path | None = None,
    allow: str | Sequence[str] = (),
    fail_on: str | Sequence[str] = (),
    specs: str | Path | None = None,
    rule: Rule | None = None,
) -> Comparison:
    """Compare two captures, as ``roofline compare`` does: faster or slower, and why.

    Args:
        before: an analysis, or a report, folder, glob pattern or baseline (.json).
        after: the same, after the change.
        maps: old names (or regular expressions) of kernels with their new ones: a dictionary,
            pairs, or "OLD=NEW".
        expect: predictions, "gemm=1.4x" or "gemm=same", or {"gemm": 1.4}.
        because: causes that they name, "dram" or "gemm=occupancy", or {"gemm": "occupancy"}.
        noise: a fraction, 0 to 1: changes of a time up to it are noise, up to 3 % with 0.03;
            without it the spread of the launches says.
        timeline: a timeline of ``before``, for what each change gives a step.
        allow: what may differ and yet be compared: "gpu", "kind", "rule", "all", or several.
        fail_on: gates, "regression=5%" or "gemm: time>120us", judged in ``.gates``.
        specs: as for ``analyze``; with ``rule`` for sides that are files.
        rule: the numbers to judge by.

    Raises:
        ArgumentError: an argument is of another type, out of range, or not a known word.
        InputError: a file cannot be read.
        NoKernelError: neither side has a kernel that is expected to change.
        UsageError: the captures do not compare, or a text is not understood.

    """
    from roofline.compare import gates, judge
    from roofline.compare.comparable import REFUSALS
    from roofline.compare.predictions import Expectation, parse_claim, parse_expect

    share(**unless_none(noise=noise))
    for one in several(allow):
        word((*REFUSALS, "all"), allow=one)
    renamed = [parse_map(one) if isinstance(one, str) else tuple(one) for one in several(maps)]
    expected = _parsed(Expectation, parse_expect, 1.4, expect=expect)
    expected += _parsed(Expectation, parse_claim, "bytes", because=because)
    for one in expected:
        if one.what == "step":
            command = f"roofline compare BEFORE AFTER --expect {one.text}"
            what = f"expect {one.text!r} is of the program's time, not of a kernel"
            raise UsageError(what, hint=f"{command} --time-before FILE --time-after FILE")
    asked = [gates.parse_gate(gate) for gate in several(fail_on)]
    first, second = (_side(side, specs, rule) for side in (before, after))
    for one in expected:  # of texts: a value may be of an earlier capture
        sides = () if one in (*several(expect), *several(because)) else (first, second)
        if one.pattern and sides and not any(matching(side, one.pattern) for side in sides):
            raise no_kernel(first, one.pattern)
    comparison = judge.compare(
        first,
        second,
        maps=renamed,
        allow=several(allow),
        noise=noise,
        expectations=expected,
        shares=None if timeline is None else _shares_of(first, Path(timeline)),
    )
    pairs = [_with_instructions(pair, first, second) for pair in comparison.pairs[:_LOOKED_AT]]
    comparison = replace(comparison, pairs=(*pairs, *comparison.pairs[_LOOKED_AT:]))
    return replace(comparison, gates=gates.judge(comparison, asked)) if asked else comparison


def parse_map(text: str) -> tuple[str, str]:
    """The kernels of OLD=NEW."""
    old, sign, new = text.partition("=")
    if not sign or not old or not new:
        raise UsageError(f"--map {text!r} is not OLD=NEW", hint="--map gemm_v1=gemm_v2")
    return old, new


def _side(side: Analysis | str | Path, specs: str | Path | None, rule: Rule | None) -> Analysis:
    from roofline.analysis import analyze
    from roofline.compare.baseline import load_baseline
    from roofline.timeline.load import is_timeline

    if isinstance(side, Analysis):
        return side
    path = Path(side)
    if is_timeline(path):
        why, hint = f"{path.name} is a timeline", f"roofline compare {path.name} AFTER"
        raise UsageError("captures are compared here", why=why, hint=hint)
    if path.suffix == ".json":
        return load_baseline(path)
    return analyze(path, specs=specs, rule=rule, merge=True)


def _shares_of(before: Analysis, timeline: Path) -> dict[int, tuple[float, float]]:
    """The (exposed, whole) share of a step of each group of ``before`` that ``timeline`` has."""
    from roofline.timeline import load_timeline, select
    from roofline.timeline.join import share_of

    selection = select(load_timeline(timeline))
    shares = {}
    for position, group in enumerate(before.groups):
        found = share_of(selection, group.result.measurement)
        if found is not None and found.wall_share is not None:
            shares[position] = (found.exposed_share or 0.0, found.wall_share)
    if not shares:
        raise UsageError(
            f"no kernel of BEFORE has a share of a step in {timeline.name}",
            hint="a timeline of the same program, recorded before the change",
        )
    return shares


def _with_instructions(pair: KernelPair, before: Analysis, after: Analysis) -> KernelPair:
    """The pair with a note of the wait whose time went, where both sides have samples."""
    from roofline.analysis import details_of
    from roofline.compare.change import wait_moved

    found: list[Details] = []
    for side, analysis in ((pair.before, before), (pair.after, after)):
        m = side.measured
        files = {source.path: source.file for source in analysis.sources}
        launched = [(r.measurement.source, r.measurement.index) for r in analysis.results]
        there = files.get(m.source) and (m.source, m.index) in launched
        if not pair.changed or pair.work.differs or not there:
            return pair
        try:
            found.append(details_of(analysis, launched.index((m.source, m.index))))
        except InputError:  # it was there to be analysed: nothing is lost but this note
            return pair
    said = wait_moved(pair, *found)
    return pair if said is None else replace(pair, notes=(*pair.notes, said))


def _parsed(
    kind: type[_Parsed], parse: Callable[[str], _Parsed], example: str | float, **given: Any
) -> list[_Parsed]:
    """Predictions or moves of texts, pairs or a dictionary: {"gemm": 1.4} is "gemm=1.4x"."""
    found: list[_Parsed] = []
    ((name, values),) = given.items()
    for one in several(values):
        if isinstance(one, tuple) and len(one) == 2:
            what, value = one
            factor = "" if isinstance(value, str) or not value else "x"
            one = f"{what}={value}{factor}"
        found.append(parse(one) if isinstance(one, str) else one)
        of_type(kind, f"{name}={ {'gemm': example} }", **{name: found[-1]})
    return found


# --- select -----------------------------------------------------------------------------------


@checked
def select(
    *timelines: str | Path,
    step: str | None = None,
    keep: Keep | int = "inner",
    start: int | None = None,
    end: int | None = None,
    step_at: float = 50.0,
    device: str | int | Sequence[str | int] | None = None,
    top: int = 5,
    min_share: float = 0.01,
    by: By = "config",
    moves: str | Mapping[str, str | float] | Iterable[str | Named | Move] = (),
    communication: str | None = None,
    idle_causes: str | Path | None = None,
    warmup_steps: int = 2,
    own_names: bool = False,
    lanes: bool = True,
    stream: bool = False,
    nsys: str | None = None,
    on_error: Callable[[InputError], None] | None = None,
) -> Selection:
    """Pick the kernels of a timeline that are worth profiling, as ``roofline select`` does.

    Args:
        timelines: files of nsys, PyTorch or JAX, or a folder; several are the ranks of one job.
        step: a regular expression for the ranges that are the steps.
        keep: the steps that count: "inner" (all but the first and the last), "all", a number
            from 1, or those of the first and the last: (2, 5).
        start: of a stretch of time in place of steps, in ns from the timeline's beginning.
        end: of that stretch, in ns from the timeline's beginning.
        step_at: the percentile of the step that is judged, above 0 and at most 100.
        device: a GPU's index or a part of its name; of several the busiest is ranked. Of all, the
            one that the others wait for, if they have collectives in common.
        top: select at most so many kernels.
        min_share: of the wall time, 0 to 1.
        by: what is told apart: "config" (name, grid and block), "name", "op", "module" or "nvtx".
        moves: what if kernels were faster or gaps closed, as ``--if``: "gemm=1.2x" or
            {"gemm": 1.2}, "gaps=0".
        communication: a regular expression for more kernels that wait for other GPUs.
        idle_causes: a TOML file with more classes of idle time.
        warmup_steps: to skip where the timeline does not show which launch it saw.
        own_names: show names of ranges that may be private.
        lanes: keep the step's lanes, which ``.plot()`` draws.
        stream: read JSON in small pieces, to save memory.
        nsys: the program that exports .nsys-rep.
        on_error: called with each of several files that cannot be read; else the first raises.

    Raises:
        ArgumentError: an argument is out of range, or not a known word.
        InputError: a file, or every one of several, cannot be read.
        UsageError: a step, a device or a move is not found.

    """
    from roofline.timeline import load_timeline, select_ranks
    from roofline.timeline.idle import load_classes
    from roofline.timeline.load import names_apart, timeline_files
    from roofline.timeline.model import Criteria, Move
    from roofline.timeline.what_if import what_if

    def read() -> Iterator[Timeline]:
        for file, name in zip(files, names_apart(files), strict=True):
            try:
                found = load_timeline(file, step=step, stream=stream, nsys=nsys)
                yield replace(found, file=name)
            except InputError as error:
                if len(files) == 1 or on_error is None:
                    raise
                on_error(error)

    criteria = Criteria(
        top=top,
        min_share=min_share,
        keep=(keep, keep) if isinstance(keep, int) else keep,
        start=start,
        end=end,
        by=by,
        warmup_steps=warmup_steps,
        communication=communication,
        lanes=lanes,
        own_names=own_names,
        step_at=step_at,
    )
    if start is not None and end is not None:
        whole(start + 1, end=end)
    moved = _parsed(Move, parse_move, 1.2, moves=moves)
    classes = None if idle_causes is None else load_classes(Path(idle_causes))
    files = timeline_files(map(Path, timelines))
    for name, given in (("--device", device not in (None, ())), ("--if", moves)):
        if given and len(files) > 1:
            raise UsageError(f"{name} is of one file", hint="select from that rank's file alone")
    readable = read()
    first = next(readable, None)
    if first is None:
        raise InputError("no timeline can be read", hint="a timeline that has kernels")
    names = {i: d.name for i, d in first.devices.items()}
    criteria = replace(criteria, device=_devices(device, names))
    if moved:
        return what_if(first, moved, criteria, classes, _floors(moved))
    return select_ranks(chain([first], readable), criteria, classes)


def parse_move(text: str) -> Move:
    """One move: WHAT=2x (so many times faster), WHAT=0 (at no cost), or floors=REPORT."""
    from roofline.timeline.model import Move

    what, _, value = text.rpartition("=")
    if text.startswith("floors=") and value:
        return Move(what="floors", factor=1, report=Path(text.removeprefix("floors=")))
    match = _FACTOR.fullmatch(value)
    if not what or match is None or (match[1] and not float(match[1])):
        raise UsageError(
            f"--if {text!r} is not understood",
            hint="'gemm=1.2x', kernels=2x, gaps:data_loading=0, comm=0 or floors=REPORT.ncu-rep",
        )
    return Move(what=what, factor=1 / float(match[1]) if match[1] else 0.0)


def _floors(moves: Sequence[Move]) -> Analysis | None:
    """The reports whose kernels are taken to their ceilings."""
    from roofline.analysis import analyze

    reports = [move.report for move in moves if move.report is not None]
    return analyze(*reports) if reports else None


def _devices(
    asked: str | int | Sequence[str | int] | None, names: dict[int, str | None]
) -> tuple[int, ...] | None:
    """The indexes of the GPUs that are asked for, each by its index or a part of its name."""
    found: list[int] = []
    for one in () if asked is None else several(asked):
        of_type((str, int), "an index, or a part of a name", device=one)
        if isinstance(one, int) or one.isdecimal():
            found.append(int(one))
            continue
        fits = [i for i, name in names.items() if one.casefold() in (name or "").casefold()]
        if not fits:
            there = ", ".join(f"{i} ({name or 'no name'})" for i, name in sorted(names.items()))
            hint = f"--device with the index of one: {there}"
            raise UsageError(f"--device {one!r} means no GPU", hint=hint)
        found += fits
    return tuple(found) or None
