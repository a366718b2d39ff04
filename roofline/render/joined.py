"""What profiled kernels could buy the step: as text, Markdown and for JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from roofline.model import Group
from roofline.render import selection_text as text
from roofline.render.markdown import code, escaped
from roofline.render.selection_json import share as share_json
from roofline.render.sentences import limited_by, plural
from roofline.text import names, numbers
from roofline.text.console import NARROWEST, hanging, to_text
from roofline.timeline.join import Joined, JoinedKernel

ROWS = 10
_OTHERS = 74
_TITLES = ("limited by", "of wall", "floor / time", "step gains at most")


def render(joined: Joined, *, width: int = 120, color: bool = False, limit: int = ROWS) -> str:
    """The kernels ranked by what reaching their nearest ceiling buys the step."""
    width = max(width, NARROWEST)
    return to_text(_parts(joined, width, limit), width=width, color=color)


def markdown(joined: Joined, *, limit: int = ROWS) -> str:
    """The same as a table for GitHub."""
    lines = [
        *(f"{escaped(line)}\n" for line in text.warning(joined.selection)),
        f"| # | kernel | {' | '.join(_TITLES)} |",
        f"| --: | --- | --- |{' --: |' * (len(_TITLES) - 1)}",
    ]
    shown = joined.kernels[:limit]
    titles = text.short_names((k.share for k in shown), 60)
    for rank, (kernel, name) in enumerate(zip(shown, titles, strict=True), 1):
        cells = [escaped(cell) for cell in _cells(kernel)]
        lines.append(f"| {rank} | {code(name)} | {' | '.join(cells)} |")
    listed = [f"- {escaped(line)}" for line in remarks(joined)]
    return "\n".join([*lines, "", *listed]) + "\n"


def document(joined: Joined) -> dict[str, Any]:
    """What a JSON document says under "timeline": gains in the order of rank."""
    return {
        "file": joined.selection.file,
        "device": joined.selection.device,
        "kernels": [
            {
                **share_json(k.share),
                "launches": list(k.group.launches),
                "saved_at_most": [k.saved_low, k.saved_high],
                "step_speedup_at_most": [k.speedup_low, k.speedup_high],
            }
            for k in joined.kernels
        ],
        "unprofiled": [share_json(k) for k in joined.unprofiled],
        "unmatched": [list(g.launches) for g in joined.unmatched],
        "ambiguous": [list(g.launches) for g in joined.ambiguous],
    }


def remarks(joined: Joined) -> Iterator[str]:
    """What was not profiled, not found, or could not be told apart."""
    if joined.not_found:
        yield f"asked for and not in the report: {_shares(joined, chosen=True)}"
    others = [k for k in joined.unprofiled if not k.chosen]
    if others:
        yield f"not profiled: {_shares(joined, chosen=False)}"
    if joined.unmatched:
        yield f"profiled, but not in the timeline: {_groups(joined.unmatched)}"
    if joined.ambiguous:
        yield (
            f"profiled, but several kernels of the timeline have this name, grid and block: "
            f"{_groups(joined.ambiguous)}"
        )


def _parts(joined: Joined, width: int, limit: int) -> Iterator[RenderableType]:
    for line in text.warning(joined.selection):
        yield Text(line, style="bold")
    yield Text("What the step gains if a kernel reaches its nearest ceiling:", style="bold")
    shown = joined.kernels[:limit]
    if shown:
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
        table.add_column("#", justify="right")
        table.add_column("kernel", overflow="fold")
        for i, title in enumerate(_TITLES):
            table.add_column(title, justify="left" if i == 0 else "right")
        titles = text.short_names((k.share for k in shown), max(width - _OTHERS, 20))
        for rank, (kernel, name) in enumerate(zip(shown, titles, strict=True), 1):
            table.add_row(str(rank), name, *_cells(kernel))
        yield table
    else:
        yield Text("No profiled kernel is in the timeline.")
    if len(joined.kernels) > len(shown):
        yield Text(
            f"... and {plural(len(joined.kernels) - len(shown), 'more kernel')}", style="dim"
        )
    for line in remarks(joined):
        yield hanging("- ", line)


def _cells(kernel: JoinedKernel) -> list[str]:
    result = kernel.group.result
    duration, floor = result.measurement.duration_s, result.verdict.floor_s
    low, high = text.limit(kernel.speedup_low), text.limit(kernel.speedup_high)
    gain = low if low == high else f"{low} to {high}"
    return [
        f"{result.verdict.bound} {limited_by(result.verdict)}".strip(),
        numbers.share(kernel.share.exposed_share),
        numbers.ABSENT if not duration or floor is None else numbers.share(floor / duration),
        numbers.ABSENT if kernel.saved_low is None else gain,
    ]


def _shares(joined: Joined, *, chosen: bool) -> str:
    """The largest three functions with their shares, and how many more kernels there are.

    Exposed shares can be added up: in that time nothing else ran.
    """
    found = [k for k in joined.unprofiled if k.chosen is chosen]
    wall = joined.selection.selected.use is not None
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
