"""``roofline specs``: list, show, check and extend the hardware registry."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import click

from roofline.cli import options, terminal
from roofline.errors import GateError, InputError, UsageError

PLAIN_WIDTH = 160  # where there is no terminal to ask
as_json = click.option("--json", "as_json", is_flag=True, help="Write JSON instead of a table.")
specs = click.option(
    "--specs",
    "folder",
    metavar="DIR",
    type=options.File(),
    help="A folder of further spec files (TOML); their entries replace those of the same key.",
)
gpu = click.option(
    "--gpu",
    metavar="INDEX",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Which GPU, as PyTorch counts them.",
)
only = click.option(
    "--only",
    metavar="CEILING",
    multiple=True,
    help="Only this ceiling, as in dram_copy or tensor_bf16; may be repeated.",
)
output = click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=options.File(),
    help="Also write the ceilings to FILE, for roofline analyze --peaks FILE.",
)


@click.group("specs")
def command() -> None:
    """Look into the hardware registry.

    Every number has a source. Files of your own are read from the specs folder of roofline's
    configuration folder, and from --specs DIR.

    \b
    Examples:
      roofline specs list hopper
      roofline specs show "H100 PCIe"
      roofline specs check report.ncu-rep
      roofline specs measure -o h100.toml
    """


@command.command("list")
@click.argument("words", metavar="[WORD]...", nargs=-1)
@as_json
@specs
def list_command(words: tuple[str, ...], *, as_json: bool, folder: Path | None) -> None:
    """List the GPUs that are known.

    All of them, or those that every WORD fits: a part of a key, a name, a chip, an architecture
    or a file, or a whole compute capability.

    \b
    Examples:
      roofline specs list
      roofline specs list geforce 8.9
      roofline specs list blackwell --json
    """
    from roofline.specs import load

    registry = load(folder)
    chosen = [s for s in registry.specs.values() if all(_fits(word, s) for word in words)]
    if not chosen:
        raise UsageError(f"no GPU fits {' '.join(words)!r}", hint="roofline specs list")
    if as_json:
        from roofline.render.specs import document

        click.echo(document(chosen, registry.sources))
    else:
        from roofline.render.specs import listing

        _print(listing, chosen)


@command.command("show")
@click.argument("name")
@as_json
@specs
def show_command(name: str, *, as_json: bool, folder: Path | None) -> None:
    """Show all numbers of one GPU.

    Parameters and rates each with its source, peaks that follow, ridge points, published figures.

    NAME is a key of the list or a name as the driver prints it; "NVIDIA" and "GeForce" may be
    left out, and case does not matter.

    \b
    Examples:
      roofline specs show l4
      roofline specs show "RTX 4090"
      roofline specs show "NVIDIA H100 80GB HBM3" --json
    """
    from roofline.specs import load

    registry = load(folder)
    spec = registry.named(name)
    if as_json:
        from roofline.render.specs import document

        click.echo(document([spec], registry.sources))
    else:
        from roofline.render.specs import page

        _print(page, spec, registry.sources)


@command.command("check")
@click.argument("reports", metavar="[REPORT]...", nargs=-1, type=options.File())
@specs
@options.jobs
@click.pass_context
def check_command(
    ctx: click.Context, reports: tuple[Path, ...], folder: Path | None, jobs: int | None
) -> None:
    """Compare the registry with reports.

    With REPORTs: SMs, clocks, bus, memory, L2 and peaks by unit; what differs by more than 2 % is
    listed with its cause. Without: the files themselves, each derived peak against the published
    one. The exit code is 1 where something is apart and nothing explains it.

    \b
    Examples:
      roofline specs check report.ncu-rep
      roofline specs check --specs my-gpus/
    """
    from roofline.specs import load

    registry = load(folder)
    if not reports:
        _check_files(registry)
        return
    from roofline.cli.progress import reading
    from roofline.counters.measure import measure
    from roofline.reports import Refused, measure_all
    from roofline.specs.audit import check_devices

    failures: list[InputError] = []
    with reading("reports", percent=True) as tell:
        events = measure_all(
            *reports, measure=measure, jobs=jobs, on_error=failures.append, on_progress=tell
        )
        measured = []
        for event in events:
            if isinstance(event, Refused):
                failures.append(event.error)
            else:
                measured.append(event.measurement)
        checked = check_devices(measured, registry)
    for failure in failures:
        click.echo(f"roofline: {failure}", err=True)
    if checked:
        from roofline.render.specs import checks

        _print(checks, checked)
    unexplained = sum(d.cause is None for c in checked for d in c.differences)
    if unexplained:
        raise GateError(f"{unexplained} differences that nothing explains")
    if failures:
        ctx.exit(InputError.exit_code)


def _check_files(registry: Any) -> None:
    from roofline.specs.audit import figures, problems
    from roofline.text.notes import note_text

    chosen = tuple(registry.specs.values())
    found = problems(chosen)
    for problem in found:
        click.echo(note_text(problem))
    if found:
        from roofline.render.sentences import plural

        raise GateError(f"{plural(len(found), 'problem')} in the spec files")
    rows = [row for spec in chosen for row in figures(spec)]
    apart = sum(not row.agrees for row in rows)
    where = ", ".join(str(folder) for folder in registry.folders)
    click.echo(
        f"{len(chosen)} GPUs in {where}: of {len(rows)} published figures {len(rows) - apart} are "
        f"within 2 % of the derived ones, and {apart} differ for a reason that is listed."
    )


@command.command("measure")
@gpu
@only
@output
@options.force
@specs
def measure_command(
    gpu: int, only: tuple[str, ...], output: Path | None, *, force: bool, folder: Path | None
) -> None:
    """Measure what a GPU really reaches.

    Bandwidths of DRAM and L2, and GEMM rates by precision. Needs PyTorch and a GPU. Clocks and
    power are read with nvidia-smi while each benchmark runs. These are ceilings of PyTorch's own
    kernels and libraries: a better kernel may pass them. They are kept for roofline analyze
    --peaks achieved, in a file of the GPU's name, unless -o names another.

    \b
    Examples:
      roofline specs measure
      roofline specs measure --gpu 1 -o h100.toml
      roofline specs measure --only tensor_bf16 --only dram_copy
    """
    from roofline.files import refuse_overwrite
    from roofline.specs import load
    from roofline.specs.ceilings import Achieved, save
    from roofline.specs.measure import bench_on, choose, open_torch, plan, run_plans

    if output is not None:
        refuse_overwrite(output, force=force)
    torch, device, made_with = open_torch(gpu)
    target = output or _kept(device.name)
    refuse_overwrite(target, force=force)
    spec = load(folder).find(device).spec
    plans = choose(plan(device, spec), only)
    done, skipped = run_plans(
        plans, bench_on(torch, gpu), on_start=lambda p: click.echo(f"{p.quantity} ...", err=True)
    )
    for one in skipped:
        click.echo(f"roofline: {one.quantity} could not be measured: {one.why}", err=True)
    if not done:
        raise UsageError("no ceiling could be measured", hint="roofline doctor")
    achieved = Achieved(
        device=device.name or "an unnamed GPU",
        date=date.today().isoformat(),
        made_with=made_with,
        ceilings=done,
    )
    from roofline.render.specs import ceilings

    _print(ceilings, achieved, spec)
    save(achieved, target, force=force)
    word = "achieved" if output is None else output
    click.echo(f"Wrote {target}. Next: roofline analyze REPORT --peaks {word}", err=True)


def _kept(name: str | None) -> Path:
    """The file in which this device's ceilings are kept."""
    from roofline.specs.ceilings import kept_folder

    folder = kept_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"cannot keep ceilings in {folder}", why=error.strerror, hint="-o FILE.toml"
        ) from error
    stem = "".join(c if c.isalnum() else "-" for c in (name or "unnamed").casefold())
    return folder / f"{stem}.toml"


def _fits(word: str, spec: Any) -> bool:
    low = word.casefold()
    texts = (spec.key, spec.chip, spec.family, spec.architecture.title, *spec.names)
    return low == spec.compute_capability or any(low in text.casefold() for text in texts)


def _print(render: Callable[..., str], *values: object) -> None:
    width = terminal.columns(PLAIN_WIDTH) if sys.stdout.isatty() else PLAIN_WIDTH
    click.echo(render(*values, width=width, color=terminal.wants_color()), nl=False)
