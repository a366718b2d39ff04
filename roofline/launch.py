"""One result of a report, still in ncu's words: what the reader gives and ``measure`` takes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from roofline.model import Kind, Note


class Metrics(Protocol):
    """The metrics of a launch by name, numbers in SI units (percentages stay percentages)."""

    def number(self, name: str) -> float | None:
        """The value, or ``None`` where it is absent, NaN, infinite, or not a number."""

    def text(self, name: str) -> str | None:
        """The value of a string metric, or ``None``."""

    def has(self, name: str) -> bool:
        """Whether the report holds ``name`` at all, be its value NaN."""

    def any_of(self, names: frozenset[str]) -> bool:
        """Whether the report holds any of ``names``: one question instead of many."""

    def instances(self, name: str) -> Mapping[str, float]:
        """Instance values by correlation id (an opcode, an address); empty where there are none."""

    def sass(self, address: str) -> str | None:
        """The instruction at an address of ``instances``, where the report holds the code."""

    @property
    def rules(self) -> Mapping[str, str]:
        """NVIDIA's own stored verdicts, rule identifier -> title."""

    def names(self) -> Collection[str]:
        """All metric names."""

    def notes(self) -> tuple[Note, ...]:
        """What was found wrong while reading so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A kernel launch, range or graph of a report.

    ``source`` is the file as the user named it, ``origin`` what the file says of itself where it
    was computed and not captured.
    """

    source: str
    range: int
    index: int
    kind: Kind
    name: str
    demangled: str
    metrics: Metrics
    nvtx: tuple[str, ...] = ()
    process: int | None = None
    ncu_version: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    origin: str | None = None
