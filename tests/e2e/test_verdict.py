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
    file.write_text("name,flops,bytes,time\na,1T,1GB,4ms\nb,2T,1GB,20ms\n")

    rows = json.loads(run(file, "--gpu", "a100-sxm4-80gb", "--dtype", "bf16", "--json").stdout)
    assert [(row["name"], row["bound"]) for row in rows["groups"]] == [
        ("b", "latency"),
        ("a", "compute"),
    ]


def test_what_is_missing_is_said() -> None:
    done = run("--flops", "1T", "--time", "1ms")

    assert (done.exit_code, "gpu is missing" in done.stderr) == (2, True)
