"""The values that cross the stages: one frozen type an arrow, SI floats, units in the names.

Absent is ``None`` (or a key that is not there), never 0. Percentages are of peak over elapsed
time, may exceed 100 and are never clamped.
"""

from __future__ import annotations

from roofline.model.judged import (
    Analysis,
    Group,
    PeakSet,
    Result,
    Source,
    Verdict,
)
from roofline.model.measured import (
    NOTHING,
    Device,
    Measurement,
    Missing,
    Note,
    Peaks,
    Stall,
    UnitUse,
)
from roofline.model.words import (
    PLAIN_PRECISIONS,
    PRECISIONS,
    TENSOR_PRECISIONS,
    Bound,
    Confidence,
    Dim3,
    Family,
    Kind,
)

__all__ = [
    "NOTHING",
    "PLAIN_PRECISIONS",
    "PRECISIONS",
    "TENSOR_PRECISIONS",
    "Analysis",
    "Bound",
    "Confidence",
    "Device",
    "Dim3",
    "Family",
    "Group",
    "Kind",
    "Measurement",
    "Missing",
    "Note",
    "PeakSet",
    "Peaks",
    "Result",
    "Source",
    "Stall",
    "UnitUse",
    "Verdict",
]
