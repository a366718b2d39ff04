"""Which roofs a device has: one a memory level and one a precision in use, by kind of peak."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from roofline.model import PRECISIONS, Peaks, Result
from roofline.plot.style import KINDS
from roofline.plot.words import LEVELS


@dataclass(frozen=True, slots=True, kw_only=True)
class Roof:
    """A ceiling and its height by kind of peak; ``key`` is a memory level or an operation key."""

    key: str
    rates: Mapping[str, float]

    @property
    def main(self) -> str:
        """The kind that the roof is labelled with: the report's own where there is one."""
        return next(iter(self.rates))


def _roof(key: str, heights: Iterable[tuple[str, float | None]]) -> Roof | None:
    """A roof from (kind, height) of kernels by time: for each kind the first that is known."""
    rates: dict[str, float] = {}
    for kind, height in heights:
        if height:
            rates.setdefault(kind, height)
    if not rates:
        return None
    return Roof(key=key, rates={kind: rates[kind] for kind in KINDS if kind in rates})


def memory_roofs(results: Sequence[Result], *, datasheet: bool) -> Iterable[Roof]:
    """The roof of DRAM, and of L2 and L1 where the reports measure them; longest result first."""
    for level in LEVELS:
        roof = _roof(
            level,
            (
                (p.kind, getattr(p, f"{level}_bytes_per_s"))
                for p in _peaks(results, datasheet=datasheet)
            ),
        )
        if roof is None:
            continue
        measured = any(getattr(r.measurement, f"{level}_bytes") is not None for r in results)
        if measured or level == "dram" or "report" in roof.rates:
            yield roof


def ceilings(results: Sequence[Result], *, datasheet: bool) -> Iterable[Roof]:
    """A ceiling for each precision that is really used, with the peaks of those that use it."""
    for key in PRECISIONS:
        users = [r for r in results if r.measurement.operations.get(key, 0.0) > 0]
        roof = _roof(
            key, ((p.kind, p.operations_per_s.get(key)) for p in _peaks(users, datasheet=datasheet))
        )
        if roof is not None:
            yield roof


def _peaks(results: Sequence[Result], *, datasheet: bool) -> Iterable[Peaks]:
    for result in results:
        for peaks in result.peaks.of_kind():
            if datasheet or peaks.kind != "datasheet":
                yield peaks
