"""Time and memory of an analysis beside a bare loop over ncu_report that reads the same metrics.

    python benchmarks/launches.py                      # generated reports
    python benchmarks/launches.py FOLDER               # and the reports of a folder
    python benchmarks/launches.py --launches 1000 --files 200

Each measurement runs in a process of its own, so that its peak memory is its own, and they run in
turn; of each the run of least processor time counts. The bare loop asks ncu_report for the metrics,
and the instances of those, that the analysis found in the same launch, and keeps nothing.
Processor time is that of a process and its children; other work on the machine disturbs it least.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

Asked = tuple[tuple[str, ...], tuple[str, ...]]  # metrics, and those read by instance
WANTED = "wanted.pickle"
# Modules are compiled once, as they are where the package is installed.
COMPILED = {name: x for name, x in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def generate(path: Path, count: int) -> None:
    """Write ``count`` launches of ``--set full``: those of a sample again and again."""
    from sample_reports.generate import capture, launches, samples
    from sample_reports.writer import encode

    sample = samples()["h100_mix"]
    some = launches(sample)
    with path.open("wb") as file:
        file.writelines(encode((some[i % len(some)] for i in range(count)), capture(sample)))


class Recording:
    """Metrics of a launch that take down what is found in them."""

    def __init__(self, metrics: Any) -> None:
        self._metrics = metrics
        self.names: dict[str, None] = {}
        self.by_instance: dict[str, None] = {}

    def __getattr__(self, method: str) -> Any:
        asked = getattr(self._metrics, method)
        if method not in ("number", "text", "instances"):
            return asked
        found = self.by_instance if method == "instances" else self.names

        def recording(name: str) -> Any:
            value = asked(name)
            if value not in (None, {}):
                found[name] = None
            return value

        return recording


def wanted(folder: Path) -> dict[str, list[Asked]]:
    """By file, what the analysis finds in each launch; equal answers are one object."""
    from dataclasses import replace

    import roofline
    from roofline.counters.measure import measure

    found: dict[str, list[Asked]] = {}
    same: dict[Asked, Asked] = {}
    for launch in roofline.read(folder, on_error=lambda _: None):
        metrics: Any = Recording(launch.metrics)
        measure(replace(launch, metrics=metrics))
        asked = tuple(metrics.names), tuple(metrics.by_instance)
        found.setdefault(launch.source, []).append(same.setdefault(asked, asked))
    return found


# --- what is measured -----------------------------------------------------------------------------


def bare(_: Path, wants: dict[str, list[Asked]]) -> int:
    """Ask ncu_report for the same metrics of the same launches, and nothing else."""
    import ncu_report

    count = 0
    for path, asked in wants.items():
        actions = (action for span in ncu_report.load_report(path) for action in span)
        for action, (names, by_instance) in zip(actions, asked, strict=True):
            count += 1
            action.name()
            for name in names:
                metric = action.metric_by_name(name)
                metric.value()
                metric.unit()
            for name in by_instance:
                metric = action.metric_by_name(name)
                identities = metric.correlation_ids()
                for i in range(metric.num_instances()):
                    identities.value(i)
                    metric.value(i)
    return count


def analyze(folder: Path, jobs: int) -> int:
    """What ``roofline analyze`` does before it prints."""
    import roofline

    return len(roofline.analyze(folder, jobs=jobs, on_error=lambda _: None).results)


def measured(folder: Path) -> int:
    """Read and measure, and keep nothing."""
    import roofline
    from roofline.counters.measure import measure

    return sum(1 for launch in roofline.read(folder, on_error=lambda _: None) if measure(launch))


KINDS: dict[str, tuple[str, Callable[[Path, Any], int]]] = {
    "bare": ("bare loop over `ncu_report`", bare),
    "measure": ("read and measure, keep nothing", lambda folder, _: measured(folder)),
    "one": ("`analyze --jobs 1`", lambda folder, _: analyze(folder, 1)),
    "two": ("`analyze --jobs 2`", lambda folder, _: analyze(folder, 2)),
}


def run(kind: str, folder: Path) -> None:
    """Do one of them and print what it took."""
    wants = pickle.loads((folder.parent / WANTED).read_bytes()) if kind == "bare" else {}
    began, busy = time.monotonic(), sum(os.times()[:4])  # with children that have ended
    count = KINDS[kind][1](folder, wants)
    took = {"wall_s": time.monotonic() - began, "cpu_s": sum(os.times()[:4]) - busy}
    own, child = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    peaks = {"peak_mb": own.ru_maxrss / 1e3, "child_mb": child.ru_maxrss / 1e3}
    print(json.dumps({"count": count} | took | peaks))


def rows(title: str, folder: Path, kinds: tuple[str, ...], repeats: int) -> Iterator[str]:
    """The lines of a table for one folder; the first kind is what the others are held against."""
    if "bare" in kinds:
        (folder.parent / WANTED).write_bytes(pickle.dumps(wanted(folder)))
    runs: dict[str, list[dict[str, float]]] = {kind: [] for kind in kinds}
    for kind in kinds * repeats:
        argv = [sys.executable, __file__, "--run", kind, str(folder)]
        done = subprocess.run(argv, capture_output=True, text=True, check=True, env=COMPILED)
        runs[kind].append(json.loads(done.stdout))
    best = {kind: min(some, key=lambda one: one["cpu_s"]) for kind, some in runs.items()}
    wall = {kind: min(one["wall_s"] for one in some) for kind, some in runs.items()}
    first = kinds[0]
    for kind in kinds:
        one, label = best[kind], KINDS[kind][0]
        ratios = wall[kind] / wall[first], one["cpu_s"] / best[first]["cpu_s"]
        peak = f"{one['peak_mb']:,.0f}"
        if kind == "two":
            peak += f" + 2 x {one['child_mb']:,.0f}"
        yield (
            f"| {title} | {one['count']:,.0f} | {label} | {wall[kind]:.2f} | {ratios[0]:.2f}x | "
            f"{one['cpu_s']:.2f} | {ratios[1]:.2f}x | {peak} |"
        )


def main() -> None:
    """Print a table of all, or do one of them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--run", choices=KINDS)
    parser.add_argument("--launches", type=int, default=10_000)
    parser.add_argument("--files", type=int, default=2_000)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    if given.run:
        run(given.run, given.folder)
        return
    print("| reports | launches | what | wall s | | CPU s | | peak MB |")
    print("|---|--:|---|--:|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as place:
        one, many, public = (Path(place) / name for name in ("one", "many", "public"))
        for folder in (one, many):
            folder.mkdir()
        generate(one / "all.ncu-rep", given.launches)
        tables = [("one file", one, ("bare", "measure", "one"))]
        if given.folder:
            public.symlink_to(given.folder.absolute())
            tables.insert(0, ("public", public, ("bare", "measure", "one")))
        for number in range(given.files):
            generate(many / f"{number}.ncu-rep", max(1, given.launches // given.files))
        tables.append((f"{given.files:,} files", many, ("one", "two")))
        for title, folder, kinds in tables:
            for line in rows(title, folder, kinds, given.repeats):
                print(line, flush=True)


if __name__ == "__main__":
    main()
