"""May these two captures be compared: each difference is stated, some refuse the comparison."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from roofline.compare.model import Difference, Severity, note
from roofline.errors import UsageError
from roofline.model import Analysis, Measurement, Note
from roofline.text.notes import note_text

# Refusals: what makes a verdict meaningless. --allow takes these.
REFUSALS = ("gpu", "kind", "rule")
# What ncu was told that decides whether captures compare, where files record it.
SETTINGS = ("clock_control", "cache_control", "replay_mode")
CLOCK_TOLERANCE = 0.03
# Under 10 points of the maximum clock apart, the same clock control is likely.
_CONTROL_POINTS = 0.10

_Launches = Sequence[Measurement]


def check(before: Analysis, after: Analysis) -> tuple[Difference, ...]:
    """Everything in which two captures differ and must not, worst first."""
    left = [r.measurement for r in before.results]
    right = [r.measurement for r in after.results]
    finders = (_device, _kind, _clocks, _clock_control, _tool, _collected, _settings)
    found = [item for find in finders for item in find(left, right)]
    if before.rule != after.rule:
        old, new = (f"{r.latency:g}/{r.balance:g}" for r in (before.rule, after.rule))
        found.append(_difference("rule", "rule_differs", Severity.REFUSAL, before=old, after=new))
    order = (Severity.REFUSAL, Severity.WARNING, Severity.INFO)
    return tuple(sorted(found, key=lambda d: order.index(d.level)))


def refuse(checks: Iterable[Difference], allow: Collection[str]) -> tuple[Difference, ...]:
    """Turn allowed refusals into warnings; raise for the others.

    Raises:
        UsageError: a refusal that ``allow`` (codes, or "all") does not name.

    """
    kept, refused = [], []
    for item in checks:
        if item.level is not Severity.REFUSAL:
            kept.append(item)
        elif item.code in allow or "all" in allow:
            text = note("allowed", what=item.text)
            kept.append(replace(item, level=Severity.WARNING, text=text))
        else:
            refused.append(item)
    if refused:
        codes = " ".join(f"--allow {code}" for code in dict.fromkeys(d.code for d in refused))
        raise UsageError(
            "these captures do not compare",
            why="; ".join(note_text(d.text) for d in refused),
            hint=f"capture both alike, or {codes} to compare them all the same",
        )
    return tuple(kept)


def _difference(
    code: str, text: str, level: Severity = Severity.WARNING, /, **facts: object
) -> Difference:
    return Difference(code=code, level=level, text=Note(code=text, facts=facts))


def _device(left: _Launches, right: _Launches) -> Iterator[Difference]:
    names = _values(left, right, lambda m: m.device.name)
    for what, (one, other) in {
        "gpu": names,
        "sm_count": _values(left, right, lambda m: m.device.sm_count),
        "compute_capability": _values(left, right, lambda m: m.device.compute_capability),
    }.items():
        if one and other and one != other:
            refused = set(one).isdisjoint(other)
            yield _difference(
                "gpu",
                "differs" if refused else "sets_differ",
                Severity.REFUSAL if refused else Severity.WARNING,
                what=what,
                before=one,
                after=other,
            )
            break
    if not all(names):
        yield _difference("gpu", "gpu_not_recorded")


def _kind(left: _Launches, right: _Launches) -> Iterator[Difference]:
    one, other = _values(left, right, lambda m: str(m.kind))
    if one and other and set(one).isdisjoint(other):
        yield _difference("kind", "kind_differs", Severity.REFUSAL, before=one, after=other)


def _clocks(left: _Launches, right: _Launches) -> Iterator[Difference]:
    for clock in ("sm_clock_hz", "dram_clock_hz"):
        code = clock.removesuffix("_hz")
        one, other = (_time_weighted(side, clock) for side in (left, right))
        if one is None or other is None:
            if any(m.duration_s is not None for m in (*left, *right)):
                yield _difference(code, "clock_not_measured", Severity.INFO, clock=clock)
        elif abs(other / one - 1) > CLOCK_TOLERANCE:
            hz = {"before_hz": one, "after_hz": other, "change": abs(other / one - 1)}
            yield _difference(code, "clock_differs", clock=clock, **hz)


def _clock_control(left: _Launches, right: _Launches) -> Iterator[Difference]:
    shares = []
    for side in (left, right):
        actual = _time_weighted(side, "sm_clock_hz")
        top = next((m.device.sm_clock_max_hz for m in side if m.device.sm_clock_max_hz), None)
        if actual is None or top is None:
            return
        shares.append(actual / top)
    if abs(shares[0] - shares[1]) > _CONTROL_POINTS:
        before, after = (share * 100 for share in shares)
        yield _difference("clock_control", "clock_control_differs", before=before, after=after)


def _tool(left: _Launches, right: _Launches) -> Iterator[Difference]:
    one, other = _values(left, right, lambda m: m.ncu_version)
    if one and other and one != other:
        yield _difference("ncu_version", "ncu_differs", before=one, after=other)


def _collected(left: _Launches, right: _Launches) -> Iterator[Difference]:
    """Quantities that one side has and the other lacks altogether: different metric sets."""
    one, other = (
        set.intersection(*({gap.quantity for gap in m.missing} for m in side)) if side else set()
        for side in (left, right)
    )
    if one != other:
        before, after = sorted(one - other), sorted(other - one)
        yield _difference("set", "metric_set_differs", before_lacks=before, after_lacks=after)


def _settings(left: _Launches, right: _Launches) -> Iterator[Difference]:
    """What ncu was told, where the files say so, and what they do not say."""
    silent = []
    for key in SETTINGS:
        one, other = _values(left, right, _setting(key))
        if not one or not other:
            silent.append(key)
        elif one != other:
            yield _difference(key, "differs", what=key, before=one, after=other)
    if silent:
        yield _difference("not_recorded", "not_recorded", Severity.INFO, settings=silent)


def _setting(key: str) -> Callable[[Measurement], str | None]:
    return lambda m: m.settings.get(key)


def _values(
    left: _Launches, right: _Launches, get: Callable[[Measurement], object]
) -> tuple[list[str], list[str]]:
    """The distinct values of both sides, sorted."""
    one, other = (
        sorted({str(v) for m in side if (v := get(m)) is not None}) for side in (left, right)
    )
    return one, other


def _time_weighted(side: _Launches, clock: str) -> float | None:
    """Cycles over time: the mean that makes cycles add up."""
    known = [(hz, m.duration_s) for m in side if (hz := getattr(m, clock)) and m.duration_s]
    whole = sum(seconds for _, seconds in known)
    return sum(hz * seconds for hz, seconds in known) / whole if whole else None
