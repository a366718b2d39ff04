"""Metrics in SI units, whoever reads them: a report holds base units and no unit beside a value."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from re import Pattern
from typing import Any

from roofline.foreign import printable
from roofline.model import Note, RuleResult

Scalar = float | int | str
# What is measured in nanoseconds; all else is in units of SI, or counts (bytes, hertz, sectors), or
# is a percentage, which stays one.
_NANOSECONDS = ("gpu__time_", "profiler__pmsampler_interval_time")
# Not counted by hardware, or without a link to count on: no number there is no failure.
_MAY_BE_NAN = ("launch__", "device__", "profiler__", "nv", "pcie", "c2c")


def renamed(names: Sequence[str]) -> Sequence[str]:
    """The names of a report as ncu has spelled them since 2020; one that is there stays."""
    known, tables = frozenset(names), _renamed()
    if known.isdisjoint(tables["whole"]) and not any(name.endswith("__sol_pct") for name in names):
        return names
    return [name if (new := _new_name(name, **tables)) in known else new for name in names]


@cache
def _renamed() -> dict[str, dict[str, str]]:
    return tomllib.loads(Path(__file__).with_name("renamed.toml").read_text("utf-8"))


def _new_name(name: str, whole: dict[str, str], first: dict[str, str]) -> str:
    if name in whole:
        return whole[name]
    if name.endswith("__sol_pct"):  # dram, fbpa, ltc, lts
        return name.removesuffix("__sol_pct") + "__throughput.avg.pct_of_peak_sustained_elapsed"
    forms = (form.format(name.removeprefix(k)) for k, form in first.items() if name.startswith(k))
    return next(forms, name)


def si(name: str, value: float) -> float | None:
    """The value of a metric in SI units; ``None`` for NaN and infinity, which measure nothing."""
    if not math.isfinite(value):
        return None
    # Dividing by a power of ten rounds once; multiplying by its inverse rounds twice.
    return value / 1e9 if is_time(name) else float(value)


@cache
def is_time(name: str) -> bool:
    """Whether a metric is stored in nanoseconds."""
    return name.startswith(_NANOSECONDS) and ".pct_of_peak" not in name


# "@section:LaunchStats:Launch Statistics@", "@url:fused:https://...@": links, of which the middle
# part, or the second of a section, is the text.
_LINK = re.compile(r"@(?:section:[^:@]*:([^@]*)|(?:url|source):([^:@]*):[^@]*)@")
_WHOLE = 2


def rule_result(
    identifier: str, name: str, title: str, text: str, kind: int | None, percent: float | None
) -> RuleResult | None:
    """What a rule of a name says, without its links; ``None`` where it says nothing."""
    plain = _LINK.sub(lambda found: found[1] or found[2] or "", text).strip()
    if not title and not plain:
        return None
    return RuleResult(
        identifier=identifier,
        title=title or name,
        text=plain,
        gain_percent=percent,
        whole=kind == _WHOLE,
    )


class ByName:
    """The part of ``Metrics`` that follows from single values and instances."""

    def _value(self, name: str) -> Scalar | None:
        """The value as stored; ``None`` where the result has none of that name."""
        raise NotImplementedError

    def _rows(self, name: str) -> Iterable[tuple[Scalar | None, Scalar | None]]:
        """Instances as stored, with their correlation ids."""
        raise NotImplementedError

    def __init__(self) -> None:
        self.memo: dict[int, Any] | None = None
        self._nan: dict[str, None] = {}
        self._instances: dict[str, dict[str, float]] = {}

    def number(self, name: str) -> float | None:
        """The value in SI units or percent; ``None`` where there is no such number."""
        value = self._value(name)
        if value is None or isinstance(value, str):
            return None
        return self._si(name, value)

    def _si(self, name: str, value: float) -> float | None:
        """The value in SI units; a counter that was asked for and is NaN is remembered."""
        found = si(name, value)
        if found is None and not name.startswith(_MAY_BE_NAN):
            self._nan[name] = None
        return found

    def text(self, name: str) -> str | None:
        """The value of a string; ``None`` where there is none of that name."""
        value = self._value(name)
        return printable(value) if isinstance(value, str) else None

    def instances(self, name: str) -> Mapping[str, float]:
        """Values by correlation id (an opcode, an address); empty where there are none."""
        found = self._instances.get(name)
        if found is None:  # asked for by several quantities
            found = self._instances[name] = {}
            for key, value in self._rows(name):
                if key is not None and isinstance(value, (int, float)) and math.isfinite(value):
                    key = printable(str(key))
                    found[key] = found.get(key, 0.0) + value
        return found

    def names(self) -> Collection[str]:
        """All names of metrics, of which ``number`` gives ``None`` for any other."""
        raise NotImplementedError

    def matching(self, pattern: Pattern[str]) -> Collection[str]:
        """See ``Metrics``."""
        return sorted(filter(pattern.match, self.names()))

    def machine_code(self, address: str) -> bytes | None:
        """See ``Metrics``."""
        return None

    def notes(self) -> tuple[Note, ...]:
        """See ``Metrics``."""
        return nan_notes(self._nan)


def nan_notes(names: Iterable[str]) -> tuple[Note, ...]:
    """The note on counters without a number, if there are any."""
    found = sorted(names)
    failed = any(name.startswith("gpu__time_duration") for name in found)
    facts = {"names": found, "failed": failed}
    return (Note(code="counters_nan", facts=facts),) if found else ()
