"""Demangled C++ names, read far enough to know which parts of them are template arguments."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

ELLIPSIS = "…"
NAMELESS = "(no name)"

_OPEN, _CLOSE = "<([{", ">)]}"
_TRAILER = re.compile(r"(?:\s*\[(?:clone|with)\b[^\[\]]*\]|\s+const|\s*&)+$")
_CAST = re.compile(r"\((?:[A-Za-z_][\w:]*\s?)+\)(?=-?\d)")
_SUFFIX = re.compile(r"\b(\d+)(?:u|l|ul|ll|ull)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Name:
    """``head<args>tail``; ``args`` is ``None`` where there are no template arguments."""

    head: str
    args: tuple[Name, ...] | None = None
    tail: str = ""

    def text(self, depth: int | None = None) -> str:
        """All of it, or with template arguments of more than ``depth`` levels cut out."""
        if self.args is None:
            return self.head
        if depth == 0 and self.args:
            return f"{self.head}<{ELLIPSIS}>{self.tail}"
        deeper = None if depth is None else depth - 1
        return f"{self.head}<{', '.join(a.text(deeper) for a in self.args)}>{self.tail}"


def parse(signature: str) -> Name:
    """The last part of a function's name: no return type, parameters or namespaces."""
    return _parse(_bare(signature))


def _bare(signature: str) -> str:
    """Without parameters and return type."""
    text = _TRAILER.sub("", signature) or NAMELESS
    if text.endswith(")"):
        opening = _opening(text)
        if opening > 0 and not text[:opening].endswith(("operator", "::")):
            text = text[:opening]
    space = max((i for i, c, depth in _levels(text) if c == " " and depth == 0), default=-1)
    return text[space + 1 :] or text


def _opening(text: str) -> int:
    """The place of the bracket that the last character closes; -1 where there is none."""
    depth = 0
    for i in range(len(text) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(text[i], 0)
        if depth == 0:
            return i
    return -1


def _levels(text: str) -> Iterable[tuple[int, str, int]]:
    """Each character with its place and how deep in brackets it is; brackets count as inside."""
    stack: list[str] = []
    for i, c in enumerate(text):
        comparison = c in "<>" and stack and stack[-1] == "("  # (a > b) in an argument
        arrow = c == ">" and i > 0 and text[i - 1] == "-"
        if c in _OPEN and not comparison:
            stack.append(c)
        yield i, c, len(stack)
        if c in _CLOSE and stack and not comparison and not arrow:
            stack.pop()


def _split(text: str, separator: str) -> list[str]:
    """``text`` cut at each ``separator`` outside of brackets."""
    parts, start = [], 0
    for i, _, depth in _levels(text):
        if depth == 0 and i >= start and text.startswith(separator, i):
            parts.append(text[start:i])
            start = i + len(separator)
    return [*parts, text[start:]]


def _parse(text: str) -> Name:
    pieces = [piece.strip() for piece in _split(text, "::")]
    last = pieces[-1] or text
    begin = next((i for i, c, depth in _levels(last) if c == "<" and depth == 1), -1)
    end = next(
        (i for i, c, depth in _levels(last) if c == ">" and depth == 1 and i > begin),
        -1,
    )
    if begin <= 0 or end < 0:
        return Name(_SUFFIX.sub(r"\1", _CAST.sub("", last)))
    inside = last[begin + 1 : end].strip()
    args = tuple(_parse(arg.strip()) for arg in _split(inside, ",")) if inside else ()
    return Name(last[:begin].strip(), args, last[end + 1 :].strip())
