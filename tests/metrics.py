"""Metrics of a launch from plain values, for tests."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from re import Pattern
from typing import Any

from roofline.model import Kind, Launch, Note, RuleResult
from roofline.reports.metrics import nan_notes
from roofline.units import ELAPSED

Value = float | str | None


@dataclass(frozen=True, slots=True)
class PlainMetrics:
    """``values`` are in SI; ``None`` stands for NaN, a mapping for instances."""

    values: Mapping[str, Value] = field(default_factory=dict)
    instanced: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    code: Mapping[str, str] = field(default_factory=dict)
    rules: tuple[RuleResult, ...] = ()
    lines: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    nan: set[str] = field(default_factory=set)
    memo: None = None

    def number(self, name: str) -> float | None:
        value = self.values.get(name)
        if value is None and name in self.values:
            self.nan.add(name)
        return value if isinstance(value, (int, float)) else None

    def text(self, name: str) -> str | None:
        value = self.values.get(name)
        return value if isinstance(value, str) else None

    def has(self, name: str) -> bool:
        return name in self.values

    def any_of(self, names: frozenset[str]) -> bool:
        return not names.isdisjoint(self.values)

    def matching(self, pattern: Pattern[str]) -> Collection[str]:
        return [name for name in self.values if pattern.match(name)]

    def instances(self, name: str) -> Mapping[str, float]:
        return self.instanced.get(name, {})

    def sass(self, address: str) -> str | None:
        return self.code.get(address)

    def machine_code(self, address: str) -> bytes | None:
        return None

    def line(self, address: str) -> tuple[str, int] | None:
        return self.lines.get(address)

    def source(self, file: str) -> str:
        return self.files.get(file, "")

    def names(self) -> Collection[str]:
        return self.values.keys()

    def notes(self) -> tuple[Note, ...]:
        return nan_notes(self.nan)


def launch(values: Mapping[str, Value] | None = None, **other: Any) -> Launch:
    """A launch with the given metrics; ``instanced``, ``code`` and the like go to them too."""
    own = ("instanced", "code", "rules", "lines", "files")
    metrics = PlainMetrics(values or {}, **{key: other.pop(key) for key in own if key in other})
    given: dict[str, Any] = {
        "source": "toy.ncu-rep",
        "range": 0,
        "index": 0,
        "kind": Kind.KERNEL,
        "name": "kernel",
        "demangled": "void kernel(float *)",
        "metrics": metrics,
    }
    return Launch(**(given | other))


def breakdown(throughput: str, members: Mapping[str, float]) -> dict[str, Value]:
    """A throughput with its members, as a report holds them."""
    names = {name + ELAPSED: percent for name, percent in members.items()}
    return {
        throughput + ELAPSED: max(members.values()),
        f"breakdown:{throughput}{ELAPSED}": ",".join(names),
        **names,
    }
