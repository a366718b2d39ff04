"""Idle time by cause, who sets the pace, what slow steps have more of, and a step in lanes.

What the thread that launches next did in a gap tells its cause, by patterns of names. The classes
and their patterns are data, in ``idle.toml``; people put classes of their own first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from roofline.errors import InputError
from roofline.files import read_text
from roofline.patterns import compiled
from roofline.timeline.device import DeviceEvents, Groups, Stretches
from roofline.timeline.events import Calls, Integers, different
from roofline.timeline.model import (
    SCATTERED,
    First,
    GapBand,
    IdleCause,
    IdleClass,
    Lane,
    Span,
    StepExcess,
    StepSpread,
    StepUse,
    Use,
)
from roofline.timeline.occupancy import COMMUNICATION, COMPUTE, COPY, Clock, Kinds
from roofline.timeline.steps import placed

_HOME = Path(__file__).with_name("idle.toml")
# A gap of up to 1.5 times the usual time between launches (the median) is the cost of launching
# itself: 20 us on any host, 100 us on none. On public recordings of eager PyTorch launches are 17
# to 58 us apart; where it is 48 us (ViT on H100), 10 % to 90 % are from 30 to 69 us, in one hump.
_LAUNCH_NS = (20_000, 100_000)
_USUAL = 1.5
_LAUNCHES = 20  # so many tell what is usual
_DRAINED_NS = 100_000  # a gap after a wait: longer ones are what the host did after it
_WAITED = 0.1  # of a gap: a launch that was done by then left the rest to the GPU
_BANDS_S = (0.0, 10e-6, 100e-6, 1e-3, 10e-3)
_NO_WAIT = 0.05  # of the wall time: a host that waits less never waits for the GPU
_MOST = 0.5  # of the idle time
_MUCH = 0.1 + 1e-9  # of the wall time: less idle time sets no pace
_EVEN = 1.5 + 1e-9  # kernels made so many times faster are hard work
_SHORT_NS = 100_000  # the longest of gaps that many launches make together
_FEW = 10  # such gaps at least: of fewer, fewer launches would change little
_SLOWER = 1.1  # times the length of a typical step
_PART = 0.05  # of what a step takes longer: less is not listed
_PARTS = 5
_BINS = 960  # of a step: about a pixel each
_LEVELS = 10  # of how much of a bin something took


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleClasses:
    """Classes by code, in the order in which they are tried."""

    by_code: Mapping[str, IdleClass] = field(default_factory=dict)

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes in order: what ``classify`` answers are places in it."""
        return tuple(self.by_code)

    @property
    def patterns(self) -> dict[str, re.Pattern[str]]:
        """One expression for each class that has names."""
        return {
            code: re.compile(_either(found.names))
            for code, found in self.by_code.items()
            if found.names
        }

    @property
    def any_name(self) -> re.Pattern[str]:
        """What a name must have to belong to any class."""
        return re.compile(_either(p.pattern for p in self.patterns.values()))


@cache
def known_classes() -> IdleClasses:
    """The classes that come with the package."""
    return IdleClasses(by_code=_read(_HOME.read_bytes(), _HOME.name))


def load_classes(path: Path) -> IdleClasses:
    """Classes of a file of one's own before those known; a known class gets more names.

    Raises:
        InputError: the file cannot be read, or is no such table.
        UsageError: a name is not a regular expression.

    """
    known = dict(known_classes().by_code)
    own = {}
    for code, found in _read(read_text(path).encode(), path.name, known).items():
        if code in known:
            known[code] = found
        else:
            own[code] = found
        if found.names:  # refused before the work
            compiled(_either(found.names), option="--idle-causes")
    return IdleClasses(by_code=own | known)


def _either(names: Iterable[str]) -> str:
    return "|".join(f"(?:{name})" for name in names)


