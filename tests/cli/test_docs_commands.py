"""Commands in the documentation that cannot be run without a GPU still parse."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from roofline.cli.profile import command as profile
from scripts.refresh_docs import pages

FENCE = re.compile(r"^```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"roofline profile (?!\[)[^\n#]+")


def commands(page: Path) -> list[str]:
    """``roofline profile`` lines in the fenced blocks of a page, but for the synopsis."""
    blocks = FENCE.findall(page.read_text("utf-8"))
    return [found for block in blocks for found in COMMAND.findall(block)]


FOUND = [(page.name, line) for page in pages() for line in commands(page)]


@pytest.mark.parametrize(("page", "line"), FOUND)
def test_profile_commands_parse(page: str, line: str) -> None:
    with profile.make_context("profile", shlex.split(line)[2:]) as context:
        assert context.params["program"], page


def test_help_examples_parse() -> None:
    assert profile.help is not None
    for line in COMMAND.findall(profile.help):
        with profile.make_context("profile", shlex.split(line)[2:]) as context:
            assert context.params["program"]


def test_what_is_wrong_is_found() -> None:
    with pytest.raises(click.UsageError):
        profile.make_context("profile", ["--kernel-regx", "a", "x"])


def test_there_is_something_to_check() -> None:
    assert {"ci.md", "profile.md"} <= {page for page, _ in FOUND}
