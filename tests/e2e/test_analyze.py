from __future__ import annotations

import csv
import io
import json
from itertools import product
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import roofline
from roofline.analysis import analyze
from roofline.cli import COMMANDS, cli, output
from roofline.cli.output import Output
from sample_reports.writer import Launch, Metric, Rule
from tests.e2e.reports import kernel, report
from tests.shared import REPORTS, remembering


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return report(tmp_path / "a.ncu-rep")


def run(*words: object, width: int = 120, **env: str) -> Result:
    settings = {"COLUMNS": str(width), **env}
    return CliRunner().invoke(cli, ["analyze", *map(str, words)], env=settings)


def test_the_table_is_ranked_and_plain(path: Path):
    done = run(path)

    assert done.exit_code == 0
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    assert done.stdout.index("sgemm<float>") < done.stdout.index("axpy<float>")
    assert "2 launches of 2 kernels, 4.00 ms under ncu (clocks not measured), in a.ncu-rep" in (
        done.stdout
    )
    assert str(path.parent) not in done.stdout


def test_json_is_one_document_and_keeps_file_order(path: Path):
    done = run(path, "--format", "json", "--sort", "time")

    document = json.loads(done.stdout)
    assert document["schema"] == "roofline.analysis/1"
    assert [x["name"] for x in document["launches"]] == ["axpy", "sgemm"]
    assert [x["name"] for x in document["groups"]] == ["sgemm", "axpy"]
    assert document["launches"][0]["bound"] == "bandwidth"
    assert document["sources"] == [{"path": "a.ncu-rep", "launches": 2, "notes": []}]


def test_csv_by_kernel_and_by_launch(tmp_path: Path):
    path = report(tmp_path / "a.ncu-rep", kernel("k", ns=1e6), kernel("k", ns=2e6))

    kernels = list(csv.DictReader(io.StringIO(run(path, "--format", "csv").stdout)))
    launches = list(csv.DictReader(io.StringIO(run(path, "--format", "csv", "--launches").stdout)))

    assert [(r["launches"], float(r["total_s"])) for r in kernels] == [("2", 3e-3)]
    assert [float(r["duration_s"]) for r in launches] == [2e-3, 1e-3]


def test_markdown(path: Path):
    assert "| 1 | `sgemm<float>` |" in run(path, "--format", "markdown").stdout


def test_one_bad_file_does_not_lose_the_others(path: Path):
    bad = path.with_name("bad.ncu-rep")
    bad.write_bytes(b"")

    done = run(bad, path)

    assert done.exit_code == 3
    assert "sgemm" in done.stdout
    assert done.stderr.count("roofline: ") == 1
    assert "bad.ncu-rep" in done.stderr


def test_a_folder_is_searched_through(path: Path):
    deeper = path.parent / "x" / "y"
    deeper.mkdir(parents=True)
    report(deeper / "b.ncu-rep", kernel("deep", ns=9e6))

    done = run(path.parent)

    assert "in 2 files" in done.stdout
    assert "deep<float>" in done.stdout


@pytest.mark.parametrize("words", [["nowhere.ncu-rep"], ["nowhere.ncu-rep", "no*.ncu-rep"]])
def test_nothing_readable_prints_nothing(words):
    done = run(*words, "--format", "json")

    assert done.exit_code == 3
    assert done.stdout == ""
    assert done.stderr.count("roofline: ") == len(words)
    assert "Traceback" not in done.stderr


def test_output_is_whole_and_never_over_a_file_unasked(path: Path):
    out = path.with_name("a.json")
    assert run(path, "--output", out).exit_code == 0
    before = out.read_text("utf-8")
    assert json.loads(before)["groups"]  # the ending chose the format

    refused = run(path, "--output", out)
    assert refused.exit_code == 2
    assert "--force" in refused.stderr
    assert out.read_text("utf-8") == before

    forced = run(path, "--output", out, "--force", "--format", "csv")
    assert forced.exit_code == 0
    assert forced.stdout == ""
    assert out.read_text("utf-8").startswith("source,")
    assert sorted(p.name for p in path.parent.iterdir()) == ["a.json", "a.ncu-rep"]


def test_a_refused_output_is_refused_before_the_work(path: Path):
    there = path.with_name("there.txt")
    there.touch()

    done = run("nowhere.ncu-rep", "--output", there)

    assert done.exit_code == 2
    assert "exists already" in done.stderr


