"""L2 and L1 beside a kernel's DRAM point: small marks at their own intensity, on a thin line."""

from __future__ import annotations

from roofline.plot.canvas import Canvas
from roofline.plot.labels import Box
from roofline.plot.scale import Scale
from roofline.plot.scene import Mark
from roofline.plot.style import SMALL_PX
from roofline.plot.words import LEVELS

_RADIUS = 3.5
_STEP_PX = 10.0
# L2 is named above the line and L1 below, since they are often at nearly the same place.
_SIDES = {"l2": 1, "l1": -1}


def places(mark: Mark, scale: Scale) -> list[tuple[str, float]]:
    """The levels that were measured, with their x in pixels."""
    found = [(level, mark.level_intensity(level)) for level in _SIDES]
    return [(level, scale.x(value)) for level, value in found if value is not None]


def boxes(mark: Mark, scale: Scale, y: float) -> list[Box]:
    """What the marks and their names take up."""
    return [
        Box(x - 8, y + min(5 * side, 16 * side), x + 8, y + max(-5 * side, 5 * side, 16 * side))
        for level, x in places(mark, scale)
        for side in (_SIDES[level],)
    ]


def line(mark: Mark, scale: Scale, start: float) -> list[float]:
    """Points (their x) along the thin line."""
    ends = [start, *(x for _, x in places(mark, scale))]
    steps = int((max(ends) - min(ends)) // _STEP_PX)
    return [min(ends) + i * _STEP_PX for i in range(steps + 1)] if steps else []


def draw(
    canvas: Canvas, mark: Mark, scale: Scale, centre: tuple[float, float], radius: float
) -> None:
    """Draw the levels of a mark that is at ``centre`` with ``radius``."""
    found = places(mark, scale)
    if not found:
        return
    bound = mark.result.verdict.bound
    xs = [centre[0], *(x for _, x in found)]
    canvas.line([min(xs), max(xs)], [centre[1]] * 2, bound, linewidth=1.0, alpha=0.6, zorder=3)
    for level, x in found:
        canvas.mark(
            x,
            centre[1],
            bound,
            _RADIUS,
            markerfacecolor=canvas.theme.background,
            markeredgecolor=canvas.theme.of_bound(bound),
            markeredgewidth=1.2,
            zorder=4,
        )
        away = radius + 6 if abs(x - centre[0]) < radius + 10 else 10.0
        y = centre[1] + _SIDES[level] * away
        canvas.text(x, y, LEVELS[level], ha="center", fontsize=SMALL_PX - 1.5, color="muted")
