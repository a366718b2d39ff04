"""May these two captures be compared: each difference is stated, some refuse the comparison."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from roofline.compare.model import Mismatch, Severity, note
from roofline.errors import UsageError
from roofline.model import Analysis, Measurement, Note
from roofline.text.notes import note_text

# Refusals: what makes a verdict meaningless. --allow takes these.
REFUSALS = ("gpu", "kind", "rule")
# What ncu was told that decides whether captures compare, where files record it.
SETTINGS = ("clock_control", "cache_control", "replay_mode")
CLOCK_TOLERANCE = 0.03
# Under 10 points of the maximum clock apart, the same clock control is likely.
_CONTROL_POINTS = 10.0

_Sides = tuple[Sequence[Measurement], Sequence[Measurement]]


def check(before: Analysis, after: Analysis, allow: Collection[str]) -> tuple[Mismatch, ...]:
    """Everything in which two captures differ and must not, worst first.

    Refusals that ``allow`` names (or "all") become warnings, others raise a UsageError.
    """
    sides = [r.measurement for r in before.results], [r.measurement for r in after.results]
    found = [
        *_same(sides),
        *_subject(sides),
        *_clocks_of_each(sides),
        *_tool(sides),
        *_settings(sides),
    ]
    if before.rule != after.rule:
        old, new = (f"{r.latency:g}/{r.balance:g}" for r in (before.rule, after.rule))
        found.append(_mismatch("rule", "rule_differs", "refusal", before=old, after=new))
    refusals = [d for d in found if d.level == "refusal"]
    refused = [] if "all" in allow else [d for d in refusals if d.code not in allow]
    if refused:
        codes = " ".join(f"--allow {code}" for code in dict.fromkeys(d.code for d in refused))
        raise UsageError(
            "these captures do not compare",
            why="; ".join(note_text(d.text) for d in refused),
            hint=f"capture both alike, or {codes} to compare them all the same",
        )
    allowed = [replace(d, level="warning", text=note("allowed", what=d.text)) for d in refusals]
    rest = [d for level in ("warning", "info") for d in found if d.level == level]
    return tuple(allowed + rest)


def _mismatch(code: str, text: str, level: Severity = "warning", /, **facts: object) -> Mismatch:
    return Mismatch(code=code, level=level, text=Note(code=text, facts=facts))


def _same(sides: _Sides) -> Iterator[Mismatch]:
    """One capture twice, whatever its files are called: no two runs agree in every digit."""
    one, other = (
        [(m.duration_s, m.units, m.counts, m.operations, m.dram_bytes) for m in side]
        for side in sides
    )
    if one == other and any(m.units for m in sides[0]):
        yield _mismatch("same_capture", "same_capture")


def _subject(sides: _Sides) -> Iterator[Mismatch]:
    """What was measured: the GPU, and kernels or ranges."""
    names = _values(sides, lambda m: m.device.name)
    counts = _values(sides, lambda m: m.device.sm_count)
    for what, (one, other) in {
        "gpu": names,
        "sm_count": counts,
        "compute_capability": _values(sides, lambda m: m.device.compute_capability),
    }.items():
        if one and other and one != other:
            apart = set(one).isdisjoint(other)
            how: tuple[str, Severity] = (
                ("differs", "refusal") if apart else ("sets_differ", "warning")
            )
            yield _mismatch("gpu", *how, what=what, before=one, after=other)
            if what == "gpu" and counts[0] != counts[1] and all(counts):
                yield _mismatch(
                    "sm_count", "differs", what="sm_count", before=counts[0], after=counts[1]
                )
            break
    if not all(names):
        yield _mismatch("gpu", "gpu_not_recorded")
    one, other = _values(sides, lambda m: str(m.kind))
    if one and other and set(one).isdisjoint(other):
        yield _mismatch("kind", "kind_differs", "refusal", before=one, after=other)


def _clocks_of_each(sides: _Sides) -> Iterator[Mismatch]:
    """The clocks of each GPU that both sides have: a mean over several is the clock of none."""
    one, other = ({m.device.name for m in side} for side in sides)
    common = sorted(name for name in one & other if name)
    if len(one | other) == 1 or not common:
        yield from _clocks(sides)
        return
    for name in common:
        before, after = ([m for m in side if m.device.name == name] for side in sides)
        for found in _clocks((before, after)):
            yield replace(found, text=Note(code="of_gpu", facts={"gpu": name, "what": found.text}))


def _clocks(sides: _Sides) -> Iterator[Mismatch]:
    """Clocks that differ, and signs that ncu did not control them alike."""
    for clock in ("sm_clock_hz", "dram_clock_hz"):
        code = clock.removesuffix("_hz")
        one, other = (_time_weighted(side, clock) for side in sides)
        if one is None or other is None:
            if any(m.duration_s is not None for side in sides for m in side):
                yield _mismatch(code, "clock_not_measured", "info", clock=clock)
        elif abs(other / one - 1) > CLOCK_TOLERANCE:
            hz = {"before_hz": one, "after_hz": other, "change": abs(other / one - 1)}
            yield _mismatch(code, "clock_differs", clock=clock, **hz)
    percents = []
    for side in sides:
        actual = _time_weighted(side, "sm_clock_hz")
        top = next((m.device.sm_clock_max_hz for m in side if m.device.sm_clock_max_hz), None)
        if actual is None or top is None:
            return
        percents.append(actual / top * 100)
    before, after = percents
    if abs(before - after) > _CONTROL_POINTS:
        yield _mismatch("clock_control", "clock_control_differs", before=before, after=after)


def _tool(sides: _Sides) -> Iterator[Mismatch]:
    """Another ncu, or quantities that one side has and the other lacks: other metric sets."""
    one, other = _values(sides, lambda m: m.ncu_version)
    if one and other and one != other:
        yield _mismatch("ncu_version", "ncu_differs", before=one, after=other)
    lacks, lacked = (
        set.intersection(*({gap.quantity for gap in m.missing} for m in side)) if side else set()
        for side in sides
    )
    if lacks != lacked:
        before, after = sorted(lacks - lacked), sorted(lacked - lacks)
        yield _mismatch("set", "metric_set_differs", before_lacks=before, after_lacks=after)


def _settings(sides: _Sides) -> Iterator[Mismatch]:
    """What ncu was told, where the files say so, and what they do not say."""
    silent = []
    for key in SETTINGS:
        one, other = (
            sorted({m.settings[key] for m in side if key in m.settings}) for side in sides
        )
        if not one or not other:
            silent.append(key)
        elif one != other:
            yield _mismatch(key, "differs", what=key, before=one, after=other)
    if silent:
        yield _mismatch("not_recorded", "not_recorded", "info", settings=silent)


def _values(sides: _Sides, get: Callable[[Measurement], object]) -> list[list[str]]:
    """The distinct values of each side, sorted."""
    return [sorted({str(v) for m in side if (v := get(m)) is not None}) for side in sides]


def _time_weighted(side: Sequence[Measurement], clock: str) -> float | None:
    """Cycles over time: the mean that makes cycles add up."""
    known = [(hz, m.duration_s) for m in side if (hz := getattr(m, clock)) and m.duration_s]
    whole = sum(seconds for _, seconds in known)
    return sum(hz * seconds for hz, seconds in known) / whole if whole else None
