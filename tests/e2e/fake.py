"""A folder with a fake ncu and nvidia-smi, and the command line run in it."""

from __future__ import annotations

import marshal
import os
import stat
import subprocess
import sys
from ast import literal_eval
from pathlib import Path
from typing import Any

from sample_reports.writer import Launch, Metric, write
from tests.e2e.running import inside

ROOT = Path(__file__).parents[2]
FAKE = Path(__file__).parent / "fake_ncu.py"
PROFILED = '==PROF== Profiling "gemm" - 0 (1/1): 0%....50%....100% - 9 passes'


def launch(name: str = "gemm", **metrics: float | str | Metric) -> Launch:
    """1 ms at 1 GHz on a GH100 with DRAM busy 90 % of the time."""
    percent = ".avg.pct_of_peak_sustained_elapsed"
    given: dict[str, float | str | Metric] = {
        "gpu__time_duration.sum": 1e6,
        "sm__cycles_elapsed.avg.per_second": 1e9,
        f"dram__cycles_active{percent}": 90.0,
        f"sm__issue_active{percent}": 20.0,
        f"lts__t_sectors{percent}": 40.0,
        f"l1tex__data_pipe_lsu_wavefronts{percent}": 30.0,
        f"sm__pipe_fma_cycles_active{percent}": 10.0,
        f"sm__pipe_alu_cycles_active{percent}": 10.0,
        f"sm__inst_executed_pipe_lsu{percent}": 10.0,
        "device__attribute_compute_capability_major": 9,
        "device__attribute_compute_capability_minor": 0,
        "device__attribute_display_name": "NVIDIA H100 PCIe",
        "device__attribute_implementation": 0,
        "launch__waves_per_multiprocessor": 8.0,
        "profiler__replayer_passes": 9,
    }
    return Launch(name=name, demangled=f"void {name}(float *)", metrics=given | metrics)


class Fake:
    """Scenarios for the fake ncu, and runs of ``roofline`` that meet it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "work"
        self.folder.mkdir()
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.scenario_file = folder / "scenario"
        self.environment = {
            "PATH": f"{self.bin}{os.pathsep}/usr/bin{os.pathsep}/bin",
            "PYTHONPATH": str(ROOT),
            "FAKE_NCU": str(self.scenario_file),
            "HOME": str(folder),
            "TMPDIR": str(folder),
            "ROOFLINE_LOOK": "none",
        }
        self.program("ncu", f'exec {sys.executable} -S -I {FAKE} "$@"')
        self.gpu("0, NVIDIA H100 PCIe, 9.0, 550.54.15, Disabled")
        self.report = folder / "made.ncu-rep"
        write(self.report, [launch()])
        self.scenario()

    def program(self, name: str, script: str) -> Path:
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def gpu(self, *rows: str) -> None:
        self.program("nvidia-smi", "\n".join(f"echo '{row}'" for row in rows) or "exit 9")

    def scenario(self, *captures: dict[str, Any], **rest: Any) -> None:
        steps = captures or ({"log": [PROFILED], "report": str(self.report), "run": True},)
        self.scenario_file.write_bytes(marshal.dumps({"captures": list(steps)} | rest))

    def argv(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "roofline", *words]

    def run(self, *words: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        """In this process, with streams, folder and environment of its own."""
        return inside(words, self.folder, self.environment, timeout)

    def process(self, *words: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        """In a process of its own, for what takes its descriptors, its name or its place."""
        return subprocess.run(
            self.argv(*words),
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def calls(self) -> list[dict[str, Any]]:
        """The profiling runs so far: ``argv`` and ``env``."""
        file = self.scenario_file.with_name("calls")
        return [literal_eval(row) for row in file.read_text().splitlines()] if file.exists() else []

    def signals(self) -> list[str]:
        """What ncu noted: that it is ready, and then each signal."""
        file = self.scenario_file.with_name("signals")
        return file.read_text().split() if file.exists() else []

    def files(self) -> set[str]:
        return {path.name for path in self.folder.iterdir()}
