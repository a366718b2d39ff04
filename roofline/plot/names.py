"""Long C++ kernel names made short enough for a picture, without losing which is which."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

ELLIPSIS = "…"
_RETURN_TYPE = re.compile(r"^(?:(?:static|void|__global__|int|float|double)\s+)+")
_ANONYMOUS = re.compile(r"(?:\(anonymous namespace\)|<unnamed>|\{anonymous\}|_GLOBAL__N_\w+)::")
_NAMESPACE = re.compile(r"\b[A-Za-z_]\w*::(?=[A-Za-z_~])")
_CAST = re.compile(r"\((?:unsigned |signed )?(?:int|long|char|short|bool)\)(?=-?\w)")


def shorten(name: str, limit: int) -> str:
    """``name`` in at most ``limit`` characters.

    Given up in this order, each only where it is needed: return type and parameters, namespaces,
    nested template arguments, the last template arguments, the middle.
    """
    text = _printable(name)
    for step in (_signature, _namespaces, _nested_arguments):
        text = step(text)
        if len(text) <= limit:
            return text
    bare = elide_arguments(text, 0)
    if len(bare) > limit:
        return middle(bare, limit)
    if "," not in text:  # one long argument: both of its ends tell something
        return middle(text, limit)
    return text[: limit - 2].rstrip(" ,<(") + f"{ELLIPSIS}>"


def middle(text: str, limit: int) -> str:
    """``text`` with its middle replaced by an ellipsis, in at most ``limit`` characters."""
    if len(text) <= limit:
        return text
    keep = max(limit - len(ELLIPSIS), 1)
    head = (keep + 1) // 2
    return text[:head] + ELLIPSIS + (text[-(keep - head) :] if keep > head else "")


def elide_arguments(text: str, depth: int) -> str:
    """Replace template arguments nested deeper than ``depth`` by an ellipsis.

    Text whose angle brackets do not balance (an ``operator<``) is given back as it is.
    """
    out: list[str] = []
    level = 0
    for char in text:
        if char == "<":
            if level == depth:
                out.append(f"<{ELLIPSIS}>")
            elif level < depth:
                out.append(char)
            level += 1
        elif char == ">":
            level -= 1
            if level < 0:
                return text
            if level < depth:
                out.append(char)
        elif level <= depth:
            out.append(char)
    return "".join(out) if level == 0 else text


def tell_apart(names: Sequence[str], details: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Append to equal names the first of their ``details`` that makes them differ.

    Where none does, all details are appended, and last the position.
    """
    result = list(names)
    for column in range(max((len(d) for d in details), default=0)):
        twice = {name for name, count in Counter(result).items() if count > 1}
        for position, name in enumerate(result):
            if name in twice and column < len(details[position]) and details[position][column]:
                result[position] = f"{name} {details[position][column]}"
    twice = {name for name, count in Counter(result).items() if count > 1}
    return tuple(f"{n} #{i + 1}" if n in twice else n for i, n in enumerate(result))


def _printable(name: str) -> str:
    return "".join(c if c.isprintable() else " " for c in name).strip() or "(no name)"


def _signature(text: str) -> str:
    """Without return type, parameter list and anonymous namespaces."""
    text = _CAST.sub("", _ANONYMOUS.sub("", text))
    text = _RETURN_TYPE.sub("", text)
    if not text.endswith(")"):
        return text
    level = 0
    for position in range(len(text) - 1, -1, -1):
        level += {")": 1, "(": -1}.get(text[position], 0)
        if level == 0:
            head = text[:position]
            return head if head and not head.endswith(("operator", " ")) else text
    return text


def _namespaces(text: str) -> str:
    return _NAMESPACE.sub("", text)


def _nested_arguments(text: str) -> str:
    return elide_arguments(text, 1)
