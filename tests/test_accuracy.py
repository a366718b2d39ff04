"""What docs/accuracy.md is made of agrees with itself."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
KNOWN = tomllib.loads((ROOT / "scripts" / "accuracy.toml").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8")


def section(title: str) -> list[str]:
    """The rows of the table below a heading."""
    body = PAGE.split(f"## {title}")[1].split("\n## ")[0]
    return [line for line in body.splitlines() if line.startswith("| ")][2:]


def test_every_change_is_argued_and_every_argument_used():
    assert KNOWN["why"].keys() <= KNOWN["before"].keys()
    assert set(KNOWN["why"].values()) == KNOWN["reasons"].keys()
    assert len(section("What has changed")) <= len(KNOWN["why"])


def test_the_page_has_every_kernel_and_every_pair():
    assert len(section("Every kernel")) == len(KNOWN["before"])
    pairs = {(pair["before"], pair["after"]) for pair in KNOWN["pair"]}
    assert len(section("Bounds, and what the author's later version gained")) == len(pairs)
    assert {key for pair in pairs for key in pair} <= KNOWN["before"].keys()
