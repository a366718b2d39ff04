"""The devices of saved reports against the registry, every launch of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from roofline.model import Device, Measurement
from roofline.reader import OnProgress, Refused, survey
from roofline.reports import OnError, report_or_raise
from roofline.specs.check import Checked, Difference, check, compared
from roofline.specs.store import Registry


def check_reports(
    paths: Sequence[Path],
    registry: Registry,
    *,
    jobs: int | None = None,
    on_error: OnError | None = None,
    on_progress: OnProgress | None = None,
) -> tuple[Checked, ...]:
    """Check each device that occurs in the reports once, by all of its launches.

    Of a quantity that differs in several launches the largest difference is kept.

    Raises:
        InputError: a file cannot be read or holds no kernels, or a pattern matches nothing.
        UsageError: ``jobs`` is no whole number from 1 to 1024.

    """
    devices: dict[Device, list[Measurement]] = {}
    for event in survey(*paths, jobs=jobs, on_error=on_error, on_progress=on_progress):
        if isinstance(event, Refused):
            report_or_raise(event.error, on_error)
            continue
        measured = event.measurement
        devices.setdefault(measured.device, []).append(measured)
    return tuple(_check(device, launches, registry) for device, launches in devices.items())


def _check(device: Device, launches: Sequence[Measurement], registry: Registry) -> Checked:
    found = registry.find(device)
    name = device.name or "a GPU that the report does not name"
    if found.spec is None:
        return Checked(device=name, spec=None, notes=found.notes, suggestions=found.suggestions)
    quantities: set[str] = set()
    worst: dict[str, Difference] = {}
    for m in launches:
        known = (device, m.peaks, m.sm_clock_hz, found.spec)
        quantities |= {row.quantity for row in compared(*known, m.accumulate, m.tensor_path)}
        for row in check(*known, accumulate=m.accumulate, tensor_path=m.tensor_path):
            if row.quantity not in worst or abs(row.percent) > abs(worst[row.quantity].percent):
                worst[row.quantity] = row
    return Checked(
        device=name,
        spec=found.spec.key,
        compared=len(quantities),
        differences=tuple(worst.values()),
        notes=found.notes,
    )
