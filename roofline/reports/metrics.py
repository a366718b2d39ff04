"""Metrics in SI units, whoever reads them: a report holds base units and no unit beside a value."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from functools import cache

from roofline.foreign import printable
from roofline.model import Note, RuleResult

Scalar = float | int | str
# What is measured in nanoseconds; all else is in units of SI, or counts (bytes, hertz, sectors), or
# is a percentage, which stays one.
_NANOSECONDS = ("gpu__time_", "profiler__pmsampler_interval_time")


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

    def number(self, name: str) -> float | None:
        """See ``Metrics``."""
        value = self._value(name)
        return None if value is None or isinstance(value, str) else si(name, value)

    def text(self, name: str) -> str | None:
        """See ``Metrics``."""
        value = self._value(name)
        return printable(value) if isinstance(value, str) else None

    def instances(self, name: str) -> Mapping[str, float]:
        """See ``Metrics``."""
        found: dict[str, float] = {}
        for key, value in self._rows(name):
            if key is not None and isinstance(value, (int, float)) and math.isfinite(value):
                key = printable(str(key))
                found[key] = found.get(key, 0.0) + value
        return found

    def notes(self) -> tuple[Note, ...]:
        """See ``Metrics``."""
        return ()
