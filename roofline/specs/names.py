"""Device names as drivers print them and as people type them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

# "NVIDIA A100-PCIE-40GB MIG 1g.5gb", "..., MIG 1g.5gb", "NVIDIA-H100-NVL-MIG-1g.12gb".
_MIG = re.compile(r"^(?P<base>.+?),?[\s-]+MIG[\s-]+(?:\d+c\.)?\d+g\.(?P<memory>\d+)gb\b.*$", re.I)
_NEAR = 0.6  # of SequenceMatcher's ratio: one or two letters off in a short name
_BRANDS = re.compile(r"\b(nvidia|geforce|tesla|quadro|gpu)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """A MIG instance by its name: a slice of ``base`` with nominal ``memory_gb``."""

    base: str
    memory_gb: int


def exact(name: str) -> str:
    """The form in which two names of a device are equal.

    Drivers before R470 omit "NVIDIA ", and some tools print dashes for spaces. Case is kept:
    "RTX 2070 SUPER" is a card, "RTX 2070 Super" a laptop.
    """
    spaced = " ".join(re.split(r"[\s-]+", name.strip()))
    return spaced.removeprefix("NVIDIA ")


def loose(text: str) -> str:
    """What is left of a name that a person typed: no brand, no case, no punctuation."""
    return " ".join(_BRANDS.sub(" ", re.sub(r"[\s_-]+", " ", text.casefold())).split())


def squeezed(text: str) -> str:
    """``loose`` without blanks: "rtx4090" is what some people type."""
    return loose(text).replace(" ", "")


def pattern(name: str) -> re.Pattern[str]:
    """Finds a name in a text in any spelling that ``exact`` takes for the same."""
    return re.compile(r"[\s-]+".join(re.escape(word) for word in exact(name).split(" ")))


def base_name(name: str) -> str:
    """The name of the whole GPU, where a name is that of a MIG instance."""
    part = mig_slice(name)
    return name if part is None else part.base


def mig_slice(name: str) -> Slice | None:
    """The MIG instance that a name stands for, ``None`` for a whole GPU."""
    match = _MIG.match(name.strip())
    if match is None:
        return None
    return Slice(base=match["base"], memory_gb=int(match["memory"]))


def near(text: str, names: Iterable[str], *, limit: int = 5) -> tuple[str, ...]:
    """Names that ``text`` may have been meant for, best first."""
    from difflib import SequenceMatcher  # only needed once something is already wrong

    typed, wanted = text.casefold(), loose(text)
    if not wanted:
        return ()
    scored = []
    for name in names:
        have = loose(name)
        score = max(
            SequenceMatcher(None, wanted, have).ratio(),
            SequenceMatcher(None, typed, name.casefold()).ratio(),
        )
        if set(wanted.split()) <= set(have.split()) or have.startswith(wanted):
            score += 1
        if score >= _NEAR:
            scored.append((-score, len(have), name))
    return tuple(dict.fromkeys(name for _, _, name in sorted(scored)))[:limit]
