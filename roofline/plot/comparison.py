"""Before and after: the times of a pair with their floors, its units, and what is said of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from roofline.compare.model import Comparison, KernelPair, Side
from roofline.model import Bound, Family
from roofline.plot import figure, words
from roofline.plot.canvas import Canvas, styled
from roofline.plot.ceilings import unit_columns
from roofline.plot.gain import draw_bar
from roofline.plot.layout import Box, ticks
from roofline.plot.save import Picture
from roofline.plot.scene import Options, paired
from roofline.plot.style import PAD, SMALL_PX, TEXT_PX
from roofline.render import comparison as told
from roofline.text import names, numbers
from roofline.units import UNITS, unit_name

SHOWN = 3  # pairs that are drawn: those that changed most
_UNITS, _ROW, _BAR, _HEAD, _AXIS = 7, 21.0, 34.0, 24.0, 30.0


def picture(comparison: Comparison, options: Options) -> Picture:
    """Draw the pairs that changed most, and count the others."""
    pairs = shown_of(comparison.pairs)
    named = [f"{_name(p)}: {words.outcome(p)}" for p in comparison.pairs]
    whole = len(named) == 1 and not comparison.left_out
    title = named[0] if whole else told.totals(comparison)
    scene = paired(comparison, replace(options, title=options.title or title))
    before, after = (", ".join(s.devices) for s in (comparison.before, comparison.after))
    with styled():
        canvas = Canvas(options.theme, float(options.width_px))
        if options.title or not whole:  # a single pair is its own title
            canvas.title(scene.title)
        devices = after if before == after else f"before on {before}, after on {after}"
        canvas.block([devices], below=8)
        for number, pair in enumerate(pairs):
            _draw_pair(canvas, pair, number)
        canvas.block(list(_footer(comparison, pairs)), SMALL_PX, below=16)
        return figure.finished(canvas, scene, options)


def shown_of(pairs: Sequence[KernelPair]) -> list[KernelPair]:
    """The first pairs that changed, else the first of all."""
    return [p for p in pairs if p.changed][:SHOWN] or list(pairs[:SHOWN])


def _footer(comparison: Comparison, shown: Sequence[KernelPair]) -> Iterator[str]:
    rest = Counter(p.outcome.replace("_", " ") for p in comparison.pairs if p not in shown)
    if rest:
        listed = ", ".join(f"{count} {what}" for what, count in rest.most_common())
        yield f"Not drawn: {numbers.plural(sum(rest.values()), 'pair')} ({listed})."
    yield from (*told.unread(comparison), *told.unpaired(comparison.left_out))
    yield "Times measured under ncu."


def _name(pair: KernelPair) -> str:
    return names.short(pair.after.measured.demangled or pair.after.measured.name, 60)


def _draw_pair(canvas: Canvas, pair: KernelPair, number: int) -> None:
    units = _units(pair)
    text = canvas.ruler.wrap(told.sentence(pair), canvas.width - 2 * PAD, TEXT_PX)[:3]
    body = max(_ROW * len(units), 2 * (_BAR + 42.0))
    canvas.down(_HEAD + 16 * len(text) + 12)
    at = _HEAD + 16 * len(text)
    color = {"faster": "faster", "slower": "slower"}.get(pair.outcome, "muted")
    x = canvas.heading(PAD, at, _name(pair), canvas.width * 0.45) + 14
    gid, room = f"outcome-{number}", canvas.width - PAD - x
    canvas.heading(x, at, words.outcome(pair), room, color=color, gid=gid)
    for i, line in enumerate(text):
        canvas.small(PAD, at - 20 - 16 * i, line, fontsize=TEXT_PX)
    canvas.down(body + _AXIS)
    middle = canvas.width * 0.46
    _draw_times(canvas, pair, Box(PAD + 4, _AXIS, middle - 22, _AXIS + body))
    right = Box(middle + 100, _AXIS, canvas.width - PAD - 82, _AXIS + body)
    _draw_units(canvas, units, pair, right)


def _draw_times(canvas: Canvas, pair: KernelPair, area: Box) -> None:
    """A bar for each side: full where the busiest unit works, pale where it waits."""
    sides = (("before", pair.before), ("after", pair.after))
    most = max((side.measured.duration_s or 0.0 for _, side in sides), default=0.0)
    if not most:
        canvas.small(area.x0, area.y1 - 12, "no duration was measured")
        return
    width = area.x1 - area.x0
    for seconds in ticks(most):
        text = numbers.duration(seconds) if seconds else "0"
        canvas.tick(area.x0 + width * seconds / most, area.y0, area.y1, text)
    of = "one launch" if pair.per == "launch" else "all launches"
    key = f"{of}; full: the busiest unit works; tick: next floor"
    canvas.small(area.x0, area.y0 - 22, key)
    step = (area.y1 - area.y0) / 2
    for number, (which, side) in enumerate(sides):
        low = area.y1 - step * number - 16 - _BAR
        took_s, judged = side.measured.duration_s, side.verdict
        text = canvas.ruler.clip(f"{which}  {numbers.duration(took_s)}", width, TEXT_PX)
        canvas.text(area.x0, low + _BAR + 9, text)
        if not took_s:
            continue
        bar = Box(area.x0, low, area.x0 + width * took_s / most, low + _BAR)
        draw_bar(canvas, judged, took_s, bar)
        limit = canvas.ruler.first(_limits(side), width, SMALL_PX)
        canvas.small(area.x0, low - 10, limit, color=judged.bound, gid=f"limit-{which}")


def _limits(side: Side) -> list[str]:
    """What limits a side and its floors, the longest form first."""
    judged = side.verdict
    forms = [words.verdict(judged)]
    if judged.limiter is not None and judged.floor_s is not None:
        forms.append(f"{forms[-1]}; floor {numbers.duration(judged.floor_s)}")
        if judged.next_limiter is not None and judged.next_floor_s is not None:
            at = numbers.duration(judged.next_floor_s)
            forms.append(f"{forms[-1]}, next {unit_name(judged.next_limiter)} {at}")
    return forms[::-1]


def _units(pair: KernelPair) -> list[str]:
    """The units of both sides, the busiest first."""
    one, other = pair.before.utilization, pair.after.utilization
    units = unit_columns([pair.before.result, pair.after.result], _UNITS)
    named = [u for u in units if u in one or u in other]
    return sorted(named, key=lambda u: -max(one.get(u, 0.0), other.get(u, 0.0)))


def _draw_units(canvas: Canvas, units: Sequence[str], pair: KernelPair, area: Box) -> None:
    """A dumbbell a unit: hollow before, full after."""
    one, other = pair.before.utilization, pair.after.utilization
    families = pair.before.families | pair.after.families
    limiters = {pair.before.verdict.limiter, pair.after.verdict.limiter}
    if not units:
        canvas.small(area.x0, area.y1 - 12, "no utilisation was measured")
        return

    def x(percent: float) -> float:
        return area.x0 + (area.x1 - area.x0) * min(max(percent, 0.0), 105.0) / 105

    threshold = pair.after.verdict.rule.latency
    low = area.y1 - _ROW * len(units)
    for tick in range(0, 101, 20):
        canvas.tick(x(tick), low, area.y1, f"{tick}")
    canvas.line(
        [x(threshold)] * 2, [low, area.y1], "ink", linewidth=1.0, linestyle=(0, (4, 2)), zorder=1
    )
    canvas.small(
        (area.x0 + area.x1) / 2, low - 22, "% of peak: hollow before, full after", ha="center"
    )
    for number, unit in enumerate(units):
        y = area.y1 - _ROW * (number + 0.5)
        family = families.get(unit) or (UNITS[unit].family if unit in UNITS else Family.COMPUTE)
        bound, weight = Bound(family.value), "bold" if unit in limiters else "normal"
        canvas.small(area.x0 - 10, y, unit_name(unit), ha="right", color="ink", weight=weight)
        before, after = one.get(unit), other.get(unit)
        if before is not None and after is not None:
            canvas.arrow((x(before), y), (x(after), y), bound)
        if before is not None:
            canvas.mark(x(before), y, bound, 4.5, hollow=True, gid=f"before-{unit}", zorder=4)
        if after is not None:
            canvas.mark(x(after), y, bound, 4.5, gid=f"after-{unit}", zorder=4.2)
        texts = (numbers.percent(before), numbers.percent(after))
        canvas.small(area.x1 + 10, y, " → ".join(texts))
