"""A selection as Markdown: kernels, numbers and commands only."""

from __future__ import annotations

from collections.abc import Iterator

from roofline.render import selection_text as text
from roofline.render.markdown import code, escaped
from roofline.text import names, numbers
from roofline.timeline.selection import Selection

_NAME = 60


def render(selection: Selection) -> str:
    """``selection`` as Markdown for GitHub."""
    device = selection.selected
    lines = [f"{escaped(line)}  " for line in text.head(selection)]
    if selection.chosen:
        lines += ["", *_table(selection)]
    if rest := text.rest(device):
        lines += ["", escaped(rest)]
    for title, found in (
        ("Not for ncu", text.apart(device)),
        ("Largest gaps", text.gaps(device)),
    ):
        if listed := [f"- {escaped(line)}" for line in found]:
            lines += ["", f"**{title}**", "", *listed]
    lines += _commands(selection)
    if noted := [f"- {escaped(note)}" for note in text.notes(selection)]:
        lines += ["", *noted]
    return "\n".join(lines) + "\n"


def _table(selection: Selection) -> Iterator[str]:
    device, chosen = selection.selected, selection.chosen
    stepped = " a step" if selection.steps == "ranges" else ""
    titles = ["#", "kernel", "grid / block", f"launches{stepped}", f"time{stepped}", "of kernels"]
    if device.use is not None:
        titles += ["exposed", "step gains at most"]
    yield f"| {' | '.join(titles)} |"
    yield f"| --: | --- | --- | {' | '.join(['--:'] * (len(titles) - 3))} |"
    shown = zip(chosen, text.short_names(chosen, _NAME), strict=True)
    for rank, (share, name) in enumerate(shown, 1):
        cells = [
            str(rank),
            code(name),
            f"{names.dims(share.grid)} / {names.dims(share.block)}",
            *text.per_step(share, device),
            numbers.share(share.kernel_share),
        ]
        if device.use is not None:
            cells += [numbers.share(share.exposed_share), text.gain(share)]
        yield f"| {' | '.join(cells)} |"


def _commands(selection: Selection) -> Iterator[str]:
    for typed, met in text.requests(selection):
        yield from ("", f"{escaped(met)}:", "", "```sh", typed, "```")
