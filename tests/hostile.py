"""Texts that somebody could put into a file to harm who reads it, each for another reader."""

from __future__ import annotations

# Terminals.
_TERMINAL = (
    "\x1b[31mred", "\x1b]0;title\x07", "\x1b]52;c;cGF5bG9hZA==\x07", "\x1bPq\x1b\\", "\x9b31m",
    "a\x00b", "bell\x07", "back\x08\x08\x08", "line\nfeed", "carriage\rreturn", "tab\tstop",
    "form\x0cfeed", "\x7fdelete", "\x1b[2J\x1b[H", "next\x85line", "line\u2028separator",
)  # fmt: skip
# Readers who are shown another order, or nothing.
_ORDER = (
    "abc\u202etxt.exe", "\u2066isolate\u2069", "\u200fmark", "zero\u200bwidth", "\ufeffbom",
    "tag\U000e0041", "private\ue000", "half\ud83d", "\udcff\udcfe",
)  # fmt: skip
# Markdown and HTML.
_MARKUP = (
    "![x](https://evil.example/x.png)", "[here](https://evil.example)", "<img src=x onerror=a()>",
    "<script>alert(1)</script>", "</details><h1>", "@octocat", "see #12", "GH-12", "a|b|c",
    "`code`", "``", "$\\alpha$ and $x$", "https://evil.example/a", "www.evil.example",
    "# heading", "---", "- item", "1. item", "**bold** _i_ ~~s~~", "&lt;b&gt;", "]]>", "--><b>",
)  # fmt: skip
# Spreadsheets, logs of CI, YAML, shells and formats.
_OTHERS = (
    "=HYPERLINK(\"http://x\")", "+1+cmd|' /C calc'!A0", "@SUM(1)", "::error::x",
    "::stop-commands::t",
    "##[error]x", "##vso[task.setvariable variable=a]b", "--- !!python/object:os.system", "%0A::x",
    "{0.__class__}", "%s%n", "'; rm -rf ~ #", "\\", '"', "'", " ",
)  # fmt: skip
HOSTILE = (*_TERMINAL, *_ORDER, *_MARKUP, *_OTHERS)
