"""README's flow on the program of its first sentence: examples/bench.py, with the fake ncu."""

from __future__ import annotations

import json
import re
import sys
from hashlib import sha256

import pytest

from sample_reports.writer import write
from tests.e2e.fake import ROOT, Fake, launch
from tests.e2e.running import run

BENCH = str(ROOT / "examples" / "bench.py")


@pytest.fixture
def bench(fake: Fake) -> Fake:
    """Where `python` is the one that runs the tests."""
    fake.program("python", f'exec {sys.executable} "$@"')
    return fake


def test_the_flow_of_the_first_page(bench: Fake) -> None:
    profiled = bench.run("profile", "--kernel", "gemm", "-o", "r.ncu-rep", "python", BENCH)

    assert profiled.returncode == 0, profiled.stderr
    assert "gemm" in profiled.stdout
    (call,) = bench.calls()
    assert call["argv"][-2:] == ["python", BENCH]
    report = bench.folder / "r.ncu-rep"
    assert re.search(r"^1  gemm .* DRAM +90 %", run("analyze", report).stdout, re.MULTILINE)
    assert "bandwidth: DRAM limits it, 90 % busy" in run("analyze", report, "--explain", "1").stdout
    assert run("plot", report, "-o", bench.folder / "roofline.svg").exit_code == 0


def test_the_loop_on_the_first_pages_program(bench: Fake) -> None:
    """Predict, change, profile with a newer ncu, time in turns, judge, look back."""

    def profile(name: str, *, face: str, **metrics: float) -> str:
        bench.report = bench.folder.parent / f"made-{name}"
        write(bench.report, [launch("gemm", **metrics)])
        bench.scenario(face=face)
        done = bench.run("profile", "--kernel", "gemm", "-o", name, "python", BENCH)
        assert done.returncode == 0, done.stderr
        return name

    def told(*words: str) -> str:
        done = bench.run(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    dram = "dram__cycles_active.avg.pct_of_peak_sustained_elapsed"
    before = profile(
        "before.ncu-rep",
        face="2024.1",
        **{"dram__bytes.sum": 1.8e9, "launch__registers_per_thread": 40},
    )
    # More than 1.5x to 1.9x, just so many bytes, not enough registers, and the true cause.
    claims = ("gemm=1.5x..1.9x", "gemm=1.9x..2.2x", "bytes=-45%", "gemm:registers=-50%")
    wanted = [word for claim in claims for word in ("--expect", claim)]
    stated = told("predict", before, *wanted, "--because", "bytes", "--record", "log.md")
    assert "entry 1 of log.md: open; after the change: roofline compare before.ncu-rep" in stated
    assert "0 changes, 1 prediction open" in told("history", "log.md")

    after = profile(
        "after.ncu-rep",
        face="2026.1",
        **{"gpu__time_duration.sum": 0.5e6, "dram__bytes.sum": 0.9e9, dram: 80.0},
        launch__registers_per_thread=32,
    )
    sizes = [f"python {BENCH} --repeats 5 --size {size}" for size in (192, 16)]
    metric = "gemm us<=gemm: ([0-9.]+) us"
    how = ("--repeats", "6", "--warmup", "0", "--metric", metric, "-o", "times.json")
    told("time", *how, "--against", sizes[0], "--", *sizes[1].split())
    loop = ("compare", before, after, "--time-after", "times.json", "--record", "log.md")
    compared = told(*loop, "--fail-on", "gemm us: program=5%")

    # 1.0 / 0.5 ms; 1.8 -> 0.9 GB is -50 %, of at most 4/3 x -45 %; 40 -> 32 registers is -20 %.
    assert "1.00 ms to 500 µs in all (2.00x faster)" in " ".join(compared.split())
    assert "entry 2 of log.md, which closes entry 1" in compared
    judged = ("exceeded", "confirmed", "confirmed", "short", "confirmed")
    found = json.loads(told("history", "log.md", "--json"))
    (stage,) = found["stages"]
    assert [one["judgement"] for one in stage["judged"]] == list(judged)
    assert (stage["entry"], stage["closes"], found["total"]) == (2, 1, 2.0)
    assert stage["digest"] == sha256((bench.folder / before).read_bytes()).hexdigest()
    # At 80 % of DRAM's peak for 0.5 ms: 0.4 ms are left.
    assert found["left"] == pytest.approx(1.25)
    # 144 times the operations a call: by the pairs of medians, not by roofline's own sum.
    times = json.loads((bench.folder / "times.json").read_text("utf-8"))
    pairs = zip(times["against"]["metrics"][0]["runs"], times["metrics"][0]["runs"], strict=True)
    ratios = sorted(old / new for old, new in pairs)
    (figure,) = stage["figures"]
    assert figure["ratio"] == pytest.approx((ratios[2] + ratios[3]) / 2)
    assert (figure["low"], figure["high"]) == pytest.approx((ratios[0], ratios[5]))
    assert (figure["outcome"], figure["pairs"]) == ("faster", 6)

    lines = told("history", "log.md")
    assert lines.startswith("1 change; 2.00x faster in total; the program ")
    assert re.search(r"^ +2 .* after\.ncu-rep +500 µs +2\.00x faster .* DRAM 80 %$", lines, re.M)
    for claim, judgement in zip(claims, judged, strict=False):
        assert re.search(rf"--expect {re.escape(claim)}: {judgement}$", lines, re.MULTILINE)
    assert "--because bytes: confirmed" in lines
    assert re.search(r"gemm us: [0-9.]+x better \(", lines)
    assert "at most 1.25x (500 -> 400 µs)" in " ".join(lines.split())


def test_a_region_and_the_command_before_anybody_has_a_gpu(bench: Fake) -> None:
    done = bench.run("profile", "--dry-run", "--region", "attention", "python", BENCH)

    assert done.returncode == 0, done.stderr
    assert "--nvtx" in done.stdout
    assert f"python {BENCH}" in done.stdout


def test_its_figures_are_what_time_reads(bench: Fake) -> None:
    metrics = ("gemm us<=gemm: ([0-9.]+) us", "copy GB/s>=copy: .* ([0-9.]+) GB/s")
    options = [word for metric in metrics for word in ("--metric", metric)]
    small = ("python", BENCH, "--size", "32", "--repeats", "2")
    done = bench.run("time", "--repeats", "1", "--warmup", "0", "--json", *options, "--", *small)

    assert done.returncode == 0, done.stderr
    found = {m["name"]: m for m in json.loads(done.stdout)["metrics"]}
    assert found["gemm us"]["better"] == "lower"
    assert found["gemm us"]["median"] > 0
    assert found["copy GB/s"]["median"] > 0


def test_clocks_and_power_are_noted_where_nvidia_smi_is(bench: Fake) -> None:
    bench.program(
        "nvidia-smi",
        'case "$*" in *clocks.sm*) printf "210, 5001, 30.5\\n1980, 2619, 412.5\\n" ;; '
        "*) echo '0, NVIDIA H100 PCIe, 9.0, 550.54.15, Disabled' ;; esac",
    )
    done = bench.run("time", "--repeats", "1", "--warmup", "0", "--json", "sleep", "1")

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["environment"]
    # Of two GPUs the one that draws more.
    assert (found["sm_clock_hz"], found["power_w"]) == ([1.98e9, 1.98e9], [412.5, 412.5])
    assert found["gpus"] == ["NVIDIA H100 PCIe"]
