"""How often a verdict changes when a report holds only what ``--level standard`` collects.

    PYTHONPATH=. python benchmarks/standard_verdicts.py REPORT...

Launches without the members of the two throughputs are left out: there is nothing to drop.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from re import Pattern

from roofline.analysis import Judge
from roofline.capture.levels import SAMPLING, base_name, chip_of, metrics_of, table
from roofline.capture.request import CaptureLevel
from roofline.counters.measure import measure
from roofline.model import Launch, Metrics, Note, Result
from roofline.reports import read
from roofline.specs import load

THROUGHPUT = "breakdown:gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"
# What ncu notes with every launch, asked or not.
ALWAYS = ("device__", "profiler__", "launch__")
# Public reports hold rates where we would ask for sums: the same counter, the same pass.
SAME_COUNTER = (
    "per_cycle_elapsed",
    "per_second",
    "pct_of_peak_sustained_elapsed",
    "peak_sustained",
)


@dataclass(frozen=True, slots=True)
class Restricted:
    """The metrics of a launch that ``allowed`` lets through."""

    whole: Metrics
    allowed: frozenset[str]
    bases: frozenset[str]
    stalls_by_ratio: bool
    memo: None = None

    def _keeps(self, name: str) -> bool:
        if name in self.allowed or name.startswith(ALWAYS):
            return True
        if "_issue_stalled_" in name or name in SAMPLING:
            sampled = name.startswith(("smsp__pcsamp", "group:")) or self.stalls_by_ratio
            return sampled and SAMPLING[0] in self.allowed
        return base_name(name) in self.bases and name.endswith(SAME_COUNTER)

    def number(self, name: str) -> float | None:
        """The number, if it was collected."""
        return self.whole.number(name) if self._keeps(name) else None

    def text(self, name: str) -> str | None:
        """The text, if it was collected."""
        return self.whole.text(name) if self._keeps(name) else None

    def has(self, name: str) -> bool:
        """Whether it was collected."""
        return self._keeps(name) and self.whole.has(name)

    def any_of(self, names: frozenset[str]) -> bool:
        """Whether any of them was collected."""
        return any(self.has(name) for name in names)

    def matching(self, pattern: Pattern[str]) -> Collection[str]:
        """The names of what was collected that a pattern fits."""
        return [name for name in self.whole.matching(pattern) if self._keeps(name)]

    def instances(self, name: str) -> Mapping[str, float]:
        """Instances, if they were collected."""
        return self.whole.instances(name) if self._keeps(name) else {}

    def machine_code(self, address: str) -> bytes | None:
        """The bits of an instruction."""
        return self.whole.machine_code(address)

    def sass(self, address: str) -> str | None:
        """The code, which is always there."""
        return self.whole.sass(address)

    @property
    def rules(self) -> Mapping[str, str]:
        """NVIDIA's own verdicts."""
        return self.whole.rules

    def names(self) -> Iterable[str]:
        """Names of what was collected."""
        return (name for name in self.whole.names() if self._keeps(name))

    def notes(self) -> tuple[Note, ...]:
        """What the reader found wrong."""
        return self.whole.notes()


def restricted(launch: Launch, level: CaptureLevel) -> Launch | None:
    """``launch`` with what ``level`` collects; ``None`` where its chip is not known."""
    device = measure(launch).device
    chip = chip_of(device.compute_capability or "")
    if chip is None:
        return None
    # For a chip that the table lacks profile asks ncu what there is; here the report tells.
    listed = None if chip in table() else {base_name(name) for name in launch.metrics.names()}
    metrics = metrics_of(level, [chip], listed=listed)
    return replace(
        launch,
        metrics=Restricted(
            launch.metrics,
            frozenset(metrics),
            frozenset(base_name(name) for name in metrics),
            # Warp-state ratios come from the same states that we sample.
            stalls_by_ratio=launch.metrics.number("smsp__pcsamp_sample_count") is None,
        ),
    )


def pairs(paths: Iterable[str], level: CaptureLevel) -> Iterator[tuple[Result, Result]]:
    """Each launch that can be judged, whole and restricted."""
    rule = Judge(registry=load(None))
    for launch in read(*paths, on_error=lambda _: None):
        less = restricted(launch, level) if launch.metrics.has(THROUGHPUT) else None
        if less is not None:
            yield rule(measure(launch)), rule(measure(less))


def main() -> None:
    """Print the share of verdicts that stay, and each that does not."""
    for level in (CaptureLevel.STANDARD, CaptureLevel.QUICK):
        counts: Counter[str] = Counter()
        lost: Counter[str] = Counter()
        for whole, less in pairs(sys.argv[1:], level):
            a, b = whole.verdict, less.verdict
            same_bound = a.bound == b.bound
            same = same_bound and a.limiter == b.limiter
            counts["launches"] += 1
            counts["bound"] += same_bound
            counts["bound and limiter"] += same
            counts["and cause"] += same and a.cause == b.cause
            counts["and confidence"] += same and a.confidence == b.confidence
            units = {use.unit for use in whole.measurement.units}
            lost.update(units - {use.unit for use in less.measurement.units})
            stalls = (whole.measurement.stalls[:1], less.measurement.stalls[:1])
            counts["top stall reason"] += [s.reason for s in stalls[0]] == [
                s.reason for s in stalls[1]
            ]
            if not same and level is CaptureLevel.STANDARD:
                name = whole.measurement.name
                print(f"  {name[:40]:40} {a.bound}/{a.limiter}/{a.limiter_percent} -> ", end="")
                print(f"{b.bound}/{b.limiter}/{b.limiter_percent}  nearest {a.nearest}/{b.nearest}")
        total = counts["launches"]
        if not total:
            sys.exit("no launch holds the members of the two throughputs; try: REPORT or FOLDER")
        shares = ", ".join(
            f"same {what}: {counts[what]} ({100 * counts[what] / total:.1f} %)"
            for what in (
                "bound",
                "bound and limiter",
                "and cause",
                "and confidence",
                "top stall reason",
            )
        )
        print(f"{level}: {total} launches; {shares}")
        print(f"  units no longer seen, by launches: {dict(lost.most_common())}")


if __name__ == "__main__":
    main()
