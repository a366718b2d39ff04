"""``roofline verdict``: operations, bytes and a time into a verdict, without a report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from roofline.cli import completion
from roofline.cli import options as opt
from roofline.cli.analyze import Showing, answer, ceilings, check
from roofline.cli.options import Choosing, File, Rules
from roofline.cli.output import Output
from roofline.figures import COLUMNS, point_of, read_points


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictOptions:
    """``roofline verdict``."""

    file: Path | None = opt.argument("[FILE.csv]", required=False, type=File())
    name: str | None = opt.which("--name TEXT")
    gpu: str | None = opt.which("--gpu NAME", shell_complete=completion.gpus)
    dtype: str | None = opt.which("--dtype TYPE", shell_complete=completion.dtypes)
    flops: str | None = opt.amount("--flops AMOUNT")
    bytes: str | None = opt.amount("--bytes AMOUNT")
    time: str | None = opt.amount("--time T")
    mnk: str | None = opt.amount("--mnk MxNxK")
    choosing: Choosing = opt.shared(Choosing)
    showing: Showing = opt.shared(Showing)
    judging: Rules = opt.shared(
        Rules,
        peaks={
            "help": "Ceilings from 'roofline specs measure' (TOML, or the word 'achieved'), to be "
            "shown and drawn; the datasheet's peaks judge."
        },
    )
    output: Output = opt.shared(Output)


@opt.typed_command(VerdictOptions, "verdict")
def command(options: VerdictOptions) -> None:
    """Judge a kernel by three numbers: operations, bytes and time."""
    from roofline.analysis import analyze

    check(options.showing, options.output)
    given = {name: getattr(options, name) for name in COLUMNS}
    points = (point_of(given),) if options.file is None else read_points(options.file, given)
    judging = options.judging
    analysis = analyze(
        points=points, specs=judging.specs, achieved=ceilings(judging.peaks), rule=judging.rule
    )
    answer(analysis, options.choosing, options.showing, options.output)
