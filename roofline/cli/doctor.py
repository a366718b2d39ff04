"""``roofline doctor``: can this machine profile, and if not, who can change that."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

import click

from roofline import __version__
from roofline.capture.doctor import Status, conclusion, examine, situation
from roofline.cli import options as opt
from roofline.cli.output import Output, answer_in
from roofline.errors import CaptureError

FORMATS = ("table", "json")
SCHEMA = "roofline.doctor/1"
_COLORS = {"pass": "green", "info": "blue", "warn": "yellow", "fail": "red"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorOptions:
    """``roofline doctor``."""

    ncu: str | None = opt.expert("--ncu PATH")
    output: Output = answer_in(*FORMATS)


@opt.typed_command(DoctorOptions, "doctor")
def command(options: DoctorOptions) -> int:
    """Check whether this machine can profile, and who can change that."""
    output = options.output
    output.check(FORMATS)
    checks = examine(situation(options.ncu))
    failed = any(check.status is Status.FAIL for check in checks)
    if output.format == "json":
        document = {
            "schema": SCHEMA,
            "version": __version__,
            "can_profile": not failed,
            "conclusion": conclusion(checks),
            "checks": [asdict(check) for check in checks],
        }
        output.write(json.dumps(document, indent=1), "\n")
    else:
        lines = []
        for check in checks:
            mark = f"{check.status:4}"
            mark = click.style(mark, fg=_COLORS[check.status]) if output.color else mark
            remedy = f"      try: {check.remedy}\n" if check.remedy else ""
            lines.append(f"{mark}  {check.text}\n{remedy}")
        output.write(*lines, f"\n{conclusion(checks)}\n")
    return CaptureError.exit_code if failed else 0
