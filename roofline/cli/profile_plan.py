"""What ``roofline profile --dry-run`` prints: the command line of ncu, and its cost by chip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from roofline.capture.command import command, shell
from roofline.capture.failures import NcuFailedError
from roofline.capture.levels import CHIP_OF_CAPABILITY, Cost, chip_of, cost, metrics_of, table
from roofline.capture.machine import model_names
from roofline.capture.preflight import find_ncu
from roofline.capture.request import CaptureLevel, CaptureRequest, Ncu, Version
from roofline.capture.run import log_path
from roofline.errors import UsageError

# The chips that the table is shown for where none is known: one of each generation.
SHOWN = ("TU102", "GA100", "GA102", "AD102", "GH100", "GB100", "GB202")
ELSE = "GH100"
# Without an ncu the plan is for one that takes every option.
_NEWEST = Version(year=2100, minor=1, text="any")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of ncu, where its report goes, and what a reader should know about it."""

    request: CaptureRequest
    report: Path
    remark: str | None = None


def plan(runs: Sequence[Run], *, ncu: str | None, chip: str | None) -> str:
    """The text of the plan; nothing is run but ``ncu --version``.

    ``runs`` differ in the launches that they are about, not in what is collected.

    Raises:
        UsageError: no chip of this name is known.

    """
    lines = []
    request = runs[0].request
    try:
        found = find_ncu(ncu)
    except NcuFailedError as error:
        found = Ncu(path=Path("ncu"), version=_NEWEST, how="none found")
        lines.append(f"# {error.diagnosis.failure.cause}; the command is for a recent ncu")
    chips = (known_chip(chip),) if chip else chips_here()
    if not chips:
        lines.append(f"# no GPU is known here; the command is for {ELSE}, --chip NAME for another")
        lines.append("# (a real run asks the driver and ncu what there is)")
    metrics = metrics_of(request.level, chips or (ELSE,), request.metrics, patched=request.patched)
    lines += [line for run in runs for line in _run(run, found, metrics)]
    lines += ["", *_costs(request, chips or SHOWN)]
    return "\n".join(lines) + "\n"


def _run(run: Run, ncu: Ncu, metrics: Sequence[str]) -> list[str]:
    words = command(
        run.request,
        ncu,
        metrics=metrics,
        report=run.report.with_suffix(""),
        log=log_path(run.report),
    )
    return [*([] if run.remark is None else [f"# {run.remark}"]), shell(words)]


def known_chip(name: str) -> str:
    """NVIDIA's chip name as the table spells it.

    Raises:
        UsageError: the table has no such chip.

    """
    if name.upper() in table():
        return name.upper()
    older = name.upper() in CHIP_OF_CAPABILITY.values()
    raise UsageError(
        f"--chip {name}: {'too old for the pass table' if older else 'not known'}",
        why="a real run on it asks ncu what it counts" if older else None,
        hint=f"one of {', '.join(sorted(table()))}",
    )


def chips_here() -> tuple[str, ...]:
    """The chips of the GPUs that the driver lists in files, as far as the registry knows them."""
    names = model_names()
    if not names:
        return ()
    from roofline.model import Device
    from roofline.specs import load

    registry = load()
    specs = [registry.find(Device(name=name)).spec for name in names]
    chips = (chip_of(spec.compute_capability) for spec in specs if spec is not None)
    return tuple(dict.fromkeys(chip for chip in chips if chip))


def _costs(request: CaptureRequest, chips: tuple[str, ...]) -> list[str]:
    # NVIDIA's full set costs what it costs, whoever names it.
    level = CaptureLevel.FULL if request.section_set == "full" else request.level
    added = {
        "--metrics": request.metrics,
        "--section": request.sections,
        "--set": request.section_set if level is not CaptureLevel.FULL else None,
    }
    names = " and ".join(option for option, given in added.items() if given)
    return [
        f"Passes over each {'kernel' if request.patched else 'range or graph'} at level {level}:",
        f"  {'chip':8} {'hardware':>8}  in all",
        *(_cost(level, cost(level, chip, patched=request.patched), request) for chip in chips),
        *([f"  and what {names} may add, which is not in this table"] if names else []),
    ]


def _cost(level: CaptureLevel, row: Cost, request: CaptureRequest) -> str:
    hardware = "-" if row.hardware is None else str(row.hardware)
    if row.total is None:
        return f"  {row.chip:8} {hardware:>8}  not known"
    low, high = row.total
    total = f"{low}" if low == high else f"{low} to {high}"
    return f"  {row.chip:8} {hardware:>8}  {total} ({_how(level, request)})"


def _how(level: CaptureLevel, request: CaptureRequest) -> str:
    """What comes to the passes of the hardware."""
    if level is CaptureLevel.FULL:
        return "seen in public reports"
    parts = ["patched code"] if request.patched else []
    parts += [] if level is CaptureLevel.QUICK else ["sampling"]
    return f"with {' and '.join(parts)}" if parts else "nothing else"
