"""The real ncu, where there is one: what we pass it takes, and what it refuses we explain.

ROOFLINE_TEST_NCU names it. No GPU is needed.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from roofline.capture.command import NAMES_ONLY, command, names_request, question
from roofline.capture.levels import base_name, is_listed, metrics_of, table
from roofline.capture.preflight import ask, check_command, find_ncu, known_to
from roofline.capture.request import CaptureLevel, CaptureRequest, Ncu
from roofline.capture.run import child_environment
from roofline.errors import UsageError
from roofline.process import run_quietly
from tests.shared import NCU

pytestmark = pytest.mark.skipif(NCU is None, reason="ROOFLINE_TEST_NCU names no ncu")

DRIVER = Path("/proc/driver/nvidia/version").exists()
CHIPS = ("TU102", "TU116", "GA100", "GA102", "GA10B", "AD102", "GH100")


@pytest.fixture(scope="module")
def ncu() -> Ncu:
    return find_ncu(NCU)


ALL = CaptureRequest(program=("true",))
REQUESTS = {
    "plain": ALL,
    "names": replace(ALL, kernels=("a", "b"), name_base="mangled"),
    "regex": replace(ALL, kernel_regex="gemm|(?i)relu<float, 4>"),
    "counting": replace(ALL, launch_skip=3, launch_count=1, per_config=True),
    "ranges": replace(ALL, nvtx=("step", "A/*/B]"), from_start=False),
    "application": replace(ALL, replay="application"),
    "app-range": replace(ALL, replay="app-range"),
    "range": replace(ALL, replay="range", nvtx=("step",)),
    "graphs": replace(ALL, graphs="graph", clock_control="none", cache_control="none"),
    "full": replace(ALL, level=CaptureLevel.FULL),
    "sections": replace(ALL, sections=("Occupancy",), section_set="roofline"),
    "devices": replace(ALL, devices="0"),
    "rules": replace(ALL, rules=True, source=True),
    "own": replace(ALL, ncu_options=("--clock-control=none", "-c", "3", "--set=basic", "--nvtx")),
    "shortened": replace(ALL, ncu_options=("--clock-c=none",), nvtx=("a",)),
}


def fitting(ncu: Ncu, name: str) -> CaptureRequest:
    """The request of that name, or a skip where this ncu is too old for it."""
    try:
        question(REQUESTS[name], ncu)
    except UsageError as error:
        pytest.skip(str(error))
    return REQUESTS[name]


@pytest.mark.parametrize("name", REQUESTS)
def test_options_are_taken(ncu: Ncu, name: str, tmp_path: Path) -> None:
    request = fitting(ncu, name)
    argv = command(
        replace(request, metrics=metrics_of(request.level, ["GH100"], patched=request.patched)),
        ncu,
        report=tmp_path / "r%1",
        log=tmp_path / "log",
    )

    done = run_quietly(argv, env=child_environment({"PATH": "/usr/bin:/bin"}, request))

    assert done is not None
    said = (tmp_path / "log").read_text() + done.stdout + done.stderr
    if not DRIVER:
        # Options are read before the driver is looked for, so this is all that it has to say.
        errors = [line for line in said.splitlines() if line.startswith("==ERROR==")]
        assert len(errors) == 2, said
        assert "The application returned an error code (1)" in errors[0]
        assert "failed to connect to the CUDA driver" in errors[1]
    assert "unrecognised" not in said


def test_run_for_names_is_taken(ncu: Ncu, tmp_path: Path) -> None:
    request, log = names_request(ALL), tmp_path / "log"
    argv = command(replace(request, metrics=NAMES_ONLY), ncu, report=tmp_path / "r", log=log)

    done = run_quietly(argv)

    assert done is not None
    assert "unrecognised" not in done.stdout + (tmp_path / "log").read_text()


@pytest.mark.parametrize("chip", CHIPS)
def test_metrics_are_known_or_left_out(ncu: Ncu, chip: str) -> None:
    if ncu.version.text != "2024.1.1":
        pytest.skip("what is left out is known for 2024.1.1")
    listed = known_to(ncu, [chip], ask)
    assert listed is not None
    assert len(listed) > 1000
    chosen = metrics_of(CaptureLevel.STANDARD, [chip], listed=listed)
    assert all(base_name(name) in listed for name in chosen if is_listed(name))
    # The table is from a newer library: this one name on GH100 is younger than ncu 2024.1.
    left_out = {*map(base_name, metrics_of(CaptureLevel.STANDARD, [chip]))} - {
        *map(base_name, chosen)
    }
    assert left_out == ({"lts__d_decomp_input_sectors"} if chip == "GH100" else set())


@pytest.mark.parametrize("chip", ["TU102", "GA100", "GH100"])
def test_roll_ups_are_known(ncu: Ncu, chip: str) -> None:
    listed = known_to(ncu, [chip], ask)
    chosen = metrics_of(CaptureLevel.STANDARD, [chip], listed=listed)
    metrics = [name for name in chosen if is_listed(name) and "." in name]
    bases = ",".join(dict.fromkeys(base_name(name) for name in metrics))
    words = ["--query-metrics", "--query-metrics-mode", "suffix", "--metrics", bases]

    done = ask([str(ncu.path), *words, "--chips", chip.lower()])

    assert done is not None
    known = {line.split()[0] for line in done.stdout.splitlines() if line[:1].strip()}
    assert set(metrics) <= known


def test_chips_of_the_table_are_spelt_as_ncu_does(ncu: Ncu) -> None:
    done = ask([str(ncu.path), "--list-chips"])
    assert done is not None
    chips = done.stdout.upper().replace(",", " ").split()
    old = {"TU102", "TU116", "GA100", "GA102", "GA10B", "AD102", "GH100"}
    assert old <= {*table()} & set(chips)


@pytest.mark.parametrize("name", REQUESTS)
def test_what_we_ask_for_is_not_refused(ncu: Ncu, name: str) -> None:
    request = fitting(ncu, name)
    metrics = metrics_of(request.level, ["GH100"], patched=request.patched)

    check_command(replace(request, metrics=metrics), ncu, ask)


def test_asking_does_not_start_the_program(ncu: Ncu) -> None:
    assert "true" not in question(ALL, ncu)
    done = ask(list(question(ALL, ncu)))

    assert done is not None
    assert "gh100" in done.stdout
