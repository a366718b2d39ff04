"""A selection for the terminal: the answer, the kernels, and what to type next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import fill
from typing import Literal

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from roofline.render import selection_text as text
from roofline.text import names, numbers
from roofline.text.console import NARROWEST, hanging, to_text
from roofline.timeline.selection import DeviceUse, KernelShare, Selection

_Justify = Literal["left", "right"]
_NARROW = 100  # below that, grid and block go under the name
_OTHERS = 60  # columns that the figures take
_SIZES = 18  # and that grid and block take


def render(selection: Selection, *, width: int = 120, color: bool = False) -> str:
    """``selection`` as text, at most ``width`` columns wide."""
    width = max(width, NARROWEST)
    return (
        to_text(_parts(selection, width), width=width, color=color)
        + _commands(selection, width)
        + to_text(_section("Notes", text.notes(selection)), width=width, color=color)
    )


def _parts(selection: Selection, width: int) -> Iterator[RenderableType]:
    device = selection.selected
    for i, line in enumerate(text.head(selection)):
        yield Text(line, style="bold" if i < 2 else "")
    if len(selection.devices) > 1:
        yield from _section("Devices (never added up)", map(_device, selection.devices))
    yield Text()
    if selection.chosen:
        yield _table(selection, width)
    if rest := text.rest(device):
        yield Text(rest, style="dim")
    yield from _section("Not for ncu", text.apart(device))
    yield from _section("Largest gaps", text.gaps(device))


def _table(selection: Selection, width: int) -> Table:
    device, chosen = selection.selected, selection.chosen
    wide = width >= _NARROW
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    stepped = "a step" if selection.steps == "ranges" else "in all"
    table.add_column("#", justify="right")
    table.add_column("kernel" if wide else "kernel\ngrid / block", overflow="fold")
    if wide:
        table.add_column("grid / block", overflow="fold")
    titles = [f"launches\n{stepped}", f"time\n{stepped}", "of kernel\ntime"]
    if device.use is not None:
        titles += ["exposed\nof wall", "step gains\nat most"]
    for title in titles:
        table.add_column(title, justify="right", no_wrap=True)
    room = max(width - _OTHERS - (_SIZES if wide else 0), 20)
    for rank, (share, name) in enumerate(
        zip(chosen, text.short_names(chosen, room), strict=True), 1
    ):
        sizes = f"{names.dims(share.grid)} / {names.dims(share.block)}"
        kernel = [name, sizes] if wide else [f"{name}\n{sizes}"]
        table.add_row(str(rank), *kernel, *_figures(share, device))
    return table


def _figures(share: KernelShare, device: DeviceUse) -> list[str]:
    figures = [*text.per_step(share, device), numbers.share(share.kernel_share)]
    if device.use is not None:
        figures += [numbers.share(share.exposed_share), text.gain(share)]
    return figures


def _device(device: DeviceUse) -> str:
    return f"{device.index}: {text.spent(device)}"


def _commands(selection: Selection, width: int) -> str:
    """Each command on one line, however long: it is there to be copied."""
    indent = "    "
    lines = [
        f"  {typed}\n{fill(met, width, initial_indent=indent, subsequent_indent=indent)}\n"
        for typed, met in text.requests(selection)
    ]
    if not lines:
        return ""
    return "\nNext, with your program's command line for PROGRAM:\n" + "".join(lines)


def _section(title: str, lines: Iterable[str]) -> Iterator[RenderableType]:
    found = list(lines)
    if not found:
        return
    yield Text()
    yield Text(f"{title}:", style="bold")
    for line in found:
        yield hanging("- ", line, indent=2)
