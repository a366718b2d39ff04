"""``roofline doctor`` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.fake import Fake


def test_command(fake: Fake) -> None:
    fake.program("nvidia-smi", f'[ $# -gt 0 ] && echo "{"0, NVIDIA H100, 9.0, 550.1, Disabled"}"')

    done = fake.run("doctor")

    assert "pass  NVIDIA H100 (compute capability 9.0), driver 550.1" in done.stdout
    assert "pass  ncu knows this GPU" in done.stdout
    assert done.stderr == ""


def test_command_as_json_without_a_gpu(fake: Fake) -> None:
    fake.gpu()

    done = fake.run("doctor", "--json")

    document = json.loads(done.stdout)
    assert document["schema"] == "roofline.doctor/1"
    assert document["can_profile"] is (done.returncode == 0)
    if not Path("/proc/driver/nvidia/version").exists():
        assert done.returncode == 4
        assert document["checks"][0]["status"] == "fail"
