"""``roofline specs`` as a person meets it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from roofline.cli import cli
from roofline.specs import load
from roofline.specs.ceilings import load_achieved
from roofline.specs.measure import Bench
from tests.shared import SHARED
from tests.specs.test_tables import TOY


def run(*argv: str) -> Result:
    return CliRunner().invoke(cli, ["specs", *argv], catch_exceptions=False)


def test_list_names_every_gpu() -> None:
    result = run("list")

    assert result.exit_code == 0
    for key in load().specs:
        assert any(line.startswith(f"{key} ") for line in result.stdout.splitlines())


@pytest.mark.parametrize(
    ("words", "expected", "not_expected"),
    [
        (["hopper"], "h100-pcie-80gb", "a100-sxm4-40gb"),
        (["9.0"], "gh200-96gb", "b200-sxm-180gb"),
        (["geforce", "8.9"], "rtx-4090", "l40"),
        (["AD102"], "rtx-4090", "rtx-4080"),
        (["LAPTOP"], "rtx-4090-laptop", "rtx-4090 "),
    ],
)
def test_list_takes_words_that_must_all_fit(
    words: list[str], expected: str, not_expected: str
) -> None:
    result = run("list", *words)

    assert f"\n{expected} " in result.stdout
    assert f"\n{not_expected} " not in result.stdout


def test_list_without_a_match_is_wrong_usage() -> None:
    result = run("list", "voodoo")

    assert result.exit_code == 2
    assert "no GPU matches 'voodoo'" in result.stderr
    assert result.stdout == ""


def test_list_as_json_is_valid_and_in_si() -> None:
    content = json.loads(run("list", "l4", "--json").stdout)

    assert content["schema"] == "roofline.specs/1"
    (gpu,) = [g for g in content["gpus"] if g["key"] == "l4"]
    assert gpu["dram_bytes_per_s"] == 300e9
    assert gpu["parameters"]["sm_count"] == {"value": 58, "source": "ncu"}
    (bf16,) = [o for o in gpu["operations"] if o["operation"] == "tensor_bf16"]
    # 58 SMs x 1024 x 2040 MHz = 121.2 TFLOP/s; over 300 GB/s the ridge is at 404.
    assert bf16["operations_per_s"] == pytest.approx(121.2e12, rel=1e-3)
    assert bf16["ridge"] == pytest.approx(404, rel=1e-3)
    used = {p["source"] for g in content["gpus"] for p in g["parameters"].values()}
    assert used <= set(content["sources"])


def test_show_gives_numbers_with_sources_ridges_and_aliases() -> None:
    result = run("show", "H100 80GB HBM3")

    assert result.exit_code == 0
    text = " ".join(result.stdout.split())
    assert "SMs 132 ncu" in text
    assert "memory bus 5120 bit ncu" in text
    assert "L2 50 MiB ncu" in text
    assert "3.352 TB/s = 2 x 2619 MHz x 5120 bit / 8" in text
    # 989.4 TFLOP/s over 3352 GB/s is 295 FLOP/B.
    assert "tensor_bf16 4096 ncu 1.830 GHz 989 TFLOP/s 295 FLOP/B 989 TFLOP/s" in text
    assert "tensor_bf16, mma.sync 2730.67 ncu" in text
    assert "PCI ids: 2330" in text
    assert "h100wp vendor NVIDIA H100 Tensor Core GPU Architecture whitepaper" in text


def test_show_lists_aliases_rates_of_both_accumulators_and_differences() -> None:
    assert "NVIDIA GH200 120GB" in run("show", "gh200-96gb").stdout
    card = run("show", "rtx4090").stdout
    assert "tensor_fp16, FP16 accumulate" in card
    assert "half rate" in card
    assert "108 PFLOP/s" in run("show", "b300-sxm-288gb").stdout
    assert "Not known: tensor_int8, tensor_int4." in run("show", "l20").stdout


def test_show_of_a_part_without_clocks_gives_the_published_figures() -> None:
    result = run("show", "b100")

    assert "SMs or clock are not known" in result.stdout
    assert "1.75 PFLOP/s" in result.stdout


def test_show_as_json_is_one_gpu() -> None:
    content = json.loads(run("show", "b100", "--json").stdout)

    assert [g["key"] for g in content["gpus"]] == ["b100"]
    assert content["gpus"][0]["operations"][0]["operations_per_s"] is None


@pytest.mark.slow
def test_every_gpu_can_be_shown() -> None:
    from roofline.render.specs import page

    registry = load()
    for spec in registry.specs.values():
        text = page(spec, registry.sources, width=120, color=False)
        assert spec.name in text
        assert "nan" not in text.split()


def test_show_of_a_mistyped_name_suggests() -> None:
    result = run("show", "H100 PCI")

    assert result.exit_code == 2
    assert "other GPUs unless mistyped, are NVIDIA H100 PCIe" in result.stderr
    assert "try: add it (docs/peaks.md, --specs DIR)" in result.stderr


def test_check_without_reports_checks_the_files() -> None:
    result = run("check")

    assert result.exit_code == 0
    assert "124 GPUs" in result.stdout


def test_check_of_a_wrong_entry_fails_and_says_which(tmp_path: Path) -> None:
    (tmp_path / "toy.toml").write_text(TOY.replace("[6.4,", "[7.4,"))

    result = run("check", "--specs", str(tmp_path))

    assert result.exit_code == 1
    assert "toy: fp64 is published as 7.4e+12 (a100) but 6.4e+12 follows" in result.stdout
    assert "1 problem in" in result.stderr


def test_check_of_a_broken_file_is_unreadable_input(tmp_path: Path) -> None:
    (tmp_path / "toy.toml").write_text(TOY.replace("sm_count", "sm_cuont"))

    result = run("check", "--specs", str(tmp_path))

    assert result.exit_code == 3
    assert "sm_cuont: there is no such entry" in result.stderr


def test_check_of_a_file_that_is_no_report(tmp_path: Path) -> None:
    path = tmp_path / "a.ncu-rep"
    path.write_bytes(b"nothing")

    result = run("check", str(path))

    assert result.exit_code == 3
    assert "a.ncu-rep" in result.stderr
    assert result.stdout == ""


def test_check_of_a_sample_report_finds_its_device() -> None:
    sample = Path(__file__).parents[2] / "sample_reports" / "h100_mix.ncu-rep"
    if not sample.is_file():
        pytest.skip("the sample reports have not been written")

    result = run("check", str(sample))

    assert "[h100-sxm5-80gb]" in result.stdout


@pytest.mark.skipif(SHARED is None, reason="there are no shared reports here")
def test_check_of_real_reports_explains_everything() -> None:
    assert SHARED is not None
    result = run("check", str(SHARED / "reports"))

    assert "nothing explains" not in result.stderr
    assert "NVIDIA B200 [b200-sxm-180gb]" in result.stdout
    assert "ncu held the base clock" in result.stdout


def test_measure_without_pytorch_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)

    result = run("measure")

    assert result.exit_code == 2
    assert "needs PyTorch" in result.stderr
    assert "pip install torch" in result.stderr


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """An L4 on which every benchmark takes 1 ms, and FP8 is refused."""
    properties = SimpleNamespace(
        name="NVIDIA L4",
        major=8,
        minor=9,
        multi_processor_count=58,
        total_memory=24 * 10**9,
        L2_cache_size=48 * 2**20,
    )
    cuda = SimpleNamespace(
        is_available=lambda: True,
        device_count=lambda: 1,
        set_device=lambda _: None,
        get_device_properties=lambda _: properties,
    )
    torch = SimpleNamespace(__version__="2.9", version=SimpleNamespace(cuda="12.8"), cuda=cuda)
    monkeypatch.setitem(sys.modules, "torch", torch)

    def build(plan: Any) -> Any:
        if plan.quantity == "tensor_fp8":
            raise RuntimeError("no fp8 here")
        return lambda: None

    bench = Bench(build=build, time=lambda _: [1e-3], watch=lambda *_: {})
    monkeypatch.setattr("roofline.specs.measure.bench_on", lambda *_: bench)


@pytest.mark.usefixtures("gpu")
def test_measure_prints_ceilings_and_keeps_them(tmp_path: Path) -> None:
    path = tmp_path / "l4.toml"

    result = run("measure", "-o", str(path))

    assert result.exit_code == 0
    assert "NVIDIA L4" in result.stdout
    assert "dram_read" in result.stdout
    assert "tensor_fp8 could not be measured: no fp8 here" in result.stderr
    assert f"roofline analyze REPORT --peaks {path}" in result.stderr
    peaks = load_achieved(path).peaks
    assert peaks.dram_bytes_per_s is not None
    assert "tensor_fp8" not in peaks.operations_per_s


@pytest.mark.usefixtures("gpu")
def test_measure_keeps_its_ceilings_for_the_word_achieved(kept_ceilings: Path) -> None:
    result = run("measure")

    assert "--peaks achieved" in result.stderr
    assert [path.name for path in kept_ceilings.iterdir()] == ["nvidia-l4.toml"]
    assert run("measure").exit_code == 2
    assert run("measure", "--force").exit_code == 0


@pytest.mark.usefixtures("gpu")
def test_measure_takes_several_gpus(
    tmp_path: Path, kept_ceilings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(sys.modules["torch"].cuda, "device_count", lambda: 2)
    monkeypatch.setattr(sys.modules["torch"].cuda, "set_device", asked.append)

    result = run("measure", "--device", "0", "--device", "1", "--only", "dram_copy", "--force")

    assert result.exit_code == 0, result.stderr
    assert list(dict.fromkeys(asked)) == [0, 1]
    assert result.stdout.count("NVIDIA L4") == 2
    assert len([*kept_ceilings.iterdir()]) == 1  # GPUs of one kind share what was measured
    wrong = run("measure", "--device", "0", "--device", "1", "-o", str(tmp_path / "a.toml"))
    assert wrong.exit_code == 2
    assert "-o is for one GPU" in wrong.stderr


@pytest.mark.usefixtures("gpu")
def test_measure_can_be_told_what_to_measure(tmp_path: Path) -> None:
    result = run("measure", "--only", "dram_copy", "-o", str(tmp_path / "a.toml"))

    assert "dram_copy" in result.stdout
    assert "fp32" not in result.stdout
    wrong = run("measure", "--only", "dram_cpoy", "-o", str(tmp_path / "b.toml"))
    assert wrong.exit_code == 2
    assert "no ceiling 'dram_cpoy'" in wrong.stderr


@pytest.mark.usefixtures("gpu")
def test_measure_refuses_to_write_over_a_file_before_it_begins(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("mine")

    result = run("measure", "-o", str(path))

    assert result.exit_code == 2
    assert "..." not in result.stderr
    assert path.read_text() == "mine"


@pytest.mark.parametrize("name", ["list", "show", "check", "measure"])
def test_every_command_has_help_with_examples(name: str) -> None:
    result = run(name, "--help")

    assert result.exit_code == 0
    assert f"roofline specs {name}" in result.stdout
    assert "Examples:" in result.stdout


def test_a_model_of_several_gpus_is_the_one_that_verdict_takes() -> None:
    shown = run("show", "h100", "--json")
    told = ["verdict", "--gpu", "h100", "--bytes", "1GB", "--time", "1ms", "--json"]
    judged = json.loads(CliRunner().invoke(cli, told).stdout)

    assert "h100 is taken for NVIDIA H100 80GB HBM3" in shown.stderr
    (spec,) = json.loads(shown.stdout)["gpus"]
    assert judged["launches"][0]["device"]["name"] in spec["names"]
