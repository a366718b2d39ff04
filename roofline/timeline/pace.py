"""What a step waits for: the step that is judged, its idle time by cause, and who sets the pace."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roofline.timeline.device import DeviceEvents
from roofline.timeline.events import Integers
from roofline.timeline.idle import IdleClasses, classify
from roofline.timeline.model import First, GapBand, IdleCause, StepUse, Use

_BANDS_S = (0.0, 10e-6, 100e-6, 1e-3, 10e-3)
_NO_WAIT = 0.05  # of the wall time: a host that waits less never waits for the GPU
_MOST = 0.5  # of the idle time
_MUCH = 0.1  # of the wall time: less idle time sets no pace
_EVEN = 1.5 + 1e-9  # kernels made so many times faster are hard work
_SHORT_NS = 100_000  # gaps that many launches make together
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
                texts = self.classes.by_code[code]
                cause = IdleCause(
                    code=code,
                    title=texts.title,
                    hypothesis=texts.hypothesis,
                    check=texts.check,
                    remedy=texts.remedy,
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
        size = len(_BANDS_S)
        numbers = np.bincount(band, minlength=size).tolist()
        sums = np.bincount(band, weights=length, minlength=size).tolist()
        edges = zip(_BANDS_S, (*_BANDS_S[1:], None), numbers, sums, strict=True)
        return tuple(
            GapBand(from_s=low, to_s=high, gaps=n, total_s=ns / 1e9) for low, high, n, ns in edges
        )

    def launch_bound(self, window: int, use: Use) -> bool:
        """Whether most of a window's idle time is in short gaps that have no other cause."""
        scattered = [i for i, code in enumerate(self.classes.codes) if code in _SCATTERED]
        mine = (self.pieces[:, 0] == window) & (self.length < _SHORT_NS)
        short_s = int(self.length[mine & np.isin(self.cause, scattered)].sum()) / 1e9
        return use.idle_s > _MUCH * use.wall_s and short_s >= _MOST * use.idle_s

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
        cause=classify(found, part.timeline.calls, names, classes),
        late=np.where(found.known, found.late, 0),
    )


def judged_step(part: DeviceEvents, step_at: float) -> int:
    """The place of the counted window at a percentile of their lengths (nearest rank)."""
    by_length = sorted(part.kept, key=lambda i: part.windows[i].end - part.windows[i].start)
    return by_length[max(math.ceil(step_at / 100 * len(by_length)) - 1, 0)]


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
