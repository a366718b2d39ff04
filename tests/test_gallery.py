from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts.make_gallery import GALLERY, IMAGES, PAGE, ROOT, Shown, draw, draw_nvidia, page
from scripts.refresh_docs import nvidia


def written(path: Path) -> list[str]:
    """All text of an SVG."""
    return re.findall(r"<text [^>]*>([^<]*)</text>", path.read_text(encoding="utf-8"))


def test_the_page_is_that_of_the_script():
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python scripts/make_gallery.py"


@pytest.mark.parametrize("shown", GALLERY, ids=lambda shown: shown.file)
def test_a_picture_says_what_would_be_drawn_now(shown: Shown, tmp_path: Path):
    now = written(draw(shown, tmp_path))

    assert len(now) > 20
    assert written(IMAGES / shown.file) == now, "run: python scripts/make_gallery.py"


@pytest.mark.skipif(not nvidia(), reason="ROOFLINE_TEST_EXAMPLES names no folder")
def test_a_picture_of_nvidias_examples_says_what_would_be_drawn_now(tmp_path: Path):
    for drawn in draw_nvidia(nvidia() or Path(), tmp_path):
        assert written(IMAGES / drawn.name) == written(drawn), "run: python scripts/make_gallery.py"


def test_no_picture_of_the_documentation_is_left_over():
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    named = {m for p in pages for m in re.findall(r"images/([\w.-]+)", p.read_text("utf-8"))}

    assert {path.name for path in IMAGES.iterdir()} == named
