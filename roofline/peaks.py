"""The three kinds of peaks of a launch: its report's, the registry's, and achieved ones."""

from __future__ import annotations

from dataclasses import replace

from roofline.model import Measurement, Note, Peaks, PeakSet
from roofline.registry import Registry


def peak_set(
    measurement: Measurement, registry: Registry, achieved: Peaks | None = None
) -> tuple[PeakSet, tuple[Note, ...]]:
    """Peaks for ``measurement``, and what was noticed while finding its device.

    Where the report has no peak rate of a precision, the registry's operations a cycle and SM are
    taken at the report's own SM clock; ``Peaks.how`` says so.
    """
    found = registry.find(measurement.device)
    report = measurement.peaks
    if found.spec is None:
        return PeakSet(report=report, achieved=achieved), found.notes
    spec, sms = found.spec, measurement.device.sm_count
    rates = spec.rates(measurement.accumulate, measurement.tensor_path)
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
    datasheet = spec.peaks(measurement.accumulate, measurement.tensor_path, sm_count=sms)
    return (
        PeakSet(report=report, datasheet=datasheet, achieved=achieved, spec=spec.key),
        found.notes,
    )
