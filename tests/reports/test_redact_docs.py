"""What the page on redacting shows is what the command says."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from roofline.cli import cli

PAGE = (Path(__file__).parents[2] / "docs" / "redact.md").read_text(encoding="utf-8")


def test_help_has_the_sentence_of_the_list_and_examples():
    done = CliRunner().invoke(cli, ["redact", "--help"])
    assert done.exit_code == 0
    assert "Copy a report without personal data." in done.stdout
    assert "roofline redact profile.ncu-rep -o share.ncu-rep" in done.stdout
    assert "--keep-sass" in PAGE


def test_the_page_shows_the_closing_sentence(tmp_path: Path):
    sample = Path(__file__).parents[2] / "sample_reports" / "h100_copy.ncu-rep"
    done = CliRunner().invoke(cli, ["redact", str(sample), "-o", str(tmp_path / "s.ncu-rep")])
    lines = done.stderr.splitlines()
    assert lines[-1] in PAGE
    assert all(line in PAGE for line in lines[1:])