class _Row(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    title: str | None = None
    hypothesis: str | None = None
    check: str | None = None
    remedy: str | None = None
    color: Annotated[str, msgspec.Meta(pattern="^#[0-9a-fA-F]{6}$")] | None = None
    names: tuple[str, ...] = ()


def _read(
    text: bytes, file: str, known: Mapping[str, IdleClass] | None = None
) -> dict[str, IdleClass]:
    """The classes of a file; what one does not say is that of the ``known`` one, or its code."""
    try:
        rows = msgspec.toml.decode(text, type=dict[str, _Row])
    except (msgspec.MsgspecError, ValueError) as error:
        raise InputError(
            f"cannot read {file}",
            why=f"{error}",
            hint='tables as [my_class] with names = ["regular expression"], title, hypothesis, '
            'check, remedy and color = "#118ab2"',
        ) from error
    found = {}
    for code, row in rows.items():
        base = (known or {}).get(code) or IdleClass(title=code.replace("_", " "))
        said = msgspec.to_builtins(row) | {"names": row.names + base.names}
        found[code] = replace(base, **said)
    return found


def classify(
    gaps: Stretches,
    calls: Calls,
    names: Mapping[int, str],
    classes: IdleClasses,
    launches: Integers,
) -> NDArray[np.int8]:
    """For each stretch the place of its class among the ``codes`` of ``classes``.

    ``launches`` are the times at which the host launched.
    """
    place = {code: i for i, code in enumerate(classes.codes)}
    apart = np.diff(np.sort(launches))
    apart = apart[apart > 0]  # a graph is one launch
    usual = np.median(apart) if len(apart) >= _LAUNCHES else 0
    del apart
    length = gaps.end - gaps.start
    cause = np.full(len(length), -1, dtype=np.int8)
    cause[~gaps.known] = place["unknown"]
    cause[gaps.tail] = place["tail"]
    cause[gaps.known & (gaps.late < _WAITED * length)] = place["queued"]
    cause[(cause == place["queued"]) & gaps.graph] = place["graph"]
    for code, thread, clock in _covering(calls, names, classes):
        mine = np.flatnonzero((cause < 0) & (gaps.thread == thread))
        start, end = gaps.start[mine], gaps.end[mine]
        fits = 2 * (clock.inside(end) - clock.inside(start)) > end - start
        if code == "synchronisation":
            fits |= clock.covers(start) & (end - start < _DRAINED_NS)
        cause[mine[fits]] = place[code]
    left, short = cause < 0, length < np.clip(_USUAL * usual, *_LAUNCH_NS)
    cause[left & short] = place["launch_rate"]
    cause[left & ~short] = place["host_code"]
    return cause


def _covering(
    calls: Calls, names: Mapping[int, str], classes: IdleClasses
) -> Iterator[tuple[str, int, Clock]]:
    """For each class and thread the time that its calls cover, in the order of the classes."""
    if not len(calls.name):
        return
    for code, pattern in classes.patterns.items():
        keys = [key for key, name in names.items() if name and pattern.search(name)]
        if not keys:
            continue
        mine = np.flatnonzero(np.isin(calls.name, keys))
        for thread in different(calls.thread[mine]).tolist():
            own = mine[calls.thread[mine] == thread]
            yield code, thread, Clock.union(calls.start[own], calls.end[own])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IdleTime:
    """The idle stretches of a device: (window, start, end), the class and the late part of each."""

    part: DeviceEvents
    classes: IdleClasses
    pieces: Integers
    cause: NDArray[np.int8]
    late: Integers

    @property
    def length(self) -> Integers:
        """How long each is."""
        return self.pieces[:, 2] - self.pieces[:, 1]

    def by_cause(self, windows: Sequence[int]) -> NDArray[Any]:
        """The mean time over ``windows`` in s, by place among the codes of the classes."""
        mine = np.isin(self.pieces[:, 0], windows)
        size = len(self.classes.codes)
        sums = np.bincount(self.cause[mine], weights=self.length[mine], minlength=size)
        return sums / 1e9 / max(len(windows), 1)

    def causes(self, window: int, wall_s: float) -> tuple[IdleCause, ...]:
        """The idle time of one window by class, the largest first."""
        mine = self.pieces[:, 0] == window
        found = []
        for place, code in enumerate(self.classes.codes):
            own = np.flatnonzero(mine & (self.cause == place))
            if len(own):
                length = self.length[own]
                total_s, longest = int(length.sum()) / 1e9, own[[int(length.argmax())]]
                texts = asdict(self.classes.by_code[code])
                cause = IdleCause(
                    **texts,
                    code=code,
                    total_s=total_s,
                    share=total_s / wall_s,
                    gaps=len(own),
                    longest=self.part.named(self.pieces[longest, 1:])[0],
                )
                found.append(cause)
        return tuple(sorted(found, key=lambda c: -c.total_s))

    def bands(self) -> tuple[GapBand, ...]:
        """The stretches of the counted windows by length."""
        length = self.length[np.isin(self.pieces[:, 0], self.part.kept)]
        band = np.digitize(length, np.array(_BANDS_S[1:]) * 1e9)
        return tuple(
            GapBand(
                from_s=low,
                to_s=high,
                gaps=int((band == i).sum()),
                total_s=int(length[band == i].sum()) / 1e9,
            )
            for i, (low, high) in enumerate(zip(_BANDS_S, (*_BANDS_S[1:], None), strict=True))
        )

    def launch_bound(self, window: int, use: Use) -> tuple[bool, float]:
        """Whether most of a window's idle time is in short gaps between launches, and what part."""
        scattered = [i for i, code in enumerate(self.classes.codes) if code in SCATTERED]
        mine = (self.pieces[:, 0] == window) & (self.length < _SHORT_NS)
        short = self.length[mine & np.isin(self.cause, scattered)]
        share = int(short.sum()) / 1e9 / use.idle_s if use.idle_s else 0.0
        enough = len(short) >= _FEW and use.idle_s > _MUCH * use.wall_s
        return enough and share >= _MOST, share

    def host_paced(self, window: int, use: StepUse) -> bool | None:
        """Whether in a window the GPU waits for the host and the host never for the GPU."""
        if use.host_wait_s is None:
            return None
        late_s = int(self.late[self.pieces[:, 0] == window].sum()) / 1e9
        return (
            use.host_wait_s < _NO_WAIT * use.wall_s
            and use.idle_s > _MUCH * use.wall_s
            and late_s >= _MOST * use.idle_s
        )


def idle_time(part: DeviceEvents, classes: IdleClasses) -> IdleTime:
    """Classify every idle stretch of a device."""
    pieces = part.occupancy.idle
    found, events, timeline = part.stretches(pieces[:, 1:]), part.events, part.timeline
    launches = events.launch[events.launch >= 0]
    cause = classify(found, timeline.calls, timeline.call_names, classes, launches)
    found.late[~found.known] = 0  # in place: a column more is memory
    return IdleTime(part=part, classes=classes, pieces=pieces, cause=cause, late=found.late)


def distribution(part: DeviceEvents, groups: Groups, idle: IdleTime) -> dict[str, Any]:
    """``spread``, and what ``cold`` and ``slow`` steps have more of; nothing for a window."""
    if not part.ranged or len(part.kept) < 2:
        return {}
    p50, p95, p99, most = map(part.step_at, (50, 95, 99, 100))
    walls_s = [(w.end - w.start) / 1e9 for w in part.windows]
    slow = [i for i in part.kept if walls_s[i] >= max(walls_s[p95], _SLOWER * walls_s[p50])]
    cold = [i for i, w in enumerate(part.windows) if w.left_out == "first"]
    kinds = ("copy" if kind == COPY else "kernel" for kind in groups.kind.tolist())
    names = [*zip(kinds, (i.name for i in groups.identities), strict=True)]
    names += [("idle", found.title) for found in idle.classes.by_code.values()]
    started = placed(part.events.start, part.windows)
    elsewhere = part.step != started
    uses = part.occupancy.windows

    def spent(windows: list[int]) -> NDArray[Any]:
        """What ran in ``windows`` and the idle time: s a window, launches, those made elsewhere."""
        events, clock = part.events, Clock.of([part.windows[i] for i in windows])
        here = np.isin(started, windows)
        lasted = (clock.inside(events.end) - clock.inside(events.start)) / 1e9
        columns = (lasted, here, here & elsewhere)
        size = len(groups.identities)
        sums = np.stack([np.bincount(part.group, c, minlength=size) for c in columns])
        idle_s = idle.by_cause(windows)
        return np.hstack([sums / len(windows), np.stack([idle_s, idle_s * 0, idle_s * 0])])

    def excess(windows: list[int]) -> StepExcess | None:
        if not windows:
            return None
        more_s = math.fsum(walls_s[i] for i in windows) / len(windows) - walls_s[p50]
        parts: dict[tuple[str, str], NDArray[Any]] = {}
        rows = np.stack([spent([p50]), spent(windows)]).transpose(2, 0, 1)
        for key, row in zip(names, rows, strict=True):
            parts[key] = parts.get(key, 0) + row  # grids of a kernel have one name
        found = [
            ((*key, more), (float(typical), float(here), float(others)))
            for key, ((was_s, typical, _), (is_s, here, others)) in parts.items()
            if (more := float(is_s - was_s)) > _PART * abs(more_s)
        ]
        found.sort(key=lambda p: -p[0][2])
        return StepExcess(
            steps=tuple(part.windows[i].number for i in windows),
            more_s=more_s,
            parts=tuple(p for p, _ in found[:_PARTS]),
            split=tuple(
                (name, math.fsum(uses[i].parts[name] for i in windows) / len(windows) - was_s)
                for name, was_s in uses[p50].parts.items()
            ),
            launches=tuple(n for _, n in found[:_PARTS]),
        )

    spread = StepSpread(
        p50_s=walls_s[p50], p95_s=walls_s[p95], p99_s=walls_s[p99], max_s=walls_s[most]
    )
    return {"spread": spread, "cold": excess(cold), "slow": excess(slow)}


def first_of(use: Use, *, host_paced: bool | None) -> First:
    """What to look at first: kernels, unless another part is worth more than they easily are.

    A part comes first where compute kernels would have to run half again as fast to save as much
    as it takes; gaps also where the host sets the pace, for then faster kernels save nothing.
    """
    parts = {part: s for part, s in use.parts.items() if part is not First.KERNELS}
    part = max(parts, key=lambda p: parts[p])
    even = use.break_even(part)
    if even is None or even > _EVEN:
        return part
    return First.GAPS if host_paced else First.KERNELS


# --- a picture


def step_lanes(idle: IdleTime, window: int, kind: Kinds) -> tuple[Lane, ...]:
    """The lanes of one window; ``kind`` is that of each group.

    The host's lane is of the threads that launched.
    """
    part = idle.part
    step, events, calls = part.windows[window], part.events, part.timeline.calls

    edges = np.linspace(step.start, step.end, _BINS + 1).astype(np.int64)

    def spans(start: Integers, end: Integers, what: str) -> Iterator[Span]:
        own = (start < step.end) & (end > step.start)
        if not own.any():
            return
        order = np.argsort(start[own], kind="stable")
        clock = Clock.union(start[own][order], end[own][order])
        share = np.diff(clock.inside(edges)) / np.maximum(np.diff(edges), 1)
        level = np.ceil(share * _LEVELS)
        first = np.flatnonzero(np.diff(level, prepend=-1))
        for i, j in pairwise([*first.tolist(), _BINS]):
            if level[i]:
                begun, done = ((int(edges[k]) - step.start) / 1e9 for k in (i, j))
                yield begun, done, what, float(level[i]) / _LEVELS

    inside = (events.start < step.end) & (events.end > step.start)
    host = np.isin(calls.thread, np.unique(events.thread[inside]))
    names = part.timeline.call_names
    cuda = np.isin(calls.name, [k for k, name in names.items() if name.startswith("cu")])
    waits = part.waiting
    groups = (("operator", host & ~cuda), ("cuda", host & cuda & ~waits), ("wait", host & waits))
    pieces = idle.pieces[idle.pieces[:, 0] == window]
    causes = idle.cause[idle.pieces[:, 0] == window]
    lanes = [
        Lane(
            name="host",
            spans=tuple(s for what, m in groups for s in spans(calls.start[m], calls.end[m], what)),
        ),
        Lane(
            name="idle",
            spans=tuple(
                s
                for place, code in enumerate(idle.classes.codes)
                for s in spans(pieces[causes == place, 1], pieces[causes == place, 2], code)
            ),
        ),
    ]
    for name, which in (("copies", COPY), ("compute", COMPUTE), ("communication", COMMUNICATION)):
        own = kind[part.group] == which
        lanes.append(Lane(name=name, spans=tuple(spans(events.start[own], events.end[own], name))))
    return tuple(lane for lane in lanes if lane.spans)
