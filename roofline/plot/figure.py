"""The whole picture: title, legend, the views one below the other, small print."""

from __future__ import annotations

import math

from roofline.model import Analysis, Bound, Confidence
from roofline.plot import gain, heat, roofline, words
from roofline.plot.canvas import Canvas, styled
from roofline.plot.layout import Box
from roofline.plot.save import Picture
from roofline.plot.scene import CHARTS, Mark, Options, Place, Scene, compose
from roofline.plot.style import KINDS, PAD, SMALL_PX
from roofline.text import names, numbers
from roofline.text import verdict as said
from roofline.view import Chosen

MOST_PX = 1600.0  # a taller picture is read by nobody
_CHART_PX = {1: 450.0, 2: 330.0}  # by the number of charts; more share what is left
_LEAST_CHART_PX = 200.0
_ROWS = 3  # that are left where a small height is asked for
_REST_PX = 20.0  # the row for the kernels that are left over
_NOTES = 6
_FEW = 10.0  # waves: of more the last one does not matter


def picture(view: Analysis | Chosen, options: Options) -> Picture:
    """Draw what was analysed, as high as asked for, never higher than ``MOST_PX``."""
    scene = compose(view, options)
    wanted = float(options.height_px or 0)
    with styled():
        chart, top = _CHART_PX[1 if len(scene.panels) == 1 else 2], scene.top
        canvas, charts = _drawn(scene, options, chart, top), _charts(scene)
        over = canvas.height - (wanted or MOST_PX)
        if over > 0 or (wanted and charts):
            least = over - charts * (chart - _LEAST_CHART_PX)  # what charts cannot give rows must
            if least > 0 and scene.views != ("roofline",):
                shown = min(top, len(scene.marks))
                fewer = math.ceil((least + _REST_PX) / heat.ROW_PX)
                top = max(shown - fewer, _ROWS)
                over -= (shown - top) * heat.ROW_PX - _REST_PX
            chart = max(chart - over / max(charts, 1), _LEAST_CHART_PX)
            canvas = _drawn(scene, options, chart, top)
        return finished(canvas, scene, options)


def finished(canvas: Canvas, scene: Scene, options: Options) -> Picture:
    """The picture on a canvas on which everything is drawn."""
    figure = canvas.finish(float(options.height_px or 0))
    return Picture(figure=figure, title=scene.title, theme=options.theme, marks=scene.marks)


def _charts(scene: Scene) -> int:
    """How many devices get a chart: those with the most time."""
    most = CHARTS if len(scene.views) > 1 else 4
    return min(sum(bool(p.shown) for p in scene.panels), most) if "roofline" in scene.views else 0


def _drawn(scene: Scene, options: Options, chart_px: float, top: int) -> Canvas:
    canvas = Canvas(options.theme, float(options.width_px))
    canvas.title(scene.title)
    single = len(scene.marks) == 1
    if single:
        canvas.block(_claim(scene.marks[0]), below=6)
    draw_legend(canvas, scene)
    drawn, unnamed = 0, False
    for view in scene.views:
        if view == "roofline":
            charted = [p for p in scene.panels if p.shown][: _charts(scene)]
            for panel in charted:
                canvas.block([panel.device], below=6)
                chart = roofline.lay_out(
                    panel, canvas.width, chart_px, canvas.ruler, top, numbered=not single
                )
                assert chart is not None
                canvas.down(chart_px)
                roofline.draw(canvas, chart)
                drawn += len(chart.spots)
                unnamed |= not all(spot.named for spot in chart.spots)
            continue
        if "roofline" not in scene.views or not drawn:
            listed = [panel.name for panel in scene.panels]
            several = f"{len(listed)} GPUs: {names.few(listed)}"
            canvas.block([several if listed[1:] else scene.panels[0].device])
        (heat if view == "units" else gain).draw(canvas, scene, top)
    if unnamed and options.key and scene.views == ("roofline",):  # numbers need a key
        heat.draw(canvas, scene, top)
    if single and "units" in scene.views:
        _draw_waits(canvas, scene.marks[0])
    canvas.block(_footer(scene, options, drawn), SMALL_PX, below=16)
    return canvas


def _claim(mark: Mark) -> list[str]:
    """What one kernel's verdict says, its bounds and how far it may be leant on."""
    judged = mark.result.verdict
    why = f"confidence {judged.confidence}"
    if reasons := said.confidence_reasons(mark.result):
        why += f": {reasons[0]}"
    return [t for t in (said.hint(mark.result), said.bounds(mark.result), why) if t]


def draw_legend(canvas: Canvas, scene: Scene) -> None:
    """An entry for each verdict and kind of roof, in as many lines as they need."""
    marks, chart = scene.marks, "roofline" in scene.views and any(p.shown for p in scene.panels)
    shown: set[str] = {m.result.verdict.bound for m in marks}
    low = any(m.result.verdict.confidence is Confidence.LOW for m in marks)
    for key, there in (("low", low), ("both", any(m.other for m in marks)), ("own", chart)):
        shown |= {key} if there else set()
    shown |= {kind for p in scene.panels if chart for roof in p.roofs for kind in roof.rates}
    entries: dict[str, str] = {bound: f"{bound}-bound" for bound in Bound}
    below, waiting = _below_roofs(scene)
    if below:
        entries[Bound.LATENCY] = "latency-bound, or neither roof" if waiting else "neither roof"
    entries |= {Bound.UNKNOWN: "unknown", "low": "low confidence", "both": "both limit"}
    entries |= {kind: text for kind, (_, text) in KINDS.items()}
    entries["own"] = f"own ceiling (dotted: {'it waits' if waiting or not below else 'below it'})"
    keys = [key for key in entries if key in shown]
    for key, x in zip(keys, canvas.legend([entries[key] for key in keys]), strict=True):
        if key == "own":
            canvas.line([x + 10, x + 10], [3, 15], "ink", linewidth=1.2)
            canvas.line([x + 2, x + 18], [15, 15], "ink", linewidth=2.4)
        elif key in KINDS:
            color, dashes = "roof" if key == "report" else "faint", KINDS[key][0]
            canvas.line([x + 1, x + 21], [10, 10], color, linewidth=1.6, linestyle=dashes)
        else:
            bound = {"low": Bound.UNKNOWN, "both": Bound.BANDWIDTH}.get(key) or Bound(key)
            other = Bound.COMPUTE if key == "both" else None
            canvas.mark(x + 10, 10, bound, 5.0, hollow=key == "low", other=other)
    canvas.down(4)


