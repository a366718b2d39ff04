"""The three kinds of peaks of a launch: its report's, the registry's, and achieved ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from roofline.model import Device, Measurement, Note, Peaks, PeakSet
from roofline.specs import Registry
from roofline.specs.achieved import Ceilings, of_device

_OTHER_DEVICE = Note(
    code="achieved_other_device",
    text="the measured ceilings are of other GPUs, and are not used for this one",
)


def peak_set(
    measurement: Measurement, registry: Registry, kept: Sequence[Ceilings] = ()
) -> tuple[PeakSet, tuple[Note, ...]]:
    """Peaks for ``measurement``, and what was noticed while finding its device.

    Where the report has no peak rate of a precision, the registry's operations a cycle and SM are
    taken at the report's own SM clock; ``Peaks.how`` says so. Of the measured ceilings ``kept``
    those of the same device are taken.
    """
    achieved = of_device(kept, measurement.device.name)
    notes = (_OTHER_DEVICE,) if kept and achieved is None else ()
    report, sms = measurement.peaks, measurement.device.sm_count
    accumulate = tuple(sorted(measurement.accumulate.items()))
    known = _known(registry, measurement.device, accumulate, measurement.tensor_path)
    if known.key is None:
        return PeakSet(report=report, achieved=achieved), (*known.notes, *notes)
    rates = known.rates
    if measurement.sm_clock_hz and sms:
        filled = {
            key: rate * sms * measurement.sm_clock_hz
            for key, rate in rates.items()
            if key not in report.operations_per_s
        }
        how = dict.fromkeys(filled, "registry's operations a cycle and SM x SMs x SM clock")
        report = replace(
            report,
            operations_per_s={**filled, **report.operations_per_s},
            how={**how, **report.how},
        )
    return (
        PeakSet(report=report, datasheet=known.datasheet, achieved=achieved, spec=known.key),
        (*known.notes, *notes),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What the registry has on one device, for one kind of tensor instructions."""

    key: str | None
    rates: Mapping[str, float]
    datasheet: Peaks | None
    notes: tuple[Note, ...]


@lru_cache(maxsize=256)
def _known(
    registry: Registry,
    device: Device,
    accumulate: tuple[tuple[str, str], ...],
    tensor_path: str | None,
) -> _Known:
    """The registry's answer; the launches of a report ask the same again and again."""
    found = registry.find(device)
    if found.spec is None:
        return _Known(key=None, rates={}, datasheet=None, notes=found.notes)
    spec, by_key = found.spec, dict(accumulate)
    return _Known(
        key=spec.key,
        rates=spec.rates(by_key, tensor_path),
        datasheet=spec.peaks(by_key, tensor_path, sm_count=device.sm_count),
        notes=found.notes,
    )
