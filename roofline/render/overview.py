"""What is said once for a whole analysis: what was read, and below the kernels gaps and notes."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from roofline.model import Result, Unread
from roofline.outlook import outlook
from roofline.text import names, numbers
from roofline.text.notes import note_text
from roofline.text.numbers import plural
from roofline.view import Chosen, DeviceClocks, by_place, devices, missing_of

_OF = "share of the profiled time"
UNDER_PROFILER = f"Times measured under ncu; share = {_OF}, not of a step."
_LISTED = 4  # more results than that are counted, not listed


def head(part: Chosen) -> Iterator[str]:
    """What was read: the GPUs with their clocks, how many launches, what of it is shown."""
    used, sources = part.devices, part.analysis.sources
    where = plural(len(sources), "file")
    if len(sources) == 1:
        where = names.printable(names.last_part(sources[0].path))
    elif part.analysis.merged:
        where += ", each kernel summed over them (--merge)"
    if part.analysis.stated:
        yield from map(device, used)
        yield f"{plural(part.total_groups, 'kernel')}, {numbers.duration(part.total_s)} as stated"
        return
    read = f"{plural(part.total_launches, 'launch')} of {plural(part.total_kernels, 'kernel')}"
    spent = "time not measured"
    if part.total_s is not None:
        spent = f"{numbers.duration(part.total_s)} under ncu"
    alone = used[0] if len(used) == 1 else None
    if alone is None:
        yield f"{plural(len(used), 'kind')} of GPU, {read}, {spent}, in {where}"
    else:
        yield f"{_model(alone)}, {read}, {spent} ({_all_clocks(alone)}), in {where}"
    if shown := scope(part):
        yield shown
    if alone is None:
        yield from (device(one, counted=True) for one in devices(part.analysis.results))
    yield from unread(part.analysis.unread)


def unread(files: Sequence[Unread], side: str = "") -> Iterator[str]:
    """What the answer lacks: a line for each of the first files, ``side`` before it."""
    for file in files[:_LISTED]:
        what = "cannot read all of" if file.launches else "cannot read"
        yield names.printable(f"{side}{what} {file.path}: {file.why}")
    if (more := len(files) - _LISTED) > 0:
        yield f"{side}cannot read {plural(more, 'more file')}"


def next_command(part: Chosen) -> Iterator[str]:
    """What to type where there are two files: with their folders, so for a terminal alone."""
    sources = part.analysis.sources
    gpus = {r.measurement.device.name for r in part.analysis.results}
    if part.many_files and len(sources) == 2 and len(gpus) == 1:
        before, after = (shlex.quote(names.printable(s.file or s.path)) for s in sources)
        yield f"Before and after? roofline compare {before} {after} says what changed."


def under_profiler(part: Chosen) -> str:
    """What times and shares are, and of what."""
    if part.analysis.stated:
        return "Operations, bytes and times as stated; share = share of the stated time."
    one = [*(["file"] if part.many_files else []), *(["GPU"] if part.many_gpus else [])]
    of = f" of its {' and '.join(one)}" if one else ""
    return UNDER_PROFILER.replace(_OF, _OF + of)


def answers(part: Chosen) -> Iterator[str]:
    """The answer in a sentence or two; one for each file and GPU, of many those with most time."""
    places = by_place(part)
    if len(places) < 2:
        yield answer(part)
        return
    files = len({g.result.measurement.source for g in part.analysis.groups})
    gpu_told = not part.many_files or len(places) > files
    longest = sorted(places, key=lambda place: -(place.total_s or 0.0))[:_LISTED]
    said: dict[str, list[str]] = {}
    for place in (one for one in places if one in longest):
        first = place.analysis.groups[0].result
        where = [names.printable(names.last_part(first.measurement.source))] * part.many_files
        where += [gpu_name(part)(first)] * gpu_told
        said.setdefault(answer(place), []).append(" on ".join(where))
    yield from (f"{names.few(wheres)}: {text}" for text, wheres in said.items())
    if left := len(places) - len(longest):
        yield f"... and {plural(left, 'more ' + ('GPU' if not part.many_files else 'file'))}"


def answer(part: Chosen) -> str:
    """The answer in a sentence or two."""
    return names.printable(" ".join(map(note_text, outlook(part))))


def gpu_name(part: Chosen) -> Callable[[Result], str]:
    """The GPU of a launch in few letters: "H100 80GB HBM3", with an index where that tells more."""
    seen = {(r.measurement.device.name, r.measurement.device.index) for r in part.analysis.results}
    models = Counter(name for name, _ in seen)

    def told(result: Result) -> str:
        what = result.measurement.device
        index = "" if what.index is None else str(what.index)
        name = (what.name or "unknown GPU").removeprefix("NVIDIA ").removeprefix("GeForce ")
        if len(models) == 1:
            return f"GPU {index}".rstrip()
        return names.printable(f"{name} {index}".rstrip() if models[what.name] > 1 else name)

    return told


def device(gpu: DeviceClocks, *, counted: bool = False) -> str:
    """One GPU: "NVIDIA A100 (cc 8.0, 108 SMs) at SM 1.07 GHz, DRAM 1.21 GHz"."""
    what = gpu.device
    facts = [f"cc {what.compute_capability}"] if what.compute_capability else []
    facts += [f"{what.sm_count} SMs"] if what.sm_count else []
    clocks = _all_clocks(gpu)
    text = _model(gpu) + (f" ({', '.join(facts)})" if facts else "")
    text += f" at {clocks}" if gpu.sm_clock_hz or gpu.dram_clock_hz else f", {clocks}"
    return text + (f": {plural(gpu.launches, 'launch')}" if counted else "")


def _model(gpu: DeviceClocks) -> str:
    """Its name, and how many there are of it: "4x NVIDIA T4"."""
    many = f"{len(gpu.indices)}x " if len(gpu.indices) > 1 else ""
    return many + names.printable(gpu.device.name or "unknown GPU")


def _all_clocks(gpu: DeviceClocks) -> str:
    spans = (("SM", gpu.sm_clock_hz), ("DRAM", gpu.dram_clock_hz))
    return ", ".join(f"{name} {_clocks(*span)}" for name, span in spans if span) or (
        "clocks not measured"
    )


def _clocks(low_hz: float, high_hz: float) -> str:
    low, high = numbers.clock(low_hz), numbers.clock(high_hz)
    if low == high:
        return low
    number, unit = low.split()
    return f"{number if high.endswith(f' {unit}') else low} to {high}"


def short_files(paths: list[str], letters: int) -> dict[str, str]:
    """Short forms of file names that still tell them apart."""
    bare = [names.printable(names.last_part(path).replace(".ncu-rep", "")) for path in paths]
    if max(map(len, bare)) > letters:
        pairs = enumerate(zip(*bare, strict=False))
        alike = next((i for i, chars in pairs if len({*chars}) > 1), min(map(len, bare)))
        alike = max(bare[0].rfind(sign, 0, alike) for sign in "_-. ") + 1
        bare = [f"{names.ELLIPSIS}{name[alike:]}" if alike else name for name in bare]
    return dict(zip(paths, (names.middle(name, letters) for name in bare), strict=True))


def scope(part: Chosen) -> str:
    """What filters left over; empty where there are none."""
    if not part.filters:
        return ""
    return (
        f"Shown: {plural(len(part.analysis.results), 'launch')} of "
        f"{plural(len(part.analysis.groups), 'kernel')} ({names.few(part.filters, joint=' ')}); "
        "shares are still of all that was profiled"
    )


def footnotes(part: Chosen, results: Sequence[Result]) -> Iterator[str]:
    """Gaps and how to close them, and notes, each said once; "#2" is the second of ``results``."""
    placed = list(enumerate(results, 1))
    gaps = _once((m.quantity, m.flag, place) for place, r in placed for m in missing_of(r))
    notes = _once((n.code, note_text(n), place) for place, r in placed for n in r.measurement.notes)

    def where(places: Iterable[int]) -> str:
        at = list(dict.fromkeys(places))
        if len(at) == len(results):
            return ""
        if len(at) > _LISTED:
            return f" ({len(at):,} of {len(results):,})"
        return f" ({', '.join(f'#{place}' for place in at)})"

    if gaps:
        listed = ", ".join(f"{names.quantity(key)}{where(at)}" for key, (_, at) in gaps.items())
        yield f"Not measured: {listed}. To collect: {_command(flag for flag, _ in gaps.values())}"
    for text, at in notes.values():
        yield f"{names.printable(text)}{where(at)}"
    yield from source_notes(part)


def _once(found: Iterable[tuple[str, str, int]]) -> dict[str, tuple[str, list[int]]]:
    """Each code with its first text and the places of all that have it."""
    said: dict[str, tuple[str, list[int]]] = {}
    for code, text, place in found:
        said.setdefault(code, (text, []))[1].append(place)
    return said


def _command(flags: Iterable[str]) -> str:
    """A whole ncu command line of several flags, each given once, metrics in one list."""
    metrics: dict[str, None] = {}
    others: dict[str, None] = {}
    for flag in flags:
        name, _, value = flag.partition(" ")
        if name == "--metrics":
            metrics |= dict.fromkeys(value.split(","))
        else:
            others[flag] = None
    listed = [f"--metrics {','.join(metrics)}"] if metrics else []
    return " ".join(["ncu", *others, *listed, "-o REPORT PROGRAM"])


def source_notes(part: Chosen) -> Iterator[str]:
    """Notes on whole files, each said once: "a.ncu-rep: ...", or "500 files: ..."."""
    sources = part.analysis.sources
    carriers: dict[str, list[str]] = {}
    for source in sources:
        for note in source.notes:
            carriers.setdefault(names.printable(note_text(note)), []).append(source.path)
    for text, paths in carriers.items():
        where = names.printable(names.last_part(paths[0]))
        if len(paths) > 1:
            of = "" if len(paths) == len(sources) else f" of {len(sources):,}"
            where = f"{len(paths):,}{of} files"
        yield f"{where}: {text}"
