"""What profiled kernels could buy the step: as text, Markdown and for JSON."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from roofline.model import Group
from roofline.render.documents import JoinedDocument, JoinedShareDocument, filled
from roofline.render.markdown import code, escaped
from roofline.render.selection import speedups, warning
from roofline.text import names, numbers
from roofline.text.console import NARROWEST, hanging, to_text
from roofline.text.numbers import plural
from roofline.text.verdict import limited_by
from roofline.timeline.join import Joined, JoinedKernel
from roofline.timeline.model import KernelShare

ROWS = 10
_FIGURES = 74  # columns that the figures take
_TITLES = ("limited by", "of wall", "floor / time", "max step speedup")


def render(joined: Joined, *, width: int = 120, color: bool = False, limit: int = ROWS) -> str:
    """The kernels ranked by what reaching their nearest ceiling buys the step."""
    width = max(width, NARROWEST)
    return to_text(_parts(joined, width, limit), width=width, color=color)


def markdown(joined: Joined, *, limit: int = ROWS) -> str:
    """The same as a table for GitHub."""
    lines = [
        *(f"{escaped(line)}\n" for line in warning(joined.selection)),
        f"| # | kernel | {' | '.join(_TITLES)} |",
        f"| --: | --- | --- |{' --: |' * (len(_TITLES) - 1)}",
    ]
    for rank, name, cells in _rows(joined, limit, 60):
        lines.append(f"| {rank} | {code(name)} | {' | '.join(map(escaped, cells))} |")
    listed = [f"- {escaped(line)}" for line in _remarks(joined)]
    return "\n".join([*lines, "", *listed]) + "\n"


def _parts(joined: Joined, width: int, limit: int) -> Iterator[RenderableType]:
    for line in warning(joined.selection):
        yield Text(line, style="bold")
    yield Text("What the step gains if a kernel reaches its nearest ceiling:", style="bold")
    if joined.kernels:
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
        table.add_column("#", justify="right")
        table.add_column("kernel", overflow="fold")
        for i, title in enumerate(_TITLES):
            table.add_column(title, justify="left" if i == 0 else "right")
        for rank, name, cells in _rows(joined, limit, max(width - _FIGURES, 20)):
            table.add_row(str(rank), name, *cells)
        yield table
    else:
        yield Text("No profiled kernel is in the timeline.")
    if (more := len(joined.kernels) - limit) > 0:
        yield Text(f"... and {plural(more, 'more kernel')}", style="dim")
    for line in _remarks(joined):
        yield hanging("- ", line)


def _rows(joined: Joined, limit: int, room: int) -> Iterator[tuple[int, str, list[str]]]:
    shown = joined.kernels[:limit]
    titles = names.short_all((k.share.name for k in shown), room)
    for rank, (kernel, name) in enumerate(zip(shown, titles, strict=True), 1):
        yield rank, name, _cells(kernel)


def _cells(kernel: JoinedKernel) -> list[str]:
    result = kernel.group.result
    duration, floor = result.measurement.duration_s, result.verdict.floor_s
    known = kernel.saved_at_most[0] is not None
    return [
        f"{result.verdict.bound} {limited_by(result.verdict)}".strip(),
        numbers.share(kernel.share.exposed_share),
        numbers.ABSENT if not duration or floor is None else numbers.share(floor / duration),
        speedups(kernel.step_speedup_at_most) if known else numbers.ABSENT,
    ]


def _remarks(joined: Joined) -> Iterator[str]:
    """What was not profiled, not found, or could not be told apart."""
    wall = joined.selection.selected.use is not None
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
            yield f"{said}: {_groups(groups)}"


def _shares(found: list[KernelShare], *, wall: bool) -> str:
    """The largest three functions with their shares, and how many more kernels there are.

    Exposed shares can be added up: in that time nothing else ran.
    """
    shares: dict[str, list[float]] = {}
    for k in found:
        share = k.exposed_share if wall else k.kernel_share
        shares.setdefault(k.base_name, []).append(share or 0.0)
    largest = sorted(shares, key=lambda name: -sum(shares[name]))[:3]
    listed = [_summed(names.printable(name), shares[name]) for name in largest]
    others = len(found) - sum(len(shares[name]) for name in largest)
    more = f" and {plural(others, 'more kernel')}" if others else ""
    of = "exposed, of the wall time" if wall else "of kernel time"
    return f"{', '.join(listed)}{more} ({of})"


def _summed(name: str, shares: list[float]) -> str:
    several = f" in {len(shares)} kernels" if len(shares) > 1 else ""
    return f"{name} {numbers.share(sum(shares))}{several}"


def _groups(groups: tuple[Group, ...]) -> str:
    listed = dict.fromkeys(names.printable(g.result.measurement.name) for g in groups)
    more = f" and {len(listed) - 3} more" if len(listed) > 3 else ""
    return ", ".join([*listed][:3]) + more


def document(joined: Joined) -> JoinedDocument:
    """What a JSON document says under "timeline"."""
    return filled(
        JoinedDocument,
        joined,
        file=joined.selection.file,
        device=joined.selection.device,
        kernels=[_joined_share(k) for k in joined.kernels],
        unmatched=[g.launches for g in joined.unmatched],
        ambiguous=[g.launches for g in joined.ambiguous],
    )


def _joined_share(kernel: JoinedKernel) -> JoinedShareDocument:
    return filled(
        JoinedShareDocument,
        kernel.share,
        launches=kernel.group.launches,
        saved_at_most=kernel.saved_at_most,
        step_speedup_at_most=kernel.step_speedup_at_most,
    )
