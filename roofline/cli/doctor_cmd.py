"""``roofline doctor``: can this machine profile, and if not, who can change that."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from roofline.cli import terminal
from roofline.errors import CaptureError

if TYPE_CHECKING:
    from roofline.capture.doctor import DoctorCheck

SCHEMA = "roofline.doctor/1"
_COLORS = {"pass": "green", "warn": "yellow", "fail": "red"}


@click.command("doctor")
@click.option("--ncu", metavar="PATH", help="The ncu to check instead of the one found.")
@click.option("--json", "as_json", is_flag=True, help="A JSON document instead of lines.")
@click.pass_context
def command(ctx: click.Context, ncu: str | None, as_json: bool) -> None:
    """Check whether this machine can profile; if not, why, and who can change it.

    Looks at the GPU and its driver, at ncu and whether it fits them, at the right to use
    performance counters (the driver's parameter, capabilities, containers, WSL, MIG), at other
    owners of the counters, at TMPDIR, and at ncu_report. Nothing is profiled. The exit code is 4
    where a check fails.

    \b
    Examples:
      roofline doctor
      roofline doctor --ncu /opt/nvidia/nsight-compute/2025.3.1/ncu
      roofline doctor --json
    """
    from roofline import __version__
    from roofline.capture.doctor import Status, examine, situation

    checks = examine(situation(ncu))
    failed = any(check.status is Status.FAIL for check in checks)
    if as_json:
        document = {
            "schema": SCHEMA,
            "version": __version__,
            "can_profile": not failed,
            "checks": [
                {"code": c.code, "status": c.status, "text": c.text, "remedy": c.remedy}
                for c in checks
            ],
        }
        click.echo(json.dumps(document, indent=1))
    else:
        for check in checks:
            _show(check)
    if failed:
        ctx.exit(CaptureError.exit_code)


def _show(check: DoctorCheck) -> None:
    mark = click.style(f"{check.status:4}", fg=_COLORS[check.status])
    click.echo(f"{mark}  {check.text}", color=terminal.wants_color())
    if check.remedy:
        click.echo(f"      try: {check.remedy}")
