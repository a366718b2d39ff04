"""The causes that ncu itself prints, from the fake ncu to the message and the exit code."""

from __future__ import annotations

from typing import Any

import pytest

from roofline.capture.failures import catalogue
from tests.capture.test_failures import COUNTERS, DEVICE, ERROR, EXIT, NONE
from tests.e2e.fake import PROFILED, Fake

# By cause: what ncu prints to its log, and the codes that it may become (the place of the test
# decides which permission it is).
PERMISSIONS = {code for code in catalogue() if code.startswith("permission")}
PRINTED: list[tuple[str, set[str]]] = [
    (COUNTERS, PERMISSIONS - {"permission_vgpu"}),
    (
        ERROR + "The user does not have permission to access NVIDIA GPU Performance Counters on "
        "the target vGPU device 0.",
        {"permission_vgpu"},
    ),
    (
        ERROR + "Profiling failed because a driver resource was unavailable. Ensure that no other "
        "tool (like DCGM) is concurrently collecting profiling data.",
        PERMISSIONS | {"counters_taken"},
    ),
    (ERROR + "Cuda driver is not compatible with Nsight Compute.", {"driver_incompatible"}),
    (ERROR + DEVICE + ". To find out supported GPUs refer --list-chips.", {"gpu_unsupported"}),
    (
        ERROR + "Failed to access the following metrics. When profiling on a MIG instance, it is",
        {"mig_shared"},
    ),
    (ERROR + "Insufficient memory and disk space to save context state!", {"replay_memory"}),
    (ERROR + "No space left on device", {"disk_full"}),
    (ERROR + "Failed to create temporary file. Specify the TMPDIR environment", {"tmpdir"}),
    (
        ERROR + "Failed to open/create lock file /tmp/nsight-compute-lock. Please",
        {"lock_file"},
    ),
]
IDS = [min(codes) for _, codes in PRINTED]


def step(line: str, **rest: Any) -> dict[str, Any]:
    return {"log": [line, EXIT.format(1), NONE], "exit": 1, **rest}


@pytest.mark.parametrize(("line", "codes"), PRINTED, ids=IDS)
def test_a_cause_becomes_one_message_and_exit_code_4(
    fake: Fake, line: str, codes: set[str]
) -> None:
    fake.scenario(step(line))

    done = fake.run("profile", "--quiet", "true")

    assert done.returncode == 4, done.stderr
    (code,) = [c for c in catalogue() if f"[{c}]" in done.stderr]
    assert code in codes
    failure = catalogue()[code]
    assert done.stderr.count("[") == 1 + failure.you.count("[")
    assert f"evidence: {line}" in done.stderr
    assert f"try: {failure.you}" in done.stderr
    if failure.admin:
        assert f"administrator: {failure.admin}" in done.stderr
    assert "meanwhile: " in done.stderr
    assert "Traceback" not in done.stderr
    # ncu's log is kept and no report is made up.
    assert fake.files() == {"true.ncu-rep.log"}


def test_what_was_profiled_before_ncu_failed_is_kept_and_said_to_be_partial(fake: Fake) -> None:
    line = ERROR + "Insufficient memory and disk space to save context state!"
    fake.scenario({"log": [PROFILED, line, EXIT.format(1)], "exit": 1, "report": str(fake.report)})

    done = fake.run("profile", "--quiet", "true")

    assert "Partial: " in done.stdout
    assert "true.ncu-rep" in fake.files()
    assert done.returncode == 0
