"""Kernel names as the tools spell them: one spelling for all, and what is a collective."""

from __future__ import annotations

import re
from collections.abc import Iterable

from roofline.kernel_names import qualified_name
from roofline.typed import Typed

# Collectives wait for other ranks, so their time is not their own. Searched in the qualified name.
COMMUNICATION = (
    r"nccl|rccl|nvshmem|deep_ep|msccl|multimem|userbuffers|cross_device_reduce"
    r"|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all"
)

_LAMBDA = re.compile(r"\[lambda(\(.*?\)) \(instance (\d+)\)\]")
_CAST = re.compile(r"\([A-Za-z_][\w:]*(?: [A-Za-z_][\w:]*)*\)(?=-?\d)")
_SUFFIX = re.compile(r"\b(\d+)(?:u|l|ul|ll|ull)\b", re.IGNORECASE)
_BOOL = {"true": "1", "false": "0"}
_WORDS = re.compile(r"\b(?:true|false)\b")


def is_communication(name: str, patterns: Iterable[Typed]) -> bool:
    """Whether a kernel moves data between ranks, by its name without template arguments."""
    text = qualified_name(name)
    return any(pattern.search(text) is not None for pattern in patterns)


def comparable(name: str) -> str:
    """A form in which one kernel has one spelling, whoever demangled its name.

    NVIDIA's demangler writes ``f<(int)4, (bool)1, char *>(T1)`` where GNU's writes
    ``f<4, true, char*>(int)``. Parameters and return type are dropped.
    """
    text = name.replace("<unnamed>", "(anonymous namespace)")
    text = _LAMBDA.sub(r"{lambda\1#\2}", text)
    text = _WORDS.sub(lambda m: _BOOL[m[0]], _SUFFIX.sub(r"\1", _CAST.sub("", text)))
    return "".join(_without_parameters(text).split())


def _without_parameters(text: str) -> str:
    """Cut at the first bracket outside of template arguments, and before the name's first word."""
    depth, start, i = 0, 0, 0
    while i < len(text):
        c = text[i]
        if text.startswith("(anonymous namespace)", i):
            i += len("(anonymous namespace)")
            continue
        if c == "<":
            depth += 1
        elif c == ">" and text[i - 1] != "-":
            depth -= 1
        elif depth == 0 and c == "(":
            return text[start:i]
        elif depth == 0 and c == " ":
            start = i + 1
        i += 1
    return text[start:]
