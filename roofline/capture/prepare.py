"""What to ask for on this machine: its chips, and the metrics that they and this ncu have."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from roofline.capture.chips import Chosen, chip_of, choose
from roofline.capture.machine import Machine
from roofline.capture.request import CaptureRequest, Ncu
from roofline.errors import UsageError
from roofline.process import Completed

Run = Callable[[list[str]], Completed | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A request fitted to a machine; ``notes`` say what was changed and why."""

    request: CaptureRequest
    chips: tuple[str, ...]
    chosen: Chosen
    notes: tuple[str, ...] = ()


def prepare(request: CaptureRequest, ncu: Ncu, machine: Machine, run: Run) -> Prepared:
    """Fit ``request`` to ``machine``, asking ncu which of the metrics it knows.

    Raises:
        UsageError: --devices names a GPU that is not there.

    """
    chips = chips_of(machine, request.devices)
    listed = known_to(ncu, chips, run)
    chosen = choose(request.level, chips, request.metrics, listed, patched=request.patched)
    notes = []
    if len(chips) > 1:
        notes.append(
            f"several kinds of GPU ({', '.join(chips)}): what all of them count; --devices"
        )
    if not chips:
        notes.append("the GPU is not known: only what every GPU counts is collected")
    if not request.patched:
        notes.append("operations by precision are not collected: ncu cannot for ranges and graphs")
    if machine.mig and request.lock_clocks:
        request = replace(request, lock_clocks=False)
        notes.append("MIG: clocks cannot be locked, --clock-control none is used")
    return Prepared(request=request, chips=chips, chosen=chosen, notes=tuple(notes))


def chips_of(machine: Machine, devices: str | None) -> tuple[str, ...]:
    """The distinct chips of the GPUs that may be profiled, in order."""
    gpus = machine.gpus
    if devices is not None and gpus:
        wanted = devices.split(",")
        there = {str(gpu.index) for gpu in gpus}
        if missing := [name for name in wanted if name.strip() not in there]:
            raise UsageError(
                f"--devices {devices}: there is no GPU {', '.join(missing)}",
                hint=f"of {', '.join(sorted(there))}",
            )
        gpus = tuple(gpu for gpu in gpus if str(gpu.index) in {name.strip() for name in wanted})
    found = (chip_of(gpu.capability) for gpu in gpus if gpu.capability)
    return tuple(dict.fromkeys(chip for chip in found if chip))


def known_to(ncu: Ncu, chips: Sequence[str], run: Run) -> frozenset[str] | None:
    """Base names that ncu knows on all of ``chips`` (on the GPUs here if that is empty).

    ``None`` where ncu does not say, which is no error: it may know chips by other names.
    """
    questions = [["--chips", chip.lower()] for chip in chips] or [[]]
    lists = []
    for words in questions:
        answer = run([str(ncu.path), "--query-metrics", *words])
        names = frozenset(parse_names(answer.stdout if answer else ""))
        if not names:
            return None
        lists.append(names)
    return frozenset.intersection(*lists)


def parse_names(text: str) -> Collection[str]:
    """The first column of ``ncu --query-metrics``: names have two underscores together."""
    words = (line.split()[0] for line in text.splitlines() if line[:1].strip())
    return {word for word in words if "__" in word}
