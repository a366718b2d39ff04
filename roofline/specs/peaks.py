"""The three kinds of peaks of a launch: its report's, the registry's, and achieved ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from roofline.model import Device, Measurement, Note, Peaks, PeakSet
from roofline.specs.ceilings import Ceilings, of_device
from roofline.specs.lookup import Found
from roofline.specs.registry import Registry


def peak_set(
    measurement: Measurement, registry: Registry, kept: Sequence[Ceilings] = ()
) -> tuple[PeakSet, tuple[Note, ...]]:
    """Peaks for ``measurement``, and what was noticed while finding its device.

    Where the report has no peak rate of a precision, the registry's operations a cycle and SM are
    taken at the report's own SM clock; ``Peaks.how`` says so. Of the measured ceilings ``kept``
    those of the same device are taken.
    """
    device, report = measurement.device, measurement.peaks
    accumulate = tuple(sorted(measurement.accumulate.items()))
    sms = measurement.sm_count or device.sm_count  # those that the launch was given
    which = measurement.spec or device
    found, rates, datasheet = _known(registry, which, accumulate, measurement.tensor_path, sms)
    chosen = found.spec.name if measurement.spec and found.spec else device.name
    achieved, notes = of_device(kept, chosen), found.notes
    if kept and achieved is None:
        notes = (*notes, Note(code="achieved_other_device"))
    if measurement.sm_clock_hz and sms:
        per_rate = sms * measurement.sm_clock_hz
        filled = {
            k: rate * per_rate for k, rate in rates.items() if k not in report.operations_per_s
        }
        how = dict.fromkeys(filled, "registry's operations a cycle and SM x SMs x SM clock")
        if filled:
            rates = {**filled, **report.operations_per_s}
            report = replace(report, operations_per_s=rates, how={**how, **report.how})
    key = None if found.spec is None else found.spec.key
    return PeakSet(report=report, datasheet=datasheet, achieved=achieved, spec=key), notes


@lru_cache(maxsize=256)  # the launches of a report ask the same again and again
def _known(
    registry: Registry,
    which: Device | str,
    accumulate: tuple[tuple[str, str], ...],
    tensor_path: str | None,
    sms: int | None,
) -> tuple[Found, dict[str, float], Peaks | None]:
    """What the registry has on a device or under a key, for one kind of tensor instructions."""
    by_key = dict(accumulate)
    if isinstance(which, str):
        found = Found(spec=registry.specs[which], how="key")
    else:
        found = registry.find(which)
    if found.spec is None:
        return found, {}, None
    sheet = found.spec.peaks(by_key, tensor_path, sm_count=sms)
    return found, found.spec.rates(by_key, tensor_path), sheet
