"""What profiled kernels could buy the step, for people: terminal and Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from roofline.render.markdown import NAME, bullets, code, escaped, table
from roofline.render.selection import speedups, warning
from roofline.text import console, names, numbers
from roofline.text.console import NARROWEST, hanging, to_text
from roofline.text.numbers import plural
from roofline.text.verdict import limited_by
from roofline.timeline.join import Coverage, Joined
from roofline.timeline.model import KernelShare, Selection

ROWS = 10
_FIGURES = 74  # columns that the figures take
_TITLES = ("-#", "kernel", "limited by", "-of wall", "-floor / time", "-max step speedup")


def render(joined: Joined, *, width: int = 120, color: bool = False, limit: int = ROWS) -> str:
    """The kernels ranked by what reaching their nearest ceiling buys the step."""
    width = max(width, NARROWEST)
    return to_text(_parts(joined, width, limit), width=width, color=color)


def markdown(joined: Joined, *, limit: int = ROWS) -> str:
    """The same as a table for GitHub."""
    rows = (
        (rank, code(name), *map(escaped, cells)) for rank, name, cells in _rows(joined, limit, NAME)
    )
    said = (*warning(joined.selection), _profiled(joined))
    lines = [*(f"{escaped(line)}\n" for line in said), *table(_TITLES, rows)]
    return "\n".join([*lines, *bullets(_remarks(joined))]) + "\n"


def covered(coverage: Coverage, selection: Selection) -> str:
    """What kernels are of all that match, of their time, and of the step or what was recorded."""
    what = f"{', '.join(coverage.words)} kernel".strip()
    parts = [f"{coverage.kernels} of {plural(coverage.of_kernels, what)}"]
    if coverage.time_share is not None:
        parts.append(f"{numbers.share(coverage.time_share)} of their time")
    if coverage.wall_share is not None:
        whole = "the step" if selection.steps == "ranges" else "the time recorded"
        parts.append(f"{numbers.share(coverage.wall_share)} of {whole}")
    return ", ".join(parts)


def _parts(joined: Joined, width: int, limit: int) -> Iterator[RenderableType]:
    for line in warning(joined.selection):
        yield Text(line, style="bold")
    yield Text(_profiled(joined))
    yield Text("What the step gains if a kernel reaches its nearest ceiling:", style="bold")
    if joined.kernels:
        made = console.table(*_TITLES)
        for rank, name, cells in _rows(joined, limit, max(width - _FIGURES, 20)):
            made.add_row(rank, name, *cells)
        yield made
    else:
        yield Text("No profiled kernel is in the timeline.")
    if (more := len(joined.kernels) - limit) > 0:
        yield Text(f"... and {plural(more, 'more kernel')}", style="dim")
    for line in _remarks(joined):
        yield hanging("- ", line)


def _profiled(joined: Joined) -> str:
    return f"Profiled: {covered(joined.coverage, joined.selection)}"


def _rows(joined: Joined, limit: int, room: int) -> Iterator[tuple[str, str, list[str]]]:
    shown = joined.kernels[:limit]
    titles = names.short_all((k.share.name for k in shown), room)
    for rank, (kernel, name) in enumerate(zip(shown, titles, strict=True), 1):
        m, v = kernel.group.result.measurement, kernel.group.result.verdict
        part = v.floor_s / m.duration_s if m.duration_s and v.floor_s is not None else None
        known = kernel.saved_at_most[0] is not None
        cells = [
            f"{v.bound} {limited_by(v)}".strip(),
            numbers.share(kernel.share.exposed_share),
            numbers.share(part),
            speedups(kernel.step_speedup_at_most) if known else numbers.ABSENT,
        ]
        yield str(rank), name, cells


def _remarks(joined: Joined) -> Iterator[str]:
    """What was not profiled, not found, or could not be told apart."""
    wall = joined.selection.selected.use is not None
    for kernel in joined.kernels:
        executed, moved = kernel.executed_of_useful, kernel.moved_of_compulsory
        ratios = [
            f"{ratio:.3g} times the {what}"
            for ratio, what in ((executed, "operations asked for"), (moved, "compulsory bytes"))
            if ratio is not None
        ]
        if ratios:
            verb = "executes" if executed is not None else "moves"
            yield f"{names.printable(kernel.share.base_name)} {verb} {' and moves '.join(ratios)}"
    for said, chosen in (("asked for and not in the report", True), ("not profiled", False)):
        if found := [k for k in joined.unprofiled if k.chosen is chosen]:
            yield f"{said}: {_shares(found, wall=wall)}"
    for said, groups in (
        ("profiled, but not in the timeline", joined.unmatched),
        (
            "profiled, but several kernels of the timeline have this name, grid and block",
            joined.ambiguous,
        ),
    ):
        if groups:
            called = (names.printable(g.result.measurement.name) for g in groups)
            yield f"{said}: {names.few(dict.fromkeys(called), 3)}"


def _shares(found: list[KernelShare], *, wall: bool) -> str:
    """The largest three functions with their shares, and how many more kernels there are.

    Exposed shares can be added up: in that time nothing else ran.
    """
    shares: dict[str, list[float]] = {}
    for k in found:
        share = k.exposed_share if wall else k.kernel_share
        shares.setdefault(k.base_name, []).append(share or 0.0)
    largest = sorted(shares, key=lambda name: -sum(shares[name]))[:3]
    listed = [
        f"{names.printable(name)} {numbers.share(sum(shares[name]))}"
        + (f" in {len(shares[name])} kernels" if len(shares[name]) > 1 else "")
        for name in largest
    ]
    others = len(found) - sum(len(shares[name]) for name in largest)
    more = f" and {plural(others, 'more kernel')}" if others else ""
    of = "exposed, of the wall time" if wall else "of kernel time"
    return f"{', '.join(listed)}{more} ({of})"
