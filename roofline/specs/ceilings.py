"""Ceilings measured on a device: the arithmetic, and the file that ``--peaks`` reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from roofline import __version__
from roofline.files import write_text
from roofline.model import PRECISIONS

DRAM = ("dram_copy", "dram_read", "dram_write")
L2 = ("l2_copy", "l2_write")
QUANTITIES = (*DRAM, *L2, *PRECISIONS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Clocks and power at one moment; ``None`` where they could not be read."""

    sm_clock_hz: float | None = None
    dram_clock_hz: float | None = None
    power_w: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """One measured ceiling: the best of ``repeats`` runs, and what the device did meanwhile.

    ``quantity`` is one of ``QUANTITIES``. ``per_s`` is bytes or operations a second in the
    fastest run, ``median_per_s`` in the middle one. Clocks and power are means over the samples.
    """

    quantity: str
    per_s: float
    median_per_s: float
    repeats: int
    sm_clock_hz: float | None = None
    dram_clock_hz: float | None = None
    power_w: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Achieved:
    """Everything that was measured on one device; ``made_with`` names the libraries."""

    device: str
    date: str
    made_with: str
    ceilings: tuple[Ceiling, ...]

    def best_of(self, quantities: Sequence[str]) -> Ceiling | None:
        """The highest ceiling among several access patterns."""
        there = [c for c in self.ceilings if c.quantity in quantities]
        return max(there, key=lambda c: c.per_s, default=None)


def ceiling(
    quantity: str, amount: float, durations_s: Sequence[float], samples: Sequence[Sample] = ()
) -> Ceiling:
    """The ceiling that a set of timed runs shows.

    Args:
        quantity: one of ``QUANTITIES``.
        amount: bytes or operations of one run.
        durations_s: how long each run took; the fastest counts.
        samples: clocks and power read meanwhile.

    Raises:
        ValueError: no run, or one that took no time.

    """
    if quantity not in QUANTITIES:
        raise ValueError(f"{quantity!r} is not something that has a ceiling")
    if not durations_s or min(durations_s) <= 0 or amount <= 0:
        raise ValueError(f"{quantity}: a rate needs runs that did something and took time")
    ordered = sorted(durations_s)
    return Ceiling(
        quantity=quantity,
        per_s=amount / ordered[0],
        median_per_s=amount / ordered[len(ordered) // 2],
        repeats=len(ordered),
        sm_clock_hz=_mean([s.sm_clock_hz for s in samples]),
        dram_clock_hz=_mean([s.dram_clock_hz for s in samples]),
        power_w=_mean([s.power_w for s in samples]),
    )


def save(achieved: Achieved, path: Path, *, force: bool = False) -> None:
    """Write the file that ``roofline.specs.achieved.load_achieved`` reads.

    Raises:
        UsageError: ``path`` exists (without ``force``) or cannot be written.

    """
    write_text(path, "\n".join(_lines(achieved)) + "\n", force=force)


def _lines(achieved: Achieved) -> Iterator[str]:
    yield f"# Ceilings measured by roofline {__version__}. Use: roofline analyze --peaks THIS FILE"
    yield f"device = {_text(achieved.device)}"
    yield f"date = {achieved.date}"
    yield f"made_with = {_text(achieved.made_with)}"
    for name, patterns in (("dram_bytes_per_s", DRAM), ("l2_bytes_per_s", L2)):
        best = achieved.best_of(patterns)
        if best is not None:
            yield f"{name} = {best.per_s!r}  # {best.quantity}"
    operations = [c for c in achieved.ceilings if c.quantity in PRECISIONS]
    if operations:
        yield from ("", "[operations_per_s]")
        yield from (f"{c.quantity} = {c.per_s!r}" for c in operations)
    yield from ("", "# Bytes or operations a second in the fastest and in the middle run, and the")
    yield "# clocks and power while the runs were queued."
    for one in achieved.ceilings:
        yield from ("[[ceiling]]", f"quantity = {_text(one.quantity)}", f"per_s = {one.per_s!r}")
        yield f"median_per_s = {one.median_per_s!r}"
        yield f"repeats = {one.repeats}"
        for name in ("sm_clock_hz", "dram_clock_hz", "power_w"):
            value = getattr(one, name)
            if value is not None:
                yield f"{name} = {value!r}"
        yield ""


def _text(words: str) -> str:
    """A TOML string: what would end it or is invisible becomes a space."""
    return '"' + "".join(c if c.isprintable() and c not in '"\\' else " " for c in words) + '"'


def _mean(values: Sequence[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return sum(known) / len(known) if known else None
