"""Profile gpu_kernels at every level and with NVIDIA's full set; compare with what is known.

    python scripts/gpu_check.py OUT/gpu_kernels OUT [SECONDS]

Also a region of a Python program, the look by everyone who can, and shapes of tensor instructions.
Prints what was expected beside what was found. Each part is written to OUT/results.json as it ends,
the most telling first; what does not fit into SECONDS is said. Exit code 1 where a limiter, a
cause, a count or a byte is not as expected, or a part failed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from roofline.analysis import analyze
from roofline.capture.look import find_nsys
from roofline.capture.preflight import find_ncu
from roofline.counters.tensor import OPCODES
from roofline.errors import RooflineError
from roofline.files import whole_file
from roofline.model import Result
from roofline.process import run_quietly
from roofline.reports import read
from roofline.timeline import load_timeline
from roofline.timeline.events import Work

LIMIT_S = 300.0
CAPTURE_S, PROGRAM_S, GRACE_S = 100.0, 30.0, 20.0  # for one command; to end gently
# Counters must meet the count by hand; DRAM also carries what other levels evict and prefetch.
OPERATIONS_OFF, BYTES_OFF = 0.005, 0.05
TIMES_OFF = 0.25  # of a look: events on the stream hold the gaps between launches, too
LEVELS = ("quick", "lean", "standard", "full")
WITH_CAUSES = ("standard", "full")
PLAIN = "ncu --set full"
TORCH = """
import torch
a = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
torch.cuda.synchronize()
for _ in range(30):
    b = torch.relu(a @ a)
torch.cuda.synchronize()
"""
REGION = """
import ctypes, sys, roofline
kernels = ctypes.CDLL(sys.argv[1])
kernels.run_triad()
with roofline.region("fwd"):
    kernels.run_fma()
kernels.run_triad()
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What is known about a kernel beforehand; an empty text is not known.

    ``opcodes`` counts warps, ``evidence`` is a number, or 0 for one that must only be above it.
    """

    kernel: str
    bound: str
    units: tuple[str, ...]
    operations: dict[str, float]
    dram_bytes: float | None
    cause: str = ""
    opcodes: dict[str, float] = field(default_factory=dict)
    evidence: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One kernel in one capture, beside what was expected."""

    how: str
    expected: Expected
    found: Result | None
    mix: Mapping[str, float] = field(default_factory=dict)
    problems: tuple[str, ...] = ("not in the report",)


class NotRun(Exception):  # noqa: N818  # no fault of ours
    """A part that could not be run, and why."""


def expectations(clock: Clock, program: Path, mode: str = "") -> dict[str, Expected]:
    """What the program says of its kernels, from a run without a profiler."""
    known = {}
    for row in said(clock, program, mode):
        units, moved = tuple(row.pop("expected")), row.pop("dram_bytes")
        moved = None if moved < 0 else moved
        known[row["kernel"]] = Expected(**row, units=units, dram_bytes=moved)
    return known