def test_a_dash_is_stdout(path: Path):
    assert json.loads(run(path, "--format", "json", "-o", "-").stdout)["groups"]


def test_parquet(path: Path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    out = path.with_name("a.parquet")

    assert run(path, "--output", out, "--launches").exit_code == 0

    assert sorted(pandas.read_parquet(out)["name"]) == ["axpy", "sgemm"]
    refused = run(path, "--format", "parquet")
    assert refused.exit_code == 2
    assert "--output FILE.parquet" in refused.stderr


def test_filters_say_what_they_left(path: Path):
    done = run(path, "--kernel", "^sge", "--min-share", "10")

    assert "axpy" not in done.stdout
    assert "(--kernel ^sge --min-share 10)" in done.stdout
    assert "75 %" in done.stdout


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--kernel", "sgem_"], "--kernel sgemm"),
        (["--explain", "xpy_"], "--explain axpy"),
        (["--device", "H100"], "NVIDIA Toy"),
        (["--min-share", "99"], "a lower --min-share"),
        (["--kernel", "("], "is not a regular expression"),
        (["--explain", "axpy", "--format", "csv"], "--explain axpy --format json"),
        (["--source"], "--explain KERNEL"),
        (["--all"], "--explain KERNEL --all"),
        (["--sort", "beauty"], "'gain'"),
        (["--top", "0"], "x>=1"),
    ],
)
def test_what_makes_no_sense_is_wrong_usage_with_a_way_out(path, words, hint):
    done = run(path, *words)

    assert done.exit_code == 2
    assert done.stdout == ""
    assert hint in done.stderr


def test_explain_takes_the_longest_and_lists_the_others(path: Path):
    done = run(path, "--explain", "float", "--all")

    assert done.stdout.startswith("void sgemm<float>(")
    assert "Matching kernels too\n  - axpy<float>" in done.stdout
    assert "dram__throughput" in done.stdout


def test_explain_names_the_instruction_that_waits_and_what_nvidia_says(tmp_path: Path):
    reason = "smsp__pcsamp_warps_issue_stalled_long_scoreboard"
    by_address = ((4096, 900), (4112, 600))
    values = {
        **kernel("axpy", ns=1e6).metrics,
        "smsp__pcsamp_sample_count": Metric(1500, by_address),
        reason: Metric(900, by_address[:1]),
    }
    rule = Rule(
        identifier="CPIStall",
        name="Warp Stall",
        title="Long Scoreboard Stalls",
        message="See @section:LaunchStats:Launch Statistics@. More.",
        kind="optimization",
        speedup_percent=40.0,
    )
    path = report(tmp_path / "r.ncu-rep", Launch(name="axpy", metrics=values, rules=(rule,)))

    done = run(path, "--explain", "axpy")
    assert "60.0 % of the 1,500 samples are at the instruction at 0x1000" in done.stdout
    assert "Long Scoreboard Stalls (estimated speedup 40 %): See Launch Statistics" in done.stdout
    document = json.loads(run(path, "--explain", "1", "--json").stdout)
    details = document["groups"][0]["details"]
    assert details["sampled"][0]["reason"] == "long_scoreboard"
    assert details["rules"][0]["gain_percent"] == 40.0
    assert "details" not in json.loads(run(path, "--json").stdout)["groups"][0]


def test_explain_takes_a_rank(path: Path):
    assert run(path, "--explain", "2").stdout.startswith("void axpy<float>(")
    assert run(path, "--explain", "2", "--sort", "name").stdout.startswith("void sgemm<float>(")
    assert run(path, "--explain", "3").exit_code == 2


def test_thresholds_reach_the_rule(path: Path):
    done = run(path, "--explain", "axpy", "--all", "--latency-threshold", "95")

    assert "latency" in done.stdout
    assert "is under 95 % (--latency-threshold)" in done.stdout


def test_measured_ceilings(path: Path):
    ceilings = path.with_name("toy.toml")
    ceilings.write_text('device = "Other"\ndram_bytes_per_s = 9e11\n', "utf-8")

    done = run(path, "--explain", "axpy", "--all", "--peaks", ceilings)
    assert "of other GPUs" in done.stdout

    device = roofline.analyze(path).results[0].measurement.device.name
    ceilings.write_text(f'device = "{device}"\ndram_bytes_per_s = 9e11\n', "utf-8")
    done = run(path, "--explain", "axpy", "--all", "--peaks", ceilings)
    assert "achieved" in done.stdout
    assert "900 GB/s" in done.stdout
    assert f"measured on {device} (toy.toml)" in done.stdout


