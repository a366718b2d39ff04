"""Kernel names: the part of a C++ signature that says which function it is."""

from __future__ import annotations

import re

_ANONYMOUS = ("(anonymous namespace)", "<unnamed>", "{anonymous}")
_MARK = "anonymous_"
_OPERATOR = re.compile(r"\boperator\s*(\(\)|<<|>>|<=>|<=|>=|->|<|>)")


def printable(text: str) -> str:
    """``text`` on one line, without characters that steer a terminal."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


def qualified_name(name: str) -> str:
    """``name`` without template arguments, parameters and return type, namespaces kept."""
    text = name
    for spelling in _ANONYMOUS:
        text = text.replace(spelling, _MARK)
    text = _OPERATOR.sub("operator_", text)
    kept, depth = [], 0
    for i, c in enumerate(text):
        if c == "<":
            depth += 1
        elif c == ">" and depth and text[i - 1] != "-":
            depth -= 1
        elif depth == 0:
            if c == "(":
                break
            kept.append(c)
    return "".join(kept).strip().rpartition(" ")[2] or name


def base_name(name: str) -> str:
    """The bare function name, which ncu calls "function": ``void a::f<int>(int)`` gives ``f``."""
    return qualified_name(name).rpartition("::")[2]
