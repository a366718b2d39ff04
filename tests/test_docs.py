from __future__ import annotations

import pytest

from scripts.refresh_docs import BLOCK, nvidia, pages, refreshed

CHECKED = [page for page in pages() if BLOCK.search(page.read_text("utf-8"))]


@pytest.mark.parametrize("page", CHECKED, ids=lambda page: page.name)
def test_what_the_documentation_shows_is_what_is_printed(page):
    text = page.read_text("utf-8")

    assert refreshed(text) == text, "run: python scripts/refresh_docs.py"


@pytest.mark.skipif(not nvidia(), reason="ROOFLINE_TEST_EXAMPLES names no folder")
def test_the_readme_shows_what_is_printed_of_nvidias_examples():
    kinds = [block[1] for page in CHECKED for block in BLOCK.finditer(page.read_text("utf-8"))]

    assert kinds.count("nvidia") >= 2  # and the test above ran them


def test_there_is_something_to_check():
    assert "analyze.md" in {page.name for page in CHECKED}
