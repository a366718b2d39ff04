from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from roofline.cli import COMMANDS, cli
from roofline.cli.plot import command
from tests import strange
from tests.shared import REPORTS


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "a.ncu-rep"
    path.write_bytes(strange.report(strange.launch("copy"), strange.launch("scale")))
    return path


def run(*arguments: object):
    return CliRunner().invoke(cli, ["plot", *map(str, arguments)])


@pytest.mark.parametrize("ending", [".png", ".svg", ".pdf", ".html"])
def test_a_report_becomes_a_picture(report, ending):
    output = report.with_suffix(ending)
    done = run(report, "-o", output)

    assert done.exit_code == 0, done.output
    assert done.stdout == ""
    assert f"Wrote {output}" in done.stderr
    assert output.stat().st_size > 3000


def test_the_kernels_asked_for_are_drawn(report):
    output = report.with_suffix(".svg")
    done = run(report, "-o", output, "--kernel", "sca", "--title", "My title", "--theme", "dark")

    text = output.read_text(encoding="utf-8")
    assert done.exit_code == 0, done.output
    assert "scale" in text
    assert "copy" not in text
    assert "My title" in text
    assert "#0d1117" in text


def test_no_kernel_that_matches_is_wrong_usage(report):
    output = report.with_suffix(".svg")
    done = run(report, "-o", output, "--kernel", "nothing_like_it")

    assert done.exit_code == 2
    assert "no kernel matches" in done.stderr
    assert not output.exists()


def test_an_unknown_ending_is_refused_before_reading(tmp_path):
    done = run(tmp_path / "absent.ncu-rep", "-o", tmp_path / "a.gif")

    assert done.exit_code == 2
    assert ".png, .svg, .pdf, .html" in done.stderr


def test_one_bad_report_does_not_lose_the_others(report, tmp_path):
    bad = tmp_path / "bad.ncu-rep"
    bad.write_bytes(b"garbage")
    output = report.with_suffix(".svg")
    done = run(bad, report, "-o", output)

    assert done.exit_code == 3
    assert "bad.ncu-rep" in done.stderr
    assert output.exists()


def test_an_existing_picture_is_kept(report):
    output = report.with_suffix(".svg")
    output.write_text("mine")

    assert run(report, "-o", output).exit_code == 2
    assert output.read_text() == "mine"
    assert run(report, "-o", output, "--force").exit_code == 0


def test_a_chart_is_drawn_below_the_table(report):
    done = CliRunner().invoke(cli, ["analyze", str(report), "--chart"])

    assert done.exit_code == 0, done.output
    assert "No roofline: " in done.stdout or "FLOP/s over FLOP/byte" in done.stdout


def test_analyze_writes_a_page_beside_its_answer(report, tmp_path):
    page = tmp_path / "page.html"

    done = CliRunner().invoke(cli, ["analyze", str(report), "--page", str(page)])
    other = CliRunner().invoke(cli, ["analyze", str(report), "--page", str(tmp_path / "a.png")])

    assert done.exit_code == 0, done.stderr
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert other.exit_code == 2
    assert f"--page {tmp_path / 'a.html'}" in other.stderr


def test_a_chart_is_for_terminals(report):
    done = CliRunner().invoke(cli, ["analyze", str(report), "--chart", "--json"])

    assert done.exit_code == 2
    assert "--plot roofline.svg" in done.stderr


@pytest.mark.parametrize("name", ["roofline.png", "page.html", "out.xlsx"])
def test_no_text_is_written_under_the_name_of_a_picture(report, tmp_path, name):
    done = CliRunner().invoke(cli, ["analyze", str(report), "-o", str(tmp_path / name)])

    assert done.exit_code == 2
    assert f"cannot write this answer to {tmp_path / name}: it is text" in done.stderr
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("size", ["900", "900x700"])
def test_sizes_are_widths_or_both(report, size):
    output = report.with_suffix(".svg")

    assert run(report, "-o", output, "--size", size, "--view", "units").exit_code == 0
    assert 'width="900"' in output.read_text(encoding="utf-8")
    assert run(report, "-o", output, "-f", "--size", "9x").exit_code == 2


def test_help_begins_with_the_line_of_the_list():
    assert command.help is not None
    assert command.help.startswith(COMMANDS["plot"])


@pytest.mark.slow
@pytest.mark.skipif(not REPORTS, reason="no folder of real reports here")
def test_all_real_reports_at_once_are_drawn(tmp_path):
    output = tmp_path / "all.svg"
    done = run(*REPORTS, "-o", output)

    assert done.exit_code in (0, 3)
    assert "Traceback" not in done.output
    assert output.stat().st_size > 100_000
