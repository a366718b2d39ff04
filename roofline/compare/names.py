"""Kernel names across builds: what stays when templates, specialisations and numbers change."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher

from roofline.kernel_names import qualified_name
from roofline.typed import Typed

# Endings that compilers add and that differ between builds of the same kernel.
_ENDINGS = (
    re.compile(r"\[abi:[^\]]*\]"),  # Numba's encoded arguments
    re.compile(r"_(?:\d+(?:de?|c))+$"),  # Triton: argument specialisations, _0d1d2de3c
    re.compile(r"[_.](?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{8,}$"),  # a hash
)
_NUMBERED = re.compile(r"^(triton_(?:poi|per|red|tem|for|mm)_?\w*?|cudapy::.*?)_\d+$")
# Words that say nothing about which kernel it is.
_EMPTY_WORDS = {"kernel", "kernels", "cuda", "gpu", "device", "global", "void", "fused", "triton"}
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def base_name(name: str, demangled: str) -> str:
    """The name that two builds of one kernel share.

    Template arguments, parameters, Triton's specialisation suffix, Inductor's and Numba's serial
    numbers and hashes are dropped; the namespace stays.
    """
    full = qualified_name(demangled or name)
    for ending in _ENDINGS:
        full = ending.sub("", full)
    numbered = _NUMBERED.match(full)
    return numbered.group(1) if numbered else full


def words_of(name: str) -> list[str]:
    """The telling words of a name, lower case: "silu_kernel_v2" gives silu, v, 2."""
    return [w for w in (x.lower() for x in _WORDS.findall(name)) if w not in _EMPTY_WORDS]


def similarity(one: str, other: str) -> float:
    """How alike two base names are, 0 to 1, by their telling words; the same both ways round."""
    first, second = sorted((" ".join(words_of(one)), " ".join(words_of(other))))
    if not first or not second:
        return 0.0
    return SequenceMatcher(None, first, second, autojunk=False).ratio()


def select(pattern: str, names: Iterable[tuple[str, str]]) -> tuple[int, ...]:
    """Positions of the (name, demangled) that ``pattern`` means.

    An exact name wins over everything; else the pattern is a regular expression, searched in both.

    Raises:
        UsageError: ``pattern`` is neither a name nor a valid regular expression, or takes too
            long to match.

    """
    listed = list(names)
    exact = tuple(i for i, both in enumerate(listed) if pattern in both)
    if exact:
        return exact
    wanted = Typed(pattern)
    return tuple(i for i, both in enumerate(listed) if wanted.in_any(*both))
