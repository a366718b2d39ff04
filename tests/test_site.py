"""The documentation as a site: it can be made, and none of its links is dead."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[1]
made_by_mkdocs = pytest.mark.skipif(
    not find_spec("material"), reason="mkdocs-material is not installed"
)


def test_every_page_is_in_the_navigation() -> None:
    nav = (ROOT / "mkdocs.yml").read_text("utf-8")
    listed = re.findall(r": ([\w./-]+\.md)$", nav, re.MULTILINE)
    pages = {page.name for page in (ROOT / "docs").glob("*.md")}

    assert pages <= set(listed)
    assert len(listed) == len(set(listed))


@made_by_mkdocs
@pytest.mark.slow
def test_the_site_is_made_without_a_warning(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    env = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(argv, cwd=ROOT, env=env, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    made = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")}
    assert {f"{page.stem}.html" for page in (ROOT / "docs").glob("*.md")} <= made
    assert {"index.html", "examples/ci/post.sh", "roofline/schemas/analysis-1.schema.json"} <= made
    first = (tmp_path / "index.html").read_text("utf-8")
    assert "console checked" not in first
    assert "console nvidia" not in first


@made_by_mkdocs
@pytest.mark.parametrize(
    ("page", "link", "there"),
    [
        ("index.md", "[a](docs/ci.md#conditions)", "[a](ci.md#conditions)"),
        ("index.md", 'srcset="docs/images/step.svg"', 'srcset="images/step.svg"'),
        ("ci.md", "[a](../examples/ci/post.sh)", "[a](examples/ci/post.sh)"),
        ("benchmarks/README.md", "[a](../docs/select.md)", "[a](../select.md)"),
        ("ci.md", "[a](nowhere.md)", "[a](nowhere.md)"),  # which mkdocs then refuses
        ("ci.md", "[a](https://git-scm.com)", "[a](https://git-scm.com)"),
    ],
)
def test_a_link_leads_to_the_same_page_as_in_the_repository(page, link, there):
    from scripts.site_pages import on_page_markdown

    assert on_page_markdown(link, SimpleNamespace(file=SimpleNamespace(src_uri=page))) == there
