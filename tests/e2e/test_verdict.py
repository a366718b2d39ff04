"""``roofline verdict`` as a person meets it."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner, Result

from roofline.cli import cli


def run(*argv: object) -> Result:
    words = ["verdict", *map(str, argv)]
    return CliRunner().invoke(cli, words, catch_exceptions=False)


def test_three_numbers_make_a_table_json_and_a_picture(tmp_path: Path) -> None:
    three = ("--gpu", "h100", "--flops", "60T", "--bytes", "1GB", "--time", "1s")

    assert "as stated" in run(*three).stdout
    (found,) = json.loads(run(*three, "--json").stdout)["launches"]
    assert (found["kind"], found["bound"], found["confidence"]) == ("figures", "compute", "low")
    assert round(found["ceiling_percent"], 1) == 89.7
    explained = run(*three, "--explain", 1, "--all").stdout
    assert "roof at its intensity: 66.9 TFLOP/s, of which 90 % was reached" in explained
    picture = tmp_path / "k.svg"
    assert run(*three, "--plot", picture).exit_code == 0
    assert "datasheet" in picture.read_text("utf-8")


def test_rows_of_a_file_are_kernels(tmp_path: Path) -> None:
    file = tmp_path / "phases.csv"
    # Excel begins its UTF-8 with a byte-order mark.
    file.write_text("name,flops,bytes,time\na,1T,1GB,4ms\nb,2T,1GB,20ms\n", encoding="utf-8-sig")

    rows = json.loads(run(file, "--gpu", "a100-sxm4-80gb", "--dtype", "bf16", "--json").stdout)
    assert [(row["name"], row["bound"]) for row in rows["groups"]] == [
        ("b", "latency"),
        ("a", "compute"),
    ]


def test_a_name_in_words_is_shown_in_full(tmp_path: Path) -> None:
    file = tmp_path / "phases.csv"
    file.write_text("name,flops,bytes,time\ndecode step,1T,1GB,4s\nprefill step,2T,1GB,20s\n")
    screen = run(file, "--gpu", "a100-sxm4-80gb").stdout

    assert "1  prefill step" in screen
    assert "2  decode step" in screen


def test_what_is_missing_is_said() -> None:
    done = run("--flops", "1T", "--time", "1ms")

    said = "gpu is missing\n  try: roofline verdict --gpu h100 --flops 1T --time 1ms\n"
    assert (done.exit_code, done.stderr) == (2, f"roofline: {said}")
    hint = run("--gpu", "h100", "--flops", "1e12").stderr
    assert hint.endswith("try: roofline verdict --gpu h100 --flops 1e12 --time 3.1ms\n")
    nothing = run().stderr
    assert "gpu and time are missing" in nothing
    # What is proposed runs.
    words = nothing.split("roofline verdict ")[1].split()
    proposed = run(*words)
    assert (proposed.exit_code, "cannot be judged" in proposed.stdout) == (0, False)


def test_why_an_amount_is_none_is_said() -> None:
    for words, why in (
        (("--flops", "1e12", "--time=-1ms"), "time is '-1ms': it is below 0"),
        (("--flops", "2*2048**3", "--time", "1ms"), "or --mnk MxNxK for the 2MNK of a GEMM"),
        (("--flops", "nan", "--time", "1ms"), "flops is 'nan': it cannot be read as an amount"),
        (("--bytes", "3GiB/s", "--time", "1ms"), "bytes is '3GiB/s': that is a rate"),
        (("--flops", "1e12", "--time", "3,1ms"), "time is '3,1ms': it cannot be read"),
        (("--mnk", "4096x4096", "--time", "1ms"), "it takes three sizes above 0"),
        (("--mnk", "4096x0x8", "--time", "1ms"), "it takes three sizes above 0"),
    ):
        done = run("--gpu", "h100", *words)
        assert (done.exit_code, why in done.stderr) == (2, True), done.stderr


def test_one_low_figure_alone_says_which_to_add() -> None:
    done = run("--gpu", "h100", "--bytes", "3GB", "--time", "3.1ms", "--explain", 1)
    assert "DRAM is at 29 %" in done.stdout
    assert "give --bytes and --flops (0" in done.stdout


def test_below_both_roofs_the_others_are_named_and_latency_is_not_claimed() -> None:
    three = ("--gpu", "GTX 1660 SUPER", "--flops", "4.3e9", "--bytes", "302MB", "--time", "9.58ms")
    screen, card = (" ".join(run(*three, *more).stdout.split()) for more in ((), ("--explain", 1)))

    # 302 MB in 9.58 ms are 31.5 of 336 GB/s.
    assert "neither DRAM nor arithmetic: DRAM, the busier, is at 9 %. A cache, shared" in screen
    assert "neither roof 9 %?" in screen
    assert "why a cache, shared memory, issue slots or latency; neither DRAM" in screen
    assert "roofline profile PROGRAM" in screen
    assert "no useful bound: both roofs are below 10 %" in screen
    assert "not fewer operations: the FMA pipe is at 9 % fewer DRAM bytes: DRAM is at 9 %" in card
    for said in ("waits", "stall reasons", "hiding latency", "every unit"):
        assert said not in screen + card


def test_figures_that_no_gpu_reaches_are_one_sentence_without_advice() -> None:
    three = ("--gpu", "h100-sxm5-80gb", "--flops", "1e15", "--bytes", "3GB", "--time", "1ms")
    screen = run(*three).stdout

    # 132 SMs of 128 FMA units at 1.98 GHz: 66.9 TFLOP/s, of which 1e18 is 14,946 times.
    said = "1.00 PFLOP in 1.00 ms is 14,946 times the FP32 peak of NVIDIA H100 80GB HBM3"
    assert f"{said}: check dtype, flops and time." in " ".join(screen.split())
    assert not {"Try", "try", "gain", "little", "?"} & set(screen.split())
    # Both are too high; the worse one is named.
    both = run(*three[:2], "--flops", "1T", "--bytes", "3GB", "--time", "0.1ms", "--explain", 1)
    assert "149 times the FP32 peak" in both.stdout
    assert "DRAM peak" not in both.stdout
    bytes_alone = run(*three[:2], "--bytes", "3GB", "--time", "0.1ms").stdout
    assert "3.00 GB in 100 µs is 8.95 times the DRAM peak" in bytes_alone


def test_stated_operations_are_held_against_all_of_the_peak() -> None:
    # 5e9 FP64 operations at 465 GFLOP/s take 10.7 ms; that a full pipe's counter shows 86 % is
    # nothing to them.
    given = ("--gpu", "rtx-3080-10gb", "--dtype", "fp64", "--flops", "5e9", "--bytes", "1GB")
    for took, bound in (("13.5ms", "up to 1.26x (13.5 -> 10.7 ms)"), ("12ms", "up to 1.12x")):
        screen = run(*given, "--time", took, "--explain", 1).stdout
        assert f"headroom: {bound}" in screen
        assert "full at" not in screen
