"""The real ncu behind the command line, where there is one; no GPU is needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.fake import Fake
from tests.shared import NCU

pytestmark = pytest.mark.skipif(NCU is None, reason="ROOFLINE_TEST_NCU names no ncu")

DRIVER = Path("/proc/driver/nvidia/version").exists()


@pytest.mark.skipif(DRIVER, reason="there is a driver here")
def test_without_a_driver_the_message_is_ours(fake: Fake) -> None:
    assert NCU is not None

    done = fake.run("profile", "--ncu", NCU, "--kernel-regex", "gemm", "sh", "-c", "echo ran")

    assert done.returncode == 4
    assert "[no_driver]" in done.stderr
    assert "evidence: ==ERROR== Nsight Compute failed to connect to the CUDA driver" in done.stderr
    assert "Traceback" not in done.stderr
    assert "ran" not in done.stdout
    assert fake.files() == {"sh.ncu-rep.log"}


def test_a_bad_regex_is_refused_before_the_program_starts(fake: Fake) -> None:
    assert NCU is not None

    done = fake.run("profile", "--ncu", NCU, "--kernel-regex", "(?<=a+)b", "true")

    assert done.returncode == 2
    assert "lookbehind" in done.stderr
    assert fake.files() == set()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("nosuch",), 5, "[program_missing]"),
        (("./nosuch",), 5, "[program_missing]"),
        (("--list-kernels", "nosuch"), 5, "[program_missing]"),
        (("--ncu-arg=--bogus", "true"), 4, "[option_unknown]"),
        (("--list-kernels", "--ncu-arg=--bogus", "true"), 4, "[option_unknown]"),
        (("--section", "nope", "true"), 4, "[section_unknown]"),
        (("--device", "nosuch", "true"), 2, "--device nosuch: no GPU"),
    ],
)
def test_a_command_line_that_ncu_refuses(
    fake: Fake, words: tuple[str, ...], code: int, said: str
) -> None:
    assert NCU is not None

    done = fake.run("profile", "--ncu", NCU, *words)

    assert done.returncode == code
    assert said in done.stderr
    assert "==ERROR==" not in done.stdout
    assert fake.files() == set()
