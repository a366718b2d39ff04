"""Text of others (reports, timelines, other files, programs), made harmless where it enters."""

from __future__ import annotations

import re
from typing import Any

# What a log of GitHub (::error::) or of Azure (##[error], ##vso[...]) takes for a command.
_COMMAND = re.compile(r"^[ \t]*:(?=:[\w-]+[^:\n]*::)|#(?=#(?:\[|vso\[))", re.MULTILINE)
# What steers a terminal, but for line ends and colours; bidirectional marks; halves of pairs.
_STEERING = re.compile(
    r"\x1b(?!\[[0-9;]*m)|[\x00-\x09\x0b-\x1a\x1c-\x1f\x7f-\x9f]"
    r"|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def printable(text: str) -> str:
    """``text`` on one line, without characters that steer a terminal or turn what follows.

    Control characters, the first letter of an escape sequence, bidirectional marks and halves of
    surrogate pairs become "?", other blanks a blank.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in text)


def cleaned(value: Any) -> Any:
    """A document of dictionaries and lists with every text in it printable."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {cleaned(key): cleaned(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [cleaned(inner) for inner in value]
    return value


def shown(text: str) -> str:
    """Lines for a terminal or a log, with colours, and without what else would steer one."""
    return _COMMAND.sub(lambda found: f"{found[0]} ", _STEERING.sub("?", text))
