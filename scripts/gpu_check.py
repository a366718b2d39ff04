"""Profile gpu_kernels at three levels and with NVIDIA's full set; compare with what is known.

    python scripts/gpu_check.py OUT/gpu_kernels OUT

Exit code 1 where a limiter is not among those expected, or operations or bytes are off.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from roofline.analysis import analyze
from roofline.capture.preflight import find_ncu
from roofline.model import Result

# Counters must meet the count by hand; DRAM also carries what other levels evict and prefetch.
OPERATIONS_OFF, BYTES_OFF = 0.005, 0.05
LEVELS = ("quick", "standard", "full")
PLAIN = "ncu --set full"
TORCH = """
import torch
a = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
torch.cuda.synchronize()
for _ in range(3):
    b = a @ a
torch.cuda.synchronize()
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What is known about a kernel beforehand."""

    kernel: str
    bound: str
    units: tuple[str, ...]
    operations: dict[str, float]
    dram_bytes: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One kernel in one capture, beside what was expected."""

    how: str
    expected: Expected
    found: Result | None
    problems: tuple[str, ...] = ("not in the report",)


def expectations(program: Path) -> dict[str, Expected]:
    """What the program says of its kernels, from a run without a profiler."""
    done = subprocess.run([program.resolve()], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"gpu_check: the kernels do not run here: {done.stderr.strip()}")
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    known = {}
    for row in rows:
        units, moved = tuple(row.pop("expected")), row.pop("dram_bytes")
        moved = None if moved < 0 else moved
        known[row["kernel"]] = Expected(**row, units=units, dram_bytes=moved)
    return known


def capture(how: str, program: Path, report: Path) -> float:
    """Profile all kernels into ``report``; seconds."""
    if how == PLAIN:
        ncu = str(find_ncu().path)
        words = [ncu, "--set", "full", "--config-file", "off", "-f", "-o", str(report)]
    else:
        ours = [sys.executable, "-m", "roofline", "profile", "--level", how]
        words = [*ours, "--launch-count", "0", "--format", "json", "--force", "-o", str(report)]
    began = time.monotonic()
    log = report.with_name(report.stem + ".stdout")
    with log.open("w", encoding="utf-8") as file:
        done = subprocess.run([*words, program.resolve()], stdout=file, check=False)
    if done.returncode != 0:
        sys.exit(f"gpu_check: {how} ended with exit code {done.returncode}")
    return time.monotonic() - began


def compare(how: str, expected: Expected, found: Result | None) -> Row:
    """Hold what was found against what is known; quick need not know the limiter."""
    if found is None:
        return Row(how=how, expected=expected, found=None)
    problems = []
    verdict, measured = found.verdict, found.measurement
    if how != "quick" or verdict.bound != "unknown":
        if verdict.bound != expected.bound:
            problems.append(f"bound {verdict.bound}, expected {expected.bound}")
        elif expected.units and verdict.limiter not in expected.units:
            problems.append(f"limiter {verdict.limiter}, expected {' or '.join(expected.units)}")
    # NVIDIA's set counts FP32 and FP64 only in some versions; ours must count all.
    for key, count in expected.operations.items():
        have = measured.operations.get(key)
        if have is None:
            problems += [] if how == PLAIN else [f"{key} not counted"]
        elif abs(have / count - 1) > OPERATIONS_OFF:
            problems.append(f"{key} {have:.6g}, by hand {count:.6g}")
    wanted, bytes_ = expected.dram_bytes, measured.dram_bytes
    if wanted is not None and (bytes_ is None or abs(bytes_ / wanted - 1) > BYTES_OFF):
        problems.append(f"DRAM bytes {bytes_}, by hand {wanted:.6g}")
    return Row(how=how, expected=expected, found=found, problems=tuple(problems))


def show(row: Row) -> str:
    """One line of the table: what was expected beside what was found."""
    expected = row.expected
    hoped = f"{expected.bound}/{'|'.join(expected.units) or '-'}"
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
    moved = against(measured.dram_bytes, expected.dram_bytes)
    state = "ok" if not row.problems else "; ".join(row.problems)
    return f"{name} {limiter:24} {passes:>6} {moved:>22} {count or '-':40} {state}"


def against(found: float | None, by_hand: float | None) -> str:
    """A count beside the one made by hand, "2e+06/2e+06"; "-" where there is none."""
    return "/".join("-" if value is None else f"{value:.5g}" for value in (found, by_hand))


def document(row: Row, seconds: float) -> dict[str, Any]:
    """The row for results.json."""
    found = row.found
    return {
        "how": row.how,
        "kernel": row.expected.kernel,
        "expected": {"bound": row.expected.bound, "limiters": row.expected.units},
        "bound": found and str(found.verdict.bound),
        "limiter": found and found.verdict.limiter,
        "operations": dict(found.measurement.operations) if found else None,
        "operations_by_hand": row.expected.operations,
        "dram_bytes": found and found.measurement.dram_bytes,
        "dram_bytes_by_hand": row.expected.dram_bytes,
        "passes": found and found.measurement.passes,
        "capture_s": seconds,
        "problems": row.problems,
    }


def python_program(out: Path) -> list[str]:
    """A matrix product of PyTorch from the command line, end to end; problems."""
    if find_spec("torch") is None:
        return []
    words = [sys.executable, "-m", "roofline", "profile", "--kernel-regex", "gemm|nvjet|cutlass"]
    words += ["--launch-count", "1", "--force", "-o", str(out / "torch.ncu-rep")]
    done = subprocess.run([*words, sys.executable, "-c", TORCH], check=False)
    return [] if done.returncode == 0 else [f"PyTorch: exit code {done.returncode}"]


def main() -> int:
    """Run everything and print the table."""
    program, out = Path(sys.argv[1]), Path(sys.argv[2])
    captured = out / "captured"
    captured.mkdir(parents=True, exist_ok=True)
    known = expectations(program)
    documents, problems = [], []
    print(
        f"{'how':15} {'kernel':15} {'expected':24} {'found':24} {'passes':>6} "
        f"{'DRAM bytes/by hand':>22} operations/by hand"
    )
    for how in (*LEVELS, PLAIN):
        report = captured / f"{how.replace(' ', '_').replace('--', '')}.ncu-rep"
        seconds = capture(how, program, report)
        found = {result.measurement.name: result for result in analyze(report).results}
        for kernel, expected in known.items():
            row = compare(how, expected, found.get(kernel))
            print(show(row))
            problems += [f"{how}, {kernel}: {problem}" for problem in row.problems]
            documents.append(document(row, seconds))
        print(f"{how}: {seconds:.1f} s, {report.stat().st_size / 1e3:.0f} kB")
    problems += python_program(out)
    (out / "results.json").write_text(json.dumps(documents, indent=1), encoding="utf-8")
    print("\n".join(problems) or "everything is as expected")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
