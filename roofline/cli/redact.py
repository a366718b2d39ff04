"""``roofline redact``: a report that one may attach to a pull request."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from roofline.cli import options as opt
from roofline.cli.errors import say
from roofline.cli.options import File, Target
from roofline.errors import one_line
from roofline.text.numbers import plural


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactOptions:
    """``roofline redact``."""

    report: Path = opt.argument("REPORT", type=File())
    target: Target = opt.shared(
        Target, path={"help": "The copy; the ending .ncu-repz compresses it."}
    )
    keep_sass: bool = opt.written("--keep-sass")
    keep_names: bool = opt.written("--keep-names/--no-keep-names", default=True)


@opt.typed_command(RedactOptions, "redact")
def command(options: RedactOptions) -> None:
    """Copy a report without personal data."""
    from roofline.reports.redact import redact

    target = options.target
    done = redact(
        options.report,
        target.path,
        keep_sass=options.keep_sass,
        keep_names=options.keep_names,
        force=target.force,
    )
    left_out = sorted(what for what, count in done.left_out.items() if count)
    if done.paths:
        left_out.append(f"paths in {done.paths} texts, down to the names of files")
    said = f"{one_line(str(target.path))}: {plural(done.results, 'result')} with all metrics"
    say(f"{said}\nLeft out:", prefix="")
    for what in left_out or ["nothing: no personal data was found"]:
        say(f"  {what}", prefix="")
    kept = "kernel names and NVTX ranges" if options.keep_names else "NVTX ranges"
    say(f"The copy keeps {kept}: read them before you share.", prefix="")
