"""All that is known of each mark, for tooltips and for the table of the HTML page."""

from __future__ import annotations

from roofline.plot import words
from roofline.plot.picture import Table
from roofline.plot.scene import Mark, Scene, mark_id
from roofline.text import names, numbers

COLUMNS = ("#", "Kernel", "Time", "Share", "Verdict", "Confidence", "Op/B", "Rate", "DRAM")
_NAME_WIDTH = 110


def tips(scene: Scene) -> dict[str, str]:
    """A tooltip for each mark, by its id."""
    return {
        mark_id(number, mark): _tip(mark)
        for number, panel in enumerate(scene.panels, start=1)
        for mark in panel.marks
    }


def table(scene: Scene) -> Table:
    """Every mark of every panel in a row."""
    marks = [(n, m) for n, panel in enumerate(scene.panels, start=1) for m in panel.marks]
    return Table(
        columns=COLUMNS,
        rows=tuple(_row(mark) for _, mark in marks),
        ids=tuple(mark_id(number, mark) for number, mark in marks),
    )


def _tip(mark: Mark) -> str:
    verdict, m = mark.result.verdict, mark.result.measurement
    lines = [
        names.short(mark.name, _NAME_WIDTH) + mark.detail,
        words.times(mark.total_s, mark.count, mark.share)[0],
        f"{words.verdict(verdict)} (confidence {verdict.confidence})",
        words.rates(mark.result),
    ]
    if m.arithmetic_intensity is not None:
        lines.append(f"{numbers.plain(m.arithmetic_intensity)} operations per DRAM byte")
    lines += [mark.why, verdict.hint]
    return "\n".join(names.printable(line) for line in lines if line)


def _row(mark: Mark) -> tuple[str, ...]:
    verdict, m = mark.result.verdict, mark.result.measurement
    rate = "-"
    if m.operations_per_s is not None:
        rate = words.rate(max(m.operations, key=lambda k: m.operations[k]), m.operations_per_s)
    return (
        str(mark.rank),
        names.short(mark.name, _NAME_WIDTH) + mark.detail,
        numbers.duration(mark.total_s),
        words.share(mark.share) or "-",
        words.verdict(verdict),
        str(verdict.confidence),
        numbers.plain(m.arithmetic_intensity),
        rate,
        numbers.bandwidth(m.dram_bytes_per_s),
    )