def test_kept_ceilings_by_their_word(path: Path, kept_ceilings: Path):
    assert run(path, "--peaks", "achieved").exit_code == 3

    kept_ceilings.mkdir(parents=True)
    (kept_ceilings / "any.toml").write_text("dram_bytes_per_s = 9e11\n", "utf-8")
    assert "900 GB/s" in run(path, "--explain", "1", "--all", "--peaks", "achieved").stdout


@pytest.mark.parametrize(
    "text",
    ["", "dram_bytes_per_s = -1", "dram_bytes_per_s = nan", "[operations_per_s]\nfp31 = 1.0", "x"],
)
def test_ceilings_that_are_none(path: Path, text: str):
    ceilings = path.with_name("toy.toml")
    ceilings.write_text(text, "utf-8")

    done = run(path, "--peaks", ceilings)

    assert done.exit_code == 3
    assert "toy.toml" in done.stderr
    assert done.stdout == ""


def test_a_stdout_without_unicode_gets_plain_letters(monkeypatch):
    class Ascii:
        encoding = "ascii"

    monkeypatch.setattr(output.sys, "stdout", Ascii())

    assert output.encodable("…µ█▌é") == "~u# ?"


@pytest.mark.parametrize(
    ("environment", "terminal", "coloured"),
    [
        ({}, True, True),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"TERM": "dumb"}, True, False),
        ({}, False, False),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": ""}, False, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, True, True),
    ],
)
def test_colours_are_for_terminals_that_want_them(monkeypatch, environment, terminal, coloured):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(output.sys.stdout, "isatty", lambda: terminal, raising=False)

    assert Output().color is coloured
    assert Output(output=Path("a.txt")).color is False


def test_help_has_examples_and_begins_as_the_list_of_commands_says():
    done = run("--help")

    assert COMMANDS["analyze"] in done.stdout
    assert "roofline analyze report.ncu-rep --explain sgemm" in done.stdout


@pytest.mark.slow
@pytest.mark.skipif(not REPORTS, reason="no shared reports")
def test_every_real_report_is_answered_or_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("roofline.analysis.analyze", remembering(analyze))
    forms = ([], ["--launches", "--top", "50"], ["--format", "json"])
    for path, words in product(REPORTS, forms):
        done = run(path, *words, width=100)
        if done.exit_code == 0:
            assert done.stdout
        else:
            assert done.exit_code == 3, (path.name, done.exception)
            assert done.stdout == ""
            assert path.name in done.stderr
        if "json" not in words:
            assert max(map(len, done.stdout.splitlines()), default=0) <= 100


def test_a_utilisation_that_was_computed_is_shown_like_a_counted_one(tmp_path: Path):
    # 3 GB in 1 ms of 2 x 2.619 GHz x 5120 bit / 8 = 3352 GB/s is 89.5 %.
    bare = Launch(
        name="copy",
        grid=(1000, 1, 1),
        block=(256, 1, 1),
        metrics={
            "gpu__time_duration.sum": 1e6,
            "dram__bytes_read.sum": 2e9,
            "dram__bytes_write.sum": 1e9,
            "device__attribute_max_mem_frequency_khz": 2619000,
            "device__attribute_global_memory_bus_width": 5120,
        },
    )
    path = report(tmp_path / "a.ncu-rep", bare)

    document = json.loads(run(path, "--format", "json").stdout)
    table = run(path).stdout

    assert document["launches"][0]["limiter"] == "dram"
    assert document["launches"][0]["utilization"] == {"dram": pytest.approx(89.5, abs=0.1)}
    assert "89 %" in table


def test_two_files_propose_a_command_that_can_be_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my runs").mkdir()
    for name in ("a", "b"):
        report(tmp_path / "my runs" / f"{name}.ncu-rep")
    monkeypatch.chdir(tmp_path)
    told = "roofline compare 'my runs/a.ncu-rep' 'my runs/b.ncu-rep'"

    assert told in " ".join(run("my runs").stdout.split())
    # What is for others has no folder.
    assert "my runs" not in run("my runs", "--format", "markdown").stdout
