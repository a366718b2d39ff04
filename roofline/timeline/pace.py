"""What a step waits for: the step that is judged, its idle time by cause, and who sets the pace."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roofline.timeline.device import DeviceEvents, Groups
from roofline.timeline.events import Integers
from roofline.timeline.idle import IdleClasses, classify
from roofline.timeline.model import First, GapBand, IdleCause, StepExcess, StepSpread, StepUse, Use
from roofline.timeline.occupancy import COPY

_BANDS_S = (0.0, 10e-6, 100e-6, 1e-3, 10e-3)
_NO_WAIT = 0.05  # of the wall time: a host that waits less never waits for the GPU
_MOST = 0.5  # of the idle time
_MUCH = 0.1 + 1e-9  # of the wall time: less idle time sets no pace
_EVEN = 1.5 + 1e-9  # kernels made so many times faster are hard work
_SHORT_NS = 100_000  # gaps that many launches make together:
_LAUNCHES = 10  # so many, or fewer launches would change little
_SLOWER = 1.1  # times the length of a typical step
_PART = 0.05  # of what a step takes longer: less is not listed
_PARTS = 5
_SCATTERED = ("launch_rate", "host_code", "optimizer", "queued", "unknown")


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

    def launch_bound(self, window: int, use: Use) -> bool:
        """Whether most of a window's idle time is in short gaps that have no other cause."""
        scattered = [i for i, code in enumerate(self.classes.codes) if code in _SCATTERED]
        mine = (self.pieces[:, 0] == window) & (self.length < _SHORT_NS)
        short = self.length[mine & np.isin(self.cause, scattered)]
        enough = len(short) >= _LAUNCHES and use.idle_s > _MUCH * use.wall_s
        return enough and int(short.sum()) / 1e9 >= _MOST * use.idle_s

    def host_paced(self, window: int, use: Use, host_wait_s: float | None) -> bool | None:
        """Whether the GPU waits for the host and the host never for the GPU."""
        if host_wait_s is None:
            return None
        late_s = int(self.late[self.pieces[:, 0] == window].sum()) / 1e9
        counted_s = self.part.occupancy.use.wall_s
        return (
            host_wait_s < _NO_WAIT * counted_s
            and use.idle_s > _MUCH * use.wall_s
            and late_s >= _MOST * use.idle_s
        )


def idle_time(part: DeviceEvents, classes: IdleClasses) -> IdleTime:
    """Classify every idle stretch of a device."""
    pieces = part.occupancy.idle
    found = part.stretches(pieces[:, 1:])
    names = part.timeline.call_names
    return IdleTime(
        part=part,
        classes=classes,
        pieces=pieces,
        cause=classify(
            found, part.timeline.calls, names, classes, part.events.launch[part.events.launch >= 0]
        ),
        late=np.where(found.known, found.late, 0),
    )


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

    def excess(windows: list[int]) -> StepExcess | None:
        if not windows:
            return None
        spent = [
            np.concatenate([_by_kernel(part, groups, w), idle.by_cause(w)])
            for w in (windows, [p50])
        ]
        more_s = math.fsum(walls_s[i] for i in windows) / len(windows) - walls_s[p50]
        parts = zip(names, (spent[0] - spent[1]).tolist(), strict=True)
        found = [(kind, name, s) for (kind, name), s in parts if s > _PART * abs(more_s)]
        return StepExcess(
            steps=tuple(part.windows[i].number for i in windows),
            more_s=more_s,
            parts=tuple(sorted(found, key=lambda p: -p[2])[:_PARTS]),
        )

    spread = StepSpread(
        p50_s=walls_s[p50], p95_s=walls_s[p95], p99_s=walls_s[p99], max_s=walls_s[most]
    )
    return {"spread": spread, "cold": excess(cold), "slow": excess(slow)}


def _by_kernel(part: DeviceEvents, groups: Groups, windows: Sequence[int]) -> NDArray[Any]:
    """The mean time over ``windows`` of each group's events, in s."""
    mine = np.isin(part.step, windows)
    lasted = (part.events.end - part.events.start)[mine]
    sums = np.bincount(part.group[mine], weights=lasted, minlength=len(groups.identities))
    return sums / 1e9 / len(windows)


def first_of(use: StepUse, *, host_paced: bool | None) -> First:
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
