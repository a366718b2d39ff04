"""The metrics of one result as ncu_report gives it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache, cached_property
from typing import Any

from roofline.counters.si import exponent, scaled
from roofline.model import Note

# What an empty unit stands for, in metrics whose unit some versions of ncu leave out.
_IMPLIED = {"gpu__time_duration": "ns"}
# Their unit is in their names; asking for it costs as much as the value.
_PERCENTAGES = (".pct_of_peak_sustained_elapsed", ".pct_of_peak_sustained_active", ".pct")


@cache
def _numeric_kinds() -> frozenset[int]:
    from ncu_report import IMetric

    return frozenset(
        (
            IMetric.ValueKind_FLOAT,
            IMetric.ValueKind_DOUBLE,
            IMetric.ValueKind_UINT32,
            IMetric.ValueKind_UINT64,
        )
    )


def _unit(name: str, metric: Any) -> str:
    if name.endswith(_PERCENTAGES):
        return "%"
    unit: str = metric.unit() or _IMPLIED.get(name.partition(".")[0], "")
    return unit


class ActionMetrics:
    """The metrics of one result, read when asked for and converted to SI.

    Args:
        action: the result as ncu_report gives it.
        listed: the file's table of metric names. Most names that are asked for are in no result
            of a file, and asking a set is cheaper than asking the action.
        powers: the powers of ten to SI that results of the file have told so far, by metric name
            (``None``: a unit that is not known); a name has one unit throughout a file.

    """

    def __init__(self, action: Any, listed: frozenset[str], powers: dict[str, int | None]) -> None:
        self._action, self._find = action, action.metric_by_name
        self._listed, self._powers = listed, powers
        self._unknown_units: dict[str, str] = {}

    def number(self, name: str) -> float | None:
        """See ``launch.Metrics``."""
        metric = self._find(name) if name in self._listed else None
        if metric is None:
            return None
        value: float = metric.as_double()
        if not math.isfinite(value):
            return None
        # What is no number answers 0 too.
        if value == 0.0 and metric.kind() not in _numeric_kinds():
            return None
        try:
            power = self._powers[name]
        except KeyError:
            power = self._powers[name] = exponent(_unit(name, metric))
        if power is None:
            self._unknown_units[_unit(name, metric)] = name
            return None
        return scaled(value, power) if power else value

    def text(self, name: str) -> str | None:
        """See ``launch.Metrics``."""
        metric = self._find(name) if name in self._listed else None
        value = None if metric is None else metric.value()
        return value if isinstance(value, str) else None

    def has(self, name: str) -> bool:
        """See ``launch.Metrics``."""
        return name in self._listed and self._find(name) is not None

    def any_of(self, names: frozenset[str]) -> bool:
        """See ``launch.Metrics``."""
        return any(self._find(name) is not None for name in names & self._listed)

    def instances(self, name: str) -> Mapping[str, float]:
        """See ``launch.Metrics``."""
        metric = self._find(name) if name in self._listed else None
        if metric is None or not metric.has_correlation_ids():
            return {}
        identities = metric.correlation_ids()
        found: dict[str, float] = {}
        for i in range(metric.num_instances()):
            value = metric.as_double(i)
            if math.isfinite(value):
                key = str(identities.value(i))
                found[key] = found.get(key, 0.0) + value
        return found

    def sass(self, address: str) -> str | None:
        """See ``launch.Metrics``."""
        line = self._action.sass_by_pc(int(address)) if address.isdigit() else None
        return line or None

    def names(self) -> frozenset[str]:
        """See ``launch.Metrics``."""
        return frozenset(self._action.metric_names())

    @cached_property
    def rules(self) -> Mapping[str, str]:
        """NVIDIA's own stored verdicts, rule identifier -> title; empty titles are errors."""
        found = {}
        for rule in self._action.rule_results_as_dicts():
            title = rule.get("rule_message", {}).get("title")
            if title:
                found[rule["rule_identifier"]] = title
        return found

    def notes(self) -> tuple[Note, ...]:
        """See ``launch.Metrics``."""
        return tuple(
            Note(code="unknown_unit", text=f"{name} is in {unit!r}, which is not known; left out")
            for unit, name in self._unknown_units.items()
        )
