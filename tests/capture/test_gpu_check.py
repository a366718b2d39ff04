"""What runs on a GPU is whole without one: kernels compile, and the comparison compares."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.capture.test_levels import SCRIPTS, script
from tests.makers import measurement, result, verdict

NVCC = shutil.which("nvcc")


@pytest.mark.slow
@pytest.mark.skipif(NVCC is None, reason="no nvcc")
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_kernels_compile_without_a_gpu(tmp_path: Path, arch: str) -> None:
    assert NVCC is not None
    words = [NVCC, "-std=c++17", "-O1", f"-arch={arch}", "-Xcompiler", "-Wall,-Wextra,-Werror"]

    done = subprocess.run(
        [*words, "-c", "-o", str(tmp_path / "k.o"), str(SCRIPTS / "gpu_kernels.cu")],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr


def test_script_is_valid_bash_and_says_what_is_missing(tmp_path: Path) -> None:
    path = SCRIPTS / "gpu_check.sh"
    assert os.access(path, os.X_OK)
    environment = {"PATH": "/usr/bin:/bin", "PYTHON": "no-such-python"}

    done = subprocess.run(
        ["bash", str(path), str(tmp_path)], env=environment, capture_output=True, text=True
    )

    assert done.returncode == 2
    assert "is not on the path" in done.stderr


def test_every_kernel_that_is_launched_is_expected() -> None:
    source = (SCRIPTS / "gpu_kernels.cu").read_text()
    launched = set(re.findall(r"(\w+)<<<", source))
    assert launched == set(re.findall(r'expect\("(\w+)"', source))
    assert len(launched) == 10


# triad as the script states it for 1000 elements: 2 x 1000 operations, 12 x 1000 bytes.
EXPECTED = {
    "kernel": "triad",
    "bound": "bandwidth",
    "units": ("dram",),
    "operations": {"fp32": 2000.0},
    "dram_bytes": 12000.0,
}
CASES = [
    ({}, {}, "standard", ()),
    ({"operations": {"fp32": 2009.0}}, {}, "standard", ()),  # 0.45 % off
    ({"operations": {"fp32": 2011.0}}, {}, "standard", ("fp32 2011, by hand 2000",)),
    ({"operations": {}}, {}, "standard", ("fp32 not counted",)),
    ({"operations": {}}, {}, "ncu --set full", ()),
    ({"dram_bytes": 12700.0}, {}, "full", ("DRAM bytes 12700.0, by hand 12000",)),
    ({}, {"limiter": "l2"}, "full", ("limiter l2, expected dram",)),
    ({}, {"bound": "latency"}, "full", ("bound latency, expected bandwidth",)),
    ({}, {"bound": "unknown"}, "quick", ()),
    ({}, {"bound": "latency"}, "quick", ("bound latency, expected bandwidth",)),
]


@pytest.mark.parametrize(("measured", "judged", "how", "problems"), CASES)
def test_comparison(
    measured: dict[str, object],
    judged: dict[str, object],
    how: str,
    problems: tuple[str, ...],
) -> None:
    check = script("gpu_check")
    values = {"operations": {"fp32": 2000.0}, "dram_bytes": 12000.0} | measured
    found = result(measurement("triad", **values), verdict(**judged))
    row = check.compare(how, check.Expected(**EXPECTED), found)
    assert row.problems == problems
    assert ("ok" in check.show(row)) is (problems == ())


def test_table_has_what_was_expected_beside_what_was_found() -> None:
    check = script("gpu_check")
    found = result(
        measurement("triad", operations={"fp32": 1990.0}, dram_bytes=12100.0),
        verdict(bound="bandwidth", limiter="l2"),
    )

    line = check.show(check.compare("standard", check.Expected(**EXPECTED), found))

    for text in ("bandwidth/dram ", "bandwidth/l2 ", "12100/12000 ", "fp32=1990/2000 "):
        assert text in line
    assert check.against(None, 5.0) == "-/5"


def test_a_kernel_that_is_missing_is_a_problem() -> None:
    check = script("gpu_check")
    row = check.compare("full", check.Expected(**EXPECTED), None)
    assert row.problems == ("not in the report",)


def test_expectations_are_read_from_the_program(tmp_path: Path) -> None:
    program = tmp_path / "kernels"
    program.write_text(
        f"#!{sys.executable}\n"
        'print(\'{"kernel": "triad", "bound": "bandwidth", "expected": ["dram"],\'\n'
        '      \' "operations": {"fp32": 2000}, "dram_bytes": -1}\')\n'
        "print('done')\n"
    )
    program.chmod(0o755)
    known = script("gpu_check").expectations(program)
    assert known["triad"].dram_bytes is None
    assert known["triad"].units == ("dram",)
