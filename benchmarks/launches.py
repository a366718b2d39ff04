"""Launches per second and peak memory of an analysis, beside a bare loop over ncu_report.

    python benchmarks/launches.py              # 10,000 launches of --set full, 100,000 of basic
    python benchmarks/launches.py full:1000    # another count

Each measurement runs in a process of its own, so that its peak memory is its own; times are of the
processor, which other work on the machine does not lengthen much. The bare loop
reads the metrics, and the instances of those, that the analysis found in a launch (by recording
it), and keeps nothing.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

REPEATS = 2


SAMPLES = {"full": "h100_mix", "basic": "h100_basic"}


def generate(path: Path, collected: str, count: int) -> None:
    """Write ``count`` launches: those of a sample again and again."""
    from roofline.repfile import encode
    from sample_reports.generate import capture, launches, samples

    sample = samples()[SAMPLES[collected]]
    some = launches(sample)
    with path.open("wb") as file:
        file.writelines(encode((some[i % len(some)] for i in range(count)), capture(sample)))


def wanted(path: Path) -> tuple[list[str], list[str]]:
    """The metrics, and those read by instance, that are found in the first launch of ``path``."""
    from roofline.measure import measure
    from roofline.reader import read
    from roofline.reader.action import ActionMetrics

    asked: list[str] = []
    by_instance: list[str] = []
    number, text, instances = ActionMetrics.number, ActionMetrics.text, ActionMetrics.instances

    def recorded(read_it: Callable[..., object], found: list[str]) -> Callable[..., object]:
        def recording(self: ActionMetrics, name: str) -> object:
            value = read_it(self, name)
            if value not in (None, {}) and name not in found:
                found.append(name)
            return value

        return recording

    ActionMetrics.number = recorded(number, asked)  # type: ignore[assignment,method-assign]
    ActionMetrics.text = recorded(text, asked)  # type: ignore[assignment,method-assign]
    ActionMetrics.instances = recorded(instances, by_instance)  # type: ignore[assignment,method-assign]
    measure(next(read(path)))
    ActionMetrics.number, ActionMetrics.text = number, text  # type: ignore[method-assign]
    ActionMetrics.instances = instances  # type: ignore[method-assign]
    return asked, by_instance


def bare(path: Path) -> int:
    """Ask ncu_report for the same metrics in the same order, and nothing else."""
    import ncu_report

    (names, by_instance), count = wanted(path), 0
    begin = time.process_time()
    for span in ncu_report.load_report(str(path)):
        for action in span:
            count += 1
            action.name()
            for name in names:
                metric = action.metric_by_name(name)
                if metric is not None:
                    metric.value()
                    metric.unit()
            for name in by_instance:
                metric = action.metric_by_name(name)
                if metric is not None:
                    identities = metric.correlation_ids()
                    for i in range(metric.num_instances()):
                        identities.value(i)
                        metric.value(i)
    report(count, begin)
    return count


def whole(path: Path) -> int:
    """What ``roofline analyze`` does before it prints."""
    import roofline

    begin = time.process_time()
    count = len(roofline.analyze(path).results)
    report(count, begin)
    return count


def load(path: Path) -> int:
    """ncu_report loading the file, and nothing else."""
    import ncu_report

    begin = time.process_time()
    context = ncu_report.load_report(str(path))
    count = sum(len(span) for span in context)
    report(count, begin)
    return count


def report(count: int, begin: float) -> None:
    """Print what a child measured."""
    seconds = time.process_time() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"count": count, "seconds": seconds, "peak_bytes": peak}))


def measured(kind: str, path: Path) -> dict[str, float]:
    """The fastest of some runs."""
    runs = []
    for _ in range(REPEATS):
        done = subprocess.run(
            [sys.executable, __file__, kind, str(path)], capture_output=True, text=True, check=True
        )
        runs.append(json.loads(done.stdout))
    return min(runs, key=lambda run: run["seconds"])


def main(arguments: list[str]) -> None:
    """Run a child, or all of them."""
    children = {"bare": bare, "whole": whole, "load": load}
    if arguments and arguments[0] in children:
        children[arguments[0]](Path(arguments[1]))
        return
    wanted_runs = arguments or ["full:10000", "basic:100000"]
    print(f"{'set':<6} {'launches':>8} {'what':<27} {'CPU s':>7} {'per second':>11} {'peak MB':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for wanted_run in wanted_runs:
            collected, _, number = wanted_run.partition(":")
            path = Path(folder) / "many.ncu-rep"
            generate(path, collected, int(number))
            rows = {kind: measured(kind, path) for kind in children}
            for kind, label in LABELS.items():
                run = rows[kind]
                print(
                    f"{collected:<6} {number:>8} {label:<27} {run['seconds']:>7.2f} "
                    f"{int(number) / run['seconds']:>11.0f} {run['peak_bytes'] / 1e6:>8.0f}"
                )
            ratio = rows["whole"]["seconds"] / rows["bare"]["seconds"]
            print(f"{'':<15} roofline.analyze takes {ratio:.2f} times the bare loop")


LABELS = {
    "load": "ncu_report loads the file",
    "bare": "bare loop, same metrics",
    "whole": "roofline.analyze",
}


if __name__ == "__main__":
    main(sys.argv[1:])
