"""What a reader of a selection must know: about its steps, its devices, its bounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from roofline.model import Note
from roofline.timeline.device import Part, same_grids
from roofline.timeline.selection import DeviceUse, First
from roofline.timeline.wanted import Wanted

_MOST = 0.5
_MUCH = 0.05
_MANY = 1000  # steps: so many ranges are more likely operators
_WIDE = 0.02  # of wall time: between what a kernel ran and what it ran alone


def notes_on(part: Part, devices: Mapping[int, DeviceUse], wanted: Wanted) -> tuple[Note, ...]:
    """Notes on the device of ``part``, whose figures are among ``devices``."""
    device = devices[part.index]
    return (
        *_on_steps(part, device, wanted),
        *_on_devices(part, devices),
        *_on_bounds(device),
        *_on_choice(device, wanted),
    )


def _on_steps(part: Part, device: DeviceUse, wanted: Wanted) -> Iterator[Note]:
    if not part.ranged and not wanted.window:
        text = (
            "No steps are marked, so the whole recording counts, warm-up included: --step REGEX "
            "names the ranges that are steps, --from and --to cut."
        )
        yield Note(code="no_steps", text=text)
    empty = sum(not device.steps[i].launches for i in part.kept)
    if part.ranged and (len(part.windows) > _MANY or 2 * empty > len(part.kept)):
        text = (
            f"{len(part.windows):,} ranges are taken for steps, and {empty:,} of the "
            f"{len(part.kept):,} that count launch nothing: --step should match what is around "
            "one iteration, and nothing else."
        )
        yield Note(code="many_steps", text=text)
    if part.ranged and device.steady is None:
        text = "Only one step counts: nothing can be said about the steady state."
        yield Note(code="one_step", text=text)
    if device.steady is False:
        text = "Not a steady state: the steps launch different kernels, which averages hide."
        yield Note(code="not_steady", text=text)
    elif same_grids(part) is False:
        text = (
            "The steps launch the same kernels, but not at the same grids: --by name adds up the "
            "grids of a kernel."
        )
        yield Note(code="shapes_vary", text=text)


def _on_devices(part: Part, devices: Mapping[int, DeviceUse]) -> Iterator[Note]:
    others = [d for d in devices if d != part.index]
    if others:
        listed = ", ".join(str(d) for d in others)
        text = (
            f"Kernels also ran on device {listed}; devices are never added up. --device shows one."
        )
        yield Note(code="other_devices", text=text)
    processes = np.unique(part.events.process)
    if len(processes[processes >= 0]) > 1:
        text = f"{len(processes[processes >= 0])} processes ran on device {part.index}."
        yield Note(code="several_processes", text=text)


def _on_bounds(device: DeviceUse) -> Iterator[Note]:
    use, late = device.use, device.host_late_s
    if use is None:
        return
    idle = use.idle_s
    if late is not None and idle > _MUCH * use.wall_s and late > _MOST * idle:
        text = (
            f"{late / idle:.0%} of the idle time passes before the host has launched what runs "
            "next: there, faster kernels only make the gaps longer."
        )
        yield Note(code="host_late", text=text)
    if device.first in (First.COMMUNICATION, First.COPIES):
        text = "Most of the time is not in kernels that ncu can help with."
        yield Note(code="not_kernels", text=text)


def _on_choice(device: DeviceUse, wanted: Wanted) -> Iterator[Note]:
    chosen = [k for k in device.kernels if k.chosen]
    if not chosen:
        text = (
            f"No kernel takes {wanted.min_share:.1%} of the wall time: --min-share lowers that bar."
        )
        yield Note(code="none_chosen", text=text)
    if any((k.wall_share or 0) - (k.exposed_share or 0) > _WIDE for k in chosen):
        text = (
            "Where two bounds are given, the kernel overlaps other work: the first counts only "
            "the time that it runs alone, the second all of it."
        )
        yield Note(code="overlap", text=text)