def _below_roofs(scene: Scene) -> tuple[bool, bool]:
    """Whether there are figures of which no more is known, and kernels that wait."""
    latent = [v for m in scene.marks if (v := m.result.verdict).bound is Bound.LATENCY]
    return any(v.two_roofs for v in latent), not all(v.two_roofs for v in latent)


def _draw_waits(canvas: Canvas, mark: Mark) -> None:
    """What a wait is explained by: blocks, waves, occupancy, and what the warps stall on."""
    m = mark.result.measurement
    achieved, most = m.occupancy_percent, m.theoretical_occupancy_percent
    rows: list[tuple[str, float, str]] = []
    if achieved is not None or most is not None:
        of = "" if most is None else f" of {numbers.percent(most)} possible"
        rows.append(("occupancy", achieved or 0.0, numbers.percent(achieved) + of))
    if m.waves is not None and 0 < m.waves < _FEW:
        whole = math.ceil(m.waves)
        text = f"{numbers.waves(m.waves)} of {numbers.plural(whole, 'wave')}"
        rows.append(("waves", 100 * m.waves / whole, text))
    for stall in m.stalls[:4]:
        text = f"{numbers.percent(100 * stall.share)} of stalls"
        rows.append((f"stall: {names.words(stall.reason)}", 100 * stall.share, text))
    facts = [t for t in words.waits(m, 0) if not t.startswith("occ")]
    if not rows and not facts:
        return
    waits = mark.result.verdict.bound is Bound.LATENCY
    head, color = ("What it waits for", Bound.LATENCY) if waits else ("How it ran", "faint")
    height = 30 + 19.0 * len(rows)
    canvas.down(height)
    end = canvas.heading(PAD, height - 12, head, canvas.width)
    canvas.small(end + 16, height - 12, ", ".join(facts))
    left, right = PAD + 150, canvas.width * 0.66

    def x(percent: float) -> float:
        return left + (right - left) * min(max(percent, 0.0), 100.0) / 100

    for i, (name, percent, text) in enumerate(rows):
        y = height - 36 - 19.0 * i
        name = canvas.ruler.clip(name, 140, SMALL_PX)
        canvas.small(left - 10, y, name, ha="right", color="ink")
        canvas.box(Box(left, y - 6, right, y + 6), "panel")
        canvas.box(Box(left, y - 6, x(percent), y + 6), color, alpha=0.75)
        if name == "occupancy" and most is not None:
            canvas.line([x(most)] * 2, [y - 7, y + 7], "ink", linewidth=1.5)
        canvas.small(right + 10, y, text)


def _absent(scene: Scene, *, numbered: bool) -> str:
    """What no roofline holds, and why: "Not on a roofline: 4, 5 (no FP or tensor operations)."."""
    ranks: dict[str, list[str]] = {}
    for mark in scene.marks:
        if mark.place is Place.NONE:
            ranks.setdefault(mark.why, []).append(str(mark.rank))
    if len(scene.marks) == 1:
        return "".join(f"Not on a roofline: {why}." for why in ranks)
    told = [
        f"{names.few(found, 6) if numbered else numbers.plural(len(found), 'kernel')} ({why})"
        for why, found in ranks.items()
    ]
    return f"Not on a roofline: {'; '.join(told)}." if told else ""


def _footer(scene: Scene, options: Options, drawn: int) -> list[str]:
    """What must be said below every picture."""
    units, marks, panels = "units" in scene.views, scene.marks, scene.panels
    charted = [p for p in panels if p.shown]
    off = "".join(words.off_the_axes(m for p in charted for m in p.shown))
    clocks = {m.result.measurement.sm_clock_hz for m in marks}
    left = ", ".join(p.name for p in charted[_charts(scene) :])
    first = "Mark: reached; bar: own ceiling, the rate over the utilisation of its unit."
    if len(clocks) > len(panels):
        first += " Roofs are at the clocks of the kernel with the most time."
    under = f"dashed where it is under {scene.rule.latency:g} %"
    under += "" if _below_roofs(scene) == (True, False) else " (latency)"
    of_chart = (
        (True, first),
        (off, off),
        (any(m.spread for m in marks), "Wide pale line: slowest to fastest launch."),
        (left, f"Without a chart: {left}."),
        (any(m.place is Place.INFINITE for m in marks), "∞: operations without any DRAM byte."),
    )
    lines = [text for there, text in of_chart if there and drawn]
    if "roofline" in scene.views or not (options.views or charted):
        lines += filter(None, [_absent(scene, numbered=units)])
    lines += [f"Box: the busiest unit, {under}; ·: not measured."] if units else []
    lines += scene.notes
    more = [f"and {len(lines) - _NOTES} more notes"] if len(lines) > _NOTES + 1 else []
    return lines[: _NOTES if more else None] + more
