"""``roofline specs``: list, show, check and extend the hardware registry."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import click

from roofline.cli import completion
from roofline.cli import options as opt
from roofline.cli.errors import say
from roofline.cli.options import File, Jobs
from roofline.cli.output import Output, answer_in, progress
from roofline.errors import GateError, InputError, UsageError
from roofline.files import refuse_overwrite, settings_folder
from roofline.specs import Registry, Spec, load
from roofline.text.notes import note_text
from roofline.text.numbers import plural

PLAIN_WIDTH = 160  # where there is no terminal to ask
FORMATS = ("table", "json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """Where further specs are."""

    specs: Path | None = opt.judged("--specs DIR")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions(Folder):
    """``roofline specs list``."""

    words: tuple[str, ...] = opt.argument("[WORD]...", nargs=-1)
    output: Output = answer_in(*FORMATS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowOptions(Folder):
    """``roofline specs show``."""

    name: str = opt.argument("NAME", shell_complete=completion.gpus)
    output: Output = answer_in(*FORMATS)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions(Folder):
    """``roofline specs check``."""

    reports: tuple[Path, ...] = opt.argument("[REPORT]...", nargs=-1, type=File())
    reading: Jobs = opt.shared(Jobs)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureOptions(Folder):
    """``roofline specs measure``."""

    devices: tuple[int, ...] = opt.which("--device INDEX...", type=int)
    only: tuple[str, ...] = opt.which("--only CEILING...")
    output: Path | None = opt.written("-o --output FILE")
    force: bool = opt.written("-f --force")


@click.group("specs")
def command() -> None:
    """Look up GPUs in the hardware registry.

    \b
    Examples:
      roofline specs list hopper
      roofline specs show "H100 PCIe"
      roofline specs check report.ncu-rep
      roofline specs measure -o h100.toml

    Every number has a source. Your own files are read from the specs folder of roofline's
    configuration folder, and from --specs DIR.
    """


@opt.typed_command(ListOptions, "list", in_group=command)
def list_command(options: ListOptions) -> None:
    """List the known GPUs."""
    options.output.check(FORMATS)
    registry = load(options.specs)
    chosen = [s for s in registry.specs.values() if all(_fits(word, s) for word in options.words)]
    if not chosen:
        raise UsageError(f"no GPU matches {' '.join(options.words)!r}", hint="roofline specs list")
    _show(chosen, registry, options.output, whole=False)


@opt.typed_command(ShowOptions, "show", in_group=command)
def show_command(options: ShowOptions) -> None:
    """Show all numbers of one GPU."""
    options.output.check(FORMATS)
    registry = load(options.specs)
    spec, notes = registry.meant(options.name)
    for note in notes:
        say(note_text(note))
    _show([spec], registry, options.output, whole=True)


def _show(chosen: list[Spec], registry: Registry, output: Output, *, whole: bool) -> None:
    from roofline.render import specs as render

    sources, width, color = registry.sources, _width(output), output.color
    if output.format == "json":
        output.write(render.document(chosen, sources), "\n")
    elif whole:
        output.write(render.page(chosen[0], sources, width=width, color=color))
    else:
        output.write(render.listing(chosen, width=width, color=color))


@opt.typed_command(CheckOptions, "check", in_group=command)
def check_command(options: CheckOptions) -> int:
    """Compare the registry with reports."""
    from roofline.counters.measure import measure
    from roofline.model import Measurement
    from roofline.render.specs import checks
    from roofline.reports import Refused, read_all
    from roofline.specs.audit import check_devices

    registry = load(options.specs)
    if not options.reports:
        _check_files(registry)
        return 0
    failures: list[InputError] = []
    measured = []
    with progress("reports", percent=True) as tell:
        for event in read_all(
            *options.reports,
            work=measure,
            kind=Measurement,
            jobs=options.reading.jobs,
            on_progress=tell,
        ):
            if isinstance(event, Refused):
                failures.append(event.error)
            else:
                measured.append(event.value)
    checked = check_devices(measured, registry)
    for failure in failures:
        say(str(failure))
    output = Output()
    if checked:
        output.write(checks(checked, width=_width(output), color=output.color))
    unexplained = sum(d.cause is None for c in checked for d in c.differences)
    if unexplained:
        hint = "roofline specs show GPU, for the sources of its numbers"
        raise GateError(f"{unexplained} differences without an explanation", hint=hint)
    return InputError.exit_code if failures else 0


def _check_files(registry: Registry) -> None:
    from roofline.specs.audit import figures, problems

    chosen = tuple(registry.specs.values())
    found = problems(chosen)
    for problem in found:
        click.echo(note_text(problem))
    if found:
        hint = "docs/peaks.md says what a file holds"
        raise GateError(f"{plural(len(found), 'problem')} in the spec files", hint=hint)
    rows = [row for spec in chosen for row in figures(spec)]
    apart = sum(not row.agrees for row in rows)
    where = ", ".join(str(folder) for folder in registry.folders)
    click.echo(
        f"{len(chosen)} GPUs in {where}: of {len(rows)} published figures {len(rows) - apart} are "
        f"within 2 % of the derived ones, and {apart} differ for a listed reason."
    )


@opt.typed_command(MeasureOptions, "measure", in_group=command)
def measure_command(options: MeasureOptions) -> None:
    """Measure the ceilings that a GPU reaches."""
    if options.output is not None and len(options.devices) > 1:
        raise UsageError("-o is for one GPU", hint="--device once, or the files that are kept")
    for index in options.devices or (0,):
        _measure(options, index)


def _measure(options: MeasureOptions, index: int) -> None:
    """Measure one GPU, print its ceilings and keep them."""
    from roofline.render.specs import ceilings
    from roofline.specs.ceilings import Achieved, save
    from roofline.specs.measure import bench_on, choose, open_torch, plan, run_plans

    output, force = options.output, options.force
    if output is not None:
        refuse_overwrite(output, force=force)
    torch, device, made_with = open_torch(index)
    target = output or _kept(device.name)
    refuse_overwrite(target, force=force)
    spec = load(options.specs).find(device).spec
    done, skipped = run_plans(
        choose(plan(device, spec), options.only),
        bench_on(torch, index),
        on_start=lambda p: say(f"{p.quantity} ...", prefix=""),
    )
    for quantity, why in skipped.items():
        say(f"{quantity} could not be measured: {why}")
    if not done:
        raise UsageError("no ceiling could be measured", hint="roofline doctor")
    name, today = device.name or "an unnamed GPU", date.today().isoformat()
    achieved = Achieved(device=name, date=today, made_with=made_with, ceilings=done)
    shown = Output()
    shown.write(ceilings(achieved, spec, width=_width(shown), color=shown.color))
    save(achieved, target, force=force)
    word = "achieved" if output is None else output
    say(f"Wrote {target}. Next: roofline analyze REPORT --peaks {word}", prefix="")


def _width(output: Output) -> int:
    """The width of a table: wide where no terminal limits it, whatever COLUMNS says."""
    return output.width(PLAIN_WIDTH) if sys.stdout.isatty() else PLAIN_WIDTH


def _kept(name: str | None) -> Path:
    """The file in which this device's ceilings are kept."""
    from roofline.specs.ceilings import KEPT

    folder = settings_folder(KEPT)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"cannot keep ceilings in {folder}"
        raise UsageError(what, why=error.strerror, hint="-o FILE.toml") from error
    stem = "".join(c if c.isalnum() else "-" for c in (name or "unnamed").casefold())
    return folder / f"{stem}.toml"


def _fits(word: str, spec: Spec) -> bool:
    low = word.casefold()
    texts = (spec.key, spec.chip, spec.family, spec.architecture.title, *spec.names)
    return low == spec.compute_capability or any(low in text.casefold() for text in texts)
