"""What mkdocs needs to make a site of pages that are written to be read in the repository.

The site has the pages of docs/ at its root and the README as its first page. Whatever else of the
repository a page links to is put where its path says.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
LINK = re.compile(r'(\]\(|(?:src|srcset|href)=")(?!https?://)([^)"#\s]+)')
FENCE = re.compile(r"^```console (checked|nvidia)$", re.MULTILINE)


def _place(page: str) -> Path:
    """The file of the repository that is the page of this name in the site."""
    if page == "index.md":
        return ROOT / "README.md"
    inside = ROOT / "docs" / page
    return inside if inside.exists() else ROOT / page


def _page(file: Path) -> str:
    """The name in the site of a file of the repository."""
    if file == ROOT / "README.md":
        return "index.md"
    docs = ROOT / "docs"
    return file.relative_to(docs if file.is_relative_to(docs) else ROOT).as_posix()


def on_files(files: Files, config: Any) -> Files:
    """Add the README, and what pages link to outside of docs/."""
    waiting = ["index.md", *(file.src_uri for file in files.documentation_pages())]
    while waiting:
        page = waiting.pop()
        path = _place(page)
        if page not in files.src_uris:
            files.append(File.generated(config, page, abs_src_path=str(path)))
        if path.suffix == ".md":
            linked = (
                (path.parent / to).resolve() for _, to in LINK.findall(path.read_text("utf-8"))
            )
            waiting += {_page(to) for to in linked if to.is_file()} - files.src_uris.keys()
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Point links to where the site has what they mean."""
    here = _place(page.file.src_uri)
    up = "../" * page.file.src_uri.count("/")

    def pointed(link: re.Match[str]) -> str:
        to = (here.parent / link[2]).resolve()
        return f"{link[1]}{up}{_page(to)}" if to.is_file() else link[0]

    return FENCE.sub("```console", LINK.sub(pointed, markdown))
