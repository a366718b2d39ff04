"""Metrics in SI units, whoever reads them: a report holds base units and no unit beside a value."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from re import Pattern

from roofline.foreign import printable
from roofline.model import Note, RuleResult

Scalar = float | int | str
# What is measured in nanoseconds; all else is in units of SI, or counts (bytes, hertz, sectors), or
# is a percentage, which stays one.
_NANOSECONDS = ("gpu__time_", "profiler__pmsampler_interval_time")
# Not counted by hardware, or without a link to count on: no number there is no failure.
_MAY_BE_NAN = ("launch__", "device__", "profiler__", "nv", "pcie", "c2c")
# Names of the first versions of ncu (to 2019) -> those of today, by their exact or first part.
_ELAPSED, _ACTIVE = ".avg.pct_of_peak_sustained_elapsed", ".avg.pct_of_peak_sustained_active"
_RENAMED = {
    "gpu__time_duration": "gpu__time_duration.sum",
    "dram__read_bytes": "dram__bytes_read.sum",
    "dram__write_bytes": "dram__bytes_write.sum",
    "dram__bytes_per_sec": "dram__bytes.sum.per_second",
    "dram__read_pct": "dram__bytes_read.sum.pct_of_peak_sustained_elapsed",
    "dram__write_pct": "dram__bytes_write.sum.pct_of_peak_sustained_elapsed",
    "dram__frequency": "dram__cycles_elapsed.avg.per_second",
    "gpc__frequency": "gpc__cycles_elapsed.avg.per_second",
    "gpc__elapsed_cycles_max": "gpc__cycles_elapsed.max",
    "sm__elapsed_cycles_avg": "sm__cycles_elapsed.avg",
    "sm__active_warps_avg_per_active_cycle_pct": f"sm__warps_active{_ACTIVE}",
    "smsp__issue_active_per_active_cycle_pct": f"smsp__issue_active{_ACTIVE}",
    "sm__sol_pct": f"sm__throughput{_ELAPSED}",
    "gpu__compute_memory_sol_pct": f"gpu__compute_memory_throughput{_ELAPSED}",
    "gpu__dram_sol_pct": f"gpu__dram_throughput{_ELAPSED}",
    "l1tex__sol_pct": f"l1tex__throughput{_ELAPSED}",
    "tex__sol_pct": f"l1tex__throughput{_ELAPSED}",
}
_RENAMED_FIRST = (
    (
        "smsp__warp_cycles_per_issue_stall_",
        "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio",
    ),
    ("smsp__pcsamp_warp_stall_", "smsp__pcsamp_warps_issue_stalled_{}"),
)


def renamed(names: list[str]) -> list[str]:
    """The names of a report as ncu has spelled them since 2020; one that is there stays."""
    known = frozenset(names)
    if known.isdisjoint(_RENAMED) and not any(name.endswith("__sol_pct") for name in names):
        return names
    return [name if (new := _new_name(name)) in known else new for name in names]


def _new_name(name: str) -> str:
    if name in _RENAMED:
        return _RENAMED[name]
    if name.endswith("__sol_pct"):  # dram, fbpa, ltc, lts
        return name.removesuffix("__sol_pct") + f"__throughput{_ELAPSED}"
    for first, form in _RENAMED_FIRST:
        if name.startswith(first):
            return form.format(name.removeprefix(first))
    return name


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
        self._nan: dict[str, None] = {}
        self._instances: dict[str, dict[str, float]] = {}

    def number(self, name: str) -> float | None:
        """See ``Metrics``."""
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
        """See ``Metrics``."""
        value = self._value(name)
        return printable(value) if isinstance(value, str) else None

    def instances(self, name: str) -> Mapping[str, float]:
        """See ``Metrics``."""
        found = self._instances.get(name)
        if found is None:  # asked for by several quantities
            found = self._instances[name] = {}
            for key, value in self._rows(name):
                if key is not None and isinstance(value, (int, float)) and math.isfinite(value):
                    key = printable(str(key))
                    found[key] = found.get(key, 0.0) + value
        return found

    def names(self) -> Collection[str]:
        """See ``Metrics``."""
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