def said(clock: Clock, program: Path, *words: str) -> list[dict[str, Any]]:
    """The JSON lines of a run without a profiler."""
    argv = [str(program.resolve()), *filter(None, words)]
    done = run_quietly(argv, timeout_s=clock.left(PROGRAM_S))
    if done is None or done.code != 0:
        why = "they cannot be started" if done is None else done.stderr.strip()
        raise NotRun(f"the kernels do not run here: {why}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


class Clock:
    """Of the time that there is: what is left for each step."""

    def __init__(self, limit_s: float = LIMIT_S) -> None:
        self.began, self.limit_s = time.monotonic(), limit_s

    def left(self, most_s: float) -> float:
        """The seconds that a command may take: ``most_s``, or all that there are."""
        left = self.limit_s - (time.monotonic() - self.began)
        if left <= 0:
            raise NotRun("not run: the time was over")
        return min(left, most_s)

    def run(self, words: Sequence[Any], **more: Any) -> str | None:
        """Run a command within the time; why it did not end well, or nothing."""
        limit_s = self.left(CAPTURE_S)
        process = subprocess.Popen([str(w) for w in words], process_group=0, **more)
        try:
            code = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return f"ended: {limit_s:.0f} s were over"
        finally:
            _end(process)
        return f"exit code {code}" if code else None


def _end(process: subprocess.Popen[bytes]) -> None:
    """End what still runs: roofline ends ncu and the program; killed, it could not."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            os.killpg(process.pid, number)
            try:
                process.wait(GRACE_S)
            except subprocess.TimeoutExpired:
                continue


def profile(report: Path, *options: object) -> list[object]:
    """``roofline profile`` into ``report``, but for the program."""
    words = [sys.executable, "-m", "roofline", "profile", *options]
    return [*words, "--format", "json", "--force", "-o", report, "--"]


def capture(clock: Clock, how: str, program: Path, report: Path, mode: str = "") -> str | None:
    """Profile all kernels into ``report``; why that failed."""
    if how == PLAIN:
        ncu = find_ncu().path
        words: list[object] = [ncu, "--set", "full", "--config-file", "off", "-f", "-o", report]
    else:
        words = profile(report, "--level", how, "--launch-count", "0")
    with report.with_suffix(".stdout").open("w", encoding="utf-8") as file:
        argv = [*words, program.resolve(), *filter(None, [mode])]
        return clock.run(argv, stdout=file)


def found_in(report: Path) -> dict[str, tuple[Result, Mapping[str, float]]]:
    """Results by name, each with the instructions that its warps executed."""
    mixes = {launch.name: launch.metrics.instances(OPCODES) for launch in read(report)}
    results = analyze(report).results
    return {r.measurement.name: (r, mixes.get(r.measurement.name, {})) for r in results}


def compare(
    how: str, expected: Expected, found: Result | None, mix: Mapping[str, float] | None = None
) -> Row:
    """Hold what was found against what is known."""
    if found is None:
        return Row(how=how, expected=expected, found=None)
    mix = mix or {}
    problems = (
        *_judged(how, expected, found),
        *_counted(how, expected, found, mix),
        *_shown(how, expected, found),
    )
    return Row(how=how, expected=expected, found=found, mix=mix, problems=problems)


def _judged(how: str, expected: Expected, found: Result) -> Iterator[str]:
    """What is wrong with the verdict; quick need not know the limiter."""
    verdict = found.verdict
    if expected.bound and not (how == "quick" and verdict.bound == "unknown"):
        if verdict.bound != expected.bound:
            yield f"bound {verdict.bound}, expected {expected.bound}"
        elif expected.units and verdict.limiter not in expected.units:
            yield f"limiter {verdict.limiter}, expected {' or '.join(expected.units)}"
    causes = [cause.code for cause in verdict.causes]
    if how in WITH_CAUSES and expected.cause and expected.cause not in causes:
        yield f"causes {', '.join(causes) or 'none'}, expected {expected.cause}"


def _shown(how: str, expected: Expected, found: Result) -> Iterator[str]:
    """What is wrong with the evidence."""
    for name, value in expected.evidence.items():
        have = evidence(found, name)
        if have is None and how in WITH_CAUSES:
            yield f"{name} not measured"
        elif have is not None and (have <= 0 or (value and abs(have / value - 1) > BYTES_OFF)):
            yield f"{name} {have:.6g}, by hand {value or 'above 0'}"


def _counted(
    how: str, expected: Expected, found: Result, mix: Mapping[str, float]
) -> Iterator[str]:
    """What is wrong with the counts."""
    measured = found.measurement
    # NVIDIA's set counts FP32 and FP64 only in some versions; ours must count all.
    for key, count in expected.operations.items():
        have = measured.operations.get(key)
        if have is None and how != PLAIN:
            yield f"{key} not counted"
        elif have is not None and abs(have / count - 1) > OPERATIONS_OFF:
            yield f"{key} {have:.6g}, by hand {count:.6g}"
    for opcode, count in expected.opcodes.items():
        have = executed(mix, opcode)
        if mix and abs(have / count - 1) > OPERATIONS_OFF:
            yield f"{opcode} {have:.6g}, by hand {count:.6g}"
        elif not mix and how in LEVELS:
            yield f"{opcode} not counted"
    wanted, bytes_ = expected.dram_bytes, measured.dram_bytes
    if wanted is not None and (bytes_ is None or abs(bytes_ / wanted - 1) > BYTES_OFF):
        yield f"DRAM bytes {bytes_}, by hand {wanted:.6g}"


def executed(mix: Mapping[str, float], opcode: str) -> float:
    """Warps that executed an opcode, with any modifiers."""
    return sum(n for name, n in mix.items() if name == opcode or name.startswith(f"{opcode}."))


def evidence(found: Result, name: str) -> float | None:
    """A count or a ratio of the launch."""
    measured = found.measurement
    return measured.counts.get(name, measured.ratios.get(name))


def differences(ours: Result, theirs: Result) -> Iterator[str]:
    """Where our level and NVIDIA's full set say something else about one kernel."""
    one, other = ours.verdict, theirs.verdict
    if (one.bound, one.limiter) != (other.bound, other.limiter):
        yield f"{one.bound}/{one.limiter} against {other.bound}/{other.limiter} with --set full"
    mine_, full_ = ours.measurement, theirs.measurement
    pairs = [("DRAM bytes", mine_.dram_bytes, full_.dram_bytes, BYTES_OFF)]
    for key, count in mine_.operations.items():
        pairs.append((key, count, full_.operations.get(key), OPERATIONS_OFF))
    for what, mine, full, off in pairs:
        if mine and full and abs(mine / full - 1) > off:
            yield f"{what} {mine:.6g} against {full:.6g} with --set full"


def show(row: Row) -> str:
    """One line of the table: what was expected beside what was found."""
    expected = row.expected
    hoped = f"{expected.bound or '-'}/{'|'.join(expected.units) or expected.cause or '-'}"
    name = f"{row.how:15} {expected.kernel:15} {hoped:24}"
    if row.found is None:
        return f"{name} not in the report"
    verdict, measured = row.found.verdict, row.found.measurement
    limiter = f"{verdict.bound}/{verdict.limiter or verdict.cause or '-'}"
    passes = "-" if measured.passes is None else f"{measured.passes:.0f}"
    count = " ".join(
        f"{key}={against(measured.operations.get(key), by_hand)}"
        for key, by_hand in expected.operations.items()
    )
    others: list[tuple[str, float | None, float]] = [
        (name, executed(row.mix, name), n) for name, n in expected.opcodes.items()
    ]
    others += [(name, evidence(row.found, name), n) for name, n in expected.evidence.items()]
    count = " ".join([count, *(f"{name}={against(have, n)}" for name, have, n in others)]).strip()
    moved = against(measured.dram_bytes, expected.dram_bytes)
    state = "ok" if not row.problems else "; ".join(row.problems)
    return f"{name} {limiter:24} {passes:>6} {moved:>22} {count or '-':40} {state}"


def against(found: float | None, by_hand: float | None) -> str:
    """A count beside the one made by hand, "2e+06/2e+06"; "-" where there is none."""
    return "/".join("-" if value is None else f"{value:.5g}" for value in (found, by_hand))


def document(row: Row) -> dict[str, Any]:
    """The row for results.json."""
    found = row.found
    return {
        "how": row.how,
        "kernel": row.expected.kernel,
        "expected": {
            "bound": row.expected.bound,
            "limiters": row.expected.units,
            "cause": row.expected.cause,
        },
        "causes": found and [cause.code for cause in found.verdict.causes],
        "bound": found and str(found.verdict.bound),
        "limiter": found and found.verdict.limiter,
        "operations": dict(found.measurement.operations) if found else None,
        "operations_by_hand": row.expected.operations,
        "dram_bytes": found and found.measurement.dram_bytes,
        "dram_bytes_by_hand": row.expected.dram_bytes,
        "passes": found and found.measurement.passes,
        "opcodes": {name: executed(row.mix, name) for name in row.expected.opcodes},
        "opcodes_by_hand": row.expected.opcodes,
        "evidence": found and {name: evidence(found, name) for name in row.expected.evidence},
        "evidence_by_hand": row.expected.evidence,
        "problems": row.problems,
    }


Part = tuple[list[Row], list[str]]
Found = dict[str, tuple[Result, Mapping[str, float]]]


def level(
    clock: Clock, how: str, program: Path, known: Mapping[str, Expected], out: Path, found: Found
) -> Part:
    """One level or NVIDIA's set over every kernel, which go to ``found``."""
    report = out / f"{how.replace(' ', '_').replace('--', '')}.ncu-rep"
    began = time.monotonic()
    if why := capture(clock, how, program, report):
        raise NotRun(why)
    found |= found_in(report)
    rows = [compare(how, expected, *found.get(name, (None,))) for name, expected in known.items()]
    print("\n".join(map(show, rows)))
    size = report.stat().st_size / 1e3
    print(f"{how}: {time.monotonic() - began:.1f} s, {size:.0f} kB", flush=True)
    return rows, []


def full_set(found: Mapping[str, Found]) -> Part:
    """Where standard and NVIDIA's set differ."""
    ours, theirs = found["standard"], found[PLAIN]
    if not (ours and theirs):
        raise NotRun("not compared: one of the two was not captured")
    shared = ours.keys() & theirs.keys()
    pairs = ((k, text) for k in shared for text in differences(ours[k][0], theirs[k][0]))
    return [], [f"{kernel}: {text}" for kernel, text in pairs]


def shapes(clock: Clock, program: Path, out: Path) -> Part:
    """Warpgroup and tcgen05 instructions, apart: a fault in them must not hide the rest."""
    known = expectations(clock, program, "shapes")
    if not known:
        print("shapes: this GPU has neither, or they were not compiled in")
        return [], []
    report = out / "shapes.ncu-rep"
    if why := capture(clock, "standard", program, report, "shapes"):
        raise NotRun(why)
    found = found_in(report)
    rows = [compare("standard", e, *found.get(kernel, (None,))) for kernel, e in known.items()]
    print("\n".join(map(show, rows)))
    return rows, []


def region(clock: Clock, library: Path, out: Path) -> Part:
    """One of three launches is inside a region of a Python program."""
    report = out / "region.ncu-rep"
    words = profile(report, "--region", "fwd", "--launch-count", "0", "--level", "quick")
    argv = [*words, sys.executable, "-c", REGION, library.resolve()]
    if why := clock.run(argv, stdout=subprocess.DEVNULL):
        raise NotRun(why)
    inside = [result.measurement.name for result in analyze(report).results]
    print(f"region fwd: fp32_fma expected, {', '.join(inside) or 'nothing'} found")
    return [], [] if inside == ["fp32_fma"] else [f"{inside}, expected fp32_fma alone"]


def seen(trace: Path) -> dict[str, tuple[int, float]]:
    """Launches of each kernel in a look, and their time in ms."""
    timeline = load_timeline(trace)
    lasted = timeline.events.end - timeline.events.start
    found: dict[str, tuple[int, float]] = {}
    for at, what in enumerate(timeline.identities):
        its = timeline.events.identity == at
        if what.work is Work.KERNEL and its.any():
            count, ms = found.get(what.base_name, (0, 0.0))
            found[what.base_name] = count + int(its.sum()), ms + float(lasted[its].sum()) / 1e6
    return found


def unlike(
    how: str, expected: Mapping[str, Any], found: Mapping[str, tuple[int, float]]
) -> Iterator[str]:
    """What a look by ``how`` got wrong of a program whose launches and times are known."""
    for kernel, count in expected["launches"].items():
        have, lasted = found.get(kernel, (0, 0.0))
        by_hand = expected["time_ms"][kernel]
        print(f"look by {how}: {kernel} {have} of {count} launches, {lasted:.4g}/{by_hand:.4g} ms")
        if have != count:
            yield f"{kernel} {have} launches, {count} expected"
        # What is launched one by one takes a time of its own; short kernels are mostly gap.
        if how == "nsys" and kernel == "triad" and abs(lasted / by_hand - 1) > TIMES_OFF:
            yield f"{kernel} {lasted:.4g} ms, {by_hand:.4g} by events"
    most = max(expected["time_ms"], key=expected["time_ms"].get)
    if found and max(found, key=lambda name: found[name][1]) != most:
        yield f"{most} takes most time, not what was found"


def look(clock: Clock, how: str, program: Path, out: Path) -> Part:
    """The look by one who can, and the capture of what it chose."""
    (expected,) = said(clock, program, "loop")
    report = out / f"look_{how}.ncu-rep"
    options = ("--look", how, "--top", "1", "--level", "quick", "--until", "launches")
    argv = [*profile(report, *options), program.resolve(), "loop"]
    if why := clock.run(argv, stdout=subprocess.DEVNULL):
        raise NotRun(why)
    problems = list(unlike(how, expected, seen(out / f"look_{how}.look.json.gz")))
    chosen = {result.measurement.name for result in analyze(report).results}
    if chosen != {"triad"}:
        names = ", ".join(sorted(chosen))
        problems.append(f"profiled {names or 'nothing'}, expected triad")
    return [], problems


def look_by_torch(clock: Clock, out: Path) -> Part:
    """The look by PyTorch's profiler in a program that uses it."""
    report = out / "look_torch.ncu-rep"
    options = ("--look", "torch", "--kernel", "gemm", "--until", "launches")
    argv = [*profile(report, *options), sys.executable, "-c", TORCH]
    if why := clock.run(argv, stdout=subprocess.DEVNULL):
        raise NotRun(why)
    kernels = seen(out / "look_torch.look.json.gz")
    print(f"look by torch: {', '.join(f'{n} x {name}' for name, (n, _) in kernels.items())}")
    return [], []


@dataclass(slots=True, kw_only=True)
class Findings:
    """What was found so far: printed, and in ``file``, as each part ends."""

    file: Path
    rows: list[Row] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    parts: dict[str, float] = field(default_factory=dict)

    def add(self, name: str, part: Callable[[], Part]) -> bool:
        """Run a part, and keep what it found; whether it could be run."""
        began = time.monotonic()
        ran = True
        try:
            rows, problems = part()
        except (NotRun, RooflineError, OSError) as error:
            rows, problems, ran = [], [str(error)], False
        problems = [f"{name}: {text}" for text in problems]
        problems += [f"{r.how}, {r.expected.kernel}: {text}" for r in rows for text in r.problems]
        print("".join(f"! {text}\n" for text in problems), end="", flush=True)
        self.parts[name] = time.monotonic() - began
        self.rows += rows
        self.problems += problems
        document_ = {
            "seconds": self.parts,
            "problems": self.problems,
            "kernels": list(map(document, self.rows)),
        }
        with whole_file(self.file, force=True) as made:
            made.write_text(json.dumps(document_, indent=1), "utf-8")
        return ran


def main() -> int:
    """Run everything, the most telling first, and print the table."""
    program, out = Path(sys.argv[1]), Path(sys.argv[2])
    clock = Clock(float(sys.argv[3]) if sys.argv[3:] else LIMIT_S)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("gpu_check: ended"))
    captured = out / "captured"
    captured.mkdir(parents=True, exist_ok=True)
    print(
        f"{'how':15} {'kernel':15} {'expected':24} {'found':24} {'passes':>6} "
        f"{'DRAM bytes/by hand':>22} counted/by hand"
    )
    found, known = Findings(file=out / "results.json"), dict[str, Expected]()
    by_level: dict[str, Found] = {how: {} for how in (*LEVELS, PLAIN)}

    def expected() -> Part:
        known.update(expectations(clock, program))
        return [], []

    def at(how: str) -> None:
        found.add(how, partial(level, clock, how, program, known, captured, by_level[how]))

    if found.add("kernels", expected):
        at("standard")
        library = program.with_name("libgpu_kernels.so")
        found.add("region", partial(region, clock, library, captured))
        for how in ["ncu"] if find_nsys() is None else ["nsys", "ncu"]:
            found.add(f"look by {how}", partial(look, clock, how, program, captured))
        if find_spec("torch") is None:
            print("look by torch: PyTorch is not installed")
        else:
            found.add("look by torch", partial(look_by_torch, clock, captured))
        found.add("shapes", partial(shapes, clock, program, captured))
        at(PLAIN)
        found.add("standard against --set full", partial(full_set, by_level))
        for how in ("lean", "quick", "full"):
            at(how)
    print("\n".join(found.problems) or "everything is as expected")
    print(f"{time.monotonic() - clock.began:.0f} s in all")
    return 1 if found.problems else 0


if __name__ == "__main__":
    sys.exit(main())
