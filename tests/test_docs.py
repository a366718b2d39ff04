from __future__ import annotations

import pytest

from scripts.refresh_docs import BLOCK, pages, refreshed

CHECKED = [page for page in pages() if BLOCK.search(page.read_text("utf-8"))]


@pytest.mark.parametrize("page", CHECKED, ids=lambda page: page.name)
def test_what_the_documentation_shows_is_what_is_printed(page):
    text = page.read_text("utf-8")

    assert refreshed(text) == text, "run: python scripts/refresh_docs.py"


def test_there_is_something_to_check():
    assert "analyze.md" in {page.name for page in CHECKED}
