"""Several launches of one kernel as one measurement: sums over sums, never means of ratios.

How each field folds stands beside its definition, in ``roofline.model``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from roofline.model import FOLDS, QUANTITIES, Fold, Measurement, Stall, UnitUse
from roofline.units import ranked

Weights = Sequence[float]


def kernel_of(m: Measurement) -> tuple[Hashable, ...]:
    """What makes launches the same kernel, wherever they ran: kind, name, grid and block."""
    return tuple(getattr(m, name) for name in _KEYS if name != "device")


def key_of(m: Measurement) -> Hashable:
    """What makes launches of a file one row: the kernel and the device."""
    return (*kernel_of(m), m.device.name, m.device.index)


def quantities_of(m: Measurement) -> frozenset[str]:
    """What is known of a launch: numbers, units, and operations if all that ran were counted."""
    numbers = (name for name in QUANTITIES if name in _FIELDS and getattr(m, name) is not None)
    counted = ("operations",) if m.operations and not m.unmeasured else ()
    return frozenset((*numbers, *counted, *(use.unit for use in m.units)))


def shares(
    launches: Sequence[Measurement], times_s: Sequence[float | None], *, merged: bool
) -> list[float | None]:
    """What part each time is (0 to 1) of all in its file and on its device.

    Where files are ``merged``, of all on its device.
    """
    whole: dict[Hashable, float] = {}
    wheres = [place_of(m, merged=merged) for m in launches]
    for where, time_s in zip(wheres, times_s, strict=True):
        whole[where] = whole.get(where, 0.0) + (time_s or 0.0)
    return [
        None if time_s is None or not whole[where] else time_s / whole[where]
        for where, time_s in zip(wheres, times_s, strict=True)
    ]


def place_of(m: Measurement, *, merged: bool) -> tuple[str | None, str | None, int | None]:
    """What a share is of: a file, unless files are ``merged``, and a GPU."""
    return None if merged else m.source, m.device.name, m.device.index


def fold(launches: Sequence[Measurement]) -> Measurement:
    """Sum launches of one kernel.

    Amounts and times are summed, and are ``None`` where one launch lacks them; percentages,
    clocks and peaks are weighted by time, which makes them sums over sums. What differs between
    the launches and cannot be summed is kept only where all agree.
    """
    if len(launches) == 1:
        return launches[0]
    weights = [m.duration_s or 0.0 for m in launches]
    if not all(weights):  # all weigh the same where one has no duration
        weights = [1.0] * len(launches)
    own = {name: folded(launches, weights) for name, folded in OWN.items()}
    whole: Measurement = replace(_fields(launches, weights), **own)
    return whole


def _fields(values: Sequence[Any], weights: Weights) -> Any:
    """Each field by its policy."""
    first = values[0]
    folded = {
        name: POLICIES[policy]([getattr(value, name) for value in values], weights)
        for name, policy in FOLDS[type(first)].items()
        if policy in POLICIES
    }
    return replace(first, **folded)


def _sum(values: Sequence[Any], _: Weights) -> Any:
    if isinstance(values[0], Mapping):
        return _by_key(values, lambda numbers: _sum(numbers, ()))
    return None if None in values else sum(values)


def _over_time(values: Sequence[Any], weights: Weights) -> Any:
    if isinstance(values[0], Mapping):
        return _by_key(values, lambda numbers: _over_time(numbers, weights))
    if None in values:
        return None
    if len(set(values)) == 1:
        return values[0]
    return sum(v * w for v, w in zip(values, weights, strict=True)) / sum(weights)


def _by_key(values: Sequence[Any], folded: Callable[[Sequence[Any]], Any]) -> dict[str, Any]:
    keys = sorted(set(values[0]).intersection(*values[1:]))
    return {key: folded([value[key] for value in values]) for key in keys}


def _same(values: Sequence[Any], _: Weights) -> Any:
    first, rest = values[0], values[1:]
    if isinstance(first, Mapping):
        missing = object()
        return {k: v for k, v in first.items() if all(r.get(k, missing) == v for r in rest)}
    if all(value == first for value in rest):
        return first
    return () if isinstance(first, tuple) else None


def _union(values: Sequence[Any], _: Weights) -> Any:
    return tuple(dict.fromkeys(item for value in values for item in value))


# The first launch's value stands for what has none of these.
POLICIES: Mapping[Fold, Callable[[Sequence[Any], Weights], Any]] = {
    Fold.SUM: _sum,
    Fold.OVER_TIME: _over_time,
    Fold.SAME: _same,
    Fold.UNION: _union,
    Fold.FIELDS: _fields,
}


def _unmeasured(launches: Sequence[Measurement], weights: Weights) -> tuple[str, ...]:
    """What any launch did not count; operations that only some counted are not a total."""
    keys = {frozenset(m.operations) for m in launches}
    uneven = ("some launches",) if len(keys) > 1 else ()
    return (*_union([m.unmeasured for m in launches], weights), *uneven)


def _units(launches: Sequence[Measurement], weights: Weights) -> tuple[UnitUse, ...]:
    """Time-weighted utilisation of the units that every launch has measured."""
    percents = [{use.unit: use.percent for use in m.units} for m in launches]
    folded = _over_time(percents, weights)
    uses = (use for use in launches[0].units if use.unit in folded)
    return ranked(replace(use, percent=folded[use.unit]) for use in uses)


def _stalls(launches: Sequence[Measurement], weights: Weights) -> tuple[Stall, ...]:
    """Time-weighted shares of the launches that have any; a reason that one lacks is 0 there."""
    sampled = [(m.stalls, weight) for m, weight in zip(launches, weights, strict=True) if m.stalls]
    if not sampled:
        return ()
    weights = [weight for _, weight in sampled]
    shares = [{stall.reason: stall.share for stall in stalls} for stalls, _ in sampled]
    reasons = {reason for launch in shares for reason in launch}
    folded = {r: _over_time([s.get(r, 0.0) for s in shares], weights) for r in reasons}
    stalls = (Stall(reason=reason, share=share) for reason, share in folded.items())
    return tuple(sorted(stalls, key=lambda stall: (-stall.share, stall.reason)))


OWN: Mapping[str, Callable[[Sequence[Measurement], Weights], Any]] = {
    "unmeasured": _unmeasured,
    "units": _units,
    "stalls": _stalls,
}
_FIELDS = FOLDS[Measurement]
_KEYS = tuple(name for name, policy in FOLDS[Measurement].items() if policy is Fold.KEY)
