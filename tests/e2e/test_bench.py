"""README's flow on the program of its first sentence: examples/bench.py, with the fake ncu."""

from __future__ import annotations

import json
import re
import sys

import pytest

from tests.e2e.fake import ROOT, Fake
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
    assert "1 kernel paired: 1 no change" in run("compare", report, report).stdout


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
