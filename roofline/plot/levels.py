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
_ABOVE_MARKS = 5.5  # where all levels have the same traffic, theirs lie on the kernel's own
# L2 is named above the line and L1 below, since they are often at nearly the same place.
_SIDES = {"l2": 1, "l1": -1}


def places(mark: Mark, scale: Scale) -> list[tuple[str, float]]:
    """The levels that were measured, with their x in pixels."""
    found = [(level, mark.level_intensity(level)) for level in _SIDES]
    return [(level, scale.x(value)) for level, value in found if value is not None]


def boxes(mark: Mark, scale: Scale, centre: tuple[float, float], radius: float) -> list[Box]:
    """What the marks and their names take up, for a kernel at ``centre`` with ``radius``."""
    found = []
    for level, x in places(mark, scale):
        ends = -5.0 * _SIDES[level], _SIDES[level] * (_away(x, centre[0], radius) + 6)
        found.append(Box(x - 8, centre[1] + min(ends), x + 8, centre[1] + max(ends)))
    return found


def _away(x: float, centre: float, radius: float) -> float:
    """How far above or below the line a name is: clear of the kernel's own mark."""
    return radius + 6 if abs(x - centre) < radius + 10 else 10.0


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
            zorder=_ABOVE_MARKS,
        )
        canvas.text(
            x,
            centre[1] + _SIDES[level] * _away(x, centre[0], radius),
            LEVELS[level],
            ha="center",
            fontsize=SMALL_PX - 1.5,
            color="muted",
            backed="background",
            zorder=3.5,
        )
