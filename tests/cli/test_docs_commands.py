"""Commands in the documentation still parse, also those that cannot run without a GPU."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from scripts.refresh_docs import pages
from tests.cli.test_options import ALL

FENCE = re.compile(r"^```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"roofline ((?:specs )?[a-z]+) ([^\n]+)")
END = re.compile(r"\s[|>#].*|`.*")  # a pipe, a redirection, a comment


def commands(page: Path) -> list[tuple[str, str]]:
    """The command and the words of each ``roofline`` line in the fenced blocks of a page."""
    blocks = FENCE.findall(page.read_text("utf-8"))
    found = [command for block in blocks for command in COMMAND.findall(block)]
    lines = [(name, END.sub("", words)) for name, words in found if name in ALL]
    return [(name, words) for name, words in lines if "..." not in words and "[OPT" not in words]


FOUND = [(page.name, *command) for page in pages() for command in commands(page)]


@pytest.mark.parametrize(("page", "name", "words"), FOUND)
def test_commands_parse(page: str, name: str, words: str) -> None:
    with ALL[name].make_context(name, shlex.split(words)) as context:
        assert context.params, page


def test_there_is_something_to_check() -> None:
    assert {"profile", "analyze", "select", "compare"} <= {name for _, name, _ in FOUND}
    assert {"ci.md", "profile.md", "README.md"} <= {page for page, _, _ in FOUND}
