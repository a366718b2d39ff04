"""``roofline history``: the changes of an experiment record, and whether to go on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from roofline.cli import options as opt
from roofline.cli.options import File
from roofline.cli.output import Output, answer_in
from roofline.compare.history import Stage, history
from roofline.compare.record import read_record

FORMATS = ("table", "json", "markdown")


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryOptions:
    """``roofline history``."""

    record: Path = opt.argument("RECORD.md", type=File())
    output: Output = answer_in(*FORMATS)


@opt.typed_command(HistoryOptions, "history")
def command(options: HistoryOptions) -> None:
    """Show what each change of a record gave, and when to stop."""
    options.output.check(FORMATS)
    write(history(read_record(options.record)), options.output)


def write(stages: tuple[Stage, ...], output: Output) -> None:
    """Write a history as it is asked for."""
    from roofline.render import history as render

    output.answer(
        json=lambda: render.json(stages),
        markdown=lambda: render.markdown(stages),
        table=lambda: render.render(stages, width=output.width(), color=output.color),
    )
