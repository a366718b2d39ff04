"""What shells complete, asked as they ask: through click."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from click.shell_completion import BashComplete

from roofline.cli import cli
from tests.e2e.running import ROOT, SAMPLE


def completed(*words: object, begun: str = "") -> list[str]:
    shell = BashComplete(cli, {}, "roofline", "_ROOFLINE_COMPLETE")
    return [item.value for item in shell.get_completions(list(map(str, words)), begun)]


@pytest.mark.parametrize("option", ["--kernel", "-k", "--kernel-name", "--explain"])
def test_kernels_are_those_of_the_report_on_the_line(option: str) -> None:
    assert "adamw_step" in completed("analyze", SAMPLE, option)
    assert completed("analyze", SAMPLE, option, begun="trans") == ["transpose_scores"]
    assert completed("plot", SAMPLE, "--sort", "gain", "-k", begun="rms") == ["rmsnorm_fwd"]


def test_a_report_without_a_command_has_kernels_too() -> None:
    assert completed(SAMPLE, "--kernel", begun="silu") == ["silu_and_mul"]


def test_families_of_kernels_need_no_report() -> None:
    assert {"gemm", "attention"} <= set(completed("profile", "--kernel"))
    assert completed("analyze", SAMPLE, "--kernel", begun="gem") == ["gemm"]


def test_gpus_and_chips_are_those_of_the_registry() -> None:
    a100 = ["a100-pcie-40gb", "a100-pcie-80gb", "a100-sxm4-40gb", "a100-sxm4-80gb"]

    assert completed("verdict", "--gpu", begun="a100") == a100
    assert completed("specs", "show", begun="A100") == a100
    assert completed("profile", "--chip", begun="gh1") == ["gh100"]
    assert completed("verdict", "--dtype", begun="bf") == ["bf16"]
    assert completed("profile", "--chip", begun="a100") == a100


def test_devices_are_words_that_name_those_of_the_report() -> None:
    assert completed("analyze", SAMPLE, "--device") == ["80GB", "H100", "HBM3"]


@pytest.mark.parametrize("report", [(), ("nowhere.ncu-rep",), (ROOT / "README.md",)], ids=str)
def test_what_cannot_be_read_completes_nothing_and_says_nothing(
    report: tuple[object, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    assert completed("analyze", *report, "--kernel-name") == []
    assert capfd.readouterr() == ("", "")


def test_the_rest_of_the_line_may_be_wrong() -> None:
    wrong = ("--top", "many", "--kernel", "(")

    assert completed("analyze", *wrong, SAMPLE, "--explain", begun="ada") == ["adamw_step"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_line_of_the_documentation_makes_a_script(shell: str) -> None:
    page = (ROOT / "docs" / "completion.md").read_text("utf-8")
    assert f"_ROOFLINE_COMPLETE={shell}_source roofline" in page
    env = os.environ | {"_ROOFLINE_COMPLETE": f"{shell}_source", "PYTHONPATH": str(ROOT)}
    code = "import sys; sys.argv[0] = 'roofline'; from roofline.__main__ import main; main()"
    argv = [sys.executable, "-c", code]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "_roofline_completion" in done.stdout


def test_a_command_that_does_not_exist_completes_no_command_and_says_nothing(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert completed("anlyze", begun="--kern") == []
    assert capfd.readouterr() == ("", "")
