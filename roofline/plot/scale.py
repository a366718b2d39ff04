"""Log-log axes: which range they need, and where a value lies in pixels. Pure arithmetic."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from roofline.plot.ceilings import Roof
from roofline.plot.labels import Box


@dataclass(frozen=True, slots=True)
class Limits:
    """The range of both axes; all four are finite and over 0."""

    x0: float
    x1: float
    y0: float
    y1: float


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps operations per byte and operations per second into ``area``."""

    limits: Limits
    area: Box

    def x(self, value: float) -> float:
        """The horizontal place of an intensity, in pixels."""
        return _log(value, self.limits.x0, self.limits.x1, self.area.x0, self.area.x1)

    def y(self, value: float) -> float:
        """The vertical place of a rate, in pixels."""
        return _log(value, self.limits.y0, self.limits.y1, self.area.y0, self.area.y1)


def limits(
    points: Sequence[tuple[float, float]],
    heights: Sequence[float],
    memory: Sequence[Roof],
    ceilings: Sequence[Roof],
) -> Limits:
    """Room for every point, every ridge of the DRAM roof, all ceilings, and the labels.

    ``heights`` are rates without an intensity. At least one point or height is given.
    """
    tops = [rate for roof in ceilings for rate in roof.rates.values()]
    xs = [x for x, _ in points]
    xs += [max(tops) / roof.rates[roof.main] for roof in memory if tops]
    xs += [top / roof.rates[roof.main] for roof in memory if roof.key == "dram" for top in tops]
    ys = [y for _, y in points] + [*heights]
    if not xs:
        xs = [1.0]
    y1 = max(ys + tops) * 3
    y0 = min(min(ys) / 4, y1 / 200, min(tops, default=y1) / 3)
    x0, x1 = min(xs) / 6, max(xs) * 10
    if x1 / x0 < 1e3:
        x0 = x1 / 1e3
    return Limits(x0, x1, y0, y1)


def memory_line(
    rate: float, limits: Limits, top: float | None
) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """Both ends of a memory roof within the axes and below ``top``; ``None`` if none is seen."""
    high = limits.y1 if top is None else min(top, limits.y1)
    left = max(limits.x0, limits.y0 / rate)
    right = min(limits.x1, high / rate)
    if left >= right:
        return None
    return (left, left * rate), (right, right * rate)


def ceiling_line(
    rate: float, limits: Limits, bandwidths: Iterable[float]
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Both ends of a ceiling: from the ridge of the fastest memory drawn to the right edge."""
    fastest = max(bandwidths, default=None)
    left = limits.x0 if fastest is None else max(limits.x0, rate / fastest)
    return (min(left, limits.x1), rate), (limits.x1, rate)


def _log(value: float, low: float, high: float, start: float, end: float) -> float:
    return start + (end - start) * math.log10(value / low) / math.log10(high / low)
