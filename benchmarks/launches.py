"""Launches per second and peak memory of an analysis, beside a bare loop over ncu_report.

    python benchmarks/launches.py              # 10,000 launches of --set full, 100,000 of basic
    python benchmarks/launches.py full:1000    # another count

Each measurement runs in a process of its own, so that its peak memory is its own. The bare loop
reads the metrics, and the instances of those, that the analysis found in a launch (by recording
it), and keeps nothing. Processor time is that of a process and its children; it is what other work
on the machine disturbs least.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
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
    from roofline.counters.measure import measure
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


def bare(path: Path, names: Sequence[str], by_instance: Sequence[str]) -> int:
    """Ask ncu_report for the same metrics in the same order, and nothing else."""
    import ncu_report

    count = 0
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
    return count


def load(path: Path) -> int:
    """ncu_report loading the file, and nothing else."""
    import ncu_report

    return sum(len(span) for span in ncu_report.load_report(str(path)))


def here(path: Path) -> int:
    """What ``roofline analyze`` does before it prints, all of it in one process."""
    from roofline.reader import batch

    batch.PART_BYTES = 1 << 60
    return whole(path)


def one(path: Path) -> int:
    """The same with one process at a time that reads."""
    return whole(path, jobs=1)


def whole(path: Path, jobs: int | None = None) -> int:
    """The same with as many as there are CPUs."""
    import roofline

    return len(roofline.analyze(path, jobs=jobs).results)


def run(kind: str, path: Path) -> None:
    """Do one of them and print what it took."""
    more = wanted(path) if kind == "bare" else ()
    began, busy = time.monotonic(), cpu_s()
    count = CHILDREN[kind](path, *more)
    print(
        json.dumps(
            {
                "count": count,
                "wall_s": time.monotonic() - began,
                "cpu_s": cpu_s() - busy,
                "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
                "peak_bytes_child": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024,
            }
        )
    )


def cpu_s() -> float:
    """Processor time of this process and of its children that have ended."""
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def measured(path: Path) -> dict[str, dict[str, float]]:
    """What each of them takes: of some runs in turn the one of least processor time."""
    runs: dict[str, list[dict[str, float]]] = {kind: [] for kind in CHILDREN}
    for kind in [*CHILDREN] * REPEATS:
        done = subprocess.run(
            [sys.executable, __file__, kind, str(path)], capture_output=True, text=True, check=True
        )
        runs[kind].append(json.loads(done.stdout))
    return {kind: min(some, key=lambda run: run["cpu_s"]) for kind, some in runs.items()}


def table(path: Path, collected: str, number: str) -> None:
    """Print what each of them takes for one report."""
    rows = measured(path)
    for kind, row in rows.items():
        peaks = f"{row['peak_bytes'] / 1e6:,.0f}"
        if kind in ("one", "whole"):
            peaks += f" + {row['peak_bytes_child'] / 1e6:,.0f}"
        ratios = [f"{row[t] / rows['bare'][t]:.2f}x" for t in ("wall_s", "cpu_s")]
        print(
            f"{collected:<6} {number:>8} {LABELS[kind]:<28} {row['wall_s']:>7.2f} {ratios[0]:>6} "
            f"{row['cpu_s']:>7.2f} {ratios[1]:>6} {int(number) / row['wall_s']:>8.0f} {peaks:>12}"
        )


def main(arguments: list[str]) -> None:
    """Run a child, or all of them."""
    if arguments and arguments[0] in CHILDREN:
        run(arguments[0], Path(arguments[1]))
        return
    print(
        f"{'set':<6} {'launches':>8} {'what':<28} {'wall s':>7} {'':>6} {'CPU s':>7} {'':>6} "
        f"{'a second':>8} {'peak MB':>12}"
    )
    with tempfile.TemporaryDirectory() as folder:
        for wanted_run in arguments or ["full:10000", "basic:100000"]:
            collected, _, number = wanted_run.partition(":")
            path = Path(folder) / "many.ncu-rep"
            generate(path, collected, int(number))
            table(path, collected, number)


CHILDREN: dict[str, Callable[..., int]] = {
    "load": load,
    "bare": bare,
    "here": here,
    "one": one,
    "whole": whole,
}
LABELS = {
    "load": "ncu_report loads the file",
    "bare": "bare loop, same metrics",
    "here": "analyze, in one process",
    "one": "analyze --jobs 1",
    "whole": "analyze",
}


if __name__ == "__main__":
    main(sys.argv[1:])
